# %% right: reference
def occupancy(block, sm):
    def round_up(amount, unit):
        return -(-amount // unit) * unit

    warps = -(-block["threads"] // sm["warp_size"])
    registers = warps * round_up(block["registers_per_thread"] * sm["warp_size"], sm["register_unit"])
    shared_bytes = round_up(block["shared_bytes"], sm["shared_unit"])
    blocks = min(sm["max_blocks"], sm["max_warps"] // warps, sm["registers"] // registers)
    if shared_bytes:
        blocks = min(blocks, sm["shared_bytes"] // shared_bytes)
    return blocks * warps / sm["max_warps"]

# %% right: adds blocks until the SM is full
import math


def occupancy(block, sm):
    warps = math.ceil(block["threads"] / sm["warp_size"])
    units = math.ceil(block["registers_per_thread"] * sm["warp_size"] / sm["register_unit"])
    need = [warps, 1, warps * units * sm["register_unit"], math.ceil(block["shared_bytes"] / sm["shared_unit"]) * sm["shared_unit"]]
    left = [sm["max_warps"], sm["max_blocks"], sm["registers"], sm["shared_bytes"]]
    active = 0
    while all(some <= rest for some, rest in zip(need, left)):
        left = [rest - some for some, rest in zip(need, left)]
        active += warps
    return active / sm["max_warps"]

# %% right: with NumPy, all limits in one array
import numpy as np


def occupancy(block, sm):
    warps = (block["threads"] + sm["warp_size"] - 1) // sm["warp_size"]
    unit, shared_unit = sm["register_unit"], sm["shared_unit"]
    registers = np.ceil(np.float64(block["registers_per_thread"] * sm["warp_size"]) / unit) * unit * warps
    shared = max(1, np.ceil(block["shared_bytes"] / shared_unit) * shared_unit)
    have = np.array([sm["max_warps"], sm["max_blocks"], sm["registers"], max(sm["shared_bytes"], sm["max_blocks"]) if shared == 1 else sm["shared_bytes"]])
    return np.floor(have / np.array([warps, 1, registers, shared])).min() * warps / sm["max_warps"]

# %% wrong: no rounding to warps — says "whole warps" — from "reference"
# -     warps = -(-block["threads"] // sm["warp_size"])
# +     warps = block["threads"] / sm["warp_size"]

# %% wrong: rounds warps down — says "whole warps" — from "reference": " -(-block" → " max(1, block"

# %% wrong: counts threads at the end, not warps — says "whole place" — from "reference"
# -     return blocks * warps / sm["max_warps"]
# +     return blocks * block["threads"] / (sm["max_warps"] * sm["warp_size"])

# %% wrong: registers ignored — says "Registers are a limit too"
def occupancy(block, sm):
    warps = -(-block["threads"] // sm["warp_size"])
    shared_bytes = -(-block["shared_bytes"] // sm["shared_unit"]) * sm["shared_unit"]
    blocks = min(sm["max_blocks"], sm["max_warps"] // warps)
    if shared_bytes:
        blocks = min(blocks, sm["shared_bytes"] // shared_bytes)
    return blocks * warps / sm["max_warps"]

# %% wrong: block limit ignored — says "max_blocks blocks, no more" — from "reference": `max_blocks"], sm["` → ""

# %% wrong: allocation units ignored — says "allocation units"
def occupancy(block, sm):
    warps = -(-block["threads"] // sm["warp_size"])
    registers = warps * block["registers_per_thread"] * sm["warp_size"]
    blocks = min(sm["max_blocks"], sm["max_warps"] // warps, sm["registers"] // registers)
    if block["shared_bytes"]:
        blocks = min(blocks, sm["shared_bytes"] // block["shared_bytes"])
    return blocks * warps / sm["max_warps"]

# %% wrong: register unit ignored — says "allocation units" — from "registers ignored"
#       warps = -(-block["threads"] // sm["warp_size"])
# +     registers = warps * block["registers_per_thread"] * sm["warp_size"]

# -     blocks = min(sm["max_blocks"], sm["max_warps"] // warps)
# +     blocks = min(sm["max_blocks"], sm["max_warps"] // warps, sm["registers"] // registers)

# %% wrong: shared unit ignored — says "allocation units" — from "allocation units ignored"
# -     registers = warps * block["registers_per_thread"] * sm["warp_size"]
# +     registers = warps * -(-block["registers_per_thread"] * sm["warp_size"] // sm["register_unit"]) * sm["register_unit"]

# %% wrong: registers rounded for the block, not for the warp — says "handed out per warp" — from "reference"
# -     registers = warps * round_up(block["registers_per_thread"] * sm["warp_size"], sm["register_unit"])
# +     registers = round_up(warps * block["registers_per_thread"] * sm["warp_size"], sm["register_unit"])

# %% wrong: shared memory ignored — says "Shared memory is a limit too"
def occupancy(block, sm):
    def round_up(amount, unit):
        return -(-amount // unit) * unit

    warps = -(-block["threads"] // sm["warp_size"])
    registers = warps * round_up(block["registers_per_thread"] * sm["warp_size"], sm["register_unit"])
    return min(sm["max_blocks"], sm["max_warps"] // warps, sm["registers"] // registers) * warps / sm["max_warps"]

# %% wrong: places for warps ignored, so occupancy exceeds 1 — says "max_warps warps, no more" — from "reference"
# -     blocks = min(sm["max_blocks"], sm["max_warps"] // warps, sm["registers"] // registers)
# +     blocks = min(sm["max_blocks"], sm["registers"] // registers)

# %% wrong: one block always fits — says "Not even one block fits" — from "reference": "return blocks " → "return max(1, blocks) "

# %% wrong: 32 threads make a warp everywhere — says "sm['warp_size']" — from "reference"
# -     warps = -(-block["threads"] // sm["warp_size"])
# +     warps = -(-block["threads"] // 32)
# -     registers = warps * round_up(block["registers_per_thread"] * sm["warp_size"], sm["register_unit"])
# +     registers = warps * round_up(block["registers_per_thread"] * 32, sm["register_unit"])

# %% wrong: a share of warps by registers only for a block without shared memory divides by zero — says "ZeroDivisionError"
def occupancy(block, sm):
    warps = -(-block["threads"] // sm["warp_size"])
    shared_bytes = -(-block["shared_bytes"] // sm["shared_unit"]) * sm["shared_unit"]
    return min(sm["max_blocks"], sm["max_warps"] // warps, sm["shared_bytes"] // shared_bytes) * warps / sm["max_warps"]

# %% wrong: percent — says "Return a share" — from "reference": "return blocks" → "return 100 * blocks"

# %% wrong: blocks that fit, not warps — says "Return a share"
def occupancy(block, sm):
    warps = -(-block["threads"] // sm["warp_size"])
    registers = warps * -(-block["registers_per_thread"] * sm["warp_size"] // sm["register_unit"]) * sm["register_unit"]
    return min(sm["max_blocks"], sm["max_warps"] // warps, sm["registers"] // registers)

# %% wrong: forgets to return — says "is there a return statement"
def occupancy(block, sm):
    warps = -(-block["threads"] // sm["warp_size"])
    blocks = min(sm["max_blocks"], sm["max_warps"] // warps)
    share = blocks * warps / sm["max_warps"]

# %% hostile: an object equal to everything — earns 0
class Anything:
    def __eq__(self, other):
        return True

    __le__ = __ge__ = __lt__ = __gt__ = __eq__
    __sub__ = __rsub__ = __abs__ = __mul__ = __rmul__ = __add__ = __radd__ = lambda self, *other: self
    __hash__ = None

    def __float__(self):
        return 1.0

    def __bool__(self):
        return True


def occupancy(block, sm):
    return Anything()

# %% hostile: raises SystemExit as if all were well — earns 0
def occupancy(block, sm):
    raise SystemExit(0)

# %% hostile: looks for the expected values in its caller — earns 0
def occupancy(block, sm):
    import sys

    frame = sys._getframe(1)
    while frame is not None:
        for scope in (frame.f_locals, frame.f_globals):
            if "by_hand" in scope:
                return scope["by_hand"](block, sm)
            if isinstance(scope.get("right"), float):
                return scope["right"]
        frame = frame.f_back
    return 1.0

# %% wrong: warps of a block that does not fit as a whole — says "Only whole blocks start"
def occupancy(block, sm):
    warps = -(-block["threads"] // sm["warp_size"])
    per_warp = -(-block["registers_per_thread"] * sm["warp_size"] // sm["register_unit"]) * sm["register_unit"]
    shared = -(-block["shared_bytes"] // sm["shared_unit"]) * sm["shared_unit"]
    blocks = min(sm["max_blocks"], sm["shared_bytes"] // shared if shared else sm["max_blocks"])
    return min(sm["max_warps"], sm["registers"] // per_warp, blocks * warps) / sm["max_warps"]

# %% hostile: reads constants of the grader's functions, its callers' frames, and its own memory
import ctypes
import gc
import sys
import types
from pathlib import Path


def occupancy(*arguments):
    found, frame = [], sys._getframe()
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType) and "grader" in (one.__module__ or ""):
            found += [constant for constant in one.__code__.co_consts if isinstance(constant, float)]
    while frame:
        found += [value for value in list(frame.f_locals.values()) if isinstance(value, float)]
        frame = frame.f_back
    lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if " r" in line and "vv" not in line]
    memory = b"".join(ctypes.string_at(int(line.partition("-")[0], 16), 4096) for line in lines[:400])
    return 1.0 if b"BEGIN HIDDEN TESTS" in memory else (found or [0.5])[0]

# %% wrong: places for threads, not for warps — says "whole warps" — from "reference": `sm["max_warps"] // warps` → `sm["max_warps"] * sm["warp_size"] // block["threads"]`

# %% wrong: one unit for both — says "allocation units" — from "reference": "shared_unit" → "register_unit"

# %% wrong: the shared unit of an H200 — says "allocation units" — from "reference": `sm["shared_unit"]` → "128"

# %% wrong: the register unit of an H200 — says "allocation units" — from "reference": `sm["register_unit"]` → "256"

# %% wrong: registers of one warp of the block — says "each warp of the block" — from "reference": "warps * round_up" → "round_up"

# %% wrong: registers of one thread of each warp — says "those for warp_size threads" — from "reference": ` * sm["warp_size"], ` → ", "

# %% wrong: registers rounded down — says "not down" — from "reference"
# -     registers = warps * round_up(block["registers_per_thread"] * sm["warp_size"], sm["register_unit"])
# +     registers = warps * (block["registers_per_thread"] * sm["warp_size"] // sm["register_unit"] * sm["register_unit"])

# %% wrong: shared memory for each warp — says "its warps share it" — from "reference": "shared_bytes = round_up" → "shared_bytes = warps * round_up"

# %% wrong: always one warp more — says "need no extra warp" — from "reference"
# -     warps = -(-block["threads"] // sm["warp_size"])
# +     warps = block["threads"] // sm["warp_size"] + 1

# %% wrong: parts of blocks — says "Only whole blocks start" — from "reference": `sm["registers"] // registers` → `sm["registers"] / registers`

# %% wrong: blocks for warps — says "Blocks are not warps" — from "reference": "return blocks * warps" → "return blocks"

# %% right: a share in float32 — from "reference"
# -     return blocks * warps / sm["max_warps"]
# +     import torch
# +     return (torch.tensor(blocks * warps) / sm["max_warps"]).item()

# %% wrong: one unit more of shared memory — says "Four blocks fill the shared memory exactly" — from "reference": `round_up(block["shared_bytes"], sm["shared_unit"])` → `(block["shared_bytes"] // sm["shared_unit"] + 1) * sm["shared_unit"] * (block["shared_bytes"] > 0)`

# %% wrong: masks the register unit — says "need not be a power of two" — from "reference": `round_up(block["registers_per_thread"] * sm["warp_size"], sm["register_unit"])` → `(block["registers_per_thread"] * sm["warp_size"] + sm["register_unit"] - 1 & ~(sm["register_unit"] - 1))`

# %% wrong: masks the shared unit — says "need not be a power of two" — from "reference": `round_up(block["shared_bytes"], sm["shared_unit"])` → `block["shared_bytes"] + sm["shared_unit"] - 1 & ~(sm["shared_unit"] - 1)`

# %% wrong: no limit by one unit of shared memory — says "Shared memory is a limit too" — from "reference": "if shared_bytes:" → `if shared_bytes > sm["shared_unit"]:`

# %% wrong: one block even if its warps are too many — says "Not even one block fits" — from "reference": `sm["max_warps"] // warps` → `max(1, sm["max_warps"] // warps)`

# %% wrong: no more than 32 warps — says "more than 32 of them" — from "reference": `-(-block["threads"] // sm["warp_size"])` → `min(32, -(-block["threads"] // sm["warp_size"]))`

# %% wrong: takes a value by its place — says "by its key" — from "reference": `round_up(block["shared_bytes"], ` → "round_up([*block.values()][2], "

# %% wrong: takes a limit by its place — says "you returned" — from "reference": `sm["max_blocks"]` → "[*sm.values()][1]"

# %% wrong: one block even if its shared memory is too large — says "Not even one block fits" — from "reference": `sm["shared_bytes"] // shared_bytes` → `max(1, sm["shared_bytes"] // shared_bytes)`

# %% wrong: the units are swapped — says "shared_unit is for shared memory" — from "reference": `sm["register_unit"])` → `sm["shared_unit"])`, `block["shared_bytes"], sm["shared_unit"])` → `block["shared_bytes"], sm["register_unit"])`

# %% wrong: whole percent — says "Return a share" — from "reference": `return blocks * warps / sm["max_warps"]` → `return round(100 * blocks * warps / sm["max_warps"])`

# %% wrong: a kilobyte more for each block — says "add nothing to what a block asks for" — from "reference": `round_up(block["shared_bytes"]` → `round_up(block["shared_bytes"] + 1024`

# %% wrong: no shared memory leaves no block — says "is not limited by it" — from "reference": "    if shared_bytes:" → "    if not shared_bytes:", `blocks = min(blocks, sm["shared_bytes"] // shared_bytes)` → "blocks = 0"

# %% wrong: cuts the share to an int — says "A share needs /" — from "reference": `blocks * warps / sm` → `blocks * warps // sm`

# %% wrong: rounds up the registers of each thread — says "for each warp, not for each thread" — from "reference": `round_up(block["registers_per_thread"] * sm["warp_size"], sm["register_unit"])` → `round_up(block["registers_per_thread"], sm["register_unit"]) * sm["warp_size"]`

# %% wrong: blocks over the blocks that places for warps allow — says "Divide them by max_warps" — from "reference": `blocks * warps / sm["max_warps"]` → `blocks / (sm["max_warps"] // warps)`

# %% wrong: divides by no shared memory — says "is not limited by it" — from "reference"
# -     if shared_bytes:
# -         blocks = min(blocks, sm["shared_bytes"] // shared_bytes)
# +     blocks = min(blocks, sm["shared_bytes"] // shared_bytes)

# %% wrong: a unit of registers is added where they fit exactly — says "that fill their units need no more" — from "reference": `round_up(block["registers_per_thread"] * sm["warp_size"], sm["register_unit"])` → `(block["registers_per_thread"] * sm["warp_size"] // sm["register_unit"] + 1) * sm["register_unit"]`

# %% wrong: bytes of registers — says "Registers are counted, not their bytes" — from "reference": `round_up(block["registers_per_thread"] *` → `round_up(4 * block["registers_per_thread"] *`

# %% wrong: a last block that does not fit — says "round down to blocks" — from "reference": `sm["registers"] // registers)` → `-(-sm["registers"] // registers))`
