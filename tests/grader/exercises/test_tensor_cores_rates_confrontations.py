"""The answers to chapter 04 that need layouts, rates, and waves, against readings of several GPUs and broken ones."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from altering import altered
from confronted import bank_of, defined, findings
from cuda.bindings import driver

from gpulab import cuda_compiled
from grader.authoring.answers import AnswerKind
from grader.exercises import on_gpu
from grader.exercises.confront import Unusable
from grader.exercises.tensor_cores import confrontations, gpu_rates, gpu_waves, memory_layouts

BY_EXERCISE = {one.exercise: one for one in confrontations.CONFRONTATIONS}


def held(
    exercise: str, plausible: dict[str, Any], broken: dict[str, Any], passing: dict[str, str] | None = None
) -> None:
    assert findings(BY_EXERCISE[exercise], "04", plausible, broken, passing) == []


# --------------------------------------------------------------------------------------------------------- the layouts

LOADS = [
    # pytorch issue 181718 (RTX 4090); AMD-AGI/TraceLens@171dd747, tests/traces/h100: bert-small, timesformer
    [2055, 1, "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1"],
    [2056, 8, "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_nn_align8"],
    [30522, 2, "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2"],
    [3137, 1, "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1"],
]


def rows(alignment: int, more: int = 0) -> list[list[int]]:
    """Pitches of a driver that rounds up to this alignment, and spreads some of the longer rows further."""
    return [
        [n, size, -(-n * size // alignment) * alignment + more * (n % 2 and n > 2000)]
        for n in memory_layouts.WIDTHS for size in (1, 2, 4)
    ]  # fmt: skip


def test_align() -> None:
    plausible = {
        "RTX 4090": {"rows": rows(512), "loads": LOADS},
        "names that say nothing": {"rows": rows(512), "loads": []},
        "another alignment": {"rows": rows(256), "loads": []},
        "some rows spread further": {"rows": rows(512, 512), "loads": LOADS},
    }
    broken = {
        "no pitch": {"rows": [[n, size, 0] for n, size, _ in rows(512)], "loads": []},
        "shorter than the row": {"rows": [[n, size, 512] for n, size, _ in rows(512)], "loads": []},
        "no multiple": {"rows": [*rows(512), [700, 1, 700]], "loads": []},
        "all rows spread further": {
            "rows": [[1, 1, 512], *([n, s, p + 512] for n, s, p in rows(512)[1:])],
            "loads": [],
        },
        "a kernel that cannot load these": {"rows": rows(512), "loads": [[2055, 8, "…_align8"]]},
    }
    passing = {
        "rounds up with a mask of bits": "pitches and loads are multiples of powers of two",
        "at least one unit": "every row has elements",
    }
    held("align", plausible, broken, passing)


@pytest.mark.parametrize(
    ("name", "elements"), [(LOADS[2][2], 2), ("sm90_xmma_gemm_bf16bf16_bf16f32_tn_n", 0), ("nvjet", 0)]
)
def test_a_kernels_name_says_how_many_elements_it_loads(name: str, elements: int) -> None:
    assert memory_layouts.at_once(name) == elements


def test_what_no_gpu_here_can_read_has_the_names_that_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    warnings.simplefilter("ignore")  # that there is nothing to profile
    x, weight, bias = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3)
    assert memory_layouts.kernels_of(lambda: torch._addmm_activation(bias, x, weight.T, use_gelu=True)) == []
    assert callable(driver.cuMemAllocPitch)
    assert callable(driver.cuMemFree)


def test_strides() -> None:
    taken = memory_layouts.places_in_memory("cpu")
    broken = {
        "all at one place": [one | {"steps": [0, 0, 0, 0]} for one in taken],
        "in bytes": [one | {"steps": [4 * step for step in one["steps"]]} for one in taken],
        "layouts mixed up": [one | {"layout": "NCHW"} for one in taken],
    }
    held("strides", {"any GPU": taken}, broken)


def test_review() -> None:
    taken = memory_layouts.laid_out("cpu")
    networks = taken["networks"]
    noise = altered(taken)
    for network in noise["networks"]:
        network["bend"] = [[place, off or 3e-13] for place, off in network["bend"]]
    plausible = {
        "H100": altered(taken, fused={"relu": 1, "gelu": 1}),
        "V100, no fused gelu": altered(taken, fused={"relu": 1, "gelu": 2}),
        "a profiler that may not look": altered(noise, fused={"relu": 0, "gelu": 0}),
    }
    broken = {
        "float32 for float64": altered(
            taken, networks=[one | {"bend": [[place, off + 1e-7] for place, off in one["bend"]]} for one in networks]
        ),
        "memory that begins anywhere": altered(
            taken, networks=[one | {"rows": [[*row[:2], 1, row[3]] for row in one["rows"]]} for one in networks]
        ),
        "every row off": altered(
            taken, networks=[one | {"rows": [[*row[:2], row[3], row[3]] for row in one["rows"]]} for one in networks]
        ),
        "NaN": altered(
            taken, networks=[one | {"bend": [[place, float("nan")] for place, _ in one["bend"]]} for one in networks]
        ),
    }
    rule = "no reading says that a batch should be a multiple, or that an activation is heavy: libraries' lists do"
    unseen = (
        "batch forgotten",
        "batch at index 0",
        "the batch is smaller than the multiple",
        "the batch with every layer",
        "multiples of 8 for the batch, also for int8",
        "the batch must be a power of two",
        "no rule for a batch of one",
    )
    passing = dict.fromkeys((*unseen, "no eye for activations", "sigmoid forgotten"), rule)
    alike = ("the first of equal layers", "the first of equal layers lacks the activation")
    passing |= dict.fromkeys(alike, "no two layers here are equal")
    passing |= {"takes the sizes by their place": "the keys of these layers are always in the same order"}
    passing |= {"math-heavy between other layers only": "no such layer is the first or the last here"}
    held("review", plausible, broken, passing)


# ----------------------------------------------------------------------------------------------------------- the rates

RATES = {
    # 4096³ in bfloat16: pranjalssh/fast.cu@38eb642e (H100), gau-nernst/learn-cuda@1454f8b7 (A100, RTX 5090, B200); TF32
    # and the RTX 3090 Ti: mli/transformers-benchmarks@3370b2b3; the A100's copy: te42kyfo/gpu-benches@1c36d509. The
    # rest is set at 70 to 90% of the datasheet's rate, as those are.
    "H100": (3000.0, {"float32": 52.0, "tfloat32": 380.0, "bfloat16": 716.0}),
    "A100": (1372.0, {"float32": 18.5, "tfloat32": 116.0, "bfloat16": 246.3}),
    "RTX 5090 at 400 W": (1530.0, {"float32": 75.0, "tfloat32": 85.0, "bfloat16": 173.5}),
    "RTX 3090 Ti": (910.0, {"float32": 28.0, "tfloat32": 31.3, "bfloat16": 71.5}),
    "B200": (6900.0, {"float32": 66.0, "tfloat32": 720.0, "bfloat16": 1358.7}),
    "T4, 70 W": (240.0, {"float32": 4.1, "float16": 24.0}),
}


def timed_products(card: str, shapes: Sequence[tuple[int, int, int]], kinds: Sequence[str], seed: int) -> list[Any]:
    """Products that take what a card's rates allow at best, and up to 60% more, plus some microseconds."""
    bandwidth, peaks = RATES[card]
    draw, found = random.Random(seed), []
    for kind in kinds:
        for m, n, k in shapes:
            flops, moved = 2 * m * n * k, (2 if kind.endswith("16") else 4) * (m * k + k * n + m * n)
            ms = max(flops / peaks[kind] / 1e9, moved / bandwidth / 1e6) * draw.uniform(0.95, 1.6) + 0.003
            found.append({"m": m, "n": n, "k": k, "type": kind, "ms": ms, "flops": flops, "bytes": moved})
    return found


