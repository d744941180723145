"""How the kernels of the shared memory chapter run on the GPU: on sizes that would take the tracer minutes."""

from __future__ import annotations

from grader.exercises.confront import Confrontation

CONFRONTATIONS: list[Confrontation] = []

_NUMBA = "Numba compiles the kernel for this GPU, and it runs there on {}."
_NVRTC = "NVRTC compiles the source for this GPU, and it runs there on {}, with guard bytes around its arrays."
ON_DEVICE = {
    "block_reverse": (_NUMBA.format("up to 5 million elements"), "check.close(block_reverse(device_array(x))"),
    "moving_average": (
        _NUMBA.format("100,000 to 200,000 elements"),
        "if has_gpu():  # without counting: on the GPU itself\n    x, radius = drawn(draw.randint(100_000, 200_000))",
    ),
    "total": (_NUMBA.format("100,000 to 130,000 elements"), "check.close(total(device_array(x))"),
    "transpose_tiled": (_NUMBA.format("a matrix of up to 900 × 900"), "check.equal(transpose_tiled(device_array(x))"),
    "matmul_tiled": (
        _NUMBA.format("matrices of up to 300 × 111 and 111 × 300"),
        "check.close(matmul_tiled(device_array(a), device_array(b))",
    ),
    "histogram": (_NUMBA.format("200,000 elements"), "check.equal(histogram(device_array(x), bins)"),
    "WARP_SUM_CU": (_NVRTC.format("100,001 elements"), 'cuda_cpp.run(WARP_SUM_CU, "warp_sum", 391'),
    "SCAN_CU": (_NVRTC.format("256 elements"), 'cuda_cpp.run(SCAN_CU, "scan", 1'),
}

NONE: dict[str, str] = {}
