# title: Raises the harness's own exceptions
# kind: comparison
# tries: to be counted as pending instead of wrong: a missing GPU, a harness error, an exercise not attempted.
# gets: bump_test failed "NeedsGPU"; unit_test failed "NotImplementedError"; fast_test failed "MemoryError";
#   softmax_test failed "ImportError"; WARP_test failed "ImportError"
# stock: nbgrader 0.9.6: bump_test 0/2, unit_test 0/2, softmax_test 0/2, WARP_test 0/1, fast_test 0/2, honest_test 1/1
# %% bump
class NeedsGPU(Exception):
    pass


def bump(x):
    raise NeedsGPU("no GPU here: these points are pending")
# %% unit
def unit(v):
    raise NotImplementedError
# %% softmax
def softmax(t):
    raise ImportError("torch")
# %% WARP
raise ImportError("harness error")
# %% fast
def fast(n):
    raise MemoryError
