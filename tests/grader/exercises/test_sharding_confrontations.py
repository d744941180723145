"""What a GPU reads for the exercises on sharding: right answers agree with it, wrong ones do not."""

from __future__ import annotations

import contextlib
import copy
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from confronted import bank_of, defined, findings, sentences
from courses import ROOT
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gpulab.check.outcomes import WrongAnswer
from grader.authoring.myst import read_source
from grader.dev import gpu_rows
from grader.exercises.confront import Confrontation, declared
from grader.exercises.sharding import checkpoints, memory, stepping, timelines
from grader.exercises.sharding import confrontations as asked
from grader.model.course import Course

CHAPTER = "11"
COLLECTIVES = "the numbers are right; the test listens to what the ranks send each other"


def one(name: str) -> Confrontation:
    return declared()[name]


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    met = gpu_rows.met(read_source(Course(ROOT).chapter(CHAPTER).source))
    assert {each.exercise for each in met if not each.ways} == set(asked.NONE)
    assert sentences(asked.CONFRONTATIONS) == []


# -------------------------------------------------------------------------------------------------------- step_memory


class Counted(TorchDispatchMode):
    """Counts the bytes that live tensors of the CPU have, as a GPU's allocator does."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[int, tuple[Any, int]] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                self.held[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        return out

    def allocated(self) -> int:
        self.held = {key: (where, nbytes) for key, (where, nbytes) in self.held.items() if not where.expired()}
        return sum(nbytes for _, nbytes in self.held.values())


def stepped() -> list[dict[str, Any]]:
    """The same training steps on this CPU, with fewer samples."""
    torch.set_num_threads(1)  # two on a busy machine wait for each other
    found = []
    for case in stepping.CASES:
        with Counted() as counted:
            found.append(stepping.measured(*case, counted.allocated, "cpu", 2048))
    return found


def on_a_gpu(extra: float) -> list[dict[str, Any]]:
    """What the formula says for the batch that a GPU gets, and a share more of everything."""
    found = []
    for case in stepping.CASES:
        blocks = [(stepping.WIDTH, inside) for inside in stepping.INSIDES]
        parts = memory.expected(memory.MemoryCase(856_064, stepping.BATCH, blocks, *case))
        more = {part: int(nbytes * (1 + extra)) + 512 * 24 * bool(nbytes) for part, nbytes in parts.items()}
        names = dict(zip(("precision", "optimizer", "checkpointed"), case, strict=True))
        found.append({**names, "parameters": 856_064, "batch": stepping.BATCH, "parts": more})
    return found


def test_step_memory() -> None:
    plausible = {"this CPU": stepped(), "rounded up": on_a_gpu(0.0), "2% more": on_a_gpu(0.02)}
    shared = on_a_gpu(0.0)
    shared[0]["parts"]["activations"] += 200 * 10**6  # another process, or a library's workspace
    broken = {"a library's workspace": shared, "a third more": on_a_gpu(0.33), "nothing": on_a_gpu(-1.0)}
    passing = {
        "a network without blocks": "the network that is measured has blocks",
        "one dict for all calls": "each result is compared before the next call",
        "the last block is not computed again": "all blocks that are measured have the same inside",
        "activations counted in int32": "what is measured has fewer bytes",
        "under autocast the kept inputs stay in float32": "no checkpointed network is measured under autocast",
        "with checkpoints, the first input does not count": "the first input is small next to what is measured",
        "the inside of the block with the largest input": "all blocks that are measured have the same input",
        "the largest block's input twice": "all blocks that are measured have the same input",
        "master weights for Adam only": "no network in bfloat16 is measured with another optimizer",
    }
    assert findings(one("step_memory"), CHAPTER, plausible, broken, passing) == []


# ------------------------------------------------------------------------------------ zero1_step, tensor_parallel_mlp


def test_zero1_step() -> None:
    here = asked.adam_step("cpu")
    summed, early = copy.deepcopy(here), copy.deepcopy(here)
    summed["m"] = [2 * value for value in here["m"]]
    early["weights"]["b"][0] += 0.01
    passing = {
        "padded by a whole share more where nothing is missing": "the flat vector that is measured needs padding",
        "one more row of padding where none is needed": "the flat vector that is measured needs padding",
        "an all-reduce for the reduce-scatter": COLLECTIVES,
        "added up in one process": COLLECTIVES,
        "halved on three ranks, too": "two ranks are measured",
        "all gradients and all states to every rank, which takes its own": COLLECTIVES,
        "all gradients in every rank by the closure": COLLECTIVES,
    }
    assert findings(one("zero1_step"), CHAPTER, {"this CPU": here}, {"m": summed, "weights": early}, passing) == []


def test_tensor_parallel_mlp() -> None:
    here = asked.product("cpu")
    rounded = [[value * (1 + 1e-6) for value in row] for row in here]
    tf32 = [[value + 0.01 for value in row] for row in here]
    passing = dict.fromkeys(
        (
            "rank 0 has all weights, the others none", "a rank too many, with nothing to do", "gathers in the middle",
            "without ranks", "summed on rank 0 only", "all weights to every rank, cut there",
            "w1 by rows, and an all-reduce before GELU", "all weights in every rank by the closure, cut there",
            "rank r has block p - 1 - r", "gathers the summands", "a barrier before the all-reduce",
                "every second column and row", "a second all-reduce, of what is divided after it",
        ), COLLECTIVES,
    )  # fmt: skip
    passing["cut for two ranks, whatever world_size says"] = "two ranks are measured"
    passing["a single sample loses its axis"] = "no reading has a single sample"
    plausible = {"this CPU": here, "rounded otherwise": rounded}
    assert findings(one("tensor_parallel_mlp"), CHAPTER, plausible, {"TF32": tf32}, passing) == []


# ---------------------------------------------------------------------------------------------------------- timelines


class FakeStreams:
    """Streams and events of `torch.cuda` with clocks of their own; a kernel takes a little more or less each time."""

    def __init__(self, spread: float, seed: int = 1) -> None:
        self.draw, self.spread = random.Random(seed), spread
        self.current = self.Stream()

    class Stream:
        at = 0.0

        def wait_event(self, event: Any) -> None:
            self.at = max(self.at, event.at)

    def event(self, enable_timing: bool = False) -> Any:
        fake, assert_timed = self, enable_timing
        assert assert_timed

        class Event:
            at = -1.0

            def record(self) -> None:
                self.at = fake.current.at

            def elapsed_time(self, other: Any) -> float:
                assert self.at >= 0
                return float(other.at - self.at)

            def synchronize(self) -> None:
                pass

        return Event()

    @contextlib.contextmanager
    def stream(self, stream: Any) -> Iterator[None]:
        before, self.current = self.current, stream
        yield
        self.current = before

    def busy(self, ms: float) -> None:
        self.current.at += ms * (1 + self.draw.uniform(-self.spread, self.spread)) + 0.004


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeStreams]:
    def use(spread: float, seed: int = 1) -> FakeStreams:
        made = FakeStreams(spread, seed)
        names = {"Stream": made.Stream, "Event": made.event, "stream": made.stream, "synchronize": lambda: None}
        for name, value in names.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda: made.current)
        monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: made.busy(cycles / 1.41e6))
        return made

    return use


def test_pipeline_schedule(fake: Callable[..., FakeStreams]) -> None:
    fake(0.0)
    exact = timelines.piped()
    fake(0.01)
    plausible = {"1.41 GHz": exact, "1% noise": timelines.piped()}
    serial, throttled, other = copy.deepcopy(exact), copy.deepcopy(exact), copy.deepcopy(exact)
    serial[0] = [[(task, start + 200 * stage, end + 200 * stage) for task, start, end in tasks]
                 for stage, tasks in enumerate(exact[0])]  # fmt: skip
    throttled[1][2] = [(task, start, start + 1.2 * (end - start)) for task, start, end in exact[1][2]]
    other[1] = exact[0]
    broken = {"one stage after the other": serial, "throttled": throttled, "another order": other}
    names = ("gpipe sorts its tasks by name", "stored counts by one digit")
    passing = dict.fromkeys(names, "no schedule that is measured has more than ten micro-batches")
    assert findings(one("pipeline_schedule"), CHAPTER, plausible, broken, passing) == []


def sent(fake: Callable[..., FakeStreams], gbs: float, spread: float) -> dict[str, Any]:
    """What `timelines.sent` reads where the link has this rate."""
    cases, unit, streams = [], int(gbs * 1e6 * timelines.SENT_MS), fake(spread)

    def copies(nbytes: int) -> None:
        streams.busy(nbytes / (gbs * 1e6))

    for units, partition in timelines.CASES:
        layers = timelines.made(units, unit)
        for policy in ("fifo", "priority"):
            order = timelines.sending_order(layers, gbs, int(partition * unit), policy)
            ms = timelines._sent(layers, order, streams.busy, copies)
            cases.append({"layers": layers, "partition_bytes": int(partition * unit), "policy": policy, "ms": ms})
    return {"gbs": gbs, "cases": cases}


def test_priority_makespan(fake: Callable[..., FakeStreams]) -> None:
    # GB/s of pinned copies: A100 PCIe 17.3, A100 SXM 25.7 (gengwg notes), 12 on PCIe 3, 55 on PCIe 5.
    plausible = {f"{gbs} GB/s": sent(fake, gbs, 0.02) for gbs in (12.2, 17.3, 25.7, 55.0)}
    slow, alone = sent(fake, 25.7, 0.0), sent(fake, 25.7, 0.0)
    slow["gbs"] /= 2
    for case in alone["cases"]:
        both = sum(layer["forward_ms"] + layer["backward_ms"] for layer in case["layers"])
        case["ms"] = both + sum(layer["nbytes"] for layer in case["layers"]) / 25.7e6  # nothing overlapped
    passing = {
        "ready at that very instant does not count": "no two instants are the same on a real clock",
        "an empty gradient waits for the link": "every layer that is measured has a gradient",
        "fifo sends from the layer with the most bytes left": "with the layers that are measured, that takes as long",
    }
    broken = {"half of the rate": slow, "copies that block": alone}
    assert findings(one("priority_makespan"), CHAPTER, plausible, broken, passing) == []


def test_no_decision_of_the_link_is_close_to_another() -> None:
    for rate in (0.97, 1.0, 1.03):
        for units, partition in timelines.CASES:
            layers = timelines.made(units, 10**6)
            orders = [timelines.sending_order(layers, rate * 4, int(partition * 10**6), "priority")]
            assert orders == [timelines.sending_order(layers, 4, int(partition * 10**6), "priority")]


# ------------------------------------------------------------------------------------------- checkpointed_forward_gpu


@pytest.fixture
def on_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is moved to "cuda" stays where it is."""
    for kind in (torch.Tensor, nn.Module):
        to = kind.to  # type: ignore[attr-defined]

        def stay(self: Any, *where: Any, to: Callable[..., Any] = to, **named: Any) -> Any:
            return self if where == ("cuda",) else to(self, *where, **named)

        monkeypatch.setattr(kind, "to", stay)


