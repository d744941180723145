"""DDP and scaling: what ranks left behind when they trained a `Problem`, and whether two sets of weights are the same.

Only reads and compares. What the weights should have been is worked out by the tests.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.ranks.launch import Run
from gpulab.training.problem import Problem

CHECKPOINT, SAMPLES = "trained.pt", "indices-"
"""Names that are nowhere on the page, so that a program that has names of its own shows."""
FIELDS = "json.loads(os.environ['PROBLEM']) is a dict: Problem(**fields)."
TEXTS = "Is one of them from os.environ? Its values are texts: int() makes a number of one."
BACKEND = 'The backend is "gloo" here: "nccl" connects GPUs only.'
TROUBLES = {
    "still ran": "Ranks that wait for each other wait forever: does every rank make the same collective calls?",
    "Default process group has not been initialized": "dist.init_process_group() comes first.",
    "module 'torch.distributed' has no attribute": "Look at the name.",
    "KeyError: 'PROBLEM'": "The problem is in os.environ['PROBLEM']; CHECKPOINT and SAMPLES are in os.environ, too.",
    "self.parallel_devices[self.local_rank]": (
        "Trainer(devices=…) is the number of ranks on this machine, LOCAL_WORLD_SIZE: rank 1 has found no device."
    ),
    "takes 1 positional argument": FIELDS,
    "Problem: no network '{": f"PROBLEM is a text in JSON, and {FIELDS}",
    "Problem: no network {": FIELDS,
    **dict.fromkeys(("'str' and 'int'", "'int' and 'str'"), TEXTS),
    **dict.fromkeys(("one CUDA device", "ProcessGroupNCCL", "NCCL built in", "with device type cpu"), BACKEND),
}
"""What a failing run says → what may help."""
LIGHTNING_TROUBLES = {
    "Skipping the `training_step` by returning None": "training_step returns the loss.",
    "does not require grad": "The loss of training_step is cut off from the weights: is it detached, or a number?",
    "No supported gpu backend found": 'accelerator="auto" takes a GPU where there is one, and the CPU elsewhere.',
    "torch.multiprocessing.spawn": (
        'The launcher has started all ranks already, and strategy="ddp" uses them; "ddp_spawn" starts more.'
    ),
    "backward through the graph a second time": (
        "The Trainer calls backward for the loss that training_step returns: do not call it as well."
    ),
    "in save_checkpoint": (
        "trainer.save_checkpoint waits for all ranks, so all must call it. Here torch.save on rank 0 is enough, with"
        " the network's state dict."
    ),
    "Default process group has not been initialized": (
        "Before trainer.fit there is no process group: take rank and world size from the environment, and give them to"
        " DistributedSampler (rank=, num_replicas=)."
    ),
    "still ran": (
        'Does the Trainer get strategy="ddp", devices=LOCAL_WORLD_SIZE, and max_epochs=1? With more devices than ranks'
        " it waits for the others, and without max_epochs it trains 1,000 epochs. Or do ranks wait for each other: does"
        " every rank make the same collective calls?"
    ),
}
"""The same for a program with a Trainer; these are tried first."""


@dataclass(frozen=True)
class TrainedRanks:
    """What a run of ranks made."""

    weights: dict[str, Any]
    """Of the checkpoint; name → tensor."""
    samples: list[list[int]]
    """By rank, the indices that it says it used, in order."""

    @property
    def together(self) -> list[int]:
        """The indices of all ranks, sorted."""
        return sorted(index for one in self.samples for index in one)


BROKE, NOTHING = "The connection to another rank broke", "(it printed nothing)"
"""What ranks say of which one has ended too early, without an error of its own."""
WAITED = (
    "One rank has ended while another one still waited for it: does every rank make the same collective calls, such as"
    " dist.barrier()?"
)
MORE_RANKS = (
    "The Trainer waits for {} ranks, but the launcher started {}: devices must be LOCAL_WORLD_SIZE, and num_nodes the"
    " number of machines, which is 1 here."
)
SAVE = "Save the network's state_dict()."
ALONE = 'Or did each rank train alone? A Trainer needs strategy="ddp" and devices=LOCAL_WORLD_SIZE.'
"""Then `trainer.is_global_zero` is true on all of them."""


def surroundings(problem: Problem, **more: str) -> dict[str, str]:
    """The environment that a script of this chapter finds besides the launcher's."""
    return {"PROBLEM": json.dumps(asdict(problem)), "CHECKPOINT": CHECKPOINT, "SAMPLES": SAMPLES, **more}


