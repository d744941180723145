"""What the agent of this chapter is started with, and what it and its ranks leave behind, as plain values.

Only starts and reads. Whether what a rank holds is too much, tests say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.chapters.sharding import agent
from gpulab.ranks import seals
from gpulab.ranks.launch import DUMPED, Run, of_gloo, place

AGENT = Path(agent.__file__).read_text(encoding="utf-8")
"""For `launch.script(AGENT, 1, environment=around(…), apart=True)`."""
WEIGHTS = "weights.pt"
"""The file to write at the end, unless `around` is told another one."""
BETAS = [0.9, 0.999]
"""The defaults of `torch.optim.Adam`."""
TROUBLES = {
    "collective mismatch": "Some ranks wait for others: does every rank make the same collective calls, to the end?",
    "still ran": "Ranks that wait for each other wait forever: does every rank make the same collective calls?",
    "Default process group has not been initialized": "dist.init_process_group() comes first.",
    "KeyError: 'CONFIG'": "CONFIG is a variable of the environment: json.loads(os.environ['CONFIG']).",
    "mixed torch.Tensor and DTensor": "Some parameters are sharded and some are not: call fully_shard on the whole"
    " model too, after its blocks.",
    "must have the same dtype": "Input and weights have different types: give mp_policy in every call of fully_shard,"
    " for the blocks too.",
    "Missing key in checkpoint": "Load into the same structure that you saved, optimizer included.",
    "metadata is None": "That folder holds no complete checkpoint: it has no .metadata.",
    "FileExistsError": "That folder is there already, made by another rank or by a save that was interrupted: make it"
    " with exist_ok=True, or leave it to dcp.save.",
    "Directory not empty": "That folder is there already, left by an interrupted save: dcp.save writes into it.",
    "No backend type associated with device type": "The backend is gloo: this runs on the CPU.",
}
"""What a failing run says → what may help."""
GONE = "A rank is gone: does every rank make the same collective calls, to the end?"
"""What to say when no rank has an error of its own: all say that the connection to another one broke."""
BROKEN = ("Broken pipe", "reset by peer", "closed by peer")


ERROR = re.compile(r"(\[rank\d\]: ?)?[\w.]*(Error|Exception|Interrupt)\b")
NOISE = r"Fatal Python error: Aborted|Traceback .most recent|File \"/.*/script\.py\""
"""What says nothing: the script is called script.py as well, but the agent, which runs it, has a path."""


@dataclass(frozen=True)
class ShardedRun:
    """What the ranks of a run left."""

    attempts: list[list[int]]
    """For each attempt the exit codes by rank."""
    weights: dict[str, Any]
    """Of the one full checkpoint."""
    watched: list[list[dict[str, Any]]]
    """For each attempt, by rank: what `agent.ElementCounter` counted; empty dicts where nothing was."""
    files: list[str]
    """All files of all ranks, and of the common folder."""


def around(program: str, config: Mapping[str, Any], **more: str) -> dict[str, str]:
    """The environment of a run: program, configuration, and the name of the file to write at the end."""
    return {"PROGRAM": program, "CONFIG": json.dumps(dict(config)), "WEIGHTS": WEIGHTS, **seals.key(), **more}


def _last(lines: list[str]) -> tuple[str, bool]:
    """The last line that says something: an error, where there is one, and its place in the script.

    Returns:
        The line, and whether a rank has an error of its own.
    """
    useful = [line for line in lines if not re.match(f"{DUMPED}|{NOISE}", line)]
    errors = [at for at, line in enumerate(useful) if ERROR.match(line)]
    if not errors:
        return (useful or [""])[-1], False
    own = [at for at in errors if not of_gloo(useful[at])]  # gloo's say that another rank has ended
    last = (own or errors)[-1]
    return f"{of_gloo(useful[last]) or useful[last][:300]}{place(useful[:last])}", bool(own)


def _apart(left: Mapping[str, Any]) -> str:
    """What to say when ranks saved shards, but never into one folder."""
    shards: dict[str, set[str]] = {}
    for name in left:
        if name.endswith(".distcp"):
            folder, _, file = name.rpartition("/")
            shards.setdefault(folder, set()).add(file.split("_")[2])
    if len(set().union(*shards.values())) < 2 or any(len(ranks) > 1 for ranks in shards.values()):
        return ""
    return "Each rank saves into a folder of its own: let all save into the same one, inside the folder CHECKPOINTS."


def outcome(run: Run, what: str, written: str = WEIGHTS) -> ShardedRun:
    """What the agent's ranks left; `written` is the name of the file that WEIGHTS named.

    Raises:
        AssertionError: they did not end well, or left no checkpoint, or several; the message says which.
    """
    left = run.ranks[0].left if run.ranks else {}
    if run.problem:
        lines = [line.strip() for line in (run.ranks[0].output if run.ranks else "").splitlines() if line.strip()]
        (last, own), said = _last(lines), f"{run.problem} {' '.join(lines)}"
        told = f"{run.problem} {last[:320]}"
        gone = GONE if not own and any(text in said for text in BROKEN) else ""
        note = _apart(left) or next((note for text, note in TROUBLES.items() if text in said), gone)
        raise AssertionError(f"{what}: {told} {note}".strip())
    attempts = seals.opened(left.get("attempts.txt")).get("attempts")
    if not attempts:
        raise AssertionError(
            f"{what}: how its ranks ended is not known: the script disturbed the process that started it."
        )
    writers = [name for name in sorted(left) if name.endswith(f"/{written}")]
    if not writers:
        raise AssertionError(f"{what}: no rank wrote the file that WEIGHTS names.")
    if len(writers) > 1:
        raise AssertionError(f"{what}: every rank wrote WEIGHTS. One full checkpoint: only rank 0 saves it.")
    if writers != [f"rank0/{written}"]:
        raise AssertionError(f"{what}: {writers[0].partition('/')[0]} wrote WEIGHTS, expected rank0.")
    weights = left[writers[0]]
    if not isinstance(weights, dict) or not all(hasattr(value, "isfinite") for value in weights.values()):
        raise AssertionError(
            f"{what}: WEIGHTS does not hold a state dict of plain tensors, but {weights!r:.90}. A state dict of shards"
            " must be gathered first: get_model_state_dict(…, options=StateDictOptions(full_state_dict=True, …))."
        )
    narrow = {str(value.dtype) for value in weights.values()} - {"torch.float32"}
    if narrow:
        raise AssertionError(
            f"{what}: WEIGHTS holds {narrow.pop()}, expected torch.float32: keep the master weights in float32."
        )
    watched = [
        [seals.opened(left.get(f"rank{rank}/watch-{attempt}.txt")) for rank in range(len(codes))]
        for attempt, codes in enumerate(attempts)
    ]
    for rank, held in enumerate(watched[-1]):
        if not held.get("ended"):
            raise AssertionError(
                f"{what}: rank {rank} ended before the end of the script, without an error: os._exit()?"
            )
    for rank, held in (pair for attempt in watched for pair in enumerate(attempt)):
        if other := [betas for betas in held.get("betas", ()) if betas and betas != BETAS]:
            raise AssertionError(
                f"{what}: the optimizer of rank {rank} has betas {other[0]}, expected Adam's defaults, {BETAS}."
            )
        if decays := [one for one in held.get("decays", ()) if one]:
            raise AssertionError(
                f"{what}: the optimizer of rank {rank} has weight_decay {decays[0]:g}, expected Adam's default, 0."
            )
    return ShardedRun(attempts, weights, watched, sorted(left))
