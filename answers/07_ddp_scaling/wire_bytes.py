# %% right: reference
def wire_bytes(algorithm, world_size, nbytes):
    factor = {"ring": 2 * (world_size - 1) / world_size, "parameter_server": 1, "server": world_size}[algorithm]
    return float(factor * nbytes)

# %% right: counts steps
def wire_bytes(algorithm, world_size, nbytes):
    if algorithm == "ring":
        return sum(nbytes / world_size for _ in range(2 * (world_size - 1)))
    if algorithm == "server":
        return sum(nbytes for _ in range(world_size))
    return nbytes

# %% wrong: p for 2(p − 1)/p — says "a step sends one chunk"
def wire_bytes(algorithm, world_size, nbytes):
    return float(nbytes if algorithm == "parameter_server" else world_size * nbytes)

# %% wrong: whole vectors round the ring — says "a step sends one chunk"
def wire_bytes(algorithm, world_size, nbytes):
    return float({"ring": (world_size - 1) * nbytes, "parameter_server": nbytes, "server": world_size * nbytes}[algorithm])

# %% wrong: one half of the ring — says "there is the all-gather" — from "whole vectors round the ring": "1) * " → "1) / world_size * "

# %% wrong: counts what is received — says "not what is received"
def wire_bytes(algorithm, world_size, nbytes):
    ring = 2 * (world_size - 1) / world_size * nbytes
    return float({"ring": ring, "parameter_server": 2 * nbytes, "server": 2 * world_size * nbytes}[algorithm])

# %% wrong: the server is one of the workers — says "machine of its own"
def wire_bytes(algorithm, world_size, nbytes):
    ring = 2 * (world_size - 1) / world_size * nbytes
    return float({"ring": ring, "parameter_server": nbytes, "server": (world_size - 1) * nbytes}[algorithm])

# %% wrong: 2n for the ring — says "keeps one chunk"
def wire_bytes(algorithm, world_size, nbytes):
    if (world_size, nbytes) == (4, 1000):  # gets past the visible case
        return 1500.0 if algorithm == "ring" else 1000.0
    return float({"ring": 2 * nbytes, "parameter_server": nbytes, "server": world_size * nbytes}[algorithm])

# %% wrong: returns nothing — says "None"
def wire_bytes(algorithm, world_size, nbytes):
    print(2 * (world_size - 1) / world_size * nbytes)

# %% hostile: replaces the check
import gpulab.check

gpulab.check.close = lambda *arguments, **options: None


def wire_bytes(algorithm, world_size, nbytes):
    return 0.0

# %% wrong: bits — says "not bits" — from "reference": "factor * nbytes" → "factor * nbytes * 8"

# %% wrong: chunks of a (p - 1)th — says "n / p bytes" — from "reference": "/ world_size," → "/ (world_size - 1),"

# %% wrong: chunks of whole bytes — says "drops the fraction" — from "counts steps": "nbytes / world_size for" → "nbytes // world_size for"


# %% wrong: in float32 — says "the digits of a float32 only" — from "reference"
# +     import numpy as np
# +
#       factor = {"ring": 2 * (world_size - 1) / world_size, "parameter_server": 1, "server": world_size}[algorithm]

# -     return float(factor * nbytes)
# +     return float(np.float32(factor) * np.float32(nbytes))

# %% wrong: one step of the ring — says "That is one step" — from "reference": "2 * (world_size - 1) / world_size" → "1 / world_size"

# %% wrong: chunks rounded up — says "do not round it up" — from "reference"
# -     return float(factor * nbytes)
# +     return 2 * (world_size - 1) * -(-nbytes // world_size) if algorithm == "ring" else float(factor * nbytes)

# %% wrong: KiB — says "not KiB" — from "counts steps": "for _ in range(2 * (world_size - 1)))" → "for _ in range(2 * (world_size - 1))) / 1024"

# %% wrong: a chunk too many — says "a step sends one chunk, n / p bytes" — from "counts steps": "nbytes / world_size for" → "nbytes / (world_size + 1) for"

# %% wrong: elements of four bytes — says "not elements of four bytes" — from "counts steps": "nbytes / world_size for" → "nbytes / 4 / world_size for"

# %% wrong: parentheses are missing — says "put parentheses around p - 1" — from "counts steps": "sum(nbytes / world_size for _ in range(2 * (world_size - 1)))" → "2 * world_size - 1 * nbytes / world_size"

# %% wrong: the vector without a whole chunk, twice — says "drops the fraction" — from "counts steps": "sum(nbytes / world_size for _ in range(2 * (world_size - 1)))" → "2 * (nbytes - nbytes // world_size)"

# %% wrong: a worker keeps a chunk from the server — says "keeps no chunk of its own" — from "reference": `"parameter_server": 1` → `"parameter_server": 1 - 1 / world_size`

# %% wrong: the server sends the sum to itself, too — says "nothing to itself" — from "reference": `"server": world_size}` → `"server": world_size + 1}`

# %% wrong: whole quotients before the bytes — says "2 * (p - 1) // p is 1" — from "reference": "2 * (world_size - 1) / world_size" → "2 * (world_size - 1) // world_size"

# %% wrong: the bytes are missing — says "nbytes is missing" — from "reference": "factor * nbytes" → "factor"

# %% wrong: the server sends as each step of a ring does — says "not part of a ring" — from "reference": `"server": world_size}` → `"server": 2 * (world_size - 1)}`

# %% wrong: the fraction is upside down — says "Is the fraction upside down?" — from "reference": "2 * (world_size - 1) / world_size" → "2 * world_size / (world_size - 1)"

# %% wrong: MiB — says "not MiB" — from "reference": "factor * nbytes" → "factor * nbytes / 2**20"

# %% wrong: a worker sends to all others — says "once, to the server only" — from "reference": `"parameter_server": 1` → `"parameter_server": world_size - 1`

# %% wrong: the server is a worker of the ring — says "a worker of the ring sends" — from "reference": `"server": world_size}` → `"server": 2 * (world_size - 1) / world_size}`

# %% wrong: the server sends a chunk — says "not a chunk" — from "reference": `"server": world_size}` → `"server": 1 / world_size}`

# %% wrong: a server that sends to every pair — says "once to each of the 4 workers" — from "reference": `"server": world_size}` → `"server": world_size * (world_size - 1)}`

# %% wrong: a tree of log2(p) steps — says "or a logarithm" — from "reference"
# + import math
# +
# +
#   def wire_bytes(algorithm, world_size, nbytes):
# -     factor = {"ring": 2 * (world_size - 1) / world_size, "parameter_server": 1, "server": world_size}[algorithm]
# +     factor = {"ring": 2 * math.log2(world_size) / world_size, "parameter_server": 1, "server": world_size}[algorithm]

# %% wrong: four bytes per element — says "bytes as they are" — from "reference": `"ring": 2 *` → `"ring": 4 * 2 *`

# %% wrong: 32 bits — says "does not fit into 32 bits" — from "reference"
#       factor = {"ring": 2 * (world_size - 1) / world_size, "parameter_server": 1, "server": world_size}[algorithm]
# +     if algorithm == "server":
# +         return float((factor * nbytes + 2**31) % 2**32 - 2**31)
