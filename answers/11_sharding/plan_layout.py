# %% right: reference
def plan_layout(model, cluster):
    """The fastest layout that fits, by the cost model above."""
    L, act = model["layers"], model["sequence"] * model["hidden"]
    gpus, node = cluster["gpus"], cluster["gpus_per_node"]
    link = (cluster["node_gbs"] if gpus <= node else cluster["network_gbs"]) * 1e9
    best = {}
    for t in range(1, node + 1):
        for p in range(1, L + 1):
            d, rest = divmod(gpus, t * p)
            if node % t or L % p or rest or model["batch"] % d:
                continue
            m, n = model["batch"] // d, model["parameters"] / (t * p)
            slot = 8 * n * model["sequence"] / (cluster["tflops"] * 1e12)
            slot += L / p * 6 * 2 * (t - 1) / t * 2 * act / (cluster["node_gbs"] * 1e9)
            for zero in range(4):
                share = [d if zero >= stage else 1 for stage in (3, 2, 1)]
                nbytes = 2 * n / share[0] + 2 * n / share[1] + 12 * n / share[2]
                nbytes += L / p * min(p, m) * 2 * act + 34 * act / t
                step_s = (m + p - 1) * slot + (3 if zero == 3 else 2) * (d - 1) / d * 2 * n / link
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% right: memory and seconds apart
from dataclasses import dataclass
from itertools import product


