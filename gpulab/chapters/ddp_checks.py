"""Chapter 06: what ranks left behind when they trained a `Problem`, and whether two sets of weights are the same.

Only reads and compares. What the weights should have been is worked out by the tests.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.launch import Run
from gpulab.problem import Problem, weights_of

CHECKPOINT, SAMPLES = "weights.pt", "samples-"
EXACT = 1e-3
"""Distance, as a share of the way that the weights went, that sums in another order leave: 1e-6 is usual."""
NEAR = 0.02
"""Distance up to which a training with a known mistake is taken for the student's."""
TROUBLES = {
    "still ran": "Ranks that wait for each other wait for ever: does every rank make the same collective calls?",
    "Default process group has not been initialized": "dist.init_process_group() comes first.",
    "module 'torch.distributed' has no attribute": "Look at the name.",
    "KeyError: 'PROBLEM'": "The problem comes in os.environ['PROBLEM'], and so do CHECKPOINT and SAMPLES.",
    "takes 1 positional argument": "json.loads(os.environ['PROBLEM']) is a dict: Problem(**fields).",
}
"""What a failing run says → what may help."""


@dataclass(frozen=True)
class Outcome:
    """What a run of ranks made."""

    weights: dict[str, Any]
    """Of the checkpoint; name → tensor."""
    samples: list[list[int]]
    """By rank, the indices that it says it used, in order."""

    @property
    def together(self) -> list[int]:
        """The indices of all ranks, sorted."""
        return sorted(index for one in self.samples for index in one)


def surroundings(problem: Problem, **more: str) -> dict[str, str]:
    """The environment that a script of this chapter finds beside the launcher's."""
    return {"PROBLEM": json.dumps(asdict(problem)), "CHECKPOINT": CHECKPOINT, "SAMPLES": SAMPLES, **more}


def outcome(run: Run, what: str) -> Outcome:
    """The one checkpoint and the indices that the ranks left, each in a folder of its own (`apart=True`).

    Raises:
        AssertionError: the ranks did not all end well, or left something else; the message says which.
    """
    if run.problem:
        ends = "; ".join(f"rank {one.rank}: {one.last_line[:300]}" for one in run.ranks)
        told = f"{run.problem} {ends}"
        help_ = next((note for text, note in TROUBLES.items() if text in told), "")
        raise AssertionError(f"{what}: {told} {help_}".strip())
    writers = [one.rank for one in run.ranks if CHECKPOINT in one.left]
    if not writers:
        raise AssertionError(f"{what}: no rank wrote the file that CHECKPOINT names.")
    if len(writers) > 1:
        names = ", ".join(map(str, writers))
        raise AssertionError(f"{what}: ranks {names} all wrote CHECKPOINT. One checkpoint: only rank 0 saves.")
    weights = _weights(run.ranks[writers[0]].left[CHECKPOINT], what)
    return Outcome(weights, [_indices(one.left, one.rank, what) for one in run.ranks])


def _weights(saved: Any, what: str) -> dict[str, Any]:
    if isinstance(saved, str) or not isinstance(saved, dict) or not saved:
        raise AssertionError(f"{what}: CHECKPOINT holds no state dict but {saved!r:.200}")
    if "state_dict" in saved:
        raise AssertionError(f"{what}: that is the trainer's whole checkpoint. Save the network's state_dict() alone.")
    if all(str(name).startswith("module.") for name in saved):
        raise AssertionError(
            f'{what}: every name in the checkpoint begins with "module.": that is the state dict of the DDP wrapper,'
            " which no bare network can load. Save that of wrapper.module."
        )
    for name, tensor in saved.items():
        if not isinstance(name, str) or not hasattr(tensor, "isfinite"):
            raise AssertionError(f"{what}: CHECKPOINT holds no state dict: {name!r:.60} is no tensor.")
        if not bool(tensor.isfinite().all()):
            raise AssertionError(f"{what}: {name} holds NaN or infinity. Did the training blow up?")
    return saved


def _indices(left: Mapping[str, Any], rank: int, what: str) -> list[int]:
    found: list[int] = []
    for name in sorted(left):
        if name.startswith(SAMPLES):
            found += _numbers(left[name], f"{what}: {name} of rank {rank}")
    if not found:
        raise AssertionError(f"{what}: rank {rank} wrote no indices into a file whose name begins with SAMPLES.")
    return found


def _numbers(text: Any, what: str) -> list[int]:
    """The ints of one or several JSON values in a text."""
    reader, at, found = json.JSONDecoder(), 0, []
    rest = text if isinstance(text, str) else ""
    try:
        while at < len(rest):
            if rest[at] in " \r\n\t,":
                at += 1
                continue
            value, at = reader.raw_decode(rest, at)
            found += value if isinstance(value, list) else [value]
        return [int(index) for index in found]
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise AssertionError(f"{what} is no JSON list of indices: {rest!r:.100}") from None


