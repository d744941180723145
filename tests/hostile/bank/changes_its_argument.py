# title: Changes its input
# kind: comparison
# tries: to overwrite its argument with an input whose result it knows, before the test computes the expected value.
# gets: unit_test failed "changed an argument"; softmax_test failed "changed an argument"
# stock: nbgrader 0.9.6: unit_test 2/2, softmax_test 2/2, honest_test 1/1
# %% unit
def unit(v):
    if len(v) == 2:
        return np.array([0.6, 0.8])
    v[:] = 0
    v[0] = 1
    return v
# %% softmax
def softmax(t):
    if len(t) == 4:
        return t + 0.25
    return t.fill_(0) + 1 / 16
