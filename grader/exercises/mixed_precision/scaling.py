"""The scales of a real GradScaler on this GPU, and the types that autocast gives there."""

from __future__ import annotations

import contextlib
import io
import itertools
import random
from collections.abc import Mapping
from typing import Any

from gpulab import check
from gpulab.check import WrongAnswer, digest
from grader.exercises.confront import Unusable

SETTINGS = ((65536.0, 2.0, 0.5, 3), (1024.0, 4.0, 0.25, 2), (8.0, 2.0, 0.125, 4), (65536.0, 2.0, 0.5, 2000))
"""init_scale, growth_factor, backoff_factor, growth_interval."""
NAMES = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
TYPES = ("float16", "float32", "float64")


def scaled(device: str = "cuda") -> list[dict[str, Any]]:
    """Steps with planted infinite gradients, and the scaler's scale after each update."""
    import torch

    draw, found = random.Random(5), []
    for settings in SETTINGS:
        infinite = [draw.random() < 0.2 for _ in range(40)]
        named: dict[str, Any] = dict(zip(NAMES, settings, strict=True))
        scaler = torch.amp.GradScaler(device, **named)
        weight = torch.nn.Parameter(torch.zeros(4, device=device))
        optimizer = torch.optim.SGD([weight], lr=0.0)
        scales = []
        for one in infinite:
            scaler.scale(weight.sum()).backward()  # type: ignore[no-untyped-call]
            if one and weight.grad is not None:
                weight.grad[2] = float("inf")
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scales.append(scaler.get_scale())
        found.append({"found_inf": infinite, "settings": named, "scales": scales})
    return found


def check_scaler(answer: Any, readings: Any) -> None:
    """`simulate_scaler` gives the scales of the GPU's own scaler."""
    for one in readings:
        infinite, named, scales = one["found_inf"], one["settings"], one["scales"]
        fell = [after < before for before, after in itertools.pairwise([named["init_scale"], *scales])]
        if len(scales) != len(infinite) or fell != infinite:
            raise Unusable(f"the scale fell in other steps than those with an infinite gradient: {scales}")
        told = ", ".join(f"{name} {value:g}" for name, value in named.items())
        what = f"{len(infinite)} steps, {sum(infinite)} with a planted infinity on this GPU's GradScaler; {told}"
        check.equal(answer(list(infinite), **named), scales, what)


def autocast_types() -> dict[str, str]:
    """The types of the ten results under float16 autocast on the GPU."""
    import torch

    with torch.autocast("cuda", dtype=torch.float16):
        return result_types("cuda") | {"gradient": gradient_type("cuda")}


def result_types(device: str) -> dict[str, str]:
    """Those of results of the forward pass, under whatever autocast is on."""
    import torch
    from torch.nn import functional

    single = torch.randn(8, 8, device=device)
    half, double = single.half(), single.double()
    image, kernel = torch.randn(1, 2, 8, 8, device=device), torch.randn(4, 2, 3, 3, device=device)
    results = {
        "matmul": single @ single,
        "conv2d": functional.conv2d(image, kernel),
        "relu": half.relu(),
        "softmax": half.softmax(dim=1),
        "layer_norm": functional.layer_norm(half, (8,)),
        "cross_entropy": functional.cross_entropy(half, torch.zeros(8, dtype=torch.long, device=device)),
        "sum": half.sum(),
        "add": half + single,
        "double": double @ double,
    }
    return {name: _name(one.dtype) for name, one in results.items()}


def gradient_type(device: str) -> str:
    """That of a weight's gradient, under whatever autocast is on in the forward pass."""
    import torch

    layer = torch.nn.Linear(8, 8, device=device)
    loss = layer(torch.randn(8, 8, device=device)).sum()
    with torch.autocast(device, enabled=False):
        loss.backward()
    assert layer.weight.grad is not None
    return _name(layer.weight.grad.dtype)


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def check_autocast(answer: Any, readings: Any) -> None:
    """`AUTOCAST` has more entries that this GPU confirms than a guess."""
    if not set(readings.values()) <= set(TYPES):
        raise Unusable(f"autocast gave other types than float16, float32, and float64: {readings}")
    require_menu(answer, readings, TYPES, "AUTOCAST", "On this GPU it is {}.")


def require_menu(answer: Any, told: Mapping[str, str], words: tuple[str, ...], name: str, note: str) -> None:
    """Passes if the entries that the GPU confirms are worth points, as in the exercise's own check.

    Args:
        answer: the student's dict.
        told: item → the word that the GPU says.
        words: of the menu.
        name: of the exercise.
        note: what to say about a wrong entry, with a place for the right word.

    Raises:
        WrongAnswer: they are not, or it is no dict with an entry for each item.
    """
    digests = {item: digest(name, item, word) for item, word in told.items()}
    notes = {item: {word: note.format(right) for word in words if word != right} for item, right in told.items()}
    with contextlib.redirect_stdout(io.StringIO()):  # the exercise's own check prints how many are right
        try:
            check.menu(answer, digests, words, 1.0, name, salt=name)
        except WrongAnswer:
            check.menu(answer, digests, words, 1.0, name, salt=name, notes=notes)
