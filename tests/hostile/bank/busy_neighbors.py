# title: Keeps the machine busy while its answer is not running
# kind: comparison
# tries: to slow down the reference measurements, with processes that pause only while its own answer is timed.
# gets: fast_test failed "took"
# stock: nbgrader 0.9.6: fast_test 0/2, honest_test 1/1
# %% fast
import os
import signal
import time

hogs = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        while True:
            pass
    hogs.append(pid)


def fast(n):
    for pid in hogs:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(0.4)
    for pid in hogs:
        os.kill(pid, signal.SIGCONT)
    return n * (n + 1) * (2 * n + 1) // 6
