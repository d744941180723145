"""How the exercises on transfers are checked on the GPU: what crossed the link, when a call returned, what overlapped.

`grader.exercises.confront` says how these are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulab import check
from gpulab.check.outcomes import WrongAnswer
from grader.exercises.confront import Confrontation, Unusable
from grader.exercises.transfers import copy_pipelines, loading

ReadingValues = dict[str, Any]

# ------------------------------------------------------------------------------------------------------ bytes_moved

CASTS: tuple[tuple[tuple[int, ...], str, str, str], ...] = (
    ((16, 3, 224, 224), "uint8", "float32", "gpu"),
    ((16, 3, 224, 224), "uint8", "float32", "cpu"),
    ((33, 257), "float64", "bfloat16", "cpu"),
    ((33, 257), "float64", "bfloat16", "gpu"),
    ((1000,), "int64", "int32", "gpu"),
    ((7, 11, 5), "float32", "float16", "cpu"),
    ((2, 3), "bool", "float32", "cpu"),
)
"""Shape, type on the host, type on the device, where it is cast."""


def _take_bytes() -> list[ReadingValues]:
    """What the driver reports of each copy to the device."""
    import torch

    from grader.exercises.device_events import timed, traced

    hosts = [torch.zeros(shape, dtype=getattr(torch, host)) for shape, host, _, _ in CASTS]

    def move() -> None:
        for x, (_, _, there, place) in zip(hosts, CASTS, strict=True):
            dtype = getattr(torch, there)
            _ = x.to(dtype).to("cuda") if place == "cpu" else x.to("cuda").to(dtype)

    _, events = traced(move)
    sizes = {one["ts"]: one["args"]["bytes"] for one in events if one.get("cat") == "gpu_memcpy"}
    copies = [one for one in timed(events) if one["cat"] == "gpu_memcpy" and "HtoD" in one["name"]]
    if len(copies) != len(CASTS):
        raise Unusable(f"the profiler saw {len(copies)} copies to the device, where {len(CASTS)} were made")
    keys = ("shape", "host_dtype", "device_dtype", "cast_on")
    return [
        dict(zip(keys, case, strict=True)) | {"bytes": sizes[one["ts"]]}
        for case, one in zip(CASTS, copies, strict=True)
    ]


def _check_bytes(answer: Any, readings: Sequence[ReadingValues]) -> None:
    for one in readings:
        shape = tuple(one["shape"])
        if one["bytes"] <= 0:
            raise Unusable(f"a copy of {one['bytes']} bytes")
        how = f"{shape}, {one['host_dtype']} to {one['device_dtype']}, cast on the {one['cast_on']!r}"
        what = f"{how}: bytes that the profiler saw cross the link of this GPU"
        check.equal(answer(shape, one["host_dtype"], one["device_dtype"], one["cast_on"]), one["bytes"], what)


# ------------------------------------------------------------------------------------------------------ SYNC_POINTS

ROUNDS = 3
SLOW_CYCLES = 60_000_000
"""Of the kernel that the copies wait behind: 30 ms at 2 GHz, where a copy of a megabyte takes less than one."""
NUMBERS = 1 << 18
FREE = 4
"""Right entries that the menu gives no points for: they could be guessed."""


def _take_waits() -> dict[str, Any]:
    """For each snippet, whether its values were right, and whether they were safe when its call returned."""
    import torch

    page, pin = torch.zeros(NUMBERS), torch.zeros(NUMBERS, pin_memory=True)
    found: dict[str, Any] = {}

    def keep(key: str, right: torch.Tensor, safe: torch.Tensor, value: float) -> None:
        one = found.setdefault(key, {"right": [], "safe": []})
        one["right"].append(bool((right == value).all()))
        one["safe"].append(bool((safe == value).all()))

    def slow(x: torch.Tensor) -> torch.Tensor:
        torch.cuda._sleep(SLOW_CYCLES)  # type: ignore[no-untyped-call]
        return x.clone()

    def sent(source: torch.Tensor, value: float, overwritten: bool, non_blocking: bool = True) -> torch.Tensor:
        """What arrives behind a slow kernel, whether or not the source is overwritten once the call has returned."""
        source.fill_(value)
        slow(torch.zeros(1, device="cuda"))
        target = source.to("cuda", non_blocking=non_blocking)
        if overwritten:
            source.zero_()
        torch.cuda.synchronize()
        return target

    for at in range(ROUNDS):
        value = float(at + 1)
        for key, blocks in (("plain", True), ("pageable", False)):
            first, after = (sent(page, value, overwritten, non_blocking=not blocks) for overwritten in (False, True))
            keep(key, first, after, value)
        after = sent(pin, value, True)
        keep("pinned", sent(pin, value, False), after, value)
        keep("reused", after, after, value)
        x = torch.full((NUMBERS,), value, device="cuda")
        torch.cuda.synchronize()
        h = slow(x).to("cpu", non_blocking=True)
        early = h.clone()
        torch.cuda.synchronize()
        keep("looked", early, early, value)
        keep("synchronized", h, early, value)
        total = torch.tensor(slow(x).sum().item() / NUMBERS)
        keep("logged", total, total, value)
    try:
        pin.to("gpu", non_blocking=True)
    except RuntimeError as error:
        found["gpu"] = {"raised": str(error)[:80]}
    return found


def _word(one: ReadingValues) -> str:
    """What the GPU says of a snippet, in the menu's words."""
    if "raised" in one:
        return "error"
    if not all(one["right"]):
        return "race"
    return "immediate" if all(one["safe"]) else "deferred"


