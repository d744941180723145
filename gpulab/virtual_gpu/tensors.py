"""PyTorch's tensors on the simulated GPU: where each one lies, and what each operation on them is.

Two modes of PyTorch do it. `Placing` sees calls from Python and carries out what they say about devices and pinned
memory; `Seeing` sees every operation below that, also those of which others are made up, and reports it. The
values are real: all tensors lie in the memory of this process, and say that they lie elsewhere.
"""

from __future__ import annotations

import itertools
import weakref
import zlib
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _device as defaults
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import flop_registry

from gpulab.virtual_gpu.operations import OperationRecorder

aten = torch.ops.aten
GPU = torch.device("cuda", 0)
FRESH = (
    aten.empty, aten.empty_like, aten.empty_strided, aten.new_empty, aten.new_empty_strided, aten.empty_permuted,
)  # fmt: skip
"""Make memory and write nothing."""
COPIES = (aten.clone, aten._to_copy, aten.contiguous, aten.copy)
ADDING = (aten.addmm, aten.baddbmm)
"""Products whose first tensor is what is added."""
PRODUCTS = (aten.mm, aten.bmm, *ADDING)
"""Of two square matrices, these are what the exercises measure; other products have other rates."""
WAITING = (aten._local_scalar_dense, aten.equal, aten.nonzero, aten.is_nonzero, aten.masked_select)
"""The host needs what they compute."""
INDEXING = (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_)
APART = (
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (one tensor is on "
    "the GPU, another one is not)"
)


class OnGPU(torch.Tensor):
    """A tensor that lies on the simulated GPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    device = property(lambda self: GPU)
    is_cuda = True
    is_cpu = False

    def get_device(self) -> int:
        """The number of its GPU."""
        return 0

    def numpy(self, *, force: bool = False) -> Any:
        """As on a GPU: only by way of the host, where it is forced.

        Raises:
            TypeError: it is not forced.
        """
        return self.cpu().numpy() if force else self.__array__()

    def tolist(self) -> Any:
        """Its values, once the GPU is done with them."""
        return self.cpu().tolist()

    def __array__(self, dtype: Any = None) -> NoReturn:
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"{self.cpu()!r} (on {GPU})"


class Pinned(torch.Tensor):
    """A tensor in pinned memory of the host."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]


class World:
    """What both modes know."""

    def __init__(self, recorder: OperationRecorder) -> None:
        self.recorder = recorder
        self.creating: str = ""
        """Where what a call makes is to lie: `gpu`, `host`, or wherever its arguments lie."""
        self.quiet = False
        """Whether operations are this module's own."""
        self._numbers: dict[int, tuple[int, int, int]] = {}
        """Address of a memory that is the GPU's, or pinned → its number, its bytes, and the last machine told of it."""
        self._unused = itertools.count(1)

    def made(self, tensor: torch.Tensor, how: str) -> int:
        """The number of a tensor's memory, which is new: `how` is `alloc` or `pin`."""
        memory = tensor.untyped_storage()
        number = next(self._unused)
        self._numbers[memory._cdata] = number, memory.nbytes(), self.recorder.machines
        self.recorder.note(how, memory.nbytes(), number)
        return number

    def number(self, tensor: torch.Tensor) -> int:
        """The number of a tensor's memory; 0 for pageable memory of the host."""
        memory = tensor.untyped_storage()
        number, nbytes, machine = self._numbers.get(memory._cdata, (0, 0, 0))
        pinned = isinstance(tensor, Pinned)
        if not pinned and not isinstance(tensor, OnGPU):
            return number
        if memory.nbytes() > nbytes:  # it has grown since
            return self.made(tensor, "pin" if pinned else "alloc")
        if machine != self.recorder.machines:
            self._numbers[memory._cdata] = number, nbytes, self.recorder.machines
            self.recorder.note("kept", nbytes, number, pinned)
        return number

    def put(self, tensor: torch.Tensor, kind: type[torch.Tensor]) -> torch.Tensor:
        """The tensor, lying where `kind` says."""
        quiet, self.quiet = self.quiet, True
        try:
            return torch.Tensor._make_subclass(kind, tensor, tensor.requires_grad)
        finally:
            self.quiet = quiet

    def allocated(self, tensor: torch.Tensor) -> torch.Tensor:
        """A new tensor as one of the GPU."""
        nbytes = _bytes([tensor])
        found = self.put(tensor, OnGPU)
        weakref.finalize(found, self.recorder.note, "free", nbytes).atexit = False
        return found

    def moved(self, tensor: torch.Tensor, to_gpu: bool, non_blocking: bool) -> torch.Tensor:
        """A copy of a tensor on the other side."""
        self.quiet = True
        try:
            plain = tensor.detach().clone() if type(tensor) is torch.Tensor else _plain(tensor).clone()
        finally:
            self.quiet = False
        nbytes = _held_bytes(tensor)
        if to_gpu:
            target = self.made(plain, "alloc")
            pinned, source = isinstance(tensor, Pinned), self.number(tensor)
            self.recorder.note("h2d", self.recorder.stream, nbytes, pinned, non_blocking, target, source)
            return self.allocated(plain)
        self.recorder.note("d2h", self.recorder.stream, nbytes, False, False, 0, self.number(tensor))
        return plain


class Placing(TorchFunctionMode):
    """Carries out what calls from Python say about devices and pinned memory."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._handlers: dict[Any, Callable[..., Any]] = {
            torch.Tensor.to: self._to,
            torch.Tensor.cuda: self._cuda,
            torch.Tensor.cpu: lambda tensor, *_, **__: self._side(tensor, False),
            torch.Tensor.pin_memory: self._pin,
            torch.Tensor.is_pinned: lambda tensor, *_, **__: isinstance(tensor, Pinned),
            torch.as_tensor: self._as_tensor,
            torch.asarray: self._as_tensor,
        }

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if handler := self._handlers.get(func):
            return handler(*args, **kwargs)
        device, pinned = kwargs.get("device"), kwargs.pop("pin_memory", False)
        if device is None and func in defaults._device_constructors():
            device = defaults.CURRENT_DEVICE  # of `torch.set_default_device`, `with torch.device("cuda"):`
        before = self._world.creating
        if device is not None:
            kwargs["device"] = "cpu"
            self._world.creating = "gpu" if _is_gpu(device) else "host"
        try:
            made = func(*args, **kwargs)
            if self._world.creating == "gpu" and type(made) is torch.Tensor:  # made of the host's values
                made = self._world.moved(made, True, False)
        finally:
            self._world.creating = before
        return self._pin(made) if pinned else made

    def _to(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        options = [kwargs.pop("non_blocking", False), kwargs.pop("copy", False)]
        given = list(args)
        if given and isinstance(given[0], torch.Tensor):
            device, dtype = given[0].device, given.pop(0).dtype
        elif given and isinstance(given[0], torch.dtype):
            dtype = given.pop(0)
        elif given:
            device = given.pop(0)
            if given and not isinstance(given[0], bool):
                dtype = given.pop(0)
        options[: len(given)] = given
        non_blocking, copy = map(bool, options)
        to_gpu = isinstance(tensor, OnGPU) if device is None else _is_gpu(device)
        dtype = dtype or tensor.dtype
        if to_gpu == isinstance(tensor, OnGPU):
            return tensor.to(dtype, copy=copy, **kwargs)
        return self._world.moved(tensor.to(dtype, **kwargs), to_gpu, non_blocking)

    def _cuda(self, tensor: torch.Tensor, device: Any = None, non_blocking: bool = False, **_: Any) -> Any:
        return self._side(tensor, True, non_blocking)

    def _side(self, tensor: torch.Tensor, to_gpu: bool, non_blocking: bool = False) -> Any:
        if to_gpu == isinstance(tensor, OnGPU):
            return tensor
        return self._world.moved(tensor, to_gpu, non_blocking)

    def _pin(self, tensor: torch.Tensor, *_: Any, **__: Any) -> Any:
        if isinstance(tensor, OnGPU):
            raise RuntimeError("cannot pin 'torch.cuda.Tensor' only dense CPU tensors can be pinned")
        if isinstance(tensor, Pinned):
            return tensor
        pinned = tensor.clone()
        self._world.made(pinned, "pin")
        return self._world.put(pinned, Pinned)

    def _as_tensor(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        device = kwargs.pop("device", None)
        made = data if isinstance(data, torch.Tensor) else torch.as_tensor(data, *args, **kwargs)
        return made if device is None else self._side(made, _is_gpu(device))


class Seeing(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Reports every operation to the recorder."""

    def __init__(self, world: World) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._world = world

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports the compiler, for seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._world.quiet:
            return func(*args, **kwargs)
        if func.overloadpacket not in flop_registry and _made_up(func):
            with self:  # under inference mode, what is made up of others arrives whole
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if func.overloadpacket is aten.copy_:
            return self._copy(func, args, kwargs)
        on_gpu = any(isinstance(one, OnGPU) for one in given)
        here = [one for one in given if one.dim() and not isinstance(one, OnGPU)]
        if on_gpu and here and func.overloadpacket not in INDEXING:
            raise RuntimeError(APART)
        on_gpu = self._world.creating == "gpu" if self._world.creating else on_gpu
        result = func(*args, **kwargs)
        made = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor) and not _among(one, given)]
        sources = {one.untyped_storage()._cdata: type(one) for one in given}
        fresh = [one for one in made if one.untyped_storage()._cdata not in sources]
        for one in fresh if on_gpu else ():
            self._world.made(one, "alloc")
        if not func.is_view and (fresh or not made):
            self._report(func, args, kwargs, given, result, on_gpu)

        def placed(one: Any) -> Any:
            if not isinstance(one, torch.Tensor) or _among(one, given):
                return one
            kind = sources.get(one.untyped_storage()._cdata)
            if kind is not None:
                return one if kind is torch.Tensor else self._world.put(one, kind)
            return self._world.allocated(one) if on_gpu else one

        return tree_map(placed, result)

    def _copy(self, func: Any, args: Any, kwargs: Any) -> Any:
        target, source = args[:2]
        if target is source:
            return target  # as PyTorch, which does nothing then
        non_blocking = bool(args[2] if len(args) > 2 else kwargs.get("non_blocking", False))
        func(*args, **kwargs)
        note, stream, nbytes = self._world.recorder.note, self._world.recorder.stream, _bytes([target])
        memories = self._world.number(target), self._world.number(source)
        match isinstance(source, OnGPU), isinstance(target, OnGPU):
            case True, True:
                note("copy", stream, nbytes, *memories)
            case True, False:
                note("d2h", stream, nbytes, isinstance(target, Pinned), non_blocking, *memories)
            case False, True:
                there = nbytes if _held_bytes(source) == _bytes([source]) else _held_bytes(source)
                note("h2d", stream, there, isinstance(source, Pinned), non_blocking, *memories)
            case _:
                note("host copy", nbytes)
        return target

    def _report(self, func: Any, args: Any, kwargs: Any, given: list[Any], result: Any, on_gpu: bool) -> None:
        note, stream, packet = self._world.recorder.note, self._world.recorder.stream, func.overloadpacket
        made = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor)]
        memories = [self._world.number(one) for one in (*made, *given)] if on_gpu else []
        if packet in flop_registry:
            flops = int(flop_registry[packet](*args, **kwargs, out_val=result))
            if not on_gpu:
                note("host matmul", flops)
                return
            first = int(packet in ADDING)
            factors = given[first : first + 2]
            square = packet in PRODUCTS and _square(*factors)
            kind = str(made[0].dtype).removeprefix("torch.") if square else "other"
            constant = any(map(_orderly, factors))
            note("matmul", stream, flops, kind, constant, kind == "float32" and _tf32(), memories)
        elif packet in FRESH:
            for one in made:
                one.zero_()  # what memory holds before anything is written to it is no random data
            if not on_gpu:
                note("host", 0)
        elif packet in COPIES:
            if on_gpu:
                note("copy", stream, _bytes(made), *memories[:2])
            else:
                note("host copy", _bytes(made))
        else:
            note(*(("touch", stream) if on_gpu else ("host",)), _bytes([*given, *made]))
        if on_gpu and packet in WAITING:
            note("wait", stream)


