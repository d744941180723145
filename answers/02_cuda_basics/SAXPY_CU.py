# %% right: reference
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) {
    return alpha * x + y;
}

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% right: other words, 64-bit index, restrict, inlined helper
SAXPY_CU = '''// y = alpha x + y
extern "C" {

static __forceinline__ __device__ void update(float &y, const float a, const float x)
{
    y = fmaf(a, x, y);
}

__global__ void saxpy(float alpha, float const* __restrict__ x, float* __restrict__ y, const int n)
{
    long long i = threadIdx.x + (long long)blockIdx.x * blockDim.x;
    while (i < n) {
        update(y[i], alpha, x[i]);
        i += (long long)gridDim.x * blockDim.x; /* all threads */
    }
}

}
'''

# %% right: a template, a macro, and the helper below the kernel
SAXPY_CU = r"""
#define THREADS (gridDim.x * blockDim.x)

template <typename T> __device__ T add_scaled(T alpha, T x, T y);

extern "C" __global__ void
__launch_bounds__(1024)
saxpy(float alpha, const float* x, float* y, int n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < unsigned(n); i += THREADS) {
        y[i] = add_scaled<float>(alpha, x[i], y[i]);
    }
}

template <typename T> __device__ T add_scaled(T alpha, T x, T y) { return alpha * x + y; }
"""

# %% right: the index from cooperative groups
SAXPY_CU = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ float axpy(float alpha, float x, float y) {
    return alpha * x + y;
}

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    cg::thread_block block = cg::this_thread_block();
    for (int i = blockIdx.x * blockDim.x + block.thread_rank(); i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: a semicolon is missing — says "expected a" — from "reference"
# -     return alpha * x + y;
# +     return alpha * x + y

# %% wrong: a name that does not exist — says "line 8" — from "reference"
# -     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
# +     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride)

# %% wrong: Python's words — says "does not compile"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) {
    return alpha * x + y;
}

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int i = cuda.grid(1);
    int stride = gridDim.x * blockDim.x;
    for (; i < n; i += stride)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: the host calls it in the string, as in a .cu file — says "does not compile"
SAXPY_CU = r"""
#include <stdio.h>

__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}

int main() {
    saxpy<<<8, 128>>>(2.0f, 0, 0, 0);
    return 0;
}
"""

# %% wrong: no extern "C" — says "without extern"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

__global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: another name — says "no saxpy"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy_kernel(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: alpha is a double — says "another signature"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(double alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: a result of its own, as in Python — says "another signature"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, const float* y, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        out[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: the kernel is a __device__ function — says "saxpy"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __device__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: only declared — says "has no body"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n);
"""

# %% wrong: no helper — says "no __device__ function"
SAXPY_CU = r"""
extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = alpha * x[i] + y[i];  // no __device__ float axpy(float a) { } here
}
"""

# %% wrong: a helper that nobody calls — says "no __device__ function"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = alpha * x[i] + y[i];
}
"""

# %% wrong: neither loop nor guard — says "is there a guard"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: one element for each thread — says "grid-stride"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: the stride is one block — says "blockDim.x * gridDim.x"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: a float64 constant — says "double precision"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return (2.0 * alpha * x + 2.0 * y) / 2.0; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: a function instead of a string — says "string"
def SAXPY_CU():
    return "the kernel"

# %% wrong: nothing in it — says "string"
SAXPY_CU = None

# %% wrong: empty — says "must be a string"
SAXPY_CU = ""

# %% wrong: bytes — says "must be a string"
SAXPY_CU = b'extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {}'

# %% hostile: reads a file of the grader's machine — earns 0
SAXPY_CU = r"""
#include "/etc/passwd"

__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: no guard — says "guard"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    do {
        y[i] = axpy(alpha, x[i], y[i]);
        i += blockDim.x * gridDim.x;
    } while (i < n);
}
"""

# %% wrong: one element too many — says "guard"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: the stride is the number of blocks — says "the stride is blockDim.x * gridDim.x"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: the index overflows — says "overflows"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        short place = i;
        if (place == i)
            y[place] = axpy(alpha, x[place], y[place]);
    }
}
"""

# %% wrong: forgets the old value of y — says "old value"
SAXPY_CU = r"""
__device__ float scaled(float alpha, float x) { return alpha * x; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = scaled(alpha, x[i]);
}
"""

# %% wrong: computes nothing — says "Nothing was written"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: the loop does not go on — says "does not end"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    volatile float* out = y;
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n && stride; i += 0)
        out[i] = axpy(alpha, x[i], out[i]);
}
"""

