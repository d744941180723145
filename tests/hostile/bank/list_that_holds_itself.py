# title: List and dict that contain themselves
# kind: answer
# tries: to make code that traverses them loop forever.
# gets: bump_test failed "hold itself"; KINDS_test failed "hold itself"
# stock: nbgrader 0.9.6: bump_test 0/2, KINDS_test 0/2, honest_test 1/1
# %% bump
def bump(x):
    ring = [1, 2]
    ring.append({"ring": ring})
    return ring
# %% KINDS
KINDS = {}
KINDS["register"] = KINDS
