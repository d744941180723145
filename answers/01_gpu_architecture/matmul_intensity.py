# %% right: reference
def matmul_intensity(m, n, k, bytes_per_element):
    return 2 * m * n * k / (bytes_per_element * (m * k + k * n + m * n))

# %% right: exact fractions
from fractions import Fraction


def matmul_intensity(m, n, k, bytes_per_element):
    return float(Fraction(2, bytes_per_element) / (Fraction(1, n) + Fraction(1, m) + Fraction(1, k)))

# %% right: NumPy shapes
import numpy as np


def matmul_intensity(m, n, k, bytes_per_element):
    moved = sum(np.prod(shape, dtype=np.float64) for shape in [(m, k), (k, n), (m, n)]) * bytes_per_element
    return 2.0 * m * n * k / moved

# %% wrong: forgets the output — says "output" — from "reference": " + m * n" → ""

# %% wrong: one FLOP per FMA — says "2 FLOPs" — from "reference": "2 * " → ""

# %% wrong: one FLOP per FMA and no output — says "2 FLOPs"
def matmul_intensity(m, n, k, bytes_per_element):
    return m * n * k / (bytes_per_element * (m * k + k * n))

# %% wrong: elements for bytes — says "several bytes"
def matmul_intensity(m, n, k, bytes_per_element):
    return 2 * m * n * k / (m * k + k * n + m * n)

# %% wrong: operands fetched for every multiplication — says "moves once" — from "reference": "m * k + k * n" → "2 * m * n * k"

# %% wrong: bytes per FLOP — says "upside down"
def matmul_intensity(m, n, k, bytes_per_element):
    return bytes_per_element * (m * k + k * n + m * n) / (2 * m * n * k)

# %% wrong: the wrong inner dimension — says "m × k" — from "reference": "k + k * n + m * n" → "n + n * k + n * m"

# %% wrong: rounded down to an int — says "divide with /" — from "reference": "k / (" → "k // ("

# %% wrong: no return — says "None" — from "reference": "return " → ""

# %% hostile: leaves the process with a good exit code — earns 0
import os


def matmul_intensity(m, n, k, bytes_per_element):
    os._exit(0)

# %% wrong: parentheses forgotten — says "parentheses"
def matmul_intensity(m, n, k, bytes_per_element):
    return 2 * m * n * k / bytes_per_element * (m * k + k * n + m * n)

# %% wrong: bytes of the first matrix only — says "not only the first"
def matmul_intensity(m, n, k, bytes_per_element):
    return 2 * m * n * k / (bytes_per_element * m * k + k * n + m * n)

# %% wrong: four bytes whatever is given — says "not every element has four bytes"
def matmul_intensity(m, n, k, bytes_per_element):
    return 2 * m * n * k / (4 * (m * k + k * n + m * n))

# %% wrong: products in int32 — says "overflowed"
import numpy as np


def matmul_intensity(m, n, k, bytes_per_element):
    m, n, k = np.int32(m), np.int32(n), np.int32(k)
    return 2 * m * n * k / (bytes_per_element * (m * k + k * n + m * n))

# %% wrong: rounds — says "do not round"
def matmul_intensity(m, n, k, bytes_per_element):
    return round(2 * m * n * k / (bytes_per_element * (m * k + k * n + m * n)))

# %% hostile: a codec, an audit hook, a profiler and a monitor that rewrite what others read
import builtins
import codecs
import sys


class Answer(float):
    def __init_subclass__(cls, **named):
        raise SystemExit(0)

    def __class_getitem__(cls, item):
        return cls


def rewriting(frame, event, argument):
    if event == "call" and "expected" in frame.f_locals:
        frame.f_locals["answer"] = frame.f_locals["expected"]
    return rewriting


codecs.register_error("strict", lambda error: ("1.0", error.end))
codecs.register(lambda name: codecs.lookup("utf-8") if name != "utf-8" else None)
sys.addaudithook(lambda event, given: None)
sys.setprofile(rewriting)
if hasattr(sys, "monitoring"):
    sys.monitoring.use_tool_id(0, "points")
