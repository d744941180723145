"""The answers to chapter 04 against readings of several GPUs, and against broken ones; how the readings are taken."""

from __future__ import annotations

import functools
import json
import random
import warnings
from collections.abc import Sequence
from typing import Any

import confronted
import numpy as np
import pytest
import torch
from confronted import bank_of, findings, sentences
from courses import ROOT
from cuda.bindings import driver
from numpy.typing import NDArray

from gpulab import cuda_checks, cuda_compiled, cuda_cpp
from grader.authoring.myst import read_source
from grader.dev import gpu_rows
from grader.exercises import on_gpu
from grader.exercises.confront import Absent, Confrontation
from grader.exercises.tensor_cores import confrontations, formats, layouts, numbers, rates, waves
from grader.model.course import Course

BY_EXERCISE = {one.exercise: one for one in confrontations.CONFRONTATIONS}
CHANGED = "the judge notices a changed argument, not a reading"


def held(
    exercise: str, plausible: dict[str, Any], broken: dict[str, Any], passing: dict[str, str] | None = None
) -> None:
    assert findings(BY_EXERCISE[exercise], "04", plausible, broken, passing) == []


def altered(readings: Any, **changes: Any) -> Any:
    """A copy with some entries replaced."""
    return json.loads(json.dumps(readings)) | changes


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    met = gpu_rows.met(read_source(Course(ROOT).chapter("04").source))
    assert len(met) == 18
    assert [one.exercise for one in met if not one.ways] == ["CASE_1", "CASE_2", "CASE_3"]
    assert sentences(confrontations.CONFRONTATIONS) == []


# --------------------------------------------------------------------------------------------------------- the formats

CARDS = {
    "T4": (7, 5),
    "A100": (8, 0),
    "RTX 3060": (8, 6),
    "L40S": (8, 9),
    "H200": (9, 0),
    "B200": (10, 0),
    "RTX 5090": (12, 0),
}


@functools.cache
def compiled(capability: tuple[int, int]) -> dict[str, Any]:
    """Readings as a GPU of this capability gives them, if its tensor cores multiply what the compiler lets them."""
    found: dict[str, Any] = {}
    for name, one in formats.PRODUCTS.items():
        try:
            cuda_cpp.compile(one.source, "sm_{}{}".format(*capability))
            found[name] = [one.depth] * 2
        except cuda_cpp.CudaCompileError:
            found[name] = None
    return {"capability": list(capability), "architecture": formats.ARCHITECTURES[capability], "products": found}


def seen_formats() -> dict[str, Any]:
    """Readings of the compiler's word, and of two GPUs that NVRTC 13 compiles nothing for."""
    older = dict.fromkeys(formats.PRODUCTS)
    volta = {"capability": [7, 0], "architecture": "Volta", "products": older | {"float16": [16.0, 16.0]}}
    pascal = {"capability": [6, 0], "architecture": "Pascal", "products": older}
    return {name: compiled(capability) for name, capability in CARDS.items()} | {"V100": volta, "P100": pascal}


def broken_formats() -> dict[str, Any]:
    ampere = compiled((8, 0))
    wrong = ampere["products"] | {"bfloat16": [0.0, 16.0]}
    return {
        "a product that is wrong": altered(ampere, products=wrong),
        "a Turing taken for an Ampere": altered(compiled((7, 5)), architecture="Ampere"),
        "headers of the compiler missing": altered(ampere, products=dict.fromkeys(ampere["products"])),
    }


def test_tensor_core_types() -> None:
    held("tensor_core_types", seen_formats(), broken_formats())


def test_training_type() -> None:
    passing = {"nothing for what is unknown": "no GPU has an architecture that the table lacks"}
    held("training_type", seen_formats(), broken_formats(), passing)


def test_formats_are_read_from_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (8, 0))
    monkeypatch.delitem(formats.PRODUCTS, "float8")  # the CPU has no such instruction, nor has compute capability 8.0
    assert formats.taken_formats() | {"products": 0} == compiled((8, 0)) | {"products": 0}
    assert formats.taken_formats()["products"] == {name: [one.depth] * 2 for name, one in formats.PRODUCTS.items()}
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (99, 0))
    with pytest.raises(Absent, match="99"):
        formats.taken_formats()


# --------------------------------------------------------------------------------------------------------- the numbers


