# title: Hangs in C with every signal blocked
# kind: process
# tries: to be out of reach of interrupts.
# gets: bump_test timed out
# stock: nbgrader 0.9.6: nothing recorded (CellTimeoutError)
# %% bump
import ctypes
import signal


def bump(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    ctypes.PyDLL(None).sleep(3600)  # without letting go of the interpreter's lock
