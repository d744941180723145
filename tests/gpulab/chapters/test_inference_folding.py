"""The inference chapter's network, its training, and what is left of it without batch norms."""

import numpy as np
import pytest
import torch

from gpulab.chapters.inference import folding
from gpulab.chapters.inference.network import CALIBRATION, TEST, accuracy, trained, untrained


def fold(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta


@pytest.fixture(scope="module")
def made():
    return trained()


def test_the_network_knows_its_digits(made):
    network, pictures = made
    assert accuracy(network, pictures.test_images, pictures.test_labels) > 0.96
    assert not network.training and not any(weight.requires_grad for weight in network.parameters())
    with torch.inference_mode():
        assert network(pictures.test_images[:3]).shape == (3, 10)


def test_the_parts_share_no_picture(made):
    _, pictures = made
    assert pictures.calibration_images.shape == (CALIBRATION, 3, 32, 32)
    assert len(pictures.test_labels) == TEST
    parts = [pictures.train_images, pictures.calibration_images, pictures.test_images]
    seen = [{picture.numpy().tobytes() for picture in part} for part in parts]
    assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]
    assert set(pictures.test_labels.tolist()) == set(range(10))


def test_training_is_the_same_every_time_and_leaves_torch_alone():
    """A second process would get the same weights: here the cache is emptied instead."""
    from gpulab.chapters.inference import network as inference_network

    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    threads = torch.get_num_threads()
    first, _ = trained()
    inference_network._trained.cache_clear()
    second, _ = trained()
    assert torch.equal(torch.rand(3), expected) and torch.get_num_threads() == threads
    for one, other in zip(first.state_dict().values(), second.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_everybody_gets_a_copy(made):
    network, _ = made
    with torch.no_grad():
        trained()[0].head.weight.zero_()
    assert torch.equal(trained()[0].head.weight, network.head.weight)
    assert network.head.weight.abs().sum() > 0


def test_without_norms_the_scores_are_the_same(made):
    network, pictures = made
    without = folding.folded(network)
    assert not any(isinstance(layer, torch.nn.BatchNorm2d) for layer in without.modules())
    assert folding.apart(without, network, pictures.test_images) < 1e-4
    assert any(isinstance(layer, torch.nn.BatchNorm2d) for layer in network.modules())


def test_a_right_fold_changes_nothing_and_a_wrong_one_does(made):
    network, pictures = made
    assert folding.apart(folding.folded_by(fold, network), network, pictures.test_images) < 1e-4

    def forgetful(**parts):
        return fold(**{**parts, "beta": 0 * parts["beta"]})

    assert folding.apart(folding.folded_by(forgetful, network), network, pictures.test_images) > 0.1


def test_pieces_are_copies_with_a_bias_of_zeros(made):
    network, _ = made
    pieces = folding.pieces(network, 2)
    assert pieces["weight"].shape == (32, 16, 3, 3) and not pieces["bias"].any() and pieces["eps"] == 1e-5
    pieces["mean"][:] = 99
    assert (network.norm2.running_mean != 99).all()


def test_every_variation_is_another_network(made):
    network, pictures = made
    far = {name: folding.apart(one, network, pictures.test_images) for name, one in folding.variations(network).items()}
    assert far.pop("right") < 1e-4
    assert sorted(far) == ["no mean", "no root", "no β"] and min(far.values()) > 0.1


def test_an_untrained_network_trains():
    """The layers are those of the trained one, in training mode, with gradients."""
    network = untrained()
    assert network.training and all(weight.requires_grad for weight in network.parameters())
    assert sum(weight.numel() for weight in network.parameters()) == 33_946
