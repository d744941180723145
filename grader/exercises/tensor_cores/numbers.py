"""How this GPU rounds to TF32, bfloat16, and E4M3, and how its tensor cores add: bit by bit.

Numbers travel as float32 bit patterns, so that NaN, infinity and −0 survive JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab import check
from gpulab.check import WrongAnswer
from grader.exercises.confront import Absent, Unusable

TF32_CU = r"""
extern "C" __global__ void rounded(const float* x, unsigned* away, unsigned* even, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(away[i]) : "f"(x[i]));
#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(even[i]) : "f"(x[i]));
#endif
}
"""
"""Ties away from zero, which GPUs have from Ampere on; ties to even, from Hopper on (PTX ISA, `cvt`)."""
E4M3_CU = r"""
extern "C" __global__ void rounded(const float* x, unsigned char* codes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned short pair;
    if (i >= n)
        return;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %1;" : "=h"(pair) : "f"(x[i]));
    codes[i] = pair & 255;
}
"""
MMA_CU = r"""
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void multiply_add(const half* a, const half* b, const float* c, float* d, int k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::load_matrix_sync(sums, c, 16, wmma::mem_row_major);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(left, a + i, k);
        wmma::load_matrix_sync(right, b + 16 * i, 16);
        wmma::mma_sync(sums, left, right, sums);
    }
    wmma::store_matrix_sync(d, sums, 16, wmma::mem_row_major);
}
"""
SPECIAL = (0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7FC00000, 0x7F800001, 0xFFFFFFFF)
"""0, −0, ±infinity, the largest float32 and its negative, and three NaN."""
ADDED = 2e-5
"""Relative error that a sum of 64 products may have. Tensor cores truncate below the last bit of a float32 (Fasi et
al., 2021): 64 times 2⁻²³ is 8e-6. A float16 on the way costs up to 4.9e-4."""


# -------------------------------------------------------------------------------------------------------------- TF32


def tf32_rounded() -> dict[str, Any]:
    """Patterns, and the same rounded by `cvt`: `away` on every GPU, `even` from compute capability 9.0 on, else None.

    Raises:
        Absent: the GPU is older than Ampere.
    """
    import torch

    from gpulab import cuda_cpp

    capability = torch.cuda.get_device_capability()
    if capability < (8, 0):
        raise Absent("TF32, which begins with compute capability 8.0")
    bits = patterns(13)
    empty = np.zeros_like(bits)
    given = bits.view(np.float32), empty, empty, np.int32(len(bits))
    _, away, even = cuda_cpp.run(TF32_CU, "rounded", -(-len(bits) // 128), 128, *given)
    return {"bits": bits.tolist(), "away": away.tolist(), "even": even.tolist() if capability >= (9, 0) else None}


def check_tf32(answer: Any, readings: Any) -> None:
    """`to_tf32` is the GPU's own conversion; without one that takes ties to even, for all numbers that are no ties."""
    bits = _patterns(readings["bits"])
    told = readings["even"] or readings["away"]
    name = "cvt.rn.tf32.f32" if readings["even"] else "cvt.rna.tf32.f32"
    clear = np.ones(len(bits), bool) if readings["even"] else bits & np.uint32(0x1FFF) != 0x1000
    _compare(answer, bits[clear], _patterns(told)[clear], 13, f"TF32, as this GPU's {name} gives it")


# ---------------------------------------------------------------------------------------------------------- bfloat16


def bf16_rounded(device: str = "cuda") -> dict[str, Any]:
    """Patterns, and the same after a way through bfloat16 on the device."""
    import torch

    bits = patterns(16)
    there = torch.from_numpy(bits.view(np.float32)).to(device).to(torch.bfloat16)
    return {"bits": bits.tolist(), "rounded": there.float().cpu().numpy().view(np.uint32).tolist()}


def check_bf16(answer: Any, readings: Any) -> None:
    """`to_bf16` is the GPU's own conversion."""
    bits, told = _patterns(readings["bits"]), _patterns(readings["rounded"])
    _compare(answer, bits, told, 16, "bfloat16, as this GPU's tensor.bfloat16() gives it")


