"""The six loops of `AMP_BUGS`, run on this GPU: what an exception, the scales, and the steps show of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any
from unittest import mock

from grader.exercises.confront import Unusable
from grader.exercises.mixed_precision.scaling import require_menu

CODES = (
    "backward_in_autocast", "clip_before_unscale", "half_weights", "loss_not_divided",
    "new_scaler", "no_update", "optimizer_steps", "unscale_in_window",
)  # fmt: skip
RAISED = {
    "No inf checks were recorded": "optimizer_steps",
    "unscale FP16 gradients": "half_weights",
    "unscale_() has already been called": "unscale_in_window",
}
"""Part of what PyTorch says → the mistake that it says it about (`torch/amp/grad_scaler.py`, 2.11 to 2.15)."""
FACTORS = (1e6, 1.0, 1.0, 1.0)
"""Of the losses of four batches: the first one overflows at the scaler's first scale."""
LIMIT = 1.0


@dataclass
class Seen:
    """What a loop did."""

    raised: str = ""
    inside: bool = False
    """A backward pass ran inside autocast."""
    scales: list[float] = field(default_factory=list)
    """By which each loss was multiplied."""
    norms: list[float] = field(default_factory=list)
    """Of the gradients with which the optimizer stepped, where they are finite."""


def symptoms(device: str = "cuda") -> dict[str, Any]:
    """What each of the loops A to F did."""
    return {letter: asdict(ran(loop, device)) for letter, loop in LOOPS.items()}


def ran(loop: Callable[..., None], device: str) -> Seen:
    """One loop, on a layer of 16 × 4 and four batches."""
    import torch

    torch.manual_seed(3)
    model = torch.nn.Linear(16, 4, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = [(torch.randn(8, 16, device=device), factor) for factor in FACTORS]
    seen = Seen()
    with _watching(seen, optimizer):
        try:
            loop(model, optimizer, lambda output, factor: factor * output.float().square().mean(), loader, device)
        except (AssertionError, RuntimeError, ValueError) as error:
            seen.raised = str(error)
    return seen


@contextmanager
def _watching(seen: Seen, optimizer: Any) -> Iterator[None]:
    import torch

    scale, backward = torch.amp.GradScaler.scale, torch.Tensor.backward

    def and_note(scaler: Any, outputs: Any) -> Any:
        seen.scales.append(scaler.get_scale())
        return scale(scaler, outputs)

    def and_look(tensor: Any, *arguments: Any, **named: Any) -> None:
        seen.inside |= torch.is_autocast_enabled(tensor.device.type)
        backward(tensor, *arguments, **named)  # type: ignore[no-untyped-call]

    def norm(*_: Any) -> None:
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        found = float(torch.nn.utils.get_total_norm([one.grad.float() for one in weights]))
        seen.norms += [found] if math.isfinite(found) else []

    hook = optimizer.register_step_pre_hook(norm)
    with (
        mock.patch.object(torch.amp.GradScaler, "scale", and_note),
        mock.patch.object(torch.Tensor, "backward", and_look),
    ):
        yield
    hook.remove()


def _a(model: Any, optimizer: Any, criterion: Any, loader: Any, device: str) -> None:
    import torch

    scaler = torch.amp.GradScaler(device)
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        optimizer.step()
        scaler.update()


def _b(model: Any, optimizer: Any, criterion: Any, loader: Any, device: str) -> None:
    import torch

    scaler = torch.amp.GradScaler(device)
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
        scaler.step(optimizer)
        scaler.update()


def _c(model: Any, optimizer: Any, criterion: Any, loader: Any, device: str) -> None:
    import torch

    for images, labels in loader:
        optimizer.zero_grad()
        scaler = torch.amp.GradScaler(device)
        with torch.autocast(device, dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def _d(model: Any, optimizer: Any, criterion: Any, loader: Any, device: str) -> None:
    import torch

    scaler = torch.amp.GradScaler(device)
    model = model.half()
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def _e(model: Any, optimizer: Any, criterion: Any, loader: Any, device: str) -> None:
    import torch

    scaler = torch.amp.GradScaler(device)
    for number, (images, labels) in enumerate(loader, start=1):
        with torch.autocast(device, dtype=torch.float16):
            loss = criterion(model(images), labels) / 4
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if number % 4 == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def _f(model: Any, optimizer: Any, criterion: Any, loader: Any, device: str) -> None:
    import torch

    scaler = torch.amp.GradScaler(device)
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = criterion(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


LOOPS = {"A": _a, "B": _b, "C": _c, "D": _d, "E": _e, "F": _f}


def check_bugs(answer: Any, readings: Any) -> None:
    """`AMP_BUGS` has more entries that this GPU confirms than a guess."""
    told = {letter: _mistake(letter, one) for letter, one in readings.items()}
    require_menu(answer, told, CODES, "AMP_BUGS", "Run on this GPU, the loop shows {}.")


def _mistake(letter: str, seen: Any) -> str:
    """The mistake that a loop showed.

    Raises:
        Unusable: none of the known ones, or more than one.
    """
    found = {code for part, code in RAISED.items() if part in seen["raised"]}
    if not seen["raised"]:
        found |= {"backward_in_autocast"} if seen["inside"] else set()
        overflowed = len(seen["norms"]) < len(FACTORS)  # a step was skipped, after which the scale is halved
        found |= {"new_scaler"} if overflowed and len(set(seen["scales"])) == 1 else set()
        tiny = seen["norms"] and max(seen["norms"]) * min(seen["scales"]) < 1.01 * LIMIT
        found |= {"clip_before_unscale"} if tiny else set()
    if len(found) != 1:
        raise Unusable(f"loop {letter} shows {sorted(found) or 'no mistake'}: {seen}")
    return found.pop()
