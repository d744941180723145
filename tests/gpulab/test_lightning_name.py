"""Ranks can import Lightning under both of its names."""

from __future__ import annotations

from gpulab import launch

PROGRAM = """
import lightning as pl
import pytorch_lightning
from lightning.pytorch.callbacks import Callback

import lightning.pytorch

same = pl.LightningModule is pytorch_lightning.LightningModule is lightning.pytorch.LightningModule
print(same, issubclass(pytorch_lightning.callbacks.Timer, Callback), pl.Trainer.__module__.split(".")[-1])
"""


def test_both_names_of_lightning_are_one_library() -> None:
    """The classes are the same objects, whichever name is imported."""
    run = launch.script(PROGRAM, 1, seconds=60).check()
    assert run.ranks[0].last_line == "True True trainer"
