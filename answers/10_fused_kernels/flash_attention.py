# %% right: reference
@triton.jit
def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
    row = tl.program_id(0) * T + tl.arange(0, T)
    inside = tl.arange(0, WIDTH)[None, :]
    head = tl.program_id(1) * length * WIDTH
    q_at = head + row[:, None] * WIDTH + inside
    q = tl.load(q_ptr + q_at, mask=row[:, None] < length, other=0.0)
    m = tl.full((T,), -float("inf"), dtype=tl.float32)
    s = tl.zeros((T,), dtype=tl.float32)
    o = tl.zeros((T, WIDTH), dtype=tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * T, T):
        column = start + tl.arange(0, T)
        k_at = head + column[:, None] * WIDTH + inside
        k = tl.load(k_ptr + k_at, mask=column[:, None] < length, other=0.0)
        v = tl.load(v_ptr + k_at, mask=column[:, None] < length, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
        m_next = tl.maximum(m, tl.max(scores, axis=1))
        factor = tl.exp(m - m_next)
        weights = tl.exp(scores - m_next[:, None])
        s = s * factor + tl.sum(weights, axis=1)
        o = o * factor[:, None] + tl.dot(weights, v)
        m = m_next
    tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)


def flash_attention(q, k, v):
    heads, length, width = q.shape
    out = torch.empty_like(q)
    grid = (triton.cdiv(length, 32), heads)
    flash_kernel[grid](q, k, v, out, length, width**-0.5, WIDTH=width, T=32)
    return out

# %% right: the scale from math.sqrt of the width, a constant — from "reference"
# + import math
# +
# +
#   @triton.jit

# -         scores = tl.dot(q, tl.trans(k)) * scale
# +         scores = tl.dot(q, tl.trans(k)) / math.sqrt(WIDTH)

# %% wrong: mask after the softmax — says "before the softmax" — from "reference"
# -     for start in range(0, (tl.program_id(0) + 1) * T, T):
# +     for start in range(0, length, T):

# -         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

#           weights = tl.exp(scores - m_next[:, None])
# +         weights = tl.where(column[None, :] < length, weights, 0.0)
#           s = s * factor + tl.sum(weights, axis=1)
# +         weights = tl.where(column[None, :] <= row[:, None], weights, 0.0)

# %% wrong: not causal — says "Not causal" — from "reference"
# -     for start in range(0, (tl.program_id(0) + 1) * T, T):
# +     for start in range(0, length, T):

# -         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
# +         scores = tl.where(column[None, :] < length, scores, -float("inf"))

# %% wrong: no mask, but only earlier blocks — says "Not causal" — from "reference"
# -         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# %% wrong: strictly causal — says "Query i may see key i" — from "reference": "<=" → "<"

# %% wrong: one key too many — says "may not see key i + 1" — from "reference"
# -     for start in range(0, (tl.program_id(0) + 1) * T, T):
# +     for start in range(0, length, T):

# -         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
# +         scores = tl.where(column[None, :] <= row[:, None] + 1, scores, -float("inf"))

# %% wrong: no scale — says "1 / sqrt(d)" — from "reference": "width**-0.5" → "1.0"

# %% wrong: scale 1 / d — says "1 / sqrt(d)" — from "reference": "width**-0.5" → "1 / width"

# %% wrong: scale sqrt(d) — says "1 / sqrt(d)" — from "reference": "-0.5" → "0.5"

# %% wrong: output not rescaled — says "the output must be rescaled, too" — from "reference": "* factor[:, None] + tl.dot" → "+ tl.dot"

# %% wrong: sum not rescaled — says "the sum must be rescaled, too" — from "reference": "* factor + tl.sum" → "+ tl.sum"

# %% wrong: neither rescaled — says "sum and output must be rescaled" — from "reference"
# -         s = s * factor + tl.sum(weights, axis=1)
# -         o = o * factor[:, None] + tl.dot(weights, v)
# +         s = s + tl.sum(weights, axis=1)
# +         o = o + tl.dot(weights, v)

# %% wrong: maximum never updated — says "become the old one at the end of each step" — from "reference"
# -         m = m_next

# %% wrong: last block of keys left out — says "the block of the program's own queries" — from "reference": "(tl.program_id(0) + 1)" → "tl.program_id(0)"

# %% wrong: not divided by the sum — says "divided by the sum of its own weights" — from "reference": "o / s[:, None]" → "o"

# %% wrong: only the first head — says "Only the first head" — from "reference"
# -     head = tl.program_id(1) * length * WIDTH
# +     head = 0

# -     tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)
# +     tl.store(out_ptr + tl.program_id(1) * length * WIDTH + q_at, o / s[:, None], mask=row[:, None] < length)

# %% wrong: grid without heads — says "does the grid have programs for all of the 2" — from "reference": "(triton.cdiv(length, 32), heads)" → "(triton.cdiv(length, 32),)"

# %% wrong: queries rounded down — says "it takes triton.cdiv(100, 32) programs" — from "reference": "triton.cdiv(length, 32)" → "max(1, length // 32)"

# %% wrong: no mask for keys — says "need a mask" — from "reference"
# -         k = tl.load(k_ptr + k_at, mask=column[:, None] < length, other=0.0)
# -         v = tl.load(v_ptr + k_at, mask=column[:, None] < length, other=0.0)
# +         k = tl.load(k_ptr + k_at, mask=None)
# +         v = tl.load(v_ptr + k_at, mask=None)

# %% wrong: store without a mask — says "need a mask" — from "reference"
# -     tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)
# +     tl.store(out_ptr + q_at, o / s[:, None])

# %% wrong: no other for values — says "NaN" — from "reference"
# -         v = tl.load(v_ptr + k_at, mask=column[:, None] < length, other=0.0)
# +         v = tl.load(v_ptr + k_at, mask=column[:, None] < length)

# %% wrong: one query per program — says "at least 16 queries" — from "reference"
# - def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
# -     row = tl.program_id(0) * T + tl.arange(0, T)
# + def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr, Q: tl.constexpr):
# +     row = tl.program_id(0) * Q + tl.arange(0, Q)

# -     m = tl.full((T,), -float("inf"), dtype=tl.float32)
# -     s = tl.zeros((T,), dtype=tl.float32)
# -     o = tl.zeros((T, WIDTH), dtype=tl.float32)
# -     for start in range(0, (tl.program_id(0) + 1) * T, T):
# +     m = tl.full((Q,), -float("inf"), dtype=tl.float32)
# +     s = tl.zeros((Q,), dtype=tl.float32)
# +     o = tl.zeros((Q, WIDTH), dtype=tl.float32)
# +     for start in range(0, tl.program_id(0) + 1, T):

