"""Writes what a proof found: `data/machines/<gpu>.json` for notebooks and programs, `<gpu>.md` for people."""

from __future__ import annotations

import datetime
import json
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gpulab.doctor import hardware
from gpulab.measuring.machine import VERSION
from grader.dev.prove import claimed_numbers
from grader.dev.prove.run import ProofStep, StepResult, slug
from grader.model.course import Course, CourseError
from grader.model.notebook_io import write as write_file

PACKAGES = ("torch", "torchvision", "pytorch-lightning", "numba", "numba-cuda", "cuda-core", "nbgrader")


def write(course: Course, outcomes: list[StepResult], steps: Sequence[ProofStep] = ()) -> list[Path]:
    """Writes both files; gives where they lie. Without a calibration there are no ceilings to write, and no JSON.

    Args:
        course: where to.
        outcomes: all that is known.
        steps: all there are: what they have not shown yet is listed.
    """
    name = slug(hardware.device_name())
    folder = course.root / "data" / "machines"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    outcomes = [_with_bars_of_today(one) for one in outcomes]
    known = {one.step: one for one in outcomes}
    if "calibrate" in known and known["calibrate"].data:
        kept = {
            "version": VERSION,
            **known["calibrate"].data["ceilings"],
            "figures": known["calibrate"].data["figures"],
        }
        path = folder / f"{name}.json"
        write_file(path, (json.dumps(kept, indent=1, sort_keys=True) + "\n").encode())
        written.append(path)
    page = folder / f"{name}.md"
    write_file(page, text(outcomes, machine(), steps).replace(f"{course.root}/", "").encode())
    return [*written, page]


def _with_bars_of_today(outcome: StepResult) -> StepResult:
    if outcome.step != "calibrate" or not outcome.data:
        return outcome
    found = claimed_numbers.judged_again(outcome.data)
    return replace(outcome, findings=claimed_numbers.findings(found), data=asdict(found))


