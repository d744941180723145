# title: Result with endless text
# kind: process
# tries: to hang or break the notebook's display of results.
# gets: bump_test passed; fast_test timed out "did not end within"
# stock: nbgrader 0.9.6: bump_test 2/2, fast_test 0/2, honest_test 1/1
# %% bump
class Recursive:
    def __repr__(self):
        return repr(self)

    def _repr_html_(self):
        raise SystemExit

    def _ipython_display_(self):
        raise RecursionError


def bump(x):
    return 3 * x + 1


Recursive()
# %% fast
class Endless:
    def __repr__(self):
        while True:
            pass


def fast(n):
    return 0


Endless()
