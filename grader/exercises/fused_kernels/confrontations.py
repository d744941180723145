"""How the exercises on fused kernels are checked on the GPU: times of chains and launches, Dynamo, softmax."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import numpy as np

from gpulab import check
from gpulab.check.outcomes import WrongAnswer
from grader.exercises.confront import Absent, Confrontation, Unusable
from grader.exercises.fused_kernels import compiling

SAME_RATE = 1.35
"""All chains move their bytes at the same rate, up to this factor: reads and writes in other proportions differ by 12%
on an H200 (gpu-benches@1c36d509 gpu-stream/h200.txt, scale and triad), and by 3% at most on V100, A100, A40 and L40."""
LAUNCH = 1.35
"""Measured and computed times of a sequence of kernels agree within this factor. The model leaves out the pauses
between kernels, and takes the launch of a graph for that of a kernel."""
CHAINS: list[tuple[str, list[int], bool, int]] = [
    ("relu(x)", [1], False, 4),
    ("relu, eight times", [1, 0, 0, 0, 0, 0, 0, 0], False, 4),
    ("x * y + z", [2, 1], False, 4),
    ("addcmul(z, x, y)", [2, 1], True, 4),
    ("sigmoid(x), four operations in one kernel", [1, 0, 0, 0], True, 4),
    ("1 / (1 + exp(-x))", [1, 0, 0, 0], False, 4),
    ("relu(x) in float16", [1], False, 2),
]
"""Name, inputs from outside for each operation, whether it is one kernel, bytes per element."""
ORDERS = [[("short", 500)], [("long", 50)], [("short", 500), ("long", 25)], [("long", 25), ("short", 500)]]
"""Kernels of the sequences of `launched`: fewer than a queue of launches holds. A long one takes about 20 launches."""
FEWEST = 3
"""Right entries of `GRAPH_BREAKS` with which points begin."""


def streamed() -> list[dict[str, Any]]:
    """Milliseconds of element-wise chains on the GPU, for tensors that are much larger than its L2 cache."""
    import torch

    from grader.exercises.on_gpu import median_ms

    nbytes = max(2**26, 8 * torch.cuda.get_device_properties(0).L2_cache_size)
    if torch.cuda.mem_get_info()[0] < 6 * nbytes:
        raise Absent(f"{6 * nbytes / 1e9:.1f} GB of free memory, for tensors that are larger than the L2 cache")
    elements = nbytes // 4
    x, y, z = (torch.rand(elements, device="cuda") for _ in range(3))
    half = x.half()

    def eight() -> Any:
        flowing = x
        for _ in range(8):
            flowing = torch.relu(flowing)
        return flowing

    works: list[Callable[[], Any]] = [
        lambda: torch.relu(x), eight, lambda: x * y + z, lambda: torch.addcmul(z, x, y),
        lambda: torch.sigmoid(x), lambda: (1 + torch.exp(-x)).reciprocal(), lambda: torch.relu(half),
    ]  # fmt: skip
    return [
        {"chain": name, "inputs": inputs, "fused": fused, "bytes": item, "elements": elements, "ms": median_ms(work)}
        for (name, inputs, fused, item), work in zip(CHAINS, works, strict=True)
    ]


def check_bytes_fused(bytes_fused: Any, readings: Any) -> None:
    """The bytes of each chain, over its time, must be the same rate."""
    rates = {}
    for one in readings:
        ops = [{"inputs": count} for count in one["inputs"]]
        moved = check.as_python(bytes_fused(ops, one["elements"], one["bytes"], one["fused"]))
        if not isinstance(moved, (int, float)) or not moved > 0:
            raise WrongAnswer(
                f"bytes_fused of {one['chain']}: you returned {moved!r:.80}, and it took {one['ms']:.3g} ms."
            )
        rates[one["chain"]] = moved / one["ms"] / 1e6
    slow, fast = min(rates, key=rates.__getitem__), max(rates, key=rates.__getitem__)
    if rates[fast] > SAME_RATE * rates[slow]:
        raise WrongAnswer(
            f"bytes_fused: this GPU moves the bytes of all chains at about the same rate. By your bytes and its times"
            f" it moved {rates[fast]:,.0f} GB/s in {fast}, and {rates[slow]:,.0f} GB/s in {slow}."
        )


def launched() -> dict[str, Any]:
    """µs of kernels, of a launch, and of four sequences of them: launched one by one, and as a CUDA graph."""
    import torch

    short = torch.zeros(64, device="cuda")

    def median_us(work: Callable[[], Any], wait: bool = True) -> float:
        times = []
        for _ in range(9):
            torch.cuda.synchronize()
            begun = perf_counter()
            work()
            if wait:
                torch.cuda.synchronize()
            times.append(1e6 * (perf_counter() - begun))
        return statistics.median(times[2:])

    def run(tensors: Iterable[Any]) -> None:
        for one in tensors:
            one.add_(1)

    def graph_of(tensors: list[Any]) -> Any:
        run(tensors[:1])
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run(tensors)
        return graph

    launch_us = median_us(lambda: run([short] * 300), wait=False) / 300
    zeros = torch.zeros(2**24, device="cuda")
    zeros_us = median_us(graph_of([zeros] * 20).replay) / 20
    long = torch.zeros(int(2**24 * 20 * launch_us / zeros_us), device="cuda")  # 20 launches long
    kernel_us = {
        name: median_us(graph_of([one] * 100).replay) / 100 for name, one in (("short", short), ("long", long))
    }
    found = []
    for order in ORDERS:
        tensors = [short if name == "short" else long for name, count in order for _ in range(count)]
        graph = graph_of(tensors)
        found.append({
            "order": order,
            "eager_us": median_us(lambda tensors=tensors: run(tensors)),  # type: ignore[misc]
            "graph_us": median_us(graph.replay),
        })  # fmt: skip
    return {"launch_us": launch_us, "kernel_us": kernel_us, "sequences": found}


def check_launch_bound(launch_bound: Any, readings: Any) -> None:
    """The times of each sequence must be those measured, within a factor."""
    launch_us, kernel_us = readings["launch_us"], readings["kernel_us"]
    if not 0 < kernel_us["short"] < launch_us < kernel_us["long"]:
        raise Unusable(f"kernels of {kernel_us} µs, launches of {launch_us:.3g} µs")
    for one in readings["sequences"]:
        kernels = [kernel_us[name] for name, count in one["order"] for _ in range(count)]
        shown = ", then ".join(f"{count} kernels of {kernel_us[name]:.3g} µs" for name, count in one["order"])
        what = f"launch_bound of {shown}, {launch_us:.3g} µs per launch"
        answer = launch_bound(kernels, launch_us)
        keys = sorted(answer) if isinstance(answer, dict) else answer
        check.equal(keys, ["eager_us", "graph_us", "speedup"], f"{what}: keys")
        measured = {**one, "speedup": one["eager_us"] / one["graph_us"]}
        for name in keys:
            check.within(answer[name], measured[name], f"{what}: {name}, measured on this GPU", LAUNCH)


BLOCKS = [
    [[0.5, 3.0], [-2.0, 4.5, 4.25], [1.0]],
    [[-900.0, 3.0], [900.0, 1000.0, 998.5], [999.0, -5.0]],
    [[1000.0, 998.0], [900.0], [-900.0, 0.0]],
    [[-9000.0, -9001.5], [-9002.0, -8999.0]],
    [[-9900.0, 0.0, 9900.0], [9899.0]],
]
"""Rows in blocks for `online_softmax`: rising and falling, far apart, all of them small."""


def softmaxed(device: str = "cuda") -> list[dict[str, Any]]:
    """Softmax and log-sum-exp of each row of `BLOCKS`, by the device in float64."""
    import torch

    rows = [torch.tensor(np.concatenate(blocks), dtype=torch.float64, device=device) for blocks in BLOCKS]
    return [{"weights": row.softmax(0).tolist(), "lse": float(row.logsumexp(0))} for row in rows]


def check_online_softmax(online_softmax: Any, readings: Any) -> None:
    """Weights and log-sum-exp of a row in blocks must be the GPU's of the whole row."""
    for blocks, one in zip(BLOCKS, readings, strict=True):
        what = f"online_softmax of {blocks}, which this GPU computed in one piece"
        answer = online_softmax([np.array(block) for block in blocks])
        check.close(answer, (np.array(one["weights"]), one["lse"]), what, rtol=1e-9, atol=1e-12)


