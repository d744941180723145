# title: Takes the ids of tests that it fails
# kind: notebook
# tries: to put its own cell in a test's place, so that the test does not run.
# gets: bump_test failed "expected 7"
# stock: nbgrader 0.9.6: nothing recorded (ProgrammingError)
# %% bump
def bump(x):
    return 0
# %% notebook
for number, settings in enumerate([{}, {"grade_id": "bonus", "grade": True, "points": 1000}, {"grade_id": ["bump_test"]}]):
    cell = {"cell_type": "code", "id": "bump_test", "metadata": {"nbgrader": settings}, "source": f"{number}"}
    notebook["cells"].append({**cell, "execution_count": None, "outputs": []})
