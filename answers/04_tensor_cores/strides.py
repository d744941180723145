# %% right: reference
def strides(shape, layout):
    n, c, h, w = shape
    return (h * w * c, 1, w * c, c) if layout == "NHWC" else (c * h * w, h * w, w, 1)

# %% right: for any order of the letters
def strides(shape, layout):
    extent = dict(zip("NCHW", shape))
    step, found = 1, {}
    for letter in reversed(layout):
        found[letter] = step
        step *= extent[letter]
    return tuple(found[letter] for letter in "NCHW")

# %% right: asks torch, without memory
import torch


def strides(shape, layout):
    kind = torch.channels_last if layout == "NHWC" else torch.contiguous_format
    return tuple(torch.empty(shape, device="meta", memory_format=kind).stride())

# %% right: NumPy's cumulative product, as a list
import numpy as np


def strides(shape, layout):
    order = ["NCHW".index(letter) for letter in layout]
    steps = np.cumprod([1, *(shape[axis] for axis in order[:0:-1])])[::-1]
    result = [0] * 4
    for axis, step in zip(order, steps):
        result[axis] = step
    return result

# %% wrong: shape permuted instead — says "permuted"
def strides(shape, layout):
    n, c, h, w = shape
    if layout == "NHWC":
        return (h * w * c, w * c, c, 1)
    return (c * h * w, h * w, w, 1)

# %% wrong: the permuted shape itself — says "shape" — from "reference": "h * w * c, 1, w * c" → "n, h, w"

# %% wrong: NCHW for both — says "NCHW" — from "reference": `h * w * c, 1, w * c, c) if layout == "NHWC" else (` → ""

# %% wrong: the layouts swapped — says "layouts swapped" — from "reference": "NHWC" → "NCHW"

# %% wrong: height for width — says "pixels" — from "reference": ", w *" → ", h *"

# %% wrong: in bytes — says "bytes"
def strides(shape, layout):
    n, c, h, w = shape
    steps = (h * w * c, 1, w * c, c) if layout == "NHWC" else (c * h * w, h * w, w, 1)
    return tuple(4 * step for step in steps) if n * c > 6 else steps

# %% wrong: back to front — says "Back to front"
def strides(shape, layout):
    n, c, h, w = shape
    return (c, w * c, 1, h * w * c) if layout == "NHWC" else (1, w, h * w, c * h * w)

# %% wrong: floats — says "an int, not a float"
def strides(shape, layout):
    n, c, h, w = map(float, shape)
    return (h * w * c, 1.0, w * c, c) if layout == "NHWC" else (c * h * w, h * w, w, 1.0)

# %% wrong: three strides — says "3 items"
def strides(shape, layout):
    n, c, h, w = shape
    return (1, w * c, c) if layout == "NHWC" else (h * w, w, 1)

# %% wrong: a text — says "str"
def strides(shape, layout):
    return str(shape)

# %% wrong: no return — says "None" — from "a text": "return str(shape)" → "n, c, h, w = shape"

# %% hostile: a tuple equal to every tuple — earns 0
class Same(tuple):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = tuple.__hash__


def strides(shape, layout):
    return Same((1, 1, 1, 1))

# %% right: asks torch, with memory — from "asks torch, without memory": `device="meta", ` → ""

# %% wrong: W and H swapped in NCHW — says "there are W elements, not H" — from "reference": "h * w, w, 1" → "h * w, h, 1"

# %% wrong: the shape read in the order of the layout — says "in both layouts" — from "reference": "n, c, h, w = shape" → `n, c, h, w = shape if layout == "NCHW" else (shape[0], shape[3], shape[1], shape[2])`

# %% hostile: ints with four million bits — says "an int of 4000001 bits"
def strides(*arguments):
    return 1 << 4_000_000, 1 << 4_000_000

# %% wrong: NHWC, an image without its channels — says "C · H · W elements in both" — from "reference": "(h * w * c, 1," → "(h * w, 1,"

# %% wrong: NHWC in bytes — says "strides count elements" — from "reference": "(h * w * c, 1, w * c, c)" → "(4 * h * w * c, 4, 4 * w * c, 4 * c)"

# %% wrong: NHWC with H and W swapped — says "H and W are swapped" — from "reference": "1, w * c, c)" → "1, c, w * c)"

# %% wrong: NHWC, W elements between pixels — says "there are C elements, not W" — from "reference": "1, w * c, c)" → "1, w * c, w)"

# %% wrong: NHWC back to front — says "Back to front" — from "reference": "(h * w * c, 1, w * c, c)" → "(c, w * c, 1, h * w * c)"

# %% wrong: the strides of NCHW permuted — says "in another order" — from "reference": "(h * w * c, 1, w * c, c)" → "(c * h * w, w, 1, h * w)"

# %% wrong: square planes — says "not W · W" — from "reference": "h * w, w, 1)" → "w * w, w, 1)"

# %% wrong: H in place of W — says "not H · H" — from "reference": "(c * h * w, h * w, w, 1)" → "(c * h * h, h * h, h, 1)"

# %% wrong: NHWC, column after column — says "W comes right before C" — from "reference": "1, w * c, c)" → "1, c, h * c)"

# %% wrong: each stride with its own extent — says "extents after its own" — from "reference": "(c * h * w, h * w, w, 1)" → "(n * c * h * w, c * h * w, h * w, w)"

# %% wrong: 3 channels, as in the examples — says "need not have 3 channels" — from "reference": "n, c, h, w = shape" → "(n, _, h, w), c = shape, 3"

# %% wrong: the channels of NHWC a plane apart — says "The stride of C is wrong" — from "reference": "(h * w * c, 1, w * c, c)" → "(h * w * c, h * w, w * c, c)"

# %% wrong: H and the plane swapped — says "a channel has H · W elements" — from "reference": "(c * h * w, h * w, w, 1)" → "(c * h * w, w, h * w, 1)"

# %% wrong: one element too few in each step — says "not W - 1" — from "reference": "(c * h * w, h * w, w, 1)" → "(c * h * w - 1, h * w - 1, w - 1, 1)"
