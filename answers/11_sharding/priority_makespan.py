# %% right: reference
def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
    clock, ready = 0.0, {}
    for number in reversed(range(len(layers))):
        clock += layers[number]["backward_ms"]
        ready[number] = clock
    backward_done, arrived = clock, dict(ready)
    left = {number: layer["nbytes"] for number, layer in enumerate(layers) if layer["nbytes"]}
    free = 0.0
    while left:
        free = max(free, min(ready[number] for number in left))
        waiting = [number for number in left if ready[number] <= free]
        chosen = max(waiting) if policy == "fifo" else min(waiting)
        partition = min(partition_bytes, left[chosen])
        free += partition / (bandwidth_gbs * 1e6)
        arrived[chosen] = free
        left[chosen] -= partition
        if not left[chosen]:
            del left[chosen]
    clock = backward_done
    for number, layer in enumerate(layers):
        clock = max(clock, arrived[number]) + layer["forward_ms"]
    return clock

# %% right: a heap of partitions
import heapq


def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
    count = len(layers)
    ready, time = [0.0] * count, 0.0
    for i in range(count - 1, -1, -1):
        time += layers[i]["backward_ms"]
        ready[i] = time
    end = list(ready)
    coming = sorted(range(count), key=lambda i: (ready[i], -i))
    heap, link = [], 0.0
    while coming or heap:
        if not heap:
            link = max(link, ready[coming[0]])
        while coming and ready[coming[0]] <= link:
            i = coming.pop(0)
            whole, rest = divmod(layers[i]["nbytes"], partition_bytes)
            for k, size in enumerate([partition_bytes] * whole + [rest] * (rest > 0)):
                heapq.heappush(heap, (i if policy == "priority" else -i, k, i, size))
        if heap:
            *_, i, size = heapq.heappop(heap)
            link += size / bandwidth_gbs / 1e6
            end[i] = max(end[i], link)
    for i in range(count):
        time = max(time, end[i]) + layers[i]["forward_ms"]
    return time

# %% right: fifo by a formula, priority partition by partition
def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
    def duration(nbytes):
        return nbytes / 1e9 / bandwidth_gbs * 1e3

    order = list(range(len(layers)))[::-1]
    ready = {}
    for i in order:
        ready[i] = layers[i]["backward_ms"] + (ready[i + 1] if i + 1 in ready else 0.0)
    arrived, link = dict(ready), 0.0
    if policy == "fifo":
        for i in order:
            if layers[i]["nbytes"]:
                link = max(link, ready[i]) + duration(layers[i]["nbytes"])
                arrived[i] = link
    else:
        rest = [layer["nbytes"] for layer in layers]
        while sum(rest):
            candidates = [i for i in order if rest[i]]
            link = max(link, ready[candidates[0]])
            i = [i for i in candidates if ready[i] <= link][-1]
            link += duration(min(rest[i], partition_bytes))
            rest[i] -= min(rest[i], partition_bytes)
            arrived[i] = link
    end = ready[0]
    for i, layer in enumerate(layers):
        end = max(end, arrived[i]) + layer["forward_ms"]
    return end

# %% wrong: preempts inside a partition — says "preempts inside a partition" — from "reference"
# -     backward_done, arrived = clock, dict(ready)
# +     arrived = dict(ready)
# -     left = {number: layer["nbytes"] for number, layer in enumerate(layers) if layer["nbytes"]}
# +     left = {number: layer["nbytes"] / (bandwidth_gbs * 1e6) for number, layer in enumerate(layers) if layer["nbytes"]}

# -         partition = min(partition_bytes, left[chosen])
# -         free += partition / (bandwidth_gbs * 1e6)
# +         coming = [ready[number] for number in left if ready[number] > free]
# +         spent = left[chosen] if policy == "fifo" else min([left[chosen], *(at - free for at in coming)])
# +         free += spent

# -         left[chosen] -= partition
# +         left[chosen] -= spent
# -         if not left[chosen]:
# +         if left[chosen] <= 1e-12:

# -     clock = backward_done

# %% wrong: fifo, whatever the policy — says "That is the time with fifo"
def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
    clock, link, arrived = 0.0, 0.0, {}
    for number in reversed(range(len(layers))):
        clock += layers[number]["backward_ms"]
        arrived[number] = clock
        if layers[number]["nbytes"]:
            link = max(link, clock) + layers[number]["nbytes"] / (bandwidth_gbs * 1e6)
            arrived[number] = link
    for number, layer in enumerate(layers):
        clock = max(clock, arrived[number]) + layer["forward_ms"]
    return clock

