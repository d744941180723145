# title: Raises StopIteration
# kind: comparison
# tries: to end the test's loop over map or a generator early, as if every case had been tested.
# gets: bump_test failed "StopIteration"
# stock: nbgrader 0.9.6: bump_test 0/2, honest_test 1/1
# %% bump
def bump(x):
    if x == 2:
        return 7
    raise StopIteration
