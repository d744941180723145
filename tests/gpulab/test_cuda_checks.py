"""Kernels in CUDA C++ are checked for their declaration, and counted without changing what they are given."""

from __future__ import annotations

import numpy as np
import pytest

from gpulab import cuda_checks

DECLARATION = 'extern "C" __global__ void turn(const float* x, float* out)'
TURN = (
    DECLARATION
    + """ {
    out[threadIdx.x] = __shfl_xor_sync(0xFFFFFFFF, x[threadIdx.x], 31);
}"""
)


def test_a_kernel_as_declared_is_accepted() -> None:
    cuda_checks.require_kernel(TURN, "TURN", DECLARATION)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (None, "must be a string"),
        (" ", "must be a string"),
        (f'#include "/etc/passwd"\n{TURN}', "a file of its own"),
        (TURN.replace("31)", "wide)"), "does not compile.*line 2"),
        (TURN.replace('extern "C"', ""), "without extern"),
        (TURN.replace("turn", "turned"), "no turn in it"),
        (TURN.replace("const float*", "const int*"), "another signature"),
        (f"{DECLARATION};", "no body"),
    ],
)
def test_another_kernel_is_refused_by_what_is_wrong(source: object, words: str) -> None:
    with pytest.raises(AssertionError, match=f"(?s)TURN .*{words}"):
        cuda_checks.require_kernel(source, "TURN", DECLARATION)


def test_names_in_the_ptx_are_counted_but_not_in_comments() -> None:
    assert cuda_checks.instructions_named(f"// .shared\n{TURN}", "shfl.sync") == 1
    assert cuda_checks.instructions_named(f"// .shared\n{TURN}", ".shared") == 0


def test_counts_come_with_the_arrays_and_leave_the_originals_alone() -> None:
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    for seed in (0, 3):
        (_, after), summary = cuda_checks.counted(TURN, "turn", 1, 32, x, out, seed=seed)
        np.testing.assert_array_equal(after, x[::-1])
        assert not out.any()
        assert summary["global_reads"] == summary["global_writes"] == 32
