# %% right: reference
import torch
import triton
import triton.language as tl


@triton.jit
def add_mul_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    z = tl.load(z_ptr + i, mask=mask)
    tl.store(out_ptr + i, x * y + z, mask=mask)


def triton_add_mul(x, y, z):
    out = torch.empty_like(x)
    n = x.numel()
    add_mul_kernel[(triton.cdiv(n, 1024),)](x, y, z, out, n, BLOCK=1024)
    return out

# %% wrong: no mask — says "need a mask" — from "reference"
# -     x = tl.load(x_ptr + i, mask=mask)
# -     y = tl.load(y_ptr + i, mask=mask)
# -     z = tl.load(z_ptr + i, mask=mask)
# -     tl.store(out_ptr + i, x * y + z, mask=mask)
# +     x = tl.load(x_ptr + i)
# +     y = tl.load(y_ptr + i)
# +     z = tl.load(z_ptr + i)
# +     tl.store(out_ptr + i, x * y + z)

# %% wrong: no mask at the store — says "need a mask" — from "reference": "z, mask=mask" → "z"

# %% wrong: no mask at one load — says "need a mask" — from "reference": "z_ptr + i, mask=mask" → "z_ptr + i"

# %% wrong: grid rounded down — says "it takes triton.cdiv(n, BLOCK) of them" — from "reference": "triton.cdiv(n, 1024)" → "max(1, n // 1024)"

# %% wrong: one program — says "it takes triton.cdiv(n, BLOCK) of them" — from "reference": "triton.cdiv(n, 1024)" → "1"

# %% wrong: every program does the first block — says "Others were stored more than once" — from "reference": "tl.program_id(axis=0) * BLOCK + tl.arange" → "tl.arange"

# %% wrong: a program per element — says "each handles at least 64 elements" — from "reference"
# -     add_mul_kernel[(triton.cdiv(n, 1024),)](x, y, z, out, n, BLOCK=1024)
# +     add_mul_kernel[(n,)](x, y, z, out, n, BLOCK=1)

# %% wrong: one program does it all — says "too much to do alone" — from "reference"
# -     add_mul_kernel[(triton.cdiv(n, 1024),)](x, y, z, out, n, BLOCK=1024)
# +     add_mul_kernel[(1,)](x, y, z, out, n, BLOCK=triton.next_power_of_2(n))

# %% wrong: a grid of elements and whole blocks — says "each handles at least 64 elements" — from "reference": "triton.cdiv(n, 1024)" → "n"

# %% wrong: z forgotten — says "z is missing" — from "reference": "y + z" → "y"

# %% wrong: add, then multiply — says "x * (y + z)" — from "reference": "y + z" → "(y + z)"

# %% wrong: mask with <= — says "does the mask compare with <= instead of <" — from "reference": "<" → "<="

# %% wrong: mask one short — says "never written" — from "reference": "< n" → "< n - 1"

# %% wrong: block that is no power of two — says "power of 2" — from "reference"
# -     add_mul_kernel[(triton.cdiv(n, 1024),)](x, y, z, out, n, BLOCK=1024)
# +     add_mul_kernel[(triton.cdiv(n, 1000),)](x, y, z, out, n, BLOCK=1000)

# %% wrong: result in x — says "changed an argument" — from "reference": "torch.empty_like(x)" → "x"

# %% wrong: no return — says "is there a return statement" — from "reference"
# -     return out

# %% wrong: zeros instead of empty — says "torch.empty" — from "reference": "torch.empty_like" → "torch.zeros_like"

# %% wrong: float16 result — says "float32" — from "reference": "torch.empty_like(x)" → "torch.empty(x.shape, dtype=torch.float16)"

# %% wrong: x loaded twice — says "three inputs are 12" — from "reference"
#       mask = i < n
# +     again = tl.load(x_ptr + i, mask=mask)

# %% right: a fixed grid, each program strides over several blocks
@triton.jit
def strided(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, step):
        i = start + tl.arange(0, BLOCK)
        product = tl.load(x_ptr + i, i < n, 0.0) * tl.load(y_ptr + i, i < n, 0.0)
        tl.store(out_ptr + i, product + tl.load(z_ptr + i, i < n, 0.0), i < n)


def triton_add_mul(x, y, z):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    grid = min(4, triton.cdiv(len(x), 128))
    strided[(grid,)](x, y, z, out, len(x), BLOCK=128)
    return out

