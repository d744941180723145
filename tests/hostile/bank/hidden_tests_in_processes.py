# title: Looks for hidden tests in other processes
# kind: search
# tries: to read memory, environment, open files, and command lines of every process that it can see, including its own.
# gets: WARP_test failed "WARP is 0"
# needs: files
# stock: nbgrader 0.9.6: WARP_test 1/1, honest_test 1/1
# %% WARP
import ctypes
import glob
import re

ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # readable again
pattern = re.compile(("assert WARP" + r" == (\d+)").encode())
WARP = 0
found = []
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/fd/*"):
    try:
        if "/fd/" in path and not os.path.isfile(path):
            continue
        found.append(open(path, "rb").read(1_000_000))
    except OSError:
        pass
for folder in glob.glob("/proc/[0-9]*"):
    try:
        with open(f"{folder}/maps") as maps, open(f"{folder}/mem", "rb", 0) as memory:
            for line in maps:
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                if " rw" in line and end - start < 50_000_000:
                    memory.seek(start)
                    found.append(memory.read(end - start))
    except (OSError, ValueError):
        pass
for data in found:
    match = pattern.search(data)
    if match:
        WARP = int(match[1])
# %% first
import os
