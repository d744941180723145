"""Writes down, in a student's process, what an exercise asks simulated streams to do: a program for `stream_replay`.

Plain values and no result: which memory each tensor lies in, what is copied, computed and waited for. The judge has it
carried out again elsewhere, on other inputs. Nothing in it is believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from gpulab.streams.simulated import SIMULATION, Event
from gpulab.streams.simulation import tensors

MOST_STEPS = 20_000
"""Of one call; a round of a pipeline takes about ten."""
MOVES = frozenset({
    "as_tensor", "asarray", "cat", "clone", "concat", "concatenate", "contiguous", "copy_", "cpu", "cuda", "empty",
    "empty_like", "empty_strided", "fill_", "full", "full_like", "hstack", "new_empty", "new_full", "new_ones",
    "new_zeros", "ones", "ones_like", "pin_memory", "repeat", "reshape", "stack", "to", "tensor", "vstack", "zero_",
    "zeros", "zeros_like", "__setitem__", "flatten", "ravel", "dstack", "row_stack", "column_stack", "tile", "roll",
    "flip", "index_select", "gather", "__getitem__", "index_copy_", "type", "float",
})  # fmt: skip
"""What a host may do with tensors of its own: make them, fill them with one number, move what they hold."""
KERNELS = MOVES | {
    "abs", "add", "add_", "div", "div_", "double", "half", "int", "long", "bfloat16", "mul", "mul_", "neg", "neg_",
    "sub", "sub_", "sum", "__add__", "__radd__", "__iadd__", "__mul__", "__rmul__", "__imul__", "__sub__", "__isub__",
    "__truediv__", "__itruediv__", "__neg__",
}  # fmt: skip
"""What may run on tensors of the device."""
WRITERS = ("__iadd__", "__imul__", "__isub__", "__itruediv__", "__setitem__")
FORMATS = ("channels_last", "contiguous_format", "preserve_format")


class NoPlainForm(Exception):
    """This cannot be said in plain values."""


class StreamTranscript:
    """See `gpulab.streams.simulation.Tape`.

    Args:
        arguments: of the call, by position.
        named: those by name.
    """

    def __init__(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        self.launches: list[dict[str, Any]] = []
        """The steps of the program, in their order."""
        self._kept: list[Any] = []
        """Tensors and streams that have a number: as long as they are here, nothing else has their address."""
        self._memories: dict[int, int] = {}
        self._things: dict[int, int] = {}
        for tensor in tensors((arguments, named)):
            self._known(tensor)
            SIMULATION.given(tensor)

    def called(self, function: Any, arguments: Any, named: dict[str, Any], result: Any) -> None:
        """Notes a function of torch's; one that is not noted leaves tensors that the host has made by itself."""
        name = getattr(function, "__name__", "")
        if name not in KERNELS:
            return
        read = list(tensors((arguments, named)))
        if name not in (KERNELS if any(map(SIMULATION.on_device, read)) else MOVES):
            return
        made = [one for one in tensors(result) if self._number(one) is None]
        if not made and not (name in WRITERS or (name.endswith("_") and not name.endswith("__")) or "out" in named):
            return  # a view
        try:
            forms = [self._form(one) for one in arguments], {key: self._form(one) for key, one in named.items()}
        except NoPlainForm:
            return
        method = bool(arguments) and isinstance(arguments[0], torch.Tensor) and hasattr(torch.Tensor, name)
        numbers = list(dict.fromkeys(self._known(one) for one in made))
        self._step({"call": name, "method": method, "arguments": forms[0], "named": forms[1], "makes": numbers})

    def worked(self, batch: torch.Tensor, rounds: int, result: torch.Tensor) -> None:
        """Notes `gpulab.work` on a batch of the device's."""
        if SIMULATION.on_device(batch):
            self._step({"work": self._form(batch), "rounds": rounds, "makes": [self._known(result)]})

    def noted(self, what: str, *of: Any) -> None:
        """Notes what was done with streams and events."""
        self._step({"streams": what, "of": [self._thing(one) for one in of]})

    def result(self, value: Any) -> Any:
        """Where a returned value stands; None for one that is not made of this program's tensors alone."""
        if isinstance(value, (tuple, list)):
            items = [self.result(item) for item in value]
            return None if None in items or not items else {"items": items}
        if not isinstance(value, torch.Tensor) or self._number(value) is None:
            return None
        return self._form(value)

    def _step(self, step: dict[str, Any]) -> None:
        if len(self.launches) >= MOST_STEPS:
            raise RuntimeError(f"More than {MOST_STEPS} operations on tensors and streams in one call.")
        self.launches.append(step)

    def _number(self, tensor: torch.Tensor) -> int | None:
        return self._memories.get(tensor.untyped_storage()._cdata)

    def _known(self, tensor: torch.Tensor) -> int:
        """The number of a tensor's memory, a new one if it has none."""
        number = self._number(tensor)
        if number is None:
            number = self._memories[tensor.untyped_storage()._cdata] = len(self._memories)
            self._kept.append(tensor)
        return number

    def _thing(self, one: Any) -> list[Any]:
        """Kind and number of a stream or an event."""
        if one is SIMULATION.default:
            return ["stream", 0]
        if id(one) not in self._things:
            self._things[id(one)] = len(self._things) + 1
            self._kept.append(one)
        return ["event" if isinstance(one, Event) else "stream", self._things[id(one)]]

    def _form(self, value: Any) -> Any:
        """An argument in plain values.

        Raises:
            NoPlainForm: it has none, or is a tensor that the host has made by itself.
        """
        if isinstance(value, torch.Tensor):
            number = self._number(value)
            if number is None or value.layout != torch.strided:
                raise NoPlainForm
            layout = {"memory": number, "offset": int(value.storage_offset()), "type": value.dtype}
            return {**layout, "shape": list(value.shape), "strides": list(value.stride())}
        if isinstance(value, (tuple, list)):
            return {"items": [self._form(one) for one in value], "tuple": isinstance(value, tuple)}
        if isinstance(value, slice):
            return {"slice": [self._form(one) for one in (value.start, value.stop, value.step)]}
        if value is ...:
            return {"ellipsis": True}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, torch.memory_format):
            return {"format": str(value).removeprefix("torch.")}
        if value is None or isinstance(value, (bool, int, float, str, torch.dtype)):
            return {"value": value}
        raise NoPlainForm
