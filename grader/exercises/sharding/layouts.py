"""`plan_layout`: the page's cost model, the cheapest layout that fits, and what known mistakes choose."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpulab import check

KEYS = ("data", "tensor", "pipeline", "zero")
NOTES = {
    "everything_fits": "It does not fit: compare gb with 80% of the GPU's memory.",
    "all_memory": "Only 80% of a GPU's memory may be used.",
    "gibibytes": "1 GB is 10^9 bytes.",
    "across_nodes": "Tensor parallel across nodes: tensor must divide gpus_per_node.",
    "no_activations": "Activations take memory too.",
    "stores_all": "A stage stores at most min(pipeline, micro-batches) micro-batches (1F1B).",
    "stores_pipeline": "A stage stores no more micro-batches than there are: min(pipeline, micro-batches).",
    "swapped": "tensor and pipeline are swapped in the memory of the activations.",
    "no_zero": "ZeRO stages are choices too: stage 1 divides the optimizer states by the number of data ranks.",
    "least_memory": "That is the layout with the least memory: the fastest one that fits is asked for.",
    "no_bubble": "The bubble counts: micro-batches + pipeline - 1 slots.",
    "floored": "Divide with / and not with //: the share of the bytes that an all-reduce sends is a fraction.",
    "free_tensor": "Tensor parallelism communicates: six all-reduces per layer and micro-batch.",
    "free_data": "The gradients have to be summed over the data ranks.",
    "fast_network": "Beyond one node the gradients travel over the network: network_gbs.",
    "slow_node": "Inside one node the gradients travel at node_gbs.",
    "cheap_zero3": "ZeRO-3 moves 3 times the weights, not 2 times.",
    "highest_zero": "Of equally fast layouts the lowest ZeRO stage is asked for.",
    "whole_batch": "The micro-batches are those of one data rank: batch / data.",
    "no_recompute": "With recomputing it is 8 FLOPs per parameter and token.",
}
"""Known mistakes and what to say about each; the names are options of `planned`."""
COST_ONLY = frozenset({"floored"})
"""Mistakes that hardly ever choose another layout, but get the cost of some wrong."""


@dataclass(frozen=True)
class Layout:
    """A choice and what it costs."""

    data: int
    tensor: int
    pipeline: int
    zero: int
    gb: float
    step_s: float

    @property
    def choice(self) -> tuple[int, int, int, int]:
        """Without the cost."""
        return self.data, self.tensor, self.pipeline, self.zero


def _divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]


def _layouts(model: Mapping[str, Any], cluster: Mapping[str, Any], wrong: str) -> Iterator[Layout]:
    gpus, node = cluster["gpus"], cluster["gpus_per_node"]
    for tensor in _divisors(gpus if wrong == "across_nodes" else node):
        for pipeline in _divisors(model["layers"]):
            if gpus % (tensor * pipeline):
                continue
            data = gpus // (tensor * pipeline)
            if model["batch"] % data:
                continue
            for zero in range(1 if wrong == "no_zero" else 4):
                yield costed(model, cluster, (data, tensor, pipeline, zero), wrong)


def costed(
    model: Mapping[str, Any], cluster: Mapping[str, Any], choice: tuple[int, int, int, int], wrong: str = ""
) -> Layout:
    """What a choice costs by the page's model."""
    data, tensor, pipeline, zero = choice
    layers, hidden, sequence = model["layers"], model["hidden"], model["sequence"]
    micro = model["batch"] if wrong == "whole_batch" else model["batch"] // data
    own = model["parameters"] / (tensor * pipeline)
    states = (
        2 * own / (data if zero >= 3 else 1) + 2 * own / (data if zero >= 2 else 1) + 12 * own / (data if zero else 1)
    )
    parts, cut = (tensor, pipeline) if wrong == "swapped" else (pipeline, tensor)
    stored = {"stores_all": micro, "stores_pipeline": parts}.get(wrong, min(parts, micro))
    activations = layers / parts * stored * 2 * sequence * hidden + 34 * sequence * hidden / cut
    gb = (states + (0 if wrong == "no_activations" else activations)) / 1e9
    flops = 6 if wrong == "no_recompute" else 8
    compute = flops * own * sequence / (cluster["tflops"] * 1e12)
    sent = layers / pipeline * 6 * 2 * (tensor - 1)
    sent = (sent // tensor if wrong == "floored" else sent / tensor) * 2 * sequence * hidden
    reduced = sent / (cluster["node_gbs"] * 1e9)
    slot = compute + (0 if wrong == "free_tensor" else reduced)
    inside = cluster["gpus"] <= cluster["gpus_per_node"]
    inside = (inside or wrong == "fast_network") and wrong != "slow_node"
    gbs = cluster["node_gbs"] if inside else cluster["network_gbs"]
    times = 3 if zero == 3 and wrong != "cheap_zero3" else 2
    summed = 0 if wrong == "free_data" else times * (data - 1) / data * 2 * own / (gbs * 1e9)
    slots = micro if wrong == "no_bubble" else micro + pipeline - 1
    return Layout(data, tensor, pipeline, zero, gb, slots * slot + summed)


def planned(model: Mapping[str, Any], cluster: Mapping[str, Any], wrong: str = "") -> Layout | None:
    """The fastest layout that fits; None when none does."""
    room = cluster["gpu_gb"] * {"all_memory": 1.0, "gibibytes": 0.8 * 2**30 / 1e9}.get(wrong, 0.8)
    found = [one for one in _layouts(model, cluster, wrong) if wrong == "everything_fits" or one.gb <= room]
    if not found:
        return None
    if wrong == "least_memory":
        return min(found, key=lambda one: (one.gb, one.step_s))
    sign = -1 if wrong == "highest_zero" else 1
    return min(found, key=lambda one: (one.step_s, sign * one.zero, one.tensor, one.pipeline))


def clear(model: Mapping[str, Any], cluster: Mapping[str, Any]) -> bool:
    """Whether no decision of this case is close to a tie."""
    best, room = planned(model, cluster), 0.8 * cluster["gpu_gb"]
    every = list(_layouts(model, cluster, ""))
    if any(abs(one.gb / room - 1) < 1e-6 for one in every):
        return False
    if best is None:
        return True
    return all(
        one.step_s > best.step_s * (1 + 1e-6) for one in every if one.gb <= room and one.choice[:3] != best.choice[:3]
    )


def case(draw: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A drawn model and cluster."""
    hidden, layers = draw.choice([2048, 4096, 5120, 8192, 12_288]), draw.choice([24, 32, 40, 48, 80, 96])
    node = draw.choice([2, 4, 8])
    gpus = node * draw.choice([1, 2, 4, 8, 16, 32])
    model = {
        "parameters": 12 * layers * hidden**2 + 50_000 * hidden, "layers": layers, "hidden": hidden,
        "sequence": draw.choice([1024, 2048, 4096]), "batch": max(1, int(gpus * draw.choice([0.125, 1, 2, 3, 4, 8]))),
    }  # fmt: skip
    cluster = {
        "gpus": gpus, "gpus_per_node": node, "gpu_gb": draw.choice([16, 24, 40, 80, 141]),
        "tflops": round(draw.uniform(60, 400), 1), "node_gbs": round(draw.uniform(60, 450), 1),
        "network_gbs": round(draw.uniform(3, 50), 1),
    }  # fmt: skip
    return model, cluster


def drawn(draw: random.Random) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """For each known mistake two cases in which it chooses another layout, or one that costs something else."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    wanted = dict.fromkeys(NOTES, 2)
    for _ in range(4000):
        if not any(wanted.values()):
            break
        model, cluster = case(draw)
        right = planned(model, cluster)
        if right is None or not clear(model, cluster):
            continue
        told = [name for name, left in wanted.items() if left and _tells(model, cluster, right, name)]
        if told:
            found.append((model, cluster))
            for name in told:
                wanted[name] -= 1
    return found


def _tells(model: Mapping[str, Any], cluster: Mapping[str, Any], right: Layout, name: str) -> bool:
    """Whether an answer with this mistake is refused in this case."""
    if name in COST_ONLY:
        return abs(costed(model, cluster, right.choice, name).step_s / right.step_s - 1) > 1e-5
    wrong = planned(model, cluster, name)
    return wrong is None or wrong.choice != right.choice


def judge(answer: Any, model: Mapping[str, Any], cluster: Mapping[str, Any]) -> None:
    """Passes if the answer is the fastest layout that fits, and says what it costs.

    Raises:
        AssertionError: it is not; the message names a known mistake.
    """
    what = f"plan_layout({dict(model)}, {dict(cluster)})"
    right = planned(model, cluster)
    if right is None:
        check.equal(answer, {}, f"{what}, where nothing fits")
        return
    notes: dict[tuple[int, ...], list[str]] = {}
    for name, note in NOTES.items():
        wrong = planned(model, cluster, name)
        if wrong is None or wrong.choice != right.choice:
            notes.setdefault(wrong.choice if wrong else (), []).append(note)
    keys = sorted(answer) if isinstance(answer, dict) else answer
    nothing: list[tuple[Any, str]] = [([], " Or: ".join(notes.pop((), [])))]
    check.equal(keys, sorted([*KEYS, "gb", "step_s"]), f"keys of {what}", mistakes=nothing)
    mistakes = [(choice, " Or: ".join(several)) for choice, several in notes.items()]
    fitting = [one for one in _layouts(model, cluster, "") if one.gb <= 0.8 * cluster["gpu_gb"]]
    smallest = min(one.gb for one in fitting) * (1 + 1e-9)
    mistakes += [(one.choice, NOTES["least_memory"]) for one in fitting if one.gb <= smallest]
    choice = tuple(answer[name] for name in KEYS)
    check.equal(choice, right.choice, f"data, tensor, pipeline, zero of {what}", mistakes=mistakes)
    for name, value in (("gb", right.gb), ("step_s", right.step_s)):
        known = [(getattr(costed(model, cluster, right.choice, wrong), name), note) for wrong, note in NOTES.items()]
        check.close(answer[name], value, f"{name} of {what}", rtol=1e-6, mistakes=known)
