# %% right: reference
def gpu_idle_fraction(events):
    timed = [(event["ts"], event["ts"] + event["dur"], event["cat"]) for event in events if event["ph"] == "X"]
    first, last = min(start for start, _, _ in timed), max(stop for _, stop, _ in timed)
    busy, until = 0.0, first
    for start, stop, kind in sorted(timed):
        if kind == "kernel" and stop > until:
            busy += stop - max(start, until)
            until = stop
    return 1 - busy / (last - first)

# %% right: counts how many kernels run, from border to border
def gpu_idle_fraction(events):
    timed = [event for event in events if event["ph"] == "X"]
    borders = []
    for event in timed:
        weight = 1 if event["cat"] == "kernel" else 0
        borders += [(event["ts"], weight), (event["ts"] + event["dur"], -weight)]
    borders.sort()
    idle, running, before = 0.0, 0, borders[0][0]
    for now, change in borders:
        if running == 0:
            idle += now - before
        running, before = running + change, now
    return idle / (borders[-1][0] - borders[0][0])

# %% right: joins spans, with NumPy
import numpy as np


def gpu_idle_fraction(events):
    timed = [event for event in events if event["ph"] == "X"]
    first = min(event["ts"] for event in timed)
    last = max(event["ts"] + event["dur"] for event in timed)
    kernels = sorted((e["ts"] - first, e["ts"] - first + e["dur"]) for e in timed if e["cat"] == "kernel")
    if not kernels:
        return 1.0
    starts, stops = np.array(kernels).T
    reached = np.maximum.accumulate(stops)
    gaps = np.clip(starts[1:] - reached[:-1], 0, None).sum() + starts[0] + (last - first - reached[-1])
    return gaps / (last - first)

# %% wrong: sum of durations — says "only once"
def gpu_idle_fraction(events):
    timed = [event for event in events if event["ph"] == "X"]
    first, last = min(e["ts"] for e in timed), max(e["ts"] + e["dur"] for e in timed)
    return 1 - sum(e["dur"] for e in timed if e["cat"] == "kernel") / (last - first)

# %% wrong: sum of durations, not below zero — says "only once" — from "sum of durations"
# -     return 1 - sum(e["dur"] for e in timed if e["cat"] == "kernel") / (last - first)
# +     return max(0.0, 1 - sum(e["dur"] for e in timed if e["cat"] == "kernel") / (last - first))

# %% wrong: the busy share — says "does run" — from "reference": "1 - " → ""

# %% wrong: copies are kernels — says "A copy is not a kernel" — from "reference"
# -         if kind == "kernel" and stop > until:
# +         if kind in ("kernel", "gpu_memcpy", "gpu_memset") and stop > until:

# %% wrong: from the first kernel to the last — says "latest end of all events"
def gpu_idle_fraction(events):
    timed = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["cat"] == "kernel")
    if not timed:
        return 1.0
    first, last = timed[0][0], max(stop for _, stop in timed)
    busy, until = 0.0, first
    for start, stop in timed:
        if stop > until:
            busy += stop - max(start, until)
            until = stop
    return 1 - busy / (last - first)

# %% wrong: a short kernel inside a long one ends it — says "busy until the later end"
def gpu_idle_fraction(events):
    timed = [(event["ts"], event["ts"] + event["dur"], event["cat"]) for event in events if event["ph"] == "X"]
    first, last = min(start for start, _, _ in timed), max(stop for _, stop, _ in timed)
    gaps, until = 0.0, first
    for start, stop, kind in sorted(timed):
        if kind == "kernel":
            gaps += max(0.0, start - until)
            until = stop
    return (gaps + last - until) / (last - first)

# %% wrong: takes the events as they come — says "sort them" — from "a short kernel inside a long one ends it"
# -     for start, stop, kind in sorted(timed):
# +     for start, stop, kind in timed:

# -             until = stop
# +             until = max(until, stop)

# %% wrong: time begins at 0 — says "does not begin at 0" — from "reference"
# -     first, last = min(start for start, _, _ in timed), max(stop for _, stop, _ in timed)
# +     last = max(stop for _, stop, _ in timed)
# -     busy, until = 0.0, first
# +     busy, until = 0.0, 0.0

