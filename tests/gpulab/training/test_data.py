"""`gpulab.data`: digits in the shape of CIFAR-10, for plain loops and for lightning-bolts."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from gpulab.training import data

torch.set_num_threads(1)


def test_digits_have_cifars_interface() -> None:
    train, test = data.Digits("/nowhere", train=True, download=True), data.Digits(train=False)
    assert (len(train), len(test)) == (1500, 297)
    assert (train.data.shape, train.data.dtype, len(train.targets)) == ((1500, 32, 32, 3), np.uint8, 1500)
    picture, label = train[3]
    assert (picture.size, picture.mode, label) == ((32, 32), "RGB", train.targets[3])
    doubled = data.Digits(transform=lambda picture: picture.size, target_transform=lambda label: label + 10)
    assert doubled[3] == ((32, 32), label + 10)


def test_digits_are_those_of_scikit_learn() -> None:
    from sklearn.datasets import load_digits

    theirs, ours = load_digits(), data.Digits(train=False)
    np.testing.assert_array_equal(ours.targets, theirs.target[1500:])
    np.testing.assert_allclose(ours.data[:, ::4, ::4, 0] / 255 * 16, theirs.images[1500:], atol=0.05)


def test_batches_are_normalized_and_cover_the_samples_once() -> None:
    loader = data.batches("digits", 100, 32, seed=3)
    pictures = torch.cat([pictures for pictures, _ in loader])
    assert pictures.shape == (100, 3, 32, 32)
    assert len(torch.unique(pictures, dim=0)) == 100
    assert pictures.mean().abs() < 1e-3
    assert abs(pictures.std() - 1) < 0.01


def test_batches_may_be_drawn_by_another_sampler() -> None:
    """Distributed training replaces the sampler of a loader."""
    loader = data.batches("digits", 12, 4, seed=3)
    picked = torch.utils.data.DataLoader(loader.dataset, 3, sampler=[5, 1, 7], collate_fn=loader.collate_fn)
    pictures, labels = next(iter(picked))
    for place, index in enumerate([5, 1, 7]):
        assert torch.equal(pictures[place], loader.dataset[index][0])
        assert labels[place] == loader.dataset[index][1]


def test_more_samples_than_there_are_is_said() -> None:
    with pytest.raises(ValueError, match="only 1500"):
        data.batches("digits", 1501, 10, seed=0)


def test_cifar_that_is_not_here_says_where_to_put_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPULAB_DATA", str(tmp_path))
    with pytest.raises(LookupError, match="GPULAB_DATA"):
        data.batches("cifar10", 10, 10, seed=0)


def test_cifar_is_read_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder in CIFAR-10's own format, with random pictures."""
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    draw = np.random.default_rng(7)
    for name in ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"):
        content = {"data": draw.integers(0, 256, (4, 3072), dtype=np.uint8), "labels": [0, 1, 2, 3]}
        (folder / name).write_bytes(pickle.dumps(content))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["a", "b", "c", "d"]}))
    monkeypatch.setenv("GPULAB_DATA", str(tmp_path))
    monkeypatch.setattr("torchvision.datasets.cifar.check_integrity", lambda *_: True)
    pictures, labels = next(iter(data.batches("cifar10", 20, 20, seed=11)))
    assert pictures.shape == (20, 3, 32, 32)
    assert sorted(labels.tolist()) == sorted([0, 1, 2, 3] * 5)


@pytest.mark.skipif(importlib.util.find_spec("pl_bolts") is None, reason="lightning-bolts is not installed")
def test_the_data_module_of_bolts_splits_and_batches_digits() -> None:
    module = data.data_module("digits", batch_size=50)
    module.prepare_data()
    module.setup()
    assert (len(module.dataset_train), len(module.dataset_val), len(module.dataset_test)) == (1200, 300, 297)
    pictures, labels = next(iter(module.val_dataloader()))
    assert (tuple(pictures.shape), tuple(labels.shape)) == ((50, 3, 32, 32), (50,))