def _check_waits(answer: Any, readings: dict[str, Any]) -> None:
    said = {key: _word(one) for key, one in readings.items()}
    if {said.get("looked"), said.get("reused")} != {"race"}:
        raise Unusable("the slow kernel was over before the values were looked at")
    if not isinstance(answer, dict):
        raise WrongAnswer("SYNC_POINTS: it is not a dict.")
    given = {str(key).replace("ised", "ized"): word for key, word in answer.items()}
    agree = sum(given.get(key) == word for key, word in said.items())
    if agree <= FREE:  # more earn points in part, which the menu counts
        raise WrongAnswer(f"SYNC_POINTS: {agree} of {len(said)} entries agree with what this GPU did.")


CONFRONTATIONS = (
    Confrontation(
        "SYNC_POINTS",
        "Each snippet runs after a slow kernel; its word follows from whether its values were right, and whether they "
        "were safe when its call returned.",
        _take_waits,
        _check_waits,
    ),
    Confrontation(
        "bytes_moved",
        "Bytes are compared with those that the profiler records for seven copies to the device.",
        _take_bytes,
        _check_bytes,
    ),
    Confrontation(
        "pipeline_ms",
        "Copies and kernels run on one stream per engine, in both orders of issue; the function must predict the total "
        "time within 12% from the time of each stage.",
        copy_pipelines.take,
        copy_pipelines.check_answer,
    ),
    Confrontation(
        "loader_settings",
        "A DataLoader feeds steps on the device with one to four workers; the function must return the fewest that "
        "keep up. Pinned memory must let a non-blocking copy return at once.",
        loading.take,
        loading.check_answer,
    ),
)
ON_DEVICE = {
    "transfer_bandwidth": (
        "the rate is compared with the grader's own, both ways, pinned and pageable.",
        "own = own_figure(nbytes, pinned, direction)",
    ),
    "to_host": (
        "the values are read at the moment when the function returns, after a kernel of 50 ms.",
        "speedup.same(to_host, LATE, times=3",
    ),
    "overlapped": (
        "four batches of 67 MB must be right when the function returns, three times.",
        "speedup.same(overlapped, AT_ONCE, times=3",
    ),
}
NONE: dict[str, str] = {}
