# %% right: reference
def launch_bound(kernels, launch_us):
    finished = 0.0
    for number, kernel_us in enumerate(kernels, start=1):
        finished = max(finished, number * launch_us) + kernel_us
    graph_us = launch_us + sum(kernels)
    return {"eager_us": finished, "graph_us": graph_us, "speedup": finished / graph_us}

# %% right: the latest of all critical paths
def launch_bound(kernels, launch_us):
    paths = [(i + 1) * launch_us + sum(kernels[i:]) for i in range(len(kernels))]
    graph = sum(kernels) + launch_us
    return {"speedup": max(paths) / graph, "graph_us": graph, "eager_us": max(paths)}

# %% wrong: no overlap — says "launches overlap with kernels"
def launch_bound(kernels, launch_us):
    eager = len(kernels) * launch_us + sum(kernels)
    graph = launch_us + sum(kernels)
    return {"eager_us": eager, "graph_us": graph, "speedup": eager / graph}

# %% wrong: the larger of each pair — says "prepares the launches after it" — from "no overlap": "len(kernels) * launch_us + sum(kernels)" → "sum(max(kernel, launch_us) for kernel in kernels)"

# %% wrong: the larger of both sums — says "the order matters" — from "no overlap": "len(kernels) * launch_us + sum(kernels)" → "max(len(kernels) * launch_us, sum(kernels))"

# %% wrong: launches never hold up the GPU — says "also waits for launches"
def launch_bound(kernels, launch_us):
    eager = graph = launch_us + sum(kernels)
    return {"eager_us": eager, "graph_us": graph, "speedup": eager / graph}

# %% wrong: all launches and the last kernel — says "hold up those after" — from "no overlap": "* launch_us + sum(kernels)" → "* launch_us + kernels[-1]"

# %% wrong: the first launch takes no time — says "not at time 0"
def launch_bound(kernels, launch_us):
    end = 0.0
    for number, kernel in enumerate(kernels):
        end = max(end, number * launch_us) + kernel
    graph = launch_us + sum(kernels)
    return {"eager_us": end, "graph_us": graph, "speedup": end / graph}

# %% wrong: the graph without its launch — says "the graph itself is launched, too"
def launch_bound(kernels, launch_us):
    end = 0.0
    for number, kernel in enumerate(kernels, start=1):
        end = max(end, number * launch_us) + kernel
    return {"eager_us": end, "graph_us": sum(kernels), "speedup": end / sum(kernels)}

# %% wrong: the graph with all launches — says "one launch for all its kernels" — from "the graph without its launch"
# -     return {"eager_us": end, "graph_us": sum(kernels), "speedup": end / sum(kernels)}
# +     graph = len(kernels) * launch_us + sum(kernels)
# +     return {"eager_us": end, "graph_us": graph, "speedup": end / graph}

# %% wrong: the speedup upside down — says "eager ÷ graph" — from "the graph without its launch"
# -     return {"eager_us": end, "graph_us": sum(kernels), "speedup": end / sum(kernels)}
# +     graph = launch_us + sum(kernels)
# +     return {"eager_us": end, "graph_us": graph, "speedup": graph / end}

# %% wrong: rounded — says "Do not round" — from "the graph without its launch"
# -     return {"eager_us": end, "graph_us": sum(kernels), "speedup": end / sum(kernels)}
# +     graph = launch_us + sum(kernels)
# +     return {"eager_us": end, "graph_us": graph, "speedup": round(end / graph, 1)}

# %% wrong: kernels consumed — says "changed an argument"
def launch_bound(kernels, launch_us):
    total, number, end = sum(kernels), 0, 0.0
    while kernels:
        number += 1
        end = max(end, number * launch_us) + kernels.pop(0)
    return {"eager_us": end, "graph_us": launch_us + total, "speedup": end / (launch_us + total)}

# %% wrong: the speedup as a difference — says "eager ÷ graph" — from "reference": "finished / graph_us" → "finished - graph_us"


# %% wrong: the larger of each pair after the first launch — says "prepares the launches after it"
def launch_bound(kernels, launch_us):
    eager = launch_us + sum(max(k, launch_us) for k in kernels)
    graph = launch_us + sum(kernels)
    return {"eager_us": eager, "graph_us": graph, "speedup": eager / graph}


# %% wrong: a launch begins when the kernel before it starts — says "prepares the launches after it"
def launch_bound(kernels, launch_us):
    cpu = end = 0.0
    for kernel in kernels:
        start = max(end, cpu + launch_us)
        cpu = start
        end = start + kernel
    graph = launch_us + sum(kernels)
    return {"eager_us": end, "graph_us": graph, "speedup": end / graph}


