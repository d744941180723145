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

# %% wrong: whether it fits is not asked — says "does not fit"
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
                if (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: all of the memory — says "80%"
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
                if nbytes / 1e9 <= 1.0 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: tensor parallel across nodes — says "across nodes"
def plan_layout(model, cluster):
    """The fastest layout that fits, by the cost model above."""
    L, act = model["layers"], model["sequence"] * model["hidden"]
    gpus, node = cluster["gpus"], cluster["gpus_per_node"]
    link = (cluster["node_gbs"] if gpus <= node else cluster["network_gbs"]) * 1e9
    best = {}
    for t in range(1, gpus + 1):
        for p in range(1, L + 1):
            d, rest = divmod(gpus, t * p)
            if gpus % t or L % p or rest or model["batch"] % d:
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

# %% wrong: no activations — says "Activations take memory"
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
                step_s = (m + p - 1) * slot + (3 if zero == 3 else 2) * (d - 1) / d * 2 * n / link
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: stores all micro-batches — says "min(p, m) micro-batches"
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
                nbytes += L / p * m * 2 * act + 34 * act / t
                step_s = (m + p - 1) * slot + (3 if zero == 3 else 2) * (d - 1) / d * 2 * n / link
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: no ZeRO — says "ZeRO stages are choices"
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
            for zero in range(1):
                share = [d if zero >= stage else 1 for stage in (3, 2, 1)]
                nbytes = 2 * n / share[0] + 2 * n / share[1] + 12 * n / share[2]
                nbytes += L / p * min(p, m) * 2 * act + 34 * act / t
                step_s = (m + p - 1) * slot + (3 if zero == 3 else 2) * (d - 1) / d * 2 * n / link
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: the least memory — says "least memory"
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
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or nbytes / 1e9 < best["gb"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: no bubble — says "The bubble counts"
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
                step_s = m * slot + (3 if zero == 3 else 2) * (d - 1) / d * 2 * n / link
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: tensor parallelism is free — says "six all-reduces"
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
            for zero in range(4):
                share = [d if zero >= stage else 1 for stage in (3, 2, 1)]
                nbytes = 2 * n / share[0] + 2 * n / share[1] + 12 * n / share[2]
                nbytes += L / p * min(p, m) * 2 * act + 34 * act / t
                step_s = (m + p - 1) * slot + (3 if zero == 3 else 2) * (d - 1) / d * 2 * n / link
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: gradients are free — says "summed over the data ranks"
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
                step_s = (m + p - 1) * slot
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: gradients at the speed of the node — says "travel at network_gbs"
def plan_layout(model, cluster):
    """The fastest layout that fits, by the cost model above."""
    L, act = model["layers"], model["sequence"] * model["hidden"]
    gpus, node = cluster["gpus"], cluster["gpus_per_node"]
    link = cluster["node_gbs"] * 1e9
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

# %% wrong: gradients always over the network — says "travel at node_gbs"
def plan_layout(model, cluster):
    """The fastest layout that fits, by the cost model above."""
    L, act = model["layers"], model["sequence"] * model["hidden"]
    gpus, node = cluster["gpus"], cluster["gpus_per_node"]
    link = cluster["network_gbs"] * 1e9
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

# %% wrong: ZeRO-3 for the price of ZeRO-2 — says "3 times the weights"
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
                step_s = (m + p - 1) * slot + 2 * (d - 1) / d * 2 * n / link
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: the highest of equal stages — says "lowest ZeRO stage"
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
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s <= best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: the whole batch on every data rank — says "m = batch / data"
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
            m, n = model["batch"], model["parameters"] / (t * p)
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

# %% wrong: without the second forward pass — says "8 FLOPs"
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
            slot = 6 * n * model["sequence"] / (cluster["tflops"] * 1e12)
            slot += L / p * 6 * 2 * (t - 1) / t * 2 * act / (cluster["node_gbs"] * 1e9)
            for zero in range(4):
                share = [d if zero >= stage else 1 for stage in (3, 2, 1)]
                nbytes = 2 * n / share[0] + 2 * n / share[1] + 12 * n / share[2]
                nbytes += L / p * min(p, m) * 2 * act + 34 * act / t
                step_s = (m + p - 1) * slot + (3 if zero == 3 else 2) * (d - 1) / d * 2 * n / link
                if nbytes / 1e9 <= 0.8 * cluster["gpu_gb"] and (not best or step_s < best["step_s"]):
                    best = {"data": d, "tensor": t, "pipeline": p, "zero": zero, "gb": nbytes / 1e9, "step_s": step_s}
    return best

# %% wrong: exactly full does not fit — says "Exactly full fits" — from "reference": "<= 0.8 * cluster" → "< 0.8 * cluster"

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
