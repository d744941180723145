# %% right: reference
def top_kernels(events, n):
    total = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "kernel":
            total[event["name"]] = total.get(event["name"], 0.0) + event["dur"]
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]

# %% right: Counter, sorted by name first
from collections import Counter


def top_kernels(events, n):
    total = Counter()
    for event in events:
        if event["ph"] == "X" and event.get("cat") == "kernel":
            total[event["name"]] += event["dur"]
    return Counter(dict(sorted(total.items()))).most_common(n)

# %% wrong: the longest single calls — says "Add up each name's calls"
def top_kernels(events, n):
    longest = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "kernel":
            longest[event["name"]] = max(longest.get(event["name"], 0.0), event["dur"])
    return sorted(longest.items(), key=lambda item: (-item[1], item[0]))[:n]

# %% wrong: every call by itself — says "Add up each name's calls"
def top_kernels(events, n):
    calls = [(event["name"], event["dur"]) for event in events if event["ph"] == "X" and event["cat"] == "kernel"]
    return sorted(calls, key=lambda item: (-item[1], item[0]))[:n]

# %% wrong: counts calls — says "counts calls"
from collections import Counter


def top_kernels(events, n):
    names = Counter(event["name"] for event in events if event["ph"] == "X" and event["cat"] == "kernel")
    return sorted(names.items(), key=lambda item: (-item[1], item[0]))[:n]

# %% wrong: the smallest first — says "largest total comes first" — from "reference"
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     return sorted(sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n], key=lambda item: item[1])

# %% wrong: operators of the CPU as well — says "Only events with cat kernel" — from "reference": ` and event["cat"] == "kernel"` → ""

# %% wrong: names alone — says "Pairs of name and total" — from "reference"
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     return sorted(total, key=lambda name: (-total[name], name))[:n]

# %% wrong: milliseconds — says "in ms" — from "reference": `dur"]` → `dur"] / 1e3`

# %% wrong: equal totals in the order in which they came — says "in which Python sorts them" — from "reference": "(-item[1], item[0])" → "-item[1]"

# %% wrong: all of them — says "this list is too long" — from "reference": "[:n]" → ""

# %% wrong: marks have a duration, too — says "may lack dur" — from "reference": `ph"] == "X" and event["` → ""

# %% wrong: a dict — says "list" — from "reference"
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     return dict(sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n])

# %% hostile: leaves as if all were well — earns 0
import os


def top_kernels(events, n):
    os._exit(0)

# %% wrong: means, not totals — says "Add up each name's calls"
def top_kernels(events, n):
    calls = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "kernel":
            calls.setdefault(event["name"], []).append(event["dur"])
    means = {name: sum(each) / len(each) for name, each in calls.items()}
    return sorted(means.items(), key=lambda item: (-item[1], item[0]))[:n]

# %% wrong: capitals and small letters alike — says "capitals before small" — from "reference": "0])" → "0].lower())"

# %% wrong: every category with kernel in its name — says "is exactly 'kernel'" — from "reference": `event["cat"] == "kernel"` → `"kernel" in event["cat"]`

# %% wrong: equal totals from Z to A — says "from A to Z" — from "reference": "key=lambda item: (-item[1], item[0]))" → "key=lambda item: (item[1], item[0]), reverse=True)"

# %% hostile: a list that says it is a tuple, longer than memory, and cannot be walked
class Kind(type):
    def __instancecheck__(cls, value):
        return True

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return 0


class Rows(list, metaclass=Kind):
    __class__ = property(lambda self: tuple)

    def __len__(self):
        return 10**9

    def __iter__(self):
        raise KeyboardInterrupt

    def __eq__(self, other):
        return True


def top_kernels(*arguments):
    return Rows([1, 2])


# %% wrong: a total for each stream — says "several streams"
def top_kernels(events, n):
    totals = {}
    for e in events:
        if e["ph"] == "X" and e.get("cat") == "kernel":
            key = (e["name"], e["tid"])
            totals[key] = totals.get(key, 0.0) + e["dur"]
    return [(name, us) for (name, _), us in sorted(totals.items(), key=lambda p: (-p[1], p[0]))[:n]]


# %% wrong: marks are kernels of no duration — says "A kernel's ph is X"
def top_kernels(events, n):
    totals = {}
    for e in events:
        if e.get("cat") == "kernel":
            totals[e["name"]] = totals.get(e["name"], 0.0) + e.get("dur", 0.0)
    return sorted(totals.items(), key=lambda p: (-p[1], p[0]))[:n]