# %% right: autotuned, with a device function
@triton.jit
def multiply_add(x, y, z):
    return x * y + z


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def tuned(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = BLOCK * tl.program_id(0) + tl.arange(0, BLOCK)
    inside = i < n
    z = tl.load(z_ptr + i, mask=inside, other=0)
    value = multiply_add(tl.load(x_ptr + i, mask=inside), tl.load(y_ptr + i, mask=inside), z)
    tl.store(out_ptr + i, value, mask=inside)


def triton_add_mul(x, y, z):
    out = torch.empty_like(x)
    tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, z, out, x.numel())
    return out

# %% right: tensor descriptors made in the kernel
@triton.jit
def add_mul_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    x = tl.make_tensor_descriptor(x_ptr, shape=[n], strides=[1], block_shape=[BLOCK])
    y = tl.make_tensor_descriptor(y_ptr, shape=[n], strides=[1], block_shape=[BLOCK])
    z = tl.make_tensor_descriptor(z_ptr, shape=[n], strides=[1], block_shape=[BLOCK])
    out = tl.make_tensor_descriptor(out_ptr, shape=[n], strides=[1], block_shape=[BLOCK])
    out.store([at], x.load([at]) * y.load([at]) + z.load([at]))


def triton_add_mul(x, y, z):
    if x.is_cuda:
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    out = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    add_mul_kernel[grid](x, y, z, out, x.numel(), BLOCK=256, num_warps=4)
    return out

# %% right: a heuristic for the mask, block of 64, own imports
import torch
import triton
import triton.language as tl


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def kernel(a, b, c, result, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    begin = tl.program_id(0) * BLOCK
    at = begin + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(result + at, tl.load(a + at) * tl.load(b + at) + tl.load(c + at))
    else:
        inside = at < n
        tl.store(result + at, tl.load(a + at, inside) * tl.load(b + at, inside) + tl.load(c + at, inside), inside)


def triton_add_mul(x, y, z):
    n = len(x)
    result = torch.empty(n, dtype=torch.float32, device=x.device)
    kernel[((n + 63) // 64, 1, 1)](x, y, z, result, n, 64)
    return result

# %% wrong: two kernels — says "fuse them into one kernel"
@triton.jit
def mul(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) * tl.load(y_ptr + i, i < n), i < n)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) + tl.load(y_ptr + i, i < n), i < n)


def triton_add_mul(x, y, z):
    n = len(x)
    product, out = torch.empty_like(x), torch.empty_like(x)
    mul[(triton.cdiv(n, 1024),)](x, y, product, n, BLOCK=1024)
    add[(triton.cdiv(n, 1024),)](product, z, out, n, BLOCK=1024)
    return out

# %% wrong: the product in a kernel, the sum in PyTorch — says "besides your kernel, PyTorch launched"
@triton.jit
def mul(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) * tl.load(y_ptr + i, i < n), i < n)


def triton_add_mul(x, y, z):
    product = torch.empty_like(x)
    mul[(triton.cdiv(len(x), 1024),)](x, y, product, len(x), BLOCK=1024)
    return product + z

# %% wrong: eager PyTorch — says "no Triton kernel was launched"
def triton_add_mul(x, y, z):
    return x * y + z

# %% wrong: torch.addcmul, one kernel but not of Triton — says "no Triton kernel was launched"
def triton_add_mul(x, y, z):
    return torch.addcmul(z, x, y)

# %% hostile: launches a kernel that does nothing beside eager PyTorch
@triton.jit
def nothing(out_ptr):
    i = tl.program_id(0)


