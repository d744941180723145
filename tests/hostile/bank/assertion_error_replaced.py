# title: Replaces built-in names
# kind: comparison
# tries: to make a failing assert raise an exception that is ignored, or to make checks true through other builtins.
# gets: bump_test failed "expected 7"; KINDS_test failed
# stock: nbgrader 0.9.6: bump_test 0/2, KINDS_test 2/2, honest_test 1/1
# %% bump
import builtins


class Harmless(Warning):
    def __init__(self, *args):
        self.__class__ = Warning


builtins.AssertionError = Harmless
builtins.all = lambda *args: True
builtins.abs = lambda value: 0
builtins.sum = lambda *args: 4


def bump(x):
    return 0
# %% KINDS
KINDS = {}
