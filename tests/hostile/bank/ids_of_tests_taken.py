# title: Takes the ids of the tests that it fails
# kind: notebook
# tries: to have a test's place in the notebook taken by a cell of its own, so that the test is not run.
# gets: bump_test failed "expected 7"
# stock: nbgrader 0.9.6: nothing recorded (ProgrammingError)
# %% bump
def bump(x):
    return 0
# %% notebook
for number, settings in enumerate([{}, {"grade_id": "bonus", "grade": True, "points": 1000}, {"grade_id": ["bump_test"]}]):
    cell = {"cell_type": "code", "id": "bump_test", "metadata": {"nbgrader": settings}, "source": f"{number}"}
    notebook["cells"].append({**cell, "execution_count": None, "outputs": []})
