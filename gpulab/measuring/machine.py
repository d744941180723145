"""What this machine can do at best: copy and multiply rates, transfer rates, launch latency.

Measured once and kept in a file, so that a notebook can draw a roofline without waiting. Ceilings recorded on a named
GPU can be read as well, for comparison where there is none. How a single function is timed is up to `timing`.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gpulab.measuring.devices import device, device_name, has_gpu
from gpulab.measuring.measured_once import once
from gpulab.measuring.timing import measure
from gpulab.tables import data_folder

VERSION = 2
"""Increased when a number changes its meaning: files of another version are measured again."""

COPY_BYTES = {"cpu": 1 << 27, "cuda": 1 << 30}
"""Source of a copy: several times the last cache, so that memory is measured and not the cache."""

MATRIX_SIZE = {"cpu": 1024, "cuda": 8192}
TRANSFER_BYTES = 1 << 28
WAYS = ("h2d", "d2h", "h2d_pageable", "d2h_pageable")


@dataclass(frozen=True)
class Ceilings:
    """The best rates of one machine, each the median of several warm runs."""

    device: str
    """`NVIDIA H200`, or the CPU's model and usable cores."""
    kind: str
    """`cuda` or `cpu`."""
    date: str
    """The day of the measurement, ISO 8601."""
    versions: Mapping[str, str]
    """`python`, `torch`, and on a GPU `cuda`."""
    copy_gbs: float
    """Bytes read + bytes written per second of a copy within the device's memory, in GB/s."""
    matmul_gflops: Mapping[str, float] = field(default_factory=dict)
    """Type → GFLOP/s of a square matrix product of random numbers; 2 FLOP for each multiply-add."""
    launch_us: float | None = None
    """From launching the smallest kernel to knowing that it is over; None without a GPU."""
    h2d_gbs: float | None = None
    """Pinned host memory to the device, GB/s; None without a GPU."""
    d2h_gbs: float | None = None
    """The way back, GB/s; None without a GPU."""
    h2d_pageable_gbs: float | None = None
    """Ordinary host memory to the device, GB/s; None without a GPU."""
    d2h_pageable_gbs: float | None = None
    """The way back, GB/s; None without a GPU."""
    spreads: Mapping[str, float] = field(default_factory=dict)
    """Half the distance between the quartiles, as a share of the median: of `copy`, `launch`, transfers (`h2d`, …) and
    each type."""

    def __str__(self) -> str:
        rates = ", ".join(f"{kind} {rate:,.0f} GFLOP/s" for kind, rate in self.matmul_gflops.items())
        lines = [f"{self.device} ({self.date}, torch {self.versions.get('torch', 'unknown')})"]
        lines += [f"  copy {self.copy_gbs:,.1f} GB/s (read + written)", f"  matrix product {rates}"]
        if self.launch_us is not None:
            lines.append(f"  kernel launch {self.launch_us:.1f} µs")
        if self.h2d_gbs is not None and self.d2h_gbs is not None:
            lines.append(f"  host to device {self.h2d_gbs:.1f} GB/s, back {self.d2h_gbs:.1f} GB/s (pinned)")
        if self.h2d_pageable_gbs is not None and self.d2h_pageable_gbs is not None:
            rates = f"{self.h2d_pageable_gbs:.1f} GB/s, back {self.d2h_pageable_gbs:.1f} GB/s"
            lines.append(f"  host to device {rates} (pageable)")
        return "\n".join(lines)


def name() -> str:
    """The device that this machine measures on: `NVIDIA H200`, or the CPU's model and usable cores."""
    return device_name()


def ceilings(fresh: bool = False) -> Ceilings:
    """This machine's ceilings, from the file they were kept in or, the first time, measured (under 3 s).

    Args:
        fresh: measure, whatever is kept in the file; still only once in a process.
    """
    path = _kept_in()
    if not fresh:
        with contextlib.suppress(OSError, ValueError):
            return _from_json(path.read_text(encoding="utf-8"))
    found = _measured()
    # A home that cannot be written to only costs the time of the next measurement.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".machine-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(to_json(found))
        Path(temporary).replace(path)
    return found


def recorded(gpu: str) -> Ceilings | None:
    """The ceilings recorded on a named GPU, `data/machines/<gpu>.json`; None when nobody has recorded them yet.

    Raises:
        ValueError: the file is there and is not a recording.
    """
    try:
        path = data_folder() / "machines" / f"{gpu.lower()}.json"
        text = path.read_text(encoding="utf-8")
    except (LookupError, OSError):
        return None
    try:
        return _from_json(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}. Record it again on that GPU.") from None


def recorded_gpu() -> Ceilings | None:
    """The ceilings recorded on a GPU of this machine's kind, else those recorded last on any; None when there are none.

    Raises:
        ValueError: a file is there and is not a recording.
    """
    if has_gpu():
        own = recorded("-".join(device_name("cuda").removeprefix("NVIDIA ").split()))
        if own is not None:
            return own
    try:
        files = sorted((data_folder() / "machines").glob("*.json"))
    except LookupError:
        return None
    found = [one for file in files if (one := recorded(file.stem)) is not None]
    return max(found, key=lambda one: (one.date, one.device), default=None)


