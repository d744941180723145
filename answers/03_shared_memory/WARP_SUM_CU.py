# %% right: reference
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% right: other words: xor, a grid-stride loop, a helper, restrict
WARP_SUM_CU = r"""
__device__ __forceinline__ float warp_total(float value) {
#pragma unroll
    for (unsigned step = 1; step < warpSize; step <<= 1)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

extern "C" __global__ void warp_sum(const float* __restrict__ x, float* __restrict__ out, const int n) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += x[i];
    sum = warp_total(sum);
    if ((threadIdx.x & 31) == 0 && sum != 0)
        atomicAdd(&out[0], sum);
}
"""

# %% right: lanes beyond n ask the ballot, and take part only where they have partners
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned members = __ballot_sync(0xFFFFFFFF, i < n);
    if (i >= n)
        return;
    float sum = x[i];
    for (int distance = 16; distance > 0; distance /= 2) {
        float other = __shfl_down_sync(members, sum, distance);
        if (lane + distance < 32 && (members >> (lane + distance) & 1))
            sum += other;
    }
    if (lane == 0)
        atomicAdd(out, sum);
}
"""

# %% right: cooperative groups add up the warp
WARP_SUM_CU = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = cg::reduce(warp, i < n ? x[i] : 0.0f, cg::plus<float>());
    if (warp.thread_rank() == 0)
        atomicAdd(out, sum);
}
"""

# %% right: float4 by a quarter of the threads, the tail by one
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    float s = 0.0f;
    if (i + 3 < n) {
        float4 q = *reinterpret_cast<const float4*>(x + i);
        s = q.x + q.y + q.z + q.w;
    } else if (i < n) {
        for (int j = i; j < n; j++) s += x[j];
    }
    for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffff, s, d);
    if (threadIdx.x % 32 == 0 && i < n) atomicAdd(out, s);
}
"""

# %% wrong: no guard — says "Lanes beyond n must not read"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = x[i];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: lanes beyond n return first — says "did not take part"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = x[i];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: the shuffles stand inside the guard — says "did not take part"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = x[i];
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
        if (threadIdx.x % 32 == 0)
            atomicAdd(out, sum);
    }
}
"""

# %% wrong: the mask is that of the active lanes — says "lanes beyond n add 0"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = x[i];
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(__activemask(), sum, distance);
        if (threadIdx.x % 32 == 0)
            atomicAdd(out, sum);
    }
}
"""

# %% wrong: the mask of the last warp is a ballot, and missing lanes are read — says "did not take part"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned members = __ballot_sync(0xFFFFFFFF, i < n);
    if (i < n) {
        float sum = x[i];
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(members, sum, distance);
        if (threadIdx.x % 32 == 0)
            atomicAdd(out, sum);
    }
}
"""

# %% wrong: the mask names half of the lanes — says "does not name the lane"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: a tree in shared memory — says "uses shared memory"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    __shared__ float sums[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    sums[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int distance = 16; distance > 0; distance /= 2) {
        float other = t % 32 < distance ? sums[t + distance] : 0.0f;
        __syncthreads();
        sums[t] += other;
        __syncthreads();
    }
    if (t % 32 == 0)
        atomicAdd(out, sums[t]);
}
"""

# %% wrong: one atomic per block, through shared memory — says "uses shared memory"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    __shared__ float sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (t % 32 == 0)
        sums[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
        for (int warp = 1; warp < blockDim.x / 32; warp++)
            sum += sums[warp];
        atomicAdd(out, sum);
    }
}
"""

# %% wrong: one atomic per element — says "Only lane 0 of each warp adds"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(out, x[i]);
}
"""

# %% wrong: every lane of an xor sum adds its share — says "Only lane 0 of each warp adds"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xFFFFFFFF, sum, distance);
    atomicAdd(out, sum / 32);
}
"""

# %% wrong: only the first warp of each block — says "Only the first warp of each block"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: the first distance is 32 — says "added twice"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 32; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: the last distance is missing — says "Every other lane"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 1; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: the first distance is missing — says "Half of each warp"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 8; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: no atomic — says "Add to out[0] with atomicAdd"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        *out += sum;
}
"""

# %% wrong: replaces the sum — says "Add to out[0] with atomicAdd"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        *out = sum;
}
"""

