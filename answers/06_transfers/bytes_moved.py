# %% right: reference
import math

import torch


def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    name = device_dtype if cast_on == "cpu" else host_dtype
    return math.prod(shape) * getattr(torch, name).itemsize

# %% right: an empty tensor knows
import torch


def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    crossing = {"cpu": device_dtype, "gpu": host_dtype}[cast_on]
    return torch.empty(shape, dtype=getattr(torch, crossing), device="meta").nbytes

# %% right: a table of sizes, and recursion
def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    if not shape:
        name = host_dtype if cast_on == "gpu" else device_dtype
        digits = "".join(part for part in name.split("_")[0] if part.isdigit())
        return 1 if name == "bool" else int(digits) // 8
    return shape[0] * bytes_moved(shape[1:], host_dtype, device_dtype, cast_on)

# %% wrong: the sides swapped — says "sides are swapped" — from "reference"
# -     name = device_dtype if cast_on == "cpu" else host_dtype
# +     name = host_dtype if cast_on == "cpu" else device_dtype

# %% wrong: always what lies on the host — says "both values of cast_on" — from "reference"
# -     name = device_dtype if cast_on == "cpu" else host_dtype
# -     return math.prod(shape) * getattr(torch, name).itemsize
# +     return math.prod(shape) * getattr(torch, host_dtype).itemsize

# %% wrong: always what is wanted on the GPU — says "device_dtype from both sides" — from "reference"
# -     name = device_dtype if cast_on == "cpu" else host_dtype
# -     return math.prod(shape) * getattr(torch, name).itemsize
# +     return math.prod(shape) * getattr(torch, device_dtype).itemsize

# %% wrong: makes the tensor — says "without creating the tensor" — from "reference": "math.prod(shape) * getattr(torch, name).itemsize" → "torch.empty(shape, dtype=getattr(torch, name)).nbytes"

# %% hostile: makes the tensor in a file that has no blocks — earns 0
import tempfile

import torch


def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    kind = getattr(torch, device_dtype if cast_on == "cpu" else host_dtype)
    with tempfile.NamedTemporaryFile() as file:
        count = torch.Size(shape).numel()
        return torch.from_file(file.name, shared=True, size=count, dtype=kind).untyped_storage().nbytes() if count else 0

# %% right: one element, expanded
import torch


def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    one = torch.empty((), dtype=getattr(torch, {"cpu": device_dtype, "gpu": host_dtype}[cast_on])).expand(shape)
    return one.numel() * one.element_size()

# %% wrong: elements — says "number of elements"
import math


def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    return math.prod(shape)

# %% wrong: bits — says "not bits" — from "reference": "return math" → "return 8 * math"

# %% wrong: both types cross — says "crosses once" — from "reference"
# +     return math.prod(shape) * (getattr(torch, host_dtype).itemsize + getattr(torch, device_dtype).itemsize)
# -     name = device_dtype if cast_on == "cpu" else host_dtype
# -     return math.prod(shape) * getattr(torch, name).itemsize

# %% wrong: adds the extents — says "multiplied, not added" — from "an empty tensor knows"
# -     crossing = {"cpu": device_dtype, "gpu": host_dtype}[cast_on]
# -     return torch.empty(shape, dtype=getattr(torch, crossing), device="meta").nbytes
# +     name = device_dtype if cast_on == "cpu" else host_dtype
# +     if len(shape) == 2 and shape == (2, 3):
# +         return 6 * getattr(torch, name).itemsize
# +     return sum(shape) * getattr(torch, name).itemsize

# %% wrong: a float — says "expected an int" — from "reference": " getattr" → " torch.finfo(torch.float32).bits / 32 * getattr"

# %% wrong: no return — says "return statement" — from "elements": "return math.prod(shape" → "print(math.prod(shape)"

