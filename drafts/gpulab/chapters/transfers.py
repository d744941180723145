"""What chapter 05 models and measures before it needs a GPU: a copy that runs on its own, timelines, a data loader.

Drawing is `transfers_pictures`. Answers to the exercises are not here: where one is needed, the student's function is
passed in.
"""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch.utils.data import DataLoader, Dataset

from gpulab.timing import one_thread
from gpulab.device import device_name, has_gpu
from gpulab.diagrams import Span

LINK_GBS = 63.0
"""PCIe 5.0 × 16, one direction, by its specification: 32 GT/s × 16 lanes, 128 of 130 bits."""

PICTURE_SIDE = 256


@dataclass(frozen=True)
class Early:
    """What a reader saw of a copy that was still under way."""

    asked_ms: tuple[float, ...]
    """When it looked, after the copy was asked for."""
    arrived: tuple[float, ...]
    """The part of the target that held the new values by then."""
    returned_ms: float
    """When the asking came back."""


@dataclass(frozen=True)
class Loading:
    """How quickly a data loader delivers, by its number of workers."""

    sample_ms: float
    """One picture: decode, crop, flip."""
    batch_size: int
    step_ms: float
    """What a training step takes when its batch is there."""
    batch_ms: dict[int, float]
    """Workers → average time from one step to the next."""
    cores: int
    device: str


def this_link() -> None:
    """Prints what this page runs on, and what lies between its two memories."""
    print(f"{device_name('cpu')}, torch uses {_threads()} thread(s)")
    if not has_gpu():
        print("No GPU here: copies stay within one memory. Figures of a link below are specifications, and say so.")
        return
    import torch

    free, total = torch.cuda.mem_get_info()
    print(f"{device_name()}: {total / 1e9:.0f} GB of memory, {free / 1e9:.0f} GB free")


def _threads() -> int:
    import torch

    return int(torch.get_num_threads())


def early_reads(chunks: int = 20, chunk_ms: float = 2.0) -> Early:
    """Reads the target of an asynchronous copy again and again while it runs.

    The copy engine is a thread of ours that moves one chunk at a time: the same race, on any machine.

    Args:
        chunks: pieces that the copy is made in.
        chunk_ms: from one piece to the next.
    """
    import numpy as np

    source, target = np.ones(chunks * 1000), np.zeros(chunks * 1000)

    def engine() -> None:
        for at in range(chunks):
            time.sleep(chunk_ms / 1e3)
            target[at * 1000 : (at + 1) * 1000] = source[at * 1000 : (at + 1) * 1000]

    worker = threading.Thread(target=engine, daemon=True)
    started = time.perf_counter()
    worker.start()
    returned = time.perf_counter() - started
    asked, arrived = [], []
    while worker.is_alive():
        asked.append(1e3 * (time.perf_counter() - started))
        arrived.append(float(target.mean()))
        time.sleep(chunk_ms / 1e3)
    worker.join()
    asked.append(1e3 * (time.perf_counter() - started))
    arrived.append(float(target.mean()))
    return Early(tuple(asked), tuple(arrived), 1e3 * returned)


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
        for _ in range(count):
            coarse = draw.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            file = io.BytesIO()
            Image.fromarray(coarse).resize((PICTURE_SIDE, PICTURE_SIDE)).save(file, "JPEG", quality=90)
            self._files.append(file.getvalue())

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> Any:
        import random

        import torch
        from PIL import Image

        picture = Image.open(io.BytesIO(self._files[index]))
        left, top = random.randrange(32), random.randrange(32)
        piece = picture.crop((left, top, left + 224, top + 224))
        if random.random() < 0.5:
            piece = piece.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.frombuffer(bytearray(piece.tobytes()), dtype=torch.uint8).reshape(224, 224, 3)


def loading(
    workers: Sequence[int] | None = None, pictures: int = 256, batch_size: int = 16, step: float = 0.7
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
    batch_ms = {}
    for count in workers or [0, *(number for number in (1, 2, 4) if number <= cores)]:
        loader: DataLoader[Any] = DataLoader(data, batch_size, num_workers=count, pin_memory=has_gpu())
        with one_thread():
            stamps = []
            for _ in loader:
                time.sleep(step_ms / 1e3)
                stamps.append(time.perf_counter())
        # Batches that several workers made at once arrive together: the average counts, without the start.
        batch_ms[count] = 1e3 * (stamps[-1] - stamps[1]) / (len(stamps) - 2)
    return Loading(sample_ms, batch_size, step_ms, batch_ms, cores, device_name("cpu"))
