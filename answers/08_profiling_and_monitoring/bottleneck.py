# %% right: reference
def bottleneck(summary):
    pieces = {name: summary[f"{name}_ms"] for name in ("input", "communication", "kernel")}
    pieces["launch"] = summary["step_ms"] - sum(pieces.values())
    largest = max(pieces, key=pieces.get)
    if largest != "kernel":
        return largest
    ridge = 1e3 * summary["peak_tflops"] / summary["bandwidth_gbs"]
    return "compute" if summary["flops"] / summary["nbytes"] >= ridge else "memory"

# %% right: by seconds instead of intensity
def bottleneck(summary):
    compute_s = summary["flops"] / (summary["peak_tflops"] * 1e12)
    memory_s = summary["nbytes"] / (summary["bandwidth_gbs"] * 1e9)
    rest = summary["step_ms"] - summary["input_ms"] - summary["communication_ms"] - summary["kernel_ms"]
    pieces = [(summary["input_ms"], "input"), (summary["communication_ms"], "communication"), (rest, "launch")]
    pieces.append((summary["kernel_ms"], "compute" if compute_s >= memory_s else "memory"))
    return max(pieces)[1]

# %% wrong: forgets the rest — says "waits for launches" — from "reference"
# -     pieces["launch"] = summary["step_ms"] - sum(pieces.values())

# %% wrong: compute and memory swapped — says "swapped" — from "reference"
# -     return "compute" if summary["flops"] / summary["nbytes"] >= ridge else "memory"
# +     return "memory" if summary["flops"] / summary["nbytes"] >= ridge else "compute"

# %% wrong: a factor of 1000 off the ridge — says "1e12" — from "reference": "1e3 * " → ""

# %% wrong: kernels are never told apart — says "Say which: compute or memory"
def bottleneck(summary):
    pieces = {name: summary[f"{name}_ms"] for name in ("input", "communication", "kernel")}
    pieces["launch"] = summary["step_ms"] - sum(pieces.values())
    return max(pieces, key=pieces.get)

# %% wrong: the roofline alone — says "7 of 10 ms waiting"
def bottleneck(summary):
    ridge = 1e3 * summary["peak_tflops"] / summary["bandwidth_gbs"]
    return "compute" if summary["flops"] / summary["nbytes"] >= ridge else "memory"

# %% wrong: launch whenever kernels are less than half — says "piece" — from "the roofline alone"
#       ridge = 1e3 * summary["peak_tflops"] / summary["bandwidth_gbs"]
# +     if summary["input_ms"] > summary["step_ms"] / 2:
# +         return "input"
# +     if summary["communication_ms"] > summary["step_ms"] / 2:
# +         return "communication"
# +     if summary["kernel_ms"] < summary["step_ms"] / 4:
# +         return "launch"

# %% wrong: prints it — says "returned None"
def bottleneck(summary):
    print(max(summary, key=summary.get))

