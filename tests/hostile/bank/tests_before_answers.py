# title: Moves tests before everything else
# kind: notebook
# tries: to be tested on a right answer before its wrong answer replaces it.
# gets: bump_test failed "expected 7"
# stock: nbgrader 0.9.6: bump_test 2/2, honest_test 0/1
# %% bump
def bump(x):
    return 0
# %% notebook
tests = [cell for cell in notebook["cells"] if cell["id"].endswith("_test")]
right = {"cell_type": "code", "id": "early", "metadata": {}, "source": RIGHT["bump"], "outputs": [], "execution_count": None}
notebook["cells"] = [right, *tests, *(cell for cell in notebook["cells"] if cell not in tests)]
