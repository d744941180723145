# title: Array of objects
# kind: answer
# tries: to smuggle its own objects in, inside an array.
# gets: unit_test failed "an array with elements of type object"; bump_test failed
# stock: nbgrader 0.9.6: bump_test 0/2, unit_test 0/2, honest_test 1/1
# %% unit
class Equal:
    def __eq__(self, other):
        return True


def unit(v):
    return np.array([Equal() for _ in v], dtype=object)
# %% bump
def bump(x):
    return np.array([(7, "x")], dtype=[("number", int), ("name", "U1")])