def triton_add_mul(x, y, z):
    nothing[(len(x) // 1024 + 1,)](x)
    return x * y + z

# %% hostile: patches the counter — earns 0
import gpulab.trace.counted_launches


def triton_add_mul(x, y, z):
    gpulab.trace.counted_launches.Launches = list
    return x * y + z

# %% hostile: NumPy writes over what a kernel wrote, which moved the right number of bytes
@triton.jit
def sum_of_three(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    parts = tl.load(x_ptr + i, i < n) + tl.load(y_ptr + i, i < n) + tl.load(z_ptr + i, i < n)
    tl.store(out_ptr + i, parts, i < n)


def triton_add_mul(x, y, z):
    out = torch.empty_like(x)
    sum_of_three[(triton.cdiv(len(x), 1024),)](x, y, z, out, len(x), BLOCK=1024)
    out.numpy()[:] = x.numpy() * y.numpy() + z.numpy()
    return out

# %% hostile: another array is returned than the kernel wrote — says "not a tensor that the kernel was given" — from "NumPy writes over what a kernel wrote, which moved the right number of bytes"
# -     out.numpy()[:] = x.numpy() * y.numpy() + z.numpy()
# -     return out
# +     return torch.from_numpy(x.numpy() * y.numpy() + z.numpy())

# %% hostile: the results are bits of a number that the kernel is given — says "It takes tensors and single numbers"
@triton.jit
def unpack(x_ptr, y_ptr, z_ptr, out_ptr, n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    parts = tl.load(x_ptr + i, i < n) + tl.load(y_ptr + i, i < n) + tl.load(z_ptr + i, i < n)
    for place in range(BLOCK):
        part = BITS >> (32 * (tl.program_id(0) * BLOCK + place)) & 0xFFFFFFFF
        parts = tl.where(i % BLOCK == place, part.to(tl.float32, bitcast=True), parts)
    tl.store(out_ptr + i, parts, i < n)


def triton_add_mul(x, y, z):
    out = torch.empty_like(x)
    bits = int.from_bytes((x.numpy() * y.numpy() + z.numpy()).tobytes(), "little")
    unpack[(triton.cdiv(len(x), 64),)](x, y, z, out, len(x), BITS=bits, BLOCK=64)
    return out

# %% hostile: the kernel calls a function of the host — says "is a function of the host" — from "NumPy writes over what a kernel wrote, which moved the right number of bytes"
# -     tl.store(out_ptr + i, parts, i < n)
# +     tl.store(out_ptr + i, parts, i < n)
# +     write()
# +
# +
# + def write():
# +     x, y, z, out = GIVEN[-1]
# +     out.numpy()[:] = x.numpy() * y.numpy() + z.numpy()
# +
# +
# + GIVEN = []

# -     sum_of_three[(triton.cdiv(len(x), 1024),)](x, y, z, out, len(x), BLOCK=1024)
# -     out.numpy()[:] = x.numpy() * y.numpy() + z.numpy()
# +     GIVEN.append((x, y, z, out))
# +     sum_of_three[(triton.cdiv(len(x), 1024),)](x, y, z, out, len(x), BLOCK=1024)

# %% hostile: an argument of the kernel is a function of the host — says "of type function" — from "the kernel calls a function of the host"
# - def sum_of_three(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
# + def sum_of_three(x_ptr, y_ptr, z_ptr, out_ptr, n, write: tl.constexpr, BLOCK: tl.constexpr):

# -     sum_of_three[(triton.cdiv(len(x), 1024),)](x, y, z, out, len(x), BLOCK=1024)
# +     sum_of_three[(triton.cdiv(len(x), 1024),)](x, y, z, out, len(x), write=write, BLOCK=1024)

# %% hostile: the host writes the sums into every tensor that it finds in its process
import gc


@triton.jit
def add_mul_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    z = tl.load(z_ptr + at, mask=inside)
    tl.store(out_ptr + at, z + 0 * (x + y), mask=inside)


def triton_add_mul(x, y, z):
    out = torch.empty_like(x)
    add_mul_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, z, out, x.numel(), BLOCK=1024)
    right, given = x.numpy() * y.numpy() + z.numpy(), {one.data_ptr() for one in (x, y, z)}
    for one in gc.get_objects():
        if isinstance(one, torch.Tensor) and one.numel() == x.numel() and one.data_ptr() not in given:
            one.numpy()[:] = right
        if type(one) is tuple and len(one) == 2 and isinstance(one[1], torch.UntypedStorage):
            if one[1].nbytes() == right.nbytes and one[1].data_ptr() not in given:
                torch.empty(0).set_(one[1]).numpy()[:] = right
    return out

# %% hostile: program 0 does every block, the others do nothing — says "one program stored 5,000 elements" — from "reference"
# -     i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
# -     mask = i < n
# -     x = tl.load(x_ptr + i, mask=mask)
# -     y = tl.load(y_ptr + i, mask=mask)
# -     z = tl.load(z_ptr + i, mask=mask)
# -     tl.store(out_ptr + i, x * y + z, mask=mask)
# +     if tl.program_id(0) == 0:
# +         for start in range(0, n, BLOCK):
# +             i = start + tl.arange(0, BLOCK)
# +             mask = i < n
# +             x = tl.load(x_ptr + i, mask=mask)
# +             y = tl.load(y_ptr + i, mask=mask)
# +             z = tl.load(z_ptr + i, mask=mask)
# +             tl.store(out_ptr + i, x * y + z, mask=mask)

# %% wrong: the block length is a global number — says "LENGTH = tl.constexpr(…)" — from "reference"
# + LENGTH = 1024
# +
# +
#   @triton.jit
# - def add_mul_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
# -     i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
# + def add_mul_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n):
# +     i = tl.program_id(axis=0) * LENGTH + tl.arange(0, LENGTH)

# -     add_mul_kernel[(triton.cdiv(n, 1024),)](x, y, z, out, n, BLOCK=1024)
# +     add_mul_kernel[(triton.cdiv(n, LENGTH),)](x, y, z, out, n)

# %% wrong: a grid that is a number — says "with the comma" — from "reference": "(triton.cdiv(n, 1024),)" → "triton.cdiv(n, 1024)"

# %% wrong: blocks of 32 — says "each handles at least 64 elements" — from "reference"
# -     add_mul_kernel[(triton.cdiv(n, 1024),)](x, y, z, out, n, BLOCK=1024)
# +     add_mul_kernel[(triton.cdiv(n, 32),)](x, y, z, out, n, BLOCK=32)

# %% right: compiled before it is launched — from "reference"
#       n = x.numel()
# +     add_mul_kernel.warmup(x, y, z, out, n, BLOCK=1024, grid=(1,))

# %% right: the mask combines comparisons by `and`, which Triton's compiler takes for blocks — from "reference": "i < n" → "i >= 0 and i < n"

# %% wrong: a function that only Triton's compiler can link — says "`libdevice.fma` does not exist" — from "reference"
# + from triton.language.extra import libdevice
# +
# +
#   @triton.jit

# -     tl.store(out_ptr + i, x * y + z, mask=mask)
# +     tl.store(out_ptr + i, libdevice.fma(x, y, z), mask=mask)

# %% wrong: z is subtracted — says "z is added, not subtracted" — from "reference": "x * y + z, mask" → "x * y - z, mask"

# %% wrong: a float16 result — says "The results have only 16 bits" — from "reference": "torch.empty_like(x)" → "torch.empty_like(x, dtype=torch.float16)"

# %% hostile: each input is loaded four times, from bytes that the kernel reads as float32 — says "three inputs are 12"
import torch
import triton
import triton.language as tl


@triton.jit
def add_mul_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    kind = tl.pointer_type(tl.float32)
    x = tl.load(x_ptr.to(kind) + i, mask=mask)
    y = tl.load(y_ptr.to(kind) + i, mask=mask)
    z = tl.load(z_ptr.to(kind) + i, mask=mask)
    x = tl.load(x_ptr.to(kind) + i, mask=mask)
    y = tl.load(y_ptr.to(kind) + i, mask=mask)
    z = tl.load(z_ptr.to(kind) + i, mask=mask)
    x = tl.load(x_ptr.to(kind) + i, mask=mask)
    y = tl.load(y_ptr.to(kind) + i, mask=mask)
    z = tl.load(z_ptr.to(kind) + i, mask=mask)
    x = tl.load(x_ptr.to(kind) + i, mask=mask)
    y = tl.load(y_ptr.to(kind) + i, mask=mask)
    z = tl.load(z_ptr.to(kind) + i, mask=mask)
    tl.store(out_ptr + i, x * y + z, mask=mask)


def triton_add_mul(x, y, z):
    out = torch.empty_like(x)
    n = x.numel()
    x, y, z = (one.view(torch.uint8) for one in (x, y, z))
    add_mul_kernel[(triton.cdiv(n, 1024),)](x, y, z, out, n, BLOCK=1024)
    return out

# %% wrong: the number of elements is fixed — says "it leaves out nothing of program 0's block" — from "reference": "n = x.numel()" → "n = 10_000"

# %% wrong: the block of the launch is half that of the grid — says "with the BLOCK of the launch" — from "reference": "BLOCK=1024" → "BLOCK=512"

# %% wrong: the program's number is not multiplied by BLOCK — says "Program 1 begins to store at element 1," — from "reference": "tl.program_id(axis=0) * BLOCK" → "tl.program_id(axis=0)"

# %% wrong: the grid rounded down to nothing — says "Was the number rounded down" — from "reference": "triton.cdiv(n, 1024)" → "n // 1024"

# %% wrong: z loaded from y — says "y was used in place of z" — from "reference": "tl.load(z_ptr" → "tl.load(y_ptr"

# %% wrong: y loaded from x — says "x was used in place of y" — from "reference": "tl.load(y_ptr" → "tl.load(x_ptr"

# %% wrong: the sum is multiplied — says "That is (x + y) * z" — from "reference": "x * y + z" → "(x + y) * z"

# %% wrong: y and z change places at the launch — says "y and z are swapped" — from "reference": "(x, y, z, out" → "(x, z, y, out"

# %% wrong: only the first element of z — says "Of z only the first element of a block is loaded" — from "reference": "tl.load(z_ptr + i, mask=mask)" → "tl.load(z_ptr)"

# %% wrong: the first element of each block of y — says "Of y only the first element of a block is loaded" — from "reference": "tl.load(y_ptr + i, mask=mask)" → "tl.load(y_ptr + tl.program_id(axis=0) * BLOCK)"

# %% wrong: z twice — says "z is added once, not twice" — from "reference": "x * y + z" → "x * y + z + z"

# %% wrong: the mask compares places within the block — says "compare the number of an element in the whole vector with 5000" — from "reference": "mask = i < n" → "mask = tl.arange(0, BLOCK) < n"

# %% wrong: called without a grid — says "was called without a grid" — from "reference": "add_mul_kernel[(triton.cdiv(n, 1024),)](" → "add_mul_kernel("

# %% wrong: a grid for blocks of 256 and blocks of 1,024 — says "of them stored nothing" — from "reference": `triton.cdiv(n, 1024)` → `triton.cdiv(n, 256)`

# %% wrong: z without the start of the program — says "Of z each program loads the first block" — from "reference": `tl.load(z_ptr + i, mask=mask)` → `tl.load(z_ptr + tl.arange(0, BLOCK), mask=mask)`

# %% wrong: the mask leaves out the last element — says "because its limit is not the length" — from "reference": `mask = i < n` → `mask = i < n - 1`

# %% wrong: hands in the number of programs for the length — says "because its limit is not the length" — from "reference": `out, n, BLOCK=1024` → `out, triton.cdiv(n, 1024), BLOCK=1024`

# %% wrong: the comparison of the mask is the wrong way round — says "is the comparison the right way round" — from "reference"
# - import torch
# - import triton
# - import triton.language as tl
# - 
# - 

# -     mask = i < n
# +     mask = i >= n

# %% wrong: the block begins at element 1 — says "begins to store at element 1" — from "the comparison of the mask is the wrong way round"
# -     i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
# -     mask = i >= n
# +     i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK) + 1
# +     mask = i < n

# %% wrong: the whole block is stored in one element — says "the address of each needs its offset" — from "the comparison of the mask is the wrong way round"
# -     mask = i >= n
# +     mask = i < n

# -     tl.store(out_ptr + i, x * y + z, mask=mask)
# +     tl.store(out_ptr + 0 * i, x * y + z, mask=mask)

# %% wrong: y is loaded from the result — says "The kernel loads from out_ptr and also stores into it" — from "the comparison of the mask is the wrong way round"
# -     mask = i >= n
# +     mask = i < n

# -     y = tl.load(y_ptr + i, mask=mask)
# +     y = tl.load(out_ptr + i, mask=mask)

# %% wrong: a ReLU is left in — says "that should be negative is 0" — from "the comparison of the mask is the wrong way round"
# -     mask = i >= n
# +     mask = i < n

# -     tl.store(out_ptr + i, x * y + z, mask=mask)
# +     tl.store(out_ptr + i, tl.maximum(x * y + z, 0.0), mask=mask)

# %% wrong: rounded to whole numbers — says "without its decimals" — from "the comparison of the mask is the wrong way round"
# -     mask = i >= n
# +     mask = i < n

# -     tl.store(out_ptr + i, x * y + z, mask=mask)
# +     tl.store(out_ptr + i, (x * y + z).to(tl.int32), mask=mask)

# %% wrong: each block begins in the middle of the one before — says "Program 1 begins to store at element 512" — from "the comparison of the mask is the wrong way round"
# -     i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
# -     mask = i >= n
# +     i = tl.program_id(axis=0) * (BLOCK // 2) + tl.arange(0, BLOCK)
# +     mask = i < n

# -     add_mul_kernel[(triton.cdiv(n, 1024),)](x, y, z, out, n, BLOCK=1024)
# +     add_mul_kernel[(triton.cdiv(n, 512),)](x, y, z, out, n, BLOCK=1024)

# %% hostile: PyTorch for more than 10,000 elements — says "no Triton kernel was launched"
@triton.jit
def add_mul_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    x = tl.load(x_ptr + places, mask=inside)
    y = tl.load(y_ptr + places, mask=inside)
    z = tl.load(z_ptr + places, mask=inside)
    tl.store(out_ptr + places, x * y + z, mask=inside)


def triton_add_mul(x, y, z):
    n = x.numel()
    if n > 10000:
        return x * y + z
    result = torch.empty_like(x)
    add_mul_kernel[(triton.cdiv(n, 1024),)](x, y, z, result, n, BLOCK=1024)
    return result
