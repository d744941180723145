"""Networks whose gradients tell a hidden test how they were trained."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from typing import Any, cast

import pytest
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from gpulab import Problem
from gpulab.training.problem import weights_of

torch.set_num_threads(1)
SMALL = Problem(samples=40, batch_size=16, device="cpu")


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


def test_a_lean_network_refuses_gradients_in_eval_mode() -> None:
    """A test tells from it whether a validation ran without them."""
    problem = dataclasses.replace(SMALL, network="cnn_lean")
    model, images = problem.model(), torch.zeros(2, 3, 32, 32)
    model(images).sum().backward()
    assert problem.accuracy(model) >= 0
    model.eval()
    with pytest.raises(RuntimeError, match="called with gradients"):
        model(images)
    model.requires_grad_(False)(images)


@pytest.mark.parametrize("network", ["cnn", "cnn_float32_head", "cnn_batch_norm", "cnn_lean", "cnn_room_8"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_strict_network_refuses_to_be_trained_in_float32(network: str, dtype: torch.dtype) -> None:
    """A test tells from it whether each step ran under autocast. Its weights and scores are those of the other one."""
    plain = dataclasses.replace(SMALL, network=network).model()
    model, images = dataclasses.replace(SMALL, network=f"{network}_in_16_bits").model(), torch.rand(2, 3, 32, 32)
    assert all(torch.equal(one, plain.state_dict()[name]) for name, one in model.state_dict().items())
    with torch.autocast("cpu", dtype=dtype):
        assert torch.equal(model(images), plain(images))
    with pytest.raises(RuntimeError, match="computed in float32"):
        model(images)
    looking = copy.deepcopy(model)
    for part in looking.children():
        part.eval()
    scores = looking(images)  # which may be looked at
    with pytest.raises(RuntimeError, match="computed in float32"):
        scores.sum().backward()
    with pytest.raises(RuntimeError, match="computed in float64"):
        copy.deepcopy(model.features).double()(images.double())
    with torch.no_grad():
        model(images)
    model.eval().requires_grad_(False)(images)


def test_batch_norm_counts_the_batches_of_train_mode() -> None:
    """A test tells from it in which mode a training and its validation ran."""
    model = dataclasses.replace(SMALL, network="cnn_batch_norm").model()
    with torch.no_grad():
        model(torch.zeros(2, 3, 32, 32))
        model.eval()(torch.zeros(2, 3, 32, 32))
    counted = [int(array) for name, array in weights_of(model).items() if name.endswith("num_batches_tracked")]
    assert counted == [1, 1, 1]


def test_gradients_tell_whether_layers_were_computed_again() -> None:
    """By a checkpoint of either kind, with or without its early stop, and by hand, part by part from the last one."""
    problem = Problem("cnn_recounted", samples=4, batch_size=4, device="cpu")
    images, _ = next(iter(problem.loader()))
    images.requires_grad_()

    def in_parts() -> tuple[list[nn.Sequential], nn.Conv2d]:
        model = problem.model()
        features, head = cast(nn.Sequential, model.features), cast(nn.Linear, model.head)
        parts = [nn.Sequential(*part) for part in (features[:2], features[2:5], features[5:])]
        return [*parts, nn.Sequential(head)], cast(nn.Conv2d, features[0])

    def by_hand() -> torch.Tensor:
        parts, first = in_parts()
        begins = [images.detach()]
        with torch.no_grad():
            for part in parts[:3]:
                begins.append(part(begins[-1]))
        end = begins[-1].requires_grad_()
        parts[3](end).sum().backward()
        for part, begin in zip(reversed(parts[:3]), reversed(begins[:3]), strict=True):
            begin.requires_grad_()
            part(begin).backward(end.grad)
            end = begin
        return cast(torch.Tensor, first.weight.grad)

    def gradient(**options: Any) -> torch.Tensor:
        (*parts, head), conv = in_parts()
        found = images
        for part in parts:
            found = checkpoint(part, found, **options) if options else part(found)
        head(found).sum().backward()
        return cast(torch.Tensor, conv.weight.grad)

    plain = gradient()
    ways: list[dict[str, Any]] = [{"use_reentrant": True}, {"use_reentrant": False}]
    for way in [*ways, {"use_reentrant": False, "early_stop": False}]:
        assert torch.allclose(gradient(**way), 2 * 4 * 8 * plain)
    assert torch.allclose(by_hand(), 2 * 4 * 8 * plain)


def test_gradients_tell_whether_layers_were_computed_again_for_show() -> None:
    """Before the forward pass of the step, or after it; and a model may be used for several steps."""
    problem = Problem("cnn_recounted", samples=4, batch_size=4, device="cpu")
    images, _ = next(iter(problem.loader()))

    def gradient(model: Any) -> torch.Tensor:
        model.zero_grad()
        model(images).sum().backward()
        return cast(torch.Tensor, model.features[0].weight.grad).clone()

    model = problem.model()
    plain = gradient(model)
    with torch.no_grad():
        model(images)
    assert torch.allclose(gradient(model), 2 * 2 * 2 * plain)  # as one checkpoint around all layers, not one for each
    assert torch.allclose(gradient(model), plain)
    scores = model(images)
    with torch.no_grad():
        model(images)
    model.zero_grad()
    scores.sum().backward()
    assert torch.allclose(cast(torch.Tensor, cast(Any, model).features[0].weight.grad), plain)
