"""The reports of `FSDP_SCRIPT` and `RESTART_SCRIPT`: whether the watched optimizer trained the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpulab.chapters.sharding.ranks import ShardedRun
from grader.exercises.sharding import restarting, training


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


def test_ranks_that_begin_with_other_weights_are_named() -> None:
    """Only where rank 0 has the right ones: else the seeds are wrong on all ranks, or they train something else."""
    config = training.drawn(3, blocks=2)
    start, other = (training.sharded_model(config | {"seed": config["seed"] + more}).state_dict() for more in (0, 100))
    right, wrong = (training.flat(one, list(start), "it")[:64].tolist() for one in (start, other))

    def begun(*values: list[float]) -> ShardedRun:
        return ShardedRun([[0, 0]], {}, [[{"before": [one]} for one in values]], [])

    training.begun_alike(begun(right, right), start, "it")
    training.begun_alike(begun(wrong, wrong), start, "it")
    with pytest.raises(AssertionError, match="and rank 1 does not"):
        training.begun_alike(begun(right, wrong), start, "it")


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


@pytest.mark.parametrize(
    ("times", "says"),
    [
        (lambda config: config["batch"] * config["width"] / 2, "not their sum: Adam's steps hide the factor"),
        (lambda config: 2.0, "Average the gradients over the ranks"),
        (lambda config: 0.5, "do not divide once more"),
        (lambda config: 7.0, "7 times as large as expected"),
    ],
)
def test_gradients_that_are_all_too_large_are_named(times: Callable[[Any], float], says: str) -> None:
    """Adam makes the same steps with them, so the weights do not show it."""
    config = training.drawn(3, blocks=2)

    def made(factor: float) -> ShardedRun:
        model = training.sharded_model(config)
        begun = training.flat(model.state_dict(), list(model.state_dict()), "it")
        training.trained(model, config | {"steps": 1}, narrow=True)
        gradients = [one.grad.numpy().ravel() for one in model.parameters() if one.grad is not None]
        moments = 0.1 * factor * np.concatenate(gradients)
        report = {"before": [begun[::5].tolist()], "moments": moments[::5].tolist()}
        return ShardedRun([[0, 0]], {}, [[report, report]], [])

    training.scaled_alike(made(1.0), training.sharded_model(config), config, True, "it")
    with pytest.raises(AssertionError, match=says):
        training.scaled_alike(made(times(config)), training.sharded_model(config), config, True, "it")


@pytest.mark.parametrize("seed", range(8))
def test_a_wrong_place_to_go_on_is_named(seed: int) -> None:
    """The last save in the order of texts is neither the last one nor the second, and nor is a step without a save."""
    config, (_, killed), last = restarting.drawn_restart(seed)
    other, _, _ = restarting.drawn_restart(seed, other=True)
    every = config["every"]
    assert {every, other["every"]} == {3, 5} and config["steps"] % every and last + 2 <= killed < last + every

    def note(step: int) -> str:
        made = ShardedRun([[0, 9], [0, 0]], {}, [[], [{"steps": config["steps"] - step}]], ["common/1/__0_0.distcp"])
        with pytest.raises(AssertionError) as told:
            restarting.judge_restarted(made, config, "a run", last)
        return str(told.value)

    by_text = {3: 9, 5: 5}[every]
    assert f"as text, '{by_text}' comes after '{last}'" in note(by_text)
    assert f"from step {2 * every}, not from the last saved one" in note(2 * every)
    assert f"config['every'] is {every}" in note(16)
    assert "It starts over." in note(0)
