# %% right: reference
@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, width, eps, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < width
    place = tl.program_id(0) * width + column
    x = tl.load(x_ptr + place, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / width
    centered = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centered * centered, axis=0) / width
    scaled = centered / tl.sqrt(variance + eps)
    w = tl.load(w_ptr + column, mask=inside, other=0.0)
    b = tl.load(b_ptr + column, mask=inside, other=0.0)
    tl.store(out_ptr + place, scaled * w + b, mask=inside)


def triton_layer_norm(x, weight, bias, eps):
    rows, width = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(width)
    layer_norm_kernel[(rows,)](x, weight, bias, out, width, eps, BLOCK=block)
    return out

# %% wrong: eps outside the root — says "eps belongs inside" — from "reference": "tl.sqrt(variance + eps)" → "(tl.sqrt(variance) + eps)"

# %% wrong: no eps — says "eps is missing" — from "reference": "variance + eps" → "variance"

# %% wrong: n - 1 — says "n - 1" — from "reference"
# -     variance = tl.sum(centered * centered, axis=0) / width
# +     variance = tl.sum(centered * centered, axis=0) / (width - 1)

# %% wrong: the padding counts — says "the padding counts" — from "reference": "tl.where(inside, x - mean, 0.0)" → "x - mean"

# %% wrong: everything divided by BLOCK — says "not by BLOCK" — from "reference"
# -     mean = tl.sum(x, axis=0) / width
# +     mean = tl.sum(x, axis=0) / BLOCK

# -     variance = tl.sum(centered * centered, axis=0) / width
# +     variance = tl.sum(centered * centered, axis=0) / BLOCK

# %% wrong: variance divided by BLOCK — says "not by BLOCK" — from "reference": "tl.sum(centered * centered, axis=0) / width" → "tl.sum(centered * centered, axis=0) / BLOCK"

# %% wrong: no mean in the numerator — says "Subtract the mean" — from "reference": "= centered" → "= x"

# %% wrong: divided by the variance — says "root of the variance" — from "reference": "tl.sqrt" → ""

# %% wrong: no bias — says "The bias is missing" — from "reference"
# -     b = tl.load(b_ptr + column, mask=inside, other=0.0)
# -     tl.store(out_ptr + place, scaled * w + b, mask=inside)
# +     tl.store(out_ptr + place, scaled * w, mask=inside)

# %% wrong: no weight — says "The weight is missing" — from "reference": "* w + b" → "+ b"

# %% wrong: neither — says "weight and bias are missing" — from "reference": "scaled * w + b" → "scaled"

# %% wrong: statistics in float16 — says "computed in float32" — from "reference": ".to(tl.float32)" → ""

# %% wrong: E[x²] − E[x]² in float16 — says "computed in float32" — from "reference"
# -     x = tl.load(x_ptr + place, mask=inside, other=0.0).to(tl.float32)
# +     x = tl.load(x_ptr + place, mask=inside, other=0.0)

# -     variance = tl.sum(centered * centered, axis=0) / width
# +     variance = tl.sum(x * x, axis=0) / width - mean * mean

# %% wrong: no other — says "undefined" — from "reference": "place, mask=inside, other=0.0" → "place, mask=inside"

# %% wrong: no mask — says "need a mask" — from "reference": "place, mask=inside, other=0.0" → "place"

# %% wrong: a fixed block of 1,024 — says "Each program stores 1,024 elements, but a row has 1,500" — from "reference": "triton.next_power_of_2(width)" → "1024"

# %% wrong: always float32 — says "float" — from "reference": "torch.empty_like(x)" → "torch.empty(x.shape, dtype=torch.float32)"

# %% wrong: weights loaded by row — says "The mask is true there" — from "reference": "w_ptr + column" → "w_ptr + place"

# %% wrong: no return — says "is there a return statement" — from "reference"
# -     return out

