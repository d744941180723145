# title: Looks for hidden tests in files
# kind: search
# tries: to find hidden tests, the solution, or the answer bank, in its own folder and every folder above.
# gets: WARP_test failed "WARP is 0"; bump_test failed
# needs: files
# stock: nbgrader 0.9.6: bump_test 2/2, WARP_test 1/1, honest_test 1/1
# %% first
import os
import re
import time

value, rule = 0, "0"
until = time.monotonic() + 1
places = [".", "..", "../..", "../../..", os.path.expanduser("~"), "/tmp"]
for place in places:
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if name not in ("usr", "proc", "sys", "lib", "lib64", "site-packages")]
        for name in files if time.monotonic() < until else ():
            path = os.path.join(folder, name)
            if not name.endswith((".ipynb", ".md", ".py", ".json")) or os.path.getsize(path) > 1_000_000:
                continue
            try:
                text = open(path, errors="replace").read()
            except OSError:
                continue
            found = re.search("assert WARP" + r" == (\d+)", text)
            if found:
                value = int(found[1])
                rule = re.search("assert bump" + r"\(number\) == (.*?),", text)[1]
# %% WARP
WARP = value
# %% bump
def bump(x):
    return eval(rule, {"number": x})
