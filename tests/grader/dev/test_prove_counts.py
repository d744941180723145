"""`grader prove`: the tracer's counts against the profiler's."""

from __future__ import annotations

import pytest

from grader.dev.prove import counts
from grader.model.course import CourseError

NCU = """==PROF== Connected to process 99
==PROF== Disconnected
"ID","Process ID","Kernel Name","Context",{columns}
"","","","",{units}
"0","99","grader::prove::kernels::prove_copy[abi:v1](Array<float, 2>)","1",{copy}
"1","99","elementwise_kernel","1",{copy}
"2","99","prove_transpose_tile(float*)","1",{tile}
"""
COPY = (32768, 131072, 32768, 131072, 0, 0, 0, 0)
TILE = (32768, 131072, 32768, 131072, "1,048,576", 32768, 32768, 32768)


def quoted(values: object) -> str:
    return ",".join(f'"{value}"' for value in values)  # type: ignore[attr-defined]


def test_what_the_profiler_prints_is_read() -> None:
    text = NCU.format(
        columns=quoted(counts.METRICS), units=quoted(["sector"] * 8), copy=quoted(COPY), tile=quoted(TILE)
    )
    found = counts.parse(text)
    assert set(found) == {"prove_copy", "prove_transpose_tile"}
    assert counts.ratios(found["prove_copy"])["sectors per load"] == 4
    assert counts.ratios(found["prove_transpose_tile"])["turns per shared load"] == 32
    with pytest.raises(CourseError, match="printed no table"):
        counts.parse("==ERROR== no permission")


def test_the_tracer_says_what_is_known_by_hand() -> None:
    found = {name: tuple(ratio.values()) for name, ratio in counts.trace().items()}
    assert found == {
        "prove_copy": (4, 4, 0, 0),
        "prove_stride2": (8, 4, 0, 0),
        "prove_transpose_naive": (4, 32, 0, 0),
        "prove_transpose_tile": (4, 4, 32, 1),
        "prove_transpose_padded": (4, 4, 1, 1),
        "prove_tree_sum": (4, 1, 1, 1),
    }


def test_a_count_that_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    profiled = {name: dict.fromkeys(counts.METRICS.values(), 0.0) for name in counts.trace()}
    monkeypatch.setattr(counts, "profile", lambda: profiled)
    found = counts.compared()
    wrong = [one.sentence() for one in found if not one.agrees]
    assert "prove_copy: sectors per load: the tracer says 4, Nsight Compute 0" in wrong
    monkeypatch.setattr(counts, "profile", dict)
    with pytest.raises(CourseError, match="said nothing of prove_copy"):
        counts.compared()


@pytest.mark.parametrize(
    ("what", "traced", "profiled", "agrees"),
    [
        ("turns per shared store", 1.0, 1.0, True),
        ("turns per shared store", 1.0, 1.2, True),  # without a conflict
        ("turns per shared store", 1.0, 1.5, False),  # two lanes on one bank in every second request
        ("turns per shared load", 32.0, 33.5, True),
        ("turns per shared load", 32.0, 16.0, False),
        ("turns per shared load", 1.0, 0.9, False),
        ("turns per shared load", 0.0, 0.0, True),
        ("turns per shared load", 0.0, 1.0, False),
        ("sectors per load", 4.0, 4.03, True),
        ("sectors per load", 4.0, 4.5, False),
        ("sectors per load", 4.0, 0.0, False),
    ],
)
def test_turns_may_be_a_few_more_and_sectors_not(what: str, traced: float, profiled: float, agrees: bool) -> None:
    assert counts.ComparedCount("prove_copy", what, traced, profiled).agrees is agrees


def test_without_the_profiler_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts.shutil, "which", lambda name: "/bin/false")
    with pytest.raises(CourseError, match="failed without a word"):
        counts.profile()