def cut_off(bits: NDArray[np.uint32], cut: int, up: str) -> list[int]:
    """Patterns rounded to the nearest multiple of 2**cut, ties to even or away from zero; NaN stays NaN."""
    quotient, rest = np.divmod(bits.astype(np.uint64), 1 << cut)
    half = 1 << (cut - 1)
    more = (rest > half) | ((rest == half) & ((quotient % 2 == 1) if up == "even" else True))
    rounded = ((quotient + more) << np.uint64(cut)).astype(np.uint32)
    return np.where(np.isnan(bits.view(np.float32)), np.uint32(0x7FFFFFFF), rounded).tolist()  # type: ignore[no-any-return]


def test_to_tf32() -> None:
    bits = numbers.patterns(13)
    away = {"bits": bits.tolist(), "away": cut_off(bits, 13, "away"), "even": None}
    even = away | {"even": cut_off(bits, 13, "even")}
    broken = {
        "not rounded": altered(away, away=away["bits"]),
        "cut": altered(even, even=(bits & np.uint32(0xFFFFE000)).tolist()),
        "all zero": altered(even, even=[0] * len(bits)),
        "ties away taken for ties to even": altered(even, even=away["away"]),
    }
    held("to_tf32", {"A100, RTX 4090": away, "H100": even}, broken, {"changes its argument": CHANGED})


def test_to_bf16() -> None:
    taken = numbers.bf16_rounded("cpu")
    bits = np.array(taken["bits"], np.uint32)
    assert taken["rounded"] != taken["bits"]
    broken = {
        "not rounded": altered(taken, rounded=taken["bits"]),
        "cut": altered(taken, rounded=(bits & np.uint32(0xFFFF0000)).tolist()),
        "NaN made infinity": altered(
            taken, rounded=np.where(np.isnan(bits.view(np.float32)), 0x7F800000, taken["rounded"]).tolist()
        ),
    }
    plausible = {"any GPU": taken, "NaN full of ones": altered(taken, rounded=cut_off(bits, 16, "even"))}
    held("to_bf16", plausible, broken, {"changes its argument": CHANGED})


def test_to_e4m3() -> None:
    bits = numbers.e4m3_patterns()
    near = torch.from_numpy(bits.view(np.float32)).clamp(-448, 448).to(torch.float8_e4m3fn)
    taken = {"bits": bits.tolist(), "codes": near.view(torch.uint8).tolist()}
    assert len(set(taken["codes"])) > 150
    beyond = np.abs(bits.view(np.float32)) > 448
    broken = {
        "not saturated": altered(taken, codes=np.where(beyond, 0x7F, taken["codes"]).tolist()),
        "all zero": altered(taken, codes=[0] * len(bits)),
        "E5M2": altered(
            taken, codes=torch.from_numpy(bits.view(np.float32)).to(torch.float8_e5m2).view(torch.uint8).tolist()
        ),
    }
    held("to_e4m3", {"L4, H100, B200": taken}, broken, {"changes its argument": CHANGED})


def test_mma() -> None:
    taken = {"products": [numbers.multiplied_added(*one) for one in numbers.factors()]}  # by the course's interpreter
    a, b, c = numbers.factors()[0]
    exact = a.astype(np.float64) @ b.astype(np.float64) + c
    truncated = altered(taken)  # a bit below the last one of a float32 lost with each of 16 steps (Fasi et al., 2021)
    truncated["products"][0]["d"] = (exact * (1 - 16 * 2.0**-23)).astype(np.float32).tolist()
    broken = {}
    for name, found in (("float16 sums", np.float16(exact)), ("zero", 0 * exact), ("NaN", np.nan * exact)):
        broken[name] = altered(taken)
        broken[name]["products"][0]["d"] = (found if name != "float16 sums" else found + 0.3).tolist()
    passing = {"adds into c": CHANGED}
    held("mma", {"exact, in another order": taken, "truncated": truncated}, broken, passing)


@pytest.mark.parametrize(
    ("take", "capability"),
    [(numbers.tf32_rounded, (7, 5)), (numbers.e4m3_rounded, (8, 6)), (numbers.added, (6, 1))],
)
def test_what_a_gpu_lacks_is_absent(monkeypatch: pytest.MonkeyPatch, take: Any, capability: tuple[int, int]) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    with pytest.raises(Absent, match="begin"):
        take()


