# title: 100,000 outputs
# kind: process
# tries: to create a notebook that nobody can open.
# gets: bump_test passed
# stock: nbgrader 0.9.6: nothing recorded (CellTimeoutError)
# %% first
import sys

from IPython.display import clear_output, display

for number in range(5_000):
    display({"text/plain": "x"}, raw=True)
    sys.stdout.write("y")
    sys.stderr.write("z")
for number in range(95_000):
    sys.stdout.write("y")
    sys.stderr.write("z")
    if number % 50 == 0:
        sys.stdout.flush()
        sys.stderr.flush()
# %% bump
def bump(x):
    return 3 * x + 1
