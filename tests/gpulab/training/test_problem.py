"""`gpulab.problem` and `gpulab.training.networks`: the same training everywhere, from a plain value."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from gpulab import History, Problem
from gpulab.training.networks import Convolution
from gpulab.training.problem import weights_of

torch.set_num_threads(1)
SMALL = Problem(samples=40, batch_size=16, device="cpu")


def test_importing_it_does_not_import_torch() -> None:
    code = "import sys\nfrom gpulab import History, Problem\nProblem(device='cpu')\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


def test_a_problem_gives_the_same_network_and_batches_every_time() -> None:
    state = torch.random.get_rng_state()
    first, second = SMALL.model(), SMALL.model()
    assert torch.equal(torch.random.get_rng_state(), state), "torch's own random numbers were used up"
    assert all(torch.equal(one, other) for one, other in zip(first.parameters(), second.parameters(), strict=True))
    loader = SMALL.loader()
    passes = [torch.cat([images for images, _ in loader]) for _ in range(2)]
    assert torch.equal(*passes)
    assert torch.equal(passes[0], torch.cat([images for images, _ in SMALL.loader()]))


def test_another_seed_gives_another_network_and_other_batches() -> None:
    other = dataclasses.replace(SMALL, seed=1)
    assert not torch.equal(next(other.model().parameters()), next(SMALL.model().parameters()))
    assert not torch.equal(next(iter(other.loader()))[0], next(iter(SMALL.loader()))[0])


def test_batches_have_the_shape_of_cifar_and_the_last_one_is_smaller() -> None:
    sizes = [tuple(images.shape) for images, _ in SMALL.loader()]
    assert sizes == [(16, 3, 32, 32), (16, 3, 32, 32), (8, 3, 32, 32)]
    images, labels = next(iter(SMALL.loader()))
    assert (images.dtype, labels.dtype) == (torch.float32, torch.int64)


def test_changing_a_batch_leaves_the_next_pass_alone() -> None:
    loader = SMALL.loader()
    images, labels = next(iter(loader))
    kept = images.clone()
    images.zero_()
    labels.zero_()
    assert torch.equal(next(iter(loader))[0], kept)


def test_the_loss_weight_cancels_in_float32() -> None:
    """A power of two costs no digit, so both trainings give the same bits."""

    def trained(problem: Problem) -> dict[str, object]:
        model, criterion = problem.model(), problem.criterion()
        optimizer = problem.optimizer(model)
        for images, labels in problem.loader():
            optimizer.zero_grad()
            criterion(model(images), labels).backward()
            optimizer.step()
        return weights_of(model)

    plain, quiet = trained(SMALL), trained(dataclasses.replace(SMALL, loss_weight=2.0**-20))
    for name, array in plain.items():
        np.testing.assert_array_equal(array, quiet[name])


def test_a_step_of_rmsprop_is_not_linear_in_the_gradient() -> None:
    """So weights averaged over shards are not those of the averaged gradient; other sums end at the same weights."""
    problem = dataclasses.replace(SMALL, rule="rmsprop", loss_weight=4.0, lr=0.02)
    images, labels = next(iter(problem.loader()))

    def stepped(parts: list[slice]) -> torch.Tensor:
        model, criterion = problem.model(), problem.criterion()
        for part in parts:
            (criterion(model(images[part]), labels[part]) / len(parts)).backward()
        problem.optimizer(model).step()
        return torch.cat([weight.detach().flatten() for weight in model.parameters()])

    start = torch.cat([weight.detach().flatten() for weight in problem.model().parameters()])
    whole, halves = stepped([slice(None)]), [slice(8), slice(8, None)]
    way = (whole - start).norm()
    assert (stepped(halves) - whole).norm() < 1e-4 * way
    assert (torch.stack([stepped([half]) for half in halves]).mean(0) - whole).norm() > 0.05 * way


def test_a_standardized_network_depends_on_the_batch_without_batch_norm() -> None:
    model = dataclasses.replace(SMALL, network="cnn_standardized").model().eval()
    images, _ = next(iter(SMALL.loader()))
    assert not any("BatchNorm" in type(layer).__name__ for layer in model.modules())
    assert not torch.allclose(model(images)[:4], model(images[:4]), atol=0.01)


@pytest.mark.parametrize("autocast", [False, True])
def test_a_network_with_little_room_keeps_few_activations(autocast: bool) -> None:
    """Only those that a backward pass can still ask for count; otherwise it computes what the plain network does."""
    problem = dataclasses.replace(SMALL, network="cnn_room_32", samples=48)
    model, plain, criterion = (
        problem.model(),
        dataclasses.replace(SMALL, network="cnn_float32_head").model(),
        nn.MSELoss(),
    )
    batches = [images for images, _ in problem.loader()]

    def loss_of(images: torch.Tensor, network: nn.Module = model) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.float16, enabled=autocast):
            return criterion(network(images), torch.zeros(len(images), 10))  # type: ignore[no-any-return]

    kept = []
    for images in batches:
        kept.append(loss_of(images))
        kept[-1].backward()
        loss_of(images, plain).backward()
        kept.append(loss_of(images))
        torch.autograd.grad(kept[-1], list(model.parameters()))
        loss_of(images)  # nobody can ask for its gradients
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine.grad, other.grad)  # type: ignore[arg-type]  # after backward there are gradients
    with torch.no_grad():
        assert len(model(torch.cat(batches))) == 48
    with pytest.raises(RuntimeError, match="those of 32 images are kept for a backward pass, and 16 more do not fit"):
        [loss_of(images) for images in batches]
    with pytest.raises(RuntimeError, match="room for 32 images' activations; those of 48 images do not fit"):
        loss_of(torch.cat(batches))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_the_criterion_is_float32_under_autocast_only(kind: torch.dtype) -> None:
    scores, labels = torch.zeros(4, 10, dtype=kind), torch.zeros(4, dtype=torch.int64)
    with torch.autocast("cpu", dtype=kind):
        loss = SMALL.criterion()(scores, labels)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(np.log(10))
    assert SMALL.criterion()(scores, labels).dtype == kind


@pytest.mark.parametrize(
    ("network", "kind"),
    [("cnn", torch.float16), ("cnn_float32_head", torch.float32), ("cnn_batch_norm", torch.float32)],
)
def test_the_careful_network_keeps_its_head_out_of_autocast(network: str, kind: torch.dtype) -> None:
    with torch.autocast("cpu", dtype=torch.float16):
        assert dataclasses.replace(SMALL, network=network).model()(torch.zeros(2, 3, 32, 32)).dtype == kind


def passes(layer: torch.nn.Module, images: torch.Tensor) -> list[torch.Tensor]:
    """Result and gradients of a layer in float16."""
    images = images.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.float16):
        scores = layer(images)
    scores.float().square().sum().backward()
    gradients = [images.grad, *(parameter.grad for parameter in layer.parameters())]
    return [scores.detach(), *(gradient for gradient in gradients if gradient is not None)]


@pytest.mark.parametrize(
    ("settings", "shape"), [((3, 8, 3, 2, 1), (5, 3, 32, 32)), ((4, 6, (3, 5), 1, (0, 2)), (2, 4, 9, 14))]
)
def test_the_fast_convolution_is_a_convolution(settings: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """In float16 on a CPU it is computed in another way: the same values and gradients, to float16's rounding."""
    ours, torchs = Convolution(*settings), torch.nn.Conv2d(*settings)
    torchs.load_state_dict(ours.state_dict())
    images = torch.rand(shape, generator=torch.Generator().manual_seed(1))
    for mine, other in zip(passes(ours, images), passes(torchs, images), strict=True):
        assert mine.dtype == other.dtype
        torch.testing.assert_close(mine.float(), other.float(), rtol=4e-3, atol=4e-3 * float(other.abs().max()))
    assert torch.equal(ours(images), torchs(images)), "in float32 it is torch's own"


