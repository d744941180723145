"""`plan_layout`: the page's cost model, the cheapest layout that fits, and what known mistakes choose."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from gpulab import check
from gpulab.check.outcomes import WrongAnswer

KEYS = ("data", "tensor", "pipeline", "zero")
COSTS = {
    "no_activations": "Activations take memory too.",
    "no_inputs": "The inputs of the checkpointed layers take memory, too.",
    "no_recomputed_layer": "The layer that is computed again takes memory, too: 34·s·h / t.",
    "recomputed_layer_whole": "The layer that is computed again is divided by tensor: 34·s·h / t.",
    "inputs_cut": "Each tensor rank has the whole inputs of its layers: they are not divided by tensor.",
    "all_layers": "A stage has layers / pipeline layers, not all of them.",
    "no_master": "The optimizer takes 12 bytes per parameter: two states and the master weights, 4 bytes each.",
    "zero2_keeps_gradients": "ZeRO-2 divides the gradients, too.",
    "one_part": "A ZeRO stage also divides what the lower stages divide.",
    "zero3_keeps_weights": "ZeRO-3 divides the weights, too.",
    "stores_all": "A stage stores at most min(pipeline, micro-batches) micro-batches (1F1B).",
    "stores_pipeline": "A stage stores no more micro-batches than there are: min(pipeline, micro-batches).",
    "swapped": "tensor and pipeline are swapped in the memory of the activations.",
    "no_bubble": "The bubble counts: micro-batches + pipeline - 1 slots.",
    "long_bubble": "There are micro-batches + pipeline - 1 slots: you counted one too many.",
    "floored": "Divide with / and not with //: the share of the bytes that an all-reduce sends is a fraction.",
    "free_tensor": "Tensor parallelism communicates: six all-reduces per layer and micro-batch.",
    "four_reduces": "Each layer has six all-reduces: two forward, two backward, and two in the second forward pass.",
    "reduced_once": "Every micro-batch has its tensor all-reduces: they are multiplied by m + p - 1, too.",
    "free_data": "The gradients have to be summed over the data ranks.",
    "all_parameters": "The gradients of one GPU are summed: those of n = parameters / (tensor · pipeline).",
    "no_share": "An all-reduce over d ranks sends (d - 1) / d of the bytes, v times.",
    "fast_network": "Beyond one node the gradients travel over the network: network_gbs.",
    "slow_node": "Inside one node the gradients travel at node_gbs.",
    "slow_tensor": "Tensor all-reduces stay inside a node: they travel at node_gbs.",
    "bits": "The rates are in bytes, not in bits.",
    "cheap_zero3": "ZeRO-3 moves 3 times the weights, not 2 times.",
    "whole_batch": "The micro-batches are those of one data rank: batch / data.",
    "no_recompute": "With recomputing it is 8 FLOPs per parameter and token.",
}
"""Known mistakes in what a layout costs, and what to say about each; the names are options of `costed`."""
CHOICES = {
    "swapped_where_it_fits": COSTS["swapped"],
    "everything_fits": "It does not fit: compare gb with 80% of the GPU's memory.",
    "all_memory": "Only 80% of a GPU's memory may be used.",
    "gibibytes": "1 GB is 10^9 bytes.",
    "across_nodes": "tensor must divide gpus_per_node, so that its ranks stay in one node.",
    "no_divisor": "tensor must divide gpus_per_node, not only gpus.",
    "uneven_layers": "pipeline must divide layers.",
    "uneven_batch": "data must divide batch.",
    "fractional_batch": "data must divide batch.",
    "data_powers": "data may be any divisor of gpus and of batch, not only a power of two.",
    "fewer_gpus": "tensor must divide gpus_per_node, even if there are fewer gpus than that.",
    "tensor_powers": "tensor may be any divisor of gpus_per_node, not only a power of two.",
    "tensor_eight": "tensor may be as large as gpus_per_node, which is more than 8 here.",
    "pipeline_powers": "pipeline may be any divisor of layers, not only a power of two.",
    "pipeline_in_node": "A pipeline may span several nodes: pipeline only has to divide layers.",
    "enough_micro_batches": "There may be fewer micro-batches than stages.",
    "no_zero": "ZeRO stages are choices too: stage 1 divides the optimizer states by the number of data ranks.",
    "least_memory": "That is the layout with the least memory: return the fastest one that fits.",
    "highest_zero": "Of equally fast layouts, return the lowest ZeRO stage.",
}
"""Known mistakes in what is chosen, and what to say about each; the names are options of `planned`."""


ModelOnCluster = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A model and a cluster."""
PER_GPU = [0.125, 0.7, 1, 1.5, 2, 3, 4, 8]
"""Sequences of the batch for each GPU; some numbers of data ranks do not divide such a batch."""


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
    gpus, node, layers, batch = cluster["gpus"], cluster["gpus_per_node"], model["layers"], model["batch"]
    tensors = _divisors(gpus if wrong in ("across_nodes", "no_divisor") else node)
    if wrong == "fewer_gpus":
        tensors = _divisors(min(gpus, node))
    if wrong == "no_divisor":
        tensors = [one for one in tensors if one <= node]
    pipelines = [one for one in _divisors(gpus) if one <= layers] if wrong == "uneven_layers" else _divisors(layers)
    for tensor, pipeline in product(tensors, pipelines):
        if gpus % (tensor * pipeline):
            continue
        data = gpus // (tensor * pipeline)
        if batch % data and not (wrong in ("uneven_batch", "fractional_batch") and batch > data):
            continue
        left_out = {
            "data_powers": data & (data - 1),
            "tensor_powers": tensor & (tensor - 1),
            "tensor_eight": tensor > 8,
            "pipeline_powers": pipeline & (pipeline - 1),
            "pipeline_in_node": pipeline > node,
            "enough_micro_batches": batch < data * pipeline,
        }
        if left_out.get(wrong):
            continue
        for zero in range(1 if wrong == "no_zero" else 4):
            yield costed(model, cluster, (data, tensor, pipeline, zero), wrong)


