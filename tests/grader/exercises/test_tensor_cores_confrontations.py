"""The answers to chapter 04 against readings of several GPUs, and against broken ones; how the readings are taken."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from altering import altered
from confronted import findings, sentences
from courses import ROOT
from numpy.typing import NDArray

from gpulab import cuda_checks, cuda_cpp
from grader.authoring.myst import read_source
from grader.dev import gpu_rows
from grader.exercises.confront import Absent
from grader.exercises.tensor_cores import confrontations, formats, gpu_waves, numbers
from grader.model.course import Course

BY_EXERCISE = {one.exercise: one for one in confrontations.CONFRONTATIONS}
CHANGED = "the judge notices a changed argument, not a reading"


def held(
    exercise: str, plausible: dict[str, Any], broken: dict[str, Any], passing: dict[str, str] | None = None
) -> None:
    assert findings(BY_EXERCISE[exercise], "04", plausible, broken, passing) == []


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
    passing = {
        "looks for a part of the name": "no architecture of a GPU has a name that is part of another's",
        "a longer name that begins with the architecture's": "no GPU has such a name",
        "any spelling of the name": "each architecture is asked for by its name",
        "one set for all calls": "readings ask for one architecture only",
    }
    held("tensor_core_types", seen_formats(), broken_formats(), passing)


def test_training_type() -> None:
    passing = {
        "nothing for what is unknown": "no GPU has an architecture that the table lacks",
        "bfloat16 for what is unknown": "no GPU has an architecture that the table lacks",
        "tfloat32 for a name that is not in the table": "no GPU has an architecture that the table lacks",
        "looks for a part of the name": "no architecture of a GPU has a name that is part of another's",
        "names in any case": "architectures are named as in the table",
    }
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
    flushed = "subnormal numbers are left out: an instruction may flush them"
    passing = {"changes its argument": CHANGED, "subnormal numbers flushed to zero": flushed}
    passing |= dict.fromkeys(("leaves subnormal numbers as they are", "subnormal results become zero"), flushed)
    held("to_tf32", {"A100, RTX 4090": away, "H100": even}, broken, passing)


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
    flushed = "subnormal numbers are left out: an instruction may flush them"
    left = dict.fromkeys(("leaves subnormal numbers as they are", "subnormal results become zero"), flushed)
    held("to_bf16", plausible, broken, {"changes its argument": CHANGED} | left)


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
    passing = {"changes its argument": CHANGED}
    passing["number by number, in one dimension only"] = "the readings are of one dimension"
    held("to_e4m3", {"L4, H100, B200": taken}, broken, passing)


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
    passing = {"adds into c": CHANGED, "whole steps of 16 only, unless there is none": "these have 16 products"}
    passing |= {"b transposed where it is square": "b is not square in a product of an instruction"}
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
        (gpu_waves.COVER_CU, ("sm_75", "sm_120")),
    ],
)
def test_kernels_compile_for_the_gpus_that_they_are_for(source: str, architectures: Sequence[str]) -> None:
    assert all(cuda_cpp.compile(source, arch) for arch in architectures)
    if source is numbers.TF32_CU:
        assert "cvt.rn.tf32.f32" in cuda_cpp.ptx(source, "compute_90")
        assert cuda_checks.instructions_named(source, "cvt.rna.tf32.f32", "cvt.rn.tf32.f32") == [1, 0]
