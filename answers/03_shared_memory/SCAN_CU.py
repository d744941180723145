# %% right: reference
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% right: two arrays that change roles, one barrier per step
SCAN_CU = r"""
extern "C" __global__ void scan(const int* __restrict__ x, int* __restrict__ y, const int n)
{
    __shared__ int sums[2][256];
    const int me = threadIdx.x;
    int now = 0;
    sums[now][me] = me < n ? x[me] : 0;
    for (int step = 0; step < 8; ++step) {
        __syncthreads();
        int sum = sums[now][me];
        if (me >= 1 << step)
            sum += sums[now][me - (1 << step)];
        now ^= 1;
        sums[now][me] = sum;
    }
    if (me < n)
        y[me] = sums[now][me];
}
"""

# %% right: shuffles inside warps, then the warps' sums
SCAN_CU = r"""
__device__ int warp_scan(int value, int lane) {
    for (int distance = 1; distance < 32; distance *= 2) {
        int left = __shfl_up_sync(0xFFFFFFFF, value, distance);
        if (lane >= distance)
            value += left;
    }
    return value;
}

extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int warps[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int sum = warp_scan(t < n ? x[t] : 0, lane);
    if (lane == 31)
        warps[warp] = sum;
    __syncthreads();
    if (warp == 0)
        warps[lane] = warp_scan(lane < 8 ? warps[lane] : 0, lane);
    __syncthreads();
    if (t < n)
        y[t] = sum + (warp ? warps[warp - 1] : 0);
}
"""

# %% wrong: no barrier between reading and writing — says "two barriers"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: no barrier after writing — says "two barriers"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: no barrier at all — says "two barriers"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        sums[t] += left;
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: no barrier after loading — says "no barrier between"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: adds in place — says "two barriers"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        if (t >= distance)
            sums[t] += sums[t - distance];
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: waits for the lanes of its own warp only — says "two barriers"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncwarp();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncwarp();  // everybody has read
        sums[t] += left;
        __syncwarp();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: exclusive — says "exclusive scan"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = t ? sums[t - 1] : 0;
}
"""

# %% wrong: exclusive by shifting what is read — says "exclusive scan"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t > 0 && t <= n ? x[t - 1] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: a barrier inside the condition — says "Every thread of a block must reach"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        if (t >= distance) {
            int left = sums[t - distance];
            __syncthreads();
            sums[t] += left;
        }
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: threads beyond n return first — says "already returned"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    if (t >= n)
        return;
    sums[t] = x[t];
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: no guard at the end — says "out of bounds"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
        y[t] = sums[t];
}
"""

# %% wrong: no guard at the beginning — says "Is there a guard"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = x[t];
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: stops one step early — says "the last distance is 128"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 128; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: distances grow by one — says "read requests, atomics included"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance++) {
        int left = t == distance ? sums[t - 1] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: scans each warp for itself — says "later warps need"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 32; distance *= 2) {
        int left = t % 32 >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: from the wrong end — says "wrong end"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t + distance < 256 ? sums[t + distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: reads the elements from global memory again and again — says "work in shared memory"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i <= t && t < n; i++)
        sum += x[i];
    if (t < n)
        y[t] = sum;
}
"""

# %% wrong: one thread adds up everything — says "read requests, atomics included"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    int sum = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < n; i++)
            y[i] = sum += x[i];
}
"""

# %% wrong: each thread adds up all that come before it — says "read requests, atomics included"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i <= t; i++)
        sum += sums[i];
    if (t < n)
        y[t] = sum;
}
"""

# %% wrong: a copy — says "a copy of x"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += 0 * left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: writes nothing — says "Nothing was written"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        sums[t] = 0;
}
"""

# %% wrong: the array is declared with the launch's size — says "does not compile"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[blockDim.x];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: no extern "C" — says "without extern"
SCAN_CU = r"""
__global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: floats — says "another signature"
SCAN_CU = r"""
extern "C" __global__ void scan(const float* x, float* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: never ends — says "does not end"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 1) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: a function instead of a string — says "must be a string"
SCAN_CU = print

# %% hostile: reads a file of the grader's machine — earns 0
SCAN_CU = r"""
#include "/etc/passwd"
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
"""