def seen_rates(card: str, seed: int = 1) -> dict[str, Any]:
    bandwidth, peaks = RATES[card]
    products = timed_products(card, gpu_rates.SHAPES, list(peaks), seed)
    return {"bandwidth_gbs": bandwidth, "peak_tflops": peaks, "products": products}


def seen_batches(card: str, seed: int = 1) -> dict[str, Any]:
    bandwidth, peaks = RATES[card]
    kinds = ("float32", list(peaks)[-1])
    layers = [
        timed_products(card, [(rows, last, first) for rows in gpu_rates.BATCHES], [kind], seed)
        for kind in kinds for first, last in gpu_rates.LAYERS
    ]  # fmt: skip
    return {"bandwidth_gbs": bandwidth, "peak_tflops": {kind: peaks[kind] for kind in kinds}, "layers": layers}


def broken_rates(taken: Any) -> dict[str, Any]:
    return {
        "no bandwidth": altered(taken, bandwidth_gbs=0.0),
        "a peak in GFLOPS": altered(
            taken, peak_tflops={kind: peak / 1000 for kind, peak in taken["peak_tflops"].items()}
        ),
        "a peak that was never reached": altered(taken, peak_tflops=dict.fromkeys(taken["peak_tflops"], float("inf"))),
    }


RIDGE = "no product of whole sizes is exactly at a measured ridge"


