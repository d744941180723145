"""`step_memory`: drawn cases, the right bytes by part, and those of known mistakes."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from gpulab import check

PRECISIONS = ("float32", "autocast", "bfloat16")
STATES = {"sgd": 0, "momentum": 1, "adam": 2}
PARTS = ("weights", "gradients", "optimizer", "activations")
MASTER = "In bfloat16 the optimizer also holds float32 master weights: 4 bytes more per parameter."
AUTOCAST = "autocast keeps weights and gradients in float32; only activations are 16 bits wide."


@dataclass(frozen=True)
class MemoryCase:
    """The arguments of one call."""

    parameters: int
    batch: int
    blocks: list[tuple[int, int]]
    precision: str
    optimizer: str
    checkpointed: bool


def drawn(draw: random.Random, precision: str, optimizer: str, checkpointed: bool) -> MemoryCase:
    """A case whose largest inside and largest input are neither first nor last, nor in one block.

    Known mistakes give different values.
    """
    sizes = draw.sample(range(50, 5000), 8)
    inputs, insides = sorted(sizes[4:]), sorted(sizes[:4])
    inside = [insides[1], insides[3], insides[0], insides[2]]
    blocks = list(zip([inputs[1], inputs[0], inputs[3], inputs[2]], inside, strict=True))
    return MemoryCase(draw.randint(10**6, 10**9), draw.randint(3, 60), blocks, precision, optimizer, checkpointed)


def at_the_end(draw: random.Random, last: bool) -> MemoryCase:
    """A case with checkpoints whose largest inside is that of the last block, or of the first."""
    case = drawn(draw, draw.choice(PRECISIONS), "adam", True)
    inputs = [one for one, _ in case.blocks]
    insides = sorted(inside for _, inside in case.blocks)
    insides = [insides[1], insides[2], insides[0], insides[3]]
    return replace(case, blocks=list(zip(inputs, insides if last else insides[::-1], strict=True)))


def large(draw: random.Random) -> MemoryCase:
    """A case with more bytes of activations than an int32 can count."""
    return replace(drawn(draw, "float32", "adam", False), batch=draw.randint(150_000, 400_000))


def without_blocks(draw: random.Random, checkpointed: bool) -> MemoryCase:
    """A case of a network without blocks: the page allows an empty list."""
    return replace(drawn(draw, "autocast", "momentum", checkpointed), blocks=[])


def copied(case: MemoryCase) -> tuple[Any, ...]:
    """The arguments, for the student to change."""
    return (case.parameters, case.batch, list(case.blocks), case.precision, case.optimizer, case.checkpointed)


def expected(case: MemoryCase) -> dict[str, int]:
    """The right bytes."""
    narrow = case.precision == "bfloat16"
    width = 2 if narrow else 4
    states = STATES[case.optimizer] + narrow
    inputs = sum(one for one, _ in case.blocks)
    insides = [one for _, one in case.blocks]
    values = inputs + (max(insides, default=0) if case.checkpointed else sum(insides))
    kept = (4 if case.precision == "float32" else 2) * case.batch * values
    return {
        "weights": width * case.parameters,
        "gradients": width * case.parameters,
        "optimizer": 4 * states * case.parameters,
        "activations": kept,
    }


def mistakes(case: MemoryCase, part: str) -> list[tuple[int, str]]:
    """Known wrong values of a part and what to say about each."""
    n, states = case.parameters, STATES[case.optimizer]
    if part in ("weights", "gradients"):
        wide = {"float32": "float32 takes 4 bytes.", "autocast": AUTOCAST}
        right_width = wide.get(case.precision, "A bfloat16 number takes 2 bytes.")
        return [
            (6 * n, "Master weights belong to the optimizer."),
            (2 * n, right_width),
            (4 * n, right_width),
        ]
    if part == "optimizer":
        if case.precision == "bfloat16":
            return [
                (4 * states * n, MASTER),
                (2 * states * n, MASTER),
                (2 * (states + 1) * n, "The states and the master weights are float32: 4 bytes each."),
                (2 * states * n + 4 * n, "The states are float32 too: 4 bytes each."),
            ]
        return [
            (2 * states * n, "The states are float32: 4 bytes each."),
            (4 * n, "Adam holds two states per parameter, momentum one, plain SGD none."),
            (8 * n, "Adam holds two states per parameter, momentum one, plain SGD none."),
        ]
    if not case.blocks:
        return []  # the known mistakes give 0 here, which is right
    width = 4 if case.precision == "float32" else 2
    inputs = [one for one, _ in case.blocks]
    insides = [one for _, one in case.blocks]
    largest = max(case.blocks)[1]
    forms = [
        (sum(inputs) + sum(insides), "Checkpointed: only inputs are kept, and the largest inside."),
        (sum(inputs), "One block at a time is computed again: its inside is in memory too."),
        (sum(inputs) + insides[-1], "The largest inside counts, not the last."),
        (sum(inputs) + insides[0], "The largest inside counts, not the first."),
        (sum(inputs) + largest, "The largest inside counts, not that of the block with the largest input."),
        (sum(inputs) + max(map(sum, case.blocks)), "Add the largest inside alone: its input is there already."),
        (max(insides), "The inputs of all blocks are kept, too."),
        (sum(insides) + max(inputs), "All inputs are kept, not only the largest."),
        (max(one + other for one, other in case.blocks), "All inputs are kept, not only one of them."),
        (sum(inputs) + max(insides), "Without checkpointing all insides are kept."),
        (sum(inputs) + max(insides[:-1]), "The last block is computed again, too, and has the largest inside here."),
        (sum(inputs) + max(insides[1:]), "The first block is computed again, too, and has the largest inside here."),
    ]
    found = [(width * case.batch * values, note) for values, note in forms]
    right = expected(case)["activations"]
    inside = max(insides) if case.checkpointed else sum(insides)
    same = "Inputs and insides are both activations, with the same bytes per value."
    found += [((width + more) * case.batch * sum(inputs) + width * case.batch * inside, same) for more in (2, -2)]
    found += [(width * case.batch * sum(inputs) + (width + more) * case.batch * inside, same) for more in (2, -2)]
    if right >= 2**31:
        found += [((right + 2**31) % 2**32 - 2**31, "That overflowed: a NumPy int32 holds only numbers below 2**31.")]
    other = "float32 activations take 4 bytes." if width == 4 else "16-bit activations take 2 bytes."
    return [*found, (right * 2 // (1 if width == 2 else 4), other), (right // case.batch, "Multiply by the batch.")]


def judge(answer: Any, case: MemoryCase) -> None:
    """Passes if the answer is right.

    Raises:
        AssertionError: it is not; the message names the part, and the mistake where it is a known one.
    """
    what = (
        f"{case.parameters} parameters, batch {case.batch}, blocks {case.blocks}, {case.precision}, {case.optimizer},"
        f" checkpointed={case.checkpointed}"
    )
    check.equal(sorted(answer) if isinstance(answer, dict) else answer, sorted(PARTS), f"keys for {what}")
    for part, right in expected(case).items():
        check.equal(answer[part], right, f"{part}: {what}", mistakes=mistakes(case, part))
