"""What the hunt of the profiling chapter sees besides the trace, and which ranges of the trace count as decoding."""

from __future__ import annotations

import zlib

import numpy
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from gpulab.chapters.profiling import hunt, hunt_modes, hunt_pictures, traces


def test_whatever_the_network_computed_counts_when_it_is_asked_for() -> None:
    """In any shape and type, also where it was written into another tensor. Pictures do not."""
    images, weights = torch.rand(4, 3, 8, 8), torch.rand(2, 3, 3, 3)
    witness = hunt_modes.Witness()
    with witness, hunt_modes.Asked(witness) as asked:
        asked.between()
        into, many, scores = torch.zeros(80), [torch.zeros(4, 2, 6, 6)], torch.conv2d(images, weights)
        images.tolist(), into.numpy()
        into[:4] = scores[:, 0, 0, 0]
        torch._foreach_add_(many, [scores])
        scores.tolist(), scores.view(torch.int32).tolist(), scores[0, 0].cpu(), into.numpy(), many[0].numpy()
        asked.between()
    assert asked.values == 5


def test_operators_that_tell_the_host_what_the_network_computed_are_counted() -> None:
    """Whatever calls them, and also where only a shape tells; with other tensors they are not."""
    images, weights, labels = torch.rand(1, 3, 4, 4), torch.rand(1, 3, 3, 3), torch.arange(4)
    witness = hunt_modes.Witness()
    with witness, hunt_modes.Asked(witness) as asked:
        torch.conv2d(images, weights).sum().item()
        asked.between()
        loss = torch.conv2d(images, weights).sum()
        labels.max().item(), labels.nonzero(), torch.bincount(labels), loss + 1
        torch.ops.aten._local_scalar_dense(loss), loss.item(), loss.view(1).nonzero(), torch.equal(loss, loss)
        torch.bincount(loss.view(torch.int32).view(1) >> 20)
        asked.between()
        loss.item()
    assert asked.told == 5


def test_what_is_written_to_memory_that_the_program_reads_is_counted() -> None:
    """NumPy's, and what an address was asked for; a tensor of PyTorch's is not read without it."""
    witness = hunt_modes.Witness()
    with witness, hunt_modes.Asked(witness) as asked:
        known, exported, own = torch.from_numpy(numpy.zeros(2, numpy.float32)), torch.zeros(2), torch.zeros(2)
        exported.data_ptr()
        loss = torch.conv2d(torch.rand(1, 3, 4, 4), torch.rand(1, 3, 3, 3)).sum()
        asked.between()
        known[0], exported[0], own[0] = loss, loss, loss
        asked.between()
    assert asked.told == 2


def test_a_batch_that_is_reordered_in_its_own_step_is_seen() -> None:
    """Whatever reorders it; not if its order was there before, or if only its numbers change."""
    files, _ = hunt_pictures.data(1, 4)
    planes = [torch.tensor([*zlib.decompress(one)], dtype=torch.uint8).view(16, 16, 3) for one in files]
    weights = torch.rand(2, 3, 3, 3)
    kept = numpy.ascontiguousarray(torch.stack(planes).permute(0, 3, 1, 2).numpy())
    for before, batch, turned in (
        (torch.stack(planes), lambda _: torch.from_numpy(kept).float(), False),
        (torch.stack(planes), lambda one: one.permute(0, 3, 1, 2).float() / 64, False),
        (torch.stack(planes), lambda one: torch.stack((one.float() / 64).unbind(3), dim=1), True),
        (
            torch.stack(planes),
            lambda one: one.permute(0, 3, 1, 2).flatten(2).contiguous().view(4, 3, 16, 16).float(),
            True,
        ),
        (torch.stack(planes).permute(0, 3, 1, 2).contiguous(), lambda one: one.float() / 64, False),
    ):
        witness = hunt_modes.Witness()
        with witness, hunt_modes.Asked(witness) as asked:
            torch.conv2d(before.view(-1, 3, 16, 16).float(), weights)
            asked.between()
            torch.conv2d(batch(before), weights)  # type: ignore[no-untyped-call]
            asked.between()
        assert asked.turned == turned


def test_what_is_handed_to_another_library_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a method of the tensor, which calls a function, or by that function; pictures are not counted."""
    for module in (torch._C, torch.utils.dlpack, torch):
        for name in ("to_dlpack", "_to_dlpack", "_to_dlpack_versioned"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name))
    witness = hunt_modes.Witness()
    with witness, hunt_modes.Asked(witness) as asked:
        asked.watch_exports()
        asked.between()
        loss, picture = torch.conv2d(torch.rand(1, 3, 4, 4), torch.rand(1, 3, 3, 3)).sum(), torch.rand(3, 16, 16)
        numpy.from_dlpack(loss), torch.utils.dlpack.to_dlpack(loss), torch._C._to_dlpack(loss)
        numpy.from_dlpack(picture), torch.to_dlpack(picture)
        asked.between()
    assert asked.values == 3


def test_a_copy_that_only_reorders_a_batch_is_counted_whatever_makes_it() -> None:
    """Before the first update it is made once; a copy that changes the type is none."""
    batch = torch.rand(32, 16, 16, 3).permute(0, 3, 1, 2)
    witness = hunt_modes.Witness()
    with witness, hunt_modes.Asked(witness) as asked:
        for _ in range(3):
            torch.empty(batch.shape).copy_(batch), batch.to(memory_format=torch.contiguous_format), batch.contiguous()
            batch.double(), batch.clone(), batch + 1, torch.zeros(32, 3, 16, 16).copy_(batch.contiguous())
            asked.between()
    assert asked.reordered == 2 * 4


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")
@pytest.mark.parametrize("within", [False, True])
def test_a_range_named_decode_hides_only_what_runs_before_the_next_update(
    within: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing at all, if no picture is decompressed in it."""
    for name in ("decompress", "decompressobj"):
        monkeypatch.setattr(zlib, name, getattr(zlib, name))  # so that it is put back
    (file, *_), _ = hunt_pictures.data(5, 1)
    hunt_pictures.counted_decompressions()
    weight = torch.ones(2, requires_grad=True)
    optimizer, record = torch.optim.SGD([weight]), torch.profiler.record_function
    weight.grad = torch.ones(2)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler, record("step"):
        if not within:
            zlib.decompress(file)
        with record("decode"):
            if within:
                zlib.decompress(file)
            torch.ones(1).item()
            optimizer.step()
            torch.ones(1).item()
    assert hunt.account(traces.trace_events(profiler))["values"] == (1 if within else 2)
