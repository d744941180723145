# title: Writes to stderr in a right answer
# tries: nothing; it must keep its points.
# gets: bump_test passed; unit_test passed
# %% bump
import sys
import warnings


def bump(x):
    print("a word of warning", file=sys.stderr)
    warnings.warn("slow", stacklevel=2)
    return 3 * x + 1
# %% unit
def unit(v):
    np.float64(1) / np.float64(0)
    return v / np.linalg.norm(v)