@pytest.mark.alone
def test_a_step_in_float16_is_fast_on_a_cpu_too() -> None:
    """oneDNN's own backward pass takes 25 times float32's where the processor computes in float16."""
    model = Problem("cnn", device="cpu").model()
    images, labels = torch.rand(32, 3, 32, 32), torch.arange(32) % 10

    def step(half: bool) -> float:
        begin = time.process_time()
        with torch.autocast("cpu", dtype=torch.float16, enabled=half):
            scores = model(images)
        torch.nn.functional.cross_entropy(scores.float(), labels).backward()
        return time.process_time() - begin

    torch.set_num_threads(1)
    seconds = {half: min(step(half) for _ in range(10)) for half in (True, False)}
    assert seconds[True] < 10 * seconds[False]


@pytest.mark.parametrize("network", ["resnet18", "resnet50"])
def test_resnets_keep_the_resolution_of_small_pictures(network: str) -> None:
    with torch.device("meta"):
        from gpulab.training.networks import make

        model = make(network, 0).eval()
        assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
        assert model.maxpool(model.conv1(torch.zeros(2, 3, 32, 32))).shape[-2:] == (32, 32)


def test_some_networks_call_more_operators_than_their_layers_show() -> None:
    names = "cnn", "cnn_again_120", "cnn_normed_80"
    plain, again, normed = (Problem(name, samples=8, batch_size=8, seed=1, device="cpu") for name in names)
    images, _ = next(iter(plain.loader()))
    for other in (again, normed):
        assert [*map(type, plain.model().modules())] == [*map(type, other.model().modules())]
    with torch.profiler.profile() as recorded:
        normed.model()(images)
    calls = [one for one in recorded.events() if one.name == "aten::layer_norm"]
    assert len(calls) == 80
    assert all(one.cpu_children for one in calls)
    scores = plain.model()(images)
    for _ in range(120):
        scores = scores.tanh()
    assert torch.equal(again.model()(images), scores)


