"""American spelling everywhere: in code, in documents, in what students read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = {".md", ".py", ".toml", ".yml", ".html", ".css", ".js", ".sh", ".txt", ""}
STEMS = """
    capital categor central character custom emphas general ideal initial material maxim minim normal optim organ
    parallel prior quant random real recogn serial special stabil standard summar synchron token util vector visual
"""
BRITISH = re.compile(
    rf"(?:{'|'.join(STEMS.split())})is(?:e|ed|es|er|ers|ing|ation)(?![a-z])|colour|behaviour|neighbour|favour|judgement|catalogue"
    r"|(?:label|model|travel|cancel)l(?:ed|ing)(?<!Cancelled)|\bcentre|\bgrey|licence\b|\banalyse",
    re.IGNORECASE,
)
FOREIGN = ("cancelled", "Cancelled")
"""Names of libraries: asyncio's `CancelledError`, futures' `cancelled`."""


def british(text: str) -> list[str]:
    """The words of a text that are spelled the British way."""
    return [found for found in BRITISH.findall(text) if found not in FOREIGN]


def test_words_are_spelled_the_american_way() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name and Path(name).suffix in TEXT]
    assert len(files) > 500
    own = Path(__file__)
    found = {
        f"{path.relative_to(ROOT)}:{number}: {word}"
        for path in files
        if path != own and path.is_file()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for word in british(line)
    }
    assert not found, "\n".join(sorted(found))


@pytest.mark.parametrize(
    "word", ["synchronised", "Colours", "NEIGHBOUR", "quantisation", "labelled", "grey", "centred"]
)
def test_british_words_are_found(word: str) -> None:
    assert british(f"the {word} one")


def test_other_words_are_not() -> None:
    assert not british("an exercise that raises otherwise promised noise, precise, CancelledError, optimism")
