"""The reports of `FSDP_SCRIPT` and `RESTART_SCRIPT`: whether the watched optimizer trained the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.exercises.sharding import training


def followed() -> tuple[list[dict[str, Any]], dict[str, list[list[float]]]]:
    """The right path of a training, and a report of an optimizer that has every third weight, in reverse order."""
    config = training.drawn(3, blocks=2)
    path: list[dict[str, Any]] = []
    training.trained(training.sharded_model(config), config, path=path)
    rows = [training.flat(one, list(path[0]), "it")[::-3].tolist() for one in path]
    return path, {"before": rows[:-1], "after": rows[1:]}


@pytest.mark.parametrize("first", [0, 1])
def test_an_optimizer_that_trains_the_model_passes(first: int) -> None:
    """Also in a second attempt, which begins with a later step."""
    path, held = followed()
    begun = held["before"][0]
    training.stepped_here({name: rows[first:] for name, rows in held.items()}, begun, path, first, "it")


def test_a_decoy_is_refused() -> None:
    """One that has other weights, that does not move them, or that something else moves."""
    path, held = followed()
    begun = held["before"][0]
    others = [[value + 1 for value in row] for row in held["before"]]
    still = [begun] * len(held["before"])
    wrong = np.array(held["before"]) - (np.array(held["after"]) - np.array(held["before"]))
    for report, first, says in (
        ({"before": others, "after": others}, others[0], "not those of the model"),
        ({"before": held["before"], "after": held["before"]}, begun, "something else than its optimizer"),
        ({"before": still, "after": still}, begun, "step 1 of its optimizer did not train"),
        ({"before": held["before"][:1], "after": wrong[:1].tolist()}, begun, "step 1 of its optimizer did not train"),
    ):
        with pytest.raises(AssertionError, match=says):
            training.stepped_here(report, first, path, 0, "it")
