"""The strict reader of Prometheus pages and the rules for rendered ones, compared with the library's; shipped pages."""

from __future__ import annotations

import random
import re
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gpulab import table
from gpulab.chapters.profiling.rendered import broken_rule, compare
from gpulab.tables import data_folder
from grader.exercises.profiling.pages import FormatError, SampleKey, read_page


def by_library(page: str) -> dict[SampleKey, float]:
    page = page.replace(" counter\n", " untyped\n")  # else the library adds `_total` to their names
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def shipped(name: str) -> str:
    return (data_folder() / "monitoring" / name).read_text(encoding="utf-8")


def test_the_made_up_page_is_valid_and_awkward() -> None:
    page = shipped("node7.prom")
    assert read_page(page).values == by_library(page)
    assert broken_rule(page) == ""
    assert any("," in dict(labels).get("hpc_job", "") for _, labels in read_page(page).values)


@pytest.mark.parametrize("name", ["node7.prom", "t4_busy.prom"])
def test_the_pages_use_the_exporters_names(name: str) -> None:
    known = {row["metric"]: row for row in table("dcgm_metrics")}
    page = read_page(shipped(name))
    assert {metric for metric, _ in page.values} <= set(known)
    assert all(known[metric]["type"] == kind for metric, kind in page.types.items())


def test_what_a_real_page_has_is_exported_by_default() -> None:
    """The T4's exporter was left as it comes."""
    default = {row["metric"] for row in table("dcgm_metrics") if row["default"] == "yes"}
    assert {metric for metric, _ in read_page(shipped("t4_busy.prom")).values} <= default


def test_a_metric_may_have_samples_without_labels_after_others() -> None:
    page = '# HELP a Words.\n# TYPE a gauge\na{k="x"} 1.0\na 2.0\na{j="x"} 3.0\n'
    assert broken_rule(page) == ""
    assert "appears a second time" in broken_rule(page + "a 4.0\n")
    assert "come before the first sample" in broken_rule("a 2.0\n# TYPE a gauge\n")


def test_reads_what_the_library_reads() -> None:
    """Random pages with every kind of escape come out the same."""
    draw = random.Random(7)
    pieces = ["a", " ", r"\\", r"\"", r"\n", ",", "{", "}", "=", "ü", "#"]
    for _ in range(200):
        rows = []
        for name in draw.sample(["a", "b:c", "_d1"], k=draw.randint(1, 3)):
            texts = {"".join(draw.choices(pieces, k=draw.randint(0, 6))) for _ in range(3)}
            rows.append(f"# TYPE {name} gauge")
            rows += [f'{name}{{x="{text}",y=""}} {draw.random()!r}' for text in sorted(texts)]
        page = "\n".join([*rows, ""])
        assert read_page(page).values == by_library(page)
        assert broken_rule(page) == ""