def to_json(found: Ceilings) -> str:
    """The ceilings as the text that `recorded` reads."""
    return json.dumps({"version": VERSION, **asdict(found)}, indent=1, sort_keys=True) + "\n"


def _from_json(text: str) -> Ceilings:
    try:
        stored = json.loads(text)
        if stored.pop("version") != VERSION:
            raise ValueError(f"not of version {VERSION}")
        stored.pop("figures", None)  # of `grader prove`, in a recording: not ceilings
        return Ceilings(**stored)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a file of ceilings ({error!r})") from None


def _kept_in() -> Path:
    import torch

    home = os.environ.get("GPULAB_HOME")
    folder = Path(home) if home else Path(os.path.expanduser("~")) / ".cache" / "gpulab"  # noqa: PTH111 - Path.home() raises without a home
    # The thread count belongs to it: a process held to one thread copies and multiplies more slowly.
    machine = f"{device_name()} torch {torch.__version__} {torch.get_num_threads()} threads"
    return folder / f"machine-{hashlib.sha256(machine.encode()).hexdigest()[:12]}.json"


@once
def _measured() -> Ceilings:
    import torch

    where = device()
    versions = {"python": platform.python_version(), "torch": str(torch.__version__)}
    if where.type == "cuda":
        versions["cuda"] = str(torch.version.cuda)
    timings = {
        what: measure(operation, runs=runs, on=clock, at_most_s=at_most_s)
        for what, operation, runs, clock, at_most_s in _operations(where)
    }
    milliseconds = {what: timing.median_ms for what, timing in timings.items()}
    return Ceilings(
        device=device_name(),
        kind=where.type,
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        versions=versions,
        copy_gbs=2 * COPY_BYTES[where.type] / (milliseconds["copy"] * 1e6),
        matmul_gflops={
            kind: 2 * _matrix_size(kind, where) ** 3 / (milliseconds[kind] * 1e6) for kind in _matmul_types(where)
        },
        launch_us=milliseconds["launch"] * 1e3 if "launch" in milliseconds else None,
        spreads={what: round(timing.spread_ms / timing.median_ms, 4) for what, timing in timings.items()},
        **{f"{way}_gbs": TRANSFER_BYTES / (milliseconds[way] * 1e6) for way in WAYS if way in milliseconds},
    )


def _operations(where: Any) -> Iterator[tuple[str, Callable[[], Any], int, str, float]]:
    """What is timed: name, operation, runs, clock, and the seconds after which no further run is started.

    Each is prepared when its turn comes, and its memory goes when the next one's does.
    """
    import torch

    source = torch.randint(256, (COPY_BYTES[where.type],), dtype=torch.uint8, device=where)
    target = torch.ones_like(source)
    yield "copy", functools.partial(target.copy_, source), 15, where.type, 1.0
    del source, target
    for kind in _matmul_types(where):
        size = _matrix_size(kind, where)
        dtype = getattr(torch, "float32" if kind == "tfloat32" else kind)
        # Random numbers: multiplying zeros draws less power and runs faster than real work does.
        left, right = (torch.randn(size, size, device=where).to(dtype) for _ in range(2))
        product = torch.empty(size, size, device=where, dtype=dtype)
        with _tf32(kind == "tfloat32"):
            yield kind, lambda: torch.mm(left, right, out=product), 10, where.type, 0.5  # noqa: B023 - timed at once
    if where.type == "cuda":
        del left, right, product
        yield from _of_the_link()


def _of_the_link() -> Iterator[tuple[str, Callable[[], Any], int, str, float]]:
    """The operations that cross from the host to the GPU: a launch, and transfers in both directions."""
    import torch

    tiny = torch.zeros(1, device="cuda")

    def launch_and_wait() -> None:
        tiny.add_(1)
        torch.cuda.synchronize()

    # By the processor's clock: the time between two events leaves out the way to the GPU and back.
    yield "launch", launch_and_wait, 30, "cpu", 10.0
    for way in WAYS:
        host = torch.randint(256, (TRANSFER_BYTES,), dtype=torch.uint8)
        there = host.to("cuda")
        if not way.endswith("pageable"):
            host = host.pin_memory()
        target, source = (there, host) if way.startswith("h2d") else (host, there)
        yield way, functools.partial(target.copy_, source, non_blocking=True), 10, "cuda", 1.0


def _matmul_types(where: Any) -> list[str]:
    """The types that the device has units for; half precision on a CPU is emulated and says nothing."""
    import torch

    if where.type == "cpu":
        return ["float32", "float64"]
    newer = ["tfloat32", "bfloat16"] if torch.cuda.get_device_capability() >= (8, 0) else []
    return ["float32", "float64", *newer, "float16"]


def _matrix_size(kind: str, where: Any) -> int:
    return MATRIX_SIZE[where.type] // (2 if kind == "float64" else 1)


@contextlib.contextmanager
def _tf32(allowed: bool) -> Any:
    """Lets float32 products run as TF32, or not, and puts the setting back."""
    import torch

    settings: Any = torch.backends.cuda.matmul
    before = settings.fp32_precision
    settings.fp32_precision = "tf32" if allowed else "ieee"
    try:
        yield
    finally:
        settings.fp32_precision = before
