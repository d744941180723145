"""Which number formats this GPU's tensor cores multiply, asked of the compiler and of the tensor cores themselves.

One small product per format, compiled for this GPU: a format that its architecture lacks does not compile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulab import check
from grader.exercises.confront import Absent, Unusable

ARCHITECTURES = {
    (6, 0): "Pascal", (6, 1): "Pascal", (7, 0): "Volta", (7, 5): "Turing", (8, 0): "Ampere", (8, 6): "Ampere",
    (8, 9): "Ada", (9, 0): "Hopper", (10, 0): "Blackwell", (10, 3): "Blackwell", (12, 0): "Blackwell",
    (12, 1): "Blackwell",
}  # fmt: skip
"""Compute capability → architecture, as the chapter names them."""

OPEN = frozenset({"float64", "int4", "int1"})
"""Formats whose instructions compile for GPUs that carry them out elsewhere (CUDA programming guide, PTX ISA): no
product says whether a tensor core did."""

WMMA_CU = r"""
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;

extern "C" __global__ void product(const %(stored)s* a, const %(stored)s* b, %(sum)s* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, %(depth)d, %(taken)s, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, %(depth)d, %(taken)s, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, %(depth)d, %(sum)s> sums;
    wmma::fill_fragment(sums, 0);
    wmma::load_matrix_sync(left, a, %(depth)d);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sums, left, right, sums);
    wmma::store_matrix_sync(c, sums, 16, wmma::mem_row_major);
}
"""
FLOAT8_CU = r"""
extern "C" __global__ void product(const unsigned* a, const unsigned* b, float* c) {
    float* sums = c + 4 * threadIdx.x;
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%6, %6, %6, %6};"
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3]) : "r"(a[0]), "r"(b[0]), "f"(0.0f));
}
"""


@dataclass(frozen=True)
class Product:
    """Of two matrices of ones: every element is the depth."""

    source: str
    one: Any
    """The array element that holds ones."""
    depth: int
    total: Any
    """A zero of the result's type."""
    elements: int = 256
    """Of the result."""


def _wmma(stored: str, one: Any, depth: int = 16, taken: str = "", sums: str = "float") -> Product:
    kinds = {"stored": stored, "taken": taken or stored, "sum": sums, "depth": depth}
    return Product(WMMA_CU % kinds, one, depth, np.float32(0) if sums == "float" else np.int32(0))


PRODUCTS = {
    "float16": _wmma("half", np.float16(1)),
    "bfloat16": _wmma("__nv_bfloat16", np.uint16(0x3F80)),
    "tfloat32": _wmma("float", np.float32(1), 8, "wmma::precision::tf32"),
    "int8": _wmma("signed char", np.int8(1), sums="int"),
    "float8": Product(FLOAT8_CU, np.uint32(0x38383838), 32, np.float32(0), 16 * 8),
}


def taken_formats() -> dict[str, Any]:
    """Capability, architecture, and for each format the least and the greatest element of a product; None without one.

    Raises:
        Absent: an architecture that the chapter does not know.
    """
    import torch

    capability = torch.cuda.get_device_capability()
    if capability not in ARCHITECTURES:
        raise Absent(f"an architecture that the chapter names: compute capability {capability[0]}.{capability[1]}")
    found = {name: multiplied(one) for name, one in PRODUCTS.items()}
    return {"capability": list(capability), "architecture": ARCHITECTURES[capability], "products": found}


def multiplied(one: Product) -> list[float] | None:
    """The least and the greatest element of a product; None where it does not compile for this GPU."""
    from gpulab import cuda_cpp

    factor = np.full(16 * one.depth, one.one)
    try:
        *_, sums = cuda_cpp.run(one.source, "product", 1, 32, factor, factor, np.full(one.elements, one.total))
    except cuda_cpp.CudaCompileError:
        return None
    return [float(sums.min()), float(sums.max())]


def check_types(answer: Any, readings: Any) -> None:
    """`tensor_core_types` of this architecture has the formats whose products came out, of those that one can tell."""
    found, where = _formats(readings)
    named = answer(readings["architecture"])
    right = found | {name for name in _members(named) if name in OPEN}
    check.equal(named, right, f"tensor_core_types({readings['architecture']!r}), {where}: {_listed(found)}")


def check_training_type(answer: Any, readings: Any) -> None:
    """`training_type` of this architecture is the first choice among the formats whose products came out."""
    found, where = _formats(readings)
    best = next((name for name in ("bfloat16", "float16") if name in found), "float32")
    what = f"training_type({readings['architecture']!r}), {where}: {_listed(found)}"
    check.equal(answer(readings["architecture"]), best, what)


def _formats(readings: Any) -> tuple[set[str], str]:
    """The formats that this GPU multiplies, and whose word that is.

    Raises:
        Unusable: a product of ones is something else than its depth.
    """
    for name, extremes in readings["products"].items():
        if extremes not in (None, [PRODUCTS[name].depth] * 2):
            raise Unusable(f"a product of ones in {name} gave {extremes}, not {PRODUCTS[name].depth}")
    major, minor = readings["capability"]
    where = f"where this GPU (compute capability {major}.{minor}) multiplied"
    return {name for name, extremes in readings["products"].items() if extremes}, where


def _members(answer: Any) -> list[str]:
    """The strings in a collection; none in anything else."""
    return [one for one in answer if isinstance(one, str)] if isinstance(answer, (set, frozenset, list, tuple)) else []


def _listed(found: set[str]) -> str:
    return ", ".join(sorted(found)) or "none of these formats on tensor cores"