@dataclass
class Costs:
    model: dict
    cluster: dict

    def memory(self, d, t, p, z):
        n = self.model["parameters"] / t / p
        tokens = self.model["sequence"] * self.model["hidden"]
        held = [2 * n, 2 * n, 12 * n]  # weights, gradients, optimizer
        for stage in range(1, z + 1):
            held[3 - stage] /= d
        running = min(p, self.model["batch"] // d)
        return (sum(held) + self.model["layers"] / p * running * 2 * tokens + 34 * tokens / t) / 1e9

    def seconds(self, d, t, p, z):
        n = self.model["parameters"] / t / p
        tokens = self.model["sequence"] * self.model["hidden"]
        compute = 8 * n * self.model["sequence"] / self.cluster["tflops"] / 1e12
        reduce = 12 * self.model["layers"] / p * (1 - 1 / t) * 2 * tokens / self.cluster["node_gbs"] / 1e9
        one_node = self.cluster["gpus"] <= self.cluster["gpus_per_node"]
        rate = self.cluster["node_gbs" if one_node else "network_gbs"] * 1e9
        summed = (2 + (z == 3)) * (1 - 1 / d) * 2 * n / rate
        return (self.model["batch"] / d + p - 1) * (compute + reduce) + summed


def plan_layout(model, cluster):
    costs, found = Costs(model, cluster), []
    tensors = [t for t in range(1, cluster["gpus_per_node"] + 1) if cluster["gpus_per_node"] % t == 0]
    stages = [p for p in range(1, model["layers"] + 1) if model["layers"] % p == 0]
    for t, p, z in product(tensors, stages, range(4)):
        if cluster["gpus"] % (t * p) or model["batch"] % (cluster["gpus"] // (t * p)):
            continue
        d = cluster["gpus"] // (t * p)
        if costs.memory(d, t, p, z) > 0.8 * cluster["gpu_gb"]:
            continue
        found.append((costs.seconds(d, t, p, z), z, t, p, d))
    if not found:
        return {}
    quickest = min(one[0] for one in found)
    s, z, t, p, d = min((one for one in found if one[0] <= quickest * (1 + 1e-12)), key=lambda one: one[1])
    return {"data": d, "tensor": t, "pipeline": p, "zero": z, "gb": costs.memory(d, t, p, z), "step_s": s}

# %% wrong: whether it fits is not asked — says "does not fit" — from "reference"
# -                 if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
# +                 if (not best or step_s < best["step_s"]):

# %% wrong: all of the memory — says "80%" — from "reference": "0.8" → "1.0"

# %% wrong: tensor parallel across nodes — says "stay in one node" — from "reference"
# -     for t in range(1, node + 1):
# +     for t in range(1, gpus + 1):

# -             if node % t or L % p or rest or model["batch"] % d:
# +             if gpus % t or L % p or rest or model["batch"] % d:

# %% wrong: no activations — says "Activations take memory" — from "reference"
# -                 nbytes += L / p * min(p, m) * 2 * act + 34 * act / t

# %% wrong: stores all micro-batches — says "min(p, m) micro-batches" — from "reference": "min(p, m)" → "m"

# %% wrong: no ZeRO — says "ZeRO stages are choices" — from "reference": "range(4)" → "range(1)"

# %% wrong: the least memory — says "least memory" — from "reference": `step_s < best["step_s"]` → `nbytes / 1e9 < best["gb"]`

# %% wrong: no bubble — says "The bubble counts" — from "reference": "(m + p - 1)" → "m"

# %% wrong: tensor parallelism is free — says "six all-reduces" — from "reference"
# -             slot += L / p * 6 * 2 * (t - 1) / t * 2 * act / (cluster["node_gbs"] * 1e9)

# %% wrong: gradients are free — says "summed over the data ranks" — from "reference": "slot + (3 if zero == 3 else 2) * (d - 1) / d * 2 * n / link" → "slot"

# %% wrong: gradients at the speed of the node — says "travel at network_gbs" — from "reference": `(cluster["node_gbs"] if gpus <= node else cluster["network_gbs"])` → `cluster["node_gbs"]`

# %% wrong: gradients always over the network — says "travel at node_gbs" — from "reference": `(cluster["node_gbs"] if gpus <= node else cluster["network_gbs"])` → `cluster["network_gbs"]`

# %% wrong: ZeRO-3 for the price of ZeRO-2 — says "3 times the weights" — from "reference": "(3 if zero == 3 else 2)" → "2"

# %% wrong: the highest of equal stages — says "lowest ZeRO stage" — from "reference": "step_s <" → "step_s <="

# %% wrong: the whole batch on every data rank — says "m = batch / data" — from "reference"
# -             m, n = model["batch"] // d, model["parameters"] / (t * p)
# +             m, n = model["batch"], model["parameters"] / (t * p)

# %% wrong: without the second forward pass — says "8 FLOPs" — from "reference"
# -             slot = 8 * n * model["sequence"] / (cluster["tflops"] * 1e12)
# +             slot = 6 * n * model["sequence"] / (cluster["tflops"] * 1e12)

# %% wrong: exactly full does not fit — says "Exactly 80% still fits" — from "reference": "<= 0.8 * cluster" → "< 0.8 * cluster"

# %% wrong: GiB — says "1 GB is 10^9 bytes" — from "reference": "nbytes / 1e9 <= 0.8" → "nbytes / 2**30 <= 0.8"

# %% hostile: a dict that equals everything
class Layout(dict):
    def __eq__(self, other):
        return True

    __hash__ = None

    def __getitem__(self, key):
        return 1


def plan_layout(model, cluster):
    return Layout(data=1, tensor=1, pipeline=1, zero=0, gb=1, step_s=1)

# %% wrong: stores as many micro-batches as stages — says "no more micro-batches than there are" — from "memory and seconds apart": `min(p, self.model["batch"] // d)` → "p"

# %% wrong: tensor and pipeline swapped where memory is asked for — says "memory" — from "memory and seconds apart": "if costs.memory(d, t, p, z)" → "if costs.memory(d, p, t, z)"

# %% wrong: gigabits — says "taken in bits" — from "reference": `network_gbs"]) * 1e9` → `network_gbs"]) * 1e9 / 8`

# %% wrong: tensor at most a node, but no divisor of it — says "not only gpus" — from "reference"
# -     for t in range(1, node + 1):
# +     for t in range(1, min(gpus, node) + 1):

# -             if node % t or L % p or rest or model["batch"] % d:
# +             if gpus % t or L % p or rest or model["batch"] % d:

# %% wrong: tensor a power of two — says "tensor may be any divisor of gpus_per_node" — from "reference": "if node % t or" → "if node % t or t & (t - 1) or"

# %% wrong: pipeline a power of two — says "pipeline may be any divisor of layers" — from "reference": "if node % t or" → "if node % t or p & (p - 1) or"

# %% wrong: tensor is less than a node — says "include gpus_per_node" — from "reference": "range(1, node + 1)" → "range(1, node)"

# %% wrong: as many micro-batches as stages at least — says "more than there are micro-batches" — from "reference": `or model["batch"] % d:` → `or model["batch"] % d or model["batch"] // d < p:`

# %% wrong: pipeline does not divide layers — says "must divide layers" — from "reference": "L % p or rest" → "rest"

# %% wrong: data does not divide the batch — says "data must divide batch" — from "memory and seconds apart": `if cluster["gpus"] % (t * p) or model["batch"] % (cluster["gpus"] // (t * p)):` → `if cluster["gpus"] % (t * p) or model["batch"] < cluster["gpus"] // (t * p):`

# %% wrong: a stage divides one part only — says "divides what ZeRO-1 divides" — from "reference": "d if zero >= stage else 1" → "d if zero == stage else 1"

# %% wrong: gradients stay whole with ZeRO-2 — says "divides the gradients" — from "reference": "for stage in (3, 2, 1)" → "for stage in (3, 3, 1)"

# %% wrong: no layer is computed again — says "computed again takes memory" — from "reference": "+ 34 * act / t" → ""

# %% wrong: inputs divided by tensor — says "inputs of the layers are not divided" — from "reference": "min(p, m) * 2 * act +" → "min(p, m) * 2 * act / t +"

# %% wrong: four all-reduces per layer — says "not four" — from "reference": "L / p * 6 * 2" → "L / p * 4 * 2"

# %% wrong: m + p slots — says "m + p - 1 slots" — from "reference": "(m + p - 1)" → "(m + p)"

# %% wrong: gradients of the whole model — says "Each GPU sums" — from "reference": "(d - 1) / d * 2 * n" → `(d - 1) / d * 2 * model["parameters"]`

# %% wrong: None where nothing fits — says "{} and not None" — from "reference": "return best" → "return best or None"

# %% wrong: powers of two for data only — says "data may be any divisor" — from "reference": "or rest or" → "or rest or d & (d - 1) or"

# %% wrong: a node has as many GPUs as there are — says "even if there are fewer gpus" — from "reference": `cluster["gpus"], cluster["gpus_per_node"]` → `cluster["gpus"], min(cluster["gpus"], cluster["gpus_per_node"])`

# %% wrong: parameters not divided — says "tensor ranks and stages share the parameters" — from "reference": `model["parameters"] / (t * p)` → `model["parameters"]`

# %% wrong: the name of a key — says "Missing: 'gb'. Not asked for: 'GB'" — from "reference": `"gb": nbytes` → `"GB": nbytes`

# %% wrong: stage 0 only without data parallelism — says "the lowest ZeRO stage" — from "reference": "for zero in range(4)" → "for zero in range(min(d - 1, 1), 4)"

# %% wrong: ZeRO-2 divides the weights, too — says "but not the weights" — from "reference": "for stage in (3, 2, 1)" → "for stage in (2, 2, 1)"

# %% wrong: data parallel at least — says "data may be 1" — from "reference": `or model["batch"] % d:` → `or model["batch"] % d or d == 1 < gpus:`

# %% wrong: parameters divided by tensor only — says "tensor ranks and stages share the parameters" — from "reference": `model["parameters"] / (t * p)` → `model["parameters"] / t`

# %% wrong: the bubble of the computation only — says "Multiply both by m + p - 1" — from "reference": "(m + p - 1) * slot" → "m * slot + (p - 1) * 8 * n * model['sequence'] / (cluster['tflops'] * 1e12)"

# %% wrong: gradients in float32 — says "The gradients are 2n bytes" — from "reference": "(d - 1) / d * 2 * n / link" → "(d - 1) / d * 4 * n / link"

# %% wrong: milliseconds — says "Return seconds, not ms" — from "reference": `"step_s": step_s}` → `"step_s": 1000 * step_s}`, `step_s < best["step_s"]` → `1000 * step_s < best["step_s"]`

# %% wrong: the first layout that fits — says "That layout is slower" — from "reference": `(not best or step_s < best["step_s"])` → "not best"

# %% wrong: two and a half times the weights with ZeRO-3 — says "v is 3" — from "reference": "(3 if zero == 3 else 2)" → "(2.5 if zero == 3 else 2)"

# %% wrong: tensor up to 8, as in most servers — says "which is more than 8 here" — from "reference": "for t in range(1, node + 1):" → "for t in range(1, min(node, 8) + 1):"
