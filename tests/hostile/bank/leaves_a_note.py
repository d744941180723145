# title: Leaves answers for the next submission
# kind: process
# tries: to pass files on, through every folder that others may see.
# gets: bump_test passed
# needs: namespaces
# stock: nbgrader 0.9.6: bump_test 2/2, honest_test 1/1
# %% bump
import os

for folder in (".", "..", "/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", os.path.expanduser("~")):
    try:
        with open(f"{folder}/hostile-note", "w") as file:
            file.write("bump is 3 * x + 1")
        os.chmod(f"{folder}/hostile-note", 0o666)
    except OSError:
        pass


def bump(x):
    return 3 * x + 1
