# title: Endless pictures
# kind: process
# tries: to store gigabytes, one cell after another, each just below the limit per cell.
# gets: bump_test passed
# limits: flood_bytes=2000000
# stock: nbgrader 0.9.6: bump_test 2/2, honest_test 1/1
# %% first
from IPython.display import display

for number in range(6):
    display({"image/png": "iVBOR" * 60_000}, raw=True)
# %% bump
def bump(x):
    return 3 * x + 1
# %% notebook
import copy

picture = next(cell for cell in notebook["cells"] if "iVBOR" in cell["source"])
for number in range(20):
    notebook["cells"].insert(2, {**copy.deepcopy(picture), "id": f"picture-{number}"})
