# title: Endless loop in a cell
# kind: process
# tries: to keep the grader from ever reaching a test.
# gets: bump_test timed out "did not end within"
# stock: nbgrader 0.9.6: bump_test 0/2, honest_test 1/1
# %% bump
while True:
    pass
