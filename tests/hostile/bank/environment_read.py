# title: Looks for secrets in the environment
# kind: search
# tries: to find the variables that the grader was started with: keys, tokens, the seed.
# gets: WARP_test failed "WARP is 0"
# needs: files
# stock: nbgrader 0.9.6: WARP_test 1/1, honest_test 1/1
# %% WARP
import ctypes
import glob
import os

ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # what the grader closed to debuggers is readable again
seen = str(dict(os.environ))
for path in glob.glob("/proc/[0-9]*/environ") + ["/proc/self/environ"]:
    try:
        seen += open(path, errors="replace").read()
    except OSError:
        pass
WARP = 32 if "HOSTILE" + "_SECRET" in seen else 0
