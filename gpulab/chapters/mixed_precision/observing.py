"""Mixed precision: what a training loop does while it runs.

It sees loops of this very process only. Of one that runs elsewhere it sees nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gpulab.training.networks import step_of_trainer

CAST = (nn.Conv2d, nn.Linear)
"""Layers that autocast runs in 16 bits."""


class Watched:
    """What was seen of one training."""

    def __init__(self) -> None:
        self.types: set[torch.dtype | None] = set()
        """Of forward passes that a backward pass followed; None where autocast was off."""
        self.inside = False
        """Whether a backward pass ran inside autocast."""
        self.backward: list[tuple[float, bool]] = []
        """For each backward pass the value that it began with, and whether there were gradients already."""
        self.by_trainer = False
        """Whether a backward pass ran inside a Trainer of Lightning's."""
        self.scaler_steps = 0
        """Calls of `scaler.step`."""
        self.passes: list[int] = []
        """Backward passes before each of them."""
        self.first_scale = 0.0
        """At the first of them."""
        self.scales: list[float] = []
        """After each update."""
        self.norms: list[float] = []
        """Of all gradients together, for each step of the optimizer."""
        self.longest: list[float] = []
        """The largest norm of one parameter's gradient, for each step."""
        self.largest: list[float] = []
        """The largest element of all gradients, for each step."""
        self.scalers: list[torch.amp.GradScaler] = []
        """Those that were updated."""
        self.forward = False
        """Whether a forward pass in training mode was seen."""
        self.graph_in_eval = False
        """Whether a forward pass in eval mode kept what a backward pass needs."""
        self._layers: dict[int, tuple[nn.Module, torch.dtype | None]] = {}
        """That ran since the last backward pass, and the type in which they did."""

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watches what is trained inside the block."""
        backward: Any = torch.Tensor.backward
        step, update = torch.amp.GradScaler.step, torch.amp.GradScaler.update

        def before_backward(tensor: torch.Tensor, *arguments: Any, **named: Any) -> Any:
            self.inside |= torch.is_autocast_enabled(tensor.device.type)
            self.by_trainer = self.by_trainer or step_of_trainer() is not None
            weights = [weight for layer, _ in self._layers.values() for weight in layer.parameters()]
            self.types.update(kind for _, kind in self._layers.values())
            present = any(weight.grad is not None and bool(weight.grad.any()) for weight in weights)
            self._layers.clear()
            self.backward.append((tensor.item(), present))
            return backward(tensor, *arguments, **named)

        def before_step(scaler: torch.amp.GradScaler, *arguments: Any, **named: Any) -> Any:
            self.first_scale = self.first_scale or scaler.get_scale()
            self.scaler_steps += 1
            self.passes.append(len(self.backward))
            return step(scaler, *arguments, **named)

        def and_its_scale(scaler: torch.amp.GradScaler, *arguments: Any, **named: Any) -> None:
            update(scaler, *arguments, **named)
            self.scales.append(scaler.get_scale())
            if all(scaler is not one for one in self.scalers):
                self.scalers.append(scaler)

        with (
            mock.patch.object(torch.Tensor, "backward", before_backward),
            mock.patch.object(torch.amp.GradScaler, "step", before_step),
            mock.patch.object(torch.amp.GradScaler, "update", and_its_scale),
            contextlib.closing(_Handle(register_module_forward_pre_hook(self._forward))),
            contextlib.closing(_Handle(register_optimizer_step_pre_hook(self._step))),
        ):
            yield

    def _forward(self, layer: nn.Module, inputs: Any) -> None:
        if torch.is_grad_enabled() and isinstance(layer, CAST):  # else it is an evaluation
            kind = inputs[0].device.type
            dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
            self.graph_in_eval |= not layer.training
            self.forward |= layer.training
            self._layers[id(layer)] = layer, dtype

    def _step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        groups = [weight for group in optimizer.param_groups for weight in group["params"]]
        found = [weight.grad for weight in groups if weight.grad is not None]
        self.norms.append(float(nn.utils.get_total_norm(found)) if found else 0.0)
        self.longest.append(max((float(one.norm()) for one in found), default=0.0))
        self.largest.append(max((float(one.abs().max()) for one in found), default=0.0))


class _Handle:
    def __init__(self, handle: torch.utils.hooks.RemovableHandle) -> None:
        self._handle = handle

    def close(self) -> None:
        self._handle.remove()
