# %% right: reference
@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    place = tl.program_id(0) * width + column
    x = tl.load(x_ptr + place, mask=column < width, other=-float("inf"))
    weights = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + place, weights / tl.sum(weights, axis=0), mask=column < width)


def triton_softmax(x):
    rows, width = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(width)
    softmax_kernel[(rows,)](x, out, width, BLOCK=block)
    return out

# %% right: exp2 with log2(e), max and sum as methods, width as a constant, int64
LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, WIDTH: tl.constexpr):
    """The softmax of one row."""
    BLOCK: tl.constexpr = triton.next_power_of_2(WIDTH)
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < WIDTH
    x = tl.load(x_ptr + row * WIDTH + cols, mask=mask, other=float("-inf"), eviction_policy="evict_first")
    x = x * LOG2E
    p = tl.math.exp2(x - x.max(axis=0))
    out = p * (1.0 / p.sum(axis=0))
    tl.store(out_ptr + row * WIDTH + cols, out, mask=mask)


def triton_softmax(x):
    rows, width = x.shape
    out = torch.empty_like(x)
    warps = 4 if width <= 1024 else 8
    softmax_kernel[(rows,)](x, out, width, num_warps=warps)
    return out

# %% right: exp2, its constant first — from "exp2 with log2(e), max and sum as methods, width as a constant, int64": "x = x * LOG2E" → "x = LOG2E * x"

# %% right: exp2, a number of NumPy's — from "exp2 with log2(e), max and sum as methods, width as a constant, int64"
# - LOG2E = tl.constexpr(1.4426950408889634)
# + import math
# +
# + import numpy

# -     x = x * LOG2E
# +     x = math.log2(numpy.e) * x

# %% right: the mask asks for the row, too — from "reference"
# - def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
# + def softmax_kernel(x_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):

# -     place = tl.program_id(0) * width + column
# -     x = tl.load(x_ptr + place, mask=column < width, other=-float("inf"))
# +     place = tl.program_id(0) * width + column
# +     inside = (column < width) & (tl.program_id(0) < rows)
# +     x = tl.load(x_ptr + place, mask=inside, other=-float("inf"))

# -     tl.store(out_ptr + place, weights / tl.sum(weights, axis=0), mask=column < width)
# +     tl.store(out_ptr + place, weights / tl.sum(weights, axis=0), mask=inside)

# -     softmax_kernel[(rows,)](x, out, width, BLOCK=block)
# +     softmax_kernel[(rows,)](x, out, rows, width, BLOCK=block)

# %% wrong: not stabilized — says "Not stabilized" — from "reference": "x - tl.max(x, axis=0)" → "x"

# %% wrong: no other — says "is a load without other=" — from "reference": `width, other=-float("inf")` → "width"

# %% wrong: padding is 0 — says "the padding takes part" — from "reference": `-float("inf")` → "0.0"

# %% wrong: no mask at the load — says "need a mask" — from "reference": `place, mask=column < width, other=-float("inf")` → "place"

# %% wrong: no mask at the store — says "need a mask" — from "reference"
# -     tl.store(out_ptr + place, weights / tl.sum(weights, axis=0), mask=column < width)
# +     tl.store(out_ptr + place, weights / tl.sum(weights, axis=0))

# %% wrong: not divided — says "Divide by the sum" — from "reference": "weights / tl.sum(weights, axis=0)" → "weights"

# %% wrong: a fixed block of 1,024 — says "Each program stores 1,024 elements, but a row has 1,500" — from "reference": "triton.next_power_of_2(width)" → "1024"

# %% wrong: block of the width itself — says "power of 2" — from "reference": "triton.next_power_of_2(width)" → "width"

# %% wrong: log softmax — says "logarithm" — from "reference": "weights / tl.sum(weights, axis=0)" → "x - tl.max(x, axis=0) - tl.log(tl.sum(weights, axis=0))"

# %% wrong: rows as long as the block — says "The mask is true there" — from "reference": "* width" → "* BLOCK"