def check_graph_breaks(answers: Any, readings: Any) -> None:
    """As many entries must be what Dynamo did with the functions on this machine as points begin with."""
    seen = {name: compiling.code(name, one) for name, one in readings.items()}
    wrong = [name for name, code in seen.items() if answers.get(name) != code]
    if len(seen) - len(wrong) < FEWEST:
        shown = ", ".join(f"{name}: {readings[name]['graphs']} graphs after each call" for name in wrong)
        raise WrongAnswer(f"GRAPH_BREAKS: Dynamo did something else on this machine. {shown}.")


CONFRONTATIONS = [
    Confrontation(
        "bytes_fused",
        "With its bytes, the times of seven chains on this GPU, fused or not, in float32 and in float16, must give one"
        " rate of memory traffic.",
        streamed, check_bytes_fused,
    ),
    Confrontation(
        "online_softmax",
        "Weights and log-sum-exp of rows in blocks are compared with those that the GPU computes for whole rows.",
        softmaxed, check_online_softmax,
    ),
    Confrontation(
        "GRAPH_BREAKS",
        "Dynamo compiles the six functions for tensors on the GPU; at least three entries must be what it did there.",
        compiling.compiled, check_graph_breaks,
    ),
    Confrontation(
        "launch_bound",
        "Times are compared with those of four sequences of kernels on this GPU, launched one by one and as a CUDA "
        "graph, given the times of its kernels and of a launch.",
        launched, check_launch_bound,
    ),
]  # fmt: skip

ON_DEVICE = {
    "triton_add_mul": ("compiled by Triton, with tensors on the GPU, without counting.", "x, y, z = some.cuda()"),
}

NONE: dict[str, str] = {}
"""The other four kernels have rows of their own."""
