"""Every hostile submission of the bank gets the verdict that it must get, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from hostile import attacks, chapter
from hostile.attacks import Attack

from grader.gradebook.composition import compose
from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.results import SubmissionResult
from grader.model.submission import parse
from grader.processes import client, fork_server
from grader.sandbox import Tier, cgroups
from grader.sandbox.probe import best_tier
from grader.sandbox.tiers import FIRST_UID, UIDS

pytestmark = pytest.mark.slow

BANK = attacks.load()
QUICK = {"cell_seconds": 2, "call_seconds": 1.5, "test_seconds": 4}
SECRET = "HOSTILE_SECRET"
WATCHED = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", str(Path.home()), str(client.PACKAGES), str(Path.cwd()))
"""Folders outside that an attack might write to; every file that one writes has `hostile` in its name."""


@functools.cache
def parent(modules: tuple[str, ...]) -> client.SubmissionServer:
    """A fork server that has no more imported than the attacks need."""
    return client.SubmissionServer(modules)


@pytest.fixture(scope="module", autouse=True)
def _own_places() -> Iterator[None]:
    """The grader's environment holds a secret, its temporary folders lie apart; parents end with the module."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder).chmod(0o711)  # the users that attacks run as must get to their homes in it
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv(SECRET, "hush")
        yield
        for modules in (fork_server.LIGHT_MODULES, (*fork_server.LIGHT_MODULES, "torch")):
            parent(modules).close()
        parent.cache_clear()


def missing(attack: Attack) -> str:
    """Why an attack says nothing on this machine; empty where it does."""
    tiers = {"files": Tier.FILES, "namespaces": Tier.NAMESPACES}
    for need in attack.needs:
        if need in tiers and best_tier() < tiers[need]:
            return f"no confinement of tier {tiers[need]} here"
        if need == "cgroups" and cgroups.parents() is None:
            return "no control groups can be made here"
    return ""


def modules_of(attack: Attack) -> tuple[str, ...]:
    torch = any("torch" in source or where == "softmax" for where, source in attack.cells)
    return (*fork_server.LIGHT_MODULES, "torch") if torch else fork_server.LIGHT_MODULES


def limits_of(attack: Attack, slower: float = 1) -> Limits:
    """The attack's limits, all times `slower` times as long."""
    whole = ("restarts", "processes", "memory_bytes", "flood_bytes", "output_bytes", "value_bytes")
    changes = {name: int(value) if name in whole else value for name, value in attack.limits.items()}
    limits = Limits(**{**QUICK, **changes})
    times = {name: slower * value for name, value in vars(limits).items() if name.endswith("_seconds")}
    return replace(limits, **times)


class Traces:
    """What submissions leave outside, looked for by all that is theirs: users, names, folders, groups."""

    def __init__(self, server: client.SubmissionServer) -> None:
        self._parent = server
        self._number = server.number()

    def found(self) -> list[str]:
        """Processes, files, mounts and control groups that were not there before."""
        numbers = range(self._number + 1, self._parent.number())
        users = {FIRST_UID + number % UIDS for number in numbers} if os.getuid() == 0 else set()
        deadline = time.monotonic() + 3  # a killed namespace takes a moment to go
        while (running := self._running(users)) and time.monotonic() < deadline:
            time.sleep(0.02)
        mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if tempfile.gettempdir() in line]
        groups = [
            str(folder / f"{cgroups.PREFIX}{os.getpid()}-{number}")
            for folder in set((cgroups.parents() or {}).values())
            for number in numbers
        ]
        files = [str(path) for place in WATCHED for path in Path(place).glob("*hostile-*")]
        left = [group for group in groups if Path(group).exists()]
        return [*running, *mounts, *left, *files, *map(str, Path(tempfile.gettempdir()).iterdir())]

    def _running(self, users: set[int]) -> list[str]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if folder.stat().st_uid in users or "sleep 86399.25" in words:
                    found.append(f"process {folder.name} {words}")
        return found


def assert_storable(result: SubmissionResult, attack: Attack) -> None:
    """The result and the notebook made of it can be written, read back, and are valid."""
    assert SubmissionResult.from_json(result.to_json().encode().decode()) == result
    key = chapter.make_key()
    notebook = compose(parse(attack.data(), key), key, result)
    nbformat.validate(notebook)
    text = nbformat.writes(notebook)
    assert len(text.encode()) < 30_000_000
    settings = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    assert {one["grade_id"] for one in settings if one.get("grade")} == set(chapter.POINTS)


@pytest.mark.parametrize("attack", [one for one in BANK if not one.refused], ids=str)
def test_attack(attack: Attack) -> None:
    """It earns what it must earn, an honest answer beside it keeps its point, and nothing is left behind."""
    if reason := missing(attack):
        pytest.skip(reason)
    key, server = chapter.make_key(), parent(modules_of(attack))
    traces = Traces(server)
    submission = parse(attack.data(), key)
    for slower in (1, 5):  # a busy machine may be too slow for the times that make the bank quick
        limits = limits_of(attack, slower)
        result = grade(submission, key, student="s", seed=7, limits=limits, parent=server)
        verdicts = {cell.grade_id: (cell.verdict.value, cell.earned) for cell in result.cells}
        told = {cell.grade_id: cell.message for cell in result.cells}
        late = {name for name, (verdict, _) in verdicts.items() if verdict == "timed out"}
        if not any(
            attack.gets[name].verdict != "timed out" or attack.gets[name].words not in told[name] for name in late
        ):
            break
    assert verdicts == {name: (one.verdict, one.points) for name, one in attack.gets.items()}, told
    for name, one in attack.gets.items():
        assert one.words in told[name], name
    assert (result.earned, result.pending, result.possible) == (attack.earned, 0, sum(chapter.POINTS.values()))
    assert_storable(result, attack)
    assert server.alive()
    assert traces.found() == []


@pytest.mark.parametrize("attack", [one for one in BANK if one.refused], ids=str)
def test_refused(attack: Attack) -> None:
    """A file that is no notebook of the chapter is refused in one short line that any terminal can show."""
    with pytest.raises(ValueError, match=r".") as refusal:
        parse(attack.data(), chapter.make_key())
    text = str(refusal.value)
    assert attack.refused in text
    assert text.isprintable()
    assert len(text) < 300


def test_an_honest_submission_earns_everything() -> None:
    """The check of the check: the chapter's own answers pass its tests in the same bounds."""
    header = "# title: t\n# kind: answer\n# tries: t\n# gets: honest_test passed\n"
    cells = "".join(f"# %% {name}\n{source}\n" for name, source in chapter.RIGHT.items())
    attack = attacks.parse(header + cells, "honest")
    key, server = chapter.make_key(), parent((*fork_server.LIGHT_MODULES, "torch"))
    result = grade(parse(attack.data(), key), key, student="s", seed=7, limits=limits_of(attack), parent=server)
    assert {cell.verdict.value for cell in result.cells} == {"passed"}, [cell.message for cell in result.cells]


def test_the_bank_is_large_and_its_attacks_differ() -> None:
    assert len(BANK) >= 50
    assert len({one.title for one in BANK}) == len(BANK)
    assert len({one.cells for one in BANK}) == len(BANK)
