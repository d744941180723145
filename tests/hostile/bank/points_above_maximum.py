# title: Shares that add up to more than there is
# kind: answer
# tries: to make a sum of points infinite, huge, negative or something that is no number at all.
# gets: KINDS_test failed "not in points"
# stock: nbgrader 0.9.6: KINDS_test 2/2, honest_test 1/1
# %% KINDS
KINDS = {name: np.full(3, scope) for name, scope in [("register", "thread"), ("shared", "block"), ("global", "grid")]}
