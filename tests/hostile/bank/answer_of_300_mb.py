# title: Array of 300 MB
# kind: answer
# tries: to fill the judge's memory.
# gets: bump_test failed "more than 256 MB"
# stock: nbgrader 0.9.6: bump_test 0/2, honest_test 1/1
# %% bump
def bump(x):
    return np.zeros(300_000_000, dtype=np.uint8)
