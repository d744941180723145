# title: Array that controls how it is compared
# kind: comparison
# tries: to answer NumPy's comparison itself, through __array_function__ and __array_ufunc__.
# gets: unit_test failed
# stock: nbgrader 0.9.6: unit_test 0/2, honest_test 1/1
# %% unit
class Sly(np.ndarray):
    def __array_function__(self, function, types, args, kwargs):
        return True

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return np.zeros(8, dtype=bool) if ufunc in (np.isnan, np.isinf) else np.ones(8, dtype=bool)


def unit(v):
    return np.zeros(len(v)).view(Sly)
