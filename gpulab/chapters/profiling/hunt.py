"""The hunt of the profiling chapter: runs a fixed training loop under the profiler and names the faults left in it.

The loop as it is handed out is `profiling.slow_loop`. Every fault is proven by the trace, never by a time.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from gpulab.chapters.profiling import hunt_changes, slow_loop
from gpulab.chapters.profiling.hunt_pictures import BATCH, OTHER, UNPACKED
from gpulab.check.assertions import close
from gpulab.ranks import seals
from gpulab.ranks.launch import Run

MOST_OPERATORS = 450
"""Calls of operators per step, the loader's included: 325 without the fault, 785 with it (PyTorch 2.15)."""
TOLERANCE = 1e-5
"""float32 differs from float64 by about 1e-7 here, bfloat16 by more than 1e-5."""
REPORT = "report.txt"
PROFILED = """
import os
import sys

from gpulab.ranks import seals


def profiled(script, seal):
    import numpy
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook
    from torch.profiler import ProfilerActivity, profile
    from gpulab.chapters.profiling import hunt, hunt_modes, hunt_pictures, traces

    account, trace_events = hunt.account, traces.trace_events  # before the script runs, which could replace them
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False  # the losses are compared with those of float64
    files, labels = hunt_pictures.data(int(os.environ["SEED"]), int(os.environ["PICTURES"]))
    scale = float(os.environ.pop("SLOW_LOOP_SCALE", "1"))
    witness, mask = hunt_modes.Witness(scale), hunt_pictures.mask_of(scale)
    (second, its_labels), masked = hunt_pictures.OTHER, hunt_pictures.masked
    files, other = masked(files, mask), (masked(second, mask), its_labels)
    unpacked = hunt_pictures.counted_decompressions(mask)
    where, calls = {"device": os.environ["SLOW_LOOP_DEVICE"]} if "SLOW_LOOP_DEVICE" in os.environ else {}, []
    processes, updates = [], []
    register_optimizer_step_post_hook(lambda *_: updates.append(1))
    os.register_at_fork(before=lambda: processes.append(1))
    asked, names = hunt_modes.Asked(witness), {"__name__": "__main__"}
    asked.watch_exports()
    register_optimizer_step_post_hook(lambda *_: asked.between())
    exec(compile(script, "script.py", "exec"), names)
    train = names.get("train")
    if not callable(train):
        sys.exit("The program defines no function train(files, labels, device, after_step).")
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler, witness, asked:
        losses = called(train, files, labels, after_step=lambda: calls.append(len(updates)), **where)
    events = trace_events(profiler)
    try:
        numbers = [float(one).hex() for one in losses]
    except (TypeError, ValueError, RuntimeError):
        of = type(losses).__name__
        sys.exit(f"train returned a value of type {of}, expected a list of floats: the loss of every step.")
    tensors = sum(isinstance(one, torch.Tensor) for one in (losses, *losses))
    arrays = isinstance(losses, numpy.ndarray)
    early = bool(updates) and calls != [*range(1, len(calls) + 1)]
    more = dict(losses=numbers, tensors=tensors, arrays=arrays, calls=len(calls), early=early)
    more.update(unpacked=len(unpacked), processes=len(processes))
    more.update(copied=asked.values, told=asked.told, turned=asked.turned)
    try:
        again, repeated = ([float(one).hex() for one in called(train, *other, **where)] for _ in range(2))
    except Exception as error:
        raised = f"A second call of train, with other pictures, raised {type(error).__name__}: {error}"
        sys.exit(f"{raised}. Does it keep something from the first?")
    report = dict(account(events), unseen=witness.unseen(events), again=again, repeated=repeated, **more)
    report["reordered"] = max(report.get("reordered", 0), asked.reordered)
    with open(REPORT, "w") as file:
        file.write(seal(report))


def called(train, *arguments, **options):
    try:
        return train(*arguments, **options)
    except TypeError as error:
        if error.__traceback__.tb_next is None:  # the call itself failed, and the line is none of the student's
            sys.exit(f"The test calls train(files, labels{''.join(f', {name}=...' for name in options)}): {error}")
        raise


profiled(os.environ.pop("SCRIPT"), seals.take())
""".replace("REPORT,", f"{REPORT!r},")
"""The program that runs a student's: it calls `train` under the profiler and leaves a report. See `around`."""


