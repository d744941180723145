"""What a student's process prints past its notebook: from C code, or from processes that it has started."""

from __future__ import annotations

import os
import threading

from grader.processes.waiting import readable


class RawOutput:
    """Reads a pipe to its end in a thread, so that its writer never blocks, and keeps the beginning."""

    def __init__(self, descriptor: int, keep_bytes: int) -> None:
        self._descriptor, self._keep = descriptor, keep_bytes
        os.set_blocking(descriptor, False)  # the thread and `take` both read
        self._data = bytearray()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        more = True
        while more:
            readable(self._descriptor)
            with self._lock:
                more = self._read()

    def _read(self) -> bool:
        """Reads what is there; False at the end."""
        try:
            chunk = os.read(self._descriptor, 65_536)
        except BlockingIOError:
            return True
        self._data += chunk[: max(0, self._keep - len(self._data))]
        return bool(chunk)

    def take(self) -> str:
        """What has been written since the last call, whether or not the thread has got to it yet."""
        with self._lock:
            for _ in range(8):  # a pipe holds less; an endless writer must not keep us here
                if not readable(self._descriptor, 0) or not self._read():
                    break
            text, self._data = self._data.decode("utf-8", "replace"), bytearray()
        return text

    def close(self) -> None:
        """Stops reading. A process that outlived its group may still hold the other end; it is not waited for."""
        self._thread.join(timeout=1.0)
        if not self._thread.is_alive():
            os.close(self._descriptor)
