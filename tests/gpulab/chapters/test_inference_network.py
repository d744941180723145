"""The inference chapter's network and its training."""

import pytest
import torch

from gpulab.chapters.inference.network import CALIBRATION, TEST, accuracy, trained, untrained


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


def test_an_untrained_network_trains():
    """The layers are those of the trained one, in training mode, with gradients."""
    network = untrained()
    assert network.training and all(weight.requires_grad for weight in network.parameters())
    assert sum(weight.numel() for weight in network.parameters()) == 33_946