def test_help_texts_come_back_without_escapes() -> None:
    page = read_page('# HELP a One\\ntwo \\\\ "three" \\"four\\"\n# TYPE a gauge\na 1\n')
    assert page.helps == {"a": 'One\ntwo \\ "three" \\"four\\"'}
    assert page.types == {"a": "gauge"}


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("a 1", "does not end with a newline"),
        ('a{l="x"y"} 1\n', 'A quote inside a value is written \\"'),
        ('a{l="x\ny"} 1\n', "A newline inside a value is written"),
        ('a{l="C:\\dir"} 1\n', "A backslash itself is written"),
        ('a{l="C:\\"} 1\n', "does not end on its line"),
        ("a 1\nb 2\na 3\n", "must be together"),
        ("# TYPE a gauge\n# TYPE a gauge\na 1\n", "There must be one"),
        ("a 1\n# TYPE a gauge\n", "before it"),
        ("# TYPE a number\na 1\n", "is not a type"),
        ("a one\n", "is not a number"),
        ("a 1 2 3\n", "expected one number"),
        ("a-b 1\n", "A name has letters"),
        ("1a 1\n", "expected the name of a metric"),
        ("# HELP a One\ntwo.\n# TYPE a gauge\na 1\n", "Or is there a newline in a text above"),
        ('a{l="1",l="2"} 1\n', "twice"),
        ('a{l="1"} 1\na{l="1"} 2\n', "a second time"),
        ("a{l='1'} 1\n", "is not a label"),
        ("a 1_000\n", "is not a number"),
        ('a{l="1" m="2"} 1\n', "expected a comma"),
        ('a{l="1"\n', "expected a comma"),
    ],
)
def test_says_where_a_page_is_wrong(page: str, words: str) -> None:
    with pytest.raises(FormatError, match=r"line|newline") as raised:
        read_page(page)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("a 1", "does not end with a newline"),
        ('a{l="x"y"} 1\n', 'A quote inside a value is written \\"'),
        ('a{l="x\ny"} 1\n', "is written \\n"),
        ('a{l="C:\\dir"} 1\n', "A backslash itself is written"),
        ('a 1\nb 2\na{l="1"} 3\n', "must be together"),
        ("# TYPE a gauge\n# TYPE a gauge\na 1\n", "There must be one"),
        ("# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\na 2\n", "must be together"),
        ("a 1\n# TYPE a gauge\n", "before the first sample"),
        ("a one\n", "is not a number"),
        ('a{l="1"} 1\na{l="1"} 2\n', "a second time"),
        ("a{l='1'} 1\n", "is not a label"),
        ("a{} 1_000\n", "is not a number"),
        ("a1.5\n", "Between the name and the value is a space"),
        ('a 1.5{l="x"}\n', "right after the name"),
        ('a{l: "x"} 1\n', "is not a label"),
        ("# HELP a two\nlines here\n# TYPE a gauge\na 1\n", "A newline inside a text"),
        ("a Infinity\n", "Infinity is written +Inf"),
        ('a{l="x"} 1.0# HELP b Words.\n', "two lines are one"),
        ("a 1.0b 2.0\n", "two lines are one"),
        ('a{l="\\u00fc"} 1\n', "such as ü, are written as they are"),
        ('a{l="\\xfc"} 1\n', "such as ü, are written as they are"),
        ("a{l='1'} 1\n", "the value stands in double quotes"),
    ],
)
def test_the_visible_check_names_the_rule(page: str, words: str) -> None:
    assert words in broken_rule(page)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("# HELP a Some words.\n# TYPE a gauge\na 1.0\n", "A sample is missing: each one has a line of its own"),
        ("# HELP a Some words.\n# TYPE a gauge\na_total 1.0\n", "names of the samples"),
        ("# HELP Some words.\n# TYPE a gauge\na 1.0\n", "comes the name of the metric"),
    ],
)
def test_a_page_that_says_something_else_is_told_what(page: str, words: str) -> None:
    samples = [{"name": "a", "type": "gauge", "help": "Some words.", "labels": {}, "value": 1.0}]
    if "missing" in words:
        samples.append({**samples[0], "labels": {"l": "x"}})

    def read(text: str) -> SimpleNamespace:
        lines = [line.split() for line in text.splitlines()]
        texts = {key: {one[2]: " ".join(one[3:]) for one in lines if one[1] == key} for key in ("TYPE", "HELP")}
        values: dict[Any, float] = {(one[0], frozenset()): float(one[1]) for one in lines if one[0] != "#"}
        return SimpleNamespace(values=values, types=texts["TYPE"], helps=texts["HELP"])

    with pytest.raises(AssertionError, match=re.escape(words)):
        compare(lambda _: page, samples, "a page", read)


@pytest.mark.parametrize(
    ("label", "written", "words"),
    [
        ("two\nlines", "two lines", "A newline in a label is written \\n:"),
        ('a "b"', "a 'b'", 'A quote in a label is written \\":'),
        ("C:\\data", "C:/data", "A backslash in a label is written \\\\:"),
    ],
)
def test_letters_that_stand_for_others_are_named(label: str, written: str, words: str) -> None:
    samples = [{"name": "a", "type": "gauge", "help": "Some words.", "labels": {"l": label}, "value": 1.0}]
    page = f'# HELP a Some words.\n# TYPE a gauge\na{{l="{written}"}} 1.0\n'
    with pytest.raises(AssertionError, match=re.escape(words)):
        compare(lambda _: page, samples, "a page", read_page)


def test_metrics_that_stay_from_call_to_call_are_named() -> None:
    kept: list[str] = []

    def render(samples: list[dict[str, Any]]) -> str:
        kept.extend(f"# HELP {one['name']} One.\n# TYPE {one['name']} gauge\n{one['name']} 1.0\n" for one in samples)
        return "".join(kept)

    first, second = ([{"name": name, "labels": {}, "value": 1.0, "type": "gauge", "help": "One."}] for name in "ab")
    compare(render, first, "a page", read_page)
    with pytest.raises(AssertionError, match="a is on the page, but no sample has this metric"):
        compare(render, second, "a page", read_page)


@pytest.mark.parametrize("kind", ["HELP", "TYPE"])
def test_one_description_for_all_metrics_is_named(kind: str) -> None:
    rows = [{"name": name, "labels": {}, "value": 1.0, "type": "gauge", "help": "One."} for name in "ab"]
    rows[1] |= {"help": "Two."} if kind == "HELP" else {"type": "counter"}
    page = "".join(f"# HELP {name} One.\n# TYPE {name} gauge\n{name} 1.0\n" for name in "ab")
    with pytest.raises(AssertionError, match=f"That is the {kind} of one metric for all"):
        compare(lambda _: page, rows, "a page", read_page)


def test_what_the_format_allows_passes() -> None:
    page = read_page('\n  # a remark\n#TYPE a nothing\na{ x = "1" , } +Inf\nb NaN 1763650000000\nc{} -1e3\n')
    assert page.values[("a", frozenset({("x", "1")}))] == float("inf")
    assert page.values[("c", frozenset())] == -1000.0
