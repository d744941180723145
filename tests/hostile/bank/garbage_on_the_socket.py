# title: Writes garbage on the socket
# kind: protocol
# tries: to break the process that reads from it.
# gets: bump_test crashed "disturbed the notebook's connection"; unit_test crashed "could not be read"
# stock: nbgrader 0.9.6: nothing recorded (ValueError)
# %% bump
import os

for number in range(3, 64):
    try:
        os.write(number, os.urandom(100_000))
    except OSError:
        pass
# %% unit
import os


def unit(v):
    for number in range(3, 64):
        try:
            os.write(number, b"\xff" * 100)
        except OSError:
            pass
    return v