def outcome(run: Run, what: str) -> TrainedRanks:
    """The one checkpoint and the indices that the ranks left, each in a folder of its own (`apart=True`).

    Raises:
        AssertionError: the ranks did not all end well, or left something else; the message says which.
    """
    if run.problem:
        ends = "; ".join(f"rank {one.rank}: {one.last_line[:300]}" for one in run.ranks)
        told = f"{run.problem} {ends}"
        printed = "".join(one.output for one in run.ranks)
        first = LIGHTNING_TROUBLES if what.startswith("LIGHTNING_SCRIPT") else {}
        known = first | {text: note for text, note in TROUBLES.items() if text not in first}
        help_ = next((note for text, note in known.items() if text in told or text in printed), "")
        waited_for = [int(count) for count in re.findall(r"GLOBAL_RANK: \d+, MEMBER: \d+/(\d+)", printed)]
        if first and "still ran" in told and max(waited_for, default=0) > len(run.ranks):
            help_ = MORE_RANKS.format(max(waited_for), len(run.ranks))
        broke = [one.last_line.startswith(BROKE) for one in run.ranks]
        if not help_ and any(broke) and all(broke[one.rank] or one.last_line == NOTHING for one in run.ranks):
            help_ = WAITED
        raise AssertionError(f"{what}: {told} {help_}".strip())
    writers = [one.rank for one in run.ranks if CHECKPOINT in one.left]
    if not writers:
        raise AssertionError(
            f"{what}: no rank wrote the file that CHECKPOINT names. Its name is in os.environ['CHECKPOINT']."
        )
    if len(writers) > 1:
        names = ", ".join(map(str, writers))
        alone = ALONE if what.startswith("LIGHTNING_SCRIPT") else ""
        raise AssertionError(
            f"{what}: ranks {names} all wrote CHECKPOINT. One checkpoint: only rank 0 saves. {alone}".strip()
        )
    if writers != [0]:
        raise AssertionError(f"{what}: rank {writers[0]} wrote CHECKPOINT: only rank 0 saves.")
    for one in run.ranks:
        more = [name for name, value in one.left.items() if name != CHECKPOINT and _is_state_dict(value)]
        if more and one.rank != writers[0]:
            raise AssertionError(
                f"{what}: rank {writers[0]} wrote CHECKPOINT, and rank {one.rank} wrote the weights to {more[0]}. One"
                " checkpoint, under the one name: only rank 0 saves."
            )
    _require_own_names(run, what)
    weights = _weights(run.ranks[writers[0]].left[CHECKPOINT], what)
    return TrainedRanks(weights, [_indices(one.left, one.rank, what) for one in run.ranks])


def _require_own_names(run: Run, what: str) -> None:
    writers: dict[str, int] = {}
    for one in run.ranks:
        for name in sorted(name for name in one.left if name.startswith(SAMPLES)):
            if name in writers:
                raise AssertionError(
                    f"{what}: ranks {writers[name]} and {one.rank} both wrote {name}. In a shared folder, one would"
                    " overwrite the other: put the rank into the name of its file."
                )
            writers[name] = one.rank


def _is_state_dict(value: Any) -> bool:
    return isinstance(value, dict) and any(hasattr(part, "isfinite") for part in value.values())


def _weights(saved: Any, what: str) -> dict[str, Any]:
    if not isinstance(saved, dict) or not saved:
        holds = saved[:200] if isinstance(saved, str) and saved.startswith("torch.load") else f"{saved!r:.200}"
        raise AssertionError(f"{what}: CHECKPOINT is not a state dict: {holds.rstrip('.')}. {SAVE}")
    if "state_dict" in saved:
        raise AssertionError(f"{what}: that is the trainer's whole checkpoint. Save the network's state_dict() alone.")
    if all(str(name).startswith("module.") for name in saved):
        raise AssertionError(
            f'{what}: every name in the checkpoint begins with "module.": that is the state dict of the DDP wrapper,'
            " which no bare network can load. Save that of wrapper.module."
        )
    for name, tensor in saved.items():
        if not isinstance(name, str) or not hasattr(tensor, "isfinite"):
            raise AssertionError(f"{what}: CHECKPOINT does not hold a state dict: {name!r:.60} is not a tensor.")
        if tensor.is_complex():
            raise AssertionError(f"{what}: {name} holds complex numbers, and the network's weights are real.")
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
    """The ints of one or several JSON lists in a text."""
    reader, at, found, cause = json.JSONDecoder(), 0, [], ""
    rest = text if isinstance(text, str) else ""
    try:
        while at < len(rest):
            if rest[at] in " \r\n\t,":
                at += 1
                continue
            value, at = reader.raw_decode(rest, at)
            if not isinstance(value, list):
                raise TypeError("a list is expected")
            found += value
        cause = " Its entries are lists: write one flat list." if any(isinstance(one, list) for one in found) else ""
        if any(isinstance(one, str) for one in found):
            cause = " Its entries are texts: write numbers."
            raise TypeError("numbers are expected")
        return [int(index) for index in found]
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise AssertionError(f"{what} is not a JSON list of indices: {rest!r:.100}{cause}") from None


