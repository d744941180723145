# title: Writes to its standard output without end
# kind: process
# tries: the same below Python, past the notebook's own streams.
# gets: bump_test timed out
# %% bump
import os

while True:
    os.write(1, b"x" * 65_536)
