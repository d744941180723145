# title: Endless threads
# kind: process
# tries: to use up the machine's threads.
# gets: bump_test passed
# needs: cgroups
# stock: nbgrader 0.9.6: bump_test 2/2, honest_test 1/1
# %% bump
import threading
import time

count = 0
try:
    while count < 100_000:
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
        count += 1
except RuntimeError:
    pass


def bump(x):
    return 3 * x + 1 if count < 1_000 else 0