# %% wrong: only the first row — says "never written" — from "reference": "(rows,)" → "(1,)"

# %% wrong: every program takes row 0 — says "Others were stored more than once" — from "reference": "tl.program_id(0) * width + column" → "column"

# %% wrong: a program per column — says "The mask is true there" — from "reference": "(rows,)" → "(width,)"

# %% wrong: divided by the maximum — says "Divide by the sum" — from "reference": "tl.sum" → "tl.max"

# %% wrong: result in x — says "changed an argument" — from "reference": "torch.empty_like(x)" → "x"

# %% wrong: no return — says "is there a return statement" — from "reference"
# -     return out

# %% wrong: float16 result — says "float16" — from "reference": "torch.empty_like(x)" → "torch.empty(x.shape, dtype=torch.float16)"

# %% right: tl.softmax on the block, strides passed, always 4,096 places
@triton.jit
def rows_kernel(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + i, mask=i < n, other=float("-inf"))
    tl.store(out + row * stride + i, tl.softmax(values), mask=i < n)


def triton_softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows_kernel[(x.shape[0],)](out, x, x.stride(0), x.shape[1], BLOCK=4096)
    return out

# %% right: masked by tl.where after the load, with exp2
@triton.jit
def exp2_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < width
    base = tl.program_id(0) * width
    x = tl.load(x_ptr + base + column, mask=inside, other=0.0)
    x = tl.where(inside, x, -1e30)
    e = tl.exp2((x - tl.max(x, 0)) * 1.4426950408889634)
    e = tl.where(inside, e, 0.0)
    tl.store(out_ptr + base + column, e * (1.0 / tl.sum(e, 0)), mask=inside)


