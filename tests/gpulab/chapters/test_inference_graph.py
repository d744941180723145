"""The inference chapter's graphs: nodes counted as a picture meets them, and drawn."""

from __future__ import annotations

import re

import pytest
import torch
from onnx import TensorProto, helper
from onnx_files import exported, fed, optimized

from gpulab.chapters.inference import graph
from gpulab.chapters.inference.engine_files import NotAnEngine
from gpulab.chapters.inference.network import untrained

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def stages() -> dict[str, bytes]:
    """The chapter's network as it is, folded and fused."""
    network = untrained().eval()
    plain, folded = exported(network, optimize=False), exported(network)
    return {"plain": plain, "folded": folded, "fused": optimized(folded)}


def test_folding_takes_the_batch_norms_and_fusion_the_relus(stages: dict[str, bytes]) -> None:
    counts = {name: graph.count(content) for name, content in stages.items()}
    assert counts["plain"]["BatchNormalization"] == counts["plain"]["Conv"] == counts["plain"]["Relu"] == 3
    assert "BatchNormalization" not in counts["folded"]
    assert counts["folded"]["Relu"] == 3
    fused = counts["fused"]
    assert (fused["FusedConv"], fused["Gemm"]) == (3, 1)
    assert set(fused) - {"FusedConv", "Gemm"} <= {"Reshape", "Shape", "Concat"}  # torch 2.11 flattens in three nodes


def test_folded_and_fused_say_the_same(stages: dict[str, bytes]) -> None:
    images = torch.randn(5, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    plain, folded, fused = (torch.from_numpy(fed(file, images)) for file in stages.values())
    torch.testing.assert_close(folded, plain, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(fused, plain, rtol=1e-3, atol=1e-4)


def diamond() -> bytes:
    """x → Relu → Abs, Neg → Add; and a constant beside it that no picture meets."""
    nodes = [
        helper.make_node("Abs", ["w"], ["w2"]),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Abs", ["r"], ["a"]),
        helper.make_node("Neg", ["r"], ["n"]),
        helper.make_node("Add", ["a", "n"], ["s"]),
        helper.make_node("Mul", ["s", "w2"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1], [2.0])
    return helper.make_model(helper.make_graph(nodes, "diamond", [x], [y], [weight])).SerializeToString()


def test_nodes_have_places_and_those_of_weights_alone_are_left_out() -> None:
    found = graph.nodes(diamond())
    assert [node.kind for node in found] == ["Relu", "Abs", "Neg", "Add", "Mul"]
    assert [node.depth for node in found] == [0, 1, 1, 2, 3]
    assert [node.after for node in found] == [(), (0,), (0,), (1, 2), (3,)]


def test_graphs_are_drawn_with_their_counts(stages: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(graph, "show", lambda figure, words: shown.append((figure, words)))
    graph.draw_graphs(stages)
    (figure, words), texts = shown[0], [text.get_text() for text in shown[0][0].axes[0].texts]
    assert f"folded: {sum(graph.count(stages['folded']).values())} nodes" in texts
    assert re.search(r"fused: .*FusedConv, FusedConv, FusedConv, .*Reshape, Gemm", words)
    assert figure.get_figwidth() == 9


def test_what_is_no_file_is_not_drawn() -> None:
    with pytest.raises(NotAnEngine, match="not an ONNX file"):
        graph.draw_graphs({"this": b"nothing"})
