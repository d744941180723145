"""Carries out a program of simulated streams in a process that has run nothing of the student's: timeline and result.

What it was written down from (`stream_transcript`) ran in the student's process, on other inputs. A host may move what
tensors hold; only the device computes, and takes its time for it in this process's own simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from gpulab import streams
from gpulab.streams.simulated import SIMULATION, Event, Stream, stream, synchronize
from gpulab.streams.simulation import tensors
from grader.judging.counting.replay import MOST_BYTES, Refused
from grader.judging.counting.stream_transcript import FORMATS, KERNELS, MOVES

NOT_BACK = "what it returned is still in the device's memory: copy each batch's result back to the host"
NOT_THERE = "work was given a batch that is not on the device: copy it there first"


def carried_out(steps: list[Any], result: Any, given: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The value and the timeline that these steps come to, for these arguments.

    Raises:
        Refused: the steps contradict themselves.
        Race: see `gpulab.streams`.
    """
    replay = StreamReplay(given)
    with streams.timeline() as operations:
        for one in steps:
            replay.step(one)
        while replay.entered:
            replay.entered.pop().__exit__(None, None, None)
        value = replay.value(result)
    return value, operations


class StreamReplay:
    """The memory and the streams of one program.

    Args:
        given: the call's arguments, of whose tensors these are copies from here on.
    """

    def __init__(self, given: Sequence[Any]) -> None:
        copies = [one.detach().cpu().clone() for one in tensors(given)]
        self._memories = [one.untyped_storage() for one in copies]
        for one in copies:
            SIMULATION.given(one)
        self._things: dict[tuple[str, int], Any] = {("stream", 0): SIMULATION.default}
        self.entered: list[Any] = []
        """Streams that are current, the innermost last."""

    def step(self, one: dict[str, Any]) -> None:
        """Carries out one step."""
        if "streams" in one:
            self._streams(str(one["streams"]), [self._thing(*form) for form in one["of"]])
            return
        if "work" in one:
            batch = self._meaning(one["work"])
            if not SIMULATION.on_device(batch):
                raise Refused(NOT_THERE)
            made = streams.work(batch, int(one["rounds"]))
        else:
            made = self._call(str(one["call"]), bool(one["method"]), one["arguments"], one["named"])
        known = {memory._cdata for memory in self._memories}
        fresh = {two.untyped_storage()._cdata: two.untyped_storage() for two in tensors(made)}
        fresh = {address: memory for address, memory in fresh.items() if address not in known}
        if list(map(int, one["makes"])) != list(range(len(known), len(known) + len(fresh))):
            raise Refused("its program contradicts itself")
        self._memories += fresh.values()
        if sum(map(len, self._memories)) > MOST_BYTES:
            raise Refused("its tensors take too much memory")

    def value(self, form: Any) -> Any:
        """What the call returned, as the steps left it."""
        if "items" in form:
            return [self.value(item) for item in form["items"]]
        with torch._C.DisableTorchFunction():
            found = self._meaning(form)
            if SIMULATION.on_device(found):
                raise Refused(NOT_BACK)
            return found.clone(memory_format=torch.contiguous_format)

    def _call(self, name: str, method: bool, arguments: list[Any], named: dict[str, Any]) -> Any:
        given = [self._meaning(one) for one in arguments]
        keyed = {str(key): self._meaning(one) for key, one in named.items()}
        there = any(map(SIMULATION.on_device, tensors((given, keyed))))
        if name not in (KERNELS if there else MOVES):
            raise Refused(f"the host cannot compute with {name}: let the device work")
        return getattr(torch.Tensor if method else torch, name)(*given, **keyed)

    def _streams(self, what: str, of: list[Any]) -> None:
        kinds = tuple(type(one) for one in of)
        if (what, kinds) == ("enter", (Stream,)):
            self.entered.append(stream(of[0]))
            self.entered[-1].__enter__()
        elif (what, kinds) == ("leave", ()) and self.entered:
            self.entered.pop().__exit__(None, None, None)
        elif (what, kinds) == ("choose", (Stream,)):
            SIMULATION.choose(of[0])
        elif (what, kinds) == ("synchronize", ()):
            synchronize()
        elif (what, kinds) in METHODS:
            getattr(of[0], what)(*of[1:])
        else:
            raise Refused("its program contradicts itself")

    def _thing(self, kind: str, number: int) -> Any:
        return self._things.setdefault((kind, number), Event() if kind == "event" else Stream())

    def _meaning(self, form: dict[str, Any]) -> Any:
        """What an argument stands for."""
        if "memory" in form:
            return self._tensor(form)
        if "items" in form:
            items = [self._meaning(one) for one in form["items"]]
            return tuple(items) if form["tuple"] else items
        if "slice" in form:
            return slice(*(self._meaning(one) for one in form["slice"]))
        if "ellipsis" in form:
            return ...
        if "device" in form:
            return torch.device(form["device"])
        if "format" in form:
            if form["format"] not in FORMATS:
                raise Refused("its program contradicts itself")
            return getattr(torch, form["format"])
        return form["value"]

    def _tensor(self, form: dict[str, Any]) -> torch.Tensor:
        shape, strides, offset = tuple(form["shape"]), tuple(form["strides"]), int(form["offset"])
        empty = torch.empty(0, dtype=form["type"], device="cpu")
        last = offset + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
        memory = self._memories[form["memory"]]
        inside = min((*strides, offset, 0)) >= 0 and (last + 1) * empty.element_size() <= len(memory)
        if 0 not in shape and not inside:  # set_ would make the memory larger
            raise Refused("its program contradicts itself")
        with torch._C.DisableTorchFunction():
            return empty.set_(memory, offset, shape, strides)


METHODS = {
    ("query", (Event,)), ("record", (Event, Stream)), ("synchronize", (Event,)), ("synchronize", (Stream,)),
    ("wait_event", (Stream, Event)), ("wait_stream", (Stream, Stream)),
}  # fmt: skip
"""Name → what it takes, as `simulation.Tape` notes it."""
