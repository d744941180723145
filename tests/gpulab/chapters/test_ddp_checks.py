"""DDP and scaling: what ranks left is accepted if it is right, and otherwise told by its name."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
import torch

from gpulab import Problem
from gpulab.chapters.ddp_scaling import checks, weights
from gpulab.chapters.ddp_scaling.checks import CHECKPOINT, TrainedRanks
from gpulab.ranks.launch import Rank, Run

PROBLEM = Problem("cnn", samples=8, batch_size=4, device="cpu")
WEIGHTS = dict(PROBLEM.model().state_dict())


def run(*left: dict[str, Any], problem: str = "", output: str = "") -> Run:
    return Run(tuple(Rank(rank, 0, output, "", one) for rank, one in enumerate(left)), 1.0, problem)


def test_surroundings_hold_the_problem() -> None:
    around = checks.surroundings(PROBLEM, BATCH_SIZE="8")
    assert Problem(**json.loads(around["PROBLEM"])) == PROBLEM
    assert around["BATCH_SIZE"] == "8"


@pytest.mark.parametrize("text", ["[0, 2]", "[0]\n[2]\n", "[0],[2]"])
def test_indices_may_be_written_in_one_piece_or_several(text: str) -> None:
    made = checks.outcome(run({CHECKPOINT: WEIGHTS, "indices-0.json": text}, {"indices-1": "[1, 3]"}), "run")
    assert (made.samples, made.together) == ([[0, 2], [1, 3]], [0, 1, 2, 3])


MINE = {"indices-": "[0]"}
WRONG = {
    "no rank wrote the file": run(MINE),
    "ranks 0, 1 all wrote CHECKPOINT": run({CHECKPOINT: WEIGHTS}, {CHECKPOINT: WEIGHTS}),
    'begins with "module."': run({CHECKPOINT: {"module.a": torch.ones(1)}}),
    "CHECKPOINT is not a state dict: torch.load(…) refuses it. Save": run({CHECKPOINT: "torch.load(…) refuses it"}),
    "CHECKPOINT is not a state dict: {}. Save": run({CHECKPOINT: {}}),
    "ranks 0 and 1 both wrote indices-.json": run(
        {CHECKPOINT: WEIGHTS, "indices-.json": "[0]"}, {"indices-.json": "[1]"}
    ),
    "is not a tensor": run({CHECKPOINT: {"a": 3}}),
    "whole checkpoint": run({CHECKPOINT: {"state_dict": {}, "epoch": 1}}),
    "holds complex numbers": run({CHECKPOINT: {"a": torch.ones(1) + 1j}}),
    "holds NaN": run({CHECKPOINT: {"a": torch.tensor([float("nan")])}}),
    "rank 0 wrote no indices": run({CHECKPOINT: WEIGHTS}),
    "not a JSON list of indices": run({CHECKPOINT: WEIGHTS, "indices-": "[0, oops"}),
    "write one flat list": run({CHECKPOINT: WEIGHTS, "indices-": "[[0, 1], [2]]"}),
    "PROBLEM is a text in JSON": run(
        MINE, problem="Rank 0 ended.", output='ValueError: Problem: no network \'{"network": '
    ),
    "connects GPUs only": run(MINE, problem="Rank 0 ended.", output="RuntimeError: requires at least one CUDA device"),
    "int() makes a number of one": run(MINE, problem="Rank 0 ended.", output="TypeError: … //: 'str' and 'int'"),
    "is not a JSON list of indices: '0\\n2'": run({CHECKPOINT: WEIGHTS, "indices-": "0\n2"}),
    "Rank 1 ended. rank 0: end": run(MINE, problem="Rank 1 ended.", output="begin\nend"),
    "such as dist.barrier": run(MINE, {}, problem="Rank 0 ended.", output="The connection to another rank broke: …"),
    "comes first": run(
        MINE, problem="Rank 0 ended.", output="ValueError: Default process group has not been initialized"
    ),
}


@pytest.mark.parametrize("words", WRONG)
def test_anything_else_is_told(words: str) -> None:
    with pytest.raises(AssertionError) as told:
        checks.outcome(WRONG[words], "run")
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("problem", "output", "words"),
    [
        ("After 30 s rank 0 still ran.", "", "without max_epochs it trains 1,000 epochs"),
        ("After 30 s rank 0 still ran.", "GLOBAL_RANK: 0, MEMBER: 1/1", "without max_epochs it trains 1,000 epochs"),
        ("After 30 s rank 0 still ran.", "GLOBAL_RANK: 0, MEMBER: 1/2", "2 ranks, but the launcher started 1:"),
        ("Rank 0 ended.", "torch.multiprocessing.spawn.ProcessExitedException", '"ddp_spawn" starts more'),
        ("Rank 0 ended.", "Trying to backward through the graph a second time", "do not call it as well"),
        ("Rank 0 ended.", "Default process group has not been initialized", "Before trainer.fit"),
        ("Rank 0 ended.", 'File "trainer.py", line 1, in save_checkpoint\nRuntimeError', "all must call it"),
        ("Rank 0 ended.", "MisconfigurationException: No supported gpu backend found!", "and the CPU elsewhere"),
        ("Rank 0 ended.", "self.parallel_devices[self.local_rank]", "rank 1 has found no device"),
        ("Rank 0 ended.", "Skipping the `training_step` by returning None in dis", "training_step returns the loss"),
    ],
)
def test_a_program_with_a_trainer_has_causes_of_its_own(problem: str, output: str, words: str) -> None:
    failed = run(MINE, problem=problem, output=output)
    with pytest.raises(AssertionError, match=re.escape(words)):
        checks.outcome(failed, "LIGHTNING_SCRIPT, 1 rank")
    with pytest.raises(AssertionError) as caught:
        checks.outcome(failed, "DDP_SCRIPT, 1 rank")
    assert (words in str(caught.value)) == ("no device" in words)


def test_one_rank_takes_all_samples() -> None:
    with pytest.raises(AssertionError, match="written into the program"):
        checks.each_once(TrainedRanks({}, [[0, 2]]), 4, "run")
    with pytest.raises(AssertionError, match=r"all of problem.dataset\(\)\?$"):
        checks.each_once(TrainedRanks({}, [[0, 2, 1]]), 4, "run")


def test_each_sample_once() -> None:
    checks.each_once(TrainedRanks({}, [[0, 3], [2, 1]]), 4, "run")
    with pytest.raises(AssertionError, match="no sampler"):
        checks.each_once(TrainedRanks({}, [[0, 1], [1, 0]]), 2, "run")
    with pytest.raises(AssertionError, match="1 samples were used more than once, 2 of 5 not at all"):
        checks.each_once(TrainedRanks({}, [[0, 1], [2, 1]]), 5, "run")


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([[0, 1], [0, 1]], "not positions in its share"),
        ([[0, 3], [3, 0]], r"All ranks took the same share: each sampler needs its process's rank\.$"),
        ([[3, 0], [3, 2]], r"seed and epoch of the sampler must not depend on the rank\.$"),
        ([[0, 3], [2, 3]], r"1 of 4 not at all\.$"),  # in order: a share that is cut wrongly
        ([[3, 0, 3], [2]], r"1 of 4 not at all\.$"),
    ],
)  # fmt: skip
def test_why_samples_were_used_twice(samples: list[list[int]], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        checks.each_once(TrainedRanks({}, samples), 4, "run")


def test_samples_as_other_samplers_deal_them() -> None:
    in_order = TrainedRanks({}, [[0, 2, 4, 6], [1, 3, 5, 7]])
    found = [one.samples for one in checks.dealt(in_order, PROBLEM)]
    assert len(found) == 2 and in_order.samples not in found  # seed 0 is the problem's own: two epochs
    assert all(sorted(a + b) == list(range(8)) for a, b in found)
    assert in_order.samples in [one.samples for one in checks.dealt(TrainedRanks({}, found[0]), PROBLEM)]


def moved(by: float, prefix: str = "") -> dict[str, Any]:
    return {prefix + name: value + by for name, value in WEIGHTS.items()}


def test_weights_are_the_same_up_to_rounding() -> None:
    """A prefix that all names share does not matter."""
    weights.same_weights(moved(0.1), moved(0.1 + 1e-6), PROBLEM, "run")
    weights.same_weights(moved(0.1, "network."), moved(0.1), PROBLEM, "run")
    with pytest.raises(AssertionError, match=r"off by 0\.5 times the distance that they had to move\.$"):
        weights.same_weights(moved(0.05), moved(0.1), PROBLEM, "run")
    with pytest.raises(AssertionError, match="nothing was trained"):
        weights.same_weights(moved(0.0), moved(0.1), PROBLEM, "run")
    with pytest.raises(AssertionError, match="expected the network's"):
        weights.same_weights({"a": torch.ones(1)}, moved(0.1), PROBLEM, "run")


def test_how_far_apart_two_checkpoints_are() -> None:
    """Prefixes do not matter; other networks are not a number."""
    assert checks.apart(moved(0.5, "network."), moved(0.0)) == pytest.approx(0.5, rel=1e-5)
    assert checks.apart(moved(0.0), moved(0.0, "net.")) == 0.0
    assert math.isnan(checks.apart({"a": torch.ones(1)}, moved(0.0)))
    assert math.isnan(checks.apart({"a": torch.ones(1)}, {"a": torch.ones(2)}))


def test_a_known_mistake_is_named_if_it_is_the_nearest() -> None:
    mistakes = [(lambda: moved(0.2), "summed"), (lambda: moved(0.1), "never"), (lambda: moved(0.05), "halved")]
    with pytest.raises(AssertionError, match="summed"):
        weights.same_weights(moved(0.2), moved(0.1), PROBLEM, "run", mistakes)
    with pytest.raises(AssertionError, match="halved"):
        weights.same_weights(moved(0.0501), moved(0.1), PROBLEM, "run", mistakes)
