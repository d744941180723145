"""The networks that a `Problem` names, and its criterion. Imported when one is made: it needs torch."""

from __future__ import annotations

import sys
import traceback
import weakref
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn


class Convolution(nn.Conv2d):
    """`nn.Conv2d`, and fast in float16 on a CPU too: there it is a product of matrices, the kernels times all patches.

    Where a processor computes in float16 (AVX512-FP16), oneDNN has no backward pass of its own for such a convolution,
    and the general one takes 20 times as long.
    """

    def forward(self, images: Tensor) -> Tensor:
        """(N, channels, height, width) to (N, kernels, height', width')."""
        kind = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else images.dtype
        if images.device.type != "cpu" or kind is not torch.float16 or isinstance(self.padding, str):
            return super().forward(images)
        size, padding, stride = self.kernel_size, self.padding, self.stride
        patches = nn.functional.unfold(images, size, padding=padding, stride=stride)  # (N, weights of a kernel, places)
        found = self.weight.flatten(1) @ patches
        if self.bias is not None:
            found = found + self.bias[:, None].to(found.dtype)
        height = (images.shape[2] + 2 * padding[0] - size[0]) // stride[0] + 1
        return found.reshape(len(images), self.out_channels, height, -1)


class SmallCNN(nn.Module):
    """Three convolutions and a linear layer: 6 282 parameters, a step of a few milliseconds on one CPU core."""

    def __init__(
        self, float32_head: bool = False, batch_norm: bool = False, more: int = 0, again: int = 0, normed: int = 0
    ) -> None:
        super().__init__()
        self.again, self.normed = again, normed
        """How often scores go through a tanh, and features through a layer norm without weights (an operator that calls
        others). Neither shows in the layers or parameters."""
        self.float32_head = float32_head
        """Keep the last layer out of autocast."""
        layers: list[nn.Module] = []
        for channels, kernels in ((3, 8), (8, 16), (16, 16)):
            layers += [Convolution(channels, kernels, 3, stride=2, padding=1)]
            layers += [nn.BatchNorm2d(kernels)] if batch_norm else []
            layers += [nn.ReLU()]
        for _ in range(more):
            layers += [Convolution(16, 16, 3, padding=1), nn.ReLU()]
        self.features = nn.Sequential(*layers, nn.Flatten())
        self.head = nn.Linear(16 * 4 * 4, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Scores (N, 10) of images (N, 3, 32, 32)."""
        found = self.features(images)
        for _ in range(self.normed):
            found = nn.functional.layer_norm(found, found.shape[1:])
        if not self.float32_head:
            found = self.head(found)
            for _ in range(self.again):
                found = found.tanh()
            return found  # type: ignore[no-any-return]
        with torch.autocast(images.device.type, enabled=False):
            return self.head(found.float())  # type: ignore[no-any-return]


class Standardized(nn.Module):
    """Each feature minus its mean over the batch, divided by its standard deviation, in train and in eval mode."""

    def forward(self, features: Tensor) -> Tensor:
        """(N, features) to the same shape."""
        return (features - features.mean(0)) / (features.std(0, correction=0) + 0.1)


class _Batch:
    """Of so many images; alive as long as a backward pass through it is possible."""

    def __init__(self, images: int) -> None:
        self.images = images


class _Passes:
    """What the layers of a network have done since the beginning of a step; they share it."""

    def __init__(self) -> None:
        self.without_graph = False
        """Whether a forward pass has recorded no gradients: a checkpoint that is written by hand begins with one."""
        self.done: set[int] = set()
        """The places of the layers whose backward pass has been made."""


class _LargerIfAgain(torch.autograd.Function):
    """Nothing, but for its gradient, which tells when what it needs was computed."""

    @staticmethod
    def forward(context: Any, features: Tensor, factor: Tensor, place: int, passes: _Passes) -> Tensor:
        """The same features."""
        context.save_for_backward(factor)  # a checkpoint lets go of it, and saves that of the second forward pass
        context.place, context.passes = place, passes
        return features.view_as(features)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        """Their gradient."""
        (factor,) = context.saved_tensors
        context.passes.done.add(context.place)
        return factor * gradient, None, None, None


class RecountedReLU(nn.ReLU):
    """A ReLU whose gradient is larger if what it needs was computed again for the backward pass, as with checkpoints.

    Bytes and FLOPs do not show whether it was: they follow from the shapes of the layers. A layer that was only
    computed a second time does not help, since the backward pass of its first computation has a gradient of its own.
    The more layers have had their backward pass before this one is computed again, the larger is the gradient: layers
    of later parts have, unless all parts were kept in memory at the same time.
    """

    def __init__(self, place: int, layers: int, passes: _Passes) -> None:
        super().__init__()
        self.place, self.layers, self.passes = place, layers, passes

    def forward(self, features: Tensor) -> Tensor:
        """The larger of each feature and 0."""
        in_backward = torch._C._current_graph_task_id() != -1
        if not in_backward and len(self.passes.done) == self.layers:  # a new step
            self.passes.done.clear()
            self.passes.without_graph = False
        self.passes.without_graph |= not torch.is_grad_enabled()
        again = in_backward or self.passes.without_graph
        factor = features.new_tensor(2.0 ** (1 + len(self.passes.done)) if again else 1.0)  # exact
        return super().forward(_LargerIfAgain.apply(features, factor, self.place, self.passes))


class LittleRoom(SmallCNN):
    """A `SmallCNN` that runs out of memory when it would have to keep the activations of too many images.

    What a forward pass saves for the backward pass is kept until that has run, or until nobody can ask for it.
    """

    def __init__(self, room: int) -> None:
        super().__init__(float32_head=True)
        self.room = room
        """Images whose activations fit."""
        self._kept: weakref.WeakSet[_Batch] = weakref.WeakSet()

    def forward(self, images: Tensor) -> Tensor:
        """Scores (N, 10) of images (N, 3, 32, 32).

        Raises:
            RuntimeError: there is no room for their activations next to those that are kept.
        """
        if not torch.is_grad_enabled():
            return super().forward(images)
        kept = sum(batch.images for batch in self._kept)
        if kept + len(images) > self.room:
            needed = f"those of {kept} images are kept for a backward pass, and {len(images)} more do not fit"
            if not kept:
                needed = f"those of {len(images)} images do not fit"
            room = f"the network has room for {self.room} images' activations"
            raise RuntimeError(f"No memory is left: {room}; {needed}.")
        batch = _Batch(len(images))
        self._kept.add(batch)
        # Detached: a result that held its own graph would keep it until garbage is collected.
        with torch.autograd.graph.saved_tensors_hooks(lambda saved: (batch, saved.detach()), lambda held: held[1]):
            return super().forward(images)


class LeanInEvalMode(SmallCNN):
    """A `SmallCNN` that keeps nothing for a backward pass in eval mode, and must not be asked to."""

    def forward(self, images: Tensor) -> Tensor:
        """Scores (N, 10) of images (N, 3, 32, 32).

        Raises:
            RuntimeError: in eval mode, with gradients switched on.
        """
        scores = super().forward(images)
        if scores.requires_grad and not self.training:
            raise RuntimeError("In eval mode, the network was called with gradients enabled.")
        return scores


class WeightedCrossEntropy(nn.Module):
    """Mean cross entropy times a weight: in float32 under autocast, in the type of the scores elsewhere."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, scores: Tensor, labels: Tensor) -> Tensor:
        """A scalar from scores (N, classes) and labels (N,)."""
        return self.weight * nn.functional.cross_entropy(scores, labels)


def _refuse_float32(layer: nn.Module, _: Any, output: Tensor) -> None:
    if not output.requires_grad or output.dtype in (torch.float16, torch.bfloat16):
        return
    kind = str(output.dtype).removeprefix("torch.")

    def refuse(*_: Any) -> None:
        raise RuntimeError(f"In a training step, a layer computed in {kind}.")

    if layer.training:
        refuse()
    # In eval mode, a network may be looked at; if it is trained there, gradients arrive.
    output.register_hook(refuse)  # type: ignore[no-untyped-call]  # it has no types


IN_16_BITS = "_in_16_bits"
"""The end of the name of a network whose layers raise a RuntimeError if, while it is trained, they compute in more than
16 bits."""


def step_of_trainer() -> FrameType | None:
    """The call among the callers with which a Trainer makes one step; Lightning has two names."""
    names = (f"{package}.loops.training_epoch_loop" for package in ("pytorch_lightning", "lightning.pytorch"))
    loops = {sys.modules[name]._TrainingEpochLoop.advance.__code__ for name in names if name in sys.modules}
    return next((frame for frame, _ in traceback.walk_stack(None) if frame.f_code in loops), None)


_trained_in: weakref.WeakKeyDictionary[nn.Module, FrameType] = weakref.WeakKeyDictionary()
"""The Trainer's last step in which gradients arrived, by network. Not in the network, which may be copied."""


def _refuse_own_loop(network: nn.Module, _: Any, output: Tensor) -> None:
    step = step_of_trainer()

    def refuse(_: Tensor) -> None:
        if step is None:
            raise RuntimeError("The network was trained outside of a Trainer.")
        if _trained_in.get(network) is step:
            raise RuntimeError("The network was trained twice in one step of a Trainer.")
        _trained_in[network] = step

    if output.requires_grad:
        output.register_hook(refuse)  # type: ignore[no-untyped-call]  # it has no types


BY_TRAINER = "_by_trainer"
"""The end of the name of a network that raises a RuntimeError if gradients arrive, unless a Trainer of Lightning's
called it, and once in each of its steps."""


def make(name: str, seed: int) -> nn.Module:
    """The network of that name with first weights drawn from `seed`; torch's own generator is left as it was."""
    if name.endswith(BY_TRAINER):
        strict = make(name.removesuffix(BY_TRAINER), seed)
        strict.register_forward_hook(_refuse_own_loop)
        return strict
    if name.endswith(IN_16_BITS):
        strict = make(name.removesuffix(IN_16_BITS), seed)
        kinds = nn.Conv2d if getattr(strict, "float32_head", False) else (nn.Conv2d, nn.Linear)
        for layer in strict.modules():
            if isinstance(layer, kinds):
                layer.register_forward_hook(_refuse_float32)
        return strict
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name in ("cnn", "cnn_float32_head", "cnn_batch_norm"):
            return SmallCNN(float32_head=name != "cnn", batch_norm=name == "cnn_batch_norm")
        if name == "linear":
            return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 10))
        if name.startswith("cnn_plus_"):
            return SmallCNN(more=int(name.removeprefix("cnn_plus_")))
        if name.startswith("cnn_again_"):
            return SmallCNN(again=int(name.removeprefix("cnn_again_")))
        if name.startswith("cnn_normed_"):
            return SmallCNN(normed=int(name.removeprefix("cnn_normed_")))
        if name.startswith("cnn_room_"):
            return LittleRoom(int(name.removeprefix("cnn_room_")))
        if name == "cnn_lean":
            return LeanInEvalMode(float32_head=True)
        if name == "cnn_recounted":
            small, passes = SmallCNN(), _Passes()
            places = [place for place, layer in enumerate(small.features) if isinstance(layer, nn.ReLU)]
            for place in places:
                small.features[place] = RecountedReLU(place, len(places), passes)
            return small
        if name in ("cnn_standardized", "cnn_dropout"):
            small = SmallCNN()
            small.features.append(Standardized() if name == "cnn_standardized" else nn.Dropout())
            return small
        from torchvision import models  # type: ignore[import-untyped]  # it ships no types

        network: nn.Module = getattr(models, name)(num_classes=10)
        # The stem for pictures of 32 pixels: the usual one would leave 8 of them before the first block.
        network.conv1 = nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
        network.maxpool = nn.Identity()
        return network
