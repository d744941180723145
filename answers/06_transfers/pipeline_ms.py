# %% right: reference
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    lasts = {"in": h2d_ms, "kernel": compute_ms, "out": d2h_ms}
    engine = {"in": "copy", "kernel": "compute", "out": "copy" if copy_engines == 1 else "copy back"}
    if order == "chunk":
        queue = [(stage, chunk) for chunk in range(chunks) for stage in lasts]
    else:
        queue = [(stage, chunk) for stage in lasts for chunk in range(chunks)]
    free = dict.fromkeys(engine.values(), 0.0)
    ready = [0.0] * chunks
    for stage, chunk in queue:
        ready[chunk] = free[engine[stage]] = max(free[engine[stage]], ready[chunk]) + lasts[stage]
    return max(ready)

# %% right: in closed form
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    one = h2d_ms + compute_ms + d2h_ms
    if copy_engines == 1 and order == "chunk":
        return chunks * one
    flow = one + (chunks - 1) * max(h2d_ms, compute_ms, d2h_ms)
    return max(flow, chunks * (h2d_ms + d2h_ms)) if copy_engines == 1 else flow

# %% right: engine by engine, as queues that are served until all are empty
from collections import deque


def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    issue = [(chunk, stage) for chunk in range(chunks) for stage in range(3)]
    if order == "stage":
        issue = sorted(issue, key=lambda item: item[1])
    back = 0 if copy_engines == 1 else 2
    queues = {0: deque(), 1: deque(), 2: deque()}
    for chunk, stage in issue:
        queues[(0, 1, back)[stage]].append((chunk, stage))
    ended, clock = {}, {0: 0.0, 1: 0.0, 2: 0.0}
    while any(queues.values()):
        for number, queue in queues.items():
            while queue and (queue[0][1] == 0 or (queue[0][0], queue[0][1] - 1) in ended):
                chunk, stage = queue.popleft()
                begin = max(clock[number], ended.get((chunk, stage - 1), 0.0))
                clock[number] = ended[chunk, stage] = begin + (h2d_ms, compute_ms, d2h_ms)[stage]
    return max(ended.values())

# %% wrong: a clock that ticks in 256ths of a millisecond — says "expected"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    unit = 256
    left = {"in": h2d_ms, "kernel": compute_ms, "out": d2h_ms}
    unit_of = {"in": 0, "kernel": 1, "out": 0 if copy_engines == 1 else 2}
    names = ("in", "kernel", "out")
    ops = [(s, c) for c in range(chunks) for s in names] if order == "chunk" else [(s, c) for s in names for c in range(chunks)]
    queues = {u: [op for op in ops if unit_of[op[0]] == u] for u in set(unit_of.values())}
    free, done, now = dict.fromkeys(queues, 0), {}, 0
    while any(queues.values()):
        moved = False
        for u, queue in queues.items():
            if queue and free[u] <= now:
                s, c = queue[0]
                previous = names.index(s) - 1
                if previous < 0 or done.get((names[previous], c), 1 << 60) <= now:
                    free[u] = done[s, c] = now + round(left[s] * unit)
                    queue.pop(0)
                    moved = True
        now += not moved
    return max(done.values()) / unit

# %% wrong: one engine treated as two — says "treated as two"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    return h2d_ms + compute_ms + d2h_ms + (chunks - 1) * max(h2d_ms, compute_ms, d2h_ms)

# %% wrong: the order of issue ignored — says "order of issue is ignored"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    flow = h2d_ms + compute_ms + d2h_ms + (chunks - 1) * max(h2d_ms, compute_ms, d2h_ms)
    return max(flow, chunks * (h2d_ms + d2h_ms)) if copy_engines == 1 else flow

# %% wrong: the sum of the stages with two engines — says "sum of all operations"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    return chunks * (h2d_ms + compute_ms + d2h_ms)

# %% wrong: the slowest stage only — says "nothing hides those"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    if copy_engines == 1 and order == "chunk":
        return chunks * (h2d_ms + compute_ms + d2h_ms)
    return chunks * max(h2d_ms, compute_ms, d2h_ms)

# %% wrong: stage by stage never overlaps — says "overlap"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    if copy_engines == 2:
        return h2d_ms + compute_ms + d2h_ms + (chunks - 1) * max(h2d_ms, compute_ms, d2h_ms)
    return chunks * (h2d_ms + compute_ms + d2h_ms)

