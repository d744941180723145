"""`cp.async`: what was copied is there after the wait, and not before."""

from __future__ import annotations

import numpy as np
import pytest

from gpulab import cuda_cpp

SOURCE = r"""
#define COPY(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: \
    "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")
extern "C" __global__ void waits(const float4* x, float4* out, int groups_left) {
    __shared__ float4 one[32], two[32];
    COPY(&one[threadIdx.x], x + threadIdx.x);
    asm volatile("cp.async.commit_group;" ::: "memory");
    COPY(&two[threadIdx.x], x + 32 + threadIdx.x);
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (groups_left == 0)
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    if (groups_left == 1)
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    out[threadIdx.x] = one[31 - threadIdx.x];
    out[32 + threadIdx.x] = two[31 - threadIdx.x];
}
"""


@pytest.mark.parametrize(("groups_left", "arrived"), [(0, (True, True)), (1, (True, False)), (2, (False, False))])
def test_a_copy_arrives_when_it_is_waited_for(groups_left: int, arrived: tuple[bool, bool]) -> None:
    x, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    trace = cuda_cpp.trace(SOURCE, "waits", 1, 32, x, out, groups_left)
    for part, there in zip((0, 1), arrived, strict=True):
        expected = x.reshape(2, 32, 4)[part, ::-1]
        found = out.reshape(2, 32, 4)[part]
        assert (found == expected).all() if there else np.isnan(found).all()
    assert (trace.global_reads, trace.shared_writes) == (256, 256)
    assert trace.most_read_sectors == 16
