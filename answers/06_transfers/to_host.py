# %% right: reference
import torch

from gpulab import streams


def to_host(x):
    host = torch.empty(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
    host.copy_(x, non_blocking=True)
    torch.cuda.current_stream().synchronize()
    return host

# %% right: the course's own synchronize
import torch

from gpulab import synchronize


def to_host(x):
    host = torch.empty(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
    host.copy_(x, non_blocking=True)
    synchronize()
    return host

# %% right: waits for this copy alone, by an event
import torch


def to_host(x):
    host = torch.empty_like(x, device="cpu", pin_memory=x.is_cuda)
    host.copy_(x, non_blocking=True)
    if x.is_cuda:
        copied = torch.cuda.Event()
        copied.record()
        copied.synchronize()
    return host

# %% right: lets torch make the pinned memory
import torch


def to_host(x):
    host = x.to("cpu", non_blocking=True)
    if x.is_cuda:
        torch.cuda.current_stream().synchronize()
    return host

# %% right: a NumPy array on pinned memory — from "reference"
# -     host = torch.empty(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
# +     host = torch.empty(x.shape, dtype=x.dtype, pin_memory=torch.cuda.is_available())

# -     return host
# +     return host.numpy()

# %% wrong gpu: no synchronization — says "synchronization" — from "reference"
# -
# - from gpulab import streams

# -     torch.cuda.current_stream().synchronize()

# %% wrong gpu: synchronizes before the copy instead of after it — says "before the copy" — from "reference"
#       host = torch.empty(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
# +     torch.cuda.current_stream().synchronize()

# -     torch.cuda.current_stream().synchronize()

# %% wrong gpu: synchronizes, then blocks, into pageable memory — says "pinned" — from "reference"
# -     host = torch.empty(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
# -     host.copy_(x, non_blocking=True)

# -     return host
# +     return x.cpu()

# %% wrong gpu: blocks, into pageable memory — says "pinned"
def to_host(x):
    return x.cpu()

# %% wrong: every type becomes float32 — says "float32 instead of int64" — from "reference": "dtype=x.dtype, " → ""

# %% wrong: a flat array — says "shape" — from "reference"
# -     host = torch.empty(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
# +     host = torch.empty(x.numel(), dtype=x.dtype, pin_memory=x.is_cuda)
# -     host.copy_(x, non_blocking=True)
# +     host.copy_(x.reshape(-1), non_blocking=True)

# %% wrong: forgets the copy — says "was anything copied"
import torch


def to_host(x):
    return torch.zeros(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)

# %% wrong: gives nothing back — says "None" — from "forgets the copy"
# -     return torch.zeros(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
# +     host = torch.empty(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
# +     host.copy_(x)

# %% wrong: a list — says "list" — from "blocks, into pageable memory": "cpu" → "tolist"

# %% hostile: an object equal to everything — earns 0
class Anything:
    dtype = shape = property(lambda self: self)
    __eq__ = __ge__ = __le__ = lambda self, other: True
    __hash__ = None


def to_host(x):
    return Anything()

# %% hostile: patches torch's comparison and hands out rubbish — earns 0
import torch

torch.equal = torch.allclose = lambda *given, **named: True


def to_host(x):
    return torch.ones(x.shape, dtype=x.dtype)

# %% wrong: copies the memory behind a view — says "order in memory" — from "reference": "torch.empty(x.shape," → "torch.empty(x.numel(),", "host.copy_(x," → "host.copy_(x.as_strided((x.numel(),), (1,)),", "return host" → "return host.view(x.shape)"

# %% wrong: copies in the wrong direction's place, so nothing arrives — says "was x copied" — from "reference": "host.copy_(x, non_blocking=True)" → "host.to(x.device, copy=True)", "torch.empty(" → "torch.ones("

# %% hostile endless: a tensor of a class whose every operation takes forever
import torch


class Endless(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        while True:
            pass


def to_host(*arguments):
    return torch.zeros(3).as_subclass(Endless)

# %% hostile: memory that a forked process fills when the answer has been sent — says "was anything copied"
import os
import time
import torch


def to_host(x):
    host = torch.zeros(x.shape, dtype=x.dtype).share_memory_()
    if os.fork() == 0:
        time.sleep(0.01)
        host.copy_(x)
        os._exit(0)
    return host

# %% wrong: one buffer for all calls — says "overwrote what an earlier call had returned" — from "reference"
# - def to_host(x):
# -     host = torch.empty(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
# + buffers = {}
# +
# +
# + def to_host(x):
# +     key = x.shape, x.dtype
# +     if key not in buffers:
# +         buffers[key] = torch.empty(x.shape, dtype=x.dtype, pin_memory=x.is_cuda)
# +     host = buffers[key]