def test_is_compute_bound() -> None:
    plausible = {f"{card}, {seed}": seen_rates(card, seed) for card in RATES for seed in (1, 2)}
    taken = seen_rates("H100")
    late = altered(taken, products=[one | {"ms": 0.0} for one in taken["products"]])
    miscounted = altered(taken, products=[one | {"bytes": one["bytes"] / 2} for one in taken["products"]])
    broken = broken_rates(taken) | {"no time": late, "half of the bytes": miscounted}
    near = dict.fromkeys(("a whole-number ridge", "a factor of 1,024"), "measured rates spread further than that")
    near |= dict.fromkeys(
        ("the first addition does not count", "a margin of 1% below the ridge"), near["a factor of 1,024"]
    )
    near |= {"a margin of 0.1% below the ridge": near["a factor of 1,024"]}
    near |= dict.fromkeys(
        ("eight bytes for float8", "float8 products are written in 16 bits"), "no product is measured in float8"
    )
    near |= {"two bytes for int8": "no product is measured in int8"}
    near |= {"a side of 1 is never enough": "no measured product has a side of 1 and is compute-bound"}
    held("is_compute_bound", plausible, broken, near | {"more than the ridge, not at least": RIDGE})


def test_smallest_batch() -> None:
    plausible = {card: seen_batches(card) for card in ("H100", "A100", "RTX 3090 Ti", "T4, 70 W")}
    taken = seen_batches("H100")
    layers = [[one | {"flops": one["flops"] / 2} for one in layer] for layer in taken["layers"]]
    broken = broken_rates(taken) | {"half of the FLOPs": altered(taken, layers=layers)}
    passing = dict.fromkeys(
        ("one row too many", "a search by halves that takes the ridge itself for memory-bound"), RIDGE
    )
    passing |= {
        "tries batches up to 10,000": "no measured layer needs so large a batch",
        "tries batches up to 100,000": "no measured layer needs so large a batch",
        "searches by doubling, up to 2**60": "no measured layer has its limit exactly at the ridge",
        "none for a layer narrower than the ridge": "no measured layer is so narrow",
        "at least 16 rows": "no measured layer needs so small a batch",
        "one row is no batch": "no measured layer needs so small a batch",
        "an int8 has four bytes": "no layer is measured in int8",
        "with a bias": "the readings say between which two batches a layer becomes compute-bound",
        "the peak of float32 for TF32": "no layer is measured in TF32",
        "multiples of 8": "the readings say between which two batches a layer becomes compute-bound",
        "divides by a bracket of 0": "no measured layer has its limit exactly at the ridge",
    }
    held("smallest_batch", plausible, broken, passing)


@pytest.mark.parametrize(("exercise", "seen"), [("is_compute_bound", seen_rates), ("smallest_batch", seen_batches)])
def test_no_noise_refuses_a_right_answer(exercise: str, seen: Callable[[str, int], Any]) -> None:
    """Times may be off by any factor: from matrices that stay in the L2 cache to a GPU that others use as well."""
    draw, used = random.Random(9), 0
    reference = defined(next(one for one in bank_of("04", exercise) if one.kind is AnswerKind.RIGHT), "04")
    for seed in range(100):
        taken = seen(draw.choice(list(RATES)), seed)
        rows = [taken["products"]] if "products" in taken else taken["layers"]
        for one in (one for row in rows for one in row):
            one["ms"] *= 2 ** draw.uniform(-0.5, 3)
        with contextlib.suppress(Unusable):
            BY_EXERCISE[exercise].check(reference, taken)
            used += 1
    assert used > 20


