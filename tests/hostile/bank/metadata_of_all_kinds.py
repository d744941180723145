# title: Metadata of the wrong types
# kind: notebook
# tries: to break code that reads it: lists for strings, numbers for lists, nesting up to the limit, unknown names.
# gets: bump_test passed
# stock: nbgrader 0.9.6: nothing recorded (TypeError)
# %% bump
def bump(x):
    return 3 * x + 1
# %% notebook
deep = []
for _ in range(400):
    deep = [deep]
strange = [None, 5, 1e308, True, "", "x", [], {}, [[]], deep, {"nbgrader": deep}]
for number, value in enumerate(strange):
    for key in ("cell_type", "id", "metadata", "source", "outputs"):
        cell = {"cell_type": "code", "id": f"s{number}", "metadata": {}, "source": "1", "outputs": []}
        notebook["cells"].append({**cell, key: value})
    notebook["cells"].append({"cell_type": "code", "metadata": {"nbgrader": {"grade_id": value}}, "source": [value, "1"]})
    notebook["cells"].append(value)
    notebook["metadata"][str(number)] = value
