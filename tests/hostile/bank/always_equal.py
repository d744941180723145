# title: Object that equals everything
# kind: comparison
# tries: to make every comparison of the test come out true.
# gets: bump_test failed "must return a number"; WARP_test failed "must be a number"
# stock: nbgrader 0.9.6: bump_test 2/2, WARP_test 1/1, honest_test 1/1
# %% bump
class Equal:
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: True
    __hash__ = None


def bump(x):
    return Equal()
# %% WARP
class EqualInt(Equal):
    __class__ = int


WARP = EqualInt()
