"""A real Prometheus (Debian: `apt install prometheus`) visits pages, one of them by chapter 07's reference answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpulab.chapters import profiling_metrics as metrics
from gpulab.chapters import profiling_scrape as scrape
from gpulab.tables import data_folder

needs_server = pytest.mark.skipif(not scrape.installed(), reason="no prometheus on this machine")
BANK = Path(__file__).parents[2] / "answers" / "07_profiling_and_monitoring" / "render_metrics.py"


@pytest.fixture
def render_metrics() -> Callable[[list[dict[str, Any]]], str]:
    """The first right answer of the bank: what a student writes."""
    _, first, *_ = BANK.read_text(encoding="utf-8").split("# %% right:")
    namespace: dict[str, Any] = {}
    exec(first.partition("\n")[2].partition("\n# %% ")[0], namespace)
    found: Callable[[list[dict[str, Any]]], str] = namespace["render_metrics"]
    return found


AWKWARD = 'two\nlines, "quoted" \\ C:\\new {x="1"} ü'


@needs_server
def test_a_real_server_reads_what_a_student_renders(render_metrics: Callable[..., str]) -> None:
    """Labels and values arrive as they were, whatever is in them; of a page with one wrong quote nothing does."""
    samples = metrics.training_samples()
    labels = {"text": AWKWARD, "end": "\\"}
    samples.append({"name": "awkward", "type": "gauge", "help": AWKWARD, "labels": labels, "value": 0.1 + 0.2})
    page = render_metrics(samples)
    assert metrics.read_page(page).helps["awkward"] == AWKWARD
    good, spoilt = scrape.visits(page, scrape.page_of_lines(200, wrong=117))
    assert good.up, good.error
    assert good.values == {(one["name"], frozenset(one["labels"].items())): one["value"] for one in samples}
    assert not spoilt.up
    assert spoilt.values == {}
    assert spoilt.error


@needs_server
def test_the_configuration_that_we_ship_is_valid(tmp_path: Path) -> None:
    import shutil
    import subprocess

    tool = shutil.which("promtool")
    assert tool
    config = data_folder() / "monitoring" / "prometheus.yml"
    done = subprocess.run(
        [tool, "check", "config", str(config)], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


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
    with pytest.raises(metrics.FormatError, match="line 3"):
        metrics.read_page(page)
