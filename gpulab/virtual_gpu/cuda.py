"""What stands in for `torch.cuda` on the simulated GPU: devices, streams, events, memory."""

from __future__ import annotations

import contextlib
import itertools
import types
from collections.abc import Iterator
from typing import Any

import torch

from gpulab.virtual_gpu.operations import OperationRecorder

NAME = "a simulated GPU"
MEMORY_BYTES = 16 << 30
ALL_STREAMS = -1


class Stream:
    """A queue of the simulated GPU; number 0 is the default stream."""

    def __init__(self, recorder: OperationRecorder, number: int) -> None:
        self._recorder, self.stream_id = recorder, number
        self.device = torch.device("cuda", 0)

    def synchronize(self) -> None:
        """Waits until the stream has done all that it was given."""
        self._recorder.note("wait", self.stream_id)

    def query(self) -> bool:
        """Whether it has."""
        return bool(self._recorder.ask("idle", self.stream_id))

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event on this stream."""
        event = event or Event(self._recorder)
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """What comes next on this stream starts after the event."""
        self._recorder.note("wait event", self.stream_id, event.number)

    def wait_stream(self, stream: Stream) -> None:
        """What comes next on this stream starts after all that the other one has been given."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self._before, self._recorder.stream = self._recorder.stream, self.stream_id
        return self

    def __exit__(self, *_: object) -> None:
        self._recorder.stream = self._before


class Event:
    """`torch.cuda.Event` on the simulated GPU."""

    _numbers = itertools.count(1)

    def __init__(self, recorder: OperationRecorder, enable_timing: bool = False) -> None:
        self._recorder, self._timed, self._recorded = recorder, enable_timing, False
        self.number = next(self._numbers)

    def record(self, stream: Stream | None = None) -> None:
        """Marks the end of all that the stream has been given so far."""
        self._recorded = True
        self._recorder.note("record", self.number, self._recorder.stream if stream is None else stream.stream_id)

    def wait(self, stream: Stream | None = None) -> None:
        """What comes next on the stream starts after this event."""
        self._recorder.note("wait event", self._recorder.stream if stream is None else stream.stream_id, self.number)

    def synchronize(self) -> None:
        """Waits for the event."""
        self._recorder.note("sync event", self.number)

    def query(self) -> bool:
        """Whether it has passed."""
        return bool(self._recorder.ask("done", self.number))

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to the other one.

        Raises:
            ValueError: one of them was made without `enable_timing=True`, or never recorded.
            RuntimeError: one of them has not passed yet.
        """
        if not (self._timed and end._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return self._recorder.ask("elapsed", self.number, end.number)


class Generator(torch.Generator):
    """Random numbers of the simulated GPU, which are the host's."""

    def __new__(cls, device: Any = "cpu") -> Generator:
        """Whatever the device, a generator for the tensors' real memory."""
        made: Generator = super().__new__(cls, "cpu")  # type: ignore[call-arg]
        return made


def stand_ins(recorder: OperationRecorder) -> Iterator[tuple[Any, str, Any]]:
    """(module, name, what stands there on the simulated GPU)."""
    streams = [Stream(recorder, 0)]

    def new_stream(device: Any = None, priority: int = 0, **_: Any) -> Stream:
        streams.append(Stream(recorder, len(streams)))
        return streams[-1]

    def new_event(enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **_: Any) -> Event:
        return Event(recorder, enable_timing)

    def synchronize(device: Any = None) -> None:
        recorder.note("wait", ALL_STREAMS)

    properties = types.SimpleNamespace(
        name=NAME, major=9, minor=0, multi_processor_count=100, total_memory=MEMORY_BYTES, warp_size=32
    )
    cuda = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "_lazy_init": lambda *_, **__: None,
        "init": lambda *_, **__: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda *_, **__: None,
        "synchronize": synchronize,
        "Stream": new_stream,
        "Event": new_event,
        "stream": lambda stream: contextlib.nullcontext() if stream is None else stream,
        "current_stream": lambda device=None: streams[recorder.stream],
        "default_stream": lambda device=None: streams[0],
        "set_stream": lambda stream: setattr(recorder, "stream", stream.stream_id),
        "device": lambda device: contextlib.nullcontext(),
        "empty_cache": lambda: recorder.note("empty cache"),
        "ipc_collect": lambda *_, **__: None,
        "mem_get_info": lambda device=None: (MEMORY_BYTES // 2, MEMORY_BYTES),
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "memory_reserved": lambda device=None: 0,
        "reset_peak_memory_stats": lambda *_, **__: None,
        "get_device_name": lambda device=None: NAME,
        "get_device_capability": lambda device=None: (9, 0),
        "get_device_properties": lambda device=None: properties,
        "is_bf16_supported": lambda *_, **__: True,
        "manual_seed": lambda *_, **__: None,
        "manual_seed_all": lambda *_, **__: None,
    }
    accelerator = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_accelerator": lambda *_, **__: torch.device("cuda"),
        "current_device_index": lambda: 0,
        "current_stream": lambda device=None: streams[recorder.stream],
        "synchronize": lambda device=None: recorder.note("wait", ALL_STREAMS),
        "empty_cache": lambda: recorder.note("empty cache"),
    }
    yield torch, "Generator", Generator
    for module, names in ((torch.cuda, cuda), (torch.accelerator, accelerator)):
        for name, value in names.items():
            if hasattr(module, name):
                yield module, name, value
