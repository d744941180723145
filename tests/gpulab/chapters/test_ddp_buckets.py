"""DDP and scaling: buckets of gradients, and when they are sent."""

from gpulab.chapters.ddp_scaling.buckets import bucketed, overlapped

MB = 10**6


def layer(forward_ms, backward_ms, nbytes):
    return {"forward_ms": forward_ms, "backward_ms": backward_ms, "nbytes": nbytes}


def test_buckets_are_filled_from_the_last_layer():
    assert bucketed([1, 1, 1, 1, 1], 2) == [[4, 3], [2, 1], [0]]
    assert bucketed([10, 1], 5) == [[1, 0]]
    assert bucketed([3, 3], 1) == [[1], [0]]


def test_a_bucket_leaves_with_its_last_gradient():
    layers = [layer(0.0, 6.0, MB)] * 4
    ends = {
        name: max(span.stop for span in overlapped(layers, buckets, 2.0, 1.0, name))
        for name, buckets in {"end": [[3, 2, 1, 0]], "each": [[3], [2], [1], [0]], "two": [[3, 2], [1, 0]]}.items()
    }
    assert ends == {"end": 30.0, "each": 27.0, "two": 28.0}