# %% hostile: a word that is equal to every word — earns 0
class Word(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


def bottleneck(summary):
    return Word("?")

# %% wrong: the largest of what is measured, launch only if nothing is — says "waits for launches"
def bottleneck(summary):
    pieces = [(summary[f"{name}_ms"], name) for name in ("input", "communication", "kernel")]
    largest_ms, name = max(pieces)
    if largest_ms == 0:
        return "launch"
    if name != "kernel":
        return name
    seconds = summary["flops"] / (summary["peak_tflops"] * 1e12), summary["nbytes"] / (summary["bandwidth_gbs"] * 1e9)
    return "compute" if seconds[0] >= seconds[1] else "memory"

# %% wrong: memory on the ridge itself — says "On the ridge itself" — from "reference": ">= ridge" → "> ridge"

# %% wrong: whole FLOPs per byte — says "do not round" — from "reference": `summary["flops"] / summary["nbytes"]` → `summary["flops"] // summary["nbytes"]`

# %% wrong: waiting for data and for gradients is one part — says "as they are" — from "reference": "largest = max(pieces, key=pieces.get)" → `largest = max(pieces, key=lambda one: pieces[one] + (one == "input") * pieces["communication"])`

# %% hostile: raises KeyboardInterrupt — says "Your code raised KeyboardInterrupt"
def bottleneck(*arguments):
    raise KeyboardInterrupt("stop the judge")


# %% wrong: communication is not subtracted — says "a part of its own"
def bottleneck(summary):
    s = summary
    parts = {"input": s["input_ms"], "communication": s["communication_ms"], "kernel": s["kernel_ms"]}
    parts["launch"] = s["step_ms"] - s["input_ms"] - s["kernel_ms"]
    worst = max(parts, key=parts.get)
    if worst != "kernel":
        return worst
    return "compute" if s["flops"] / s["nbytes"] >= s["peak_tflops"] * 1e3 / s["bandwidth_gbs"] else "memory"


# %% wrong: the ridge of one GPU for all — says "wrong side of the ridge"
def bottleneck(summary):
    s = summary
    parts = {"input": s["input_ms"], "communication": s["communication_ms"], "kernel": s["kernel_ms"]}
    parts["launch"] = s["step_ms"] - sum(parts.values())
    worst = max(parts, key=parts.get)
    if worst != "kernel":
        return worst
    return "compute" if s["flops"] / s["nbytes"] >= 206 else "memory"


# %% right: with NumPy
import numpy as np
def bottleneck(summary):
    known = np.array([summary[k] for k in ("input_ms", "communication_ms", "kernel_ms")])
    parts = np.append(known, summary["step_ms"] - known.sum())
    names = np.array(["input", "communication", "kernel", "launch"])
    name = names[parts.argmax()]
    if name == "kernel":
        t_math = summary["flops"] / (summary["peak_tflops"] * 1e12)
        t_mem = summary["nbytes"] / (summary["bandwidth_gbs"] * 1e9)
        name = np.where(t_math >= t_mem, "compute", "memory").item()
    return name


# %% wrong: waiting for data is not subtracted — says "together leave" — from "reference": "sum(pieces.values())" → `pieces["communication"] - pieces["kernel"]`

# %% wrong: kernels are not subtracted — says "together leave" — from "reference": "sum(pieces.values())" → `pieces["communication"] - pieces["input"]`


# %% wrong: communication is a part of the rest — says "a part of its own"
def bottleneck(summary):
    s = summary
    parts = {"input": s["input_ms"], "kernel": s["kernel_ms"]}
    parts["launch"] = s["step_ms"] - s["input_ms"] - s["kernel_ms"]
    worst = max(parts, key=parts.get)
    if worst != "kernel":
        return worst
    return "compute" if s["flops"] / s["nbytes"] >= s["peak_tflops"] * 1e3 / s["bandwidth_gbs"] else "memory"

# %% wrong: a part must be more than half of the step — says "The largest part is the rest" — from "reference": "key=pieces.get" → `key=lambda one: pieces[one] > summary["step_ms"] / 2`


# %% wrong: the roofline for every step — says "the roofline is for kernels" — from "reference": `largest != "kernel"` → `largest == "launch"`

# %% wrong: the smallest part — says "That is the smallest part" — from "reference": "max(pieces" → "min(pieces"

# %% wrong: GB of 2**30 bytes — says "1 GB is 1e9 bytes" — from "reference": `1e3 * summary["peak_tflops"]` → `1e12 / 2**30 * summary["peak_tflops"]`

# %% wrong: communication is never the answer — says "The largest piece is communication" — from "reference": "key=pieces.get" → `key=lambda one: pieces[one] * (one != "communication")`

# %% wrong: a TFLOP of 2**10 GFLOPs — says "1 TFLOP is 1e12 FLOPs" — from "reference": `1e3 * summary["peak_tflops"]` → `1024 * summary["peak_tflops"]`

# %% wrong: all of the rest is communication — says "in which the GPU waits for launches" — from "reference": `return largest` → `return "communication" if largest == "launch" else largest`

# %% wrong: launch whenever no part is more than half — says "though it is less than half" — from "reference"
# -     if largest != "kernel":
# +     if pieces[largest] <= summary["step_ms"] / 2:
# +         return "launch"
# +     if largest != "kernel":

# %% wrong: kernels count with the times at the roof — says "compare kernel_ms with the other parts"
def bottleneck(summary):
    pieces = {name: summary[f"{name}_ms"] for name in ("input", "communication")}
    pieces["launch"] = summary["step_ms"] - sum(pieces.values()) - summary["kernel_ms"]
    pieces["compute"] = summary["flops"] / summary["peak_tflops"] / 1e9
    pieces["memory"] = summary["nbytes"] / summary["bandwidth_gbs"] / 1e6
    return max(pieces, key=pieces.get)

# %% wrong: the first part above a third of the step — says "piece" — from "reference"
# -     largest = max(pieces, key=pieces.get)
# +     largest = next((name for name, ms in pieces.items() if ms > summary["step_ms"] / 3), "launch")

# %% wrong: communication is subtracted from the kernels — says "as they are" — from "reference"
# -     largest = max(pieces, key=pieces.get)
# +     pieces["kernel"] -= pieces["communication"]
# +     largest = max(pieces, key=pieces.get)

# %% wrong: "-bound" behind the name — says "Return the name alone" — from "reference": "        return largest" → `        return largest + "-bound"`

# %% wrong: whole ms — says "Compare the parts as they are" — from "reference": `summary[f"{name}_ms"] for` → `round(summary[f"{name}_ms"]) for`

# %% wrong: tenths of the step — says "Compare the parts as they are" — from "reference": `max(pieces, key=pieces.get)` → `max(pieces, key=lambda name: 10 * pieces[name] // summary["step_ms"])`
