# title: Notebook of another chapter
# kind: notebook
# tries: to have its own exercise names printed on the terminal and in the report.
# gets: refused "none of its exercises"
# stock: nbgrader 0.9.6: nothing recorded (exit status 1)
# %% notebook
for cell in notebook["cells"]:
    cell["id"] = "x"
    cell["source"] = "1"
    cell["metadata"] = {"nbgrader": {"grade_id": "\x1b[2J<script>alert(1)</script>\n" + "x" * 100_000}}