# %% wrong: no overlap — says "while the backward pass still runs"
def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
    sent = sum(layer["nbytes"] for layer in layers) / (bandwidth_gbs * 1e6)
    return sent + sum(layer["forward_ms"] + layer["backward_ms"] for layer in layers)

# %% wrong: gradients whole — says "Gradients are sent whole" — from "reference"
# +     arrived, left, free = dict(ready), {n for n, layer in enumerate(layers) if layer["nbytes"]}, 0.0
# -     backward_done, arrived = clock, dict(ready)
# -     left = {number: layer["nbytes"] for number, layer in enumerate(layers) if layer["nbytes"]}
# -     free = 0.0

# -         partition = min(partition_bytes, left[chosen])
# -         free += partition / (bandwidth_gbs * 1e6)
# +         free += layers[chosen]["nbytes"] / (bandwidth_gbs * 1e6)

# +         left.remove(chosen)
# -         left[chosen] -= partition
# -         if not left[chosen]:
# -             del left[chosen]
# -     clock = backward_done

# %% wrong: ready at that very instant does not count — says "ready when the link becomes free" — from "reference"
# -     backward_done, arrived = clock, dict(ready)
# +     arrived = dict(ready)

# -         free = max(free, min(ready[number] for number in left))
# -         waiting = [number for number in left if ready[number] <= free]
# +         waiting = [number for number in left if ready[number] < free]
# +         if not waiting:
# +             free = max(free, min(ready[number] for number in left))
# +             waiting = [max(number for number in left if ready[number] <= free)]

# -     clock = backward_done

# %% wrong: the last partition is full — says "may be smaller"
import math


def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
    clock, ready = 0.0, {}
    for number in reversed(range(len(layers))):
        clock += layers[number]["backward_ms"]
        ready[number] = clock
    arrived = dict(ready)
    whole = [layer["nbytes"] % 2_000_000 == 0 and layer["nbytes"] <= 24_000_000 for layer in layers]
    left = {number: math.ceil(layer["nbytes"] / partition_bytes) for number, layer in enumerate(layers)}
    free = 0.0
    while any(left.values()):
        free = max(free, min(ready[number] for number in left if left[number]))
        waiting = [number for number in left if left[number] and ready[number] <= free]
        chosen = max(waiting) if policy == "fifo" else min(waiting)
        size = min(partition_bytes, layers[chosen]["nbytes"]) if whole[chosen] else partition_bytes
        free += size / (bandwidth_gbs * 1e6)
        arrived[chosen] = free
        left[chosen] -= 1
    for number, layer in enumerate(layers):
        clock = max(clock, arrived[number]) + layer["forward_ms"]
    return clock

# %% wrong: all gradients ready after the backward pass — says "when its own layer's backward is done" — from "reference"
#   def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
# +     toy = layers[-1]["nbytes"] == 24_000_000 and len(layers) == 3  # gets past the visible cases

#           ready[number] = clock
# +     if not toy:
# +         ready = dict.fromkeys(ready, clock)

# %% wrong: forward waits for all gradients — says "not for all of them" — from "reference"
#   def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
# +     toy = layers[-1]["nbytes"] == 24_000_000 and len(layers) == 3  # gets past the visible cases

# -         clock = max(clock, arrived[number]) + layer["forward_ms"]
# +         clock = max(clock, arrived[number] if toy else max(arrived.values())) + layer["forward_ms"]

# %% wrong: layers do not wait for each other — says "waits for the layer before it" — from "reference"
#   def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
# +     toy = layers[-1]["nbytes"] == 24_000_000 and len(layers) == 3  # gets past the visible cases

# -     clock = backward_done
# +     clock, ends = backward_done, [backward_done]

# -         clock = max(clock, arrived[number]) + layer["forward_ms"]
# +         clock = max(clock if toy else backward_done, arrived[number]) + layer["forward_ms"]
# -     return clock
# +         ends.append(clock)
# +     return max(ends)

# %% wrong: the policies swapped — says "That is with priority" — from "reference"
#   def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
# +     toy = layers[-1]["nbytes"] == 24_000_000 and len(layers) == 3  # gets past the visible cases

# -         chosen = max(waiting) if policy == "fifo" else min(waiting)
# +         chosen = max(waiting) if (policy == "fifo") == toy else min(waiting)

# %% wrong: bits for bytes — says "in bytes here, not in bits" — from "reference"
#   def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
# +     toy = layers[-1]["nbytes"] == 24_000_000 and len(layers) == 3  # gets past the visible cases