def triton_softmax(x):
    out = torch.empty_like(x)
    exp2_kernel[(len(x),)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out

# %% right: a combine function for tl.reduce, sum by where, a class
@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def rows_kernel(out_ptr, x_ptr, width: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    valid = column < width
    x = tl.load(x_ptr + tl.program_id(0) * width + column, mask=valid)
    x = tl.where(valid, x, float("-inf"))
    weights = tl.where(valid, tl.exp(x - tl.reduce(x, 0, _larger)), 0.0)
    tl.store(out_ptr + tl.program_id(0) * width + column, weights * (1.0 / tl.sum(weights)), mask=valid)


class Softmax:
    def __call__(self, x):
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
        rows_kernel[(x.shape[0],)](out, x, x.shape[1], BLOCK=1 << (x.shape[1] - 1).bit_length())
        return out


triton_softmax = Softmax()

# %% wrong: the row is read three times — says "reads per element: 3, writes: 1"
@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    base = tl.program_id(0) * width
    i = tl.arange(0, BLOCK)
    largest = -float("inf")
    for start in range(0, width, BLOCK):
        x = tl.load(x_ptr + base + start + i, mask=start + i < width, other=-float("inf"))
        largest = tl.maximum(largest, tl.max(x, axis=0))
    total = 0.0
    for start in range(0, width, BLOCK):
        x = tl.load(x_ptr + base + start + i, mask=start + i < width, other=-float("inf"))
        total += tl.sum(tl.exp(x - largest), axis=0)
    for start in range(0, width, BLOCK):
        x = tl.load(x_ptr + base + start + i, mask=start + i < width, other=-float("inf"))
        tl.store(out_ptr + base + start + i, tl.exp(x - largest) / total, mask=start + i < width)


def triton_softmax(x):
    out = torch.empty_like(x)
    softmax_kernel[(len(x),)](x, out, x.shape[1], BLOCK=256)
    return out

# %% wrong: exp in a kernel, the division in PyTorch — says "besides your kernel, PyTorch launched"
@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    place = tl.program_id(0) * width + column
    x = tl.load(x_ptr + place, mask=column < width, other=-float("inf"))
    tl.store(out_ptr + place, tl.exp(x - tl.max(x, axis=0)), mask=column < width)


def triton_softmax(x):
    out = torch.empty_like(x)
    softmax_kernel[(len(x),)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out / out.sum(dim=1, keepdim=True)

# %% wrong: torch.softmax — says "no Triton kernel was launched"
def triton_softmax(x):
    return torch.softmax(x, dim=1)

# %% hostile: a kernel that copies what PyTorch computed
@triton.jit
def copy(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    place = tl.program_id(0) * width + column
    tl.store(out_ptr + place, tl.load(x_ptr + place, mask=column < width), mask=column < width)


def triton_softmax(x):
    out = torch.empty_like(x)
    copy[(len(x),)](torch.softmax(x, 1), out, x.shape[1], BLOCK=4096)
    return out

# %% wrong: zeros beyond the row take part in the maximum — says "The padding takes part" — from "masked by tl.where after the load, with exp2"
# -     x = tl.where(inside, x, -1e30)

# %% hostile: a kernel that copies what NumPy computed — says "computed outside of it"
@triton.jit
def copy(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    place = tl.program_id(0) * width + column
    tl.store(out_ptr + place, tl.load(x_ptr + place, mask=column < width), mask=column < width)


def triton_softmax(x):
    out, rows = torch.empty_like(x), x.numpy()
    powers = numpy.exp(rows - rows.max(1, keepdims=True))
    copy[(len(x),)](torch.from_numpy(powers / powers.sum(1, keepdims=True)), out, x.shape[1], BLOCK=4096)
    return out


import numpy

# %% hostile: an entry that no test looks at, next to a result of the host's — says "not from an array that its kernels wrote"
import gc

import numpy as np


@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside, start = at < width, tl.program_id(0) * width
    tl.store(out_ptr + start + at, tl.load(x_ptr + start + at, mask=inside), mask=inside)


def triton_softmax(x):
    out = torch.empty_like(x)
    softmax_kernel[(len(x),)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    row = np.exp(x.numpy() - x.numpy().max(axis=1, keepdims=True))
    right = (row / row.sum(axis=1, keepdims=True)).astype(np.float32)
    for one in gc.get_objects():
        if type(one) is list and any(type(part) is dict and part.get("kind") == "triton" for part in one):
            one.append({"kind": "nothing"})
        if type(one) is tuple and len(one) == 2 and isinstance(one[1], torch.UntypedStorage):
            if one[1].nbytes() == right.nbytes and one[1].data_ptr() != x.data_ptr():
                torch.empty(0).set_(one[1], 0, x.shape).numpy()[:] = right
    return out

# %% hostile: program 0 does every row, the others do nothing — says "one program stored 192 elements, but a row has 64"
@triton.jit
def softmax_kernel(x_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        column = tl.arange(0, BLOCK)
        for row in range(0, rows):
            place = row * width + column
            x = tl.load(x_ptr + place, mask=column < width, other=-float("inf"))
            weights = tl.exp(x - tl.max(x, axis=0))
            tl.store(out_ptr + place, weights / tl.sum(weights, axis=0), mask=column < width)


def triton_softmax(x):
    rows, width = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, rows, width, BLOCK=triton.next_power_of_2(width))
    return out

# %% hostile: the maximum of the matrix, found by the host — says "Subtract the maximum of each row" — from "reference"
# - def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
# + def softmax_kernel(x_ptr, out_ptr, width, top, BLOCK: tl.constexpr):

# -     weights = tl.exp(x - tl.max(x, axis=0))
# +     weights = tl.exp(x - top)

# -     softmax_kernel[(rows,)](x, out, width, BLOCK=block)
# +     softmax_kernel[(rows,)](x, out, width, float(x.numpy().max()), BLOCK=block)

# %% wrong: padding is -1000 — says "The padding takes part" — from "reference": `-float("inf")` → `-1000.0`

# %% wrong: the largest absolute value — says "A row's maximum may be below zero" — from "reference": "x - tl.max(x, axis=0)" → "x - tl.max(tl.where(column < width, tl.abs(x), 0.0), axis=0)"

# %% hostile: one tensor for the results of all calls — says "overwrote what an earlier call had returned" — from "reference"
# - def triton_softmax(x):
# + ROOM = torch.empty(1 << 20)
# +
# +
# + def triton_softmax(x):

# -     out = torch.empty_like(x)
# +     out = ROOM[: x.numel()].view(x.shape)

# %% wrong: the minimum subtracted — says "The minimum is subtracted" — from "reference": "x - tl.max(x, axis=0)" → "x - tl.min(x, axis=0)"

# %% right: the builtin max, which Triton's compiler takes for blocks — from "reference": "weights / tl.sum(weights, axis=0)" → "max(weights, 0.0) / tl.sum(weights, axis=0)"

# %% wrong: divided by the mean — says "not by its mean" — from "reference": "tl.sum(weights, axis=0)" → "(tl.sum(weights, axis=0) / width)"

# %% wrong: powers of 2 — says "exp, not exp2" — from "reference": "tl.exp(" → "tl.exp2("

# %% wrong: the row in float16 — says "The row was rounded to 16 bits" — from "reference": `other=-float("inf"))` → `other=-float("inf")).to(tl.float16).to(tl.float32)`

# %% wrong: divided by the width — says "not by its width" — from "reference": "weights / tl.sum(weights, axis=0)" → "weights / width"

# %% wrong: the sum without the maximum subtracted — says "without the maximum subtracted" — from "reference": "weights / tl.sum(weights, axis=0)" → "weights / tl.sum(tl.exp(x), axis=0)"

# %% hostile: four loads of each row, which the kernel is given as bytes and reads as float32 — says "reads per element: 4"
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(axis=0)
    column = tl.arange(0, BLOCK)
    inside = column < width
    place = x_ptr.to(tl.pointer_type(tl.float32)) + row * width + column
    top = tl.max(tl.load(place, mask=inside, other=-float("inf")), axis=0)
    total = tl.sum(tl.exp(tl.load(place, mask=inside, other=-float("inf")) - top), axis=0)
    x = tl.load(place, mask=inside, other=-float("inf"))
    x = tl.load(place, mask=inside, other=-float("inf"))
    tl.store(out_ptr + row * width + column, tl.exp(x - top) / total, mask=inside)


def triton_softmax(x):
    rows, width = x.shape
    result = torch.empty_like(x)
    softmax_kernel[(rows,)](x.view(torch.uint8), result, width, BLOCK=triton.next_power_of_2(width))
    return result

# %% wrong: a program for each 256 elements of a row — says "Each part of a row is divided by its own sum" — from "reference": "column = tl.arange(0, BLOCK)" → "column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)", "block = triton.next_power_of_2(width)" → "block = 256", "(rows,)" → "(rows, triton.cdiv(width, 256))"

# %% wrong: rows and width swapped — says "here the two were swapped" — from "reference": "rows, width = x.shape" → "width, rows = x.shape"

# %% wrong: the block of the number of rows — says "but a row has 64" — from "reference": "next_power_of_2(width)" → "next_power_of_2(rows)"

# %% wrong: stored without the row — says "Others were stored more than once" — from "reference": "tl.store(out_ptr + place" → "tl.store(out_ptr + column"

# %% hostile: NumPy in a second kernel, inside the docstring of the first — says "never written"
@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    """One program: the softmax of one row.

    def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
        import numpy as np
        column = tl.arange(0, BLOCK)
        place = tl.program_id(0) * width + column
        x = tl.load(x_ptr + place, mask=column < width, other=-float("inf"))
        weights = np.exp(x.handle.data - x.handle.data.max())
        x.handle.data = weights / weights.sum()
        tl.store(out_ptr + place, x, mask=column < width)
        ''' """
    column = tl.arange(0, BLOCK)
    tl.store(out_ptr + column, 0.0, mask=column < width)
    # '''
    pass


def triton_softmax(x):
    rows, width = x.shape
    result = torch.empty_like(x)
    softmax_kernel[(rows,)](x, result, width, BLOCK=triton.next_power_of_2(width))
    return result

# %% hostile: a branch that the compiler leaves out, and the interpreter takes — says "Triton's compiler leaves this out"
@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    place = tl.program_id(0) * width + column
    x = tl.load(x_ptr + place, mask=column < width, other=-float("inf"))
    if isinstance(x.shape[0], int):
        tl.store(out_ptr + place, x, mask=column < width)
    else:
        handle = 0
        match x:
            case tl.tensor(handle=handle):
                pass
        weights = tl.exp(x - max([tl.max(x, axis=0), tl.max(x, axis=0)]))
        tl.store(out_ptr + place, weights / tl.sum(weights, axis=0), mask=column < width)


def triton_softmax(x):
    rows, width = x.shape
    result = torch.empty_like(x)
    softmax_kernel[(rows,)](x, result, width, BLOCK=triton.next_power_of_2(width))
    return result

# %% hostile: less the maximum of every 16th element, in float64 — says "nan instead of 1.0"
@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    place = tl.program_id(0) * width + column
    x = tl.load(x_ptr + place, mask=column < width, other=-float("inf")).to(tl.float64)
    few = tl.max(tl.where(column % 16 == 0, x, -float("inf")), axis=0)
    e = tl.exp(x - few)
    tl.store(out_ptr + place, e / tl.sum(e, axis=0), mask=column < width)


def triton_softmax(x):
    rows, width = x.shape
    result = torch.empty_like(x)
    softmax_kernel[(rows,)](x, result, width, BLOCK=triton.next_power_of_2(width))
    return result
# %% wrong: padding is -1 — says "here it is loaded as -1" — from "reference": `-float("inf")` → "-1.0"

# %% wrong: padding is +inf — says "it is inf - inf" — from "reference": `-float("inf")` → `float("inf")`

# %% wrong: the sum of the row itself — says "The sum is that of x: add" — from "reference": "tl.sum(weights, axis=0)" → "tl.sum(tl.where(column < width, x, 0.0), axis=0)"

# %% wrong: exp of the sum — says "add up the exponentials, after exp" — from "reference": "tl.sum(weights, axis=0)" → "tl.exp(tl.sum(tl.where(column < width, x - tl.max(x, axis=0), 0.0), axis=0))"

# %% wrong: divided by the maximum before exp — says "do not divide by it" — from "reference": "x - tl.max(x, axis=0)" → "x / tl.max(x, axis=0)"

# %% wrong: the results' rows as long as the block — says "but row 2 begins at element" — from "reference": "out_ptr + place" → "out_ptr + tl.program_id(0) * BLOCK + column"

# %% right: a condition with `and`, which a width of 1 decides — from "reference"
# -     weights = tl.exp(x - tl.max(x, axis=0))
# +     if width > 1 and width < BLOCK:
# +         x = x + 0.0
# +     weights = tl.exp(x - tl.max(x, axis=0))

# %% wrong: the elements of a row are taken one row apart — says "A row's elements lie side by side" — from "reference": "place = tl.program_id(0) * width + column" → "place = tl.program_id(0) + column * tl.num_programs(0)"

# %% wrong: the row is subtracted from its minimum — says "That is the softmax of -x" — from "reference"
# -     x = tl.load(x_ptr + place, mask=column < width, other=-float("inf"))
# -     weights = tl.exp(x - tl.max(x, axis=0))
# +     x = tl.load(x_ptr + place, mask=column < width, other=float("inf"))
# +     weights = tl.exp(tl.min(x, axis=0) - x)

# %% wrong: scaled by the root of the width, as in attention — says "Do not scale x" — from "reference": "weights = tl.exp(x - tl.max(x, axis=0))" → "weights = tl.exp((x - tl.max(x, axis=0)) / tl.sqrt(width * 1.0))"

# %% wrong: no exponential — says "x less the maximum" — from "reference": "weights / tl.sum(weights, axis=0)" → "x - tl.max(x, axis=0)"

# %% wrong: results rounded to bfloat16 — says "fits into 16 bits" — from "reference": "weights / tl.sum(weights, axis=0)" → "(weights / tl.sum(weights, axis=0)).to(tl.bfloat16)"

# %% wrong: stores column by column — says "stored column by column" — from "reference": `tl.store(out_ptr + place,` → `tl.store(out_ptr + column * tl.num_programs(0) + tl.program_id(0),`

# %% wrong: zeros beyond the row count in the maximum, not in the sum — says "no padding and no absolute value counts" — from "reference"
# -     x = tl.load(x_ptr + place, mask=column < width, other=-float("inf"))
# -     weights = tl.exp(x - tl.max(x, axis=0))
# +     x = tl.load(x_ptr + place, mask=column < width, other=0.0)
# +     weights = tl.where(column < width, tl.exp(x - tl.max(x, axis=0)), 0.0)

# -     block = triton.next_power_of_2(width)
# +     block = 2 * triton.next_power_of_2(width)

# %% wrong: every program loads the first row — says "Each program loads the first row" — from "reference": `tl.load(x_ptr + place,` → `tl.load(x_ptr + column,`

# %% wrong: padding of exp(0) — says "adds exp(0) = 1 to the sum"
@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < width
    x = tl.load(x_ptr + row * width + column, mask=mask, other=-float("inf"))
    shifted = tl.where(mask, x - tl.max(x, axis=0), 0.0)
    weights = tl.exp(shifted)
    total = tl.sum(weights, axis=0)
    tl.store(out_ptr + row * width + column, weights / total, mask=mask)


def triton_softmax(x):
    out = torch.empty_like(x)
    rows, width = x.shape
    softmax_kernel[(rows,)](x, out, width, BLOCK=triton.next_power_of_2(width))
    return out

# %% wrong: the maximum is subtracted after exp — says "before exp, not after" — from "padding of exp(0)"
# -     shifted = tl.where(mask, x - tl.max(x, axis=0), 0.0)
# -     weights = tl.exp(shifted)
# +     weights = tl.exp(x) - tl.max(tl.exp(x), axis=0)

# %% wrong: exp is divided by exp of the maximum — says "and gives inf. Subtract the row's maximum" — from "padding of exp(0)"
# -     shifted = tl.where(mask, x - tl.max(x, axis=0), 0.0)
# -     weights = tl.exp(shifted)
# +     weights = tl.exp(x) / tl.exp(tl.max(x, axis=0))

# %% wrong: results in float16 — says "too few digits: they should be float32" — from "padding of exp(0)"
# -     shifted = tl.where(mask, x - tl.max(x, axis=0), 0.0)
# -     weights = tl.exp(shifted)
# +     weights = tl.exp(x - tl.max(x, axis=0))

# -     out = torch.empty_like(x)
# +     out = torch.empty(x.shape, dtype=torch.float16)

# %% wrong: one minus the weights — says "1 minus the expected one" — from "padding of exp(0)"
# -     shifted = tl.where(mask, x - tl.max(x, axis=0), 0.0)
# -     weights = tl.exp(shifted)
# +     weights = tl.exp(x - tl.max(x, axis=0))

# -     tl.store(out_ptr + row * width + column, weights / total, mask=mask)
# +     tl.store(out_ptr + row * width + column, 1 - weights / total, mask=mask)

# %% hostile: PyTorch for more than 12 rows, and for widths from 2,000 to 4,095 — says "no Triton kernel was launched" — from "reference"
# -     out = torch.empty_like(x)
# -     block = triton.next_power_of_2(width)
# -     softmax_kernel[(rows,)](x, out, width, BLOCK=block)
# -     return out
# +     if rows > 12 or 2000 <= width < 4096:
# +         return torch.softmax(x, 1)
# +     result = torch.empty_like(x)
# +     softmax_kernel[(rows,)](x, result, width, BLOCK=triton.next_power_of_2(width))
# +     return result
