"""What to train, and how the training went: two plain values that may cross a process boundary.

A `Problem` is a recipe. Model, loader, optimizer and criterion are made from it where they are needed, and are the same
wherever that is. A `History` is the record of one training. Neither imports torch until it has to; the pictures
themselves are the business of `data`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.optim import Optimizer
    from torch.utils.data import DataLoader, TensorDataset

NETWORKS = ("cnn", "cnn_float32_head", "cnn_batch_norm", "resnet18", "resnet50")
"""`cnn` has neither batch norm nor dropout; the second keeps its last layer out of autocast, as careful people do; the
third does, too, and has batch norm after each convolution."""
SPECIAL = re.compile(
    r"linear|cnn_plus_[1-9]\d?|cnn_(again|normed)_[1-9]\d{0,2}|cnn_room_[1-9]\d{0,3}"
    r"|cnn_standardized|cnn_dropout|cnn_lean|cnn_recounted"
    r"|(cnn|cnn_float32_head|cnn_batch_norm|cnn_lean|cnn_room_[1-9]\d{0,3})_in_16_bits"
    r"|cnn(_in_16_bits)?_by_trainer"
)
"""A single linear layer, for thousands of steps. A `cnn` with so many more convolutions, or whose scores go through so
many tanh, or whose features go through so many layer norms; only the caller knows how many. One that has room for the
activations of so many images. One that subtracts the mean of a batch, but has no batch norm. One with dropout.
One that refuses gradients in eval mode. One whose gradients tell whether its layers were computed again. Some of them
once more, whose layers refuse to be trained in float32. Two that refuse to be trained by anything but a Trainer of
Lightning's."""
DATA = ("digits", "cifar10")
RULES = ("momentum", "rmsprop")
MOMENTUM = 0.9
EPSILON = 2e-4
"""Of RMSprop. About the root of its first mean square, so that its first step is neither linear in the gradient nor its
sign alone, which rounding could turn around."""


def _here() -> str:
    from gpulab.measuring.devices import device

    return str(device().type)