def machine() -> dict[str, str]:
    """Device, driver, versions and day."""
    gpus = hardware.gpus()
    found = {"device": gpus[0].name if gpus else "none", "driver": gpus[0].driver if gpus else "none"}
    found |= {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found | {"day": datetime.datetime.now(tz=datetime.UTC).date().isoformat()}


def text(outcomes: list[StepResult], on: dict[str, str], steps: Sequence[ProofStep] = ()) -> str:
    """The report, in Markdown."""
    known = {one.step: one for one in outcomes}
    parts = [f"# The course on {'an' if on['device'][:1] in 'AEFHLMNRSX' else 'a'} {on['device']}"]
    parts.append("Written by `grader prove`; nothing here is typed by hand.")
    parts.append(_table(["what", "version"], [[name, value] for name, value in on.items()]))
    parts.append("## Steps")
    rows = [[one.step, one.summary, f"{one.seconds:.0f} s"] for one in outcomes]
    parts.append(_table(["step", "outcome", "took"], rows))
    for step, write_part in (
        ("calibrate", _figures),
        ("readings", _readings),
        ("counts", _counts),
        ("nsight", _nsight),
        ("repeats", _repeats),
        ("class", _classes),
    ):
        if step in known and known[step].data:
            parts += write_part(known[step].data)
    parts += _chapters(known)
    found = [f"- {one.step}: {finding}" for one in outcomes for finding in one.findings]
    parts += ["## Findings", "\n".join(found) or "None."]
    if lines := [f"- {one.step}: {row}" for one in outcomes for row in one.absent]:
        parts += ["## Not here", "\n".join(lines)]
    if lines := [f"- {one.step}: {_by_chapter(one.left)}" for one in outcomes if one.left]:
        parts += ["## Not proven yet", "\n".join(lines)]
    if lines := [f"- {one}" for one in to_show(outcomes, steps)]:
        parts += ["## What a GPU must still show", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _by_chapter(rows: Sequence[str]) -> str:
    """Rows, whose names begin with their chapter's, counted by it."""
    counted = Counter(row.split()[0] for row in rows)
    return ", ".join(chapter if count == 1 else f"{chapter} ({count} rows)" for chapter, count in counted.items())


def to_show(outcomes: list[StepResult], steps: Sequence[ProofStep]) -> list[str]:
    """What no GPU has shown yet: the steps that were not run, or not to a good end, each with what is missing."""
    known = {one.step: one for one in outcomes}
    found = []
    for step in steps:
        outcome = known.get(step.name)
        if outcome is None or not outcome.good or outcome.absent:
            found.append(f"{step.name}: {step.shows} ({outcome.summary if outcome else 'not run'})")
    return found


def _figures(data: dict[str, Any]) -> list[str]:
    rows = []
    for one in data["figures"]:
        low, high = one["low"], one["high"]
        bar = " to ".join(f"{value:g}" for value in (low, high) if value is not None)
        bar = {(True, False): f"≥ {bar}", (False, True): f"≤ {bar}"}.get(
            (low is not None, high is not None), bar
        ) or "–"
        reached = (low is None or one["value"] >= low) and (high is None or one["value"] <= high)
        value = f"{one['value']:.3g}" + (f" ± {one['spread']:.2g}" if one["spread"] else "")
        ratio = f"{one['value'] / low:.2f}" if low else "–"
        rows.append([one["what"], f"{value} {one['unit']}".strip(), bar, ratio, "yes" if reached else "**below**"])
    failed = [f"- {name}: {why}" for name, why in data["failed"].items()]
    without = claimed_numbers.unknown(data["ceilings"]["device"])
    out = ["## Ceilings", *_ceilings(data["ceilings"]), *([f"{without}."] if without else []), "## Figures"]
    out.append(_table(["figure", "measured", "bar", "over the bar", "reached"], rows))
    return [*out, "Not measured:", "\n".join(failed)] if failed else out


def _ceilings(ceilings: dict[str, Any]) -> list[str]:
    """What the machine can do at best, each with its spread, next to what its datasheet promises."""
    try:
        stated = claimed_numbers.datasheet(ceilings["device"])
    except CourseError:
        stated = {}
    copy = "copy within its memory, read + written"
    found = [(copy, "GB/s", "copy", ceilings["copy_gbs"], stated.get("bandwidth_gbs"))]
    found += [
        (f"matrix product, {kind}", "TFLOPS", kind, rate / 1e3, stated.get(f"{kind}_tflops"))
        for kind, rate in ceilings["matmul_gflops"].items()
    ]
    found += [
        (f"{words}, {memory} memory", "GB/s", way, ceilings[f"{way}_gbs"], None)
        for memory, suffix in (("pinned", ""), ("pageable", "_pageable"))
        for words, way in (("host to GPU", f"h2d{suffix}"), ("GPU to host", f"d2h{suffix}"))
        if ceilings.get(f"{way}_gbs")
    ]
    if ceilings["launch_us"]:
        found.append(("launch of a kernel, until its end is known", "µs", "launch", ceilings["launch_us"], None))
    rows = []
    for what, unit, name, value, most in found:
        spread = ceilings["spreads"].get(name)
        rows.append(
            [
                what,
                (f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}")
                + (f" ± {100 * spread:.1f} %" if spread is not None else ""),
                f"{most:,.4g} {unit}" if most else "–",
                f"{value / most:.0%}" if most else "–",
            ]
        )
    return [_table(["ceiling", "measured", "datasheet", "share"], rows)]


def _readings(data: dict[str, Any]) -> list[str]:
    rows = [
        [chapter, name, one["state"], one["why"] or "–"]
        for chapter, readings in sorted(data.items())
        for name, one in readings.items()
    ]
    said = "What this GPU said, next to the chapter's own solution. Answers are compared with good readings."
    return ["## Readings", said, _table(["chapter", "exercise", "state", "why"], rows)]


def _counts(data: dict[str, Any]) -> list[str]:
    rows = [[one["kernel"], one["what"], f"{one['traced']:.4g}", f"{one['profiled']:.4g}"] for one in data["kernels"]]
    return ["## The tracer next to Nsight Compute", _table(["kernel", "figure", "tracer", "Nsight Compute"], rows)]


def _nsight(data: dict[str, Any]) -> list[str]:
    lines = [f"- {one['tool']}: {one['file'] or 'no report: ' + one['why_not']}" for one in data["reports"]]
    return ["## Recorded reports", "\n".join(lines)]


def _repeats(data: dict[str, Any]) -> list[str]:
    rows = [
        [row, str(one["graded"]), str(one["passed"]), str(one["pending"]), f"{one['median_seconds']} s"]
        for rows_of in data.values()
        for row, one in sorted(rows_of.items())
    ]
    said = "Every right answer of the bank, graded again and again with inputs of its own."
    return ["## GPU rows", said, _table(["row", "graded", "passed", "pending (noisy)", "took, median"], rows)]


def _classes(data: dict[str, Any]) -> list[str]:
    rows = [
        [chapter, str(one["submissions"]), str(one["pending"]), f"{one['seconds_each']} s", ", ".join(one["on"])]
        for chapter, one in sorted(data.items())
    ]
    return ["## The sample class", _table(["chapter", "submissions", "pending rows", "each, median", "on"], rows)]


def _chapters(known: dict[str, StepResult]) -> list[str]:
    names = sorted({name for step in ("execute", "nbval", "gate") if step in known for name in known[step].data})
    if not names:
        return []
    rows = []
    for name in names:
        answers = known["gate"].data.get(name, {}) if "gate" in known else {}
        said = known["nbval"].data.get(name, {}).get("summary", "–") if "nbval" in known else "–"
        checked = f"{answers['checked']} answers, {answers['findings']} findings" if answers else "–"
        rows.append([name, said, checked])
    return ["## Chapters", _table(["chapter", "nbval", "gate"], rows)]


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
