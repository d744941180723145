# title: Set whose numbers all have the same hash
# kind: answer
# tries: to keep the judge busy for hours building a set.
# gets: bump_test timed out "The test did not end"
# limits: test_seconds=2
# stock: not run: aims at our own processes
# %% bump
import grader.processes.wire

real = grader.processes.wire.encode


def forged(value, buffers):
    grader.processes.wire.encode = real
    form = real(value, buffers)
    form["t"][0] = {"s": [{"i": hex(i * (2**61 - 1))} for i in range(400_000)]}
    return form


def bump(x):
    grader.processes.wire.encode = forged
    return 1
