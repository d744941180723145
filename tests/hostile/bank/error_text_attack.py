# title: Exception that resists being told
# kind: answer
# tries: to break whoever prints its exception, by endless, huge or raising texts.
# gets: bump_test failed "Nasty"; unit_test failed; fast_test failed "RecursionError"
# stock: nbgrader 0.9.6: nothing recorded (CellTimeoutError)
# %% bump
class Nasty(Exception):
    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


def bump(x):
    raise Nasty
# %% unit
def unit(v):
    raise ValueError("x" * 50_000_000)
# %% fast
def fast(n):
    return fast(n)
