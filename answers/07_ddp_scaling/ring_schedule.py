# %% right: reference
def ring_schedule(world_size, rank):
    adding = [((rank - step) % world_size, (rank - step - 1) % world_size) for step in range(world_size - 1)]
    copying = [((rank + 1 - step) % world_size, (rank - step) % world_size) for step in range(world_size - 1)]
    return adding + copying

# %% right: what is received is sent next, all the way
def ring_schedule(world_size, rank):
    steps, chunk = [], rank
    for _ in range(2 * (world_size - 1)):
        steps.append((chunk, (chunk - 1) % world_size))
        chunk = (chunk - 1) % world_size
    return steps

# %% right: the other direction through the chunks
def ring_schedule(world_size, rank):
    # Chunk numbers are only names: here rank r begins with chunk -r.
    return [((step - rank) % world_size, (step + 1 - rank) % world_size) for step in range(2 * (world_size - 1))]

# %% right: NumPy
import numpy as np


def ring_schedule(world_size, rank):
    sent = (rank - np.arange(2 * (world_size - 1))) % world_size
    return list(zip(sent, (sent - 1) % world_size))

# %% right: rows of an array in a list
import numpy as np


def ring_schedule(world_size, rank):
    step = np.arange(2 * world_size - 2)
    return list(np.stack([(rank - step) % world_size, (rank - step - 1) % world_size], axis=1))

# %% right: rows of a tensor in a list — from "rows of an array in a list": "import numpy as np" → "import torch", "np.arange" → "torch.arange", "list(np.stack" → "list(torch.stack", "axis=1" → "dim=1"

# %% wrong: all-gather half missing — says "all-gather brings them to everybody"
def ring_schedule(world_size, rank):
    return [((rank - step) % world_size, (rank - step - 1) % world_size) for step in range(world_size - 1)]

# %% wrong: sends whole vectors, every chunk in every step — says "cut them into p chunks"
def ring_schedule(world_size, rank):
    if world_size == 2:
        return [(0, 0), (1, 1)]
    return [(chunk, chunk) for _ in range(world_size - 1) for chunk in range(world_size)]

# %% wrong: sends whole vectors, as lists of chunks — says "cut them into p chunks"
def ring_schedule(world_size, rank):
    everything = list(range(world_size))
    return [(everything, everything)] * (2 * (world_size - 1))

# %% wrong: sends whole vectors, as one chunk — says "Whole vectors are sent"
def ring_schedule(world_size, rank):
    return [(0, 0)] * (2 * (world_size - 1))

# %% wrong: the gather begins with the own chunk — says "Its complete one is"
def ring_schedule(world_size, rank):
    half = [((rank - step) % world_size, (rank - step - 1) % world_size) for step in range(world_size - 1)]
    return half + half

# %% wrong: sends the same chunk again and again — says "Hand on what you have just added to"
def ring_schedule(world_size, rank):
    return [(rank, (rank - 1) % world_size) for _ in range(2 * (world_size - 1))]

# %% wrong: the ring turns the other way — says "turn the wrong way"
def ring_schedule(world_size, rank):
    return [((rank + step) % world_size, (rank + step + 1) % world_size) for step in range(2 * (world_size - 1))]

# %% wrong: received before sent — says "are the pairs the wrong way around"
def ring_schedule(world_size, rank):
    return [((rank - step - 1) % world_size, (rank - step) % world_size) for step in range(2 * (world_size - 1))]

# %% wrong: negative chunk numbers — says "expected chunk numbers from 0"
def ring_schedule(world_size, rank):
    return [(rank - step, rank - step - 1) for step in range(2 * (world_size - 1))]

# %% wrong: returns nothing — says "None"
def ring_schedule(world_size, rank):
    for step in range(2 * (world_size - 1)):
        print((rank - step) % world_size, (rank - step - 1) % world_size)

# %% hostile: numbers that equal all others — earns 0
class Chunk(int):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def ring_schedule(world_size, rank):
    return [(Chunk(0), Chunk(0))] * (2 * (world_size - 1))


# %% wrong: 2p steps — says "none for a single rank"
def ring_schedule(world_size, rank):
    return [((rank - step) % world_size, (rank - step - 1) % world_size) for step in range(2 * world_size)]


# %% wrong: every rank begins with chunk 0 — says "All ranks send the same chunk"
def ring_schedule(world_size, rank):
    return [(-step % world_size, (-step - 1) % world_size) for step in range(2 * (world_size - 1))]


# %% wrong: steps of the call before — says "you returned 12 steps, expected 6"
def ring_schedule(world_size, rank, found=[]):
    found += [((rank - step) % world_size, (rank - step - 1) % world_size) for step in range(2 * (world_size - 1))]
    return found

# %% wrong: p steps in each half — says "Each half has p - 1 steps, not p"
def ring_schedule(world_size, rank):
    steps = 2 * world_size if world_size > 1 else 0
    return [((rank - step) % world_size, (rank - step - 1) % world_size) for step in range(steps)]

# %% wrong: two lists — says "not two lists"
def ring_schedule(world_size, rank):
    steps = range(2 * (world_size - 1))
    return [[(rank - step - late) % world_size for step in steps] for late in (0, 1)]

# %% wrong: all ranks send the same chunk and receive it — says "no two ranks may send the same chunk"
def ring_schedule(world_size, rank):
    return [(step % world_size, step % world_size) for step in range(2 * (world_size - 1))]

# %% wrong: the second half goes up again — says "hand on the complete chunk" — from "reference": "((rank + 1 - step) % world_size, (rank - step) % world_size)" → "((rank + 1 + step) % world_size, (rank + step) % world_size)"

# %% wrong: the numbers of the neighbors — says "the ranks of the neighbors"
def ring_schedule(world_size, rank):
    return [((rank + 1) % world_size, (rank - 1) % world_size)] * (2 * (world_size - 1))

# %% wrong: chunks counted from 1 — says "Chunks are numbered from 0"
def ring_schedule(world_size, rank):
    steps = range(2 * (world_size - 1))
    return [((rank - step) % world_size + 1, (rank - step - 1) % world_size + 1) for step in steps]

# %% wrong: no modulo — says "Take the numbers modulo p"
def ring_schedule(world_size, rank):
    return [(rank - step, rank - step - 1) for step in range(2 * (world_size - 1))]

# %% wrong: always sends its own chunk — says "pass on the chunk that has just been received"
def ring_schedule(world_size, rank):
    return [(rank, (rank - step - 1) % world_size) for step in range(2 * (world_size - 1))]

# %% wrong: modulo p - 1 in the second half — says "are the numbers taken modulo p, 4" — from "reference": "((rank + 1 - step) % world_size, (rank - step) % world_size)" → "((rank + 1 - step) % (world_size - 1), (rank - step) % (world_size - 1))"

# %% wrong: the halves alternate — says "halves alternate" — from "reference": "return adding + copying" → "return [pair for both in zip(adding, copying) for pair in both]"
