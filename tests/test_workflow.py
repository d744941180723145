"""The workflow's GPU job: when it runs, what it keeps, and that it ends before it is cut off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / ".github/workflows/test.yml").read_text()
JOB: dict[str, Any] = yaml.safe_load(TEXT)["jobs"]["gpu"]
RUNS: list[str] = [step["run"] for step in JOB["steps"] if "run" in step]


def test_no_pull_request_reaches_our_machine() -> None:
    """On request, and on a schedule or a push only where the repository says that it has a GPU."""
    assert "pull_request" not in JOB["if"]
    assert "workflow_dispatch" in JOB["if"]
    assert "vars.GPU != ''" in JOB["if"]
    assert "schedule" in yaml.safe_load(TEXT)[True]  # YAML 1.1 reads the key `on` as a truth value


def test_the_proof_ends_before_the_job_is_cut_off() -> None:
    (seconds,) = (int(found) for run in RUNS for found in re.findall(r"--seconds (\d+)", run))
    assert seconds + 25 * 60 < 60 * JOB["timeout-minutes"]  # installing, the smoke test and pytest come before


def test_what_was_installed_and_settled_stays_on_the_runner() -> None:
    (checkout,) = (step for step in JOB["steps"] if str(step.get("uses", "")).startswith("actions/checkout"))
    assert checkout["with"] == {"clean": False}
    assert "UV_CACHE_DIR" in JOB["env"]


def test_whatever_there_is_is_uploaded() -> None:
    """A failed smoke test or a red row keeps neither the proof nor its report back."""
    upload = JOB["steps"][-1]
    assert upload["if"] == "always()"
    assert {"proof.tar.xz", "data/machines", "work/prove"} <= set(upload["with"]["path"].split())
    assert any("-m gpu" in run for run in RUNS)
    assert next(step for step in JOB["steps"] if "--bundle" in str(step.get("run")))["if"] == "always()"
