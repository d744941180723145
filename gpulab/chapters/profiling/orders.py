"""What the CPU orders in the hunt's training step, for `profiling_traces.simulate`: the five faults as orders.

Durations are round figures for an H200: a simulation that says that it is one needs no better ones.
"""

from __future__ import annotations

from gpulab.chapters.profiling.traces import Action, Copy, Kernel, Marked, Prepare, Wait

PIECES = 64
"""In which the faulty step normalizes its batch."""


def orders(faults: frozenset[str], layers: int) -> list[Action]:
    """The step with these faults, one order after the other.

    Args:
        faults: some of `profiling_hunt.FAULTS`.
        layers: of the network, each with two tensors to train.
    """
    product_us, point_us = (680.0, 16.0) if "float32" in faults else (48.0, 8.0)
    decode = Prepare(30_000.0 if "input" in faults else 30.0)
    copy = Copy(6_000.0 if "pageable copy" in faults else 160.0, pinned="pageable copy" not in faults)
    actions: list[Action] = [Marked("batch", (decode, copy))]
    if "tiny kernels" in faults:
        actions += [Kernel("convert", 3.0), Kernel("subtract", 3.0), Kernel("divide", 3.0)] * PIECES
    else:
        actions += [Kernel("convert", 12.0), Kernel("subtract", 14.0), Kernel("divide", 14.0)]
    for times, name in ((1, "forward"), (2, "backward")):
        for _ in range(layers):
            actions += [Kernel(f"gemm_{name}", product_us, "aten::mm")] * times
            actions.append(Kernel("elementwise", point_us, "aten::relu"))
            if "needless sync" in faults and name == "forward":
                actions += [
                    Kernel("isnan", point_us, "aten::isnan"),
                    Kernel("any", 12.0, "aten::any"),
                    Wait(),
                    Prepare(40.0),
                ]
    if "tiny kernels" in faults:
        actions += [Kernel("one_tensor", 5.0, "aten::add_")] * (4 * layers)
    else:
        actions += [Kernel("multi_tensor_apply", 60.0, "aten::_foreach_add_")] * 3
    return actions
