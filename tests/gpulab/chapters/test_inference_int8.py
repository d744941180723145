"""Inference: rounding, clipping, a network on whole numbers, and the figures of all that."""

import numpy as np
import pytest
import torch

from gpulab.chapters.inference import int8
from gpulab.chapters.inference import int8_network as whole
from gpulab.chapters.inference import int8_pictures as pictures
from gpulab.chapters.inference.folding import folded
from gpulab.chapters.inference.network import trained
from gpulab.figures import plot  # noqa: F401 - the fixture `shown` looks at modules that are loaded
from gpulab.measuring.timing import Timing


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -127, 127).astype(np.int8)


def calibrate(batches, method):
    assert method == "max"
    return float(max(np.abs(batch).max() for batch in batches)) / 127


def int8_linear(x, weight, x_scale, weight_scales):
    return ((x.astype(np.int32) @ weight.astype(np.int32).T) * (x_scale * weight_scales)).astype(np.float32)


def fold(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta


def test_errors_are_of_rounding_or_of_clipping():
    values = np.random.default_rng(5).standard_normal(4000).astype(np.float32)
    tight, loose = int8.clip_errors(values, [0.5, float(np.abs(values).max())], 8)
    assert loose.clipping == 0 and loose.rounding == pytest.approx(np.abs(values).max() / 127 / 12**0.5, rel=0.05)
    assert tight.clipping > 10 * loose.total and tight.rounding < loose.rounding
    nearest = np.clip(np.rint(values / (0.5 / 127)), -127, 127) * (0.5 / 127)
    exact = np.sqrt(np.mean((nearest - values) ** 2))
    assert int8.largest_step(8) == 127
    assert tight.total == pytest.approx(exact, rel=1e-5)


def test_one_pixel_of_one_picture_is_spoiled():
    images = torch.rand(4, 3, 32, 32)
    broken = int8.spoiled(images, 50.0)
    places = (broken != images).nonzero()
    assert {(row[0].item(), row[2].item(), row[3].item()) for row in places} == {(0, *int8.HOT)}
    assert broken.max() == 50 * images.max()


def test_the_maximum_is_lost_to_one_pixel_and_the_percentile_is_not():
    found = int8.hot_pixels((1.0, 1000.0))
    assert found["maximum"][1.0] > 0.96 and found["99.9 %"][1000.0] > 0.96
    assert found["maximum"][1000.0] < 0.3


def test_eight_bits_are_enough_for_weights_and_two_are_not():
    found = int8.fewer_bits()
    assert set(found) == {"per channel", "per tensor"} and sorted(found["per tensor"]) == list(range(2, 9))
    assert min(values[8] for values in found.values()) > 0.96
    assert found["per tensor"][2] < found["per channel"][2]


def test_a_narrow_channel_uses_its_steps_only_with_a_scale_of_its_own():
    weight = np.stack([np.linspace(-1, 1, 9), np.linspace(-0.25, 0.25, 9)]).reshape(2, 1, 3, 3)
    found = int8.codes(weight)
    assert abs(found["per tensor"]["narrowest"]).max() == 32
    assert all(abs(values).max() == 127 for values in found["per channel"].values())


def test_a_convolution_is_a_product_with_windows():
    draw = torch.Generator().manual_seed(6)
    images, weight = (torch.randint(-9, 9, shape, generator=draw).float() for shape in ((2, 3, 8, 6), (5, 3, 3, 3)))
    expected = torch.nn.functional.conv2d(images, weight, stride=2, padding=1)
    product = whole.windows(images.numpy()) @ weight.flatten(1).numpy().T
    np.testing.assert_array_equal(product.reshape(2, 4, 3, 5).transpose(0, 3, 1, 2), expected.numpy())


def test_a_network_on_whole_numbers_agrees_with_the_simulated_one():
    network, digits = trained()
    layers = whole.quantized_layers(network, digits, fold, calibrate, quantize)
    found = whole.scores(layers, digits.test_images[:200].numpy(), quantize, int8_linear)
    with torch.inference_mode():
        exact = network(digits.test_images[:200]).numpy()
    assert np.abs(found - exact).max() < 1 and (found.argmax(1) != exact.argmax(1)).sum() <= 3
    assert whole.accuracy_of(found, digits) > 0.94
    assert all(layer.weight.dtype == np.int8 for layer in layers)
    stored = sum(layer.nbytes for layer in layers)
    assert 33_000 < stored < 36_000
    limits = {name: float(np.abs(v).max()) for name, v in int8.layer_inputs(network, digits.calibration_images).items()}
    assert int8.simulated(network, limits, digits) > 0.96


def test_products_are_timed_on_the_processor():
    times = whole.product_times(int8_linear, n=32)
    assert {"int8, yours", "float32"} <= set(times)
    assert all(isinstance(time, Timing) and time.median_ms > 0 for time in times.values())


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_without_a_gpu_there_are_no_gpu_times():
    assert whole.gpu_product_times() == {}


def test_promises_are_dense():
    assert whole.promised_rates()["H200"]["int8"] == pytest.approx(1979, rel=0.001)


def test_figures_tell_what_they_show(shown):
    network, digits = trained()
    pictures.draw_road()
    pictures.draw_bits(int8.fewer_bits(), 0.98)
    pictures.draw_ends(quantize)
    pictures.draw_clipping(int8.layer_inputs(network, digits.calibration_images)["head"])
    pictures.draw_hot_pixel({"maximum": {1.0: 0.9, 100.0: 0.1}, "99.9 %": {1.0: 0.9, 100.0: 0.9}})
    pictures.draw_codes(folded(network).conv2.weight.numpy())
    pictures.draw_variations({"right": 0.98, "no mean": 0.92}, 0.98)
    times = {"int8, yours": Timing(20.0, 1.0, 3, "CPU"), "float32": Timing(0.5, 0.1, 3, "CPU")}
    pictures.draw_product_times(times)
    pictures.draw_product_times({**times, "int8, library": Timing(0.1, 0.1, 3, "CPU")})
    assert "six steps" in shown[0] and "float32: 98.0%" in shown[1] and "from -127 to 127" in shown[2]
    assert "least error" in shown[3] and "100.0: 10.0%" in shown[4] and "per channel" in shown[5]
    assert "no mean 92" in shown[6] and "40 times as long" in shown[7] and "by a library: 0.2 times" in shown[8]
