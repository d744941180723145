# title: Ends its process
# kind: process
# tries: to exit before the tests are counted, in every possible way.
# seen: CMS test suite
# gets: bump_test crashed "ended during the call"; unit_test failed "SystemExit"; softmax_test failed "KeyboardInterrupt"
# stock: nbgrader 0.9.6: nothing recorded (DeadKernelError)
# %% bump
import os


def bump(x):
    os._exit(0)
# %% unit
import sys


def unit(v):
    sys.exit(0)
# %% softmax
def softmax(t):
    raise KeyboardInterrupt
