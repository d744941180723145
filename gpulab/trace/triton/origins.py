"""Where the tensors of a Triton launch came from, and what the launch left in them, whatever the host does meanwhile.

A judge wants the result of a kernel, and not of NumPy before, beside, or after it. So while a call is watched, a kernel
runs on private copies of its tensors; what it may be given is what the call was given, memory that nobody has written,
and fills; and what the call returns is read from the copies. Who watches is `grader.judging.student`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

GIVEN_BY_HOST = (
    "the kernel was given values in {name} that are neither the arguments of the call nor memory made by torch.empty: "
    "they were computed outside of it. Let the kernel compute them."
)
NOT_FROM_KERNEL = (
    "what was returned is not a tensor that the kernel was given. Return the tensor that the kernel wrote: what is "
    "computed or copied outside of it does not count."
)
_watched: list[Origins] = []


class Origins:
    """Watches the launches of one call of an exercise.

    Args:
        arguments: of the call, by position.
        named: those by name.
    """

    def __init__(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        self.notes: list[str] = []
        """A sentence for each value that no kernel had computed, and that one was given or the call returned."""
        tensors = [one for one in [*arguments, *named.values()] if isinstance(one, torch.Tensor)]
        self._known = {_content(one.untyped_storage()) for one in tensors}
        self._left: dict[int, tuple[Any, Any]] = {}
        """Address of a tensor's memory → that memory, kept so that its address stays its own; what a launch left."""

    def take(self, name: str, given: Any, host: Any) -> None:
        """Lets a launch work on a copy of a tensor of its own.

        Args:
            name: of the kernel's parameter.
            given: the tensor that the kernel was given.
            host: the interpreter's own tensor in the host's memory, which may share the memory of the given one.
        """
        given, host = getattr(given, "base", given), getattr(host, "base", host)  # of triton.reinterpret
        memory = given.untyped_storage()
        own = self._left.get(memory.data_ptr())
        copy = host.untyped_storage().clone()
        if own is None or _content(own[1]) != _content(copy):
            self._look_at(name, copy, given.element_size())
        self._left[memory.data_ptr()] = memory, copy

    def share(self, given: Any, host: Any) -> None:
        """Puts the copy below the interpreter's tensor; called when all tensors of the launch are taken."""
        given, host = getattr(given, "base", given), getattr(host, "base", host)
        copy = self._left[given.untyped_storage().data_ptr()][1]
        host.set_(copy, host.storage_offset(), host.size(), host.stride())

    def result(self, value: Any) -> Any:
        """A returned value as the last launch left it: tensors hold what the kernels wrote, and nothing newer."""
        if not self._left:
            return value
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.result, value))
        if isinstance(value, np.ndarray):
            value = torch.as_tensor(value, device="cpu")
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            return value
        found = self._left.get(value.untyped_storage().data_ptr())
        if found is None:
            self.notes.append(NOT_FROM_KERNEL)
            return value
        left = torch.empty(0, dtype=value.dtype, device="cpu")
        left.set_(found[1], value.storage_offset(), value.size(), value.stride())
        return left.to(value.device)

    def _look_at(self, name: str, memory: Any, item_bytes: int) -> None:
        content = _content(memory)
        items = np.frombuffer(content[: len(content) // item_bytes * item_bytes], f"V{item_bytes}")
        uniform = not len(items) or bool((items == items[0]).all())
        if content not in self._known and not uniform:
            self.notes.append(GIVEN_BY_HOST.format(name=name))


@contextmanager
def watching(arguments: Sequence[Any], named: Mapping[str, Any]) -> Iterator[Origins]:
    """Watches the launches in the block, which calls an exercise with these arguments."""
    origins = Origins(arguments, named)
    _watched.append(origins)
    try:
        yield origins
    finally:
        _watched.remove(origins)


def taken(pairs: Sequence[tuple[str, Any, Any]]) -> None:
    """Gives a launch copies of its tensors, where it is watched: `Origins.take` of each one, as its arguments."""
    for origins in _watched[-1:]:
        tensors = [one for one in pairs if hasattr(one[1], "data_ptr")]
        for name, given, host in tensors:
            origins.take(name, given, host)
        for _, given, host in tensors:
            origins.share(given, host)


def _content(memory: Any) -> bytes:
    return bytes(torch.empty(0, dtype=torch.uint8, device="cpu").set_(memory.cpu()).numpy().tobytes())
