"""Inference: rounding, clipping, a network on whole numbers, and the figures of all that."""

import numpy as np
import pytest

from gpulab.chapters.inference import int8
from gpulab.chapters.inference import int8_pictures as pictures
from gpulab.figures import plot  # noqa: F401 - the fixture `shown` looks at modules that are loaded
from gpulab.measuring.timing import Timing


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -127, 127).astype(np.int8)


def test_errors_are_of_rounding_or_of_clipping():
    values = np.random.default_rng(5).standard_normal(4000).astype(np.float32)
    tight, loose = int8.clip_errors(values, [0.5, float(np.abs(values).max())], 8)
    assert loose.clipping == 0 and loose.rounding == pytest.approx(np.abs(values).max() / 127 / 12**0.5, rel=0.05)
    assert tight.clipping > 10 * loose.total and tight.rounding < loose.rounding
    nearest = np.clip(np.rint(values / (0.5 / 127)), -127, 127) * (0.5 / 127)
    exact = np.sqrt(np.mean((nearest - values) ** 2))
    assert int8.largest_step(8) == 127
    assert tight.total == pytest.approx(exact, rel=1e-5)


def test_a_narrow_channel_uses_its_steps_only_with_a_scale_of_its_own():
    weight = np.stack([np.linspace(-1, 1, 9), np.linspace(-0.25, 0.25, 9)]).reshape(2, 1, 3, 3)
    found = int8.codes(weight)
    assert abs(found["per tensor"]["narrowest"]).max() == 32
    assert all(abs(values).max() == 127 for values in found["per channel"].values())


def test_figures_tell_what_they_show(shown):
    draw = np.random.default_rng(3)
    pictures.draw_road()
    pictures.draw_bits({name: {8: 0.98, 2: 0.3} for name in ("per channel", "per tensor")}, 0.98)
    pictures.draw_ends(quantize)
    pictures.draw_clipping(draw.standard_normal(500).astype(np.float32))
    pictures.draw_hot_pixel({"maximum": {1.0: 0.9, 100.0: 0.1}, "99.9%": {1.0: 0.9, 100.0: 0.9}})
    pictures.draw_codes(draw.standard_normal((4, 3, 3, 3)).astype(np.float32))
    pictures.draw_variations({"right": 0.98, "no mean": 0.92}, 0.98)
    times = {"int8, yours": Timing(20.0, 1.0, 3, "CPU"), "float32": Timing(0.5, 0.1, 3, "CPU")}
    pictures.draw_product_times(times)
    pictures.draw_product_times({**times, "int8, library": Timing(0.1, 0.1, 3, "CPU")})
    assert "six steps" in shown[0] and "float32: 98.0%" in shown[1] and "from -127 to 127" in shown[2]
    assert "least error" in shown[3] and "100.0: 10.0%" in shown[4] and "per channel" in shown[5]
    assert "no mean 92" in shown[6] and "int8, yours: 20 ms; float32: 0.5 ms" in shown[7]
    assert "float32: 0.5 ms; int8, library: 0.1 ms" in shown[8]
