"""Which change of the hunt's loop gives which losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpulab.chapters.profiling import hunt, hunt_changes, hunt_pictures, slow_loop

FILES, LABELS = hunt_pictures.data(3, 70)


def changed(old: str, new: str) -> list[float]:
    """The losses of the loop as it was handed out, with one piece of its text replaced."""
    source = Path(slow_loop.__file__).read_text(encoding="utf-8")
    assert source.count(old) == 1
    names: dict[str, Any] = {"__name__": "changed"}
    exec(compile(source.replace(old, new), "changed.py", "exec"), names)
    losses: list[float] = names["train"](FILES, LABELS)
    return losses


STACKED = "torch.stack(pieces).permute(0, 3, 1, 2).contiguous()"


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ("(one.double() - 128) / 64", "(one - 128).double() / 64", hunt_changes.WRAPPED),
        (STACKED, "torch.stack(pieces).view(-1, 3, 16, 16)", hunt_changes.PLANES),
        (STACKED, STACKED.replace("3, 1, 2", "3, 2, 1"), hunt_changes.TURNED),
        ("(one.double() - 128) / 64", "one.double() / 255", hunt_changes.OTHERWISE),
        ("(one.double() - 128) / 64", "one.double()", hunt_changes.OTHERWISE),
        ("model.zero_grad()", "pass", hunt_changes.ADDED),
        ("lr=0.2", "lr=0.1", ""),
        ("lr=0.2", "lr=0.20", ""),
    ],
)
def test_a_change_is_named_by_the_losses_that_it_gives(old: str, new: str, note: str) -> None:
    """Losses that are right, or that no known change gives, have no name."""
    losses = changed(old, new)
    assert hunt_changes.known(losses, FILES, LABELS, hunt.TOLERANCE) == note


def test_losses_of_no_change_are_those_of_the_loop() -> None:
    pictures = hunt_changes.unpacked(FILES)
    same = hunt_changes._losses(hunt_changes._as_before(pictures), LABELS, zeroed=True)
    assert same == pytest.approx(slow_loop.train(FILES, LABELS), rel=1e-9)
