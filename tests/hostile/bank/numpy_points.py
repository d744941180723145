# title: Right shares as NumPy strings
# kind: answer
# tries: nothing; a share of points that is a NumPy number counts as one.
# gets: KINDS_test partial 1.5
# %% KINDS
KINDS = {name: np.str_(scope) for name, scope in [("register", "thread"), ("shared", "block"), ("global", "grid")]}
