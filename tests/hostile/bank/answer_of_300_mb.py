# title: Array of 300 MB
# tries: to fill the memory of the judge.
# gets: bump_test failed "more than 256 MB"
# %% bump
def bump(x):
    return np.zeros(300_000_000, dtype=np.uint8)
