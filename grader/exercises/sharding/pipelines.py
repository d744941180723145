"""`pipeline_schedule`: the schedules, and those with a known mistake."""

from __future__ import annotations

import random
from typing import Any

from gpulab import check

Order = list[list[str]]
DIGITS = "gpipe stores all micro-batches. Numbers of two digits count, too: the number of F10 is 10, not 1."


def drawn(draw: random.Random) -> list[tuple[int, int, str]]:
    """Cases of both kinds: more micro-batches than stages, as many, fewer; one stage; numbers of two digits."""
    found = []
    for kind in ("gpipe", "1f1b"):
        stages = draw.randint(3, 6)
        found += [
            (stages, stages + draw.randint(2, 7), kind), (stages, stages, kind),
            (stages + 2, draw.randint(2, stages), kind),
            (1, draw.randint(2, 5), kind), (draw.randint(2, 5), 1, kind),
            (draw.randint(3, 5), draw.randint(11, 14), kind),
        ]  # fmt: skip
    return found


def ordered(stages: int, count: int, warm_ups: list[int]) -> Order:
    """Forward passes to warm up, then pairs, then the remaining backward passes."""
    order = []
    for stage in range(stages):
        warm = min(count, warm_ups[stage])
        tasks = [f"F{number}" for number in range(warm)]
        for number in range(count - warm):
            tasks += [f"F{warm + number}", f"B{number}"]
        order.append(tasks + [f"B{number}" for number in range(count - warm, count)])
    return order


def turned(order: Order) -> Order:
    """The same with the backward passes from the last micro-batch to the first."""
    found = []
    for tasks in order:
        backward = [task for task in tasks if task[0] == "B"][::-1]
        found.append([task if task[0] == "F" else backward.pop(0) for task in tasks])
    return found


def as_text(order: Order) -> Order:
    """The same with the forward passes, and the backward passes, sorted by name as text."""
    found = []
    for tasks in order:
        left = {kind: sorted(task for task in tasks if task[0] == kind) for kind in "FB"}
        found.append([left[task[0]].pop(0) for task in tasks])
    return found


def judge(answer: Any, stages: int, count: int, kind: str) -> None:
    """Passes if the answer is this schedule.

    Raises:
        AssertionError: it is not; the message names a known mistake.
    """
    what = f"{stages} stages, {count} micro-batches, {kind}"
    all_first, one_each = [count] * stages, [stages - stage - 1 for stage in range(stages)]
    right = ordered(stages, count, all_first if kind == "gpipe" else one_each)
    keys = sorted(answer) if isinstance(answer, dict) else answer
    check.equal(keys, ["bubble", "order", "stored"], f"keys for {what}")
    check.equal(answer["order"], right, f"order of {what}", mistakes=[
        (turned(right), "Backward passes come in the order of the micro-batches, 0 first."),
        (ordered(stages, count, one_each), "That is 1f1b."),
        (ordered(stages, count, all_first), "1f1b alternates after the warm-up: one forward, one backward pass."),
        (ordered(stages, count, [one + 1 for one in one_each]),
         "The warm-up of stage s is stages - s - 1 forward passes: the last stage begins its backward pass at once."),
        (ordered(stages, count, [stages - 1] * stages),
         "Every stage has a warm-up of its own, shorter for later stages."),
        (right[::-1], "The first stage comes first."),
        (as_text(right), "Sorted as text, F10 comes before F2: sort by the numbers."),
        (ordered(stages, count, [max(one - 1, 0) for one in one_each]),
         "Stage s warms up with stages - s - 1 forward passes, and each pair after them begins with one more."),
    ])  # fmt: skip
    slots = count + stages - 1
    check.close(answer["bubble"], (stages - 1) / slots, f"bubble of {what}", mistakes=[
        ((stages - 1) / count, "That is idle time over busy time: divide by the whole time."),
        ((stages - 1) / (count + stages), "The whole time is micro_batches + stages - 1 slots."),
        (stages / (count + stages), "Both are too long: the idle time, and the whole time."),
        (count / slots, "That is the busy share."),
        (100 * (stages - 1) / slots, "Return a share, not a percentage."),
        ((stages - 1) / (3 * count + stages - 1), "A slot has 3 units, in the idle time as well."),
        (3 * (stages - 1), "Those are units of time: divide by the whole time."),
        ((stages - 1) / stages, "That is the bubble of a batch that is not divided into micro-batches."),
    ])  # fmt: skip
    stored = all_first if kind == "gpipe" else [min(count, one + 1) for one in one_each]
    if kind == "gpipe":
        every = [([10] * stages, DIGITS)] * (count > 10)
        every += [(answer["stored"], "gpipe stores all micro-batches, on every stage.")]
        check.equal(answer["stored"], stored, f"stored of {what}", mistakes=every)
        return
    check.equal(answer["stored"], stored, f"stored of {what}", mistakes=[
        (stored[::-1], "The first stage stores most: its first backward pass is last."),
        ([min(count, stages)] * stages, "A later stage stores less: it warms up for a shorter time."),
        ([stages] * stages, "A later stage stores less, and no stage more than there are micro-batches."),
        (all_first, "1f1b stores at most one more than its warm-up."),
        ([one + 1 for one in one_each], "No more than all micro-batches can be stored."),
        ([min(count, one + 1) for one in stored],
         "Stage s stores its warm-up and one more: stages - s of them at most."),
        ([min(count, one) for one in one_each],
         "After the warm-up comes another forward pass before the first backward pass."),
    ])  # fmt: skip
