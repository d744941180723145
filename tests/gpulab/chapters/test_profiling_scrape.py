"""A real Prometheus (Debian: `apt install prometheus`) visits pages, one of them by the profiling chapter's reference
answer."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import visited_by_prometheus as scrape
from made_up_nvml import Library
from needed_prometheus import need_prometheus
from visited_by_prometheus import Visit

from gpulab import exporter
from gpulab.tables import data_folder
from grader.exercises.profiling import pages

ROOT = Path(__file__).parents[3]
NAME = "08_profiling_and_monitoring"
BANK = ROOT / "answers" / NAME / "render_metrics.py"
CHAPTER = ROOT / "solutions" / f"{NAME}.md"


@pytest.fixture(scope="module")
def rendered() -> Callable[[list[dict[str, Any]]], str]:
    """The first right answer of the bank: what a student writes."""
    _, first, *_ = BANK.read_text(encoding="utf-8").split("# %% right:")
    namespace: dict[str, Any] = {}
    exec(first.partition("\n")[2].partition("\n# %% ")[0], namespace)
    found: Callable[[list[dict[str, Any]]], str] = namespace["render_metrics"]
    return found


AWKWARD = 'two\nlines, "quoted" \\ C:\\new {x="1"} ü'
GHOSTS = "DCGM_FI_DEV_FB_USED > 1024 and DCGM_FI_DEV_GPU_UTIL < 1"


def node7() -> str:
    """The chapter's made-up page."""
    return (data_folder() / "monitoring" / "node7.prom").read_text(encoding="utf-8")


def samples() -> list[dict[str, Any]]:
    """What a training run might export, and a metric with everything in its texts that has to be escaped."""
    labels = {"text": AWKWARD, "end": "\\"}
    awkward = {"name": "awkward", "type": "gauge", "help": AWKWARD, "labels": labels, "value": 0.1 + 0.2}
    seen = {"name": "train_images_total", "type": "counter", "help": "Images."}
    counted = [{**seen, "labels": {"run": 'resnet "big"', "gpu": gpu}, "value": 1_843_200.0} for gpu in "01"]
    return [*counted, awkward]


@pytest.fixture(scope="module")
def visits(rendered: Callable[[list[dict[str, Any]]], str]) -> list[Visit]:
    """One real server has visited four pages, which takes it some seconds: the student's, one with a wrong quote, the
    chapter's example and the exporter's."""
    need_prometheus()
    pages = [rendered(samples()), scrape.page_of_lines(200, wrong=117), node7(), exporter.page(Library())]
    return scrape.visits(*pages, question=GHOSTS)


def promtool(*arguments: str, text: str = "") -> str:
    """What Prometheus' own checker says; fails with its words when it finds something."""
    need_prometheus()
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_real_server_reads_what_a_student_renders(visits: list[Visit]) -> None:
    """Labels and values arrive as they were, whatever is in them."""
    assert visits[0].up, visits[0].error
    assert visits[0].values == {(one["name"], frozenset(one["labels"].items())): one["value"] for one in samples()}


def test_of_a_page_with_one_wrong_quote_nothing_is_kept(visits: list[Visit]) -> None:
    assert not visits[1].up
    assert visits[1].values == {}
    assert visits[1].error


def test_the_server_finds_the_ghost_of_the_example(visits: list[Visit]) -> None:
    """And answers each page's question with what is in this page."""
    assert [len(one.answer) for one in visits] == [0, 0, 1, 0]
    assert "gpu='1'" in visits[2].answer[0] and visits[2].answer[0].endswith("→ 71198")


def test_the_server_reads_the_exporters_page(visits: list[Visit]) -> None:
    assert visits[3].values == pages.read_page(exporter.page(Library())).values


def test_help_texts_survive_as_well(rendered: Callable[..., str]) -> None:
    assert pages.read_page(rendered(samples())).helps["awkward"] == AWKWARD


def test_the_configuration_that_we_ship_is_valid() -> None:
    assert "SUCCESS" in promtool("check", "config", str(data_folder() / "monitoring" / "prometheus.yml"))


def test_every_question_that_we_ask_can_be_understood(tmp_path: Path) -> None:
    """Those of the dashboards and those of the chapter's table, as rules that the checker reads."""
    asked = re.findall(r"^\| `([^`]*\b(?:gpulab|train)_[^`]*)` \|", CHAPTER.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(asked) >= 4
    for path in sorted((data_folder() / "monitoring").glob("dashboard_*.json")):
        asked += re.findall(r'"expr": "([^"]+)"', path.read_text(encoding="utf-8"))
    assert len(asked) >= 20
    rules = [{"record": f"question_{at}", "expr": question} for at, question in enumerate(asked)]
    file = tmp_path / "rules.yml"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "all", "rules": rules}]}), encoding="utf-8")
    assert f"{len(asked)} rules found" in promtool("check", "rules", str(file))


def test_a_rendered_page_pleases_the_checker(rendered: Callable[..., str]) -> None:
    promtool("check", "metrics", text=rendered(samples()))


def test_a_server_that_is_required_and_missing_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else CI would pass without having seen a Prometheus."""
    monkeypatch.setattr(scrape, "COMMAND", "no-such-prometheus")
    monkeypatch.delenv("GPULAB_PROMETHEUS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt-get install prometheus"):
        need_prometheus()
    monkeypatch.setenv("GPULAB_PROMETHEUS", "required")
    with pytest.raises(pytest.fail.Exception, match="not skipped"):
        need_prometheus()


def test_without_a_server_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrape, "COMMAND", "no-such-prometheus")
    (found,) = scrape.visits("a 1\n")
    assert found.skipped and not found.up
    assert "nobody came" in str(found)


def test_a_server_that_ends_at_once_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "false-prometheus"
    program.write_text("#!/bin/sh\necho out of luck >&2\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(scrape, "COMMAND", str(program))
    with pytest.raises(RuntimeError, match=r"ended with 3.*out of luck"):
        scrape.visits("a 1\n")


def test_a_page_of_lines_has_one_wrong_line() -> None:
    page = scrape.page_of_lines(5, wrong=2)
    assert page.count("\n") == 5
    with pytest.raises(pages.FormatError, match="line 3"):
        pages.read_page(page)
