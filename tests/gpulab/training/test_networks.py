"""The network that tells a Trainer's steps from those of a loop by hand."""

from __future__ import annotations

import contextlib
import copy

import pytest
import pytorch_lightning as pl
import torch

from gpulab import Problem


@pytest.mark.filterwarnings("ignore:::pytorch_lightning", "ignore:.*treespec")  # its advice, and what it calls
@pytest.mark.parametrize(("passes", "message"), [(1, ""), (2, "trained twice in one step of a Trainer")])
def test_a_network_tells_whether_a_trainer_trains_it(passes: int, message: str) -> None:
    """A test tells from it that no loop by hand does, be it around a Trainer or inside one of its steps."""
    problem = Problem("cnn_by_trainer", samples=64, batch_size=32, device="cpu")

    class Module(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False
            self.network = problem.model()

        def training_step(self, batch: list[torch.Tensor], _: int) -> None:
            for _ in range(passes):
                self.network(batch[0]).sum().backward()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return problem.optimizer(self.network)

    module = Module()
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = pl.Trainer(max_epochs=2, accelerator="cpu", devices=1, **quiet)
    with pytest.raises(RuntimeError, match=message) if message else contextlib.nullcontext():
        trainer.fit(module, problem.loader())
    copied, images = copy.deepcopy(module.network), torch.rand(2, 3, 32, 32)
    assert problem.accuracy(copied) >= 0
    with pytest.raises(RuntimeError, match="trained outside of a Trainer"):
        copied(images).sum().backward()
