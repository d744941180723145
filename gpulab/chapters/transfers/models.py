"""What the transfers chapter models and measures before it needs a GPU: a copy that runs on its own, timelines, a data
loader.

Drawing is `transfers.pictures`. Answers to the exercises are not here: where one is needed, the student's function is
passed in.
"""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch.utils.data import DataLoader, Dataset

from gpulab.figures.shapes import Span
from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.host import no_gpu
from gpulab.measuring.timing import one_thread

LINK_GBS = 63.0
"""PCIe 5.0 × 16, one direction, by its specification: 32 GT/s × 16 lanes, 128 of 130 bits."""

PICTURE_SIDE = 256
FILES = 64
"""Pictures that are really different; a larger data set shows them again."""


@dataclass(frozen=True)
class Early:
    """What a reader saw of a copy that was still under way."""

    asked_ms: tuple[float, ...]
    """When it looked, after the copy was asked for."""
    arrived: tuple[float, ...]
    """The part of the target that held the new values by then."""
    returned_ms: float
    """When the asking came back."""
    kernel_ms: float = 0.0
    """What the copy stood behind in its queue."""
    note: str = "A thread plays the copy engine; target read while it works"


@dataclass(frozen=True)
class Loading:
    """How quickly a data loader delivers, by its number of workers."""

    sample_ms: float
    """One picture: decode, crop, flip."""
    batch_size: int
    step_ms: float
    """What a training step takes when its batch is there."""
    batch_ms: dict[str, dict[int, float]]
    """Kind of memory → workers → average time from one step to the next."""
    cores: int
    device: str


def this_link() -> None:
    """Prints what this page runs on, and what lies between its two memories."""
    print(f"{device_name('cpu')}, torch uses {_threads()} thread(s)")
    if not has_gpu():
        print(no_gpu("No GPU here: copies stay within one memory. Numbers for a link below are specifications."))
        return
    import torch

    free, total = torch.cuda.mem_get_info()
    print(f"{device_name()}: {total / 1e9:.0f} GB of memory, {free / 1e9:.0f} GB free")


def _threads() -> int:
    import torch

    return int(torch.get_num_threads())


def early_reads(chunks: int = 20, chunk_ms: float = 2.0, kernel_ms: float = 0.0) -> Early:
    """Reads the target of an asynchronous copy again and again while it runs.

    The copy engine is a thread of ours that moves one chunk at a time: the same race, on any machine.

    Args:
        chunks: pieces that the copy is made in.
        chunk_ms: from one piece to the next.
        kernel_ms: before the first of them, for a kernel that the copy has to wait for.
    """
    import numpy as np

    source, target = np.ones(chunks * 1000), np.zeros(chunks * 1000)

    def engine() -> None:
        time.sleep(kernel_ms / 1e3)
        for at in range(chunks):
            time.sleep(chunk_ms / 1e3)
            target[at * 1000 : (at + 1) * 1000] = source[at * 1000 : (at + 1) * 1000]

    worker = threading.Thread(target=engine, daemon=True)
    started = time.perf_counter()
    worker.start()
    returned = time.perf_counter() - started
    asked, arrived = _looked(started, worker.is_alive, lambda: float(target.mean()), chunk_ms / 1e3)
    who = (
        "A thread plays kernel and copy engine (calmest of three runs)"
        if kernel_ms
        else "A thread plays the copy engine"
    )
    return Early(asked, arrived, 1e3 * returned, kernel_ms, f"{who}; target read while it works")


def way_back() -> Early:
    """The same for a copy from the device that stands behind a slow kernel: a real one, on a GPU."""
    if not has_gpu():
        # Starting the thread takes its time on a busy machine, which is not what this is about.
        return min((early_reads(chunks=10, kernel_ms=20.0) for _ in range(3)), key=lambda found: found.returned_ms)
    import torch

    x, host = torch.zeros(1 << 28, device="cuda"), torch.zeros(1 << 28, pin_memory=True)
    part = host[:: 1 << 18]
    over, kernel, begin = (_event() for _ in range(3))
    torch.cuda.synchronize()
    started = time.perf_counter()
    begin.record()
    torch.cuda._sleep(40_000_000)  # type: ignore[no-untyped-call] # some 20 ms; torch's own tests use it
    x.fill_(1.0)
    kernel.record()
    host.copy_(x, non_blocking=True)
    over.record()
    returned = time.perf_counter() - started
    asked, arrived = _looked(started, lambda: not over.query(), lambda: float(part.mean()), 1e-3)
    note = f"Measured on {device_name()}: 1 GiB to pinned memory, non_blocking, behind a kernel"
    return Early(asked, arrived, 1e3 * returned, begin.elapsed_time(kernel), note)


