# title: Replaces its output streams
# kind: process
# tries: to break code that flushes or reads them.
# gets: bump_test passed; unit_test failed "Not equal to tolerance"
# stock: nbgrader 0.9.6: nothing recorded (CellTimeoutError)
# %% bump
import sys


class Hostile:
    def __getattr__(self, name):
        raise ValueError(name)


def bump(x):
    return 3 * x + 1


sys.stdout = sys.stderr = sys.__stdout__ = Hostile()
# %% unit
class Exits:
    def flush(self):
        raise SystemExit

    def write(self, text):
        raise SystemExit


def unit(v):
    return v


sys.stdout = Exits()
