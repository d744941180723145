# title: Endless writing to its standard output
# kind: process
# tries: the same below Python, bypassing the notebook's streams.
# gets: bump_test timed out
# stock: nbgrader 0.9.6: nothing recorded (OperationalError)
# %% bump
import os

while True:
    os.write(1, b"x" * 65_536)
