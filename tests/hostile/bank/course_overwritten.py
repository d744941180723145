# title: Overwrites the course and its packages
# kind: search
# tries: to change gpulab, numpy, or the tests for itself and for every later submission.
# gets: bump_test failed "expected 7"
# needs: files
# stock: nbgrader 0.9.6: bump_test 0/2, honest_test 1/1
# %% bump
import gpulab
import os

for path in (gpulab.__file__, gpulab.check.__file__, np.__file__, os.__file__, "/etc/passwd", "/hostile-file"):
    try:
        with open(path, "a") as file:
            file.write("\n# hostile\n")
    except OSError:
        pass
    try:
        os.rename(path, path + "-hostile")
    except OSError:
        pass


def bump(x):
    return 0