# %% hostile: asks whether a file of the grader's machine is there, and only then has a kernel — earns 0
SCAN_CU = r"""
#if __has_include("/etc/hostname")
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();  // everybody has read
        sums[t] += left;
        __syncthreads();  // everybody has written
    }
    if (t < n)
        y[t] = sums[t];
}
#endif
"""

# %% wrong: sums in float — says "only up to 2^24" — from "reference": "int sums[256]" → "float sums[256]", "int left" → "float left"

# %% wrong: t > distance — says "not t > distance" — from "reference": "t >= distance" → "t > distance"

# %% wrong: distances from 2 on — says "reads at distance 1" — from "reference": "int distance = 1" → "int distance = 2"

# %% wrong: absolute values — says "lost their sign" — from "reference": "? x[t]" → "? abs(x[t])"

# %% wrong: the largest so far — says "largest elements so far" — from "reference": "sums[t] += left" → "sums[t] = max(sums[t], left)", "sums[t - distance] : 0" → "sums[t - distance] : -2147483647"

# %% wrong: sums in short — says "do not fit into 16 bits" — from "reference": "__shared__ int" → "__shared__ short"

# %% wrong: products — says "Those are products" — from "reference": "sums[t] += left" → "sums[t] *= left", "sums[t - distance] : 0" → "sums[t - distance] : 1"

# %% wrong: products with 0 — says "does each step add to sums[t]" — from "reference": "sums[t] += left" → "sums[t] *= left"

# %% wrong: one thread adds up everything, four elements at a time — says "read requests, atomics included"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int4 fours[64];
    int* sums = (int*) fours;
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int k = 0; k < 64; k++) {
            int4 four = fours[k];
            four.x += sum;
            four.y += four.x;
            four.z += four.y;
            sum = four.w += four.z;
            fours[k] = four;
        }
    }
    __syncthreads();
    if (t < n) y[t] = sums[t];
}
"""


# %% hostile: every element is added to all sums to its right by an atomic operation: no steps, 256 · 255 / 2 additions — says "atomics included"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = 0;
    __syncthreads();
    int mine = t < n ? x[t] : 0;
    for (int place = t; place < 256; place++)
        atomicAdd(&sums[place], mine);
    __syncthreads();
    if (t < n)
        y[t] = sums[t];
}
"""

# %% wrong: an array whose size the launch would give — says "its size is a constant" — from "reference": "__shared__ int sums[256]" → "extern __shared__ int sums[]"

# %% wrong: the distance grows by 1 — says "The distance doubles" — from "reference": "distance *= 2" → "distance++"

# %% wrong: clamps the index to the array — says "add 0, not x[0]" — from "reference": "t >= distance ? sums[t - distance] : 0" → "sums[max(t - distance, 0)]"

# %% hostile: each thread adds up all elements on its left, loaded as constants, which are not counted — says "as if it lay in constant memory"
SCAN_CU = r"""
__device__ int seen(const int* p) { int v; asm volatile("ld.const.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }

extern "C" __global__ void scan(const int* x, int* y, int n) {
    int t = threadIdx.x, sum = 0;
    if (t >= n) return;
    for (int i = 0; i <= t; i++) sum += seen(x + i);
    y[t] = sum;
}
"""

# %% hostile: tensor cores write all elements into a table of constants, and each thread adds up those on its left there — says "'table', which is constant"
SCAN_CU = r"""
#include <mma.h>
using namespace nvcuda;
__constant__ float table[256] = {1.0f};
__device__ float seen(const float* p) { float v; asm volatile("ld.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory"); return v; }

extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ __align__(128) float given[256];
    int t = threadIdx.x, sum = 0;
    given[t] = __int_as_float(t < n ? x[t] : 0);
    __syncthreads();
    if (t < 32) {
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> all;
        wmma::load_matrix_sync(all, given, 16, wmma::mem_row_major);
        float* there = const_cast<float*>(table);
        asm volatile("" : "+l"(there) :: "memory");
        wmma::store_matrix_sync(there, all, 16, wmma::mem_row_major);
    }
    __syncthreads();
    const float* there = table;
    asm volatile("" : "+l"(there) :: "memory");
    for (int i = 0; i <= t; i++) sum += __float_as_int(seen(there + i));
    if (t < n) y[t] = sum;
}
"""
# %% wrong: no barrier before the first step — says "before the first step" — from "reference"
#       sums[t] = t < n ? x[t] : 0;
# -     __syncthreads();
#       for (int distance = 1; distance < 256; distance *= 2) {

