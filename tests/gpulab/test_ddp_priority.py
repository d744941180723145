"""DDP and scaling: layers of real networks, and what comes of an order of sending."""

import pytest

from gpulab.chapters.ddp_scaling.costs import models
from gpulab.chapters.ddp_scaling.priority import bucketed, layers_of, overlapped, played

MB = 10**6


def layer(forward_ms, backward_ms, nbytes):
    return {"forward_ms": forward_ms, "backward_ms": backward_ms, "nbytes": nbytes}


@pytest.mark.parametrize(("name", "count"), [("VGG-16", 16), ("ResNet-50", 54)])
def test_layers_hold_all_parameters_and_the_whole_step(name, count):
    model = next(model for model in models() if model.name == name)
    layers = layers_of(model)
    assert len(layers) == count
    assert sum(one["nbytes"] for one in layers) == model.nbytes
    assert sum(one["forward_ms"] + one["backward_ms"] for one in layers) == pytest.approx(1e3 * model.step_s)


def test_layers_of_vgg_are_as_its_authors_describe_them():
    """Most parameters are at the end, where there is next to no work."""
    layers = layers_of(next(model for model in models() if model.name == "VGG-16"))
    assert layers[13]["nbytes"] == 4 * (512 * 7 * 7 * 4096 + 4096)
    assert sum(one["nbytes"] for one in layers[13:]) > 0.89 * sum(one["nbytes"] for one in layers)
    assert sum(one["forward_ms"] for one in layers[13:]) < 0.01 * sum(one["forward_ms"] for one in layers)


def test_a_plan_waits_for_gradients_and_for_the_link():
    layers = [layer(4.0, 7.0, 2 * MB), layer(4.0, 6.0, 4 * MB), layer(2.0, 2.0, 24 * MB)]
    plan = played(layers, 1.0, [(2, 24 * MB), (1, 4 * MB), (0, 2 * MB)])
    assert plan.makespan_ms == 42.0
    sent = [(span.label, span.start, span.stop) for span in plan.spans if span.lane == "link"]
    assert sent == [("3", 2.0, 26.0), ("2", 26.0, 30.0), ("1", 30.0, 32.0)]


def test_a_piece_is_not_sent_before_it_is_there():
    plan = played([layer(1.0, 5.0, MB), layer(1.0, 5.0, MB)], 1.0, [(0, MB), (1, MB)])
    assert [span.start for span in plan.spans if span.lane == "link"] == [10.0, 11.0]


def test_buckets_are_filled_from_the_last_layer():
    assert bucketed([1, 1, 1, 1, 1], 2) == [[4, 3], [2, 1], [0]]
    assert bucketed([10, 1], 5) == [[1, 0]]
    assert bucketed([3, 3], 1) == [[1], [0]]


def test_a_bucket_leaves_with_its_last_gradient():
    layers = [layer(0.0, 6.0, MB)] * 4
    ends = {
        name: overlapped(layers, buckets, 2.0, 1.0, name).makespan_ms
        for name, buckets in {"end": [[3, 2, 1, 0]], "each": [[3], [2], [1], [0]], "two": [[3, 2], [1, 0]]}.items()
    }
    assert ends == {"end": 30.0, "each": 27.0, "two": 28.0}
