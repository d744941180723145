# title: Shadows modules that tests import
# kind: comparison
# tries: to make the test import gpulab, random, or numpy.testing from the working directory.
# gets: bump_test failed "bump("
# stock: nbgrader 0.9.6: bump_test 0/2, honest_test 1/1
# %% bump
import os
import sys

source = "class Random:\n    def __init__(self, seed): pass\n    def randint(self, low, high): return 2\n"
for name in ("random.py", "gpulab.py", "sitecustomize.py", "usercustomize.py"):
    with open(name, "w") as file:
        file.write(source + "def seed(): return 1\n")
os.makedirs(os.path.expanduser("~/.ipython/profile_default/startup"), exist_ok=True)
sys.modules.pop("random")
sys.modules.pop("gpulab", None)


def bump(x):
    return {2: 7}.get(x)
