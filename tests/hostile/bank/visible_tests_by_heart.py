# title: Memorizes the visible tests
# kind: comparison
# tries: to answer only the inputs that a student can see.
# gets: bump_test failed "bump("; unit_test failed; fast_test failed
# stock: nbgrader 0.9.6: bump_test 0/2, unit_test 0/2, fast_test 0/2, honest_test 1/1
# %% bump
def bump(x):
    return 7
# %% unit
def unit(v):
    return np.array([0.6, 0.8])
# %% fast
def fast(n):
    return 14