# -     grid = (triton.cdiv(length, 32), heads)
# -     flash_kernel[grid](q, k, v, out, length, width**-0.5, WIDTH=width, T=32)
# +     grid = (length, heads)
# +     flash_kernel[grid](q, k, v, out, length, width**-0.5, WIDTH=width, T=32, Q=1)

# %% wrong: no return — says "is there a return statement" — from "reference"
# -     return out

# %% right: 64 queries by 16 keys, every block of keys, log-sum-exp kept, exp2
@triton.jit
def forward(Q, K, V, O, L, N, qk_scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, D)
    base = tl.program_id(1) * N * D
    rows = offs_m[:, None] < N
    q = tl.load(Q + base + offs_m[:, None] * D + offs_d[None, :], mask=rows, other=0.0)
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start in range(0, N, BN):
        cols = start + offs_n
        there = cols[:, None] < N
        k = tl.load(K + base + cols[None, :] * D + offs_d[:, None], mask=cols[None, :] < N, other=0.0)
        qk = tl.dot(q, k) * qk_scale
        qk = tl.where((cols[None, :] <= offs_m[:, None]) & (cols[None, :] < N), qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk - m_ij[:, None])
        alpha = tl.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(V + base + cols[:, None] * D + offs_d[None, :], mask=there, other=0.0)
        acc = tl.dot(p, v, acc * alpha[:, None])
        m_i = m_ij
    tl.store(O + base + offs_m[:, None] * D + offs_d[None, :], acc / l_i[:, None], mask=rows)
    tl.store(L + tl.program_id(1) * N + offs_m, m_i * 0.6931471805599453 + tl.log(l_i), mask=offs_m < N)


def flash_attention(q, k, v):
    heads, n, d = q.shape
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty((heads, n), dtype=torch.float32, device=q.device)
    forward[(triton.cdiv(n, 64), heads)](q, k, v, out, lse, n, d**-0.5 * 1.4426950408889634, D=d, BM=64, BN=16)
    return out

