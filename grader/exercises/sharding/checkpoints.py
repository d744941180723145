"""`checkpointed_forward`: the same step by the reference, and by references with a known mistake."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode

from gpulab import Problem, check

LAYERS = 9
AGAIN = "Nothing is computed again: is every part called through checkpoint(part, x, use_reentrant=False)?"
TOLD = "The network here tells whether its layers are computed again."
AT_ONCE = (
    "The layers are computed again, but all of them before the backward pass begins: then everything is in memory at"
    " the same time. Compute each part again when the backward pass comes to it."
)
OTHER_STEP = "Those are the bytes of the step without checkpoints: take those of the step with them."
LONGER_FIRST = "With numpy.array_split the first parts are longer."
OFF = 1e-4
"""Distance of gradients, as a share of their size, that sums in another order leave."""
OFF_ON_GPU = 1e-2
"""The same on a GPU, whose convolutions may choose TF32 and another order for each call."""
OTHER_MASK = "The second run drew another dropout mask: leave preserve_rng_state=True."
GENERATOR = "On a GPU, masks come from the GPU's own generator: torch.cuda.get_rng_state() is its state."


@dataclass(frozen=True)
class CheckpointedStep:
    """What one step gives."""

    loss: float
    gradients: dict[str, Any]
    kept_bytes: int
    flops: int


def drawn(draw: random.Random, device: str = "cpu") -> Problem:
    """A small problem of two batches, whose criterion is not the plain cross entropy; its gradients tell whether layers
    were computed again."""
    batch = draw.choice([8, 12, 16, 24])
    return Problem(
        "cnn_recounted", samples=2 * batch, batch_size=batch, seed=draw.randrange(10**6), device=device, loss_weight=2.0
    )


def step(
    problem: Problem,
    segments: int = 1,
    *,
    checkpointed: bool = True,
    same_mask: bool = True,
    early_stop: bool = True,
    train: bool = True,
    tail: bool = True,
    ends: Sequence[int] | None = None,
    each_once: bool = True,
    first_batch: bool = True,
) -> CheckpointedStep:
    """One step of the exercise's network on the problem's device, right or with one thing done differently.

    `ends` is where the parts are cut, if not as `numpy.array_split` does.
    """
    torch.set_num_threads(1)
    net = problem.model().to(problem.device)
    layers = [*net.features, nn.Dropout(0.3), net.head]  # type: ignore[misc]  # of Problem's cnn
    cuts = np.array_split(range(LAYERS), segments if ends is None else ends)
    parts = [nn.Sequential(*[layers[i] for i in part]).train(train) for part in cuts]
    own = {weight.untyped_storage().data_ptr() for weight in net.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr() if each_once else len(kept)] = storage.nbytes()
        return tensor

    x, labels = (one.to(problem.device) for one in list(problem.loader())[0 if first_batch else -1])
    torch.manual_seed(problem.seed)
    with warnings.catch_warnings(), FlopCounterMode(display=False) as flops, set_checkpoint_early_stop(early_stop):
        warnings.simplefilter("ignore")
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            for place, part in enumerate(parts):
                last = place == len(parts) - 1 and not tail
                again = checkpointed and not last
                x = checkpoint(part, x, use_reentrant=False, preserve_rng_state=same_mask) if again else part(x)
        loss = problem.criterion()(x, labels)
        loss.backward()
    gradients = {name: _array(weight.grad) for name, weight in net.named_parameters()}
    return CheckpointedStep(float(loss.detach()), gradients, sum(kept.values()), int(flops.get_total_flops()))


def _array(tensor: torch.Tensor | None) -> Any:
    assert tensor is not None
    return tensor.cpu().numpy()


def _apart(one: dict[str, Any], two: dict[str, Any]) -> float:
    """Distance as a share of the size of the second."""
    first, second = (
        np.concatenate([np.asarray(held[name], np.float64).ravel() for name in sorted(two)]) for held in (one, two)
    )
    return float(np.linalg.norm(first - second) / np.linalg.norm(second))


def judge(answer: Any, problem: Problem, segments: int) -> None:
    """Passes if the answer is that of a step with so many checkpoints.

    Raises:
        AssertionError: it is not; the message names a known mistake.
    """
    on_gpu = problem.device != "cpu"
    what = f"checkpointed_forward(problem with batches of {problem.batch_size}, {segments})" + on_gpu * " on the GPU"
    plain, right = step(problem, checkpointed=False), step(problem, segments)
    full = step(problem, segments, early_stop=False)
    keys = ["gradients", "kept_bytes", "loss", "recomputed_flops"]
    check.equal(sorted(answer) if isinstance(answer, dict) else answer, keys, f"keys of {what}")
    known = [(step(problem, train=False).loss, "That is the loss without dropout: the network is in eval mode.")]
    known.append((step(problem, first_batch=False).loss, "That is the loss of the last batch: take the first one."))
    known.append((plain.loss / problem.loss_weight, "The loss function is problem.criterion(), which has a weight."))
    if on_gpu:
        here = step(replace(problem, device="cpu"), checkpointed=False).loss
        known.append((here, "That was computed on the CPU: network and batch belong on problem.device."))
    check.close(answer["loss"], plain.loss, f"loss of {what}", rtol=1e-3 if on_gpu else 1e-4, mistakes=known)
    gradients = answer["gradients"]
    names = sorted(gradients) if isinstance(gradients, dict) else gradients
    check.equal(names, sorted(plain.gradients), f"names of gradients of {what}")
    shapes = {name: tuple(np.shape(gradients[name])) for name in names}
    check.equal(
        shapes, {name: array.shape for name, array in plain.gradients.items()}, f"shapes of gradients of {what}"
    )
    off, most = _apart(gradients, right.gradients), OFF_ON_GPU if on_gpu else OFF
    if not off <= most:
        if not np.isfinite(off):
            raise AssertionError(f"{what}: the gradients hold NaN or infinity.")
        twice = _apart({name: np.asarray(array) / 2 for name, array in gradients.items()}, right.gradients)
        notes = [
            (_apart(gradients, plain.gradients), f"{TOLD} {AGAIN}"),
            (_apart(gradients, step(problem, segments, tail=False).gradients), "The last part is not checkpointed."),
            (_apart(gradients, step(problem, 1).gradients), AT_ONCE),
            (twice, "They are twice as large: gradients of two steps add up in one model."),
        ]
        mask = OTHER_MASK + on_gpu * f" {GENERATOR}"
        note = next((words for apart, words in notes if apart <= most), mask)
        raise AssertionError(f"{what}: the gradients are off by {off:.2g} of their size. {note}")
    expected, flops = {right.flops - plain.flops, full.flops - plain.flops}, answer["recomputed_flops"]
    size = LAYERS // segments
    nothing = OTHER_STEP if flops in expected - {0} else AGAIN
    check.equal(answer["kept_bytes"], right.kept_bytes, f"kept_bytes of {what}", mistakes=[
        (plain.kept_bytes, nothing),
        (step(problem, segments, each_once=False).kept_bytes, "A storage is saved several times: count it once."),
        (step(problem, segments, tail=False).kept_bytes, "The last part is not checkpointed."),
        (step(problem, ends=[LAYERS * number // segments for number in range(1, segments)]).kept_bytes, LONGER_FIRST),
        (step(problem, ends=range(size, LAYERS, size)).kept_bytes, "There are more parts than segments."),
        (step(problem, -(-LAYERS // -(-LAYERS // segments))).kept_bytes, "There are fewer parts than segments."),
    ])  # fmt: skip
    if flops not in expected:
        check.equal(flops, right.flops - plain.flops, f"recomputed_flops of {what}", mistakes=[
            (0, "Does the counter surround backward(), where the parts are computed again?"),
            (right.flops, "That is all of the step: subtract the FLOPs of the step without checkpoints."),
            (full.flops, "That is all of the step: subtract the FLOPs of the step without checkpoints."),
        ])  # fmt: skip
