"""Chapter 11: the timeline of an order of sending."""

from gpulab.chapters.sharding import priority_pictures
from gpulab.chapters.sharding.priority import played

MB = 10**6


def layer(forward_ms, backward_ms, nbytes):
    return {"forward_ms": forward_ms, "backward_ms": backward_ms, "nbytes": nbytes}


def test_a_plan_waits_for_gradients_and_for_the_link():
    layers = [layer(4.0, 7.0, 2 * MB), layer(4.0, 6.0, 4 * MB), layer(2.0, 2.0, 24 * MB)]
    plan = played(layers, 1.0, [(2, 24 * MB), (1, 4 * MB), (0, 2 * MB)])
    assert plan[-1].stop == 42.0
    sent = [(span.label, span.start, span.stop) for span in plan if span.lane == "link"]
    assert sent == [("3", 2.0, 26.0), ("2", 26.0, 30.0), ("1", 30.0, 32.0)]


def test_a_piece_is_not_sent_before_it_is_there():
    plan = played([layer(1.0, 5.0, MB), layer(1.0, 5.0, MB)], 1.0, [(0, MB), (1, MB)])
    assert [span.start for span in plan if span.lane == "link"] == [10.0, 11.0]


def test_pictures_of_orders_and_gains(shown):
    layers = [layer(1.0, 2.0, MB)] * 3
    whole = [(2, MB), (1, MB), (0, MB)]
    priority_pictures.draw_orders(layers, 1.0, {"one": whole, "other": whole})
    priority_pictures.draw_gains({"A": {1.0: 1.1, 10.0: 1.0}})
    assert "10 ms in one order, 10 ms in the other" in shown[0]
    assert "A: 10% at 1, 0% at 10" in shown[1]
