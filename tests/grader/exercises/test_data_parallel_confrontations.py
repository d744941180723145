"""DataParallel against the answers to chapter 07: what the readings of two and more GPUs tell, and what they cannot."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from confronted import bank_of, defined, findings

from grader.exercises.confront import Absent, Unusable, declared
from grader.exercises.ddp_scaling import data_parallel

CHAPTER = "07"
Reading = dict[str, Any]


def data_parallel_steps(gpus: int, **other: Any) -> Reading:
    """What DataParallel does on so many GPUs; `other` replaces facts of every step, or of every call in it."""
    steps = []
    for number in range(4):
        begins = [0.004 * at for at in range(gpus)]
        each = {"samples": 8, "process": 77, "thread": True, "weights": 1.5 - number / 8, "busy": 0.01}
        calls = [{"gpu": at, **each, "begin": begin, "end": begin + 0.01 * gpus} for at, begin in enumerate(begins)]
        step = {
            "batch": 8 * gpus, "read": 8 * gpus, "weights": 1.5 - number / 8, "input_gpu": 0, "output_gpu": 0,
            "output_samples": 8 * gpus, "gradient_gpus": [0], "types": ["torch.float32"],
        }  # fmt: skip
        step |= {key: value for key, value in other.items() if key in step and key != "weights"}
        for call in calls:
            call |= {key: value for key, value in other.items() if key in call}
        steps.append(step | {"calls": calls})
    return {"gpus": gpus, "process": 77, "group": other.get("group", False), "steps": steps}


def test_why_dp_slows() -> None:
    passing: dict[str, str] = {}
    plausible = {"two GPUs": data_parallel_steps(2), "eight GPUs": data_parallel_steps(8)}
    still = data_parallel_steps(2)
    for step in still["steps"]:
        step["weights"] = step["calls"][0]["weights"] = step["calls"][1]["weights"] = 1.5
    twice = data_parallel_steps(2)
    twice["steps"][1]["calls"][1]["gpu"] = 0
    broken = {
        "one GPU": data_parallel_steps(1),
        "nothing was trained": still,
        "one GPU was called twice": twice,
        "no clock": data_parallel_steps(2, busy=0.0),
    }
    assert findings(declared()["WHY_DP_SLOWS"], CHAPTER, plausible, broken, passing) == []


@pytest.mark.parametrize(
    ("other", "lost", "more"),
    [
        ({"weights": 9.0}, "replicates", ""),
        ({"end": 0.011}, "gil", ""),  # a Python without a lock: all loops at the same time
        ({"process": 78}, "gil", "processes"),
        ({"output_gpu": 1}, "gathers", ""),
        ({"gradient_gpus": [0, 1]}, "one_updates", ""),
        ({"samples": 24}, "", "every_batch"),
        ({"read": 72}, "", "rereads"),
        ({"group": True}, "", "too_many_rings"),
        ({"types": ["torch.float64"]}, "", "float64"),
    ],
)
def test_each_statement_is_read_from_the_steps(other: dict[str, Any], lost: str, more: str) -> None:
    right = {"replicates", "gil", "gathers", "one_updates"}
    assert data_parallel.true_of(data_parallel_steps(3, **other)) == (right - {lost}) | ({more} - {""})


IN_THREADS = """
from copy import deepcopy
from torch import nn


class DataParallel(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        import threading, torch

        parts, copies = x.chunk(2), [self.module, deepcopy(self.module)]
        made = [None, None]

        def run(at):
            made[at] = copies[at](parts[at])

        threads = [threading.Thread(target=run, args=(at,)) for at in range(2)]
        [one.start() for one in threads]
        [one.join() for one in threads]
        return torch.cat(made)


nn.DataParallel = DataParallel
"""
"""What DataParallel does, on one device."""


def test_the_program_sees_what_data_parallel_does() -> None:
    """On the CPU, with a stand-in that has two threads and one device: all but where things lie."""
    found = data_parallel.run("cpu", IN_THREADS + data_parallel.PROGRAM, each=2)
    assert found["row"]["throughput"] == pytest.approx(2 / found["row"]["step_s"])
    assert [len(step["calls"]) for step in found["steps"]] == [2] * 4
    with pytest.raises(Unusable, match="not every GPU was called once"):
        data_parallel.true_of(found)
    for step in found["steps"]:  # as if there were two devices
        step |= {"input_gpu": 0, "output_gpu": 0, "gradient_gpus": [0]}
        for at, call in enumerate(step["calls"]):
            call["gpu"] = at
    assert data_parallel.true_of(found | {"gpus": 2}) == {"replicates", "gil", "gathers", "one_updates"}


def test_one_gpu_is_none_for_data_parallel() -> None:
    """The reading is not here, and the answers are graded without it."""
    with pytest.raises(Absent, match="a second GPU"):
        data_parallel.measured()
    with pytest.raises(Absent, match="a second GPU"):
        declared()["scaling"].take()


@pytest.mark.gpu
def test_data_parallel_runs_on_two_gpus() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs a second GPU")
    assert data_parallel.true_of(data_parallel.measured()) == {"replicates", "gil", "gathers", "one_updates"}
    declared()["scaling"].check(defined(bank_of(CHAPTER, "scaling")[0], CHAPTER), declared()["scaling"].take())
