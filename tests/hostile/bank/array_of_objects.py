# title: Array of objects
# tries: to bring objects of its own along inside an array.
# gets: unit_test failed "an array with elements of type object"; bump_test failed
# %% unit
class Equal:
    def __eq__(self, other):
        return True


def unit(v):
    return np.array([Equal() for _ in v], dtype=object)
# %% bump
def bump(x):
    return np.array([(7, "x")], dtype=[("number", int), ("name", "U1")])
