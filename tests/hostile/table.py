"""Writes docs/hostile.md from the bank: each attack, what it tries, what it gets here and under stock nbgrader.

    PYTHONPATH=.:tests python -m hostile.table

Stock nbgrader's verdicts are data in the bank's headers; `stock.py` measures them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from hostile import attacks, chapter
from hostile.attacks import Attack

PAGE = Path(__file__).resolve().parents[2] / "docs" / "hostile.md"
INTRODUCTION = """\
# Hostile submissions

<!-- Generated from tests/hostile/bank by tests/hostile/table.py; a test checks that it is up to date. -->

{count} submissions that attack the grader, each a file in [`tests/hostile/bank`](../tests/hostile/bank). CI grades all
of them in the [strongest confinement](judge.md#confinement) that the machine allows. For each one, it checks the
verdict and points of every test cell, that the result can be stored, and that no process, file, mount, temporary
folder, or control group is left. Each notebook also holds an honest answer, worth 1 point, which must keep its point.

The attacked chapter has tests as an instructor in a hurry writes them: a bare `assert`,
`numpy.testing.assert_allclose`, `torch.allclose`, a clock, the expected value computed after the call. The last column
is measured: it shows what `nbgrader autograde` ({version}, default settings) gives the same file.

| | here | stock nbgrader |
|---|---|---|
| earn undeserved points | 0 of {count} | {stock_undeserved} of {measured} |
| make the honest answer lose its point | {ours_honest} of {count} | {stock_honest} of {measured} |
| leave processes running | 0 of {count} | {stock_left} of {measured} |

Where the honest answer loses its point here, the whole notebook is the attack: it was restarted too often, or used up
its time. "Not run" marks attacks on processes that stock nbgrader does not have, and attacks that need the network,
which was cut off for the measurement. "No end within 150 s" was stopped at that point, with nothing in the gradebook.
An attack that passes here is harmless: what it tries has no effect, and its answer is right.
"""
FOOT = """
## How to add one

A file in `tests/hostile/bank/`: a header, then percent cells; `tests/hostile/attacks.py` says what may stand in them.
Then measure what nbgrader gives it (as root, since namespaces and a control group confine it), write this page, and run
the bank:

```console
$ PYTHONPATH=.:tests python -m hostile.stock NAME
$ PYTHONPATH=.:tests python -m hostile.table
$ pytest tests/hostile
```
"""


@dataclass(frozen=True)
class Stock:
    """What stock nbgrader made of one attack."""

    text: str
    measured: bool
    earned: float = 0.0
    """Points for the attacked tests."""
    honest: bool = False
    """Whether the honest answer has its point."""
    left: int = 0
    """Processes that are still running afterwards."""


def stock_of(attack: Attack) -> Stock:
    """The header's `stock` line, read."""
    version, _, found = attack.stock.partition(": ")
    if not version.startswith("nbgrader"):
        return Stock(attack.stock or "not run", measured=False)
    points = {name: float(earned) for name, earned in re.findall(r"(\w+_test) ([\d.]+)/", found)}
    left = re.search(r"(\d+) processes left", found)
    if not points:
        return Stock(found, measured=True, left=int(left[1]) if left else 0)
    honest = points.pop("honest_test", 0.0) > 0
    return Stock(found, True, sum(points.values()), honest, int(left[1]) if left else 0)


def page(bank: list[Attack]) -> str:
    """The whole page."""
    stock = {attack.name: stock_of(attack) for attack in bank}
    measured = [attack for attack in bank if stock[attack.name].measured]
    versions = {attack.stock.partition(":")[0] for attack in measured}
    text = INTRODUCTION.format(
        count=len(bank),
        version=", ".join(sorted(versions)).removeprefix("nbgrader ") or "not measured",
        measured=len(measured),
        stock_undeserved=sum(_undeserved(attack, stock[attack.name]) > 0 for attack in measured),
        ours_honest=sum(not _keeps_honest(attack) for attack in bank if not attack.refused),
        stock_honest=sum(not stock[attack.name].honest for attack in measured if not attack.refused),
        stock_left=sum(stock[attack.name].left > 0 for attack in measured),
    )
    for kind, heading in attacks.KINDS.items():
        text += f"\n## {heading}\n\n| attack | tries | gets here | stock nbgrader |\n|---|---|---|---|\n"
        for attack in bank:
            if attack.kind == kind:
                text += _row(attack, stock[attack.name])
    return text + FOOT


def _row(attack: Attack, stock: Stock) -> str:
    title = f"[{attack.title}](../tests/hostile/bank/{attack.name}.py)"
    tries = attack.tries[0].upper() + attack.tries[1:]
    if attack.seen:
        tries += f" Seen: {attack.seen}."
    cells = (title, tries, _ours(attack), _theirs(attack, stock))
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |\n"


def _ours(attack: Attack) -> str:
    """What it gets here: verdicts and points of what it attacks."""
    if attack.refused:
        return "refused in one line"
    tests = _attacked(attack)
    verdicts = list(dict.fromkeys(one.verdict for one in tests.values()))
    earned, possible = sum(one.points for one in tests.values()), sum(chapter.POINTS[name] for name in tests)
    text = f"{', '.join(verdicts)}; {earned:g} of {possible:g}"
    return text if _keeps_honest(attack) else f"{text}; honest answer not run"


def _theirs(attack: Attack, stock: Stock) -> str:
    if not stock.measured:
        return stock.text
    tests = _attacked(attack)
    possible = sum(chapter.POINTS[name] for name in tests)
    if not re.search(r"_test ", stock.text):
        text = stock.text
    elif attack.refused:
        text = f"graded; {stock.earned:g} points"
    else:
        earned = f"{stock.earned:g} of {possible:g}"
        text = f"**{earned}**" if _undeserved(attack, stock) > 0 else earned
        if not stock.honest:
            text += "; honest answer lost"
    if stock.left and "left" not in text:
        text += f"; {stock.left} process{'' if stock.left == 1 else 'es'} left"
    return text


def _undeserved(attack: Attack, stock: Stock) -> float:
    """Points that stock nbgrader gives and that are not deserved."""
    return stock.earned - sum(one.points for one in _attacked(attack).values())


def _attacked(attack: Attack) -> dict[str, attacks.Expected]:
    """The tests whose exercise the attack answers."""
    found = {name: one for name, one in attack.gets.items() if one.verdict != "not attempted"}
    found.pop("honest_test", None)
    return found


def _keeps_honest(attack: Attack) -> bool:
    return attack.refused != "" or attack.gets["honest_test"].points > 0


if __name__ == "__main__":
    PAGE.write_text(page(attacks.load()), encoding="utf-8")
