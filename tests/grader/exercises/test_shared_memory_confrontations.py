"""Chapter 03: every exercise says how it is checked on the GPU, and its test does so."""

from __future__ import annotations

from courses import ROOT

from grader.authoring.myst import read_source
from grader.dev.gpu_rows import met
from grader.exercises.shared_memory import confrontations


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    found = met(read_source(ROOT / "solutions" / "03_shared_memory.md"))
    assert [one.exercise for one in found if one.ways] == list(confrontations.ON_DEVICE)
    assert len(found) == len(confrontations.ON_DEVICE) == 8
