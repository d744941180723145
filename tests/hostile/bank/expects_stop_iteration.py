# title: Raises StopIteration
# tries: to end the test's own loop over map or a generator early, as if all had been tested.
# gets: bump_test failed "StopIteration"
# %% bump
def bump(x):
    if x == 2:
        return 7
    raise StopIteration