# %% right: rsqrt, names of its own, 4,096 places
@triton.jit
def norm(x, w, b, y, n, eps, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    keep = i < n
    v = tl.load(x + r * n + i, mask=keep, other=0).to(tl.float32)
    d = tl.where(keep, v - tl.sum(v, 0) / n, 0)
    scale = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    gain = tl.load(w + i, mask=keep)
    shift = tl.load(b + i, mask=keep)
    tl.store(y + r * n + i, (d * scale * gain + shift).to(y.dtype.element_ty), mask=keep)


def triton_layer_norm(x, weight, bias, eps):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    norm[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, B=4096)
    return y

# %% right: E[x²] − E[x]², in float32, of rows shifted by their first element
@triton.jit
def norm(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, B: tl.constexpr):
    i = tl.arange(0, B)
    start = tl.program_id(0) * n
    x = tl.load(x_ptr + start + i, mask=i < n, other=0.0).to(tl.float32)
    x -= tl.sum(tl.where(i == 0, x, 0.0), axis=0)
    x = tl.where(i < n, x, 0.0)
    mean = tl.sum(x, axis=0) / n
    variance = tl.sum(x * x, axis=0) / n - mean * mean
    w = tl.load(w_ptr + i, mask=i < n)
    b = tl.load(b_ptr + i, mask=i < n)
    tl.store(y_ptr + start + i, (x - mean) / tl.sqrt(variance + eps) * w + b, mask=i < n)


def triton_layer_norm(x, weight, bias, eps):
    y = torch.empty_like(x)
    norm[(len(x),)](x, weight, bias, y, x.shape[1], eps, B=triton.next_power_of_2(x.shape[1]))
    return y

# %% wrong: three passes over the row — says "row, weight and bias once"
@triton.jit
def norm(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, B: tl.constexpr):
    i = tl.arange(0, B)
    x_ptr += tl.program_id(0) * n
    y_ptr += tl.program_id(0) * n
    mean = 0.0
    for s in range(0, n, B):
        mean += tl.sum(tl.load(x_ptr + s + i, mask=s + i < n, other=0.0).to(tl.float32), axis=0) / n
    variance = 0.0
    for s in range(0, n, B):
        d = tl.load(x_ptr + s + i, mask=s + i < n, other=0.0).to(tl.float32) - mean
        d = tl.where(s + i < n, d, 0.0)
        variance += tl.sum(d * d, axis=0) / n
    for s in range(0, n, B):
        keep = s + i < n
        d = (tl.load(x_ptr + s + i, mask=keep, other=0.0).to(tl.float32) - mean) / tl.sqrt(variance + eps)
        w = tl.load(w_ptr + s + i, mask=keep, other=0.0)
        tl.store(y_ptr + s + i, d * w + tl.load(b_ptr + s + i, mask=keep, other=0.0), mask=keep)


def triton_layer_norm(x, weight, bias, eps):
    y = torch.empty_like(x)
    norm[(len(x),)](x, weight, bias, y, x.shape[1], eps, B=128)
    return y

# %% wrong: statistics in PyTorch — says "besides your kernel, PyTorch launched"
@triton.jit
def norm(x_ptr, m_ptr, v_ptr, w_ptr, b_ptr, y_ptr, n, eps, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n + i, mask=i < n)
    x = (x - tl.load(m_ptr + row)) / tl.sqrt(tl.load(v_ptr + row) + eps)
    tl.store(y_ptr + row * n + i, x * tl.load(w_ptr + i, mask=i < n) + tl.load(b_ptr + i, mask=i < n), mask=i < n)


def triton_layer_norm(x, weight, bias, eps):
    y, wide = torch.empty_like(x), x.float()
    norm[(len(x),)](x, wide.mean(1), wide.var(1, correction=0), weight, bias, y, x.shape[1], eps, B=4096)
    return y

# %% wrong: PyTorch's own — says "no Triton kernel was launched"
def triton_layer_norm(x, weight, bias, eps):
    return torch.nn.functional.layer_norm(x.float(), weight.shape, weight, bias, eps).to(x.dtype)

# %% hostile: program 0 does every row, the others do nothing — says "one program stored 2,400 bytes"
@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, rows, width, eps, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        column = tl.arange(0, BLOCK)
        inside = column < width
        for row in range(0, rows):
            place = row * width + column
            x = tl.load(x_ptr + place, mask=inside, other=0.0).to(tl.float32)
            mean = tl.sum(x, axis=0) / width
            centered = tl.where(inside, x - mean, 0.0)
            variance = tl.sum(centered * centered, axis=0) / width
            w = tl.load(w_ptr + column, mask=inside, other=0.0)
            b = tl.load(b_ptr + column, mask=inside, other=0.0)
            tl.store(out_ptr + place, centered / tl.sqrt(variance + eps) * w + b, mask=inside)


def triton_layer_norm(x, weight, bias, eps):
    rows, width = x.shape
    out = torch.empty_like(x)
    layer_norm_kernel[(rows,)](x, weight, bias, out, rows, width, eps, BLOCK=triton.next_power_of_2(width))
    return out

# %% wrong: differences and variance in float16 — says "computed in float32" — from "reference"
# -     x = tl.load(x_ptr + place, mask=inside, other=0.0).to(tl.float32)
# -     mean = tl.sum(x, axis=0) / width
# -     centered = tl.where(inside, x - mean, 0.0)
# +     x = tl.load(x_ptr + place, mask=inside, other=0.0)
# +     mean = tl.sum(x.to(tl.float32), axis=0) / width
# +     centered = tl.where(inside, x - mean, 0.0).to(x.dtype)

# %% right: the mean and the deviation are kept for a backward pass — from "reference"
# - def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, width, eps, BLOCK: tl.constexpr):
# + def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, kept_ptr, width, eps, BLOCK: tl.constexpr):

#       tl.store(out_ptr + place, scaled * w + b, mask=inside)
# +     tl.store(kept_ptr + 2 * tl.program_id(0), mean)
# +     tl.store(kept_ptr + 2 * tl.program_id(0) + 1, tl.sqrt(variance + eps))

#       out = torch.empty_like(x)
# +     kept = torch.empty((rows, 2), dtype=torch.float32, device=x.device)

# -     layer_norm_kernel[(rows,)](x, weight, bias, out, width, eps, BLOCK=block)
# +     layer_norm_kernel[(rows,)](x, weight, bias, out, kept, width, eps, BLOCK=block)

# %% right: Welford's combination as a device function for tl.reduce
@triton.jit
def combine(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
    n = n_a + n_b
    share = tl.where(n > 0, n_b / n, 0.0)
    delta = mean_b - mean_a
    return n, mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share


@triton.jit
def ln_fwd(X, W, B, Y, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(X + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    _, mean, m2 = tl.reduce((mask.to(tl.float32), x, tl.zeros_like(x)), 0, combine)
    rstd = 1 / tl.sqrt(m2 / N + eps)
    w = tl.load(W + cols, mask=mask)
    b = tl.load(B + cols, mask=mask)
    y = (x - mean) * rstd * w + b
    tl.store(Y + row * N + cols, y.to(Y.dtype.element_ty), mask=mask)


def triton_layer_norm(x, weight, bias, eps):
    M, N = x.shape
    y = torch.empty_like(x)
    ln_fwd[(M,)](x, weight, bias, y, N, eps, BLOCK=triton.next_power_of_2(N), num_warps=8)
    return y

# %% wrong: a block of half the size where one element is too many — says "were never written" — from "reference": "next_power_of_2(width)" → "next_power_of_2(max(1, width - 1))"

# %% wrong: E[x²] − E[x]² in float32 — says "loses a variance this small" — from "reference": "tl.sum(centered * centered, axis=0) / width" → "tl.sum(x * x, axis=0) / width - mean * mean"

# %% wrong: results of float16 for all rows — says "The results have only 16 bits" — from "reference": "scaled * w + b," → "(scaled * w + b).to(tl.float16),"

# %% wrong: results of bfloat16 for float32 rows — says "The results have only 16 bits" — from "reference": "scaled * w + b," → "(scaled * w + b).to(tl.bfloat16),"

# %% wrong: weights of float16 — says "differ" — from "reference": "w = tl.load(w_ptr + column, mask=inside, other=0.0)" → "w = tl.load(w_ptr + column, mask=inside, other=0.0).to(tl.float16)"


# %% wrong: the mean alone divided by BLOCK — says "not by BLOCK" — from "reference": "mean = tl.sum(x, axis=0) / width" → "mean = tl.sum(x, axis=0) / BLOCK"

# %% wrong: weight and bias swapped — says "weight and bias are swapped" — from "reference": "scaled * w + b" → "scaled * b + w"

# %% wrong: the bias before the weight — says "The bias is added last" — from "reference": "scaled * w + b" → "(scaled + b) * w"

# %% wrong: an eps of 1e-6 — says "is not the eps given" — from "reference": "variance + eps" → "variance + 1e-6"

# %% wrong: the mean absolute deviation — says "not the mean of |x - mean|" — from "reference": "tl.sqrt(variance + eps)" → "(tl.sum(tl.abs(centered), axis=0) / width + eps)"

# %% wrong: RMSNorm — says "this is an RMSNorm" — from "reference": "tl.where(inside, x - mean, 0.0)" → "x"

# %% wrong: eps as a lower limit — says "it is not a lower limit" — from "reference": "variance + eps" → "tl.maximum(variance, eps)"

# %% wrong: the bias is subtracted — says "The bias is added" — from "reference": "scaled * w + b" → "scaled * w - b"

# %% wrong: 1 + weight — says "do not add 1 to it" — from "reference": "scaled * w + b" → "scaled * (1 + w) + b"

# %% wrong: weight and bias by row — says "not one per row" — from "reference"
# -     w = tl.load(w_ptr + column, mask=inside, other=0.0)
# -     b = tl.load(b_ptr + column, mask=inside, other=0.0)
# +     w = tl.load(w_ptr + tl.program_id(0))
# +     b = tl.load(b_ptr + tl.program_id(0))

# %% right: the padding is multiplied by 0 — from "reference": "tl.where(inside, x - mean, 0.0)" → "(x - mean) * inside.to(tl.float32)"

# %% wrong: by column — says "normalize each row"
@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, rows, width, eps, BLOCK: tl.constexpr):
    column, row = tl.program_id(0), tl.arange(0, BLOCK)
    inside = row < rows
    x = tl.load(x_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32)
    centered = tl.where(inside, x - tl.sum(x, axis=0) / rows, 0.0)
    scaled = centered / tl.sqrt(tl.sum(centered * centered, axis=0) / rows + eps)
    result = scaled * tl.load(w_ptr + column) + tl.load(b_ptr + column)
    tl.store(out_ptr + row * width + column, result, mask=inside)


def triton_layer_norm(x, weight, bias, eps):
    rows, width = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(rows)
    layer_norm_kernel[(width,)](x, weight, bias, out, rows, width, eps, BLOCK=block)
    return out

# %% hostile: four passes over the row, which the kernel is given as bytes — says "row, weight and bias once"
import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_bytes, w_ptr, b_ptr, out_ptr, width, eps, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(axis=0)
    column = tl.arange(0, BLOCK)
    inside = column < width
    place = row * width + column
    if WIDE:
        narrow = x_bytes.to(tl.pointer_type(tl.float32))
    else:
        narrow = x_bytes.to(tl.pointer_type(tl.float16))
    x = tl.load(narrow + place, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / width
    x = tl.load(narrow + place, mask=inside, other=0.0).to(tl.float32)
    centered = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centered * centered, axis=0) / width
    if WIDE:
        x = tl.load(narrow + place, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(narrow + place, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + column, mask=inside, other=0.0)
    b = tl.load(b_ptr + column, mask=inside, other=0.0)
    result = (x - mean) / tl.sqrt(variance + eps) * w + b
    tl.store(out_ptr + place, result, mask=inside)


def triton_layer_norm(x, weight, bias, eps):
    rows, width = x.shape
    result = torch.empty_like(x)
    block = triton.next_power_of_2(width)
    layer_norm_kernel[(rows,)](
        x.view(torch.uint8), weight, bias, result, width, eps, BLOCK=block, WIDE=x.dtype == torch.float32
    )
    return result

# %% wrong: the sum of squares is not divided — says "divide their sum by the width" — from "reference": "tl.sum(centered * centered, axis=0) / width" → "tl.sum(centered * centered, axis=0)"

# %% wrong: times the root — says "do not multiply by it" — from "reference": "centered / tl.sqrt" → "centered * tl.sqrt"

# %% wrong: the sum is squared — says "The variance is 0 here" — from "reference": "tl.sum(centered * centered, axis=0) / width" → "tl.sum(centered, axis=0) * tl.sum(centered, axis=0) / width"

# %% wrong: padding is -inf, as for a softmax — says "the sums must stay finite" — from "reference": "place, mask=inside, other=0.0" → `place, mask=inside, other=-float("inf")`

# %% wrong: the root of eps alone — says "or missing" — from "reference": "variance + eps" → "eps"

# %% wrong: the bias is divided, too — says "The bias is not divided" — from "reference"
# -     scaled = centered / tl.sqrt(variance + eps)

# -     tl.store(out_ptr + place, scaled * w + b, mask=inside)
# +     tl.store(out_ptr + place, (centered * w + b) / tl.sqrt(variance + eps), mask=inside)

# %% wrong: the row is weighted before it is normalized — says "The weight is applied after normalizing" — from "reference"
# +     w = tl.load(w_ptr + column, mask=inside, other=0.0)
#       x = tl.load(x_ptr + place, mask=inside, other=0.0).to(tl.float32)
# +     x = x * w

# -     w = tl.load(w_ptr + column, mask=inside, other=0.0)

# -     tl.store(out_ptr + place, scaled * w + b, mask=inside)
# +     tl.store(out_ptr + place, scaled + b, mask=inside)

# %% wrong: the row itself is added — says "The result does not contain x" — from "reference": "scaled * w + b, mask" → "scaled * w + b + x, mask"

# %% wrong: the mean is stored where the row begins, then overwritten — says "bytes stored in one tensor" — from "reference"
# +     tl.store(out_ptr + tl.program_id(0) * width, mean)
#       tl.store(out_ptr + place, scaled * w + b, mask=inside)

# %% wrong: the width is converted, which is a constant if it is 1 — says "becomes a plain Python number" — from "reference": "mean = tl.sum(x, axis=0) / width" → "mean = tl.sum(x, axis=0) / width.to(tl.float32)"

# %% wrong: divides by the weight — says "Multiply by the weight" — from "reference": `scaled * w + b` → `scaled / w + b`

# %% wrong: one element of weight for all columns — says "Of weight only the first element is loaded" — from "reference": `tl.load(w_ptr + column, mask=inside, other=0.0)` → `tl.load(w_ptr)`

# %% wrong: eps in the sum of squares — says "once per place" — from "reference": `tl.sum(centered * centered, axis=0)` → `tl.sum(centered * centered + eps, axis=0)`

# %% wrong: the root of the mean distance — says "not the mean of |x - mean|" — from "reference": `tl.sum(centered * centered, axis=0)` → `tl.sum(tl.abs(centered), axis=0)`

# %% wrong: the variance is divided by the width twice — says "Without weight and bias, row"
@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < width
    x = tl.load(x_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + column, mask=inside, other=0.0)
    b = tl.load(b_ptr + column, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / width
    centered = tl.where(inside, x - mean, 0.0)
    var = tl.sum(centered * centered, axis=0) / width / width
    y = centered / tl.sqrt(var + eps) * w + b
    tl.store(out_ptr + row * width + column, y, mask=inside)


def triton_layer_norm(x, weight, bias, eps):
    out = torch.empty_like(x)
    rows, width = x.shape
    block = triton.next_power_of_2(width)
    layer_norm_kernel[(rows,)](x, weight, bias, out, width, eps, BLOCK=block)
    return out

# %% wrong: the root of the root — says "Without weight and bias, row" — from "the variance is divided by the width twice"
# -     var = tl.sum(centered * centered, axis=0) / width / width
# -     y = centered / tl.sqrt(var + eps) * w + b
# +     var = tl.sum(centered * centered, axis=0) / width
# +     y = centered / tl.sqrt(tl.sqrt(var + eps)) * w + b

# %% wrong: the largest deviation in place of the root — says "Without weight and bias, row" — from "the variance is divided by the width twice"
# -     var = tl.sum(centered * centered, axis=0) / width / width
# +     var = tl.max(centered * centered, axis=0)

# %% wrong: the maximum is subtracted — says "Without weight and bias, row" — from "the variance is divided by the width twice"
# -     mean = tl.sum(x, axis=0) / width
# +     mean = tl.max(x, axis=0)

# -     var = tl.sum(centered * centered, axis=0) / width / width
# +     var = tl.sum(centered * centered, axis=0) / width

# %% wrong: the mean is subtracted twice — says "Without weight and bias, row" — from "the variance is divided by the width twice"
# -     var = tl.sum(centered * centered, axis=0) / width / width
# -     y = centered / tl.sqrt(var + eps) * w + b
# +     var = tl.sum(centered * centered, axis=0) / width
# +     y = (centered - mean) / tl.sqrt(var + eps) * w + b

# %% wrong: the mean is added back — says "In each row, all numbers are off by the same amount" — from "the variance is divided by the width twice"
# -     var = tl.sum(centered * centered, axis=0) / width / width
# -     y = centered / tl.sqrt(var + eps) * w + b
# +     var = tl.sum(centered * centered, axis=0) / width
# +     y = centered / tl.sqrt(var + eps) * w + b + mean

# %% wrong: the weight is squared — says "The rows are normalized correctly. After that, column" — from "the variance is divided by the width twice"
# -     var = tl.sum(centered * centered, axis=0) / width / width
# -     y = centered / tl.sqrt(var + eps) * w + b
# +     var = tl.sum(centered * centered, axis=0) / width
# +     y = centered / tl.sqrt(var + eps) * w * w + b

# %% wrong: the weights are read from the end — says "The rows are normalized correctly. After that, column" — from "the variance is divided by the width twice"
# -     w = tl.load(w_ptr + column, mask=inside, other=0.0)
# +     w = tl.load(w_ptr + width - 1 - column, mask=inside, other=0.0)

# -     var = tl.sum(centered * centered, axis=0) / width / width
# +     var = tl.sum(centered * centered, axis=0) / width

# %% hostile: PyTorch for more than 5 rows, and for widths from 1,501 to 4,095 — says "no Triton kernel was launched" — from "reference"
# -     out = torch.empty_like(x)
# -     block = triton.next_power_of_2(width)
# -     layer_norm_kernel[(rows,)](x, weight, bias, out, width, eps, BLOCK=block)
# -     return out
# +     if rows > 5 or 1500 < width < 4096:
# +         return torch.nn.functional.layer_norm(x, (width,), weight.to(x.dtype), bias.to(x.dtype), eps)
# +     result = torch.empty_like(x)
# +     layer_norm_kernel[(rows,)](x, weight, bias, result, width, eps, BLOCK=triton.next_power_of_2(width))
# +     return result