def costed(
    model: Mapping[str, Any], cluster: Mapping[str, Any], choice: tuple[int, int, int, int], wrong: str = ""
) -> Layout:
    """What a choice costs by the page's model."""
    return Layout(*choice, _gb(model, choice, wrong), _seconds(model, cluster, choice, wrong))


def _micro_batches(model: Mapping[str, Any], data: int, wrong: str) -> float:
    if wrong == "fractional_batch":
        return float(model["batch"] / data)
    return int(model["batch"] // (1 if wrong == "whole_batch" else data))


def _gb(model: Mapping[str, Any], choice: tuple[int, int, int, int], wrong: str) -> float:
    data, tensor, pipeline, zero = choice
    layers, values = model["layers"], model["sequence"] * model["hidden"]
    micro = _micro_batches(model, data, wrong)
    own = model["parameters"] / (tensor * pipeline)
    divided = [zero >= 3, zero >= 2, zero >= 1]
    if wrong == "zero3_keeps_weights":
        divided[0] = False
    elif wrong == "zero2_keeps_gradients":
        divided[1] = zero >= 3
    elif wrong == "one_part":
        divided = [zero == 3, zero == 2, zero == 1]
    sizes = 2, 2, 8 if wrong == "no_master" else 12
    states = sum(size * own / (data if cut else 1) for size, cut in zip(sizes, divided, strict=True))
    parts, cut = (tensor, pipeline) if wrong == "swapped" else (pipeline, tensor)
    stored = {"stores_all": micro, "stores_pipeline": parts}.get(wrong, min(parts, micro))
    inputs = layers / (1 if wrong == "all_layers" else parts) * stored * 2 * values
    inputs /= tensor if wrong == "inputs_cut" else 1
    again = 34 * values / (1 if wrong == "recomputed_layer_whole" else cut)
    inputs *= wrong not in ("no_activations", "no_inputs")
    again *= wrong not in ("no_activations", "no_recomputed_layer")
    return float(states + inputs + again) / 1e9


def _seconds(
    model: Mapping[str, Any], cluster: Mapping[str, Any], choice: tuple[int, int, int, int], wrong: str
) -> float:
    data, tensor, pipeline, zero = choice
    micro = _micro_batches(model, data, wrong)
    own = model["parameters"] / (tensor * pipeline)
    inside = cluster["gpus"] <= cluster["gpus_per_node"]
    compute = (6 if wrong == "no_recompute" else 8) * own * model["sequence"] / (cluster["tflops"] * 1e12)
    sent = model["layers"] / pipeline * (4 if wrong == "four_reduces" else 6) * 2 * (tensor - 1)
    sent = (sent // tensor if wrong == "floored" else sent / tensor) * 2 * model["sequence"] * model["hidden"]
    far = wrong == "slow_tensor" and not inside
    reduced = sent / (cluster["network_gbs" if far else "node_gbs"] * 1e9) * (wrong != "free_tensor")
    fast = (inside or wrong == "fast_network") and wrong != "slow_node"
    gbs = cluster["node_gbs" if fast else "network_gbs"] / (8 if wrong == "bits" else 1)
    times = 3 if zero == 3 and wrong != "cheap_zero3" else 2
    summed = times * (1 if wrong == "no_share" else (data - 1) / data) * 2 * own / (gbs * 1e9)
    summed *= tensor * pipeline if wrong == "all_parameters" else wrong != "free_data"
    slots = micro + {"no_bubble": 0, "long_bubble": pipeline}.get(wrong, pipeline - 1)
    if wrong == "reduced_once":
        return float(slots * compute + reduced + summed)
    return float(slots * (compute + reduced) + summed)


def planned(model: Mapping[str, Any], cluster: Mapping[str, Any], wrong: str = "") -> Layout | None:
    """The fastest layout that fits; None when none does."""
    room = cluster["gpu_gb"] * {"all_memory": 1.0, "gibibytes": 0.8 * 2**30 / 1e9}.get(wrong, 0.8)
    found = list(_layouts(model, cluster, wrong))
    if wrong == "swapped_where_it_fits":
        found = [one for one in found if _gb(model, one.choice, "swapped") <= room]
    elif wrong != "everything_fits":
        found = [one for one in found if one.gb <= room]
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
    hidden, layers = draw.choice([2048, 4096, 5120, 8192, 12_288]), draw.choice([24, 30, 32, 40, 48, 80, 96])
    node = draw.choice([2, 4, 6, 8, 16])
    gpus = draw.choice([node * draw.choice([1, 2, 3, 4, 8, 16, 32])] * 9 + [node - 2 or 1])
    model = {
        "parameters": 12 * layers * hidden**2 + 50_000 * hidden, "layers": layers, "hidden": hidden,
        "sequence": draw.choice([1024, 2048, 4096]), "batch": max(1, int(gpus * draw.choice(PER_GPU))),
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
    wanted = dict.fromkeys(COSTS | CHOICES, 2)
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
    wrong = planned(model, cluster, name)
    if wrong is None or wrong.choice != right.choice:
        return True
    return abs(wrong.gb / right.gb - 1) > 1e-5 or abs(wrong.step_s / right.step_s - 1) > 1e-5


def judge(plan_layout: Callable[[dict[str, Any], dict[str, Any]], Any], cases: Sequence[ModelOnCluster]) -> None:
    """Passes if the answer finds the fastest layout that fits in every case, and says what it costs.

    The cost of the answer's own layout comes first, since a wrong cost chooses as it likes. A wrong choice is told the
    mistake that explains what is chosen in all cases, where one does.

    Raises:
        AssertionError: it does not; the message names a known mistake.
    """
    answers = [plan_layout(dict(model), dict(cluster)) for model, cluster in cases]
    for answer, (model, cluster) in zip(answers, cases, strict=True):
        what = f"plan_layout({dict(model)}, {dict(cluster)})"
        right = planned(model, cluster)
        if right is None:
            known = [(None, "Return {} and not None where nothing fits.")]
            check.equal(answer, {}, f"{what}, where nothing fits", mistakes=known)
            continue
        if isinstance(answer, dict) and not answer:
            some = f"{', '.join(KEYS)} = {right.choice} takes {right.gb:.4g} GB of {cluster['gpu_gb']}"
            raise WrongAnswer(f"{what}: you returned {{}}, but {some}. {_explained(answers, cases)}".rstrip())
        check.keys(answer, [*KEYS, "gb", "step_s"], what)
        choice, broken, over = _choice(answer), "", ""
        if _is_layout(choice):
            broken = _broken_rule(model, cluster, choice)
            if not broken:
                over = _judge_costs(answer, choice, model, cluster, what)
        if choice != right.choice:
            note = _explained(answers, cases) or broken or over or _least(model, cluster, choice)
            check.equal(choice, right.choice, f"data, tensor, pipeline, zero of {what}", mistakes=[(choice, note)])


def _choice(answer: Any) -> Any:
    return check.as_python(tuple(answer[name] for name in KEYS))


def _is_layout(choice: Any) -> bool:
    whole = all(isinstance(one, int) and one >= 0 for one in choice)
    return whole and min(choice[:3]) > 0 and choice[3] < 4


def _judge_costs(
    answer: Any, choice: tuple[int, int, int, int], model: Mapping[str, Any], cluster: Mapping[str, Any], what: str
) -> str:
    """Passes if a layout costs what the answer says; returns what to say if it does not fit, else nothing."""
    own, cost = costed(model, cluster, choice), f"of (data, tensor, pipeline, zero) = {choice}, {what}"
    for name in ("gb", "step_s"):
        values = [(getattr(costed(model, cluster, choice, wrong), name), note) for wrong, note in COSTS.items()]
        values += [(own.gb * 1e9, "gb is in GB of 10^9 bytes.")] * (name == "gb")
        check.close(answer[name], getattr(own, name), f"{name} {cost}", rtol=1e-6, mistakes=_unlike(values))
    if own.gb <= 0.8 * cluster["gpu_gb"] * (1 + 1e-9):
        return ""
    return CHOICES["everything_fits" if own.gb > cluster["gpu_gb"] else "all_memory"]


def _explained(answers: Sequence[Any], cases: Sequence[ModelOnCluster]) -> str:
    """What to say about the one known mistake that chooses as the answer does in every case; nothing if none does."""
    names = list(CHOICES)
    for answer, (model, cluster) in zip(answers, cases, strict=True):
        chosen = _choice(answer) if isinstance(answer, dict) and set(KEYS) <= set(answer) else None
        plans = {name: planned(model, cluster, name) for name in names}
        names = [name for name, plan in plans.items() if (plan.choice if plan else None) == chosen]
    notes = {CHOICES[name] for name in names}
    return notes.pop() if len(notes) == 1 else ""


def _least(model: Mapping[str, Any], cluster: Mapping[str, Any], choice: tuple[int, ...]) -> str:
    fitting = [one for one in _layouts(model, cluster, "") if one.gb <= 0.8 * cluster["gpu_gb"]]
    smallest = min(one.gb for one in fitting) * (1 + 1e-9)
    return CHOICES["least_memory"] if any(one.choice == choice and one.gb <= smallest for one in fitting) else ""


def _broken_rule(model: Mapping[str, Any], cluster: Mapping[str, Any], choice: tuple[int, ...]) -> str:
    """What is wrong with a layout whatever it costs."""
    data, tensor, pipeline, _ = choice
    rules = [
        (tensor > cluster["gpus_per_node"], CHOICES["across_nodes"]),
        (cluster["gpus_per_node"] % tensor, CHOICES["no_divisor"]),
        (model["layers"] % pipeline, CHOICES["uneven_layers"]),
        (tensor * pipeline * data != cluster["gpus"], "tensor · pipeline · data must be gpus."),
        (model["batch"] % data, CHOICES["uneven_batch"]),
    ]
    return next((note for broken, note in rules if broken), "")


def _unlike(values: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Without values that come from several mistakes."""
    notes: dict[Any, set[str]] = {}
    for value, note in values:
        notes.setdefault(float(f"{value:.10g}") if isinstance(value, float) else value, set()).add(note)
    return [(value, min(several)) for value, several in notes.items() if len(several) == 1]