MOSTLY = 0.7
"""Of a tensor's elements: if more of them are equal, it is as good as constant."""
DENSE = 0.03
"""Of a tensor's bytes: if they can be packed into fewer, the elements repeat each other. Digits 0 to 2 take 0.05."""
FEW_ELEMENTS = 64
"""Fewer may be in order by chance, or nearly all equal."""
MOST_LOOKED_AT = 65_536
"""Elements of a large tensor: looking at more takes longer than the product."""


def _orderly(one: torch.Tensor) -> bool:
    """Whether a factor is not random: most are equal, two values occur, they count up, or they repeat each other.

    Such data draws less power on a GPU, so that its clock is higher.
    """
    values = one.detach().flatten()
    values = values[:: 1 + len(values) // MOST_LOOKED_AT]
    if len(values) < FEW_ELEMENTS or values.is_complex():
        return len(values) > 1 and bool((values == values[0]).all())
    distinct, counts = torch.unique(values, return_counts=True)
    if len(distinct) <= 2 or int(counts.max()) > MOSTLY * len(values):
        return True
    if bool((values[1:] >= values[:-1]).all() or (values[1:] <= values[:-1]).all()):
        return True
    packed = zlib.compress(_plain(values.contiguous()).view(torch.uint8).numpy().tobytes(), 6)
    return len(torch.unique(values[1:] - values[:-1])) <= 2 or len(packed) < DENSE * _bytes([values])


def _square(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether these are two n × n matrices."""
    n = left.shape[-1]
    return left.shape[-2:] == right.shape[-2:] == (n, n) and left.numel() == right.numel() == n * n


def _made_up(func: Any) -> bool:
    return bool(func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd))


def _bytes(tensors: list[torch.Tensor]) -> int:
    return sum(one.numel() * one.element_size() for one in tensors)


def _held_bytes(tensor: torch.Tensor) -> int:
    """Bytes of a tensor's elements; those of its memory if elements share places there, as in an expanded tensor."""
    return min(_bytes([tensor]), int(tensor.untyped_storage().nbytes()))


def _among(one: object, given: list[Any]) -> bool:
    return any(one is other for other in given)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return torch.Tensor._make_subclass(torch.Tensor, tensor)


def _is_gpu(device: Any) -> bool:
    return isinstance(device, int) or torch.device(device).type == "cuda"


def _tf32() -> bool:
    return str(torch.backends.cuda.matmul.fp32_precision) == "tf32"
