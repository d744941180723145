"""Where the emulator's compiled code keeps its state: slots of 64 bits in blocks of memory that Python allocates."""

from __future__ import annotations

# ---------------------------------------------------------------------------------------------------------- the launch

(
    FUEL, SLICE, REGIONS, REGION_COUNT, SHARED_HOST, SHARED_BYTES, SHARED_SHADOW, LOCAL_BYTES, PARAM_HOST,
    BLOCK_NUMBER, BLOCK_COUNT, CTAID_X, CTAID_Y, CTAID_Z, NTID_X, NTID_Y, NTID_Z, NCTAID_X, NCTAID_Y, NCTAID_Z,
    STAMP, FIRST_STAMP, BLOCK_STAMPS, ERROR_SITE, ERROR_LANE, ERROR_ADDRESS, ERROR_WARP, ROWS, WARPS,
    WARP_TABLE, ORDER, SEED, SITES, TALLIES, COLUMNS, CONFLICTS, CONFLICT_COUNT, UNWRITTEN, UNWRITTEN_COUNT,
    GRANULE_SHIFT, SHARED_SHIFT, CELL_BYTES, SERVICE, RUN_WARP, HALVES, SCRATCH, THREADS_ENDED, MOST_BARRIERS,
    BARRIERS, OPERANDS, SHARED_VARIABLES, SHARED_VARIABLE_COUNT, BLOCK_FLAGS, ENTRY_BLOCKS, STARTED,
    INSTRUCTIONS, BUSIEST_READS, BUSIEST_WRITES, BUSIEST_SHARED_READS,
) = range(59)  # fmt: skip
BARRIER_COUNTS = 64
"""For each of 16 barriers how many threads it wants; 0 for all."""
BARRIER_ARRIVED = 80
"""For each of 16 barriers how many `bar.arrive` there were."""
CONTEXT_SLOTS = 128

# ------------------------------------------------------------------------------------------------------------- regions

REGION_SHIFT = 40
"""The upper bits of a device address say in which region it lies: a buffer, or a window to shared or local memory."""
REGION_MIDDLE = 1 << 39
"""A region's first byte lies here, so that an index below 0 stays within it as well."""
REGION_SLOTS = 8
R_BASE, R_BYTES, R_HOST, R_SHADOW, R_FLAGS, R_UNWRITTEN = range(6)
READ_ONLY, UNCOUNTED, CONSTANT = 1, 2, 4
SHARED_REGION, LOCAL_REGION, PARAM_REGION, FIRST_REGION = 1, 2, 3, 4
SHARED_BASE = (SHARED_REGION << REGION_SHIFT) + REGION_MIDDLE
LOCAL_BASE = (LOCAL_REGION << REGION_SHIFT) + REGION_MIDDLE
PARAM_BASE = (PARAM_REGION << REGION_SHIFT) + REGION_MIDDLE

# ---------------------------------------------------------------------------------------------------------------- sites

SITE_SLOTS = 8
S_KIND, S_BYTES, S_PARTS, S_SPACE, S_STRONG, S_UNWRITTEN = range(6)
IN_GLOBAL, IN_SHARED_SPACE, GENERIC = 0, 1, 2
TALLY_SLOTS = 40
T_ELEMENTS, T_REQUESTS, T_COST, T_WORST, T_LANES, T_BLOCK, T_WARP, T_MASK, T_ADDRESSES = range(9)
SITES_LIMIT = 4096

CONFLICT_SLOTS = 6
C_KEY, C_COLUMN, C_ADDRESS, C_OLD, C_NEW, C_KINDS = range(6)
CONFLICTS_LIMIT = 256
UNWRITTEN_SLOTS = 4
U_SITE, U_ADDRESS, U_RECORD, U_COLUMN = range(4)

# ---------------------------------------------------------------------------------------------------------------- warps

WARP_SLOTS = 320
(
    W_FRAME, W_STACK, W_STACK_END, W_ALL, W_EXITED, W_MASK, W_STATUS, W_SLICE, W_ROTATE, W_NUMBER, W_LOCAL, W_TIDS,
    W_WAITING, W_GRANTED, W_RED_COUNT, W_RED_AND, W_RED_OR, W_ASYNC, W_LOCAL_FRESH,
) = range(19)  # fmt: skip
W_ORDERED = 32
"""For each lane how many `syncwarp` it has passed since the last barrier."""
W_BARRIER = 64
"""For each lane that waits the barrier's number."""
W_GROUP = 96
"""For each lane that waits at which line of the source; equal for equal lines."""
W_SITE = 128
"""For each lane that waits the number of its meeting place."""
W_PREDICATE = 160
"""For each lane that waits what it brings to `bar.red`."""
W_MEETING = 192
"""For each lane that waits in `syncwarp` its mask."""
W_READS = 224
"""For each lane the elements that it has read from global memory."""
W_WRITES = 256
"""The same for writes."""
W_SHARED_READS = 288
"""The same for reads of shared memory, atomic operations included."""

ASYNC_COPIES = 64
"""`cp.async` that one lane may have under way."""
ASYNC_SLOTS = 2 + 5 * ASYNC_COPIES
"""For each lane: how many, the present group; then for each target, bytes, group and 16 bytes of data."""

RUNNABLE, WAITING, ENDED, OUT_OF_FUEL, STUCK, FAILED = 0, -1, -2, -3, -4, -5
"""States of a warp, and what `run_warp`, `run_grid` return."""

# --------------------------------------------------------------------------------------------------------------- frames

F_CALLER, F_RETURN, F_MASK, F_DONE, F_FIRST, F_COUNT, F_WORDS, F_LOCAL, F_RESULT, F_RESULT_STRIDE = range(10)
FRAME_HEADER = 12
"""Then, for each 64 blocks, a word with those at which lanes wait, a word with those that cannot go on; then for each
block the lanes; then registers, for each 32 lanes."""

MEETS, CALLS = 1, 2
"""Flags of a block: lanes meet in it; it ends in a call."""


def constants() -> dict[str, int]:
    """All numbers above, by name."""
    return {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