builtins.abs = lambda number: 0.0


def matmul_intensity(m, n, k, bytes_per_element):
    return Answer(1.0)

# %% wrong: three matrices of the output's shape — says "Only the output is m × n" — from "reference": "m * k + k * n" → "m * n + m * n"

# %% wrong: an output of n × k — says "The output is m × n" — from "reference": " + m * n" → " + n * k"

# %% wrong: everything read and written — says "moves only once" — from "reference": "/ (" → "/ (2 * "

# %% right: in float32
import torch


def matmul_intensity(m, n, k, bytes_per_element):
    moved = torch.tensor(float(bytes_per_element * (m * k + k * n + m * n)))
    return (2 * m * n * k / moved).item()

# %% wrong: the sum of the three sizes — says "not m plus k" — from "reference": "m * k + k * n + m * n" → "m + n + k"

# %% wrong: the elements multiplied — says "do not multiply them" — from "reference": "m * k + k * n + m * n" → "m * k * k * n * m * n"

# %% wrong: a second matrix of n × n — says "not n × n" — from "reference": "k * n" → "n * n"

# %% wrong: forgets the second matrix — says "second matrix, k × n, is missing" — from "reference": " + k * n" → ""

# %% wrong: forgets the first matrix — says "first matrix, m × k, is missing" — from "reference": "m * k + k" → "k"

# %% wrong: two FLOPs per element of the output — says "takes k multiply-adds" — from "reference": "2 * m * n * k" → "2 * m * n"

# %% wrong: the output moves with each multiply-add — says "not k times" — from "reference": "+ m * n" → "+ m * n * k"

# %% wrong: four bytes for the output — says "Elements of the output have bytes_per_element bytes" — from "reference": "bytes_per_element * (m * k + k * n + m * n)" → "bytes_per_element * (m * k + k * n) + 4 * m * n"

# %% wrong: the perimeters of the matrices — says "m times k elements" — from "reference": "m * k + k * n + m * n" → "4 * (m + n + k)"

# %% wrong: bytes divided by 8 — says "bytes, not bits" — from "reference": "(bytes_per_element * (" → "(bytes_per_element / 8 * ("

# %% wrong: one byte for an element of the output — says "have bytes_per_element bytes" — from "reference": "bytes_per_element * (m * k + k * n + m * n)" → "bytes_per_element * (m * k + k * n) + m * n"

# %% wrong: the second matrix moves for each row of the output — says "moves once" — from "reference": "+ k * n" → "+ m * k * n"

# %% wrong: m rows for n columns — says "each of the three sizes" — from "reference": "2 * m * n * k" → "2 * m * m * k"

# %% wrong: the output has the shape of the first input — says "49 elements, and not 41" — from "reference": "+ m * n)" → "+ m * k)"

# %% wrong: both inputs are m × k — says "34 elements, and not 41" — from "reference": "+ k * n" → "+ m * k"

# %% wrong: the second input is k × k — says "69 elements, and not 41" — from "reference": "+ k * n" → "+ k * k"

# %% wrong: three squares of n — says "27 elements, and not 41" — from "reference": "(m * k + k * n + m * n)" → "3 * n * n"

# %% wrong: m n for the first input, and twice the second — says "48 elements, and not 41" — from "reference": "(m * k + k * n + m * n)" → "(m * n + 2 * n * k)"

# %% wrong: the inputs move twice — says "76 elements, and not 41" — from "reference": "(m * k + k * n" → "(2 * m * k + 2 * k * n"

# %% wrong: the FLOPs of two lists — says "each of the three sizes is a factor" — from "reference": "2 * m * n * k" → "2 * k * (m + n)"

# %% wrong: the FLOPs of one column — says "each of the three sizes is a factor" — from "reference": "2 * m * n * k" → "2 * m * k"

# %% wrong: an output of one row is one number — says "one row or column is more than one number" — from "reference": "+ m * n))" → "+ (m * n if min(m, n) > 1 else 1)))"
