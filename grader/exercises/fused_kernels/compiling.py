"""What Dynamo does with the six functions of `GRAPH_BREAKS`; they are copies of the page's, which a test compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.exercises.confront import Unusable

REASONS = {"branch": ("branching", "jump"), "item": (".item()", "scalar"), "print": ("print",)}
"""Code → words of Dynamo's reason for a graph break, one of which is in it."""
CHANGES = {"e": "number", "f": "shape"}
"""Function → what changes from call to call; nothing else does."""


def functions() -> list[Callable[..., Tensor]]:
    """The six of the page, in order."""

    def a(x: Tensor) -> Tensor:  # called with vectors of 8 elements
        return torch.where(x.sum() > 0, 2 * x, x - 1)

    def b(x: Tensor) -> Tensor:  # called with vectors of 8 elements
        if x.sum() > 0:
            return 2 * x
        return x - 1

    def c(x: Tensor) -> Tensor:  # called with vectors of 8 elements
        largest = x.max().item()
        return x / largest

    def d(x: Tensor) -> Tensor:  # called with vectors of 8 elements
        y = 2 * x
        print("largest:", y.max())
        return y + 1

    def e(x: Tensor, step: int) -> Tensor:  # called with step = 2, then 3, then 4, and the same x
        for _ in range(3):
            x = x * step
        return x

    def f(x: Tensor) -> Tensor:  # called with vectors of 8, then 9, then 10 elements
        return torch.relu(x - x.mean())

    return [a, b, c, d, e, f]


def compiled(device: str = "cuda") -> dict[str, Any]:
    """For each function: the graphs there were after each of three calls, and why the first one ended early."""
    found = {}
    for function in functions():
        name, graphs = function.__name__, [0]

        def keep(module: Any, _: Any, graphs: list[int] = graphs) -> Any:
            graphs[0] += 1
            return module.forward

        draw = torch.Generator().manual_seed(14)
        x = torch.rand(10, generator=draw, device="cpu").to(device)  # the page has made the GPU the default
        calls: list[tuple[Any, ...]] = [(x[:8],)] * 3
        if name == "e":
            calls = [(x[:8], step) for step in (2, 3, 4)]
        if name == "f":
            calls = [(torch.rand(n, generator=draw, device="cpu").to(device),) for n in (8, 9, 10)]
        torch.compiler.reset()
        quick, counts = torch.compile(function, backend=keep), []
        for call in calls:
            quick(*call)
            counts.append(graphs[0])
        torch.compiler.reset()
        told = torch._dynamo.explain(function)(*calls[0])
        why = " ".join(str(one.reason) for one in told.break_reasons)[:600]
        found[name] = {"graphs": counts, "why": why}
    torch.compiler.reset()
    return found


def code(name: str, seen: dict[str, Any]) -> str:
    """The code of the page for what Dynamo did with a function.

    Raises:
        Unusable: it is none of them.
    """
    first, *later = seen["graphs"]
    if first > 1:
        why = seen["why"].lower()
        for found, words in REASONS.items():
            if any(word in why for word in words):
                return found
    elif first == 1 and later[-1] == 1:
        return "nothing"
    elif first == 1 and name in CHANGES:
        return CHANGES[name]
    raise Unusable(f"Dynamo made {seen['graphs']} graphs of {name}: {seen['why']:.200}")
