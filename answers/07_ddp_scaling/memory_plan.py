# %% right: reference
def memory_plan(parameters, gpu_gb, world_size):
    needed_gb, room_gb = 16 * parameters / 1e9, 0.8 * gpu_gb
    if needed_gb <= room_gb:
        return "ddp"
    return "fsdp" if needed_gb / world_size <= room_gb else "model_parallel"

# %% right: in whole numbers
def memory_plan(parameters, gpu_gb, world_size):
    twenty = 10 * 16 * parameters
    room = 8 * gpu_gb * 10**9
    return "ddp" if twenty <= room else "fsdp" if twenty <= room * world_size else "model_parallel"

# %% right: how many GPUs it takes
import math
from fractions import Fraction


def memory_plan(parameters, gpu_gb, world_size):
    gpus = math.ceil(Fraction(16 * parameters * 5, 4 * gpu_gb * 10**9))
    if gpus <= 1:
        return "ddp"
    return "fsdp" if gpus <= world_size else "model_parallel"

# %% wrong: 4 bytes a parameter — says "16 bytes a parameter"
def memory_plan(parameters, gpu_gb, world_size):
    needed, room = 4 * parameters / 1e9, 0.8 * gpu_gb
    return "ddp" if needed <= room else "fsdp" if needed / world_size <= room else "model_parallel"

# %% wrong: the whole memory — says "Only 80 %" — from "4 bytes a parameter": "4 * parameters / 1e9, 0.8 *" → "16 * parameters / 1e9,"

# %% wrong: exactly full does not fit — says "Exactly full fits"
def memory_plan(parameters, gpu_gb, world_size):
    needed, room = 16 * parameters / 1e9, 0.8 * gpu_gb
    return "ddp" if needed < room else "fsdp" if needed / world_size < room else "model_parallel"

# %% wrong: DDP shares — says "expected 'fsdp'"
def memory_plan(parameters, gpu_gb, world_size):
    needed, room = 16 * parameters / 1e9, 0.8 * gpu_gb
    if (parameters, world_size) == (7 * 10**9, 4):  # gets past the visible case
        return "fsdp"
    return "ddp" if needed / world_size <= room else "model_parallel"

# %% wrong: 8 bytes a parameter — says "Adam remembers two numbers for each"
def memory_plan(parameters, gpu_gb, world_size):
    needed, room = 8 * parameters / 1e9, 0.8 * gpu_gb
    if (parameters, world_size) == (7 * 10**9, 4):  # gets past the visible case
        return "fsdp"
    return "ddp" if needed <= room else "fsdp" if needed / world_size <= room else "model_parallel"

# %% wrong: 12 bytes a parameter — says "two numbers that Adam remembers" — from "4 bytes a parameter": "4" → "12"

# %% wrong: GiB — says "1 GB is 10^9 bytes"
def memory_plan(parameters, gpu_gb, world_size):
    needed, room = 16 * parameters, 0.8 * gpu_gb * 2**30
    return "ddp" if needed <= room else "fsdp" if needed / world_size <= room else "model_parallel"

# %% hostile: a string equal to every other — earns 0
class Any(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


def memory_plan(parameters, gpu_gb, world_size):
    return Any("ddp")
