"""Frames over a socket between two processes that do not trust each other.

A frame is a 4-byte length, a JSON header, and raw buffers whose sizes the header lists. What the header and the buffers
mean is for `wire` to say.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from typing import Any

from grader.processes.wire import Buffer, NotPlain, WireError

MAX_HEADER_BYTES = 16_000_000
MAX_BUFFERS = 10_000
MAX_CONTAINERS = 1_000_000
"""Lists and objects in a header: each takes twenty times the memory that its brackets do."""
_as_json = json.JSONEncoder(allow_nan=False).encode
"""One encoder for all frames: `json.dumps` with this argument would make one for each."""


class Closed(ConnectionError):
    """The other side is gone."""


def _containers(header: bytes) -> int:
    """How many lists and objects a header can hold at most: brackets in its strings are counted too."""
    return header.count(b"[") + header.count(b"{")


class Channel:
    """One end of a connected stream socket that carries frames.

    Safe to share with another process that takes turns: it never reads ahead. Sends are locked, since the student's
    threads may print while an answer is on its way.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._lock = threading.Lock()
        self.received_bytes = 0
        """Read so far, whether or not it could be used."""

    def fileno(self) -> int:
        """The file descriptor of the socket."""
        return self._socket.fileno()

    def close(self) -> None:
        """Closes this end."""
        self._socket.close()

    def send(self, header: dict[str, Any], buffers: list[Buffer] | None = None, seconds: float | None = None) -> None:
        """Sends one frame.

        Raises:
            TimeoutError: the other side did not take it within `seconds`.
            Closed: the other side is gone.
            NotPlain: it is over the limits that `receive` keeps.
        """
        buffers = buffers or []
        if len(buffers) > MAX_BUFFERS:
            raise NotPlain(f"more than {MAX_BUFFERS} arrays, tensors or NumPy numbers; return one array")
        sizes = [memoryview(buffer).nbytes for buffer in buffers]
        text = _as_json({"h": header, "n": sizes}).encode()
        if len(text) > MAX_HEADER_BYTES or _containers(text) > MAX_CONTAINERS:
            raise NotPlain("a value of more than 16 MB or a million lists outside arrays; return an array or a tensor")
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            try:
                for part in (struct.pack("<I", len(text)) + text, *buffers):
                    # What is left, not all of it again: a slow reader would get the time for every buffer.
                    self._socket.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))
                    self._socket.sendall(part)
            except (BrokenPipeError, ConnectionResetError) as error:
                raise Closed(str(error)) from None

    def receive(
        self, deadline: float | None = None, max_bytes: int = 1_000_000_000
    ) -> tuple[dict[str, Any], list[bytearray]]:
        """The next frame: its header and its buffers.

        Args:
            deadline: on `time.monotonic()`; None waits for ever.
            max_bytes: of all buffers together.

        Raises:
            TimeoutError: the frame was not whole by the deadline.
            Closed: the other side is gone.
            WireError: what came is not a frame, or is over its limits.
        """
        (length,) = struct.unpack("<I", self._read(4, deadline))
        if length > MAX_HEADER_BYTES:
            raise WireError("a header over 16 MB")
        text = bytes(self._read(length, deadline))
        if _containers(text) > MAX_CONTAINERS:
            raise WireError("a header of too many items")
        try:
            frame = json.loads(text)
            header, sizes = frame["h"], frame["n"]
        except (ValueError, RecursionError, TypeError, KeyError):
            raise WireError("not a frame") from None
        if not isinstance(header, dict) or not isinstance(sizes, list) or len(sizes) > MAX_BUFFERS:
            raise WireError("not a frame")
        if any(type(size) is not int or size < 0 for size in sizes) or sum(sizes) > max_bytes:
            raise WireError(f"a value larger than the limit of {max_bytes / 1e6:.0f} MB")
        return header, [self._read(size, deadline) for size in sizes]

    def _read(self, count: int, deadline: float | None) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError("no answer in time")
            self._socket.settimeout(left)
            try:
                got = self._socket.recv_into(view)
            except ConnectionResetError as error:
                raise Closed(str(error)) from None
            if got == 0:
                raise Closed("the connection was closed")
            view = view[got:]
            self.received_bytes += got
        return data