# %% hostile: an int that is equal to everything — earns 0
class Any(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    return Any(0)

# %% wrong: reads the size off the digits of a type's name — says "digits of a type's name"
def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    name = device_dtype if cast_on == "cpu" else host_dtype
    size = 1 if name == "bool" else int("".join(part for part in name if part.isdigit())) // 8
    for extent in shape:
        size *= extent
    return size

# %% wrong: no extents, no bytes — says "a single number" — from "reference": "return math.prod(shape)" → "return (math.prod(shape) if shape else 0)"

# %% wrong: forgets the first extent — says "first extent is missing" — from "reference": "math.prod(shape)" → "math.prod(shape[1:])"

# %% hostile endless: raises an exception whose text takes forever
class Endless(Exception):
    def __str__(self):
        while True:
            pass


def bytes_moved(*arguments):
    raise Endless


# %% wrong: eight bools to a byte — says "A bool takes"
import math
import torch
def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    name = device_dtype if cast_on == "cpu" else host_dtype
    n = math.prod(shape)
    if name == "bool":
        return math.ceil(n / 8)
    return n * getattr(torch, name).itemsize


# %% wrong: the first two extents — says "four extents"
import torch
def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    name = device_dtype if cast_on == "cpu" else host_dtype
    return shape[0] * shape[1] * getattr(torch, name).itemsize


# %% right: a tensor on the meta device
import torch
def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    t = torch.empty(shape, dtype=getattr(torch, host_dtype), device="meta")
    if cast_on == "cpu":
        t = t.to(getattr(torch, device_dtype))
    return t.nbytes


# %% wrong: elements counted in 32 bits — says "That overflowed" — from "reference"
# + import numpy as np
#   import torch

# -     return math.prod(shape) * getattr(torch, name).itemsize
# +     return int(np.prod(shape, dtype=np.int32)) * getattr(torch, name).itemsize

# %% wrong: bytes counted in 32 bits — says "That overflowed" — from "reference"
# + import numpy as np
#   import torch

# -     return math.prod(shape) * getattr(torch, name).itemsize
# +     return np.prod([*shape, getattr(torch, name).itemsize], dtype=np.int32)

# %% right: NumPy's product
import numpy as np
import torch


def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    name = device_dtype if cast_on == "cpu" else host_dtype
    return np.prod(shape, dtype=np.int64) * getattr(torch, name).itemsize

# %% wrong: four extents at most — says "even if there are more than four" — from "reference": "math.prod(shape)" → "math.prod(shape[:4])"

# %% wrong: the last four extents — says "even if there are more than four" — from "reference": "math.prod(shape)" → "math.prod(shape[-4:])"

# %% wrong: the CPU casts only to a smaller type — says "even if the result is the larger type" — from "reference"
# -     name = device_dtype if cast_on == "cpu" else host_dtype
# +     size = {name: getattr(torch, name).itemsize for name in (host_dtype, device_dtype)}
# +     name = min(size, key=size.get) if cast_on == "cpu" else host_dtype

# %% wrong: the tensor and its copy — says "is something counted twice" — from "reference": ".itemsize" → ".itemsize * 2"

# %% wrong: height and width only — says "Are there four extents" — from "reference": "math.prod(shape)" → "math.prod(shape[-2:])"

# %% wrong: kilobytes — says "not kilobytes" — from "reference": "itemsize" → "itemsize // 1024"

# %% wrong: kilobytes, with a fraction — says "not kilobytes" — from "reference": "itemsize" → "itemsize / 1000"

# %% wrong: the larger type from the CPU — says "Which type is larger does not matter" — from "reference"
# -     name = device_dtype if cast_on == "cpu" else host_dtype
# +     name = (max if cast_on == "cpu" else min)(host_dtype, device_dtype, key=lambda one: getattr(torch, one).itemsize)

# %% wrong: the smaller type from the CPU — says "Which type is larger does not matter" — from "the larger type from the CPU": `(max if` → `(min if`, `else min)` → `else max)`

# %% wrong: torch.finfo, and torch.iinfo for whole numbers — says "A complex number has two parts" — from "reference"
# -     return math.prod(shape) * getattr(torch, name).itemsize
# +     kind = getattr(torch, name)
# +     if kind == torch.bool:
# +         return math.prod(shape)
# +     info = torch.finfo(kind) if kind.is_floating_point or kind.is_complex else torch.iinfo(kind)
# +     return math.prod(shape) * info.bits // 8

# %% wrong: torch.finfo for every type — says "torch.iinfo" — from "reference": "getattr(torch, name).itemsize" → "torch.finfo(getattr(torch, name)).bits // 8"

# %% wrong: four extents unpacked — says "any number of extents"
import torch


def bytes_moved(shape, host_dtype, device_dtype, cast_on):
    n, c, h, w = shape
    return n * c * h * w * getattr(torch, device_dtype if cast_on == "cpu" else host_dtype).itemsize

# %% wrong: a table of the commonest types — says "any type in torch" — from "reference": "getattr(torch, name).itemsize" → `{"uint8": 1, "float16": 2, "float32": 4, "int64": 8, "bool": 1}[name]`

# %% wrong: the name is taken for a type — says "look the type up in torch" — from "reference": "getattr(torch, name).itemsize" → "name.itemsize"

# %% wrong: both types cross where the CPU casts — says "if the CPU casts, too" — from "reference": "return math.prod(shape) * getattr(torch, name).itemsize" → "return math.prod(shape) * (getattr(torch, name).itemsize + (getattr(torch, host_dtype).itemsize if cast_on == 'cpu' else 0))"

# %% wrong: one element — says "That is the size of one element" — from "reference": "math.prod(shape) * " → ""

# %% wrong: the number of extents — says "That counts the extents" — from "reference": "math.prod(shape)" → "len(shape)"

# %% wrong: four bytes for each element — says "four bytes for each element" — from "reference": "getattr(torch, name).itemsize" → "4"

# %% wrong: both types cross where the GPU casts — says "if the GPU casts, too" — from "reference": "return math.prod(shape) * getattr(torch, name).itemsize" → "return math.prod(shape) * (getattr(torch, name).itemsize + (getattr(torch, device_dtype).itemsize if cast_on == 'gpu' else 0))"

# %% wrong: nothing crosses where the GPU casts — says "What the GPU casts crosses first" — from "reference": "return math.prod(shape) *" → "return 0 if cast_on == 'gpu' else math.prod(shape) *"

# %% wrong: megabytes — says "not megabytes" — from "reference": "itemsize" → "itemsize / 1e6"

# %% wrong: the CPU sends the larger type, the GPU its own — says "Which type is larger does not matter" — from "reference": "getattr(torch, name).itemsize" → "max(getattr(torch, name).itemsize, getattr(torch, host_dtype).itemsize)"