# %% wrong: no shuffle, lane 0 adds its own — says "where are the shuffles"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += 0;
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: lane 0 reads all elements of its warp — says "no shuffle"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % 32)
        return;
    float sum = 0;
    for (int lane = 0; lane < 32 && i + lane < n; lane++)
        sum += x[i + lane];
    atomicAdd(out, sum);
}
"""

# %% wrong: lane 0 reads all elements of its warp, with a shuffle for show — says "read requests"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (threadIdx.x % 32 == 0)
        for (int lane = 0; lane < 32 && i + lane < n; lane++)
            sum += x[i + lane];
    sum = __shfl_sync(0xFFFFFFFF, sum, 0);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: leaves out the last warp — says "The last warp is missing"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n / 32 * 32 ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: writes nothing — says "Nothing was added"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
}
"""

# %% wrong: only positive sums are added — says "can be negative" — from "reference": "threadIdx.x % 32 == 0" → "threadIdx.x % 32 == 0 && sum > 0"

# %% wrong: sums below 1 are taken for nothing — says "or small" — from "reference": "threadIdx.x % 32 == 0" → "threadIdx.x % 32 == 0 && fabsf(sum) >= 1"

# %% wrong: a shuffle without a mask — says "write __shfl_down_sync"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down(sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: no extern "C" — says "without extern"
WARP_SUM_CU = r"""
__global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: another signature — says "another signature"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, unsigned n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: never ends — says "does not end"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance *= 1)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: bytes — says "must be a string"
WARP_SUM_CU = b""

# %% hostile: reads a file of the grader's machine — earns 0
WARP_SUM_CU = r"""
#include "/etc/passwd"
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% hostile: asks whether a file of the grader's machine is there, and only then has a kernel — earns 0
WARP_SUM_CU = r"""
#if __has_include("/etc/hostname")
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
#endif
"""

# %% wrong: all lanes write — says "Lane 0 alone adds" — from "reference": "    if (threadIdx.x % 32 == 0)" → ""

# %% wrong: shuffles up — says "receives its own value" — from "reference": "__shfl_down_sync" → "__shfl_up_sync"

# %% wrong: sums in int — says "cut to whole numbers" — from "reference": "float sum" → "int sum"

# %% wrong: absolute values — says "lost their sign" — from "reference": "? x[i]" → "? fabsf(x[i])"

# %% wrong: products — says "The lanes only add up" — from "reference": "sum += __shfl" → "sum *= __shfl"

# %% wrong: squares — says "Those are squares" — from "reference": "? x[i]" → "? x[i] * x[i]"

# %% wrong: the largest element of each warp — says "The largest element of each warp" — from "reference": "sum += __shfl_down_sync(0xFFFFFFFF, sum, distance)" → "sum = fmaxf(sum, __shfl_down_sync(0xFFFFFFFF, sum, distance))"

# %% hostile: lanes hand their elements over in the ballots of their bits, and shuffle nothing
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int mine = i < n ? int(x[i] * 4) : 0;
    float sum = 0 * __shfl_down_sync(0xFFFFFFFF, float(mine), 1);
    for (int bit = 0; bit < 31; bit++)
        sum += float(1 << bit) * __popc(__ballot_sync(0xFFFFFFFF, abs(mine) >> bit & 1 && mine > 0)) - float(1 << bit) * __popc(__ballot_sync(0xFFFFFFFF, abs(mine) >> bit & 1 && mine < 0));
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum / 4);
}
"""

# %% hostile: threads add up stretches of 32 elements each, wherever a launch has many warps, and no lane shares anything — says "lanes of a warp add to out[0]"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n > 200) {
        float sum = 0.0f;
        for (int j = 32 * i; j < 32 * i + 32 && j < n; j++)
            sum += x[j];
        if (32 * i < n)
            atomicAdd(out, sum);
        return;
    }
    float sum = i < n ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: asks which lanes happen to be active, before anything diverges — says "did not take part"
WARP_SUM_CU = r"""
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    unsigned mask = __activemask();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (i < n) sum = x[i];
    for (int d = 1; d < 32; d <<= 1)
        sum += __shfl_down_sync(mask, sum, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, sum);
}
"""

# %% right: shuffles in a function that is not inlined
WARP_SUM_CU = r"""
__device__ __noinline__ float total(float sum, int distance) {
    while (distance) {
        sum += __shfl_down_sync(0xffffffff, sum, distance);
        distance /= 2;
    }
    return sum;
}
extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = total(i < n ? x[i] : 0.0f, 16);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: distances from half a block on — says "Each element was added 8 times" — from "reference": "distance = 16" → "distance = blockDim.x / 2"