def _event() -> Any:
    import torch

    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call] # torch has no types there


def _looked(
    started: float, running: Callable[[], bool], look: Callable[[], float], pause_s: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """When somebody looked, in ms, and what there was; the last look is when all is over."""
    asked, arrived = [], []
    going = True
    while going:
        going = running()
        asked.append(1e3 * (time.perf_counter() - started))
        arrived.append(look())
        if going:
            time.sleep(pause_s)
    return tuple(asked), tuple(arrived)


# Laid out by hand, for 3 chunks that take 3 ms in, 2 ms of compute and 3 ms out.
SERIAL = tuple(
    span
    for chunk in range(3)
    for span in (
        Span("copy engine", 8 * chunk, 8 * chunk + 3, f"in {chunk}"),
        Span("compute", 8 * chunk + 3, 8 * chunk + 5, f"kernel {chunk}"),
        Span("copy engine", 8 * chunk + 5, 8 * chunk + 8, f"out {chunk}"),
    )
)
STAGES = tuple(
    span
    for chunk in range(3)
    for span in (
        Span("copy engine", 3 * chunk, 3 * chunk + 3, f"in {chunk}"),
        Span("compute", 3 * chunk + 3, 3 * chunk + 5, f"kernel {chunk}"),
        Span("copy engine", 9 + 3 * chunk, 12 + 3 * chunk, f"out {chunk}"),
    )
)
TWO_ENGINES = tuple(
    span
    for chunk in range(3)
    for span in (
        Span("copy engine, in", 3 * chunk, 3 * chunk + 3, f"in {chunk}"),
        Span("compute", 3 * chunk + 3, 3 * chunk + 5, f"kernel {chunk}"),
        Span("copy engine, out", 5 + 3 * chunk, 8 + 3 * chunk, f"out {chunk}"),
    )
)


class Pictures(Dataset[Any]):
    """JPEG files in memory; each access decodes one, cuts a random piece out of it and turns it round at random."""

    def __init__(self, count: int, seed: int = 7) -> None:
        import numpy as np
        from PIL import Image

        draw = np.random.default_rng(seed)
        self._files: list[bytes] = []
        self._count = count
        for _ in range(min(count, FILES)):
            coarse = draw.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            file = io.BytesIO()
            Image.fromarray(coarse).resize((PICTURE_SIDE, PICTURE_SIDE)).save(file, "JPEG", quality=90)
            self._files.append(file.getvalue())

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Any:
        import random

        import torch
        from PIL import Image

        picture = Image.open(io.BytesIO(self._files[index % FILES]))
        left, top = random.randrange(32), random.randrange(32)
        piece = picture.crop((left, top, left + 224, top + 224))
        if random.random() < 0.5:
            piece = piece.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.frombuffer(bytearray(piece.tobytes()), dtype=torch.uint8).reshape(224, 224, 3)


def loading(
    workers: Sequence[int] | None = None, pictures: int = 800, batch_size: int = 16, step: float = 0.7
) -> Loading:
    """Times a training loop on real pictures with growing numbers of workers; its step is played by a pause.

    Args:
        workers: their numbers; 0, 1 and up to the machine's cores (at most 4) when left out.
        pictures: in the data set.
        batch_size: pictures in a batch.
        step: how long the pause is, as part of the work that one core has with a batch.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    data = Pictures(pictures)
    data[0]  # the first one imports
    started = time.perf_counter()
    for index in range(16):
        data[index]
    sample_ms = 1e3 * (time.perf_counter() - started) / 16
    step_ms = step * sample_ms * batch_size
    counts = workers or [0, *(number for number in (1, 2, 4) if number <= cores)]
    batch_ms: dict[str, dict[int, float]] = {}
    for kind in ("pageable", "pinned") if has_gpu() else ("pageable",):
        batch_ms[kind] = {count: _step_ms(data, batch_size, count, kind == "pinned", step_ms) for count in counts}
    return Loading(sample_ms, batch_size, step_ms, batch_ms, cores, device_name("cpu"))


def _step_ms(data: Pictures, batch_size: int, workers: int, pinned: bool, step_ms: float) -> float:
    """From one step to the next, on average, without the start."""
    loader: DataLoader[Any] = DataLoader(data, batch_size, num_workers=workers, pin_memory=pinned)
    stamps = []
    with one_thread():
        for batch in loader:
            if has_gpu():  # uint8 over the link, floats and channels last on the other side
                batch.to("cuda", non_blocking=pinned).permute(0, 3, 1, 2).float().div_(255)
            time.sleep(step_ms / 1e3)
            stamps.append(time.perf_counter())
    # Batches that several workers made at once arrive together: the average counts.
    return 1e3 * (stamps[-1] - stamps[1]) / (len(stamps) - 2)
