# %% right: reference
def pipeline_schedule(stages, micro_batches, kind):
    """Order of tasks per stage, idle share, and micro-batches stored at the peak."""
    order = []
    for stage in range(stages):
        warm_up = micro_batches if kind == "gpipe" else min(micro_batches, stages - stage - 1)
        tasks = [f"F{number}" for number in range(warm_up)]
        for number in range(micro_batches - warm_up):
            tasks += [f"F{warm_up + number}", f"B{number}"]
        tasks += [f"B{number}" for number in range(micro_batches - warm_up, micro_batches)]
        order.append(tasks)
    most = [micro_batches if kind == "gpipe" else min(micro_batches, stages - stage) for stage in range(stages)]
    return {"order": order, "bubble": (stages - 1) / (micro_batches + stages - 1), "stored": most}

# %% right: as many as may be stored
def pipeline_schedule(stages, micro_batches, kind):
    order = [[] for _ in range(stages)]
    forward, backward, stored = [0] * stages, [0] * stages, [0] * stages
    for stage in range(stages):
        most = micro_batches if kind == "gpipe" else stages - stage
        while backward[stage] < micro_batches:
            held = forward[stage] - backward[stage]
            if forward[stage] < micro_batches and held < most:
                order[stage].append("F" + str(forward[stage]))
                forward[stage] += 1
            else:
                order[stage].append("B" + str(backward[stage]))
                backward[stage] += 1
            stored[stage] = max(stored[stage], forward[stage] - backward[stage])
    if kind == "gpipe":
        order = [[f"F{i}" for i in range(micro_batches)] + [f"B{i}" for i in range(micro_batches)]] * stages
    whole = 3 * (micro_batches + stages - 1)
    return {"order": order, "bubble": 1 - 3 * micro_batches / whole, "stored": stored}

# %% right: the idle share by the page's own simulation — from "reference": `(stages - 1) / (micro_batches + stages - 1)` → `1 - 3 * micro_batches / max(end for _, end in simulated(order).values())`

# %% wrong: the bubble over the busy time — says "divide by the whole time" — from "reference": "(micro_batches + stages - 1)" → "micro_batches"

# %% wrong: one slot too many — says "stages - 1 slots" — from "reference"
# -     return {"order": order, "bubble": (stages - 1) / (micro_batches + stages - 1), "stored": most}
# +     return {"order": order, "bubble": (stages - 1) / (micro_batches + stages), "stored": most}

# %% wrong: the busy share — says "busy share" — from "reference": "(stages - 1)" → "micro_batches"

# %% wrong: backward passes from the end — says "0 first" — from "reference"
#           order.append(tasks)
# +     if kind == "gpipe":
# +         order = [[f"F{i}" for i in range(micro_batches)] + [f"B{i}" for i in reversed(range(micro_batches))]] * stages

# %% wrong: 1f1b for both — says "That is 1f1b" — from "reference"
# -         warm_up = micro_batches if kind == "gpipe" else min(micro_batches, stages - stage - 1)
# +         warm_up = min(micro_batches, stages - stage - 1)

# %% wrong: gpipe for both — says "alternates after the warm-up" — from "reference": `micro_batches if kind == "gpipe" else min(micro_batches, stages - stage - 1)` → "micro_batches"

# %% wrong: the warm-up one longer — says "stages - s - 1 forward passes" — from "reference": "stage - 1" → "stage"

# %% wrong: one warm-up for all stages — says "warm-up of its own" — from "reference": "stage - 1" → "1"

# %% wrong: as many stored on every stage — says "stores less" — from "reference"
# -     most = [micro_batches if kind == "gpipe" else min(micro_batches, stages - stage) for stage in range(stages)]
# +     most = [micro_batches if kind == "gpipe" else min(micro_batches, stages) for stage in range(stages)]

# %% wrong: 1f1b stores all — says "at most one more than its warm-up" — from "reference": `if kind == "gpipe" else min(micro_batches, stages - stage) for` → "for"

# %% wrong: only the warm-up is stored — says "another forward pass" — from "reference"
# -     most = [micro_batches if kind == "gpipe" else min(micro_batches, stages - stage) for stage in range(stages)]
# +     most = [micro_batches if kind == "gpipe" else min(micro_batches, stages - stage - 1) for stage in range(stages)]

