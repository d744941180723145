"""What a GPU reads for the exercises on fused kernels: right answers agree with it, wrong ones do not."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import random
from typing import Any

import pytest
import torch
from confronted import findings, given, sentences
from courses import ROOT

from grader.authoring.myst import read_source
from grader.dev import gpu_rows
from grader.exercises.confront import Absent, Confrontation, Unusable, declared
from grader.exercises.fused_kernels import compiling
from grader.exercises.fused_kernels import confrontations as asked
from grader.model.course import Course

CHAPTER = "10"


def one(name: str) -> Confrontation:
    return declared()[name]


def test_random_numbers_are_drawn_where_the_page_makes_its_tensors() -> None:
    """On a GPU the page makes it the default: PyTorch refuses a generator of the CPU there, also in a hidden test."""
    text = Course(ROOT).chapter(CHAPTER).source.read_text()
    assert "torch.set_default_device(" in text
    made = [line.strip() for line in text.splitlines() if "torch.Generator(" in line]
    assert len(made) > 4
    assert [line for line in made if "torch.Generator(torch.get_default_device())" not in line] == []


def test_dynamo_is_asked_on_the_page_as_well() -> None:
    """Where another device is the default; `meta` takes its place, whose tensors have no values."""
    torch.set_default_device("meta")
    try:
        found = compiling.compiled("cpu")
    finally:
        torch.set_default_device(None)
    assert found["f"]["graphs"][0] == 1


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    met = gpu_rows.met(read_source(Course(ROOT).chapter(CHAPTER).source))
    assert [each.exercise for each in met if not each.ways] == []
    assert sentences(asked.CONFRONTATIONS) == []


# -------------------------------------------------------------------------------------------------------- bytes_fused

STREAMS = {
    "V100": (802, 814), "A100 80GB": (1732, 1759), "H200": (3165, 3534), "L40": (770, 768), "A40": (652, 653),
}  # fmt: skip
"""GB/s of one read per write, and of two: columns scale and triad of te42kyfo/gpu-benches@1c36d509 gpu-stream/*.txt, at
full occupancy."""
KERNELS = [[1], [1] * 8, [2, 2], [3], [1], [1] * 4, [1]]
"""Tensors that each kernel of the chains reads; PyTorch runs one kernel per operation."""


def streams(scale: float, triad: float, elements: int = 2**26, noise: float = 0.03) -> list[dict[str, Any]]:
    """Times of the seven chains at these rates."""
    draw, found = random.Random(scale), []
    for (name, inputs, fused, item), kernels in zip(asked.CHAINS, KERNELS, strict=True):
        ms = sum((reads + 1) * elements * item / 1e6 / (scale if reads == 1 else triad) for reads in kernels)
        ms *= 1 + draw.uniform(-noise, noise)
        found.append({"chain": name, "inputs": inputs, "fused": fused, "bytes": item, "elements": elements, "ms": ms})
    return found


def test_bytes_fused() -> None:
    plausible = {gpu: streams(*rates) for gpu, rates in STREAMS.items()}
    plausible |= {"A100, smaller": streams(1732, 1759, 2**24, noise=0.05)}
    cached, slow = streams(*STREAMS["A40"]), streams(*STREAMS["L40"])
    cached[1]["ms"] /= 3  # the intermediate results stayed in the L2 cache
    slow[4]["ms"] *= 1.6  # the clock fell
    broken = {"from the L2 cache": cached, "throttled": slow}
    units = ["bits", "in MB", "bytes per element"]
    passing = dict.fromkeys(units, "times tell ratios: one factor for every chain changes none of them")
    passing["equal numbers of inputs count once"] = "equal numbers of inputs are 0 here, which adds nothing"
    assert findings(one("bytes_fused"), CHAPTER, plausible, broken, passing) == []


def test_chains_are_not_timed_where_they_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Small:
        L2_cache_size = 2**25

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Small)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (10**9, 4 * 10**9))
    with pytest.raises(Absent, match=r"1\.6 GB"):
        asked.streamed()


# ----------------------------------------------------------------------------------------------------- online_softmax


def test_online_softmax() -> None:
    here = asked.softmaxed("cpu")
    close, narrow, other = (copy.deepcopy(here) for _ in range(3))
    close[0]["lse"] *= 1 + 1e-13
    narrow[2]["lse"] += 1e-5
    other[1]["weights"][2] = 1e-6
    broken = {"in float32": narrow, "another weight": other}
    order = "the values are right: on a GPU, too, nobody sees in which order they were computed"
    passing = {
        "a maximum that is reached again loses the sum": "no two blocks here have one maximum",
        "the maximum of all blocks, then the sum block by block": order,
        "the page's two passes": order,
        "PyTorch's log-sum-exp of the whole row": order,
        "SciPy's logsumexp of the whole row": order,
        "equal elements of a block count once": "no two elements here are equal",
    }
    plausible = {"this CPU": here, "rounded otherwise": close}
    assert findings(one("online_softmax"), CHAPTER, plausible, broken, passing) == []


# ------------------------------------------------------------------------------------------------------- GRAPH_BREAKS


@functools.cache
def compiled() -> dict[str, Any]:
    """What Dynamo does here: it traces tensors of a GPU as those of a CPU."""
    return compiling.compiled("cpu")


def test_graph_breaks() -> None:
    some = "it earns points for the entries that are right, on a GPU as elsewhere"
    passing = {
        "the functions themselves as keys": "the keys are read by name",
        "five of six": some, "four of six": some, "three of six": some,
        "an entry is missing": "the other five are what Dynamo did; the test asks for all six",
        "print takes the value": some, "`if` taken for a number": some, "`.item()` taken for a branch": some,
            "`.item()` taken for a number that changes": some,
        "another step is another shape": some, "another step is another type, another length a loop": some,
        "a code of its own": "the other five are what Dynamo did; the test knows the words of the menu",
    }  # fmt: skip
    breaks = {name: {"graphs": [2, 2, 2], "why": "print"} for name in "abcdef"}
    strange = {name: {"graphs": [2, 2, 2], "why": "a reason of a version to come"} for name in "abcdef"}
    never = {name: {"graphs": [0, 0, 0], "why": ""} for name in "abcdef"}
    broken = {"breaks everywhere": breaks, "other reasons": strange, "compiles nothing": never}
    assert findings(one("GRAPH_BREAKS"), CHAPTER, {"this CPU": compiled()}, broken, passing) == []


def test_the_functions_of_graph_breaks_are_those_of_the_page() -> None:
    def bare(text: str) -> list[str]:
        """The functions a to f without annotations."""
        found = []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and len(node.name) == 1:
                node.returns = None
                for argument in node.args.args:
                    argument.annotation = None
                found.append(ast.dump(node))
        return found

    source = read_source(Course(ROOT).chapter(CHAPTER).source)
    pages = [cell.source for cell in source.cells if cell.kind == "code" and "# called with vectors" in cell.source]
    assert bare("\n".join(pages)) == bare(inspect.getsource(compiling))
    assert {"a", "f"} <= set(given(CHAPTER))


# ------------------------------------------------------------------------------------------------------- launch_bound


def launches(launch_us: float, short_us: float, pause_us: float = 0.4, sync_us: float = 15) -> dict[str, Any]:
    """What is measured with such launches and kernels: kernels that were launched one by one pause a little longer, and
    the CPU notices the end late."""
    kernel_us = {"short": short_us, "long": 20.5 * launch_us}
    found: list[dict[str, Any]] = []
    for order in asked.ORDERS:
        kernels = [kernel_us[name] for name, count in order for _ in range(count)]
        eager = 0.0
        for number, kernel in enumerate(kernels, start=1):
            eager = max(eager + pause_us, number * launch_us) + kernel
        graph = 2 * launch_us + 0.02 * len(kernels) + sum(kernels)
        found.append({"order": order, "eager_us": eager + sync_us, "graph_us": graph + sync_us})
    return {"launch_us": launch_us, "kernel_us": kernel_us, "sequences": found}


def test_launch_bound() -> None:
    plausible = {
        # µs per kernel of 4,096 elements, mode launch and mode graph: te42kyfo/gpu-benches@1c36d509 gpu-small-kernels
        "H200, C++": launches(2.43, 1.26), "L40, C++": launches(1.64, 0.95),
        "PyTorch on a fast host": launches(3.6, 1.7), "PyTorch on a slow host": launches(9.5, 2.2, sync_us=40),
    }  # fmt: skip
    waits, graphs, fast = launches(5, 1.5), launches(5, 1.5), launches(5, 1.5)
    waits["sequences"][0]["eager_us"] = 500 * (5 + 1.5 + 8)  # as with CUDA_LAUNCH_BLOCKING=1
    graphs["sequences"][2]["graph_us"] = graphs["sequences"][2]["eager_us"]
    fast["kernel_us"]["short"] = 6.0
    broken = {"launches that wait": waits, "a graph that launches one by one": graphs, "a launch-bound kernel": fast}
    small = "one launch of hundreds is within what is measured"
    passing = {
        "the first launch takes no time": small, "the graph without its launch": small,
        "a single kernel needs no launch": "sequences of hundreds are measured",
        "rounded": "times are rounded less than they are measured",
        "the kernel's time inside the maximum": small,
        "the graph's launch at the same time as its kernels": small, "the first launch begins after one launch": small,
        "up to the start of the last kernel": "one kernel of hundreds is within what is measured",
        "when the last kernel starts, with the right quotient": "one kernel of hundreds is within what is measured",
        "the next launch is waited for after each kernel": small, "the number of the launch before": small,
        "kernels consumed": "the values are right; the judge itself compares arguments before and after",
    }  # fmt: skip
    assert findings(one("launch_bound"), CHAPTER, plausible, broken, passing) == []


def test_kernels_that_take_longer_than_a_launch_say_nothing() -> None:
    with pytest.raises(Unusable, match="launches of 5"):
        asked.check_launch_bound(None, launches(5, 6))
