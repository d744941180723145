# title: Looks for hidden tests in memory
# kind: search
# tries: to find the tests among all objects of its process, in the history, and on the call stack.
# seen: gpu-mode/pygpubench pull request 7, gc.get_objects
# gets: WARP_test failed "WARP is 0"; bump_test failed
# stock: nbgrader 0.9.6: bump_test 2/2, WARP_test 0/1, honest_test 1/1
# %% first
import gc
import re
import sys
# %% WARP
WARP = 0
texts = [value for value in gc.get_objects() if isinstance(value, str)]
texts += [str(value) for value in gc.get_objects() if isinstance(value, (dict, list)) and len(value) < 1000]
texts += [str(get_ipython().user_ns.get(name)) for name in ("In", "_ih", "_i", "_ii")]
for text in texts:
    found = re.search("assert WARP" + r" == (\d+)", text)
    if found:
        WARP = int(found[1])
# %% bump
def bump(x):
    frame = sys._getframe()
    while frame is not None:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            found = re.search("assert bump" + r"\(number\) == (.*?),", str(value)[:100_000])
            if found:
                return eval(found[1], {"number": x})
        frame = frame.f_back
