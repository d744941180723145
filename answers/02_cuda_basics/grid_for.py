# %% right: reference
def grid_for(shape, block):
    rows, columns = shape
    return (-(-columns // block[0]), -(-rows // block[1]))

# %% right: backwards over the shape
def grid_for(shape, block):
    return tuple((extent + threads - 1) // threads for extent, threads in zip(reversed(shape), block))

# %% right: NumPy, as a list of ints
import numpy as np


def grid_for(shape, block):
    return np.ceil(np.array(shape)[::-1] / np.array(block)).astype(int).tolist()

# %% wrong: x along the rows — says "x and y are swapped"
def grid_for(shape, block):
    return (-(-shape[0] // block[0]), -(-shape[1] // block[1]))

# %% wrong: right numbers in the order of the shape — says "x and y are swapped"
def grid_for(shape, block):
    rows, columns = shape
    return (-(-rows // block[1]), -(-columns // block[0]))

# %% wrong: takes the block as (rows, columns) — says "its first number belongs to the columns"
def grid_for(shape, block):
    rows, columns = shape
    return (-(-columns // block[1]), -(-rows // block[0]))

# %% wrong: floor — says "rounded down"
def grid_for(shape, block):
    rows, columns = shape
    return (columns // block[0], rows // block[1])

# %% wrong: one too many at multiples — says "one block too many" — from "floor": ", rows // block[1]" → " + 1, rows // block[1] + 1"

# %% wrong: threads instead of blocks — says "threads, not blocks"
def grid_for(shape, block):
    rows, columns = shape
    return (-(-columns // block[0]) * block[0], -(-rows // block[1]) * block[1])

# %% wrong: how many blocks there are in all — says "you returned 26"
def grid_for(shape, block):
    rows, columns = shape
    return -(-columns // 32) * -(-rows // 8) // 16

# %% wrong: rounds up only along x — says "Rounded down" — from "reference": "-(-rows // block[1])" → "rows // block[1]"

# %% wrong: floats — says "32.0" — from "NumPy, as a list of ints"
# -     return np.ceil(np.array(shape)[::-1] / np.array(block)).astype(int).tolist()
# +     rows, columns = shape
# +     return (float(np.ceil(columns / block[0])), float(np.ceil(rows / block[1])))

# %% wrong: prints instead of returning — says "is there a return statement" — from "reference": "return " → "print"

# %% hostile: a tuple equal to everything — earns 0
class Anything(tuple):
    def __eq__(self, other):
        return True

    __hash__ = tuple.__hash__


def grid_for(shape, block):
    return Anything((1, 1))

# %% wrong: one block too many along y only — says "One block too many"
def grid_for(shape, block):
    return -(-shape[1] // block[0]), shape[0] // block[1] + 1

# %% wrong: one row of blocks for all elements — says "cover each axis by itself"
def grid_for(shape, block):
    return (-(-shape[0] * shape[1] // (block[0] * block[1])), 1)

# %% right: calls blocks_for, as the hint says
def grid_for(shape, block):
    rows, columns = shape
    return blocks_for(columns, block[0]), blocks_for(rows, block[1])

# %% wrong: rounds, with a little more than a half — says "A single row or column left over"
def grid_for(shape, block):
    rows, columns = shape
    return (round(columns / block[0] + 0.49), round(rows / block[1] + 0.49))

# %% wrong: blocks of (32, 8) alone — says "not (32, 8)"
def grid_for(shape, block):
    rows, columns = shape
    return (-(-columns // 32), -(-rows // 8))

# %% wrong: a square grid — says "the grid need not be square"
def grid_for(shape, block):
    rows, columns = shape
    side = max(-(-columns // block[0]), -(-rows // block[1]))
    return (side, side)

# %% wrong: fractions of a block — says "no fractions of a block" — from "reference": "-(-columns // block[0]), -(-rows // block[1])" → "columns / block[0], rows / block[1]"

# %% wrong: rounds to the nearest — says "Rounded to the nearest" — from "reference": "(-(-columns // block[0]), -(-rows // block[1]))" → "round(columns / block[0]), round(rows / block[1])"

# %% wrong: both axes divided by the threads along x — says "The rows are divided by the threads along x" — from "reference": "rows // block[1]" → "rows // block[0]"

# %% wrong: both axes divided by the threads along y — says "The columns are divided by the threads along y" — from "reference": "columns // block[0]" → "columns // block[1]"

# %% wrong: both numbers from the rows — says "Both numbers come from the rows" — from "reference": "-columns //" → "-rows //"

# %% wrong: both numbers from the columns — says "Both numbers come from the columns" — from "reference": "-rows //" → "-columns //"

# %% wrong: rounds down below zero — says "change both signs" — from "reference": "-(-columns // block[0]), -(-rows // block[1])" → "-columns // block[0], -rows // block[1]"

# %% wrong: no parentheses around the sums — says "put the sums in parentheses"
def grid_for(shape, block):
    rows, columns = shape
    x, y = block
    return columns + x - 1 // x, rows + y - 1 // y

# %% wrong: the ratios upside down — says "not the threads by these" — from "reference": "-(-columns // block[0]), -(-rows // block[1])" → "-(-block[0] // columns), -(-block[1] // rows)"

# %% wrong: the remainders — says "Those are the remainders" — from "reference": "-(-columns // block[0]), -(-rows // block[1])" → "columns % block[0], rows % block[1]"

# %% wrong: all elements by the threads along x — says "divide these, not all elements" — from "reference": "-(-columns //" → "-(-rows * columns //"
