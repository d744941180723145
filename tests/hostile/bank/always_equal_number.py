# title: Number that equals everything
# kind: comparison
# tries: the same with a subclass of a plain type, which passes an isinstance check.
# gets: bump_test failed "bump(2) is 5"; WARP_test failed "WARP is 7"; fast_test failed
# stock: nbgrader 0.9.6: bump_test 2/2, WARP_test 1/1, fast_test 2/2, honest_test 1/1
# %% bump
class Equal(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def bump(x):
    return Equal(5)
# %% WARP
WARP = Equal(7)
# %% fast
def fast(n):
    return Equal(0)
