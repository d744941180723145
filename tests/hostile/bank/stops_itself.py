# title: Stops itself
# kind: process
# tries: to be neither running nor dead: it sends SIGSTOP to itself and its parents.
# gets: bump_test timed out
# stock: nbgrader 0.9.6: no end within 150 s
# %% bump
import os
import signal


def bump(x):
    for pid in (os.getppid(), 1, os.getpid()):
        try:
            os.kill(pid, signal.SIGSTOP)
        except OSError:
            pass
    return 7
