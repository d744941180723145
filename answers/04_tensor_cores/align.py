# %% right: reference
def align(n, bytes_per_element, alignment_bytes=16):
    multiple = alignment_bytes // bytes_per_element
    return (n + multiple - 1) // multiple * multiple

# %% right: in bytes, rounded up with a negative division
def align(n, bytes_per_element, alignment_bytes=16):
    pieces = -(-n * bytes_per_element // alignment_bytes)
    return pieces * alignment_bytes // bytes_per_element

# %% right: adds what is missing
def align(n, bytes_per_element, alignment_bytes=16):
    return n + (-n * bytes_per_element) % alignment_bytes // bytes_per_element

# %% right: with math.ceil
import math


def align(n, bytes_per_element, alignment_bytes=16):
    unit = alignment_bytes // bytes_per_element
    return math.ceil(n / unit) * unit

# %% right: one at a time, in NumPy's integers
import numpy as np


def align(n, bytes_per_element, alignment_bytes=16):
    size = np.int64(n)
    while size * bytes_per_element % alignment_bytes:
        size += 1
    return size

# %% wrong: rounds down — says "the multiple below" — from "reference": "(n + multiple - 1)" → "n"

# %% wrong: counts in elements — says "divide it by the bytes of an element"
def align(n, bytes_per_element, alignment_bytes=16):
    return -(-n // alignment_bytes) * alignment_bytes

# %% wrong: counts in elements and rounds down — says "padding adds"
def align(n, bytes_per_element, alignment_bytes=16):
    return n // alignment_bytes * alignment_bytes

# %% wrong: gives bytes — says "length in bytes" — from "counts in elements": "n /" → "n * bytes_per_element /"

# %% wrong: always adds, even where it fits — says "fits already" — from "reference": "+ multiple - 1) // multiple" → "// multiple + 1)"

# %% wrong: 16 bytes whatever is asked for — says "which is not 16 here"
def align(n, bytes_per_element, alignment_bytes=16):
    multiple = 16 // bytes_per_element
    return -(-n // multiple) * multiple

# %% wrong: multiples of 8 whatever the type — says "Round up to alignment_bytes" — from "counts in elements": "alignment_bytes) * alignment_bytes" → "8) * 8"

# %% wrong: a float — says "expected an int"
def align(n, bytes_per_element, alignment_bytes=16):
    import math

    multiple = alignment_bytes / bytes_per_element
    return math.ceil(n / multiple) * multiple

# %% wrong: true or false — says "expected an int"
def align(n, bytes_per_element, alignment_bytes=16):
    return n * bytes_per_element % alignment_bytes == 0

# %% wrong: prints — says "is there a return statement"
def align(n, bytes_per_element, alignment_bytes=16):
    multiple = alignment_bytes // bytes_per_element
    print(-(-n // multiple) * multiple)

# %% wrong endless: never gets there — says "Does a loop never end"
def align(n, bytes_per_element, alignment_bytes=16):
    size = n
    while size % alignment_bytes != bytes_per_element * alignment_bytes:
        size += bytes_per_element
    return size

# %% hostile: an int that is equal to everything — earns 0
class Anything(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def align(n, bytes_per_element, alignment_bytes=16):
    return Anything(0)

# %% hostile: looks for the right value in its caller — earns 0
def align(n, bytes_per_element, alignment_bytes=16):
    import sys

    frame = sys._getframe(1)
    while frame is not None:
        for scope in (frame.f_locals, frame.f_globals):
            if isinstance(scope.get("right"), int):
                return scope["right"]
            if "next_multiple" in scope:
                return scope["next_multiple"](n, alignment_bytes // bytes_per_element)
        frame = frame.f_back
    return 0

# %% hostile: leaves as if all were well — earns 0
import os


def align(n, bytes_per_element, alignment_bytes=16):
    os._exit(0)

# %% wrong: alignment in bits — says "not in bits" — from "reference": "alignment_bytes // " → "alignment_bytes * 8 // "

# %% wrong: rounds up with a mask of bits — says "Masking bits"
def align(n, bytes_per_element, alignment_bytes=16):
    unit = alignment_bytes // bytes_per_element
    return (n + unit - 1) & ~(unit - 1)

# %% wrong: the next power of two — says "next power of two is more than is needed"
def align(n, bytes_per_element, alignment_bytes=16):
    return 1 << (n - 1).bit_length()

# %% wrong: only what is missing — says "return the padded size" — from "adds what is missing": "n + (" → "("

# %% wrong: an element has two bytes, whatever is given — says "An element has 4 bytes here" — from "reference": "// bytes_per_element" → "// 2"

# %% wrong: leaves fewer elements than a unit as they are — says "Fewer elements than one unit" — from "reference"
#       multiple = alignment_bytes // bytes_per_element
# +     if n < multiple:
# +         return n

# %% wrong: two units for exactly one — says "It fits already" — from "reference"
#       multiple = alignment_bytes // bytes_per_element
# +     if n == multiple and n != 8:
# +         return 2 * n

# %% wrong: units of at least two elements — says "Every element is aligned here" — from "reference": "alignment_bytes // bytes_per_element" → "max(2, alignment_bytes // bytes_per_element)"

# %% wrong: the missing bytes as elements — says "Bytes are added to elements" — from "adds what is missing": " // bytes_per_element" → ""

# %% wrong: times the bytes of an element — says "8 elements are a unit" — from "reference": "alignment_bytes // bytes_per_element" → "alignment_bytes * bytes_per_element"

# %% right: one more, again and again
def align(n, bytes_per_element, alignment_bytes=16):
    return n if n * bytes_per_element % alignment_bytes == 0 else align(n + 1, bytes_per_element, alignment_bytes)

# %% wrong: at least one unit — says "fit already" — from "reference": "return (n + multiple - 1) // multiple * multiple" → "return max(multiple, (n + multiple - 1) // multiple * multiple)"

# %% wrong: two too few in the sum — says "the multiple below" — from "reference": "multiple - 1" → "multiple - 2"

# %% wrong: a product in parentheses — says "from left to right" — from "reference": "// multiple * multiple" → "// (multiple * multiple)"

# %% wrong: compared with the alignment instead of rounded up — says "is no multiple of 16" — from "reference": "return (n + multiple - 1) // multiple * multiple" → "return max(n, alignment_bytes)"

# %% wrong: adds the remainder — says "add what is missing" — from "reference": "(n + multiple - 1) // multiple * multiple" → "n + n % multiple"

# %% wrong: rounds to whole elements — says "8 elements are a unit" — from "reference": "alignment_bytes // bytes_per_element" → "bytes_per_element"

# %% wrong: rounded up as a negative number — says "turn its sign around" — from "reference": "(n + multiple - 1) // multiple * multiple" → "-n // multiple * multiple"

# %% wrong: even sizes are not padded — says "That is n itself" — from "reference": "return (n + multiple - 1) // multiple * multiple" → "return (n + multiple - 1) // multiple * multiple if n % 2 else n"
