# title: Exceptions that cannot be printed
# kind: answer
# tries: to break the code that prints its exception, with text that is endless, huge, or raises.
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