def test_products_are_timed_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "median_ms", lambda work: 2.0 if work() is not None else 0.0)
    monkeypatch.setattr(gpu_rates, "CUBE", dict.fromkeys(gpu_rates.CUBE, 64))
    monkeypatch.setattr(gpu_rates, "COPIED", 4096)
    monkeypatch.setattr(gpu_rates, "SHAPES", ((8, 16, 32),))
    monkeypatch.setattr(gpu_rates, "LAYERS", ((32, 16),))
    found = gpu_rates.rates("cpu")
    assert found["bandwidth_gbs"] == 2 * 4096 / 2.0 / 1e6
    assert found["peak_tflops"] == dict.fromkeys(("float32", "tfloat32", "bfloat16"), 2 * 64**3 / 2e9)
    single, tf32, half = found["products"]
    assert single == {
        "m": 8,
        "n": 16,
        "k": 32,
        "type": "float32",
        "ms": 2.0,
        "flops": 2 * 8 * 16 * 32,
        "bytes": 4 * 896,
    }
    assert (tf32["bytes"], half["bytes"]) == (4 * 896, 2 * 896)
    assert torch.backends.cuda.matmul.fp32_precision != "tf32"
    layers = gpu_rates.batches("cpu")["layers"]
    assert [[one["m"] for one in layer] for layer in layers] == [list(gpu_rates.BATCHES)] * 2
    assert [layer[0]["type"] for layer in layers] == ["float32", "bfloat16"]


# ----------------------------------------------------------------------------------------------------------- the waves


def seen_waves(count: int, wave_ms: float, spread: float) -> dict[str, Any]:
    """What `waves` reads on a GPU of so many multiprocessors whose clock varies by this share."""
    draw = random.Random(count)
    numbers_of = sorted({count // 2, count - 1, count, count + 1, 2 * count - 1, 2 * count, 2 * count + 1, 3 * count})
    runs = [
        [tiles, -(-tiles // count) * wave_ms * draw.uniform(1 - spread, 1 + spread) + 0.003, min(tiles, count)]
        for tiles in numbers_of
    ]
    covered = [gpu_waves.covered(*shape) for shape in gpu_waves.SHAPES]  # by the course's interpreter
    return {"sm_count": count, "runs": runs, "covered": covered}


def test_quantization() -> None:
    plausible = {
        "H100 SXM": seen_waves(132, 0.27, 0.01),
        "T4": seen_waves(40, 0.35, 0.03),
        "RTX 4060 Laptop": seen_waves(24, 0.25, 0.03),
        "RTX 5090": seen_waves(170, 0.2, 0.02),
        "a seventh of an H100 (MIG)": seen_waves(16, 0.27, 0.01),
    }
    taken = seen_waves(132, 0.27, 0.01)
    shared = altered(taken, runs=[[tiles, ms / 2 if tiles > 132 else ms, used] for tiles, ms, used in taken["runs"]])
    broken = {
        "two blocks on a multiprocessor": shared,
        "multiprocessors left out": altered(taken, runs=[[tiles, ms, used // 2] for tiles, ms, used in taken["runs"]]),
        "throttled on the way": altered(
            taken, runs=[[t, ms * (1 + 0.1 * at), used] for at, (t, ms, used) in enumerate(taken["runs"])]
        ),
        "no time": altered(taken, runs=[[tiles, 0.0, used] for tiles, _, used in taken["runs"]]),
        "elements covered twice": altered(
            taken, covered=[one | {"inside": 2 * one["inside"]} for one in taken["covered"]]
        ),
    }
    passing = {
        "waves from the area": "the runs are of whole tiles",
        "a tile is cut to the result": "no measured result is narrower than a tile",
    }
    held("quantization", plausible, broken, passing)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_a_block_fills_a_multiprocessor(arch: str) -> None:
    (found,) = cuda_compiled.resources(gpu_waves.WAVE_CU, arch)
    assert 32 < found.registers <= 64  # 65,536 on a multiprocessor
    assert found.spilled_bytes == 0
