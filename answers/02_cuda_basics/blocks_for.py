# %% right: reference
def blocks_for(n, threads_per_block):
    return (n + threads_per_block - 1) // threads_per_block

# %% right: rounds a negative number down
def blocks_for(n, threads_per_block):
    return -(-n // threads_per_block)

# %% right: quotient and remainder
def blocks_for(n, threads_per_block):
    blocks, left = divmod(n, threads_per_block)
    return blocks + (left > 0)

# %% right: NumPy's ceiling, as an int
import numpy as np


def blocks_for(n, threads_per_block):
    return np.int64(np.ceil(n / threads_per_block))

# %% wrong: floor — says "rounded down"
def blocks_for(n, threads_per_block):
    return n // threads_per_block

# %% wrong: one too many at multiples — says "one block too many" — from "floor": "/ threads_per_block" → "/ threads_per_block + 1"

# %% wrong: at least one block, even for nothing — says "Zero elements need no block"
def blocks_for(n, threads_per_block):
    return max(1, -(-n // threads_per_block))

# %% wrong: rounds to the nearest — says "rounded" — from "floor": "n // threads_per_block" → "round(n / threads_per_block)"

# %% wrong: the threads instead of the blocks — says "That is the number of threads" — from "floor": "n //" → "-(-n // threads_per_block) *"

# %% wrong: divides the wrong way round — says "Elements by threads"
def blocks_for(n, threads_per_block):
    return -(-threads_per_block // n) if n else 0

# %% wrong: a float — says "expected an int" — from "NumPy's ceiling, as an int": "np.int64" → "float"

# %% wrong: true division — says "no fractions of a block" — from "reference": "(n + threads_per_block - 1) /" → "n "

# %% wrong: adds a whole block before dividing — says "one block too many" — from "reference": " - 1" → ""

# %% wrong: prints instead of returning — says "is there a return statement"
def blocks_for(n, threads_per_block):
    print(-(-n // threads_per_block))

# %% hostile: an int equal to everything — earns 0
class Anything(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def blocks_for(n, threads_per_block):
    return Anything(0)

# %% hostile: ends the process — earns 0
import os


def blocks_for(n, threads_per_block):
    os._exit(0)

# %% wrong: no block for less than a whole one — says "rounded down"
def blocks_for(n, threads_per_block):
    if n < threads_per_block:
        return 0
    return -(-n // threads_per_block)

# %% wrong: the threads that are idle — says "threads that are idle" — from "reference": "// threads_per_block" → "// threads_per_block * threads_per_block - n"

# %% wrong: one of the two signs is missing — says "change its sign" — from "floor": "n //" → "-n //"

# %% wrong: no more than 65,535 blocks — says "set no limit" — from "reference": "return (n + threads_per_block - 1) // threads_per_block" → "return min(65535, (n + threads_per_block - 1) // threads_per_block)"

# %% wrong: shifts by the bits of the block's size — says "need not be a power of two" — from "reference": "// threads_per_block" → ">> threads_per_block.bit_length() - 1"

# %% wrong: divides in float32 — says "float32 holds them exactly only up to" — from "reference"
# - def blocks_for(n, threads_per_block):
# -     return (n + threads_per_block - 1) // threads_per_block
# + import numpy as np
# +
# +
# + def blocks_for(n, threads_per_block):
# +     return int(np.ceil(np.float32(n) / np.float32(threads_per_block)))

# %% wrong: true division of the rounded-up sum — says "divide with //" — from "reference": "1) // threads" → "1) / threads"

# %% wrong: adds the remainder — says "the quotient plus the remainder" — from "floor": "n // threads_per_block" → "n // threads_per_block + n % threads_per_block"

# %% wrong: blocks of a warp — says "not the 32 of a warp" — from "floor": "n // threads_per_block" → "-(-n // 32)"

# %% wrong: the product — says "That is the product" — from "floor": "n // threads_per_block" → "n * threads_per_block"

# %% wrong: the difference — says "That is the difference" — from "floor": "n // threads_per_block" → "n - threads_per_block"

# %% wrong: the condition the other way round — says "the condition the other way round"
def blocks_for(n, threads_per_block):
    if n % threads_per_block:
        return n // threads_per_block
    return n // threads_per_block + 1

# %% wrong: an if expression takes in the whole sum — says "an if expression takes in everything"
def blocks_for(n, threads_per_block):
    return n // threads_per_block + 1 if n % threads_per_block else 0