# -     return 1 - busy / (last - first)
# +     return 1 - busy / last

# %% wrong: every event has a duration — says "may lack dur" — from "reference": ` if event["ph"] == "X"` → ""

# %% wrong: microseconds — says "That is in µs" — from "reference": "1 - busy / (last - first)" → "last - first - busy"

# %% wrong: prints it — says "returned None"
def gpu_idle_fraction(events):
    print(len(events))

# %% hostile: a number that is equal to everything — earns 0
class Number(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def gpu_idle_fraction(events):
    return Number("nan")

# %% wrong: stream by stream, the mean of them — says "no stream has a kernel" — from "sum of durations"
# -     return 1 - sum(e["dur"] for e in timed if e["cat"] == "kernel") / (last - first)
# +     kernels = [e for e in timed if e["cat"] == "kernel"]
# +     streams = {e["tid"] for e in kernels}
# +     if not streams:
# +         return 1.0
# +     busy = sum(e["dur"] for e in kernels) / len(streams)
# +     return 1 - busy / (last - first)

# %% wrong: without a kernel nothing is idle — says "Without any kernel"
def gpu_idle_fraction(events):
    timed = [event for event in events if event["ph"] == "X"]
    kernels = sorted((event["ts"], event["ts"] + event["dur"]) for event in timed if event["cat"] == "kernel")
    if not kernels:
        return 0.0
    first, last = min(event["ts"] for event in timed), max(event["ts"] + event["dur"] for event in timed)
    idle, until = 0.0, first
    for start, stop in kernels:
        idle, until = idle + max(0.0, start - until), max(until, stop)
    return (idle + last - until) / (last - first)

# %% wrong: the window ends with the latest start — says "latest end of all events" — from "reference": "max(stop for _, stop, _ in timed)" → "max(start for start, _, _ in timed)"

# %% hostile: an int with a million digits — says "an int of 3321929 bits"
def gpu_idle_fraction(*arguments):
    return 10**1_000_000


# %% wrong: the window ends with the last kernel — says "latest end of all events"
def gpu_idle_fraction(events):
    xs = [e for e in events if e["ph"] == "X"]
    ks = sorted([e for e in xs if e["cat"] == "kernel"], key=lambda e: e["ts"])
    if not ks:
        return 1.0
    begin = min(e["ts"] for e in xs)
    end = max(e["ts"] + e["dur"] for e in ks)
    busy, until = 0.0, begin
    for e in ks:
        stop = e["ts"] + e["dur"]
        if stop > until:
            busy += stop - max(until, e["ts"])
            until = stop
    return 1 - busy / (end - begin)


# %% wrong: sorted by their ends — says "not of their ends"
def gpu_idle_fraction(events):
    xs = [e for e in events if e["ph"] == "X"]
    begin = min(e["ts"] for e in xs)
    end = max(e["ts"] + e["dur"] for e in xs)
    busy, until = 0.0, begin
    for e in sorted((e for e in xs if e.get("cat") == "kernel"), key=lambda e: e["ts"] + e["dur"]):
        stop = e["ts"] + e["dur"]
        if stop > until:
            busy += stop - max(until, e["ts"])
            until = stop
    return 1 - busy / (end - begin)


# %% wrong: the window ends when the last event to start does — says "latest end of all events"
def gpu_idle_fraction(events):
    xs = sorted([e for e in events if e["ph"] == "X"], key=lambda e: e["ts"])
    begin = xs[0]["ts"]
    end = xs[-1]["ts"] + xs[-1]["dur"]
    busy, until = 0.0, begin
    for e in xs:
        if e.get("cat") != "kernel":
            continue
        stop = e["ts"] + e["dur"]
        if stop > until:
            busy += stop - max(until, e["ts"])
            until = stop
    return 1 - busy / (end - begin)


# %% wrong: a kernel that starts while another runs adds nothing — says "add that part"
def gpu_idle_fraction(events):
    xs = [e for e in events if e["ph"] == "X"]
    begin = min(e["ts"] for e in xs)
    end = max(e["ts"] + e["dur"] for e in xs)
    busy, until = 0.0, begin
    for e in sorted((e for e in xs if e.get("cat") == "kernel"), key=lambda e: e["ts"]):
        stop = e["ts"] + e["dur"]
        if e["ts"] >= until:
            busy += e["dur"]
        until = max(until, stop)
    return 1 - busy / (end - begin)


# %% wrong: the beginning of the window is not counted — says "The beginning and the end"
def gpu_idle_fraction(events):
    xs = [e for e in events if e["ph"] == "X"]
    begin = min(e["ts"] for e in xs)
    end = max(e["ts"] + e["dur"] for e in xs)
    ks = sorted((e for e in xs if e.get("cat") == "kernel"), key=lambda e: e["ts"])
    if not ks:
        return 1.0
    idle, until = 0.0, ks[0]["ts"]
    for e in ks:
        idle += max(0.0, e["ts"] - until)
        until = max(until, e["ts"] + e["dur"])
    return (idle + end - until) / (end - begin)


# %% wrong: a set of whole µs — says "nor count in whole µs"
def gpu_idle_fraction(events):
    xs = [e for e in events if e["ph"] == "X"]
    begin = min(e["ts"] for e in xs)
    end = max(e["ts"] + e["dur"] for e in xs)
    covered = set()
    for e in xs:
        if e.get("cat") == "kernel":
            covered.update(range(int(e["ts"]), int(e["ts"] + e["dur"])))
    return 1 - len(covered) / (end - begin)

# %% wrong: the word kernel in cat is enough — says "test with ==" — from "reference": `kind == "kernel"` → `"kernel" in kind`

# %% wrong: ends are cut to whole µs — says "fractions of a µs" — from "reference": `event["ts"] + event["dur"], event` → `int(event["ts"] + event["dur"]), event`

# %% wrong: kernels of NCCL's are left out — says "An NCCL kernel is a kernel, too" — from "reference": ` if event["ph"] == "X"]` → ` if event["ph"] == "X" and not (event["cat"] == "kernel" and "nccl" in event["name"])]`

# %% wrong: only the streams of the example — says "A stream may have any number" — from "reference": ` if event["ph"] == "X"]` → ` if event["ph"] == "X" and (event["cat"] != "kernel" or event["tid"] in (7, 20))]`

# %% wrong: of kernels that begin together only one counts — says "Two kernels may begin at the same moment" — from "reference"
# -     for start, stop, kind in sorted(timed):
# +     for (start, kind), stop in sorted({(start, kind): stop for start, stop, kind in timed}.items()):

# %% wrong: the window is that of the kernels' streams — says "latest end of all events"
def gpu_idle_fraction(events):
    timed = [event for event in events if event["ph"] == "X"]
    streams = {event["tid"] for event in timed if event["cat"] == "kernel"} or {event["tid"] for event in timed}
    spans = [(event["ts"], event["ts"] + event["dur"]) for event in timed if event["tid"] in streams]
    first, last = min(start for start, _ in spans), max(stop for _, stop in spans)
    busy, until = 0.0, first
    for start, stop in sorted((e["ts"], e["ts"] + e["dur"]) for e in timed if e["cat"] == "kernel"):
        busy += max(0.0, stop - max(start, until))
        until = max(stop, until)
    return 1 - busy / (last - first)

# %% wrong: marks stretch the window — says "the ts of other events may mean nothing" — from "reference": "min(start for start, _, _ in timed)" → `min(event.get("ts", 0.0) for event in events)`

# %% wrong: setting memory is a kernel — says "Setting memory" — from "reference": `kind == "kernel"` → `kind in ("kernel", "gpu_memset")`

# %% wrong: a kernel is what is called a kernel — says "whatever its name" — from "reference": `event["cat"]` → `event["name"]`, `kind == "kernel"` → `"kernel" in kind`

# %% wrong: marks stretch the window at both ends — says "the ts of other events may mean nothing" — from "reference"
# -     first, last = min(start for start, _, _ in timed), max(stop for _, stop, _ in timed)
# +     first = min(event["ts"] for event in events if "ts" in event)
# +     last = max(event["ts"] + event.get("dur", 0.0) for event in events if "ts" in event)

# %% wrong: marks of cat kernel are kernels if they have a dur — says "A kernel's ph is X: cat alone is not enough" — from "reference"
# -     for start, stop, kind in sorted(timed):
# +     marks = [(one["ts"], one["ts"] + one["dur"], one.get("cat")) for one in events if one["ph"] != "X" and "dur" in one]
# +     for start, stop, kind in sorted(timed + marks):

# %% wrong: the idle shares of streams multiplied — says "shares are not multiplied"
def gpu_idle_fraction(events):
    timed = [event for event in events if event["ph"] == "X"]
    window = max(event["ts"] + event["dur"] for event in timed) - min(event["ts"] for event in timed)
    kernels, idle = [event for event in timed if event["cat"] == "kernel"], 1.0
    for stream in {event["tid"] for event in kernels}:
        idle *= 1 - sum(event["dur"] for event in kernels if event["tid"] == stream) / window
    return idle

# %% wrong: copies are no part of the window — says "copies, and memsets count, too" — from "reference"
# -     first, last = min(start for start, _, _ in timed), max(stop for _, stop, _ in timed)
# +     some = [one for one in timed if not one[2].startswith("gpu_mem")]
# +     first, last = min(start for start, _, _ in some), max(stop for _, stop, _ in some)

# %% wrong: only the CPU's events make the window — says "copies, and memsets count, too" — from "reference"
# -     first, last = min(start for start, _, _ in timed), max(stop for _, stop, _ in timed)
# +     some = [one for one in timed if one[2] != "kernel" and not one[2].startswith("gpu_mem")] or timed
# +     first, last = min(start for start, _, _ in some), max(stop for _, stop, _ in some)

# %% wrong: events of 0 µs are left out of the window — says "An event of 0 µs is an event, too" — from "reference": `if event["ph"] == "X"]` → `if event["ph"] == "X" and event["dur"] > 0]`

# %% wrong: dur is the end — says "a duration, not an end" — from "reference": `event["ts"] + event["dur"]` → `event["dur"]`

# %% wrong: busy only when every stream has a kernel — says "not only when all have one"
def gpu_idle_fraction(events):
    timed = [event for event in events if event["ph"] == "X"]
    first = min(event["ts"] for event in timed)
    last = max(event["ts"] + event["dur"] for event in timed)
    kernels = [event for event in timed if event["cat"] == "kernel"]
    streams = {event["tid"] for event in kernels}
    borders = {first, last} | {event["ts"] + part for event in kernels for part in (0, event["dur"])}
    borders, busy = sorted(borders), 0.0
    for start, stop in zip(borders, borders[1:]):
        running = {event["tid"] for event in kernels if event["ts"] <= start and stop <= event["ts"] + event["dur"]}
        busy += stop - start if running and running == streams else 0.0
    return 1 - busy / (last - first)

# %% wrong: looks at ten thousand moments — says "sampled at moments"
import numpy as np


def gpu_idle_fraction(events):
    timed = [event for event in events if event["ph"] == "X"]
    first = min(event["ts"] for event in timed)
    last = max(event["ts"] + event["dur"] for event in timed)
    moments = np.linspace(first, last, 10_000)
    busy = np.zeros(len(moments), bool)
    for event in timed:
        if event["cat"] == "kernel":
            busy |= (event["ts"] <= moments) & (moments < event["ts"] + event["dur"])
    return 1 - busy.mean()

# %% wrong: busy from the first kernel to the last — says "Pauses between kernels are idle time, too"
def gpu_idle_fraction(events):
    spans = [e for e in events if e["ph"] == "X"]
    first = min(e["ts"] for e in spans)
    last = max(e["ts"] + e["dur"] for e in spans)
    kernels = [e for e in spans if e.get("cat") == "kernel"]
    if not kernels:
        return 1.0
    busy = max(e["ts"] + e["dur"] for e in kernels) - min(e["ts"] for e in kernels)
    return 1 - busy / (last - first)

# %% wrong: kernels merged per stream, then added — says "counted more than once"
def gpu_idle_fraction(events):
    spans = [e for e in events if e["ph"] == "X"]
    first = min(e["ts"] for e in spans)
    last = max(e["ts"] + e["dur"] for e in spans)
    streams = {}
    for e in spans:
        if e.get("cat") == "kernel":
            streams.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"]))
    busy = 0.0
    for kernels in streams.values():
        until = first
        for a, b in sorted(kernels):
            busy += max(0.0, b - max(a, until))
            until = max(until, b)
    return 1 - busy / (last - first)

# %% wrong: the first kernel of none — says "Without any kernel the GPU is idle all the time"
def gpu_idle_fraction(events):
    spans = [e for e in events if e["ph"] == "X"]
    first = min(e["ts"] for e in spans)
    last = max(e["ts"] + e["dur"] for e in spans)
    kernels = sorted([e["ts"], e["ts"] + e["dur"]] for e in spans if e.get("cat") == "kernel")
    merged = [kernels[0]]
    for start, stop in kernels[1:]:
        if start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], stop)
        else:
            merged.append([start, stop])
    busy = sum(b - a for a, b in merged)
    return 1 - busy / (last - first)

