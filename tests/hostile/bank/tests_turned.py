# title: Turns tests into Markdown
# kind: notebook
# tries: to have tests skipped as text, raw cells, or cells of an unknown type.
# gets: bump_test failed "expected 7"; unit_test failed; KINDS_test failed
# stock: nbgrader 0.9.6: nothing recorded (NotebookValidationError)
# %% bump
def bump(x):
    return 0
# %% unit
def unit(v):
    return v
# %% KINDS
KINDS = {}
# %% notebook
for name, kind in (("bump_test", "markdown"), ("unit_test", "raw"), ("KINDS_test", "heading\n<b>")):
    cell = next(cell for cell in notebook["cells"] if cell["id"] == name)
    cell["cell_type"] = kind
    cell.pop("outputs")
    cell.pop("execution_count")