def test_history_copies_the_weights_and_leaves_the_mode_alone() -> None:
    model = SMALL.model().train()
    history = SMALL.history(model, [1.0], [2.0], 3)
    assert model.training
    assert type(history) is History
    assert (history.losses, history.scales, history.skipped) == ([1.0], [2.0], 3)
    assert 0 <= history.accuracy <= 1
    before = history.weights["head.bias"].copy()
    with torch.no_grad():
        model.head.bias.fill_(7.0)
    np.testing.assert_array_equal(history.weights["head.bias"], before)


def test_losses_with_their_graphs_are_refused() -> None:
    model = SMALL.model()
    images, labels = next(iter(SMALL.loader()))
    loss = SMALL.criterion()(model(images), labels)
    assert SMALL.history(model, [loss.detach()]).losses == [loss.detach()]
    with pytest.raises(ValueError, match=r"append loss\.item\(\)"):
        SMALL.history(model, [loss])


def test_the_linear_network_makes_thousands_of_steps() -> None:
    """One layer: what a step does besides costs more."""
    model = Problem("linear", device="cpu").model()
    assert [tuple(weight.shape) for weight in model.parameters()] == [(10, 3 * 32 * 32), (10,)]


def test_weights_keep_the_type_that_they_have() -> None:
    """Parameters left in half precision must be seen by a test."""
    assert weights_of(SMALL.model().half())["head.bias"].dtype == np.float16
    assert weights_of(SMALL.model().bfloat16())["head.bias"].dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("network", "resnet5", "Did you mean 'resnet50'"), ("network", 3, "There are: cnn"),
        ("data", "mnist", "digits"),
        ("samples", 0, "at least 1"), ("samples", 2.0, "int"), ("batch_size", True, "int"), ("seed", -1, "at least 0"),
        ("lr", float("nan"), "positive"), ("lr", 0, "positive"), ("loss_weight", -1.0, "positive"),
        ("loss_weight", "1", "positive"), ("rule", "adam", "momentum, rmsprop"),
        ("network", "cnn_room_0", "There are"), ("device", "gpu", '"cuda"'), ("device", None, '"cuda"'),
    ],
)  # fmt: skip
def test_impossible_problems_say_what_is_wrong(field: str, value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Problem(**{"device": "cpu", field: value})  # type: ignore[arg-type]


def test_the_dataset_holds_the_loaders_pictures_one_by_one() -> None:
    """In its order, and fit for a loader of one's own."""
    images, labels = next(iter(SMALL.loader()))
    picture, label = SMALL.dataset()[1]
    torch.testing.assert_close(picture, images[1])
    assert (int(label), len(SMALL.dataset())) == (int(labels[1]), SMALL.samples)
    batch, _ = next(iter(torch.utils.data.DataLoader(SMALL.dataset(), batch_size=2)))
    torch.testing.assert_close(batch, images[:2])


def test_the_validation_loader_has_other_pictures_normalized_alike() -> None:
    """The 297 digits that no training gets, in batches, with about the mean and spread of the others."""
    held_out = torch.cat([images for images, _ in SMALL.validation_loader()])
    assert [len(labels) for _, labels in SMALL.validation_loader()][:1] == [SMALL.batch_size]
    assert held_out.shape == (297, 3, 32, 32)
    assert float(held_out.mean()) == pytest.approx(0, abs=0.2)
    assert float(held_out.std()) == pytest.approx(1, abs=0.2)
    trained = torch.cat([images for images, _ in dataclasses.replace(SMALL, samples=1500).loader()])
    assert torch.cdist(held_out.flatten(1)[:20], trained.flatten(1)).min() > 1
