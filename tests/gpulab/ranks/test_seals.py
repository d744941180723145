"""A report counts with the seal of a key that this process has given, and with no other."""

from __future__ import annotations

import os

import pytest

from gpulab.ranks import seals

REPORT = {"steps": 3, "types": ["torch.float32"], "ended": True}


@pytest.fixture
def seal(monkeypatch: pytest.MonkeyPatch) -> seals.Seal:
    for name, value in seals.key().items():
        monkeypatch.setenv(name, value)
    return seals.take()


def test_a_report_comes_back(seal: seals.Seal) -> None:
    """Plain values, as they were; the key has left the environment."""
    assert seals.opened(seal(REPORT)) == REPORT
    assert seals.VARIABLE not in os.environ


def test_an_altered_report_is_none(seal: seals.Seal) -> None:
    assert seals.opened(seal(REPORT).replace("3", "4")) == {}


@pytest.mark.parametrize("text", [None, 3, "", "{}", "abc {'steps': 3}", "é {'steps': 3}"])
def test_what_nobody_sealed_is_none(text: object) -> None:
    assert seals.opened(text) == {}


def test_a_program_that_was_given_no_key_reports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an empty key seals, anybody could."""
    monkeypatch.delenv(seals.VARIABLE, raising=False)
    assert seals.opened(seals.take()(REPORT)) == {}