@pytest.mark.parametrize(
    ("source", "architectures"),
    [
        (numbers.TF32_CU, ("sm_80", "sm_89", "sm_90", "sm_120")),
        (numbers.E4M3_CU, ("sm_89", "sm_90", "sm_100", "sm_120")),
        (numbers.MMA_CU, ("sm_75", "sm_80", "sm_120")),
        (waves.COVER_CU, ("sm_75", "sm_120")),
    ],
)
def test_kernels_compile_for_the_gpus_that_they_are_for(source: str, architectures: Sequence[str]) -> None:
    assert all(cuda_cpp.compile(source, arch) for arch in architectures)
    if source is numbers.TF32_CU:
        assert "cvt.rn.tf32.f32" in cuda_cpp.ptx(source, "compute_90")
        assert cuda_checks.instructions_named(source, "cvt.rna.tf32.f32", "cvt.rn.tf32.f32") == [1, 0]


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
        for n in layouts.WIDTHS for size in (1, 2, 4)
    ]  # fmt: skip


def test_align(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confronted, "SECONDS", 2)
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
    held("align", plausible, broken)


@pytest.mark.parametrize(
    ("name", "elements"), [(LOADS[2][2], 2), ("sm90_xmma_gemm_bf16bf16_bf16f32_tn_n", 0), ("nvjet", 0)]
)
def test_a_kernels_name_says_how_many_elements_it_loads(name: str, elements: int) -> None:
    assert layouts.at_once(name) == elements


def test_what_no_gpu_here_can_read_has_the_names_that_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    warnings.simplefilter("ignore")  # that there is nothing to profile
    x, weight, bias = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3)
    assert layouts.kernels_of(lambda: torch._addmm_activation(bias, x, weight.T, use_gelu=True)) == []
    assert callable(driver.cuMemAllocPitch)
    assert callable(driver.cuMemFree)


def test_strides() -> None:
    taken = layouts.places_in_memory("cpu")
    broken = {
        "all at one place": [one | {"steps": [0, 0, 0, 0]} for one in taken],
        "in bytes": [one | {"steps": [4 * step for step in one["steps"]]} for one in taken],
        "layouts mixed up": [one | {"layout": "NCHW"} for one in taken],
    }
    held("strides", {"any GPU": taken}, broken)


def test_review() -> None:
    taken = layouts.laid_out("cpu")
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
    passing = dict.fromkeys(("batch forgotten", "no eye for activations", "batch at index 0"), rule)
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
    products = timed_products(card, rates.SHAPES, list(peaks), seed)
    return {"bandwidth_gbs": bandwidth, "peak_tflops": peaks, "products": products}


def seen_batches(card: str, seed: int = 1) -> dict[str, Any]:
    bandwidth, peaks = RATES[card]
    kinds = ("float32", list(peaks)[-1])
    layers = [
        timed_products(card, [(rows, last, first) for rows in rates.BATCHES], [kind], seed)
        for kind in kinds for first, last in rates.LAYERS
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
    held("is_compute_bound", plausible, broken, {"more than the ridge, not at least": RIDGE})


def test_smallest_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confronted, "SECONDS", 5)
    plausible = {card: seen_batches(card) for card in ("H100", "A100", "RTX 3090 Ti", "T4, 70 W")}
    taken = seen_batches("H100")
    layers = [[one | {"flops": one["flops"] / 2} for one in layer] for layer in taken["layers"]]
    broken = broken_rates(taken) | {"half of the FLOPs": altered(taken, layers=layers)}
    passing = dict.fromkeys(
        ("one row too many", "a search by halves that takes the ridge itself for memory-bound"), RIDGE
    )
    held("smallest_batch", plausible, broken, passing)


def test_products_are_timed_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "median_ms", lambda work: 2.0 if work() is not None else 0.0)
    monkeypatch.setattr(rates, "CUBE", dict.fromkeys(rates.CUBE, 64))
    monkeypatch.setattr(rates, "COPIED", 4096)
    monkeypatch.setattr(rates, "SHAPES", ((8, 16, 32),))
    monkeypatch.setattr(rates, "LAYERS", ((32, 16),))
    found = rates.rates("cpu")
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
    layers = rates.batches("cpu")["layers"]
    assert [[one["m"] for one in layer] for layer in layers] == [list(rates.BATCHES)] * 2
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
    covered = [waves.covered(*shape) for shape in waves.SHAPES]  # by the course's interpreter
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
    held("quantization", plausible, broken)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_a_block_fills_a_multiprocessor(arch: str) -> None:
    (found,) = cuda_compiled.resources(waves.WAVE_CU, arch)
    assert 32 < found.registers <= 64  # 65,536 on a multiprocessor
    assert found.spilled_bytes == 0


def test_the_bank_has_wrong_answers_to_everything_that_is_confronted() -> None:
    assert all(len(bank_of("04", one.exercise)) > 5 for one in BY_EXERCISE.values())
    assert all(isinstance(one, Confrontation) for one in BY_EXERCISE.values())
