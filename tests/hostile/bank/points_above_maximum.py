# title: Shares of points beyond the maximum
# kind: answer
# tries: to make a total infinite, huge, negative, or not a number.
# gets: KINDS_test failed "not in points"
# stock: nbgrader 0.9.6: KINDS_test 2/2, honest_test 1/1
# %% KINDS
KINDS = {name: np.full(3, scope) for name, scope in [("register", "thread"), ("shared", "block"), ("global", "grid")]}
