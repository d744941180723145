# title: Looks for secrets in the environment
# tries: to find what the grader was started with: keys, tokens, the seed.
# gets: WARP_test failed "WARP is 0"
# needs: files
# %% WARP
import ctypes
import glob
import os

ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
seen = str(dict(os.environ))
for path in glob.glob("/proc/[0-9]*/environ") + ["/proc/self/environ"]:
    try:
        seen += open(path, errors="replace").read()
    except OSError:
        pass
size = 1_000_000
stack = ctypes.c_char_p.in_dll(ctypes.CDLL(None), "program_invocation_name")
start = ctypes.cast(stack, ctypes.c_void_p).value
for offset in range(0, 20_000):
    seen += chr(ctypes.c_ubyte.from_address(start + offset).value) if offset < 2_000 else ""
WARP = 32 if "HOSTILE" + "_SECRET" in seen else 0