# %% wrong: kernels wait for all copies in — says "kernels start earlier"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    one = h2d_ms + compute_ms + d2h_ms
    if copy_engines == 2:
        return one + (chunks - 1) * max(h2d_ms, compute_ms, d2h_ms)
    if order == "chunk":
        return chunks * one
    return chunks * h2d_ms + compute_ms + chunks * d2h_ms

# %% wrong: in and out never overlap, however many engines — says "in and out overlap" — from "in closed form"
# +     return max(one + (chunks - 1) * max(h2d_ms, compute_ms, d2h_ms), chunks * (h2d_ms + d2h_ms))
# -     flow = one + (chunks - 1) * max(h2d_ms, compute_ms, d2h_ms)
# -     return max(flow, chunks * (h2d_ms + d2h_ms)) if copy_engines == 1 else flow

# %% wrong: the order must be given — says "missing" — from "in closed form": `="chunk"` → ""

# %% wrong: returns all ends — says "list"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    return [chunk * (h2d_ms + compute_ms + d2h_ms) for chunk in range(1, chunks + 1)]

# %% wrong: no return — says "return statement" — from "the sum of the stages with two engines": "return" → "total ="

# %% hostile: a float that is close to everything — earns 0
class Near(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__
    __hash__ = float.__hash__


def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    return Near(1)

# %% wrong: the orders swapped — says "orders are swapped" — from "reference": `order == "chunk"` → `order == "stage"`

# %% wrong: every engine takes any number of operations at a time — says "one operation at a time" — from "reference": "max(free[engine[stage]], ready[chunk])" → "ready[chunk]"

# %% wrong: several kernels at a time — says "one compute engine" — from "reference": "max(free[engine[stage]], ready[chunk])" → `max(free[engine[stage]] * (stage != "kernel"), ready[chunk])`

# %% wrong: forgets the last copy out — says "last copy out is missing" — from "reference": "return max(ready)" → "return max(ready) - d2h_ms"


# %% wrong: the copy out takes the compute engine — says "not the compute engine"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    ms = {"in": h2d_ms, "kernel": compute_ms, "out": d2h_ms}
    stages = list(ms)
    ops = [(s, c) for c in range(chunks) for s in stages] if order == "chunk" else [(s, c) for s in stages for c in range(chunks)]
    free, ready = [0, 0, 0], [0] * chunks
    eng = {"in": 0, "kernel": 1, "out": copy_engines}
    for s, c in ops:
        free[eng[s]] = ready[c] = max(free[eng[s]], ready[c]) + ms[s]
    return max(ready)


# %% wrong: the copy out does not wait for the kernel — says "is complete"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    engine = {"in": 0, "kernel": 1, "out": 0 if copy_engines == 1 else 2}
    ms = {"in": h2d_ms, "kernel": compute_ms, "out": d2h_ms}
    stages = list(ms)
    ops = [(s, c) for c in range(chunks) for s in stages] if order == "chunk" else [(s, c) for s in stages for c in range(chunks)]
    free, ready = [0, 0, 0], [0] * chunks
    last = 0
    for s, c in ops:
        end = max(free[engine[s]], ready[c]) + ms[s]
        free[engine[s]] = end
        if s == "in":
            ready[c] = end
        last = max(last, end)
    return last


# %% wrong: a copy takes whichever engine is free — says "has its direction"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    ms = {"in": h2d_ms, "kernel": compute_ms, "out": d2h_ms}
    stages = list(ms)
    ops = [(s, c) for c in range(chunks) for s in stages] if order == "chunk" else [(s, c) for s in stages for c in range(chunks)]
    copies, sm, ready = [0] * copy_engines, 0, [0] * chunks
    for s, c in ops:
        if s == "kernel":
            sm = ready[c] = max(sm, ready[c]) + ms[s]
        else:
            i = copies.index(min(copies))
            copies[i] = ready[c] = max(copies[i], ready[c]) + ms[s]
    return max(ready)


# %% wrong: the times of all chunks together — says "per chunk already"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    engine = {"in": 0, "kernel": 1, "out": 0 if copy_engines == 1 else 2}
    ms = {"in": h2d_ms / chunks, "kernel": compute_ms / chunks, "out": d2h_ms / chunks}
    stages = list(ms)
    ops = [(s, c) for c in range(chunks) for s in stages] if order == "chunk" else [(s, c) for s in stages for c in range(chunks)]
    free, ready = [0, 0, 0], [0] * chunks
    for s, c in ops:
        free[engine[s]] = ready[c] = max(free[engine[s]], ready[c]) + ms[s]
    return max(ready)


# %% right: a tensor of no dimension
import torch
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    times = torch.tensor([h2d_ms, compute_ms, d2h_ms], dtype=torch.float64)
    ids = [(s, c) for c in range(chunks) for s in range(3)]
    if order != "chunk":
        ids.sort()
    free = torch.zeros(3, dtype=torch.float64)
    ready = torch.zeros(chunks, dtype=torch.float64)
    for s, c in ids:
        e = 0 if s == 2 and copy_engines == 1 else s
        end = torch.maximum(free[e], ready[c]) + times[s]
        free[e] = end
        ready[c] = end
    return ready[-1]

# %% wrong: chunk by chunk whatever the order — says "is order ignored" — from "reference": `if order == "chunk":` → "if True:"

# %% wrong: two buffers — says "number is not limited" — from "reference"
# -         ready[chunk] = free[engine[stage]] = max(free[engine[stage]], ready[chunk]) + lasts[stage]
# +         buffer_free = ready[chunk - 2] if stage == "in" and chunk > 1 else 0.0
# +         ready[chunk] = free[engine[stage]] = max(free[engine[stage]], ready[chunk], buffer_free) + lasts[stage]

# %% wrong: does not count the first copy in — says "or the first copy in" — from "reference": "return max(ready)" → "return max(ready) - h2d_ms"

# %% wrong: one copy engine for everything, kernels too — says "They have an engine of their own" — from "reference": `"kernel": "compute"` → `"kernel": "copy" if copy_engines == 1 else "compute"`

# %% right: a fraction — from "reference"
# + from fractions import Fraction
# +
# +
#   def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):

# -     return max(ready)
# +     return Fraction(max(ready))

# %% wrong: stage by stage, unless it says otherwise — says "The default order" — from "reference": `order="chunk"):` → `order="stage"):`

# %% wrong: an engine without its waits — says "the time when an operation started" — from "reference"
# -         ready[chunk] = free[engine[stage]] = max(free[engine[stage]], ready[chunk]) + lasts[stage]
# +         ready[chunk] = max(free[engine[stage]], ready[chunk]) + lasts[stage]
# +         free[engine[stage]] += lasts[stage]

# %% wrong: the end of the first chunk — says "Return the end of the last one" — from "reference": "max(ready)" → "ready[0]"

# %% wrong: the end of the last kernel — says "The last copy out is missing" — from "reference": "max(ready)" → "free['compute']"

# %% wrong: a kernel does not wait for its copy — says "waits for the copy in of its chunk" — from "reference"
# -         ready[chunk] = free[engine[stage]] = max(free[engine[stage]], ready[chunk]) + lasts[stage]
# +         start = free[engine[stage]] if stage == "kernel" else max(free[engine[stage]], ready[chunk])
# +         ready[chunk] = free[engine[stage]] = start + lasts[stage]

# %% wrong: chunks numbered from 1, the last one left out — says "One of the three chunks is missing" — from "reference"
# -         queue = [(stage, chunk) for chunk in range(chunks) for stage in lasts]
# +         queue = [(stage, chunk) for chunk in range(1, chunks) for stage in lasts]

# -         queue = [(stage, chunk) for stage in lasts for chunk in range(chunks)]
# +         queue = [(stage, chunk) for stage in lasts for chunk in range(1, chunks)]

# %% wrong: a stage waits for the one before it — says "until the stage before it is complete" — from "reference"
# -     for stage, chunk in queue:
# +     for stage, chunk in queue:
# +         if order == "stage" and chunk == 0:
# +             free = dict.fromkeys(free, max(free.values()))

# %% wrong: stage by stage, copies out wait for all kernels — says "Copies out start earlier" — from "reference"
# -     for stage, chunk in queue:
# +     for stage, chunk in queue:
# +         if order == "stage" and (stage, chunk) == ("out", 0):
# +             free = dict.fromkeys(free, max(free.values()))

# %% wrong: stage by stage, kernels wait for all copies in, one after another — says "kernels start earlier" — from "reference"
# -     for stage, chunk in queue:
# +     for stage, chunk in queue:
# +         if order == "stage" and (stage, chunk) == ("kernel", 0):
# +             free = dict.fromkeys(free, max(free.values()))

# %% wrong: the engines go on from the call before — says "Each call starts at 0 ms" — from "reference"
# - def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
# + free = {"copy": 0.0, "compute": 0.0, "copy back": 0.0}
# +
# +
# + def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):

# -     free = dict.fromkeys(engine.values(), 0.0)

# %% wrong: a copy in waits for the chunk before — says "The number of buffers is not limited" — from "reference"
# -         ready[chunk] = free[engine[stage]] = max(free[engine[stage]], ready[chunk]) + lasts[stage]
# +         if stage == "in" and chunk:
# +             ready[chunk] = ready[chunk - 1]
# +         ready[chunk] = free[engine[stage]] = max(free[engine[stage]], ready[chunk]) + lasts[stage]

# %% wrong: stage by stage, the copies alone — says "the time of all copies" — from "in closed form": "max(flow, chunks * (h2d_ms + d2h_ms)) if" → "chunks * (h2d_ms + d2h_ms) if"

# %% wrong: compute taken for the slowest engine — says "is compute taken for the slowest engine"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    return h2d_ms + chunks * compute_ms + d2h_ms

# %% wrong: the sum of both times — says "not at their sum" — from "reference": "max(free[engine[stage]], ready[chunk])" → "free[engine[stage]] + ready[chunk]"

# %% wrong: seconds — says "all times are in ms already" — from "reference": "return max(ready)" → "return max(ready) / 1000"

# %% wrong: the earlier one of two times — says "the later one of two times" — from "reference": "= max(free" → "= min(free"

# %% wrong: one ready time for all chunks — says "not for other chunks" — from "reference"
# -         ready[chunk] = free[engine[stage]] = max(free[engine[stage]], ready[chunk]) + lasts[stage]
# +         ready[0] = free[engine[stage]] = max(free[engine[stage]], ready[0]) + lasts[stage]

# %% wrong: with one engine, the copy out takes as long as the copy in — says "The copy out takes d2h_ms" — from "reference"
# -     if order == "chunk":
# +     if copy_engines == 1:
# +         lasts["out"] = h2d_ms
# +     if order == "chunk":

# %% wrong: in and out as one operation, however they are issued — says "all copies in come before the first copy out"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    one = h2d_ms + compute_ms + d2h_ms
    if copy_engines == 2:
        return one + (chunks - 1) * max(h2d_ms, compute_ms, d2h_ms)
    if order == "chunk":
        return chunks * one
    return one + (chunks - 1) * max(h2d_ms + d2h_ms, compute_ms)

# %% wrong: whole milliseconds — says "do not cut them to whole numbers" — from "reference": "return max(ready)" → "return int(max(ready))"

# %% wrong: a copy in waits for the kernel of the chunk before — says "kernel of the chunk before"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    copied = computed = returned = 0.0
    for _ in range(chunks):
        copied = max(copied, computed) + h2d_ms
        computed = max(copied, computed) + compute_ms
        returned = max(computed, returned) + d2h_ms
        if copy_engines == 1 and order == "chunk":
            copied = returned
    return returned

# %% wrong: the ends of all engines added up — says "the sum of the times when the engines end" — from "reference": "max(ready)" → "sum(free.values())"

# %% wrong: chunks times the slowest stage, and both copies — says "only where compute is the slowest"
def pipeline_ms(chunks, h2d_ms, compute_ms, d2h_ms, copy_engines, order="chunk"):
    if copy_engines == 1 and order == "chunk":
        return chunks * (h2d_ms + compute_ms + d2h_ms)
    return chunks * max(h2d_ms, compute_ms, d2h_ms) + h2d_ms + d2h_ms

# %% wrong: the end of every operation cut to whole milliseconds — says "do not cut them" — from "reference": "= max(free[engine[stage]], ready[chunk]) + lasts[stage]" → "= int(max(free[engine[stage]], ready[chunk]) + lasts[stage])"

# %% wrong: stage by stage is the sum of all — says "a stage does not wait until" — from "reference"
# +     if order == "stage":
# +         return chunks * sum(lasts.values())
#       free = dict.fromkeys(engine.values(), 0.0)