# -------------------------------------------------------------------------------------------------------------- E4M3


def e4m3_rounded() -> dict[str, Any]:
    """Patterns, and the 8-bit codes that the saturating `cvt` makes of them.

    Raises:
        Absent: the GPU is older than Ada.
    """
    import torch

    from gpulab import cuda_cpp

    if torch.cuda.get_device_capability() < (8, 9):
        raise Absent("FP8, which begins with compute capability 8.9")
    bits = e4m3_patterns()
    codes, count = np.zeros(len(bits), np.uint8), np.int32(len(bits))
    _, codes = cuda_cpp.run(E4M3_CU, "rounded", -(-len(bits) // 128), 128, bits.view(np.float32), codes, count)
    return {"bits": bits.tolist(), "codes": codes.tolist()}


def e4m3_patterns() -> NDArray[np.uint32]:
    """Float32 patterns from below the smallest E4M3 number to far above the largest one, with ties, of both signs."""
    draw = np.random.default_rng(20)
    ties = (draw.integers(8, 15, 100) + 0.5) * 2.0 ** draw.integers(-9, 5, 100)
    between = draw.uniform(8, 16, 200) * 2.0 ** draw.integers(-9, 5, 200)
    below = np.concatenate([np.arange(16) / 1024, draw.uniform(0, 2.0**-6, 60)])
    beyond = np.concatenate([draw.uniform(449, 1e5, 20), [447, 448, 449, 464, 465, 480, 3.4e38]])
    sizes = np.concatenate([ties, between, below, beyond]).astype(np.float32)
    signed = sizes * draw.choice(np.array([-1, 1], np.float32), len(sizes))
    quiet = [one for one in SPECIAL if one != 0x7F800001]  # arithmetic with a signaling NaN warns
    return np.concatenate([signed.view(np.uint32), np.array(quiet, np.uint32)])


def check_e4m3(answer: Any, readings: Any) -> None:
    """`to_e4m3` is the GPU's own conversion."""
    bits, codes = _patterns(readings["bits"]), np.array(readings["codes"], np.int64)
    exponent, mantissa = codes >> 3 & 15, (codes & 7) / 8
    sizes = np.where(exponent == 0, np.ldexp(mantissa, -6), np.ldexp(1 + mantissa, exponent - 7))
    signed = np.where(codes & 127 == 127, np.nan, np.where(codes > 127, -sizes, sizes)).astype(np.float32)
    name = "cvt.rn.satfinite.e4m3x2.f32"
    _compare(answer, bits, signed.view(np.uint32), 20, f"E4M3, as this GPU's {name} gives it")


# --------------------------------------------------------------------------------------------------------------- mma


def added() -> dict[str, Any]:
    """Products of matrices on the tensor cores: a, b, c, and what they made of them.

    Raises:
        Absent: the GPU is older than Volta.
    """
    import torch

    if torch.cuda.get_device_capability() < (7, 0):
        raise Absent("tensor cores, which begin with compute capability 7.0")
    return {"products": [multiplied_added(*one) for one in factors()]}


def factors() -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Float16 a, b and float32 c: of ordinary size; a large c; sums beyond 65504; a single product."""
    draw = np.random.default_rng(4)
    left, right = (draw.uniform(0.5, 1.5, shape).astype(np.float16) for shape in ((16, 64), (64, 16)))
    c = draw.uniform(0.5, 1.5, (16, 16)).astype(np.float32)
    one = np.zeros((16, 64), np.float16)
    one[:, 3] = 1 + 2.0**-10  # its square needs 21 bits, and c takes away all but the last
    large = (-left * np.float16(150), right * np.float16(150), -c * np.float32(1e5))
    rest = np.full((16, 16), -(1 + 2.0**-9), np.float32)
    return [(left, right, c), (left, right, c * np.float32(1000)), large, (one, one.T.copy(), rest)]


def multiplied_added(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> dict[str, Any]:
    """One product and its factors as lists."""
    from gpulab import cuda_cpp

    *_, d = cuda_cpp.run(MMA_CU, "multiply_add", 1, 32, a, b, c, np.zeros_like(c), np.int32(a.shape[1]))
    return {"a": a.tolist(), "b": b.tolist(), "c": c.tolist(), "d": d.tolist()}


def check_mma(answer: Any, readings: Any) -> None:
    """`mma` is what the tensor cores made of the same numbers, up to the order in which they add."""
    for number, one in enumerate(readings["products"], start=1):
        a, b = np.array(one["a"], np.float16), np.array(one["b"], np.float16)
        c, d = np.array(one["c"], np.float32), np.array(one["d"], np.float32)
        exact = a.astype(np.float64) @ b.astype(np.float64) + c
        if not np.allclose(d, exact, rtol=50 * ADDED, atol=0):
            raise Unusable(f"product {number} is off by {abs(d / exact - 1).max():.2g}, more than any tensor core")
        what = f"product {number} of 16 × {a.shape[1]} by {a.shape[1]} × 16, plus c, as this GPU's tensor cores made it"
        found = answer(a, b, c)
        check.close(found, d, what, rtol=ADDED)
        kind = str(getattr(found, "dtype", "")).removeprefix("torch.")
        if kind != "float32":
            raise WrongAnswer(f"{what}: you returned {kind}, and the tensor cores float32.")


# ------------------------------------------------------------------------------------------------------------- both


def patterns(cut: int) -> NDArray[np.uint32]:
    """Float32 patterns: ordinary numbers and ties of a rounding that cuts so many bits, and special ones.

    Subnormal float32 numbers are left out: an instruction may flush them.
    """
    draw = np.random.default_rng(cut)
    exponents = draw.integers(1, 255, 300, dtype=np.uint32) << np.uint32(23)
    ordinary = exponents | draw.integers(0, 1 << 23, 300, dtype=np.uint32)
    ties = (ordinary[:100] >> np.uint32(cut) << np.uint32(cut)) | np.uint32(1 << (cut - 1))
    signed = np.concatenate([ordinary, ties]) | draw.integers(0, 2, 400, dtype=np.uint32) << np.uint32(31)
    return np.concatenate([signed, np.array(SPECIAL, np.uint32)])


def _patterns(values: Sequence[int]) -> NDArray[np.uint32]:
    return np.array(values, np.uint32)


def _compare(answer: Any, bits: NDArray[np.uint32], told: NDArray[np.uint32], cut: int, what: str) -> None:
    """Passes if an answer rounds these patterns as the GPU did; any NaN will do for a NaN.

    Raises:
        Unusable: the GPU's numbers have bits that the rounding cuts, or a finite number became NaN.
    """
    x, right = bits.view(np.float32), told.view(np.float32)
    if ((told & np.uint32((1 << cut) - 1))[~np.isnan(right)] != 0).any():
        raise Unusable(f"the GPU's numbers have some of the {cut} bits that are cut")
    if (np.isnan(right) != np.isnan(x)).any():
        raise Unusable("the GPU made NaN of a number, or a number of NaN")
    found = answer(x.copy())
    check.equal(_widened(found), right, what)
    kind = str(getattr(found, "dtype", "")).removeprefix("torch.")
    if kind != "float32":
        raise WrongAnswer(f"{what}: you returned {kind}, expected float32.")
    lost = (np.signbit(_widened(found)) != np.signbit(right)) & ~np.isnan(right)
    if lost.any():
        place = int(lost.argmax())
        raise WrongAnswer(f"{what}: at {x[place]!s} you returned {_widened(found)[place]!s}, the GPU {right[place]!s}.")


def _widened(answer: Any) -> Any:
    """A tensor as a NumPy array: NumPy has no bfloat16; anything else as it is."""
    import torch

    floats = isinstance(answer, torch.Tensor) and answer.is_floating_point()
    return answer.detach().cpu().double().numpy() if floats else answer