# %% wrong: cut before it is sorted — says "Sort first"
def top_kernels(events, n):
    totals = {}
    for e in events:
        if e["ph"] == "X" and e.get("cat") == "kernel":
            totals[e["name"]] = totals.get(e["name"], 0.0) + e["dur"]
    return sorted(list(totals.items())[:n], key=lambda p: (-p[1], p[0]))


# %% wrong: rounded — says "Do not round"
def top_kernels(events, n):
    totals = {}
    for e in events:
        if e["ph"] == "X" and e.get("cat") == "kernel":
            totals[e["name"]] = totals.get(e["name"], 0.0) + e["dur"]
    return [(k, round(v)) for k, v in sorted(totals.items(), key=lambda p: (-p[1], p[0]))[:n]]


# %% wrong: copies are kernels — says "A copy is not a kernel"
def top_kernels(events, n):
    totals = {}
    for e in events:
        if e["ph"] == "X" and e.get("cat") in ("kernel", "gpu_memcpy"):
            totals[e["name"]] = totals.get(e["name"], 0.0) + e["dur"]
    return sorted(totals.items(), key=lambda p: (-p[1], p[0]))[:n]


# %% wrong: names and totals apart — says "pairs of name and total"
def top_kernels(events, n):
    totals = {}
    for e in events:
        if e["ph"] == "X" and e.get("cat") == "kernel":
            totals[e["name"]] = totals.get(e["name"], 0.0) + e["dur"]
    pairs = sorted(totals.items(), key=lambda p: (-p[1], p[0]))[:n]
    return [k for k, _ in pairs], [v for _, v in pairs]


# %% right: with NumPy
import numpy as np
def top_kernels(events, n):
    kernels = [e for e in events if e["ph"] == "X" and e.get("cat") == "kernel"]
    if not kernels:
        return []
    names, where = np.unique([e["name"] for e in kernels], return_inverse=True)
    totals = np.bincount(where, weights=[e["dur"] for e in kernels])
    order = np.lexsort((names, -totals))[:n]
    return [(str(names[i]), float(totals[i])) for i in order]


# %% right: groups of sorted pairs
from itertools import groupby
def top_kernels(events, n):
    kernels = sorted((e["name"], e["dur"]) for e in events if e["ph"] == "X" and e.get("cat") == "kernel")
    sums = [(name, sum(d for _, d in group)) for name, group in groupby(kernels, key=lambda p: p[0])]
    return sorted(sums, key=lambda p: -p[1])[:n]


# %% wrong: sorted by the number of calls — says "not by the number of calls"
def top_kernels(events, n):
    totals, counts = {}, {}
    for e in events:
        if e["ph"] == "X" and e.get("cat") == "kernel":
            totals[e["name"]] = totals.get(e["name"], 0.0) + e["dur"]
            counts[e["name"]] = counts.get(e["name"], 0) + 1
    return sorted(totals.items(), key=lambda p: (-counts[p[0]], p[0]))[:n]

# %% wrong: rounded to two decimals — says "Do not round" — from "reference": "return sorted(total.items()" → "return sorted([(name, round(us, 2)) for name, us in total.items()]"

# %% wrong: a cat that begins with kernel — says "exactly" — from "reference": `event["cat"] == "kernel"` → `event["cat"].startswith("kernel")`

# %% wrong: all that are as large as the n-th — says "Return only the first 2" — from "reference"
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     ranked = sorted(total.items(), key=lambda item: (-item[1], item[0]))
# +     return [pair for pair in ranked if n and pair[1] >= ranked[min(n, len(ranked)) - 1][1]]

# %% wrong: rounded for sorting — says "Compare totals as they are" — from "reference": "(-item[1]" → "(-round(item[1])"

# %% wrong: cut to whole numbers for sorting — says "Compare totals as they are" — from "reference": "(-item[1]" → "(-int(item[1])"

# %% wrong: names end before their arguments — says "Names stay whole"
def top_kernels(events, n):
    total = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "kernel":
            name = event["name"].split("(")[0]
            total[name] = total.get(name, 0.0) + event["dur"]
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]


# %% wrong: one name too few — says "this list is too short" — from "reference": "[:n]" → "[:n - 1]"

# %% wrong: in the order of names — says "not by name" — from "reference": "(-item[1], item[0])" → "item[0]"

# %% wrong: totals of the call before — says "begin with an empty dict" — from "reference"
# - def top_kernels(events, n):
# -     total = {}
# + def top_kernels(events, n, total={}):

