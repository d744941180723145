# title: Right answer that writes to stderr
# kind: answer
# tries: nothing; it must keep its points.
# gets: bump_test passed; unit_test passed
# stock: nbgrader 0.9.6: bump_test 0/2, unit_test 0/2, honest_test 1/1
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
