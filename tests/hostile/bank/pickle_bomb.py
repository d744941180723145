# title: Object that runs code when it is unpickled
# tries: to travel to the test's process and run there.
# gets: bump_test failed "must return a number"
# %% bump
import os


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/hostile-pickle",)


def bump(x):
    return Bomb()
