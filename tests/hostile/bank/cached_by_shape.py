# title: Returns the previous result for the same shape
# kind: comparison
# tries: to do the work once, or to find an earlier right result.
# seen: gpu-mode/reference-kernels pull request 102
# gets: unit_test failed "Not equal to tolerance"
# stock: nbgrader 0.9.6: unit_test 0/2, honest_test 1/1
# %% unit
cache = {2: np.array([0.6, 0.8])}


def unit(v):
    return cache.setdefault(len(v), v / np.linalg.norm(v))
