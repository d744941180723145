# title: Right shares as NumPy strings
# kind: answer
# tries: nothing; a NumPy number is a valid share of points.
# gets: KINDS_test partial 1.5
# stock: nbgrader 0.9.6: KINDS_test 1.5/2, honest_test 1/1
# %% KINDS
KINDS = {name: np.str_(scope) for name, scope in [("register", "thread"), ("shared", "block"), ("global", "grid")]}
