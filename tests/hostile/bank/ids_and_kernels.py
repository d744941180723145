# title: Ids and names that point elsewhere
# kind: notebook
# tries: to make the grader use its paths, kernels, or languages, through ids, grade ids, and metadata.
# gets: bump_test passed
# stock: nbgrader 0.9.6: nothing recorded (TypeError)
# %% bump
def bump(x):
    return 3 * x + 1
# %% notebook
notebook["metadata"] = {
    "kernelspec": {"name": "../../../tmp/hostile", "display_name": "\x1b[2J", "language": "bash"},
    "language_info": {"name": "bash", "file_extension": "/../../x"},
    "path": "/etc",
}
notebook["nbformat_minor"] = 99
for number, name in enumerate(["../../etc/passwd", "", "x" * 1_000_000, "a\nb", "bump", "\x00", None, 5, ["x"], "<b>"]):
    cell = {"cell_type": "code", "id": name, "metadata": {}, "source": f"x{number} = 1", "outputs": []}
    notebook["cells"].insert(2, {**cell, "execution_count": None})
