# title: Writes garbage on the socket
# tries: to break whoever reads it.
# gets: bump_test crashed "disturbed the notebook's connection"; unit_test crashed "could not be read"
# %% bump
import os

for number in range(3, 64):
    try:
        os.write(number, os.urandom(100_000))
    except OSError:
        pass
# %% unit
def unit(v):
    for number in range(3, 64):
        try:
            os.write(number, b"\xff" * 100)
        except OSError:
            pass
    return v
# %% last
import os