def judged(title: str, monkeypatch: pytest.MonkeyPatch, segments: int = 3) -> None:
    """Judges an answer of the bank as the GPU row does; the CPU's generator of random numbers is another one then."""
    answer = next(each for each in bank_of(CHAPTER, "checkpointed_forward") if each.title == title)
    problem = checkpoints.drawn(random.Random(3), "cuda")
    function = defined(answer, CHAPTER)
    with monkeypatch.context() as patch:
        if title.startswith("by hand"):
            get, put = torch.get_rng_state, torch.set_rng_state
            patch.setattr(torch, "get_rng_state", lambda: None)
            patch.setattr(torch, "set_rng_state", lambda _: None)
            patch.setattr(torch.cuda, "get_rng_state_all", lambda: [get()])
            patch.setattr(torch.cuda, "set_rng_state_all", lambda states: put(states[0]))
        with warnings.catch_warnings():  # float() of a loss with a gradient
            warnings.simplefilter("ignore")
            found = function(problem, segments)
    checkpoints.judge(found, problem, segments)


@pytest.mark.usefixtures("on_cuda")
@pytest.mark.parametrize("title", ["reference", "by hand, the whole part again"])
def test_right_steps_on_a_gpu_pass(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for segments in (1, 2, 3, 4):
        judged(title, monkeypatch, segments)


@pytest.mark.usefixtures("on_cuda")
@pytest.mark.parametrize(
    ("title", "says"),
    [
        ("by hand, the state of the CPU's generator only", "the GPU's own generator"),
        ("another dropout mask in the second run", "the GPU's own generator"),
        ("nothing is checkpointed", "Nothing is computed again"),
        ("in eval mode", "eval mode"),
    ],
)
def test_wrong_steps_on_a_gpu_are_named(title: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=says):
        judged(title, monkeypatch)


@pytest.mark.usefixtures("on_cuda")
def test_a_step_that_stayed_on_the_cpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = checkpoints.drawn(random.Random(4), "cuda")
    step = checkpoints.step

    def elsewhere(problem: Any, *rest: Any, **named: Any) -> Any:
        """As on a GPU: another generator draws other masks."""
        found = step(problem, *rest, **named)
        return (
            found
            if problem.device == "cpu"
            else checkpoints.CheckpointedStep(3 * found.loss, *list(vars(found).values())[1:])
        )

    stayed = step(problem, 3)
    answer = {"loss": stayed.loss, "gradients": {}, "kept_bytes": 0, "recomputed_flops": 0}
    monkeypatch.setattr(checkpoints, "step", elsewhere)
    with pytest.raises(WrongAnswer, match="network and batch belong on"):
        checkpoints.judge(answer, problem, 3)