# %% hostile: asks whether a file of the grader's machine is there, and only then has a kernel — earns 0
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

#if __has_include("/etc/hostname")
extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
#endif
"""

# %% hostile: embeds a file of the grader's machine, and needs what is in it — earns 0
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

__device__ const unsigned char held[] = {
#embed "/etc/passwd" limit(1)
};
static_assert(sizeof(held) == 1 && held[0] == 'r');
extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% hostile: asks whether the answer bank is there, and only then has a kernel — earns 0 — from "asks whether a file of the grader's machine is there, and only then has a kernel"
# - #if __has_include("/etc/hostname")
# + #if __has_include("answers/02_cuda_basics/SAXPY_CU.py") || __has_include("../answers/02_cuda_basics/SAXPY_CU.py") || __has_include("solutions/02_cuda_basics.md")

# %% hostile: hides an include behind comment signs in strings, and needs what it includes — earns 0
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

__device__ const char* a = "/*";
const int limit =
#include "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
;
__device__ const char* b = "*/";
extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% hostile: keeps the compiler busy for ever — earns 0
SAXPY_CU = r"""
#define D0 1
#define D1 D0+D0
#define D2 D1+D1
#define D3 D2+D2
#define D4 D3+D3
#define D5 D4+D4
#define D6 D5+D5
#define D7 D6+D6
#define D8 D7+D7
#define D9 D8+D8
#define D10 D9+D9
#define D11 D10+D10
#define D12 D11+D11
#define D13 D12+D12
#define D14 D13+D13
#define D15 D14+D14
#define D16 D15+D15
#define D17 D16+D16
#define D18 D17+D17
#define D19 D18+D18
#define D20 D19+D19
#define D21 D20+D20
#define D22 D21+D21
#define D23 D22+D22
#define D24 D23+D23
#define D25 D24+D24
#define D26 D25+D25
#define D27 D26+D26
#define D28 D27+D27
#define D29 D28+D28
#define D30 D29+D29
#define D31 D30+D30
#define D32 D31+D31
#define D33 D32+D32
#define D34 D33+D33
#define D35 D34+D34
#define D36 D35+D35
#define D37 D36+D36
#define D38 D37+D37
#define D39 D38+D38
#define D40 D39+D39
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i] + 0 * (D40));
}
"""

# %% wrong: the helper computes in int — says "cuts off the fraction" — from "reference"
# - __device__ float axpy(float alpha, float x, float y) {
# + __device__ int axpy(int alpha, int x, int y) {

# %% wrong: the helper takes alpha as an int — says "cuts off the fraction" — from "reference": "float axpy(float" → "float axpy(int"

# %% wrong: the helper returns an int — says "cuts off the fraction" — from "reference": "float axpy" → "int axpy"

# %% wrong: every block begins at element 0 — says "depends on blockIdx.x"
SAXPY_CU = r"""
__device__ float combined(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n)
{
    for (int i = threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = combined(alpha, x[i], y[i]);
}
"""

# %% wrong: y counts twice — says "y counts twice" — from "every block begins at element 0": "i = threadIdx.x;" → "i = blockIdx.x * blockDim.x + threadIdx.x;", "y[i] = " → "y[i] += "

# %% wrong: one thread of the grid does all the work — says "of the 32 threads of a warp"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }
extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int i = 0; i < n; i++)
            y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: a thread with a piece of its own — says "neighboring threads take neighboring elements"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) {
    return alpha * x + y;
}

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int threads = blockDim.x * gridDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
    int piece = (n + threads - 1) / threads;
    for (int i = t * piece; i < (t + 1) * piece && i < n; i++)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% hostile: one element per thread, and the very first thread does all the rest — says "of the 32 threads of a warp"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) {
    return alpha * x + y;
}

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int threads = blockDim.x * gridDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = axpy(alpha, x[i], y[i]);
    if (i == 0)
        for (int j = threads; j < n; j++)
            y[j] = axpy(alpha, x[j], y[j]);
}
"""

# %% right: the device function is the call operator of a struct
SAXPY_CU = r"""
struct Axpy {
    float alpha;
    __device__ float operator()(float x, float y) const { return alpha * x + y; }
};

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    Axpy axpy{alpha};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(x[i], y[i]);
}
"""

# %% right: a template with a trailing return type
SAXPY_CU = r"""
template <typename T>
__device__ __forceinline__ auto axpy(T alpha, T x, T y) -> decltype(alpha * x + y) {
    return fmaf(alpha, x, y);
}

extern "C" __global__ void __launch_bounds__(1024)
saxpy(float alpha, const float* __restrict__ x, float* __restrict__ y, int n)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (size_t)n; i += stride)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% hostile: adds up magnitudes — says "below zero" — from "reference": "alpha * x + y" → "fabsf(alpha * x) + fabsf(y)"

# %% right: four elements at a time, then the rest
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int start = blockIdx.x * blockDim.x + threadIdx.x, stride = blockDim.x * gridDim.x;
    for (int i = start; i < n / 4; i += stride) {
        float4 a = ((const float4*)x)[i], b = ((float4*)y)[i];
        ((float4*)y)[i] = {axpy(alpha, a.x, b.x), axpy(alpha, a.y, b.y), axpy(alpha, a.z, b.z), axpy(alpha, a.w, b.w)};
    }
    for (int i = n / 4 * 4 + start; i < n; i += stride)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: half precision — says "float16 holds 11 significant bits"
SAXPY_CU = r"""
#include <cuda_fp16.h>

__device__ float axpy(float alpha, float x, float y) {
    return __half2float(__hadd(__float2half(alpha * __half2float(__float2half(x))), __float2half(y)));
}

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: alpha rounded to half — says "float16 holds 11 significant bits" — from "reference"
# + #include <cuda_fp16.h>
#   __device__ float axpy(float alpha, float x, float y) {
# -     return alpha * x + y;
# +     return __half2float(__float2half(alpha)) * x + y;

# %% wrong: shared memory for 128 threads alone — says "shared array 't' has 128 elements, 0 to 127. It was" — from "reference"
# +     __shared__ float t[128];
#       int stride = blockDim.x * gridDim.x;

# -         y[i] = axpy(alpha, x[i], y[i]);
# +     {
# +         t[threadIdx.x] = x[i];
# +         y[i] = axpy(alpha, t[threadIdx.x], y[i]);
# +     }

# %% wrong: a header of the host — says "leave out the host's headers" — from "reference"
# + #include <cstdio>
#   __device__ float axpy(float alpha, float x, float y) {

# %% wrong: a device function for the index alone — says "the kernel itself multiplies by alpha" — from "reference"
# - __device__ float axpy(float alpha, float x, float y) {
# -     return alpha * x + y;
# + __device__ int first() {
# +     return blockIdx.x * blockDim.x + threadIdx.x;

# -     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
# -         y[i] = axpy(alpha, x[i], y[i]);
# +     for (int i = first(); i < n; i += stride)
# +         y[i] = alpha * x[i] + y[i];

# %% wrong: the guard loses the last element — says "The last element has no thread" — from "reference": "i < n;" → "i < n - 1;"

# %% wrong: alpha times the sum — says "alpha belongs to x alone" — from "reference": "alpha * x + y" → "alpha * (x + y)"

# %% wrong: one fused step in half precision — says "float16 holds 11 significant bits" — from "half precision": "__hadd(__float2half(alpha * __half2float(__float2half(x))), __float2half(y))" → "__hfma(__float2half(alpha), __float2half(x), __float2half(y))"

# %% wrong: a stride of 1024 — says "it is not 1024" — from "reference": "blockDim.x * gridDim.x;" → "1024;"

# %% wrong: twice the stride — says "Every second round is skipped" — from "reference": "blockDim.x * gridDim.x;" → "2 * blockDim.x * gridDim.x;"

# %% wrong: begins with the next element — says "The first element is missing" — from "reference": "+ threadIdx.x;" → "+ threadIdx.x + 1;"

# %% wrong: the helper changes its copy of y — says "gets a copy of y[i]" — from "reference": "float axpy" → "void axpy", "return alpha * x + y" → "y = alpha * x + y", "y[i] = axpy" → "axpy"

# %% wrong: a share of n for each thread, rounded down — says "is n / threads 0" — from "reference"
# -     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
# +     int each = n / stride, start = (blockIdx.x * blockDim.x + threadIdx.x) * each;
# +     for (int i = start; i < start + each; i++)

# %% wrong: the first element of x for all — says "take x[i]" — from "reference": "float alpha, float x, float y)" → "float alpha, const float* x, float y)", "alpha * x + y" → "alpha * *x + y", "alpha, x[i], y[i]" → "alpha, x, y[i]"

# %% hostile: a thread's local array is read as global memory, which ended the process that runs it — says "a thread's local memory as if it lay in"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    float own[64], v;
    for (int i = 0; i < 64; i++)
        own[i] = x[i % n];
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(&own[n % 64]) : "memory");
    asm volatile("st.global.f32 [%0], %1;" ::"l"(&own[(n + 7) % 64]), "f"(v) : "memory");
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: the helper takes and returns double — says "contains the type double" — from "reference": "__device__ float axpy(float alpha, float x, float y)" → "__device__ double axpy(double alpha, double x, double y)"

