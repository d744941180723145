"""Scripts whose gradients are weighed by rank, without a change to the script."""

from __future__ import annotations

import pytest

from gpulab.ranks import launch
from grader.exercises.ddp_scaling import weighed

SCRIPT = """
from __future__ import annotations
import os
from gpulab import Problem
problem = Problem("cnn", samples=4, batch_size=4, device="cpu")
images, labels = next(iter(problem.loader()))


def training_step(model):
    problem.criterion()(model(images), labels).backward()
    return next(model.parameters()).grad.norm()


print(float(training_step(problem.model())), [name for name in os.environ if "WEIGHT" in name])
"""


@pytest.mark.parametrize(("within", "times"), [("", 2.0), (weighed.LIGHTNING, 1.0), ("__main__", 2.0)])
def test_gradients_are_multiplied(within: str, times: float) -> None:
    """Everywhere, or only in a `training_step` of the module that is asked for; the script does not find the number."""
    plain = launch.script(SCRIPT, 1).check().ranks[0].last_line.split()
    program = weighed.by_rank(SCRIPT, within)
    found = launch.script(program, 1, environment={weighed.VARIABLE: "2"}).check().ranks[0].last_line.split()
    assert plain[1:] == found[1:] == ["[]"]
    assert float(found[0]) == pytest.approx(times * float(plain[0]))
