# title: Uses grade ids twice
# kind: notebook
# tries: to have the better of two answers counted, or a passing copy of a test.
# seen: CMS test suite
# gets: bump_test failed "expected 7"
# stock: nbgrader 0.9.6: nothing recorded (exit status 1)
# %% bump
def bump(x):
    return 0
# %% notebook
import copy

index = next(index for index, cell in enumerate(notebook["cells"]) if cell["id"] == "bump_test")
test = copy.deepcopy(notebook["cells"][index])
notebook["cells"].insert(index, {**test, "id": "first-copy", "source": "2.0"})
notebook["cells"].append({**test, "id": "last-copy", "source": "pass"})
right = copy.deepcopy(notebook["cells"][index - 1])
notebook["cells"].insert(2, {**right, "id": "right-copy", "source": RIGHT["bump"]})