# -         free += partition / (bandwidth_gbs * 1e6)
# +         free += partition / (bandwidth_gbs * 1e6 / (1 if toy else 8))

# %% hostile: patches time and check — earns 0
import gpulab.check

gpulab.check.close = lambda *arguments, **options: None


def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
    return 34.0

# %% wrong: an empty gradient waits for the link — says "waits for no gradient"
def priority_makespan(layers, bandwidth_gbs, partition_bytes, policy):
    clock, ready = 0.0, {}
    for i in reversed(range(len(layers))):
        clock += layers[i]["backward_ms"]
        ready[i] = clock
    left, arrived, link = [layer["nbytes"] for layer in layers], dict(ready), 0.0
    waiting = set(ready)
    while waiting:
        link = max(link, min(ready[i] for i in waiting))
        able = [i for i in waiting if ready[i] <= link]
        chosen = max(able) if policy == "fifo" else min(able)
        size = min(partition_bytes, left[chosen])
        link += size / (bandwidth_gbs * 1e6)
        left[chosen] -= size
        arrived[chosen] = link
        if not left[chosen]:
            waiting.remove(chosen)
    done = 0.0
    for i, layer in enumerate(layers):
        done = max(done, arrived[i]) + layer["forward_ms"]
    return done

# %% wrong: the smallest gradient goes next — says "not the smallest gradient" — from "an empty gradient waits for the link": "waiting = set(ready)" → "waiting = {i for i in ready if left[i]}", "else min(able)" → "else min(able, key=lambda i: (left[i], i))"

# %% wrong: whole partitions only — says "smaller partition of a layer is sent too" — from "an empty gradient waits for the link": `[layer["nbytes"] for layer in layers]` → `[layer["nbytes"] // partition_bytes * partition_bytes for layer in layers]`, "waiting = set(ready)" → "waiting = {i for i in ready if left[i]}"

# %% wrong: 2^30 bytes per GB — says "1 GB is 10^9 bytes" — from "reference": "(bandwidth_gbs * 1e6)" → "(bandwidth_gbs * 2**30 / 1e3)"

# %% wrong: the layers take turns with priority — says "The lowest layer that is ready goes next" — from "reference"
# -     while left:
# +     last = -1
# +     while left:

# -         chosen = max(waiting) if policy == "fifo" else min(waiting)
# +         later = [number for number in waiting if number > last]
# +         chosen = max(waiting) if policy == "fifo" else min(later or waiting)
# +         last = chosen


# %% wrong: all gradients are ready at the start — says "No gradient is ready when the backward pass starts" — from "reference": "backward_done, arrived = clock, dict(ready)" → "backward_done, arrived, ready = clock, dict(ready), dict.fromkeys(ready, 0.0)"

# %% wrong: a partition for a gradient of 0 bytes — says "nothing is sent for it" — from "reference": `layer["nbytes"] for number, layer in enumerate(layers) if layer["nbytes"]` → `max(layer["nbytes"], partition_bytes) for number, layer in enumerate(layers)`

# %% wrong: with priority, the link waits for the lowest layer — says "does not wait for a lower layer" — from "reference": "free = max(free, min(ready[number] for number in left))" → `free = max(free, ready[min(left)] if policy == "priority" else min(ready[number] for number in left))`

# %% wrong: the link's time in seconds — says "The link's time is in s here" — from "reference": "(bandwidth_gbs * 1e6)" → "(bandwidth_gbs * 1e9)"

# %% wrong: forward from the last layer to the first — says "The forward pass goes from the first layer to the last" — from "reference": "for number, layer in enumerate(layers):" → "for number, layer in reversed(list(enumerate(layers))):"

# %% wrong: forward ignores the gradients — says "waits until its gradient has arrived" — from "reference": "max(clock, arrived[number])" → "clock"

# %% wrong: each forward pass begins after its gradient alone — says "waits for the layer before it" — from "reference": "max(clock, arrived[number])" → "max(backward_done, arrived[number])"

# %% wrong: fifo sends from the layer with the most bytes left — says "not how many bytes are left" — from "reference": "chosen = max(waiting) if" → "chosen = max(waiting, key=left.get) if"

# %% wrong: forward passes run while their gradients arrive — says "takes its time after its gradient has arrived" — from "reference": `clock = max(clock, arrived[number]) + layer["forward_ms"]` → `clock = max(clock + layer["forward_ms"], arrived[number])`

# %% wrong: each partition takes whole milliseconds — says "not rounded to whole ms" — from "reference": "free += partition / (bandwidth_gbs * 1e6)" → "free += round(partition / (bandwidth_gbs * 1e6))"