@dataclass(frozen=True)
class Problem:
    """Something to train, small enough to send anywhere.

    Raises:
        ValueError: a field that no training could be made from; the message says which.
    """

    network: str = "cnn"
    """One of `NETWORKS`."""
    data: str = "digits"
    """One of `DATA`."""
    samples: int = 1024
    """Images in an epoch."""
    batch_size: int = 64
    lr: float = 0.05
    """Learning rate for a loss of weight 1; the optimizer's own is `lr / loss_weight`, so that the weight cancels."""
    seed: int = 0
    """Of the first weights and of the order of the images."""
    device: str = field(default_factory=_here)
    """`"cpu"` or `"cuda"`: where to train; the course's device when left out."""
    loss_weight: float = 1.0
    """The criterion's value is multiplied by this: a term of a larger loss, or another unit."""
    rule: str = "momentum"
    """The optimizer's, one of `RULES`."""

    def __post_init__(self) -> None:
        if not (isinstance(self.network, str) and SPECIAL.fullmatch(self.network)):
            _one_of("network", self.network, NETWORKS)
        _one_of("data", self.data, DATA)
        _one_of("rule", self.rule, RULES)
        for name in ("samples", "batch_size", "seed"):
            value, least = getattr(self, name), 0 if name == "seed" else 1
            if type(value) is not int or not least <= value < 2**31:
                raise ValueError(f"Problem: {name} = {value!r:.60}. It must be an int of at least {least}.")
        for name in ("lr", "loss_weight"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 < value < math.inf:
                raise ValueError(f"Problem: {name} = {value!r:.60}. It must be a positive number.")
        if not isinstance(self.device, str) or not re.fullmatch(r"cpu|cuda(:\d{1,3})?", self.device):
            raise ValueError(f'Problem: device = {self.device!r:.60}. It must be "cpu" or "cuda".')

    def model(self) -> nn.Module:
        """A new network in float32, in host memory, with the same first weights every time.

        Takes images (N, 3, 32, 32) to scores (N, 10). Leaves torch's random numbers as they were.
        """
        from gpulab.training.networks import make

        return make(self.network, self.seed)

    def loader(self) -> DataLoader[Any]:
        """Batches of float32 images (N, 3, 32, 32) and int64 labels (N,), in host memory, in the same order always.

        The last one is smaller where `batch_size` does not divide `samples`.

        Raises:
            LookupError: the pictures are not here.
            ValueError: there are fewer of them than `samples`.
        """
        from gpulab.training.data import batches

        return batches(self.data, self.samples, self.batch_size, self.seed)

    def validation_loader(self) -> DataLoader[Any]:
        """Batches like the loader's, of pictures that the loader never has: 297 of the digits.

        Raises:
            LookupError, ValueError: see `loader`.
        """
        from gpulab.training.data import validation_batches

        return validation_batches(self.data, self.samples, self.batch_size, self.seed)

    def dataset(self) -> TensorDataset:
        """The loader's pictures one by one, in its order: for a loader of one's own, with a sampler.

        Raises:
            LookupError, ValueError: see `loader`.
        """
        from gpulab.training.data import one_by_one

        return one_by_one(self.data, self.samples, self.seed)

    def optimizer(self, model: nn.Module) -> Optimizer:
        """SGD with momentum 0.9, or RMSprop, over the model's parameters."""
        from torch.optim import SGD, RMSprop

        rate = self.lr / self.loss_weight
        if self.rule == "rmsprop":
            return RMSprop(model.parameters(), lr=rate, eps=EPSILON)
        return SGD(model.parameters(), lr=rate, momentum=MOMENTUM)

    def criterion(self) -> nn.Module:
        """Maps outputs (N, 10) and labels (N,) to the mean cross entropy times `loss_weight`: float32 in autocast."""
        from gpulab.training.networks import WeightedCrossEntropy

        return WeightedCrossEntropy(self.loss_weight)

    def accuracy(self, model: nn.Module) -> float:
        """Share of the loader's images that a model on `device` gets right, in eval mode; leaves its mode as it was."""
        import torch

        was_training = model.training
        model.eval()
        right = total = 0
        with torch.no_grad():
            for images, labels in self.loader():
                guesses = model(images.to(self.device)).argmax(1).cpu()
                right, total = right + int((guesses == labels).sum()), total + len(labels)
        model.train(was_training)
        return right / total

    def history(
        self,
        model: nn.Module,
        losses: Sequence[float],
        scales: Sequence[float] = (),
        skipped: int = 0,
        validation: Sequence[float] = (),
    ) -> History:
        """The record of a training that ended with this model; evaluates and copies it.

        Raises:
            ValueError: a loss still holds what its backward pass needed.
        """
        if any(getattr(loss, "requires_grad", False) for loss in losses):
            raise ValueError(
                "losses holds a tensor with its graph. Such a list keeps the graphs of all batches in memory: append "
                "loss.item(), a float."
            )
        accuracy = self.accuracy(model)
        return History(list(losses), list(scales), skipped, accuracy, weights_of(model), list(validation))


@dataclass(frozen=True, eq=False)
class History:
    """What a training did, batch by batch. Holds whatever it was given: whether that is right is for a test to say."""

    losses: list[float]
    """The criterion's value for every batch, not scaled."""
    scales: list[float]
    """The scaler's factor after every update; empty without a scaler."""
    skipped: int
    """Updates that skipped their step."""
    accuracy: float
    """Share right over the loader at the end, in eval mode."""
    weights: dict[str, Any]
    """State-dict name → array of the final values, with the type that they have in the model."""
    validation: list[float] = field(default_factory=list)
    """Share right over the validation loader after each epoch; empty where nothing was validated."""


def weights_of(model: nn.Module) -> dict[str, Any]:
    """Copies of a model's parameters and buffers as NumPy arrays; of types that NumPy lacks, as tensors."""
    return {name: _array(value) for name, value in model.state_dict().items()}


def _array(value: torch.Tensor) -> Any:
    held = value.detach().cpu().clone()
    return held if str(held.dtype) == "torch.bfloat16" else held.numpy()


def _one_of(name: str, value: Any, known: Sequence[str]) -> None:
    if value not in known if isinstance(value, str) else True:
        near = difflib.get_close_matches(value, known, n=1) if isinstance(value, str) else []
        hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."
        raise ValueError(f"Problem: no {name} {value!r:.60}. {hint}")
