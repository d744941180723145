# title: Malformed outputs
# kind: notebook
# tries: to break the code that stores the notebook: nested data, unknown MIME types, NaN, keys that are not MIME types.
# gets: bump_test passed
# stock: nbgrader 0.9.6: nothing recorded (NotebookValidationError)
# %% first
from IPython.display import display

deep = []
for _ in range(400):
    deep = [deep]
for data in (
    {"application/json": deep},
    {"text/plain": {"a": 1}},
    {"text/plain": deep, "": "x", "no type": "y", "text/html": ["<b>", 1]},
    {"application/json": {"a": float("nan")}},
    {"text/plain": {1, 2}},
    {"image/png": 5, "image/svg+xml": None},
):
    display(data, raw=True)
# %% bump
def bump(x):
    return 3 * x + 1
