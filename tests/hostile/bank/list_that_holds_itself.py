# title: List and dict that hold themselves
# tries: to make whoever follows them walk for ever.
# gets: bump_test failed "hold itself"; KINDS_test failed "must be a number"
# %% bump
def bump(x):
    ring = [1, 2]
    ring.append({"ring": ring})
    return ring
# %% KINDS
KINDS = {}
KINDS["register"] = KINDS