# %% wrong: kernels of 0 µs are left out — says "A kernel of 0 µs" — from "reference": `event["cat"] == "kernel":` → `event["cat"] == "kernel" and event["dur"]:`

# %% wrong: short names first — says "however long they are" — from "reference": "(-item[1], item[0])" → "(-item[1], len(item[0]), item[0])"

# %% wrong: always n items — says "fewer than n names" — from "reference"
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     found = sorted(total.items(), key=lambda item: (-item[1], item[0]))
# +     return [found[at] for at in range(n)]

# %% wrong: filled up to n items — says "add none" — from "reference"
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     return (sorted(total.items(), key=lambda item: (-item[1], item[0])) + [("", 0.0)] * n)[:n]

# %% wrong: totals are the keys of a dict — says "a dict with totals as keys keeps one" — from "reference": "total.items()" → "{us: (name, us) for name, us in total.items()}.values()"

# %% wrong: one stream only — says "several streams" — from "reference": `event["cat"] == "kernel":` → `event["cat"] == "kernel" and event["tid"] == 7:`

# %% wrong: cut by the total alone, names sorted afterwards — says "Sort by total and name, then cut" — from "reference"
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     largest = sorted(total.items(), key=lambda item: -item[1])[:n]
# +     return sorted(largest, key=lambda item: (-item[1], item[0]))

# %% wrong: whatever has a dur is an event — says "A kernel's ph is X: cat alone is not enough" — from "reference": `event["ph"] == "X" and event["cat"] == "kernel"` → `"dur" in event and event.get("cat") == "kernel"`

# %% wrong: sorted by the mean of a name's calls — says "then sort the sums" — from "reference"
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     calls = [event["name"] for event in events if event["ph"] == "X" and event["cat"] == "kernel"]
# +     return sorted(total.items(), key=lambda item: (-item[1] / calls.count(item[0]), item[0]))[:n]

# %% wrong: names end after 40 letters — says "however long they are" — from "reference"
# -             total[event["name"]] = total.get(event["name"], 0.0) + event["dur"]
# +             name = event["name"][:40]
# +             total[name] = total.get(name, 0.0) + event["dur"]

# %% wrong: kernels of NCCL's are left out — says "An NCCL kernel is a kernel, too" — from "reference": `event["cat"] == "kernel":` → `event["cat"] == "kernel" and not event["name"].startswith("nccl"):`

# %% wrong: names end after 60 letters, as in the demonstration — says "however long they are" — from "reference"
#           if event["ph"] == "X" and event["cat"] == "kernel":
# -             total[event["name"]] = total.get(event["name"], 0.0) + event["dur"]
# +             name = event["name"][:60]
# +             total[name] = total.get(name, 0.0) + event["dur"]

# %% wrong: rounded to three decimals for sorting — says "Compare totals as they are" — from "reference": "(-item[1]" → "(-round(item[1], 3)"

# %% wrong: names in small letters — says "b and B are two kernels" — from "reference"
#           if event["ph"] == "X" and event["cat"] == "kernel":
# -             total[event["name"]] = total.get(event["name"], 0.0) + event["dur"]
# +             name = event["name"].lower()
# +             total[name] = total.get(name, 0.0) + event["dur"]

# %% wrong: names, totals, and counts — says "Return pairs of name and total" — from "reference"
# -     total = {}
# +     total, calls = {}, {}
#       for event in events:

#               total[event["name"]] = total.get(event["name"], 0.0) + event["dur"]
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +             calls[event["name"]] = calls.get(event["name"], 0) + 1
# +     ranked = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     return [(name, us, calls[name]) for name, us in ranked]

# %% wrong: a share in percent — says "That is a share" — from "reference"
# +     total = {name: 100 * us / sum(total.values()) for name, us in total.items()}
#       return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]

# %% wrong: sums in float32 — says "the digits of a float32" — from "reference"
# +     from numpy import float32
# +
#       total = {}

# -             total[event["name"]] = total.get(event["name"], 0.0) + event["dur"]
# +             total[event["name"]] = total.get(event["name"], float32(0)) + float32(event["dur"])

# %% wrong: the kernels of process 0 — says "whatever their pid" — from "reference": `event["cat"] == "kernel"` → `event["cat"] == "kernel" and event["pid"] == 0`

# %% wrong: names without spaces at their ends — says "also a space at an end" — from "Counter, sorted by name first": `total[event["name"]]` → `total[event["name"].strip()]`