def around(script: Any, seed: int, pictures: int, **more: str) -> dict[str, str]:
    """The environment of `PROFILED`.

    Args:
        script: the student's program.
        seed: of the pictures.
        pictures: how many.
        more: SLOW_LOOP_DEVICE where it is not the CPU; SLOW_LOOP_SCALE, as for `hunt_modes.Witness`.

    Raises:
        TypeError: the script is no text.
        AssertionError: it is no Python.
    """
    if not isinstance(script, str):
        raise TypeError(f"the script is of type {type(script).__name__}: a str is expected")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(script, "script.py", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        raise AssertionError(f"The script is not valid Python: {line}.") from None
    return {"SCRIPT": script, "SEED": str(seed), "PICTURES": str(pictures), **seals.key(), **more}


def account(events: Sequence[dict[str, Any]]) -> dict[str, int]:
    """What a trace of the loop proves: counts of ranges and of the operators between the first step and the last.

    Args:
        events: with `record_shapes=True`; ranges are named `decode` and `step`.
    """
    timed = list(_once(one for one in events if one["ph"] == "X"))
    ranges: dict[str, list[tuple[float, float]]] = {"decode": [], "step": []}
    for one in timed:
        if one.get("cat") == "user_annotation" and one["name"] in ranges:
            ranges[one["name"]].append((one["ts"], one["ts"] + one["dur"]))
    found = {"decodes": len(ranges["decode"]), "steps": len(ranges["step"])}
    if not ranges["step"]:
        return found
    first, last = min(ranges["step"])[0], max(ranges["step"])[1]
    between = [one for one in timed if one.get("cat") == "cpu_op" and first <= one["ts"] < last]
    updates = [one["ts"] for one in timed if one["name"].startswith("Optimizer.step")]
    unpacked = [one["ts"] for one in timed if one["name"] == UNPACKED]
    decoding = list(_decoding(ranges["decode"], unpacked, updates))
    between = [one for one in between if not any(a <= one["ts"] < b for a, b in decoding)]
    shapes = [(one["name"], (one["args"].get("Input Dims") or [None])[0]) for one in between]
    reordered = ("aten::contiguous", "aten::clone")
    found["outside"] = sum(not any(a <= moment < b for a, b in ranges["step"]) for moment in updates)
    items = [(one["args"].get("Input type") or [""])[0] for one in between if one["name"] == "aten::item"]
    found["values"], found["whole"] = len(items), sum(one in WHOLE for one in items)
    found["doubles"] = sum(_has_doubles(one["args"]) for one in between)
    found["reordered"] = sum(name in reordered and shape == [BATCH, 3, 16, 16] for name, shape in shapes)
    middle = sorted(start for start, _ in ranges["step"])[len(ranges["step"]) // 2]  # by then, all is decoded
    later = sum(one["ts"] >= middle for one in between) // -(-len(ranges["step"]) // 2)
    found["operators"] = max(len(between) // len(ranges["step"]), later)
    return found


def _decoding(
    ranges: Iterable[tuple[float, float]], unpacked: Sequence[float], updates: Sequence[float]
) -> Iterator[tuple[float, float]]:
    """The ranges named `decode` in which a picture is decompressed, each up to the first update in it: what comes later
    is training, whatever the range is named."""
    for start, stop in ranges:
        if any(start <= moment < stop for moment in unpacked):
            yield start, min([stop, *(moment for moment in updates if start <= moment < stop)])


def _has_doubles(arguments: dict[str, Any]) -> bool:
    """Whether a float64 tensor with axes is among them. The trace shows the 2.0 in `x * 2.0` as one without."""
    types, shapes = arguments.get("Input type", []), arguments.get("Input Dims", [])
    return any(of == "double" and shape != [] for of, shape in itertools.zip_longest(types, shapes))


def _once(timed: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events in their order, each operator once: it is there again inside itself where a `Witness` passed it on."""
    open_now: dict[int, list[dict[str, Any]]] = {}
    for one in sorted(timed, key=lambda event: (event["ts"], -event["dur"])):
        if one["name"] == "PythonDispatchMode":
            continue
        around = open_now.setdefault(one["tid"], [])
        while around and around[-1]["ts"] + around[-1]["dur"] <= one["ts"]:
            around.pop()
        if not (around and one.get("cat") == "cpu_op" and around[-1]["name"] == one["name"]):
            yield one
        around.append(one)


def require_mended(
    run: Run,
    pictures: int,
    expected: Sequence[float],
    what: str,
    rtol: float = TOLERANCE,
    data: tuple[Sequence[bytes], torch.Tensor] | None = None,
) -> None:
    """Passes if the losses are right and the trace shows none of the five faults.

    Args:
        run: of `PROFILED`, `apart=True`.
        pictures: how many there were.
        expected: the losses of the loop as it was handed out.
        what: the name of the exercise.
        rtol: how far the losses may be off.
        data: the pictures and their labels, to tell which change of the loop gives wrong losses.

    Raises:
        AssertionError: the run failed, the losses are others, or a fault is left; the message says which.
    """
    last = run.ranks[0].last_line[:300] if run.ranks else ""
    if run.problem:
        raise AssertionError(f"{what}: {run.problem} {last}")
    found, steps = seals.opened(run.ranks[0].left.get(REPORT)), len(expected)
    if not found:
        raise AssertionError(f"{what}: the program ended before train(files, labels) had returned. {last}")
    losses = [float.fromhex(one) for one in found["losses"]]  # which keeps infinity and NaN
    if len(losses) != steps:
        raise AssertionError(f"{what}: train returned {len(losses)} losses, expected {steps}: one per step.")
    if found["tensors"]:
        raise AssertionError(f"{what}: train returned tensors, expected a list of floats: .tolist() after the loop.")
    if found["arrays"]:
        raise AssertionError(f"{what}: train returned an array, expected a list of floats: .tolist() makes one.")
    again, repeated = ([float.fromhex(one) for one in found[key]] for key in ("again", "repeated"))
    other = slow_loop.train(*OTHER)
    how = "" if len(again) != len(repeated) or _agree(again, repeated, rtol) else APART
    if data and not how and not _agree(losses, expected, rtol):
        reordered = not _agree(losses[:1], expected[:1], rtol) and _agree(again, other, rtol)
        how = ORDER if reordered else hunt_changes.known(losses, *data, rtol)
        how = how or hunt_changes.seeded_late(again, *OTHER, rtol)
    changed = (
        "The results changed: a fix makes the loop faster, not different. "
        f"{how or _how_changed(losses, expected, rtol)}"
    )
    close(losses, list(expected), f"{what}: the losses", rtol=rtol, mistakes=[(losses, changed.strip())])
    if found["calls"] != steps or found["steps"] != steps:
        given = f"{found['calls']} calls of after_step and {found['steps']} ranges named step for {steps} steps"
        raise AssertionError(f"{what}: {given}. Keep after_step() and record_function('step') as they were.")
    if found["outside"]:
        note = "The whole step belongs inside: the forward pass, the backward pass, and optimizer.step()."
        raise AssertionError(
            f"{what}: {found['outside']} updates of the optimizer lie outside the ranges named step. {note}"
        )
    if found["processes"]:
        raise AssertionError(f"{what}: another process was started. Keep everything in one: num_workers=0.")
    if found["unseen"]:
        raise AssertionError(
            f"{what}: {found['unseen']} operators ran that are not in the trace: leave the profiler on."
        )
    if not 0 < found["decodes"] <= pictures:
        note = "Decode each picture once, before the first epoch, and keep the result."
        if not found["decodes"]:
            note = "Keep record_function('decode') around the decompression, in this process."
        raise AssertionError(f"{what}: {found['decodes']} decode ranges for {pictures} pictures. {note}")
    if found["unpacked"] > pictures:
        raise AssertionError(
            f"{what}: zlib decompressed {found['unpacked']} times for {pictures} pictures. Decode each picture once, "
            "before the first epoch, and keep the result."
        )
    if found["decodes"] < found["unpacked"]:
        given = f"{found['decodes']} decode ranges for {found['unpacked']} decompressions"
        raise AssertionError(f"{what}: {given}. Keep record_function('decode') around each of them.")
    kept = how or "Does it keep something from the first call?"
    close(again, other, f"{what}: the losses of a second call with other pictures", rtol=rtol, mistakes=[(again, kept)])
    if found["early"]:
        raise AssertionError(f"{what}: after_step() was called before the optimizer's step: call it after each step.")
    if found["values"] == found["whole"] > LIMITS["values"]:
        raise AssertionError(f"{what}: {NO_LOSSES.format(found['values'])}")
    for fault, note in FAULTS.items():
        if found[fault] > LIMITS.get(fault, 0):
            raise AssertionError(f"{what}: {note.format(found[fault])}")


def _agree(losses: Sequence[float], others: Sequence[float], rtol: float) -> bool:
    """Whether these are the same losses, up to rounding; NaN and infinity are like themselves."""
    return len(losses) == len(others) and all(
        one.hex() == other.hex() or abs(one - other) <= rtol * abs(other)
        for one, other in zip(losses, others, strict=True)
    )


def _how_changed(losses: Sequence[float], expected: Sequence[float], rtol: float) -> str:
    """Where wrong losses begin to differ, as far as only one part of the program can be the cause."""
    off = [abs(one - right) / right for one, right in zip(losses, expected, strict=True)]
    half = len(off) // 2
    if not all(map(math.isfinite, off)):
        return ""
    for kind in (torch.bfloat16, torch.float16):
        if max(off) < SHORT_NUMBERS and all(torch.tensor(one).to(kind).item() == one for one in losses):
            return f"All losses are {str(kind).removeprefix('torch.')} numbers: compute in float32."
    if off[0] > rtol and max(off) > HALF_PRECISION:
        return (
            "The first loss already differs: are the pictures normalized as before and in the same order, and are the "
            "first weights the same?"
        )
    if off[0] > rtol:
        return "All losses are slightly off: was something computed in a type with fewer digits than float32?"
    if max(off) <= HALF_PRECISION:
        return ""
    again = [abs(one - before) / before for one, before in zip(losses[half:], losses, strict=False)]
    if max(again) <= rtol:
        steps = max(off[1:half], default=1.0) <= rtol
        return f"The second epoch has the losses of the first: {AGAIN if steps else 'no step changed the weights.'}"
    changed = "did the gradients or the learning rate change, or is an entry not the loss of its own step?"
    return f"The first loss is right, but later ones differ: {changed}"


APART = (
    "Two calls with the same pictures give different losses. Inside train, torch.manual_seed(0) comes first, and then "
    "the model is made."
)
ORDER = "The losses are right if all pictures fit into one batch: keep the pictures in their order, without shuffling."
AGAIN = "train both epochs, the second one with the weights that the first one has left."
HALF_PRECISION = 2e-4
"""Relative: what autocast to bfloat16 changes in a loss is below that, what another normalization changes is above."""
SHORT_NUMBERS = 0.05
"""Relative: the losses of a network in bfloat16 are off by less, made-up ones by more."""
FAULTS = {
    "values": "the trace has {} aten::item calls between the first step and the last. Each waits for the device: keep "
    "the losses as tensors, and ask for their values after the loop.",
    "copied": "between the first update and the last, {} calls of .tolist(), .cpu() or .numpy() ask for losses or for "
    "other values that the network computed. On a GPU each waits for the device, as .item() does: keep the losses as "
    "tensors, and ask for their values after the loop, not after each epoch.",
    "told": "between the first update and the last, {} operators tell the host about losses or about other values that "
    "the network computed, as .item() does, or torch.nonzero, whose result has a shape that depends on them, or a copy "
    "into memory that the program reads without PyTorch. On a GPU "
    "each waits for the device: keep the losses as tensors, and ask for their values after the loop.",
    "doubles": "{} operators between the first step and the last compute in float64. Use float32.",
    "reordered": "the trace has {} copies that only reorder a batch (aten::contiguous, aten::clone, or aten::copy_). "
    "Keep the order of the decoded pictures: memory_format=torch.channels_last.",
    "turned": "batches that reached the first convolution in another order in memory than their pictures had in any "
    "step before: {}. Each was put into that order by itself. Keep the order of the decoded pictures: "
    "memory_format=torch.channels_last.",
    "operators": "the trace has {} operator calls per step. Normalize the whole batch at once.",
}
"""Count → what to say if the trace has more of them than `LIMITS` allow."""
LIMITS = {"operators": MOST_OPERATORS, "values": 1}
"""One value per epoch is the loader's own: it draws a seed. The first epoch's is before the first step."""
WHOLE = ("long int", "int", "short int", "signed char", "unsigned char", "bool")
"""Types of numbers, as a trace names them, that no loss has."""
NO_LOSSES = (
    "the trace has {} aten::item calls between the first step and the last, for whole numbers or truth values: "
    "labels, counts, or a condition such as `if loss.isnan():`. Each waits for the device: keep them as tensors."
)
"""What to say of values that are no losses."""
