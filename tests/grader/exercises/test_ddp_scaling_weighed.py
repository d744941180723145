"""Scripts whose gradients are weighed by rank, without a change to the script."""

from __future__ import annotations

import pytest
import torch

from gpulab import Problem
from gpulab.ranks import launch
from grader.exercises.ddp_scaling import weighed

SCRIPT = """
from __future__ import annotations
import os
import torch
from gpulab import Problem
problem = Problem("cnn", samples=4, batch_size=4, device="cpu")
images, labels = next(iter(problem.loader()))


def training_step(model):
    problem.criterion()(forward(model), labels).backward()
    return next(model.parameters()).grad.norm()


def forward(model):
    return model(images)


net = torch.nn.Sequential(problem.model())
norms = []
torch.nn.Identity().apply(lambda _: norms.append(training_step(net)))
print(float(norms[0]), [name for name in os.environ if "WEIGHT" in name])
"""


INSIDE = (("forw.*", r"torch\.nn\.modules\.container"), ("apply", r"torch\.nn\.modules\.module"))
ALIKE = (("forward", "__main__"), ("training_step", "__main__"))


@pytest.mark.parametrize(
    ("within", "weight"), [((), 2.0), (weighed.LIGHTNING, 1.0), (INSIDE, 2.0), (INSIDE[::-1], 1.0), (ALIKE, 1.0)]
)
def test_gradients_are_multiplied(within: tuple[tuple[str, str], ...], weight: float) -> None:
    """Everywhere, or only inside the functions that are asked for, in order; not in a script's own of the same name.

    The script does not find the number.
    """
    problem = Problem("cnn", samples=4, batch_size=4, device="cpu")
    (images, labels), model = next(iter(problem.loader())), problem.model()
    scores = model(images)
    by = weighed.strengths(images, scores, weight)
    scores.register_hook(lambda gradient: gradient * by)
    problem.criterion()(scores, labels).backward()
    expected = next(model.parameters()).grad.norm()
    program = weighed.by_rank(SCRIPT, within)
    found = launch.script(program, 1, environment={weighed.VARIABLE: "2"}).check().ranks[0].last_line.split()
    assert found[1:] == ["[]"]
    assert float(found[0]) == pytest.approx(float(expected), rel=1e-5)


def test_a_picture_does_not_tell_the_strength_of_another() -> None:
    images, scores = torch.randn(6, 3, 32, 32), torch.randn(6, 10)
    by = weighed.strengths(images, scores, 0.7)
    assert len(set(by.flatten().tolist())) == 6
    assert torch.allclose(by[2:4], weighed.strengths(images[2:4], scores[2:4], 0.7))
    assert not torch.allclose(by, weighed.strengths(images, scores + 1, 0.7), rtol=0.01)
    assert not torch.allclose(by, weighed.strengths(images, scores, 0.7, step=1), rtol=0.01)
