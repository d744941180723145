# title: Endless loop
# kind: process
# tries: to keep the grader busy.
# seen: CMS test suite
# gets: bump_test timed out "no answer within"
# stock: nbgrader 0.9.6: bump_test 0/2, honest_test 1/1
# %% bump
def bump(x):
    while True:
        pass