# %% hostile: a number that equals everything
class Share(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def pipeline_schedule(stages, micro_batches, kind):
    return {"order": Share(), "bubble": Share(), "stored": Share()}

# %% wrong: gpipe stores as many as there are stages — says "gpipe stores all micro-batches"
def pipeline_schedule(stages, micro_batches, kind):
    order, stored = [], []
    for stage in range(stages):
        warm_up = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
        tasks = [f"F{i}" for i in range(warm_up)]
        for i in range(micro_batches - warm_up):
            tasks += [f"F{warm_up + i}", f"B{i}"]
        tasks += [f"B{i}" for i in range(micro_batches - warm_up, micro_batches)]
        order.append(tasks)
        stored.append(stages if kind == "gpipe" else min(stages - stage, micro_batches))
    return {"order": order, "bubble": (stages - 1) / (micro_batches + stages - 1), "stored": stored}

# %% wrong: the last stage comes first — says "The first stage comes first" — from "gpipe stores as many as there are stages": "for stage in range(stages):" → "for stage in reversed(range(stages)):", "stored.append(stages if" → "stored.append(micro_batches if"

# %% wrong: percent — says "not a percentage" — from "gpipe stores as many as there are stages": "(stages - 1) / (" → "100 * (stages - 1) / (", "stored.append(stages if" → "stored.append(micro_batches if"

# %% wrong: the warm-up alone is stored — says "one more forward pass" — from "reference": "min(micro_batches, stages - stage)" → "min(micro_batches, max(stages - stage - 1, 1))"

# %% wrong: one more than the warm-up, without a limit — says "no more than micro_batches" — from "reference": "most = [micro_batches if" → "most = [micro_batches + 1 if"

# %% wrong: the last backward pass is missing — says "The last backward pass is missing" — from "reference": `range(micro_batches - warm_up, micro_batches)]` → `range(micro_batches - warm_up, micro_batches - 1)]`

# %% wrong: a warm-up that is one too short — says "each pair after them begins with one more" — from "reference": "min(micro_batches, stages - stage - 1)" → "min(micro_batches, max(0, stages - stage - 2))"

# %% wrong: no bubble with 1f1b — says "idle as long as gpipe" — from "reference": "(stages - 1) / (micro_batches + stages - 1)" → `(stages - 1) / (micro_batches + stages - 1) if kind == "gpipe" else 0.0`

# %% wrong: the bubble in whole numbers — says "cut to a whole number" — from "reference": "(stages - 1) / (micro_batches + stages - 1)" → "(stages - 1) // (micro_batches + stages - 1)"

# %% wrong: the bubble of one stage more — says "Both are too long" — from "reference": "(stages - 1) / (micro_batches + stages - 1)" → "stages / (micro_batches + stages)"

# %% wrong: the backward passes after the pairs are missing — says "All backward passes are missing" — from "reference": `tasks += [f"B{number}" for number in range(micro_batches - warm_up, micro_batches)]` → "pass"

# %% wrong: one pair too few — says "A pair is missing on each stage" — from "reference": "range(micro_batches - warm_up):" → "range(micro_batches - warm_up - 1):"

# %% wrong: a forward pass is paired with its own backward pass — says "0 first"
def pipeline_schedule(stages, micro_batches, kind):
    order, stored = [], []
    for stage in range(stages):
        warm_up = micro_batches if kind == "gpipe" else min(micro_batches, stages - stage - 1)
        tasks = [f"F{i}" for i in range(warm_up)]
        for i in range(warm_up, micro_batches):
            tasks += [f"F{i}", f"B{i}"]
        order.append(tasks + [f"B{i}" for i in range(warm_up)])
        stored.append(min(warm_up + 1, micro_batches))
    return {"order": order, "bubble": (stages - 1) / (micro_batches + stages - 1), "stored": stored}

# %% wrong: half the bubble for 1f1b — says "it only stores less" — from "reference": "(stages - 1) / (micro_batches + stages - 1)" → "(stages - 1) / (micro_batches + stages - 1) / (2 if kind == '1f1b' else 1)"

# %% wrong: busy time in units, idle time in slots — says "A slot has 3 units" — from "reference": "(micro_batches + stages - 1)" → "(3 * micro_batches + stages - 1)"

# %% wrong: stores one more — says "stages - s of them at most" — from "reference": "min(micro_batches, stages - stage) for" → "min(micro_batches, stages - stage + 1) for"

# %% wrong: gpipe sorts its tasks by name — says "Sorted as text, F10 comes before F2" — from "reference": "        order.append(tasks)" → `        order.append(sorted(tasks, key=lambda task: (task[0] == "B", task[1:])) if kind == "gpipe" else tasks)`

# %% wrong: stored counts by one digit — says "the number of F10 is 10, not 1" — from "reference"
# -     most = [micro_batches if kind == "gpipe" else min(micro_batches, stages - stage) for stage in range(stages)]
# +     most = []
# +     for tasks in order:
# +         held, largest = set(), 0
# +         for task in tasks:
# +             (held.add if task[0] == "F" else held.discard)(task[1])
# +             largest = max(largest, len(held))
# +         most.append(largest)
