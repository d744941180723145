"""`plan_layout`: each known mistake is refused in cases that are drawn for it, and wrong costs are named."""

from __future__ import annotations

import functools
import random
from dataclasses import asdict
from typing import Any

import pytest

from grader.exercises.sharding import layouts

MISTAKES = [*layouts.COSTS, *layouts.CHOICES]


@functools.cache
def cases(seed: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return layouts.drawn(random.Random(seed))


def refused(wrong: str, *cases: layouts.ModelOnCluster) -> str:
    """What an answer with this mistake reads; nothing if it passes."""

    def plan_layout(model: dict[str, Any], cluster: dict[str, Any]) -> dict[str, Any]:
        found = layouts.planned(model, cluster, wrong)
        return asdict(found) if found else {}

    try:
        layouts.judge(plan_layout, cases)
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", [1, 2])
def test_every_mistake_is_refused_in_drawn_cases(seed: int) -> None:
    assert not refused("", *cases(seed))
    assert [name for name in MISTAKES if not refused(name, *cases(seed))] == []


@pytest.mark.parametrize("name", layouts.COSTS)
def test_a_wrong_cost_is_told_no_other_mistake(name: str) -> None:
    """The message names this mistake, or none, whatever layout it chooses."""
    own = layouts.COSTS[name]
    for case in cases(1)[:8]:
        told = refused(name, case)
        if " of (data, tensor" in told:
            assert not [note for note in layouts.COSTS.values() if note != own and note in told], told


@pytest.mark.parametrize("name", layouts.CHOICES)
def test_a_wrong_choice_is_told_its_mistake_and_no_other(name: str) -> None:
    for seed in range(1, 6):
        assert refused(name, *cases(seed)).endswith(f" {layouts.CHOICES[name]}")


def test_nothing_that_fits_is_an_empty_dict() -> None:
    model, cluster = layouts.case(random.Random(1))
    small = cluster | {"gpu_gb": 1e-3}
    layouts.judge(lambda *case: {}, [(model, small)])
    with pytest.raises(AssertionError, match="and not None"):
        layouts.judge(lambda *case: None, [(model, small)])
