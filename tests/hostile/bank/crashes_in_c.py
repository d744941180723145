# title: Crashes in C
# kind: process
# tries: to take down its kernel, or the grader, with a segmentation fault, an abort, or an illegal instruction.
# seen: CMS test suite
# gets: bump_test crashed "ended during the call"; unit_test crashed "ended during the call"; fast_test crashed
# stock: nbgrader 0.9.6: nothing recorded (DeadKernelError)
# %% bump
import ctypes


def bump(x):
    return ctypes.string_at(0)
# %% unit
import os


def unit(v):
    os.abort()
# %% fast
import os
import signal


def fast(n):
    os.kill(os.getpid(), signal.SIGILL)