# %% wrong: the speedup in percent — says "eager ÷ graph"
def launch_bound(kernels, launch_us):
    end = 0.0
    for number, kernel in enumerate(kernels, 1):
        end = max(end, number * launch_us) + kernel
    graph = launch_us + sum(kernels)
    return {"eager_us": end, "graph_us": graph, "speedup": 100 * (end / graph - 1)}


# %% right: tensors of no dimension
import torch
def launch_bound(kernels, launch_us):
    t = torch.tensor(kernels, dtype=torch.float64)
    ready = torch.arange(1, len(t) + 1, dtype=torch.float64) * launch_us
    eager = (ready + t.flip(0).cumsum(0).flip(0)).max()
    graph = t.sum() + launch_us
    return {"speedup": eager / graph, "graph_us": graph, "eager_us": eager}

# %% wrong: kernels sorted by their length — says "in the order of the list" — from "reference": "enumerate(kernels," → "enumerate(sorted(kernels),"

# %% wrong: a single kernel needs no launch — says "expected" — from "reference": "launch_us + sum(kernels)" → "(launch_us if len(kernels) > 1 else 0) + sum(kernels)"


# %% wrong: the place of a kernel by its time — says "number them with enumerate" — from "reference": "max(finished, number * launch_us)" → "max(finished, (kernels.index(kernel_us) + 1) * launch_us)"

# %% wrong: returns in the loop — says "return after the loop" — from "reference"
# -     graph_us = launch_us + sum(kernels)
# -     return {"eager_us": finished, "graph_us": graph_us, "speedup": finished / graph_us}
# +         graph_us = launch_us + sum(kernels)
# +         return {"eager_us": finished, "graph_us": graph_us, "speedup": finished / graph_us}

# %% wrong: ms — says "do not divide by 1000" — from "reference": `"eager_us": finished, "graph_us": graph_us` → `"eager_us": finished / 1e3, "graph_us": graph_us / 1e3`

# %% wrong: the earlier one of two times — says "the later one of two times" — from "reference": "max(finished" → "min(finished"

# %% wrong: the first launch and the larger one of both totals — says "add the first launch to a total" — from "no overlap": "len(kernels) * launch_us + sum(kernels)" → "launch_us + max(len(kernels) * launch_us, sum(kernels))"

# %% wrong: up to the start of the last kernel — says "the time runs to its end" — from "reference": `"eager_us": finished, "graph_us": graph_us, "speedup": finished /` → `"eager_us": finished - kernels[-1], "graph_us": graph_us, "speedup": (finished - kernels[-1]) /`

# %% wrong: the kernel's time inside the maximum — says "added to the later one of two times" — from "reference": "max(finished, number * launch_us) + kernel_us" → "max(finished + kernel_us, number * launch_us)"

# %% wrong: a graph takes as long as the average kernel — says "That is their average" — from "reference": "launch_us + sum(kernels)" → "launch_us + sum(kernels) / len(kernels)"

# %% wrong: both times change places — says "eager_us and graph_us are swapped" — from "reference": `"eager_us": finished, "graph_us": graph_us` → `"eager_us": graph_us, "graph_us": finished`

# %% wrong: the graph's launch at the same time as its kernels — says "and its kernels follow" — from "reference": `graph_us = launch_us + sum(kernels)` → `graph_us = max(launch_us, sum(kernels))`

# %% wrong: the first launch begins after one launch — says "the first one begins at time 0" — from "reference": `start=1` → `start=2`

# %% wrong: when the last kernel starts, with the right quotient — says "start of the last kernel" — from "reference"
# -     return {"eager_us": finished, "graph_us": graph_us, "speedup": finished / graph_us}
# +     return {"eager_us": finished - kernels[-1], "graph_us": graph_us, "speedup": finished / graph_us}

# %% wrong: the next launch is waited for after each kernel — says "the second launch is ready at 6"
def launch_bound(kernels, launch_us):
    end = launch_us
    for number, kernel in enumerate(kernels, start=1):
        end = max(end + kernel, number * launch_us)
    graph = launch_us + sum(kernels)
    return {"eager_us": end, "graph_us": graph, "speedup": end / graph}

# %% wrong: the number of the launch before — says "the second launch is ready at 6"
def launch_bound(kernels, launch_us):
    end = 0.0
    for number, kernel in enumerate(kernels, start=1):
        end = max(end, max(number - 1, 1) * launch_us) + kernel
    graph = launch_us + sum(kernels)
    return {"eager_us": end, "graph_us": graph, "speedup": end / graph}
