# title: A thousand slow cells
# kind: process
# tries: to keep the grader busy for a day, with cells that each stay just below the limit per cell.
# gets: bump_test timed out "together"; unit_test timed out; softmax_test timed out; WARP_test timed out;
#   KINDS_test timed out; fast_test timed out; honest_test timed out "together"
# limits: notebook_seconds=1.5
# stock: nbgrader 0.9.6: no end within 150 s
# %% first
import time

time.sleep(0.5)
# %% bump
def bump(x):
    return 3 * x + 1
# %% notebook
sleeper = next(cell for cell in notebook["cells"] if "sleep" in cell["source"])
for number in range(1000):
    notebook["cells"].insert(2, {**sleeper, "id": f"sleeper-{number}"})