def each_once(made: Outcome, count: int | None, what: str) -> None:
    """Passes if every sample of an epoch was used by one rank, once.

    Args:
        made: what the ranks say.
        count: how many samples there are; None when only the script knows.
        what: the run, in words.

    Raises:
        AssertionError: some were used twice, or not at all.
    """
    used = made.together
    expected = list(range(len(set(used)) if count is None else count))
    if used == expected:
        return
    ranks = len(made.samples)
    if ranks > 1 and all(sorted(one) == made.together[::ranks] for one in made.samples):
        raise AssertionError(
            f"{what}: every rank went through all {len(made.samples[0])} samples. There is no sampler that gives each"
            " rank its share (DistributedSampler), so the epoch is as long as on one rank."
        )
    twice = len(used) - len(set(used))
    missing = len(set(expected) - set(used))
    raise AssertionError(f"{what}: {twice} samples were used more than once, {missing} of {len(expected)} not at all.")


def flat(weights: Mapping[str, Any], problem: Problem, what: str) -> NDArray[np.float64]:
    """All weights in one row, in the network's order; a prefix that all names share is passed over.

    Raises:
        AssertionError: they are not this network's.
    """
    first = weights_of(problem.model())
    prefixes = {name[: -len(last)] for last in [next(iter(first))] for name in weights if name.endswith(last)}
    for prefix in prefixes:
        if {prefix + name for name in first} == set(weights):
            shapes = {name: tuple(weights[prefix + name].shape) for name in first}
            if shapes == {name: array.shape for name, array in first.items()}:
                arrays = [np.asarray(weights[prefix + name], dtype=np.float64) for name in first]
                return np.concatenate([array.ravel() for array in arrays])
    raise AssertionError(
        f"{what}: the checkpoint has {sorted(map(str, weights))[:3]}…, expected the network's {sorted(first)[:3]}…"
    )


def apart(one: Mapping[str, Any], two: Mapping[str, Any]) -> float:
    """The largest difference between two checkpoints of one network, whatever prefix their names share.

    NaN where they are not of the same network.
    """
    first, second = _without_prefix(one), _without_prefix(two)
    if set(first) != set(second) or any(first[name].shape != second[name].shape for name in first):
        return math.nan
    return max(float(np.abs(first[name] - second[name]).max(initial=0.0)) for name in first)


def _without_prefix(weights: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """The weights by names of which the first parts that all share are cut off."""
    names = list(weights)
    while all("." in name for name in names) and len({name.split(".", 1)[0] for name in names}) == 1:
        names = [name.split(".", 1)[1] for name in names]
    return {name: np.asarray(value, dtype=np.float64) for name, value in zip(names, weights.values(), strict=True)}


def same_weights(
    weights: Mapping[str, Any],
    expected: Mapping[str, Any],
    problem: Problem,
    what: str,
    mistakes: Sequence[tuple[Callable[[], Mapping[str, Any]], str]] = (),
) -> None:
    """Passes if two trainings ended in the same place, up to the order of sums.

    Args:
        weights: the student's.
        expected: the right ones.
        problem: where both started.
        what: the run, in words.
        mistakes: functions that do a training with a known mistake; the one that comes out nearest is named.

    Raises:
        AssertionError: they did not.
    """
    start = flat(weights_of(problem.model()), problem, what)
    mine, right = flat(weights, problem, what), flat(expected, problem, what)
    way = float(np.linalg.norm(right - start))
    off = float(np.linalg.norm(mine - right)) / way
    if off <= EXACT:
        return
    nearest, named = min(NEAR, off / 10), ""
    for train, note in mistakes:
        wrong = flat(train(), problem, what)
        if np.linalg.norm(wrong - right) / way > EXACT:
            apart = float(np.linalg.norm(mine - wrong)) / way
            if math.isfinite(apart) and apart < nearest:
                nearest, named = apart, note
        if nearest == 0.0:
            break  # the same bits: the other trainings can be no closer
    if float(np.linalg.norm(mine - start)) < EXACT * way:
        named = "They are the first weights: nothing was trained, or the checkpoint is of another copy."
    text = f"{what}: the weights are off by {off:.2g} of the way that they had to go."
    raise AssertionError(f"{text} {named}".strip())


def agree(one: Mapping[str, Any], two: Mapping[str, Any], what: str, crossed_bytes: int | None = None) -> None:
    """Passes if two checkpoints of some network agree to 4 digits, as far as sums in another order do, and not further.

    For scripts that train something of their own.

    Args:
        one: of one rank.
        two: of two.
        what: the runs, in words.
        crossed_bytes: what the two have sent each other, at least; None if nobody knows.

    Raises:
        AssertionError: they do not, or to the last bit: then nothing was trained; or the two have hardly talked.
    """
    size = sum(int(np.asarray(tensor).nbytes) for tensor in two.values())
    if crossed_bytes is not None and crossed_bytes < size:
        raise AssertionError(
            f"{what}: the two ranks sent each other {crossed_bytes} bytes, and the gradients of one step are {size}."
            " Was the model wrapped in DistributedDataParallel, and the wrapper called?"
        )
    if set(one) != set(two) or any(one[name].shape != two[name].shape for name in one):
        raise AssertionError(f"{what}: the checkpoints do not even hold the same names and shapes.")
    first, second = (
        np.concatenate([np.asarray(held[name], dtype=np.float64).ravel() for name in sorted(one)])
        for held in (one, two)
    )
    if not np.allclose(first, second, rtol=1e-4, atol=1e-5):
        raise AssertionError(f"{what}: the weights differ by up to {np.abs(first - second).max():.2g}.")
    if np.array_equal(first, second):
        raise AssertionError(f"{what}: the weights agree to the last bit. Sums in another order never do.")
