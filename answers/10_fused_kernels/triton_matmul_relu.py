# %% right: reference
@triton.jit
def matmul_relu_kernel(a_ptr, b_ptr, bias_ptr, out_ptr, m, n, k, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    in_rows, in_columns = row[:, None] < m, column[None, :] < n
    sums = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, k, TILE):
        inner = start + tl.arange(0, TILE)
        a_at = row[:, None] * k + inner[None, :]
        b_at = inner[:, None] * n + column[None, :]
        a = tl.load(a_ptr + a_at, mask=in_rows & (inner[None, :] < k), other=0.0)
        b = tl.load(b_ptr + b_at, mask=in_columns & (inner[:, None] < k), other=0.0)
        sums = tl.dot(a, b, sums)
    bias = tl.load(bias_ptr + column, mask=column < n, other=0.0)
    result = tl.maximum(sums + bias[None, :], 0.0)
    place = row[:, None] * n + column[None, :]
    tl.store(out_ptr + place, result, mask=in_rows & in_columns)


def triton_matmul_relu(a, b, bias):
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty((m, n), dtype=torch.float32, device=a.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    matmul_relu_kernel[grid](a, b, bias, out, m, n, k, TILE=32)
    return out

# %% wrong: bias and ReLU in PyTorch — says "besides your kernel, PyTorch launched" — from "reference"
# -     result = tl.maximum(sums + bias[None, :], 0.0)
# +     result = tl.maximum(sums, -1e30)

# -     return out
# +     return torch.relu(out + bias)

# %% wrong: bias and ReLU in a second kernel — says "fuse them into one kernel" — from "reference"
# -     result = tl.maximum(sums + bias[None, :], 0.0)
# +     result = tl.maximum(sums, -1e30)

#       tl.store(out_ptr + place, result, mask=in_rows & in_columns)
# +
# +
# + @triton.jit
# + def bias_relu_kernel(x_ptr, bias_ptr, n, B: tl.constexpr):
# +     i = tl.arange(0, B)
# +     at = tl.program_id(0) * n + i
# +     x = tl.load(x_ptr + at, mask=i < n) + tl.load(bias_ptr + i, mask=i < n)
# +     tl.store(x_ptr + at, tl.maximum(x, 0.0), mask=i < n)

#       matmul_relu_kernel[grid](a, b, bias, out, m, n, k, TILE=32)
# +     bias_relu_kernel[(m,)](out, bias, n, B=triton.next_power_of_2(n))

# %% wrong: float16 sums — says "kept in float16" — from "reference"
# -     sums = tl.zeros((TILE, TILE), dtype=tl.float32)
# +     sums = tl.zeros((TILE, TILE), dtype=tl.float16)

# -         sums = tl.dot(a, b, sums)
# +         sums = tl.dot(a, b, sums, out_dtype=tl.float16)

# %% wrong: float16 sums beside the dot — says "kept in float16" — from "reference"
# -     sums = tl.zeros((TILE, TILE), dtype=tl.float32)
# +     sums = tl.zeros((TILE, TILE), dtype=tl.float16)

# -         sums = tl.dot(a, b, sums)
# +         sums = sums + tl.dot(a, b).to(tl.float16)

# %% wrong: result in float16 — says "float" — from "reference": "torch.float32" → "torch.float16"

# %% wrong: bias by row — says "The bias belongs to the column" — from "reference"
# -     bias = tl.load(bias_ptr + column, mask=column < n, other=0.0)
# -     result = tl.maximum(sums + bias[None, :], 0.0)
# +     bias = tl.load(bias_ptr + row, mask=row < n, other=0.0)
# +     result = tl.maximum(sums + bias[:, None], 0.0)

# %% wrong: no ReLU — says "The ReLU is missing" — from "reference": "tl.maximum(sums + bias[None, :], 0.0)" → "sums + bias[None, :]"

# %% wrong: no bias — says "The bias is missing" — from "reference": "sums + bias[None, :]" → "sums"

# %% wrong: bias after the ReLU — says "before the ReLU" — from "reference": "tl.maximum(sums + bias[None, :], 0.0)" → "tl.maximum(sums, 0.0) + bias[None, :]"

# %% wrong: no mask along k — says "The mask is true there" — from "reference"
# -         a = tl.load(a_ptr + a_at, mask=in_rows & (inner[None, :] < k), other=0.0)
# -         b = tl.load(b_ptr + b_at, mask=in_columns & (inner[:, None] < k), other=0.0)
# +         a = tl.load(a_ptr + a_at, mask=in_rows, other=0.0)
# +         b = tl.load(b_ptr + b_at, mask=in_columns, other=0.0)

# %% wrong: a without a mask along k — says "in column 95, but a_ptr has 72 columns" — from "reference": "in_rows & (inner[None, :] < k)" → "in_rows"

# %% wrong: rows not masked — says "The mask is true there" — from "reference": "in_rows & (inner[None, :] < k)" → "inner[None, :] < k"

# %% wrong: no other — says "other=0.0" — from "reference"
# -         a = tl.load(a_ptr + a_at, mask=in_rows & (inner[None, :] < k), other=0.0)
# +         a = tl.load(a_ptr + a_at, mask=in_rows & (inner[None, :] < k))

# %% wrong: k rounded down — says "last steps along k" — from "reference": "0, k" → "0, k // TILE * TILE"

# %% wrong: only the first step along k — says "along k" — from "reference": "0, k" → "0, TILE"

# %% wrong: grid rounded down — says "round the number of programs up along each axis" — from "reference": "triton.cdiv(m, 32), triton.cdiv(n, 32)" → "max(1, m // 32), max(1, n // 32)"

# %% wrong: grid swapped — says "are its axes in the order in which the kernel uses them" — from "reference": "m, 32), triton.cdiv(n" → "n, 32), triton.cdiv(m"

# %% wrong: store without a mask — says "need a mask" — from "reference": "result, mask=in_rows & in_columns" → "result"

# %% wrong: b transposed — says "A factor is transposed" — from "reference": "inner[:, None] * n + column[None, :]" → "inner[:, None] + column[None, :] * n"

# %% wrong: the sums begin as a number — says "Loop-carried variable sums has initial type fp32" — from "reference"
# -     sums = tl.zeros((TILE, TILE), dtype=tl.float32)
# +     sums = 0.0

# -         sums = tl.dot(a, b, sums)
# +         sums += tl.dot(a, b)

# %% wrong: a program per result — says "K >= 16" — from "reference"
# -     grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
# -     matmul_relu_kernel[grid](a, b, bias, out, m, n, k, TILE=32)
# +     grid = (m, n)
# +     matmul_relu_kernel[grid](a, b, bias, out, m, n, k, TILE=1)

# %% wrong: a program per row of results — says "K >= 16" — from "reference"
# -     row = tl.program_id(0) * TILE + tl.arange(0, TILE)
# +     row = tl.program_id(0) + tl.arange(0, 1)

# -     sums = tl.zeros((TILE, TILE), dtype=tl.float32)
# -     for start in range(0, k, TILE):
# -         inner = start + tl.arange(0, TILE)
# +     sums = tl.zeros((1, TILE), dtype=tl.float32)
# +     for start in range(0, k):
# +         inner = start + tl.arange(0, 1)

# -     grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
# +     grid = (m, triton.cdiv(n, 32))

# %% wrong: no return — says "is there a return statement" — from "reference"
# -     return out

# %% right: tiles of 64 × 16, pointers that move, one axis of programs
@triton.jit
def fused(a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(axis=0)
    across = tl.cdiv(N, BN)
    offs_m = (pid // across) * BM + tl.arange(0, BM)
    offs_n = (pid % across) * BN + tl.arange(0, BN)
    offs_k = tl.arange(0, BK)
    a_ptrs = a_ptr + offs_m[:, None] * K + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * N + offs_n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < left) & (offs_n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BK
        b_ptrs += BK * N
    acc += tl.load(bias_ptr + offs_n, mask=offs_n < N, other=0.0)[None, :]
    acc = tl.where(acc > 0, acc, 0.0)
    inside = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=inside)


def triton_matmul_relu(a, b, bias):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(M, N, device=a.device)
    fused[(triton.cdiv(M, 64) * triton.cdiv(N, 16),)](a, b, bias, c, M, N, K, BM=64, BN=16, BK=32)
    return c

# %% right: the sums begin with the bias
@triton.jit
def biased(a_ptr, b_ptr, bias_ptr, out_ptr, m, n, k, T: tl.constexpr):
    i = tl.program_id(1) * T + tl.arange(0, T)
    j = tl.program_id(0) * T + tl.arange(0, T)
    sums = tl.zeros((T, T), dtype=tl.float32) + tl.load(bias_ptr + j, mask=j < n, other=0.0)[None, :]
    for s in range(0, k, T):
        q = s + tl.arange(0, T)
        x = tl.load(a_ptr + i[:, None] * k + q[None, :], mask=(i[:, None] < m) & (q[None, :] < k), other=0.0)
        y = tl.load(b_ptr + q[:, None] * n + j[None, :], mask=(q[:, None] < k) & (j[None, :] < n), other=0.0)
        sums = tl.dot(x, y, acc=sums)
    tl.store(out_ptr + i[:, None] * n + j[None, :], tl.maximum(sums, 0), mask=(i[:, None] < m) & (j[None, :] < n))


def triton_matmul_relu(a, b, bias):
    out = a.new_empty((a.shape[0], b.shape[1]), dtype=torch.float32)
    m, n = out.shape
    biased[(triton.cdiv(n, 32), triton.cdiv(m, 32))](a, b, bias, out, m, n, a.shape[1], T=32)
    return out

# %% right: a few programs for all tiles, bias as the start of the sums
@triton.jit
def matmul_relu_kernel(a_ptr, b_ptr, bias_ptr, out_ptr, m, n, k, TILE: tl.constexpr):
    across = tl.cdiv(n, TILE)
    for tile in range(tl.program_id(0), across * tl.cdiv(m, TILE), tl.num_programs(0)):
        i = tile // across * TILE + tl.arange(0, TILE)[:, None]
        j = tile % across * TILE + tl.arange(0, TILE)[None, :]
        sums = tl.zeros((TILE, TILE), tl.float32) + tl.load(bias_ptr + j, mask=j < n, other=0.0)
        for start in range(0, k, TILE):
            ka, kb = start + tl.arange(0, TILE)[None, :], start + tl.arange(0, TILE)[:, None]
            sums += tl.dot(
                tl.load(a_ptr + i * k + ka, mask=(i < m) & (ka < k), other=0.0),
                tl.load(b_ptr + kb * n + j, mask=(kb < k) & (j < n), other=0.0),
            )
        tl.store(out_ptr + i * n + j, tl.where(sums > 0, sums, 0.0), mask=(i < m) & (j < n))


def triton_matmul_relu(a, b, bias):
    out = a.new_empty((a.shape[0], b.shape[1]), dtype=torch.float32)
    tiles = triton.cdiv(b.shape[1], 32) * triton.cdiv(a.shape[0], 32)
    programs = 8 * torch.cuda.get_device_properties(a.device).multi_processor_count if a.is_cuda else 3
    matmul_relu_kernel[(min(tiles, programs),)](a, b, bias, out, a.shape[0], b.shape[1], a.shape[1], TILE=32)
    return out

# %% wrong: PyTorch — says "no Triton kernel was launched"
def triton_matmul_relu(a, b, bias):
    return torch.relu(a.float() @ b.float() + bias)

# %% wrong: one step of 256 along k — says "only the first step along k" — from "reference"
# -     for start in range(0, k, TILE):
# -         inner = start + tl.arange(0, TILE)
# +     for start in range(0, 1):
# +         inner = start + tl.arange(0, 256)

# %% hostile: tl.dot for show, and the sums in ordinary arithmetic — says "do not come from tl.dot" — from "reference"
# -         sums = tl.dot(a, b, sums)
# +         sums += 0.0 * tl.dot(a, b)
# +         sums += tl.sum(a.to(tl.float32)[:, :, None] * b.to(tl.float32)[None, :, :], axis=1)

# %% wrong: no tiles, one block as large as the whole result — says "go through m in tiles"
@triton.jit
def matmul_relu_kernel(a_ptr, b_ptr, bias_ptr, out_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
    b = tl.load(b_ptr + inner[:, None] * n + column[None, :], mask=(inner[:, None] < k) & (column[None, :] < n), other=0.0)
    bias = tl.load(bias_ptr + column, mask=column < n, other=0.0)
    result = tl.maximum(tl.dot(a, b) + bias[None, :], 0.0)
    tl.store(out_ptr + row[:, None] * n + column[None, :], result, mask=(row[:, None] < m) & (column[None, :] < n))


def triton_matmul_relu(a, b, bias):
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty((m, n), dtype=torch.float32, device=a.device)
    up = lambda size: max(16, triton.next_power_of_2(size))
    matmul_relu_kernel[(1,)](a, b, bias, out, m, n, k, M=up(m), N=up(n), K=up(k))
    return out

# %% wrong: no loop along k, a block as long as k — says "go through k in steps" — from "reference"
# - def matmul_relu_kernel(a_ptr, b_ptr, bias_ptr, out_ptr, m, n, k, TILE: tl.constexpr):
# + def matmul_relu_kernel(a_ptr, b_ptr, bias_ptr, out_ptr, m, n, k, TILE: tl.constexpr, K: tl.constexpr):

# -     for start in range(0, k, TILE):
# -         inner = start + tl.arange(0, TILE)
# +     for start in range(0, 1):
# +         inner = start + tl.arange(0, K)

# -     matmul_relu_kernel[grid](a, b, bias, out, m, n, k, TILE=32)
# +     matmul_relu_kernel[grid](a, b, bias, out, m, n, k, TILE=32, K=max(16, triton.next_power_of_2(k)))

# %% wrong: a loop with break — says "Triton does not support `break`" — from "reference"
# -     for start in range(0, k, TILE):
# +     start = 0
# +     while True:
# +         if start >= k:
# +             break

#           sums = tl.dot(a, b, sums)
# +         start += TILE

# %% wrong: the unfinished result is stored after every step along k — says "store each of them once"
@triton.jit
def matmul_relu_kernel(a_ptr, b_ptr, bias_ptr, out_ptr, m, n, k, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    in_rows, in_columns = row[:, None] < m, column[None, :] < n
    sums = tl.zeros((TILE, TILE), dtype=tl.float32)
    bias = tl.load(bias_ptr + column, mask=column < n, other=0.0)
    for start in range(0, k, TILE):
        inner = start + tl.arange(0, TILE)
        a = tl.load(a_ptr + row[:, None] * k + inner[None, :], mask=in_rows & (inner[None, :] < k), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * n + column[None, :], mask=in_columns & (inner[:, None] < k), other=0.0)
        sums = tl.dot(a, b, sums)
        tl.store(out_ptr + row[:, None] * n + column[None, :], tl.maximum(sums + bias[None, :], 0.0), mask=in_rows & in_columns)


def triton_matmul_relu(a, b, bias):
    m, n, k = len(a), b.shape[1], len(b)
    out = torch.empty((m, n), dtype=torch.float32, device=a.device)
    matmul_relu_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](a, b, bias, out, m, n, k, TILE=32)
    return out

# %% right: as in Triton's tutorial, programs in groups, autotuned, strides, moving pointers
@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 8}, num_stages=3, num_warps=4),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP_M": 8}, num_stages=3, num_warps=8),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K - k * BLOCK_K), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k * BLOCK_K) & (offs_n[None, :] < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    accumulator += tl.load(bias_ptr + offs_n, mask=offs_n < N, other=0.0)[None, :]
    accumulator = tl.where(accumulator > 0, accumulator, 0.0)
    c_ptrs = c_ptr + stride_cm * offs_m[:, None] + stride_cn * offs_n[None, :]
    tl.store(c_ptrs, accumulator, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def triton_matmul_relu(a, b, bias):
    M, K = a.shape
    _, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)
    matmul_kernel[grid](a, b, bias, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
    return c

# %% wrong: factors in bfloat16 — says "factors in bfloat16" — from "reference": "tl.dot(a, b, sums)" → "tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), sums)"

# %% wrong: nothing below 0.001 — says "exactly max" — from "reference": "bias[None, :], 0.0)" → "bias[None, :], 1e-3)"

# %% right: masks combined by `and`, ReLU by the builtin max — from "reference"
# -         a = tl.load(a_ptr + a_at, mask=in_rows & (inner[None, :] < k), other=0.0)
# -         b = tl.load(b_ptr + b_at, mask=in_columns & (inner[:, None] < k), other=0.0)
# +         a = tl.load(a_ptr + a_at, mask=in_rows and inner[None, :] < k, other=0.0)
# +         b = tl.load(b_ptr + b_at, mask=(column[None, :] < n) and (inner[:, None] < k), other=0.0)

# -     result = tl.maximum(sums + bias[None, :], 0.0)
# +     result = max(sums + bias[None, :], 0.0)

# %% wrong: no parentheses around comparisons — says "`&` is computed before comparisons" — from "reference": "in_rows & (inner[None, :] < k)" → "row[:, None] < m & inner[None, :] < k"

# %% wrong: only the last step along k — says "only the last step along k" — from "reference": "tl.dot(a, b, sums)" → "tl.dot(a, b)"

# %% wrong: each step added twice — says "already adds to the sums" — from "reference": "sums = tl.dot(a, b, sums)" → "sums += tl.dot(a, b, sums)"

# %% wrong: the bias of the columns, laid along the rows — says "The bias belongs to the column" — from "reference": "bias[None, :]" → "bias[:, None]"

# %% wrong: ReLU in every step — says "after the loop along k" — from "reference": "tl.dot(a, b, sums)" → "tl.maximum(tl.dot(a, b, sums), 0.0)"

# %% wrong: bias in every step — says "added in every step" — from "reference"
# -     sums = tl.zeros((TILE, TILE), dtype=tl.float32)
# +     sums = tl.zeros((TILE, TILE), dtype=tl.float32)
# +     bias = tl.load(bias_ptr + column, mask=column < n, other=0.0)

# -         sums = tl.dot(a, b, sums)
# -     bias = tl.load(bias_ptr + column, mask=column < n, other=0.0)
# -     result = tl.maximum(sums + bias[None, :], 0.0)
# +         sums = tl.dot(a, b, sums) + bias[None, :]
# +     result = tl.maximum(sums, 0.0)

# %% wrong: times the bias — says "added, not multiplied" — from "reference": "sums + bias[None, :]" → "sums * bias[None, :]"

# %% wrong: the magnitude — says "turns negative results to 0" — from "reference": "tl.maximum(sums + bias[None, :], 0.0)" → "tl.abs(sums + bias[None, :])"

# %% wrong: a leaky ReLU — says "turns negative results to 0" — from "reference": "tl.maximum(sums + bias[None, :], 0.0)" → "tl.maximum(sums + bias[None, :], 0.01 * (sums + bias[None, :]))"

# %% wrong: always the first step along k — says "move the addresses along k" — from "reference": "inner = start + tl.arange(0, TILE)" → "inner = tl.arange(0, TILE)"

# %% wrong: each tile adds the bias from its start — says "the part of its own columns" — from "reference": "bias_ptr + column, mask" → "bias_ptr + tl.arange(0, TILE), mask"

# %% wrong: the smaller one of result and 0 — says "the larger one of a result and 0" — from "reference": "tl.maximum(" → "tl.minimum("

# %% wrong: steps along k are counted, not measured — says "i times the tile" — from "reference": "range(0, k, TILE)" → "range(0, tl.cdiv(k, TILE))"

# %% hostile: all of k in registers, loaded in small steps — says "go through k in steps"
@triton.jit
def matmul_relu_kernel(a_ptr, b_ptr, bias_ptr, out_ptr, m, n, k, K: tl.constexpr, S: tl.constexpr):
    row = tl.program_id(0) * 16 + tl.arange(0, 16)
    column = tl.program_id(1) * 16 + tl.arange(0, 16)
    in_rows, in_columns = row[:, None] < m, column[None, :] < n
    whole_a = tl.zeros((16, S, 16), dtype=tl.float16)
    whole_b = tl.zeros((S, 16, 16), dtype=tl.float16)
    step = tl.arange(0, S)
    for start in range(0, S):
        inner = start * 16 + tl.arange(0, 16)
        a = tl.load(a_ptr + row[:, None] * k + inner[None, :], mask=in_rows & (inner[None, :] < k), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * n + column[None, :], mask=in_columns & (inner[:, None] < k), other=0.0)
        whole_a = tl.where(step[None, :, None] == start, a[:, None, :], whole_a)
        whole_b = tl.where(step[:, None, None] == start, b[None, :, :], whole_b)
    sums = tl.dot(tl.reshape(whole_a, (16, K)), tl.reshape(whole_b, (K, 16)))
    bias = tl.load(bias_ptr + column, mask=column < n, other=0.0)
    result = tl.maximum(sums + bias[None, :], 0.0)
    tl.store(out_ptr + row[:, None] * n + column[None, :], result, mask=in_rows & in_columns)


def triton_matmul_relu(a, b, bias):
    m, n, k = len(a), b.shape[1], len(b)
    result = torch.empty((m, n), dtype=torch.float32, device=a.device)
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
    size = max(16, triton.next_power_of_2(k))
    matmul_relu_kernel[grid](a, b, bias, result, m, n, k, K=size, S=size // 16)
    return result
# %% wrong: b without a limit along k — says "in row 95, but b_ptr has 72 rows" — from "reference": "in_columns & (inner[:, None] < k)" → "in_columns"

# %% wrong: limits joined by or — says "joined by &" — from "reference": "in_rows & (inner[None, :] < k)" → "in_rows | (inner[None, :] < k)"

# %% wrong: rows of a as long as those of b — says "but a row of a_ptr has 120 elements" — from "reference": "row[:, None] * k" → "row[:, None] * n"

# %% wrong: rows of b as long as those of a — says "but a row of b_ptr has 70 elements" — from "reference": "inner[:, None] * n" → "inner[:, None] * k"

# %% wrong: rows of the result as far apart as its columns are long — says "but a row of out_ptr has 70 elements" — from "reference": "place = row[:, None] * n" → "place = row[:, None] * m"

# %% wrong: the loop along k takes every start — says "The steps along k overlap" — from "reference": "range(0, k, TILE)" → "range(0, k)"

# %% wrong: the axes of the grid change places in the kernel — says "program_id(0) for the columns" — from "reference"
# -     row = tl.program_id(0) * TILE + tl.arange(0, TILE)
# -     column = tl.program_id(1) * TILE + tl.arange(0, TILE)
# +     row = tl.program_id(1) * TILE + tl.arange(0, TILE)
# +     column = tl.program_id(0) * TILE + tl.arange(0, TILE)

# %% wrong: bias subtracted — says "The bias is added, not subtracted" — from "reference": "sums + bias" → "sums - bias"

# %% wrong: the larger one of product and bias — says "the larger one of the sum and 0" — from "reference": "tl.maximum(sums + bias[None, :], 0.0)" → "tl.maximum(sums, bias[None, :])"

# %% wrong: tiles in the wrong order — says "takes the tile of a first" — from "reference": "tl.dot(a, b, sums)" → "tl.dot(b, a, sums)"

# %% wrong: the loop begins at the second tile — says "The first step along k is missing" — from "reference": "range(0, k, TILE)" → "range(TILE, k, TILE)"

# %% wrong: steps of two tiles — says "Every second step along k is left out" — from "reference": "range(0, k, TILE)" → "range(0, k, 2 * TILE)"

# %% wrong: the loop ends at n — says "does the loop end at k" — from "reference": "range(0, k, TILE)" → "range(0, n, TILE)"

# %% wrong: the bias is addressed by the row — says "its address takes column numbers" — from "reference": "tl.load(bias_ptr + column, mask=column < n, other=0.0)" → "tl.load(bias_ptr + row, mask=row < m, other=0.0)"

# %% wrong: a slope below 0 — says "it has no slope" — from "reference": "tl.maximum(sums + bias[None, :], 0.0)" → "tl.maximum(sums + bias[None, :], 0.1 * (sums + bias[None, :]))"

# %% wrong: m and n swapped at the launch — says "for the rows, here 50" — from "reference": "out, m, n, k, TILE" → "out, n, m, k, TILE"

# %% hostile: tl.dot for the first four steps along k, ordinary arithmetic for all others — says "in each step along k" — from "reference"
# -         sums = tl.dot(a, b, sums)
# +         if start < 64:
# +             sums = tl.dot(a, b, sums)
# +         else:
# +             sums += tl.sum(a.to(tl.float32)[:, :, None] * b.to(tl.float32)[None, :, :], axis=1)

# %% hostile: tl.dot for the first four tiles of rows and columns, ordinary arithmetic for all others — says "do not come from tl.dot" — from "reference"
# -         sums = tl.dot(a, b, sums)
# +         if (tl.program_id(0) < 4) & (tl.program_id(1) < 4):
# +             sums = tl.dot(a, b, sums)
# +         else:
# +             sums += tl.sum(a.to(tl.float32)[:, :, None] * b.to(tl.float32)[None, :, :], axis=1)

# %% wrong: the pointers to b move on by elements, not by rows — says "moves down by rows of n elements" — from "tiles of 64 × 16, pointers that move, one axis of programs": `b_ptrs += BK * N` → `b_ptrs += BK`

# %% wrong: the pointers to b do not move — says "those of b move, too" — from "tiles of 64 × 16, pointers that move, one axis of programs"
# -         b_ptrs += BK * N

# %% wrong: the pointers to a do not move — says "those of a move, too" — from "tiles of 64 × 16, pointers that move, one axis of programs"
# -         a_ptrs += BK

# %% wrong: the ReLU of the bias alone — says "not to the bias alone" — from "reference": `tl.maximum(sums + bias[None, :], 0.0)` → `sums + tl.maximum(bias, 0.0)[None, :]`

# %% wrong: a for both factors — says "the product of one matrix with itself" — from "reference": `tl.load(b_ptr + b_at,` → `tl.load(a_ptr + b_at,`

# %% wrong: a's mask along k compares with n — says "the limit along k is k" — from "reference": `in_rows & (inner[None, :] < k)` → `in_rows & (inner[None, :] < n)`

# %% wrong: the transposed result — says "It is the right array, transposed" — from "reference": `    return out` → `    return out.T`

# %% wrong: counts the tiles across from the rows — says "from the 5 tiles across" — from "tiles of 64 × 16, pointers that move, one axis of programs": `across = tl.cdiv(N, BN)` → `across = tl.cdiv(M, BN)`

# %% hostile: PyTorch if all three of m, n, and k are above 90 — says "no Triton kernel was launched" — from "reference"
# -     (m, k), n = a.shape, b.shape[1]
# -     out = torch.empty((m, n), dtype=torch.float32, device=a.device)
# +     m, n, k = len(a), b.shape[1], len(b)
# +     if min(m, n, k) > 90:
# +         return torch.relu(a.float() @ b.float() + bias)
# +     result = torch.empty((m, n), dtype=torch.float32, device=a.device)

# -     matmul_relu_kernel[grid](a, b, bias, out, m, n, k, TILE=32)
# -     return out
# +     matmul_relu_kernel[grid](a, b, bias, result, m, n, k, TILE=32)
# +     return result

# %% hostile: tl.dot for factors above 1.5, ordinary arithmetic for all others — says "do not come from tl.dot" — from "reference"
# -         sums = tl.dot(a, b, sums)
# +         large = tl.max(tl.max(a.to(tl.float32), axis=1), axis=0)
# +         if large > 1.5:
# +             sums = tl.dot(a, b, sums)
# +         else:
# +             sums += 0.0 * tl.dot(a, b)
# +             sums += tl.sum(a.to(tl.float32)[:, :, None] * b.to(tl.float32)[None, :, :], axis=1)

# -     (m, k), n = a.shape, b.shape[1]
# -     out = torch.empty((m, n), dtype=torch.float32, device=a.device)
# +     m, n, k = len(a), b.shape[1], len(b)
# +     result = torch.empty((m, n), dtype=torch.float32, device=a.device)

# -     matmul_relu_kernel[grid](a, b, bias, out, m, n, k, TILE=32)
# -     return out
# +     matmul_relu_kernel[grid](a, b, bias, result, m, n, k, TILE=32)
# +     return result