# %% wrong: adds the element of x at the distance — says "A step adds the sum at the distance" — from "reference": "sums[t - distance] : 0" → "x[t - distance] : 0"

# %% wrong: what was read is added again in each step — says "Yours adds what it read in earlier steps once more" — from "reference"
# -     for (int distance = 1; distance < 256; distance *= 2) {
# -         int left = t >= distance ? sums[t - distance] : 0;
# +     int left = 0;
# +     for (int distance = 1; distance < 256; distance *= 2) {
# +         left += t >= distance ? sums[t - distance] : 0;

# %% wrong: absolute values in each step — says "lost their sign" — from "reference": "sums[t] += left" → "sums[t] += abs(left)"

# %% wrong: wraps around to the end — says "Does t - distance wrap around?" — from "reference": "t >= distance ? sums[t - distance] : 0" → "sums[(t - distance) & 255]"

# %% wrong: takes the array that was written before the last step — says "does y take the one that was written last" — from "two arrays that change roles, one barrier per step": `y[me] = sums[now][me]` → `y[me] = sums[now ^ 1][me]`

# %% wrong: does not copy what a step leaves as it is — says "a step also copies" — from "two arrays that change roles, one barrier per step"
# -         int sum = sums[now][me];
# -         if (me >= 1 << step)
# -             sum += sums[now][me - (1 << step)];
#           now ^= 1;
# -         sums[now][me] = sum;
# +         if (me >= 1 << step)
# +             sums[now][me] = sums[now ^ 1][me] + sums[now ^ 1][me - (1 << step)];

# %% wrong: own sum in a register, the others' in an array of short — says "Only the last 16 bits"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ short others[256];
    const int t = threadIdx.x;
    int own = t < n ? x[t] : 0;
    for (int distance = 1; distance < 256; distance *= 2) {
        others[t] = own;
        __syncthreads();
        if (t >= distance)
            own += others[t - distance];
        __syncthreads();
    }
    if (t < n)
        y[t] = own;
}
"""

# %% wrong: warps scan, and add the sum of the warp before alone — says "the sums of all earlier warps"
SCAN_CU = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int totals[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int sum = t < n ? x[t] : 0;
    for (int distance = 1; distance < 32; distance *= 2) {
        int left = __shfl_up_sync(0xFFFFFFFF, sum, distance);
        if (lane >= distance)
            sum += left;
    }
    if (lane == 31)
        totals[warp] = sum;
    __syncthreads();
    if (warp > 0)
        sum += totals[warp - 1];
    if (t < n)
        y[t] = sum;
}
"""

# %% wrong: warps scan, and each lane adds what it receives — says "its own value from __shfl_up_sync" — from "warps scan, and add the sum of the warp before alone"
# -     for (int distance = 1; distance < 32; distance *= 2) {
# -         int left = __shfl_up_sync(0xFFFFFFFF, sum, distance);
# -         if (lane >= distance)
# -             sum += left;
# -     }
# +     for (int distance = 1; distance < 32; distance *= 2)
# +         sum += __shfl_up_sync(0xFFFFFFFF, sum, distance);

# -     if (warp > 0)
# -         sum += totals[warp - 1];
# +     for (int earlier = 0; earlier < warp; earlier++)
# +         sum += totals[earlier];

# %% wrong: the first half of a work-efficient scan alone — says "In y[2], x[0] and x[1] are missing" — from "reference": `t >= distance ?` → `(t + 1) % (2 * distance) == 0 ?`

# %% wrong: the distance is squared — says "steps with the distances 2, 4 and 16" — from "reference": `int distance = 1; distance < 256; distance *= 2` → `int distance = 2; distance < 256; distance *= distance`

# %% wrong: what is on the left is subtracted — says "In y[1], x[0] is subtracted" — from "reference": `sums[t] += left` → `sums[t] -= left`
