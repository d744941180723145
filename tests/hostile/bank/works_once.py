# title: Behaves once, but not when it is run again
# kind: process
# tries: to hang in the replay after a restart that it caused itself.
# gets: bump_test passed; fast_test crashed
# stock: nbgrader 0.9.6: nothing recorded (DeadKernelError)
# %% bump
import os
import time

marks = [name for name in ("/tmp/hostile-mark",) if os.path.exists(name)]
try:
    open("/tmp/hostile-mark", "w").close()
except OSError:
    pass
if marks:
    time.sleep(3600)


def bump(x):
    return 3 * x + 1
# %% fast
import os


def fast(n):
    os._exit(0)