def reads_problem(script: str, what: str) -> None:
    """Passes if a script mentions the variable that holds the problem to train.

    Args:
        script: its text.
        what: its name.

    Raises:
        AssertionError: it does not, so it can only train something of its own.
    """
    if "PROBLEM" not in script:
        raise AssertionError(
            f"{what}: it never reads PROBLEM, so it trains something of its own. The problem to train is in the"
            ' environment: Problem(**json.loads(os.environ["PROBLEM"])).'
        )


def uses_lightning(script: str, what: str) -> None:
    """Passes if a script mentions a LightningModule and fits one.

    Args:
        script: its text.
        what: its name.

    Raises:
        AssertionError: it does not, so its training loop is its own.
    """
    if "LightningModule" not in script or ".fit" not in script:
        raise AssertionError(
            f"{what}: it does not train with Lightning: define a LightningModule, and call fit of a Trainer with it."
        )


def each_once(made: TrainedRanks, count: int, what: str) -> None:
    """Passes if every sample of an epoch was used by one rank, once.

    Args:
        made: what the ranks say.
        count: how many samples there are.
        what: the run, in words.

    Raises:
        AssertionError: some were used twice, or not at all.
    """
    used = made.together
    expected = list(range(count))
    if used == expected:
        return
    ranks = len(made.samples)
    if ranks > 1 and all(sorted(one) == expected for one in made.samples):
        raise AssertionError(
            f"{what}: every rank's file lists all {len(made.samples[0])} samples. A rank trains on its share only, and"
            " lists that share: is there no sampler that divides them (DistributedSampler), or does the file not hold"
            " its indices?"
        )
    foreign = [index for index in used if not 0 <= index < count]
    if foreign:
        raise AssertionError(
            f"{what}: sample {foreign[-1]} was used, and the problem has samples 0 to {count - 1} only. Did each rank"
            " train on problem.dataset(), and write the indices of its samples?"
        )
    twice = len(used) - len(set(used))
    missing = len(set(expected) - set(used))
    text = f"{what}: {twice} samples were used more than once, {missing} of {len(expected)} not at all."
    whole = " Do the ranks together train on all of problem.dataset()?" if not twice else ""
    if whole and ranks == 1 and count % len(used) == 0:
        whole = " One rank alone takes all samples: is the number of ranks written into the program? It is WORLD_SIZE."
    raise AssertionError(f"{text}{whole or _how_divided(made, count)}")


def _how_divided(made: TrainedRanks, count: int) -> str:
    """Why ranks that each took a share of the right size used some samples twice."""
    if any(len(set(one)) != len(one) or len(one) * len(made.samples) != count for one in made.samples):
        return ""
    if len(made.samples) > 1 and all(one == list(range(len(one))) for one in made.samples):
        return (
            " Every rank wrote 0, 1, 2, …: write the indices that its sampler gives, list(sampler), not positions in"
            " its share. Or did all ranks take the same samples?"
        )
    if len({frozenset(one) for one in made.samples}) == 1:
        return " All ranks took the same share: each sampler needs its process's rank."
    if any(one != sorted(one) for one in made.samples):
        return " The ranks divided different orders: seed and epoch of the sampler must not depend on the rank."
    return ""


def dealt(made: TrainedRanks, problem: Problem) -> Iterator[TrainedRanks]:
    """The same ranks with samples as a sampler deals them that was not set, or was set to another epoch or seed."""
    from torch.utils.data import DistributedSampler

    ranks, data = len(made.samples), problem.dataset()
    orders = {(False, 0, 0), *((True, number, epoch) for number in (0, problem.seed) for epoch in (0, 1))}
    for shuffle, number, epoch in sorted(orders):
        samples = []
        for rank in range(ranks):
            share: DistributedSampler[int] = DistributedSampler(data, ranks, rank, shuffle=shuffle, seed=number)
            share.set_epoch(epoch)
            samples.append(list(share))
        if samples != made.samples:
            yield replace(made, samples=samples)


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
