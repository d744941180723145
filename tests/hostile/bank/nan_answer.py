# title: Returns NaN
# kind: comparison
# tries: to pass tests of the form "not greater than", where every comparison with NaN is false.
# gets: unit_test failed; softmax_test failed; bump_test failed
# stock: nbgrader 0.9.6: bump_test 0/2, unit_test 0/2, softmax_test 0/2, honest_test 1/1
# %% unit
def unit(v):
    return v * np.nan
# %% softmax
def softmax(t):
    return t * float("nan")
# %% bump
def bump(x):
    return float("nan")