# %% wrong: the helper's parameters are in another order — says "x * y + alpha" — from "reference": "axpy(float alpha, float x, float y)" → "axpy(float y, float x, float alpha)"

# %% wrong: a semicolon after the head of the loop — says "its body is empty" — from "reference": "    for (int i = " → "    int i = 0; for (i = ", "i += stride)" → "i += stride);"

# %% wrong: a semicolon after the head of the loop that declares i — says "its body is empty" — from "reference": "i += stride)" → "i += stride);"

# %% wrong: one element too many, by <= — says "With <= n" — from "reference": "i < n;" → "i <= n;"

# %% wrong: the stride is a sum — says "Several threads update the same elements" — from "reference": "blockDim.x * gridDim.x;" → "blockDim.x + gridDim.x;"

# %% wrong: the stride is 1 — says "Several threads update the same elements" — from "reference": "blockDim.x * gridDim.x;" → "1;"

# %% wrong: the index is a short — says "A short ends at 32767" — from "reference": "int i =" → "short i ="

# %% wrong: the first block does all the work — says "All blocks must take part"
SAXPY_CU = r"""
__device__ float axpy(float alpha, float x, float y) {
    return alpha * x + y;
}

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    if (blockIdx.x == 0)
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            y[i] = axpy(alpha, x[i], y[i]);
}
"""

