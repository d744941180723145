"""Tries the tests of `test_fuzz` on inputs that a fuzzer finds by the branches they reach.

    pip install atheris
    python tests/grader/processes/fuzz.py -max_total_time=600 -max_len=4096 -len_control=0 work/fuzz

An input that breaks one is written to a file named crash-…; give that file as the argument to see it again.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import atheris

sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[:4]]

with atheris.instrument_imports(include=["grader", "nbformat", "json"]):  # their branches are what is counted
    for name in (
        "grader.judging.outputs",
        "grader.model.submission",
        "grader.processes.channel",
        "grader.processes.wire",
        "grader.gradebook.composition",
    ):
        import_module(name)

PROPERTIES = [
    found.hypothesis.fuzz_one_input
    for name, found in sorted(vars(import_module("test_fuzz")).items())
    if name.startswith("test_") and hasattr(found, "hypothesis")
]


def one_input(data: bytes) -> None:
    """The first byte says which test the others are drawn for."""
    if data:
        PROPERTIES[data[0] % len(PROPERTIES)](data[1:])


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        if not argument.startswith("-") and not Path(argument).exists():
            Path(argument).mkdir(parents=True)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