# %% right: divided at every step, as FlashAttention 1
@triton.jit
def forward(Q, K, V, O, N, scale, D: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(1) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    shift = tl.program_id(0) * N * D
    q = tl.load(Q + shift + i[:, None] * D + d[None, :], mask=i[:, None] < N, other=0.0) * scale
    top = tl.full([B], float("-inf"), tl.float32)
    total = tl.full([B], 0.0, tl.float32)
    mean = tl.zeros([B, D], tl.float32)
    for s in range(0, tl.program_id(1) + 1):
        j = s * B + tl.arange(0, B)
        k = tl.load(K + shift + j[:, None] * D + d[None, :], mask=j[:, None] < N, other=0.0)
        v = tl.load(V + shift + j[:, None] * D + d[None, :], mask=j[:, None] < N, other=0.0)
        x = tl.dot(q, k.T)
        x += tl.where(i[:, None] >= j[None, :], 0.0, float("-inf"))
        new_top = tl.maximum(top, tl.max(x, axis=1))
        e = tl.exp(x - new_top[:, None])
        kept = total * tl.exp(top - new_top)
        total = kept + tl.sum(e, axis=1)
        mean = mean * (kept / total)[:, None] + tl.dot(e / total[:, None], v)
        top = new_top
    tl.store(O + shift + i[:, None] * D + d[None, :], mean, mask=i[:, None] < N)


def flash_attention(q, k, v):
    heads, n, d = q.shape
    out = torch.empty_like(q)
    forward[(heads, triton.cdiv(n, 16))](q, k, v, out, n, 1 / d**0.5, D=d, B=16)
    return out

# %% right: exp2, tensor descriptors made on the host, scale folded into q
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def flash_kernel(q_desc, k_desc, v_desc, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
    start, head = tl.program_id(0) * T, tl.program_id(1)
    q = q_desc.load([head, start, 0]).reshape(T, WIDTH) * (scale * 1.44269504)
    row = start + tl.arange(0, T)
    m = tl.full([T], float("-inf"), tl.float32)
    s = tl.zeros([T], tl.float32)
    acc = tl.zeros([T, WIDTH], tl.float32)
    for first in range(0, start + T, T):
        k = k_desc.load([head, first, 0]).reshape(T, WIDTH)
        v = v_desc.load([head, first, 0]).reshape(T, WIDTH)
        column = first + tl.arange(0, T)
        scores = tl.where(row[:, None] >= column[None, :], tl.dot(q, tl.trans(k)), float("-inf"))
        new = tl.maximum(m, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        alpha = tl.exp2(m - new)
        s = s * alpha + tl.sum(p, 1)
        acc = tl.dot(p, v, acc * alpha[:, None])
        m = new
    at = (head * length + row[:, None]) * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(out_ptr + at, acc / s[:, None], mask=(row < length)[:, None])


def flash_attention(q, k, v):
    heads, length, width = q.shape
    out = torch.empty_like(q)
    described = [TensorDescriptor.from_tensor(one, [1, 16, width]) for one in (q, k, v)]
    flash_kernel[(triton.cdiv(length, 16), heads)](*described, out, length, width**-0.5, WIDTH=width, T=16)
    return out

# %% wrong: the whole matrix, in PyTorch — says "no Triton kernel was launched"
def flash_attention(q, k, v):
    n, d = q.shape[1:]
    scores = q @ k.transpose(1, 2) / d**0.5
    scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf)
    return torch.softmax(scores, dim=2) @ v

# %% wrong: PyTorch's own kernel — says "no Triton kernel was launched"
def flash_attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

# %% wrong: the scores go to memory in the kernel — says "no N × N matrix"
@triton.jit
def through_memory(Q, K, V, S, O, N, scale, D: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    head = tl.program_id(1)
    shift = head * N * D
    q = tl.load(Q + shift + i[:, None] * D + d[None, :], mask=i[:, None] < N, other=0.0) * scale
    top = tl.full([B], float("-inf"), tl.float32)
    for s in range(0, N, B):
        j = s + tl.arange(0, B)
        k = tl.load(K + shift + j[:, None] * D + d[None, :], mask=j[:, None] < N, other=0.0)
        x = tl.where(i[:, None] >= j[None, :], tl.dot(q, tl.trans(k)), float("-inf"))
        top = tl.maximum(top, tl.max(x, axis=1))
        tl.store(S + head * N * N + i[:, None] * N + j[None, :], x, mask=(i[:, None] < N) & (j[None, :] < N))
    total = tl.zeros([B], tl.float32)
    o = tl.zeros([B, D], tl.float32)
    for s in range(0, N, B):
        j = s + tl.arange(0, B)
        inside = (i[:, None] < N) & (j[None, :] < N)
        x = tl.load(S + head * N * N + i[:, None] * N + j[None, :], mask=inside, other=float("-inf"))
        e = tl.exp(x - top[:, None])
        total += tl.sum(e, axis=1)
        v = tl.load(V + shift + j[:, None] * D + d[None, :], mask=j[:, None] < N, other=0.0)
        o += tl.dot(e, v)
    tl.store(O + shift + i[:, None] * D + d[None, :], o / total[:, None], mask=i[:, None] < N)


def flash_attention(q, k, v):
    heads, n, d = q.shape
    out = torch.empty_like(q)
    scores = torch.empty((heads, n, n), device=q.device)
    through_memory[(triton.cdiv(n, 32), heads)](q, k, v, scores, out, n, d**-0.5, D=d, B=32)
    return out

# %% wrong: maximum and sum begin as numbers — says "Loop-carried variable m has initial type fp32" — from "reference"
# -     m = tl.full((T,), -float("inf"), dtype=tl.float32)
# -     s = tl.zeros((T,), dtype=tl.float32)
# +     m = -float("inf")
# +     s = 0.0

# %% wrong: all keys in one block — says "go through the keys in blocks"
@triton.jit
def one_block(Q, K, V, O, N, scale, D: tl.constexpr, B: tl.constexpr, ALL: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.arange(0, ALL)
    d = tl.arange(0, D)
    shift = tl.program_id(1) * N * D
    q = tl.load(Q + shift + i[:, None] * D + d[None, :], mask=i[:, None] < N, other=0.0) * scale
    k = tl.load(K + shift + j[:, None] * D + d[None, :], mask=j[:, None] < N, other=0.0)
    v = tl.load(V + shift + j[:, None] * D + d[None, :], mask=j[:, None] < N, other=0.0)
    x = tl.where(i[:, None] >= j[None, :], tl.dot(q, tl.trans(k)), float("-inf"))
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    o = tl.dot(e, v) / tl.sum(e, axis=1)[:, None]
    tl.store(O + shift + i[:, None] * D + d[None, :], o, mask=i[:, None] < N)


def flash_attention(q, k, v):
    heads, n, d = q.shape
    out = torch.empty_like(q)
    every = triton.next_power_of_2(n)
    one_block[(triton.cdiv(n, 16), heads)](q, k, v, out, n, d**-0.5, D=d, B=16, ALL=every)
    return out

# %% wrong: one maximum for all rows of a block — says "Each row has a maximum" — from "divided at every step, as FlashAttention 1": "tl.max(x, axis=1)" → "tl.max(x)"

# %% wrong: the grid rounds up to programs of 33 — says "programs of 32 rows: it takes triton.cdiv(" — from "reference": "triton.cdiv(length, 32)" → "triton.cdiv(length, 33)"

# %% wrong: one block of 256 keys and no loop — says "Only the first block of keys counts" — from "all keys in one block": "triton.next_power_of_2(n)" → "256"

# %% hostile: a thread in which PyTorch is not counted writes over what a kernel wrote
@triton.jit
def decoy(q_ptr, k_ptr, v_ptr, out_ptr, n, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = (tl.program_id(1) * n + row[:, None]) * D + tl.arange(0, D)[None, :]
    q = tl.load(q_ptr + place, row[:, None] < n, other=0.0)
    k = tl.load(k_ptr + place, row[:, None] < n, other=0.0)
    v = tl.load(v_ptr + place, row[:, None] < n, other=0.0)
    tl.store(out_ptr + place, tl.dot(tl.dot(q, tl.trans(k)), v), row[:, None] < n)


def flash_attention(q, k, v):
    out, (heads, n, d) = torch.empty_like(q), q.shape
    decoy[(triton.cdiv(n, 16), heads)](q, k, v, out, n, D=d, BLOCK=16)
    attend = torch.nn.functional.scaled_dot_product_attention
    thread = threading.Thread(target=lambda: out.copy_(attend(q, k, v, is_causal=True)))
    thread.start()
    thread.join()
    return out


import threading


# %% hostile: one program for all queries of all heads, one block after another — says "at most 256 queries, all of one head"
import torch
import triton
import triton.language as tl


@triton.jit
def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, heads, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
    inside = tl.arange(0, WIDTH)[None, :]
    for number in range(0, heads):
        head = number * length * WIDTH
        for top in range(0, length, T):
            row = top + tl.arange(0, T)
            q_at = head + row[:, None] * WIDTH + inside
            q = tl.load(q_ptr + q_at, mask=row[:, None] < length, other=0.0)
            m = tl.full((T,), -float("inf"), dtype=tl.float32)
            s = tl.zeros((T,), dtype=tl.float32)
            o = tl.zeros((T, WIDTH), dtype=tl.float32)
            for start in range(0, top + T, T):
                column = start + tl.arange(0, T)
                k_at = head + column[:, None] * WIDTH + inside
                k = tl.load(k_ptr + k_at, mask=column[:, None] < length, other=0.0)
                v = tl.load(v_ptr + k_at, mask=column[:, None] < length, other=0.0)
                scores = tl.dot(q, tl.trans(k)) * scale
                scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
                m_next = tl.maximum(m, tl.max(scores, axis=1))
                factor = tl.exp(m - m_next)
                weights = tl.exp(scores - m_next[:, None])
                s = s * factor + tl.sum(weights, axis=1)
                o = o * factor[:, None] + tl.dot(weights, v)
                m = m_next
            tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)


def flash_attention(q, k, v):
    heads, length, width = q.shape
    result = torch.empty_like(q)
    flash_kernel[(1,)](q, k, v, result, heads, length, width**-0.5, WIDTH=width, T=32)
    return result

# %% wrong: all keys in one block, of at least 256 — says "more than 256 × 16: take at most 256 queries" — from "all keys in one block": "triton.next_power_of_2(n)" → "max(256, triton.next_power_of_2(n))"

# %% wrong: blocks of keys that grow, with a loop — says "4,096 for 300: go through the keys" — from "reference"
# - def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
# + def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr, K: tl.constexpr):

# -     for start in range(0, (tl.program_id(0) + 1) * T, T):
# -         column = start + tl.arange(0, T)
# +     for start in range(0, (tl.program_id(0) + 1) * T, K):
# +         column = start + tl.arange(0, K)

# -     flash_kernel[grid](q, k, v, out, length, width**-0.5, WIDTH=width, T=32)
# +     keys = max(64, triton.next_power_of_2(length) // 4)
# +     flash_kernel[grid](q, k, v, out, length, width**-0.5, WIDTH=width, T=32, K=keys)

# %% wrong: the score of key 0 is subtracted, there is no running maximum — says "differ" — from "reference"
# -     m = tl.full((T,), -float("inf"), dtype=tl.float32)
# +     first = tl.zeros((T,), dtype=tl.float32)

# -         m_next = tl.maximum(m, tl.max(scores, axis=1))
# -         factor = tl.exp(m - m_next)
# -         weights = tl.exp(scores - m_next[:, None])
# -         s = s * factor + tl.sum(weights, axis=1)
# -         o = o * factor[:, None] + tl.dot(weights, v)
# -         m = m_next
# +         if start == 0:
# +             first = tl.sum(tl.where(column[None, :] == 0, scores, 0.0), axis=1)
# +         weights = tl.exp(scores - first[:, None])
# +         s += tl.sum(weights, axis=1)
# +         o += tl.dot(weights, v)

# %% wrong: the maximum of the first block of keys serves all blocks — says "differ" — from "reference"
# -         m_next = tl.maximum(m, tl.max(scores, axis=1))
# -         factor = tl.exp(m - m_next)
# -         weights = tl.exp(scores - m_next[:, None])
# -         s = s * factor + tl.sum(weights, axis=1)
# -         o = o * factor[:, None] + tl.dot(weights, v)
# -         m = m_next
# +         if start == 0:
# +             m = tl.max(scores, axis=1)
# +         weights = tl.exp(scores - m[:, None])
# +         s += tl.sum(weights, axis=1)
# +         o += tl.dot(weights, v)

# %% wrong: the unfinished output is stored after every block of keys — says "store each result once" — from "reference"
# -         m = m_next
# -     tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)
# +         m = m_next
# +         tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)

# %% hostile: the first program of each head does all queries, the others do nothing — says "at most 256 queries, all of one head"
@triton.jit
def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
    inside = tl.arange(0, WIDTH)[None, :]
    head = tl.program_id(1) * length * WIDTH
    if tl.program_id(0) == 0:
        for top in range(0, length, T):
            row = top + tl.arange(0, T)
            q_at = head + row[:, None] * WIDTH + inside
            q = tl.load(q_ptr + q_at, mask=row[:, None] < length, other=0.0)
            m = tl.full((T,), -float("inf"), dtype=tl.float32)
            s = tl.zeros((T,), dtype=tl.float32)
            o = tl.zeros((T, WIDTH), dtype=tl.float32)
            for start in range(0, top + T, T):
                column = start + tl.arange(0, T)
                k_at = head + column[:, None] * WIDTH + inside
                k = tl.load(k_ptr + k_at, mask=column[:, None] < length, other=0.0)
                v = tl.load(v_ptr + k_at, mask=column[:, None] < length, other=0.0)
                scores = tl.where(column[None, :] <= row[:, None], tl.dot(q, tl.trans(k)) * scale, -float("inf"))
                m_next = tl.maximum(m, tl.max(scores, axis=1))
                factor = tl.exp(m - m_next)
                weights = tl.exp(scores - m_next[:, None])
                s = s * factor + tl.sum(weights, axis=1)
                o = o * factor[:, None] + tl.dot(weights, v)
                m = m_next
            tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)


def flash_attention(q, k, v):
    heads, length, width = q.shape
    out = torch.empty_like(q)
    flash_kernel[(triton.cdiv(length, 32), heads)](q, k, v, out, length, width**-0.5, WIDTH=width, T=32)
    return out

# %% right: a device function for two stages, without and with the mask, keys loaded transposed
@triton.jit
def inner(acc, l_i, m_i, q, k_ptr, v_ptr, offs_m, offs_n, offs_d, lo, hi, N_CTX, D: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr):
    for start_n in range(lo, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        cols = start_n + offs_n
        k = tl.load(k_ptr + cols[None, :] * D + offs_d[:, None], mask=cols[None, :] < N_CTX, other=0.0)
        qk = tl.dot(q, k)
        if MASKED:
            qk = tl.where(offs_m[:, None] >= cols[None, :], qk, -1.0e38)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_ptr + cols[:, None] * D + offs_d[None, :], mask=cols[:, None] < N_CTX, other=0.0)
        acc = tl.dot(p, v, acc)
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def attn_fwd(Q, K, V, Out, stride_h, sm_scale, N_CTX, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start_m = tl.program_id(0)
    off_h = tl.program_id(1)
    Q += off_h * stride_h
    K += off_h * stride_h
    V += off_h * stride_h
    Out += off_h * stride_h
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    q = tl.load(Q + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < N_CTX, other=0.0)
    q = q * (sm_scale * 1.4426950408889634)
    acc, l_i, m_i = inner(acc, l_i, m_i, q, K, V, offs_m, offs_n, offs_d, 0, start_m * BLOCK_M, N_CTX, D, BLOCK_N, False)
    hi = min((start_m + 1) * BLOCK_M, N_CTX)
    acc, l_i, m_i = inner(acc, l_i, m_i, q, K, V, offs_m, offs_n, offs_d, start_m * BLOCK_M, hi, N_CTX, D, BLOCK_N, True)
    acc = acc / l_i[:, None]
    tl.store(Out + offs_m[:, None] * D + offs_d[None, :], acc, mask=offs_m[:, None] < N_CTX)


def flash_attention(q, k, v):
    heads, n, d = q.shape
    o = torch.empty_like(q)
    grid = (triton.cdiv(n, 64), heads, 1)
    attn_fwd[grid](q, k, v, o, q.stride(0), d**-0.5, n, D=d, BLOCK_M=64, BLOCK_N=32, num_warps=4, num_stages=2)
    return o

# %% wrong: the maximum begins at 0 — says "NaN" — from "reference": `tl.full((T,), -float("inf"), dtype=tl.float32)` → "tl.zeros((T,), dtype=tl.float32)"

# %% wrong: the factor upside down — says "No exponent may be above 0" — from "reference": "tl.exp(m - m_next)" → "tl.exp(m_next - m)"

# %% wrong: sum not rescaled, with blocks of 16 — says "the sum must be rescaled, too" — from "reference": "* factor + tl.sum" → "+ tl.sum", "cdiv(length, 32)" → "cdiv(length, 16)", "T=32" → "T=16"

# %% wrong: the keys of the first head for all heads — says "All heads use k of the first head" — from "reference": "k_ptr + k_at" → "k_ptr + k_at - head"

# %% wrong: the axes of the grid exchanged, with blocks of 16 — says "are there too many programs?" — from "reference": "(triton.cdiv(length, 32), heads)" → "(heads, triton.cdiv(length, 16))", "T=32" → "T=16"

# %% wrong: two passes over the keys — says "load each key and value once" — from "reference"
# -         v = tl.load(v_ptr + k_at, mask=column[:, None] < length, other=0.0)
# -         scores = tl.dot(q, tl.trans(k)) * scale
# +         scores = tl.dot(q, tl.trans(k)) * scale

# -         o = o * factor[:, None] + tl.dot(weights, v)
# -         m = m_next
# +         m = m_next
# +     for start in range(0, (tl.program_id(0) + 1) * T, T):
# +         column = start + tl.arange(0, T)
# +         k_at = head + column[:, None] * WIDTH + inside
# +         k = tl.load(k_ptr + k_at, mask=column[:, None] < length, other=0.0)
# +         v = tl.load(v_ptr + k_at, mask=column[:, None] < length, other=0.0)
# +         scores = tl.dot(q, tl.trans(k)) * scale
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
# +         o += tl.dot(tl.exp(scores - m[:, None]), v)

# %% wrong: the running maximum starts at 0 — says "starts at −inf" — from "reference": `tl.full((T,), -float("inf"), dtype=tl.float32)` → `tl.zeros((T,), dtype=tl.float32)`

# %% wrong: the maximum of the block alone — says "No exponent may be above 0" — from "reference": "tl.maximum(m, tl.max(scores, axis=1))" → "tl.max(scores, axis=1)"

# %% wrong: all programs of the first head's addresses — says "do the addresses differ from program to program, so that no two blocks overlap" — from "reference": "tl.program_id(1) * length * WIDTH" → "0"

# %% wrong: hidden scores are 0 — says "exp(0) is 1" — from "reference": `row[:, None], scores, -float("inf")` → "row[:, None], scores, 0.0"

# %% right: begins with a billion below 0 and a sum of 1, which the first factor makes 0 — from "reference": `tl.full((T,), -float("inf"), dtype=tl.float32)` → `tl.full((T,), -1e9, dtype=tl.float32)`, "s = tl.zeros((T,), dtype=tl.float32)" → "s = tl.full((T,), 1.0, dtype=tl.float32)"

# %% wrong: one sum for all rows of a block — says "divided by the sum of its own weights" — from "reference": "tl.sum(weights, axis=1)" → "tl.sum(weights)"

# %% wrong: sums along the wrong axis — says "divided by the sum of its own weights" — from "reference": "tl.sum(weights, axis=1)" → "tl.sum(weights, axis=0)"

# %% wrong: powers of 2 — says "exp, not exp2" — from "reference": "tl.exp(m - m_next)" → "tl.exp2(m - m_next)", "tl.exp(scores - m_next[:, None])" → "tl.exp2(scores - m_next[:, None])"

# %% wrong: the output is scaled — says "belongs to the scores" — from "reference": "tl.trans(k)) * scale" → "tl.trans(k))", "o / s[:, None]" → "o * scale / s[:, None]"

# %% wrong: 1 for every score — says "are their scores kept" — from "reference": `row[:, None], scores, -float("inf")` → `row[:, None], 1.0, -float("inf")`

# %% wrong: the mask asks for the first key of the block — says "Not causal" — from "reference": "column[None, :] <= row[:, None]" → "start <= row[:, None]"

# %% wrong: the mask is turned — says "column[None, :] <= row[:, None]" — from "reference": "column[None, :] <= row[:, None]" → "column[:, None] <= row[None, :]"

# %% wrong: later keys only — says "Is the mask turned" — from "reference": "column[None, :] <= row[:, None]" → "column[None, :] >= row[:, None]"

# %% wrong: v for k — says "took v for k" — from "reference": "k_ptr + k_at" → "v_ptr + k_at"

# %% wrong: k for v — says "took k for v" — from "reference": "v_ptr + k_at" → "k_ptr + k_at"

# %% wrong: the scale from the number of keys — says "1 / sqrt(d)" — from "reference": "width**-0.5" → "length**-0.5"

# %% wrong: a result of half precision — says "you returned torch.float16, expected torch.float32" — from "reference": "torch.empty_like(q)" → "torch.empty_like(q, dtype=torch.float16)"

# %% wrong: a list that holds the result — says "You returned a list, expected a tensor" — from "reference": "return out" → "return [out]"

# %% wrong: hidden keys of a block count in the sum — says "before the softmax" — from "reference"
# -         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

#           s = s * factor + tl.sum(weights, axis=1)
# +         weights = tl.where(column[None, :] <= row[:, None], weights, 0.0)

# %% wrong: the mask counts the keys of a block from 0 — says "add the block's start" — from "reference": "column[None, :] <= row[:, None]" → "tl.arange(0, T)[None, :] <= row[:, None]"

# %% wrong: k and v swapped — says "k and v are swapped" — from "reference": "[grid](q, k, v," → "[grid](q, v, k,"

# %% wrong: q and k swapped — says "q and k are swapped" — from "reference": "[grid](q, k, v," → "[grid](k, q, v,"

# %% wrong: a query sees its own key only if it is key 0 — says "Query i may see key i, too" — from "reference": "column[None, :] <= row[:, None]" → "(column[None, :] < row[:, None]) | (column[None, :] == 0)"

# %% wrong: the loop begins with the program's own block — says "does the loop begin at key 0" — from "reference": "range(0, (tl" → "range(tl.program_id(0) * T, (tl"

# %% wrong: each step takes the first keys — says "Only the first block of keys counts" — from "reference": "column = start + tl.arange(0, T)" → "column = tl.arange(0, T)"

# %% wrong: divided in every step — says "Divide by the sum once" — from "reference": "m = m_next" → "m, o = m_next, o / s[:, None]", "out_ptr + q_at, o / s[:, None]," → "out_ptr + q_at, o,"

# %% hostile: all scores in a list of Python's, in a branch that the compiler leaves out — says "Triton's compiler leaves this out"
@triton.jit
def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr):
    row = tl.program_id(0) * 16 + tl.arange(0, 16)
    inside = tl.arange(0, WIDTH)[None, :]
    head = tl.program_id(1) * length * WIDTH
    q_at = head + row[:, None] * WIDTH + inside
    q = tl.load(q_ptr + q_at, mask=row[:, None] < length, other=0.0)
    if isinstance(q.shape[0], int):
        tl.store(out_ptr + q_at, q, mask=row[:, None] < length)
    else:
        kept = []
        top = tl.full((16,), -float("inf"), dtype=tl.float32)
        for start in range(0, int(tl.program_id(0)) + 1):
            column = start * 16 + tl.arange(0, 16)
            k = tl.load(k_ptr + head + column[:, None] * WIDTH + inside, mask=column[:, None] < length, other=0.0)
            scores = tl.dot(q, tl.trans(k)) * scale
            scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
            kept = [*kept, scores]
            top = tl.maximum(top, tl.max(scores, axis=1))
        s = tl.zeros((16,), dtype=tl.float32)
        o = tl.zeros((16, WIDTH), dtype=tl.float32)
        for start in range(0, int(tl.program_id(0)) + 1):
            column = start * 16 + tl.arange(0, 16)
            v = tl.load(v_ptr + head + column[:, None] * WIDTH + inside, mask=column[:, None] < length, other=0.0)
            weights = tl.exp(kept[start] - top[:, None])
            s = s + tl.sum(weights, axis=1)
            o = o + tl.dot(weights, v)
        tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)


def flash_attention(q, k, v):
    heads, length, width = q.shape
    result = torch.empty_like(q)
    flash_kernel[(triton.cdiv(length, 16), heads)](q, k, v, result, length, width**-0.5, WIDTH=width)
    return result

# %% hostile: all scores of a query in registers, no running maximum — says "go through the keys in blocks"
@triton.jit
def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, S: tl.constexpr):
    row = tl.program_id(0) * 16 + tl.arange(0, 16)
    inside = tl.arange(0, WIDTH)[None, :]
    head = tl.program_id(1) * length * WIDTH
    q_at = head + row[:, None] * WIDTH + inside
    q = tl.load(q_ptr + q_at, mask=row[:, None] < length, other=0.0)
    every = tl.full((16, S, 16), -float("inf"), dtype=tl.float32)
    step = tl.arange(0, S)
    for start in range(0, tl.program_id(0) + 1):
        column = start * 16 + tl.arange(0, 16)
        k = tl.load(k_ptr + head + column[:, None] * WIDTH + inside, mask=column[:, None] < length, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
        every = tl.where(step[None, :, None] == start, scores[:, None, :], every)
    top = tl.max(tl.max(every, axis=2), axis=1)
    weights = tl.exp(every - top[:, None, None])
    weights = weights / tl.sum(tl.sum(weights, axis=2), axis=1)[:, None, None]
    o = tl.zeros((16, WIDTH), dtype=tl.float32)
    for start in range(0, tl.program_id(0) + 1):
        column = start * 16 + tl.arange(0, 16)
        v = tl.load(v_ptr + head + column[:, None] * WIDTH + inside, mask=column[:, None] < length, other=0.0)
        mine = tl.sum(tl.where(step[None, :, None] == start, weights, 0.0), axis=1)
        o += tl.dot(mine, v)
    tl.store(out_ptr + q_at, o, mask=row[:, None] < length)


def flash_attention(q, k, v):
    heads, length, width = q.shape
    result = torch.empty_like(q)
    blocks = triton.cdiv(length, 16)
    flash_kernel[(blocks, heads)](
        q, k, v, result, length, width**-0.5, WIDTH=width, S=triton.next_power_of_2(blocks)
    )
    return result

# %% hostile: less the score of key 0 in float64, no running maximum — says "differ"
@triton.jit
def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
    row = tl.program_id(0) * T + tl.arange(0, T)
    inside = tl.arange(0, WIDTH)[None, :]
    head = tl.program_id(1) * length * WIDTH
    q_at = head + row[:, None] * WIDTH + inside
    q = tl.load(q_ptr + q_at, mask=row[:, None] < length, other=0.0)
    m = tl.zeros((T,), dtype=tl.float32)
    s = tl.zeros((T,), dtype=tl.float64)
    o = tl.zeros((T, WIDTH), dtype=tl.float64)
    for start in range(0, (tl.program_id(0) + 1) * T, T):
        column = start + tl.arange(0, T)
        k_at = head + column[:, None] * WIDTH + inside
        k = tl.load(k_ptr + k_at, mask=column[:, None] < length, other=0.0)
        v = tl.load(v_ptr + k_at, mask=column[:, None] < length, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        m += tl.sum(tl.where(column[None, :] == 0, scores, 0.0), axis=1)
        scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
        weights = tl.exp(scores.to(tl.float64) - m[:, None])
        s += tl.sum(weights, axis=1)
        o += tl.sum(weights[:, :, None] * v[None, :, :], axis=1)
    tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)


def flash_attention(q, k, v):
    heads, length, width = q.shape
    result = torch.empty_like(q)
    grid = (triton.cdiv(length, 16), heads)
    flash_kernel[grid](q, k, v, result, length, width**-0.5, WIDTH=width, T=16)
    return result
# %% wrong: the maximum of each key — says "the largest of its row so far, axis=1" — from "reference": "tl.max(scores, axis=1)" → "tl.max(scores, axis=0)"

# %% wrong: the smaller maximum — says "No exponent may be above 0" — from "reference": "tl.maximum(m, " → "tl.minimum(m, "

# %% wrong: weights by the old maximum — says "No exponent may be above 0" — from "reference": "scores - m_next[:, None]" → "scores - m[:, None]"

# %% wrong: keys not transposed — says "must tl.trans turn it" — from "reference": "tl.trans(k)" → "k"

# %% wrong: the factor along the columns — says "does one need [:, None]" — from "reference": "factor[:, None]" → "factor[None, :]"

# %% wrong: a head is as long as a row — says "[1] of the result begins at element" — from "reference": "tl.program_id(1) * length * WIDTH" → "tl.program_id(1) * WIDTH"

# %% wrong: heads along the first axis of the grid only — says "are its axes in the order in which the kernel uses them" — from "reference": "(triton.cdiv(length, 32), heads)" → "(heads, triton.cdiv(length, 32))"

# %% wrong: weights by the maximum of their block — says "subtracts the same maximum from the scores" — from "reference": "weights = tl.exp(scores - m_next[:, None])" → "weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])"

# %% wrong: no maximum is subtracted from the scores — says "subtracts the same maximum from the scores" — from "reference": "weights = tl.exp(scores - m_next[:, None])" → "weights = tl.exp(scores)"

# %% wrong: the output is rescaled twice — says "rescales sum and output once" — from "reference": "o * factor[:, None] +" → "o * factor[:, None] * factor[:, None] +"

# %% wrong: the mask compares numbers within the blocks — says "compares numbers within the blocks" — from "reference": "column[None, :] <= row[:, None]" → "tl.arange(0, T)[None, :] <= tl.arange(0, T)[:, None]"

# %% wrong: the scale from the size of a block — says "1 / sqrt(d)" — from "reference": "width**-0.5" → "32**-0.5"

# %% wrong: the shape read as (N, heads, d) — says "the shape is (heads, N, d)" — from "reference": "heads, length, width = q.shape" → "length, heads, width = q.shape"

# %% wrong: the address of k as if it had d rows — says "The rows of k are its keys" — from "reference": "k_ptr + k_at" → "k_ptr + head + column[:, None] + inside * length"

# %% wrong: results rounded to float16 — says "the results have only 16 bits" — from "reference": "out_ptr + q_at, o / s[:, None]," → "out_ptr + q_at, (o / s[:, None]).to(tl.float16),"

# %% hostile: a first pass over the earlier keys finds the maximum of each row, a second one adds up — says "load each key and value once"
@triton.jit
def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
    row = tl.program_id(0) * T + tl.arange(0, T)
    inside = tl.arange(0, WIDTH)[None, :]
    head = tl.program_id(1) * length * WIDTH
    own_at = head + row[:, None] * WIDTH + inside
    q = tl.load(q_ptr + own_at, mask=row[:, None] < length, other=0.0)
    k = tl.load(k_ptr + own_at, mask=row[:, None] < length, other=0.0)
    own = tl.where(row[None, :] <= row[:, None], tl.dot(q, tl.trans(k)) * scale, -float("inf"))
    m = tl.max(own, axis=1)
    for start in range(0, tl.program_id(0) * T, T):
        k_at = head + (start + tl.arange(0, T))[:, None] * WIDTH + inside
        m = tl.maximum(m, tl.max(tl.dot(q, tl.trans(tl.load(k_ptr + k_at))) * scale, axis=1))
    weights = tl.exp(own - m[:, None])
    s = tl.sum(weights, axis=1)
    o = tl.dot(weights, tl.load(v_ptr + own_at, mask=row[:, None] < length, other=0.0))
    for start in range(0, tl.program_id(0) * T, T):
        k_at = head + (start + tl.arange(0, T))[:, None] * WIDTH + inside
        weights = tl.exp(tl.dot(q, tl.trans(tl.load(k_ptr + k_at))) * scale - m[:, None])
        s += tl.sum(weights, axis=1)
        o += tl.dot(weights, tl.load(v_ptr + k_at))
    tl.store(out_ptr + own_at, o / s[:, None], mask=row[:, None] < length)


def flash_attention(q, k, v):
    heads, length, width = q.shape
    result = torch.empty_like(q)
    grid = (triton.cdiv(length, 32), heads)
    flash_kernel[grid](q, k, v, result, length, width**-0.5, WIDTH=width, T=32)
    return result
# %% wrong: k as it lies, in tiles of 16 — says "k is not transposed" — from "reference": `tl.trans(k)` → `k`, `triton.cdiv(length, 32)` → `triton.cdiv(length, 16)`, `T=32` → `T=16`

# %% wrong: each block's part divided by its own sum — says "Divide by the sum once" — from "reference": `tl.dot(weights, v)` → `tl.dot(weights / tl.sum(weights, axis=1)[:, None], v)`

# %% wrong: the factor after the new part — says "for the old output alone" — from "reference": `o * factor[:, None] + tl.dot(weights, v)` → `(o + tl.dot(weights, v)) * factor[:, None]`

# %% wrong: the first queries for every program — says "Each block loads the first queries" — from "reference": `tl.load(q_ptr + q_at,` → `tl.load(q_ptr + head + tl.arange(0, T)[:, None] * WIDTH + inside,`

# %% wrong: the first keys and values in every step — says "Each block loads the first keys" — from "reference": `k_at = head + column[:, None] * WIDTH` → `k_at = head + tl.arange(0, T)[:, None] * WIDTH`

# %% wrong: both factors on the output — says "rescales sum and output once" — from "reference": `s = s * factor` → `s = s`, `o * factor[:, None]` → `o * factor[:, None] * factor[:, None]`

# %% wrong: hidden keys have the score -1 — says "query 0 gives key 1 the weight"
@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr
):
    head = tl.program_id(1) * length * WIDTH
    row = tl.program_id(0) * T + tl.arange(0, T)
    inside = tl.arange(0, WIDTH)
    q_at = head + row[:, None] * WIDTH + inside[None, :]
    q = tl.load(q_ptr + q_at, mask=row[:, None] < length, other=0.0)
    m = tl.full((T,), -float("inf"), dtype=tl.float32)
    s = tl.zeros((T,), dtype=tl.float32)
    o = tl.zeros((T, WIDTH), dtype=tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * T, T):
        column = start + tl.arange(0, T)
        at = head + column[:, None] * WIDTH + inside[None, :]
        k = tl.load(k_ptr + at, mask=column[:, None] < length, other=0.0)
        v = tl.load(v_ptr + at, mask=column[:, None] < length, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
        m_new = tl.maximum(m, tl.max(scores, axis=1))
        factor = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        s = s * factor + tl.sum(weights, axis=1)
        o = o * factor[:, None] + tl.dot(weights, v)
        m = m_new
    tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)


def flash_attention(q, k, v):
    heads, length, width = q.shape
    out = torch.empty_like(q)
    grid = (triton.cdiv(length, 32), heads)
    flash_kernel[grid](q, k, v, out, length, width**-0.5, WIDTH=width, T=32)
    return out

# %% wrong: the head's offset is that of a block — says "in row 11 of a part" — from "hidden keys have the score -1"
# -     head = tl.program_id(1) * length * WIDTH
# +     head = tl.program_id(1) * T * WIDTH

# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# %% wrong: v of the first head — says "All heads use v of the first head" — from "hidden keys have the score -1"
# -         v = tl.load(v_ptr + at, mask=column[:, None] < length, other=0.0)
# +         v = tl.load(v_ptr + at - head, mask=column[:, None] < length, other=0.0)

# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# %% wrong: the factor is the quotient of the maxima — says "That of the old sum and output is exp(old − new)" — from "hidden keys have the score -1"
# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# -         factor = tl.exp(m - m_new)
# +         factor = m / m_new

# %% wrong: divided by the maximum — says "Each row is the right one times a number" — from "hidden keys have the score -1"
# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# -     tl.store(out_ptr + q_at, o / s[:, None], mask=row[:, None] < length)
# +     tl.store(out_ptr + q_at, o / m[:, None], mask=row[:, None] < length)

# %% wrong: every second block of keys — says "gives the keys 32 to 63 no weight" — from "hidden keys have the score -1"
# -     for start in range(0, (tl.program_id(0) + 1) * T, T):
# +     for start in range(0, (tl.program_id(0) + 1) * T, 2 * T):

# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# %% wrong: only the last block's output — says "gives the keys 0 to 31 no weight" — from "hidden keys have the score -1"
# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# -         o = o * factor[:, None] + tl.dot(weights, v)
# +         o = tl.dot(weights, v)

# %% wrong: only the last block's sum — says "the weights of query 63 add up to" — from "hidden keys have the score -1"
# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# -         s = s * factor + tl.sum(weights, axis=1)
# +         s = tl.sum(weights, axis=1)

# %% wrong: programs for tiles of 64, tiles of 32 — says "only 0 to 63 were stored, by 2 programs of 32 rows" — from "hidden keys have the score -1"
# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# -     grid = (triton.cdiv(length, 32), heads)
# +     grid = (triton.cdiv(length, 64), heads)

# %% wrong: no padding loaded as 0 — says "is a load without other=" — from "hidden keys have the score -1"
# -     q = tl.load(q_ptr + q_at, mask=row[:, None] < length, other=0.0)
# +     q = tl.load(q_ptr + q_at, mask=row[:, None] < length)

# -         k = tl.load(k_ptr + at, mask=column[:, None] < length, other=0.0)
# -         v = tl.load(v_ptr + at, mask=column[:, None] < length, other=0.0)
# +         k = tl.load(k_ptr + at, mask=column[:, None] < length)
# +         v = tl.load(v_ptr + at, mask=column[:, None] < length)

# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# %% wrong: weights of float16 — says "Nearly right" — from "hidden keys have the score -1"
# -         scores = tl.where(column[None, :] <= row[:, None], scores, -1.0)
# +         scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))

# -         o = o * factor[:, None] + tl.dot(weights, v)
# +         o = o * factor[:, None] + tl.dot(weights.to(tl.float16), v.to(tl.float16))

# %% wrong: programs for tiles of 16, tiles of 32 — says "are there more programs than blocks of queries" — from "reference": "grid = (triton.cdiv(length, 32)" → "grid = (triton.cdiv(length, 16)"

# %% right: two programs for each head more than needed, which load nothing — from "reference": "range(0, (tl.program_id(0) + 1) * T, T)" → "range(0, tl.where(tl.program_id(0) * T < length, (tl.program_id(0) + 1) * T, 0), T)", "(triton.cdiv(length, 32)" → "(triton.cdiv(length, 32) + 2"

# %% hostile: PyTorch for more than 300 keys, or more than three heads — says "no Triton kernel was launched" — from "reference"
# - def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
# + def flash_kernel(
# +     q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr
# + ):

# -     out = torch.empty_like(q)
# +     if length > 300 or heads > 3:
# +         scores = q @ k.transpose(1, 2) * width**-0.5
# +         hidden = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
# +         return torch.softmax(scores.masked_fill(hidden, -torch.inf), 2) @ v
# +     result = torch.empty_like(q)

# -     flash_kernel[grid](q, k, v, out, length, width**-0.5, WIDTH=width, T=32)
# -     return out
# +     flash_kernel[grid](q, k, v, result, length, width**-0.5, WIDTH=width, T=32)
# +     return result

# %% hostile: all keys in one block where there are several heads, or more than 16 features — says "at most 256 keys at a time" — from "reference"
# - def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
# + def whole_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr, ALL: tl.constexpr):
# +     row = tl.program_id(0) * T + tl.arange(0, T)
# +     inside = tl.arange(0, WIDTH)[None, :]
# +     head = tl.program_id(1) * length * WIDTH
# +     q_at = head + row[:, None] * WIDTH + inside
# +     q = tl.load(q_ptr + q_at, mask=row[:, None] < length, other=0.0)
# +     column = tl.arange(0, ALL)
# +     k_at = head + column[:, None] * WIDTH + inside
# +     k = tl.load(k_ptr + k_at, mask=column[:, None] < length, other=0.0)
# +     v = tl.load(v_ptr + k_at, mask=column[:, None] < length, other=0.0)
# +     scores = tl.dot(q, tl.trans(k)) * scale
# +     scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
# +     weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
# +     o = tl.dot(weights, v) / tl.sum(weights, axis=1)[:, None]
# +     tl.store(out_ptr + q_at, o, mask=row[:, None] < length)
# +
# +
# + @triton.jit
# + def flash_kernel(
# +     q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr
# + ):

# -     out = torch.empty_like(q)
# +     result = torch.empty_like(q)

# -     flash_kernel[grid](q, k, v, out, length, width**-0.5, WIDTH=width, T=32)
# -     return out
# +     if width > 16 or heads > 1:
# +         whole_kernel[grid](q, k, v, result, length, width**-0.5, WIDTH=width, T=32, ALL=max(16, triton.next_power_of_2(length)))
# +     else:
# +         flash_kernel[grid](q, k, v, result, length, width**-0.5, WIDTH=width, T=32)
# +     return result

# %% hostile: no running maximum where there are several heads, or more than 16 features — says "No exponent may be above 0" — from "reference"
# - def flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr):
# + def flash_kernel(
# +     q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr, FIXED: tl.constexpr
# + ):

# -         m_next = tl.maximum(m, tl.max(scores, axis=1))
# -         factor = tl.exp(m - m_next)
# -         weights = tl.exp(scores - m_next[:, None])
# -         s = s * factor + tl.sum(weights, axis=1)
# -         o = o * factor[:, None] + tl.dot(weights, v)
# -         m = m_next
# +         if FIXED:
# +             weights = tl.exp(scores)
# +             s = s + tl.sum(weights, axis=1)
# +             o = o + tl.dot(weights, v)
# +         else:
# +             m_next = tl.maximum(m, tl.max(scores, axis=1))
# +             factor = tl.exp(m - m_next)
# +             weights = tl.exp(scores - m_next[:, None])
# +             s = s * factor + tl.sum(weights, axis=1)
# +             o = o * factor[:, None] + tl.dot(weights, v)
# +             m = m_next

# -     out = torch.empty_like(q)
# +     result = torch.empty_like(q)

# -     flash_kernel[grid](q, k, v, out, length, width**-0.5, WIDTH=width, T=32)
# -     return out
# +     flash_kernel[grid](q, k, v, result, length, width**-0.5, WIDTH=width, T=32, FIXED=width > 16 or heads > 1)
# +     return result

# %% hostile: two passes wherever one program takes all queries of a head — says "load each key and value once" — from "no running maximum where there are several heads, or more than 16 features"
# -     q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr, FIXED: tl.constexpr
# +     q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, T: tl.constexpr, B: tl.constexpr, TWICE: tl.constexpr

# -     for start in range(0, (tl.program_id(0) + 1) * T, T):
# -         column = start + tl.arange(0, T)
# +     if TWICE:
# +         for start in range(0, length, B):
# +             column = start + tl.arange(0, B)
# +             k_at = head + column[:, None] * WIDTH + inside
# +             k = tl.load(k_ptr + k_at, mask=column[:, None] < length, other=0.0)
# +             scores = tl.dot(q, tl.trans(k)) * scale
# +             scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
# +             m = tl.maximum(m, tl.max(scores, axis=1))
# +     for start in range(0, length, B):
# +         column = start + tl.arange(0, B)

# -         if FIXED:
# -             weights = tl.exp(scores)
# +         if TWICE:
# +             weights = tl.exp(scores - m[:, None])

# -     grid = (triton.cdiv(length, 32), heads)
# -     flash_kernel[grid](q, k, v, result, length, width**-0.5, WIDTH=width, T=32, FIXED=width > 16 or heads > 1)
# +     T = 256
# +     flash_kernel[(triton.cdiv(length, T), heads)](q, k, v, result, length, width**-0.5, WIDTH=width, T=T, B=32, TWICE=16 < length <= T)
