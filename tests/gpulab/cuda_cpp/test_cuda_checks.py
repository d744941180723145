"""Kernels in CUDA C++ are checked for their declaration, and counted without changing what they are given."""

from __future__ import annotations

import pytest

from gpulab import cuda_checks, cuda_cpp

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


def test_a_right_source_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A header such as cooperative_groups.h takes seconds to compile, for three architectures each time."""
    compiled = []
    whole = cuda_cpp.compile_all
    monkeypatch.setattr(cuda_cpp, "compile_all", lambda *given: [compiled.append(given), whole(*given)][1])
    cuda_checks.require_kernel(TURN, "TURN", DECLARATION)
    assert len(compiled) == 1


def test_instructions_of_later_gpus_are_accepted_where_only_these_are_asked_for() -> None:
    """`m16n8k16` of float16 begins with Ampere, and Turing's assembler refuses it."""
    registers = '"=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(0), "r"(0), "r"(0), "r"(0), "r"(0), "r"(0)'
    names = "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}"
    asm = f'asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {names};" : {registers});'
    source = TURN.replace("{", f"{{ float d[4]; {asm}", 1).replace("= __shfl", "= d[0] + __shfl")
    cuda_checks.require_kernel(source, "TURN", DECLARATION, ("sm_80", "sm_90"))
    with pytest.raises(AssertionError, match="does not compile"):
        cuda_checks.require_kernel(source, "TURN", DECLARATION)


def test_names_in_the_ptx_are_counted_but_not_in_comments() -> None:
    assert cuda_checks.instructions_named(f"// .shared\n{TURN}", "shfl.sync", ".shared") == [1, 0]