# %% wrong: rounded to two decimals — says "Is it rounded?" — from "reference": "return 1 - busy / (last - first)" → "return round(1 - busy / (last - first), 2)"

# %% wrong: calls to CUDA are work — says "A call to CUDA is not a kernel" — from "reference": `kind == "kernel"` → `kind in ("kernel", "cuda_runtime")`

# %% wrong: idle time over busy time — says "a share of the window" — from "reference": "1 - busy / (last - first)" → "(last - first - busy) / busy if busy else 1.0"

# %% wrong: a window as long as all events together — says "a share of the window" — from "reference": "1 - busy / (last - first)" → "1 - busy / sum(stop - start for start, stop, _ in timed)"

# %% wrong: the last stretch is never added — says "The last stretch of kernels is missing"
def gpu_idle_fraction(events):
    timed = [one for one in events if one["ph"] == "X"]
    first, last = min(one["ts"] for one in timed), max(one["ts"] + one["dur"] for one in timed)
    kernels = sorted((one["ts"], one["ts"] + one["dur"]) for one in timed if one["cat"] == "kernel")
    busy, begin, end = 0.0, first, first
    for start, stop in kernels:
        if start > end:
            busy += end - begin
            begin, end = start, stop
        else:
            end = max(end, stop)
    return 1 - busy / (last - first)

