"""Sees what a program of the profiling chapter's hunt computes, and asks for, where the trace does not show it."""

from __future__ import annotations

import ctypes
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gpulab.chapters.profiling.hunt_pictures import BATCH, PICTURE_BYTES, SIDE


class Witness(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees what one thread of one process computes in the block, whether or not that is profiled.

    Losses that another thread or process has computed, or that were computed before the block, do not depend on the
    scale, and are the wrong ones.

    Args:
        scale: what convolutions give is multiplied by about this: by a number that depends on all of what they are
            given, so that a small convolution does not tell the number of a large one.
    """

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._scale, self._process = scale, os.getpid()
        self._calls: Counter[str] = Counter()
        self._rows: dict[int, torch.Tensor] = {}
        self.reordered = 0
        """Copies of a batch that have its numbers, its type, and another order."""
        self.told = 0
        """Operators that were given what the network computed, and whose value or shape the host learns from that."""
        self.turned = 0
        """Batches that a convolution was given in another order in memory than they had in any earlier step."""
        self.updates = 0
        """How often the optimizer has changed the weights."""
        self._computed: dict[int, StorageWeakRef] = {}  # the reference keeps another storage from that address
        self._given: dict[int, tuple[StorageWeakRef, torch.dtype, int]] = {}  # may hold pictures; since which update
        self._lent: list[torch.UntypedStorage] = []  # by NumPy, which has them longer than PyTorch
        self._shared: dict[int, StorageWeakRef] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if os.getpid() != self._process:
            return result
        name = func._schema.name
        self._calls[name] += name.startswith("aten::")  # the ranges themselves are operators too
        with torch._C.DisableTorchFunction():  # what is asked for here is not asked for by the program
            if name == "aten::convolution" and self._scale != 1.0:
                torch._C._autograd._enable_record_function(False)  # no part of the trace
                factor = self._factor(args[0])
                torch._C._autograd._enable_record_function(True)
                result.mul_(factor)
            if name == "aten::convolution" and self.updates:
                self.turned += self._turns(args[0])
            self.reordered += _only_reorders(name, args, result)
            self.told += not TELLING.isdisjoint(func.tags) and any(map(self.computed, tree_leaves((args, kwargs))))
            self._follow(func, name == "aten::convolution", args, kwargs or {}, result)
            for one in tree_leaves((args, kwargs, result)):
                self._note(one)
        return result

    def _follow(self, func: Any, first: bool, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> None:
        """Notes where results of an operator lie, and what it wrote to, if the network computed what it was given."""
        if not (first or any(map(self.computed, tree_leaves((args, kwargs))))):
            return
        named = zip(func._schema.arguments, args, strict=False)
        written = [value for one, value in named if one.alias_info is not None and one.alias_info.is_write]
        written += [
            kwargs.get(one.name) for one in func._schema.arguments if one.alias_info and one.alias_info.is_write
        ]
        for one in written:
            self.told += isinstance(one, torch.Tensor) and self._read_by_host(one)
        for one in tree_leaves((result, written)):
            if isinstance(one, torch.Tensor) and one.layout is torch.strided:
                reference = StorageWeakRef(one.untyped_storage())  # type: ignore[no-untyped-call]  # it has no types
                self._computed[reference.cdata] = reference

    def computed(self, value: Any) -> bool:
        """Whether a value lies where a result of a convolution does, or of an operator that was given such a result."""
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return False
        return int(value.untyped_storage()._cdata) in self._computed

    def share(self, value: Any) -> None:
        """Says that the program knows where a tensor lies: it can read there whatever is written later."""
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return
        with torch._C.DisableTorchFunction():  # as in __torch_dispatch__
            reference = StorageWeakRef(value.untyped_storage())  # type: ignore[no-untyped-call]  # it has no types
        self._shared[reference.cdata] = reference

    def _read_by_host(self, value: torch.Tensor) -> bool:
        """Whether what is written to a tensor can be read without PyTorch: its memory is NumPy's, or was asked for."""
        if value.layout is not torch.strided or value.device.type != "cpu":
            return False
        storage = value.untyped_storage()
        return not storage.resizable() or int(storage._cdata) in self._shared

    def _note(self, value: Any) -> None:
        """Remembers memory that may hold pictures, and at which update it was seen first."""
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or self.computed(value):
            return
        storage = value.untyped_storage()
        numbers = storage.nbytes() // value.element_size()
        if numbers and numbers % PICTURE_BYTES == 0 and int(storage._cdata) not in self._given:
            reference = StorageWeakRef(storage)  # type: ignore[no-untyped-call]  # it has no types
            self._given[reference.cdata] = reference, value.dtype, self.updates if storage.resizable() else -1
            self._lent += [] if storage.resizable() else [storage]

    def _turns(self, batch: torch.Tensor) -> bool:
        """Whether the first picture of a batch lies in memory in another order than in all that earlier steps left."""
        if batch.dim() != 4 or tuple(batch.shape[1:]) != (3, SIDE, SIDE):
            return False
        numbers = _numbers(batch.untyped_storage(), batch.dtype)
        if numbers is None:
            return False
        strides = batch.stride()[1:]
        picture = as_strided(
            numbers[batch.storage_offset() :], batch.shape[1:], [numbers.itemsize * s for s in strides]
        )
        order = sorted(range(3), key=strides.__getitem__, reverse=True)
        mine = _standardized(picture.transpose(order).reshape(1, -1))
        rows = []
        for address, (reference, dtype, since) in list(self._given.items()):
            storage = torch.UntypedStorage._new_with_weak_ptr(reference.cdata)
            if storage is None:
                del self._given[address]
            elif since < self.updates and (earlier := _numbers(storage, dtype)) is not None:
                rows.append(_standardized(earlier.reshape(-1, PICTURE_BYTES)))
        if not rows:
            return False
        every = np.concatenate(rows)
        if (abs(every - mine).max(1) < ALIKE).any():
            return False
        return bool((abs(np.sort(every) - np.sort(mine)).max(1) < ALIKE).any())

    def _factor(self, given: torch.Tensor) -> torch.Tensor:
        """What a convolution of this tensor is multiplied by. Rounding and the order in memory hardly change it."""
        flat = given.detach().cpu().double().flatten()
        if len(flat) not in self._rows:
            generator = torch.Generator().manual_seed(int(self._scale * 2**40))
            self._rows[len(flat)] = torch.randn(len(flat), generator=generator, dtype=flat.dtype) / len(flat) ** 0.5
        return 1 + (self._scale - 1) * (1 + (3 * (flat @ self._rows[len(flat)])).sin()).to(given.dtype)

    def unseen(self, events: Sequence[dict[str, Any]]) -> int:
        """Operators that ran and are not in a trace of the block."""
        return (self._calls - Counter(one["name"] for one in events if one.get("cat") == "cpu_op")).total()


ALIKE = 1e-3
"""By how much standardized pixels may differ: different pixels of a byte differ by 0.01 and more."""


def _numbers(storage: torch.UntypedStorage, dtype: torch.dtype) -> NDArray[Any] | None:
    """What lies in a storage, looked at without an operator of PyTorch's, which a trace would show; None on a GPU."""
    if storage.device.type != "cpu" or dtype not in KINDS or not storage.nbytes():
        return None
    held: Any = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    numbers: NDArray[Any] = np.frombuffer(held, KINDS[dtype], storage.nbytes() // dtype.itemsize)
    return numbers


def _standardized(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Rows of numbers with a mean of 0 and a spread of 1: normalizing a picture does not change them."""
    wide = rows.astype(np.float64)
    with np.errstate(all="ignore"):
        found: NDArray[np.float64] = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)
    return found


KINDS = {torch.uint8: "u1", torch.int8: "i1", torch.int16: "i2", torch.int32: "i4", torch.int64: "i8",
         torch.float16: "f2", torch.float32: "f4", torch.float64: "f8"}  # fmt: skip
"""Types of pixels, as NumPy names them."""


TELLING = frozenset({torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape})
"""Tags of operators such as the one behind `.item()`, `equal`, `nonzero`, and `bincount`."""


def _only_reorders(name: str, args: Sequence[Any], result: Any) -> bool:
    """Whether an operator has copied a batch whose three colors lie side by side into one with a plane for each."""
    if name not in ("aten::copy_", "aten::_to_copy", "aten::clone"):
        return False
    source, target = (args[1], args[0]) if name == "aten::copy_" else (args[0], result)
    if not isinstance(source, torch.Tensor) or not source.shape == target.shape == (BATCH, 3, SIDE, SIDE):
        return False
    alike = (source.dtype, source.device) == (target.dtype, target.device)
    return alike and source.stride(1) == 1 and target.stride(3) == 1


class Asked(TorchFunctionMode):
    """Counts how often a program asks for losses otherwise than with `.item()`, from its first update to its last.

    Losses are a float tensor without axes, or a short row of such numbers, as they are stacked after an epoch. Whatever
    else follows from a convolution counts, too: scores, gradients, or a loss in a larger tensor.

    On the CPU these calls leave no operator in the trace; on a GPU each waits for the device as `.item()` does.

    Args:
        witness: knows what the network computed.
    """

    MOST_LOSSES = 64
    """More numbers in a row are a picture, not the losses of an epoch."""
    CALLS = frozenset({
        torch.Tensor.tolist, torch.Tensor.cpu, torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.__dlpack__,
        torch.Tensor.storage, torch.Tensor._typed_storage, torch.Tensor.untyped_storage, torch.Tensor.data_ptr,
    })  # fmt: skip
    """Those that read it, and those that say where it lies."""
    LASTING = frozenset({torch.Tensor.__dlpack__, torch.Tensor.data_ptr})
    """Those after which the program can read what is written there later. NumPy's memory is recognized by itself."""

    def __init__(self, witness: Witness) -> None:
        super().__init__()
        self._witness = witness
        self._at_first = self._told_at_first = 0
        self.reordered = self.told = self.turned = 0
        """What the witness counts of these, from the first update to the last."""
        self.values = 0
        self._since_update: int | None = None

    def between(self) -> None:
        """Says that an update has been made: what was asked for since the one before lies between two of them."""
        if self._since_update is None:
            self._at_first, self._told_at_first = self._witness.reordered, self._witness.told
        self.values += self._since_update or 0
        self._since_update = 0
        self.reordered = self._witness.reordered - self._at_first
        self.told = self._witness.told - self._told_at_first
        self.turned = self._witness.turned
        self._witness.updates += 1

    def note(self, value: Any) -> None:
        """Counts a value that is asked for, if it is a loss, or follows from what the network computed."""
        if self._since_update is not None:
            short = value.dim() <= 1 and 0 < value.numel() <= self.MOST_LOSSES
            self._since_update += (short and value.is_floating_point()) or self._witness.computed(value)

    def watch_exports(self) -> None:
        """Counts from now on what is handed to other libraries by functions that are no methods of a tensor."""
        for module in (torch._C, torch.utils.dlpack, torch):
            for name in ("to_dlpack", "_to_dlpack", "_to_dlpack_versioned"):
                if hasattr(module, name):
                    setattr(module, name, self._noted(getattr(module, name)))

    def _noted(self, export: Callable[..., Any]) -> Callable[..., Any]:
        def exported(value: Any, *arguments: Any, **options: Any) -> Any:
            if torch._C._len_torch_function_stack():  # in a method of the tensor, which was counted, there is no mode
                self.note(value)
                self._witness.share(value)
            return export(value, *arguments, **options)

        return exported

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.CALLS:
            self.note(args[0])
        if func in self.LASTING:
            self._witness.share(args[0])
        return func(*args, **(kwargs or {}))
