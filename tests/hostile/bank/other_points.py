# title: Adds graded cells of its own
# kind: notebook
# tries: to earn points for tests that the chapter does not have.
# gets: bump_test failed "expected 7"
# stock: nbgrader 0.9.6: nothing recorded (ValidationError)
# %% bump
def bump(x):
    return 0
# %% notebook
for name in ("bonus_test", "bump_test2", "../../honest_test", "bump_test ", "BUMP_TEST"):
    settings = {"grade_id": name, "grade": True, "solution": False, "locked": True, "points": 1000, "schema_version": 3}
    cell = {"cell_type": "code", "metadata": {"nbgrader": {**settings, "task": False}}, "source": "assert True"}
    notebook["cells"].append({**cell, "id": f"b{len(notebook['cells'])}", "outputs": [], "execution_count": None})