# %% wrong: value and distance swapped — says "the value the second, and the distance the third" — from "reference": "sum, distance)" → "distance, sum)"

# %% wrong: mask and value swapped — says "The mask is the first argument" — from "reference": "0xFFFFFFFF, sum" → "sum, 0xFFFFFFFF"

# %% wrong: lanes beyond n take the last element — says "yours add the last element again" — from "reference": "i < n ? x[i] : 0.0f" → "x[i < n ? i : n - 1]"

# %% wrong: lanes beyond n take 1 — says "yours add 1" — from "reference": "0.0f" → "1.0f"

# %% wrong: the distance is divided by four — says "The distance halves in each step" — from "reference": "distance /= 2" → "distance /= 4"

# %% wrong: distances from 31 down to 1 — says "does not change by 1" — from "reference": "distance = 16; distance > 0; distance /= 2" → "distance = 31; distance > 0; distance--"

# %% wrong: distances from 0 to 4 — says "does not change by 1" — from "reference": "distance = 16; distance > 0; distance /= 2" → "distance = 0; distance < 5; distance++"

# %% hostile: lane 0 loads its warp's elements as parameters, which are not counted, and the shuffle is for show — says "as if it lay in the memory of parameters"
WARP_SUM_CU = r"""
__device__ float seen(const float* p) { float v; asm volatile("ld.param.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory"); return v; }

extern "C" __global__ void warp_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (threadIdx.x % 32 == 0)
        for (int k = i; k < n && k < i + 32; k++) sum += seen(x + k);
    sum += 0.0f * __shfl_down_sync(0xFFFFFFFF, 1.0f, 1);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}
"""

# %% wrong: shuffles of half a warp — says "The first 16 lanes of each warp count 2 times" — from "reference": "sum, distance);" → "sum, distance, 16);"

# %% wrong: passes on its own element in each step — says "Each step passes on the sum so far" — from "reference": "float sum = i < n ? x[i] : 0.0f;" → "float own = i < n ? x[i] : 0.0f, sum = own;", "0xFFFFFFFF, sum, distance" → "0xFFFFFFFF, own, distance"

# %% wrong: a place for each block — says "All warps add to the same element" — from "reference": "atomicAdd(out, sum)" → "atomicAdd(out + blockIdx.x, sum)"

# %% wrong: a block begins at 32 elements per block — says "elements of the blocks overlap" — from "reference": `blockIdx.x * blockDim.x` → `blockIdx.x * 32`

# %% wrong: all lanes of a block's first warp — says "All lanes of the first warp of each block add" — from "reference": `threadIdx.x % 32 == 0` → `threadIdx.x / 32 == 0`

# %% wrong: an atomic after each shuffle — says "after each shuffle" — from "reference"
# -     for (int distance = 16; distance > 0; distance /= 2)
# +     for (int distance = 16; distance > 0; distance /= 2) {
#           sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
# -     if (threadIdx.x % 32 == 0)
# -         atomicAdd(out, sum);
# +         if (threadIdx.x % 32 == 0)
# +             atomicAdd(out, sum);
# +     }

# %% wrong: xor with distances from 2, added by lane 31 — says "one of the distances is 1" — from "reference": `int distance = 16; distance > 0; distance /= 2` → `int distance = 2; distance < 32; distance *= 2`, `__shfl_down_sync` → `__shfl_xor_sync`, `% 32 == 0` → `% 32 == 31`

# %% wrong: xor with distances up to 32 — says "the largest distance is 16" — from "reference": `int distance = 16; distance > 0; distance /= 2` → `int distance = 1; distance <= 32; distance *= 2`, `__shfl_down_sync` → `__shfl_xor_sync`

# %% wrong: the distance goes down by 2 — says "does not go down by 2" — from "reference": `distance /= 2` → `distance -= 2`

# %% wrong: a loop in steps of one block — says "x[32] to x[63] count twice" — from "reference": `float sum = i < n ? x[i] : 0.0f;` → `float sum = 0.0f; for (int j = i; j < n; j += blockDim.x) sum += x[j];`

# %% wrong: == before & — says "comes before &" — from "reference": `threadIdx.x % 32 == 0` → `threadIdx.x & 31 == 0`

# %% wrong: subtracts what it holds — says "are subtracted" — from "reference": `sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);` → `sum = __shfl_down_sync(0xFFFFFFFF, sum, distance) - sum;`
