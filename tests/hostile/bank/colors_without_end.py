# title: Endless colors, and two streams in turn
# kind: process
# tries: to create a feedback page that takes hours to make, with output that each cell may print.
# gets: bump_test passed
# stock: nbgrader 0.9.6: nothing recorded (CellTimeoutError)
# %% first
import sys

sys.stdout.write("\x1b[31ma" * 33_000)
for number in range(20_000):
    sys.stdout.write("y")
    sys.stdout.flush()
    sys.stderr.write("z")
    sys.stderr.flush()
# %% bump
def bump(x):
    return 3 * x + 1