# %% wrong: a function that calls itself for each kernel — says "nests too deep"
def busy(kernels, until):
    if not kernels:
        return 0.0
    (start, stop), *rest = kernels
    return max(0.0, stop - max(start, until)) + busy(rest, max(until, stop))


def gpu_idle_fraction(events):
    timed = [one for one in events if one["ph"] == "X"]
    first, last = min(one["ts"] for one in timed), max(one["ts"] + one["dur"] for one in timed)
    kernels = sorted((one["ts"], one["ts"] + one["dur"]) for one in timed if one["cat"] == "kernel")
    return 1 - busy(kernels, first) / (last - first)

# %% wrong: a grid of tenths of a µs — says "times in tenths of a µs"
import numpy as np


def gpu_idle_fraction(events):
    timed = [one for one in events if one["ph"] == "X"]
    first, last = min(one["ts"] for one in timed), max(one["ts"] + one["dur"] for one in timed)
    grid = np.zeros(round(10 * (last - first)), bool)
    for one in timed:
        if one["cat"] == "kernel":
            grid[round(10 * (one["ts"] - first)) : round(10 * (one["ts"] + one["dur"] - first))] = True
    return 1 - grid.mean()

# %% wrong: no kernel has mem in its name — says "The cat says what a kernel is" — from "counts how many kernels run, from border to border": `event["cat"] == "kernel" else` → `event["cat"] == "kernel" and "Mem" not in event["name"] else`

# %% wrong: the kernels of one process — says "whatever its pid" — from "counts how many kernels run, from border to border": `event["cat"] == "kernel" else` → `event["cat"] == "kernel" and event["pid"] == timed[0]["pid"] else`