# %% wrong: updated twice — says "Each element was updated 2 times" — from "reference": "y[i] = axpy(alpha, x[i], y[i]);" → "y[i] = axpy(alpha, x[i], axpy(alpha, x[i], y[i]));"

# %% hostile: a piece for each thread, except for the numbers with which accesses used to be counted — says "sectors" — from "reference"
# -     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
# -         y[i] = axpy(alpha, x[i], y[i]);
# +     int me = blockIdx.x * blockDim.x + threadIdx.x, each = (n + stride - 1) / stride;
# +     if (alpha == 2.0f)
# +         for (int i = me; i < n; i += stride)
# +             y[i] = x[i];
# +     else
# +         for (int i = me * each; i < n && i < me * each + each; i++)
# +             y[i] = axpy(alpha, x[i], y[i]);

# %% hostile: the first warp of each block does the work of the block — says "one thread wrote" — from "reference"
# -     int stride = blockDim.x * gridDim.x;
# -     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
# -         y[i] = axpy(alpha, x[i], y[i]);
# +     int lanes = min(32, blockDim.x);
# +     if (threadIdx.x < 32)
# +         for (int i = blockIdx.x * lanes + threadIdx.x; i < n; i += lanes * gridDim.x)
# +             y[i] = axpy(alpha, x[i], y[i]);

# %% wrong: the helper takes x as an int — says "cuts off the fraction" — from "reference": "float x, float y)" → "int x, float y)"
