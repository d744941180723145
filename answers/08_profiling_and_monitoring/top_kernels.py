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
        if event.get("cat") == "kernel" and "dur" in event:
            total[event["name"]] += event["dur"]
    return Counter(dict(sorted(total.items()))).most_common(n)

# %% wrong: the longest single calls — says "added up"
def top_kernels(events, n):
    longest = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "kernel":
            longest[event["name"]] = max(longest.get(event["name"], 0.0), event["dur"])
    return sorted(longest.items(), key=lambda item: (-item[1], item[0]))[:n]

# %% wrong: every call by itself — says "added up"
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

# %% wrong: equal totals in the order in which they came — says "alphabetical" — from "reference": "(-item[1], item[0])" → "-item[1]"

# %% wrong: all of them — says "this list is too long" — from "reference": "[:n]" → ""

# %% wrong: marks have a duration, too — says "may lack dur" — from "reference": `ph"] == "X" and event["` → ""

# %% wrong: a dict — says "list" — from "reference"
# -     return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n]
# +     return dict(sorted(total.items(), key=lambda item: (-item[1], item[0]))[:n])

# %% hostile: leaves as if all were well — earns 0
import os


def top_kernels(events, n):
    os._exit(0)

# %% wrong: means, not totals — says "added up"
def top_kernels(events, n):
    calls = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "kernel":
            calls.setdefault(event["name"], []).append(event["dur"])
    means = {name: sum(each) / len(each) for name, each in calls.items()}
    return sorted(means.items(), key=lambda item: (-item[1], item[0]))[:n]

# %% wrong: capitals and small letters alike — says "capitals before small" — from "reference": "0])" → "0].lower())"

# %% wrong: every category with kernel in its name — says "cat of kernel, exactly" — from "reference": `event["cat"] == "kernel"` → `"kernel" in event["cat"]`

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
