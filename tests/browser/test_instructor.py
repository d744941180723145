"""An instructor: takes a class from Moodle, grades it, reads the report, gives points by hand in formgrader."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.window import ROOT, Server, Window, server, window
from selenium.webdriver.common.keys import Keys

from grader.gradebook import gradebook
from grader.model.course import Course

CHAPTER = "01_gpu_architecture"
CLASS = {
    "anna-solved": "Anna Müller",
    "dmitri-half": "Дмитрий Орлов",
    "elif-one-slip": "Elif Aydın",
    "farid-mistaken": "Farid Nazari",
    "omar-cut-off": "Omar Haddad",
    "zoë-solved": "Zoë Zimmermann",
}
"""Some of the sample class, by their names in Moodle."""


def grader(folder: Path, *arguments: str) -> str:
    """What the command says, which must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "140"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A class taken from a download of Moodle's and graded."""
    folder = tmp_path_factory.mktemp("course")
    for name in ("answers", "notebooks", "solutions"):
        shutil.copytree(ROOT / name / CHAPTER, folder / name / CHAPTER)
    shutil.copy(ROOT / "solutions" / f"{CHAPTER}.md", folder / "solutions")
    shutil.copytree(ROOT / "data", folder / "data")
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    grader(folder, "sample", CHAPTER, "--into", "samples")
    with zipfile.ZipFile(folder / "moodle.zip", "w") as archive:
        for number, (sample, name) in enumerate(CLASS.items(), 4711):
            source = next((folder / "samples" / sample).rglob(f"{CHAPTER}.ipynb"))
            if sample == "elif-one-slip":  # has tried something with a figure, so that it is drawn again
                source.write_text(source.read_text().replace("turns(duration_ms=60)", "turns(duration_ms=50)"))
            archive.write(source, f"{name}_{number}_assignsubmission_file/{CHAPTER}.ipynb")
    assert f"{len(CLASS)} taken." in grader(folder, "collect", "moodle.zip")
    grader(folder, "autograde", CHAPTER)
    return Course(folder)


@pytest.fixture(scope="module")
def jupyter(course: Course) -> Iterator[Server]:
    """`jupyter lab` in the course folder."""
    root = ["--allow-root"] if os.geteuid() == 0 else []
    with server(course.root, ["jupyter", "lab", *root], {}) as running:
        yield running


@pytest.fixture(scope="module")
def page(jupyter: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    with window(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def test_the_report_holds_the_class(course: Course, page: Window) -> None:
    """Read from the disk, as an instructor opens it: figures, table, misconceptions, who is pending; no script runs."""
    page.open((course.reports(CHAPTER) / "report.html").as_uri())
    page.element("h1", "GPU architecture")
    page.shoot("20_report")
    page.shoot("21_report_whole", whole_page=True)
    text = page.element("body").text
    for words in (*CLASS.values(), "Most frequent mistakes", "Pending", "Slowest and noisiest", "discrimination"):
        assert words in text, words
    figures = page.all("figure svg")
    assert len(figures) == 2
    assert all(len(one.get_attribute("aria-label") or "") > 40 for one in figures)
    width = page.driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    assert width <= 0, f"{width} pixels are beyond the window"
    assert page.complaints() == []


def test_the_report_can_be_read_in_the_dark(course: Course, page: Window) -> None:
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    page.open((course.reports(CHAPTER) / "report.html").as_uri())
    page.element("h1")
    page.shoot("22_report_dark")
    for selector in ("body", ".tile small", ".list th", "figcaption span", ".mark.failed", ".mark.passed"):
        ratio = page.driver.execute_script(CONTRAST, page.element(selector))
        assert ratio >= 4.5, f"{selector}: contrast {ratio:.1f}"
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.driver.refresh()
    for selector in ("body", ".tile small", ".list th", "figcaption span", ".mark.failed", ".mark.passed"):
        ratio = page.driver.execute_script(CONTRAST, page.element(selector))
        assert ratio >= 4.5, f"{selector}: contrast {ratio:.1f}"


def test_the_pages_fit_a_phone(course: Course, page: Window) -> None:
    """Nothing but code and wide tables has to be moved sideways."""
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    feedback = course.feedback / "Elif Aydın" / CHAPTER
    for path in (course.reports(CHAPTER) / "report.html", feedback / "report.html", feedback / f"{CHAPTER}.html"):
        page.open(path.as_uri())
        page.element("body")
        page.shoot(f"27_phone_{path.stem}_of_{path.parent.parent.name}")
        wide = page.driver.execute_script(BEYOND, phone["width"])
        assert wide == [], f"{path.name}: {wide}"
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


BEYOND = """
const scrolls = node => /auto|scroll|hidden/.test(getComputedStyle(node).overflowX);
const scrolled = node => node && (scrolls(node) || scrolled(node.parentElement));
return [...document.querySelectorAll("body *")]
  .filter(node => node.getBoundingClientRect().right > arguments[0] + 1 && !scrolled(node.parentElement))
  .map(node => `${node.tagName}.${node.className}`)
  .concat(document.documentElement.scrollWidth > arguments[0] + 1 ? ["the page"] : []);
"""
"""What stands out of a page of this width and cannot be scrolled by itself."""


CONTRAST = """
const rgb = text => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
let behind = arguments[0];
while (behind && rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
const one = light(rgb(getComputedStyle(arguments[0]).color));
const other = light(rgb(behind ? getComputedStyle(behind).backgroundColor : 'rgb(255, 255, 255)'));
return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
"""
"""Contrast of an element's text with what is behind it, as WCAG 2 reckons it."""


def test_a_name_leads_to_the_student_report_and_on_to_the_feedback_page(course: Course, page: Window) -> None:
    """With the judge's message where the answer was wrong, and no hidden test."""
    page.open((course.reports(CHAPTER) / "report.html").as_uri())
    page.click("a", "Elif Aydın")
    page.element("h1", "GPU architecture")
    page.shoot("23_report_of_a_student")
    page.click("a", "Your notebook with every output and comment")
    page.element("h1, h4, .panel-heading", CHAPTER)
    page.shoot("23_feedback")
    source = page.driver.page_source
    assert "BEGIN HIDDEN TESTS" not in source
    assert_figures_are_described(page)


def assert_figures_are_described(page: Window) -> None:
    """nbconvert says so itself where an image has no words."""
    names = [one.accessible_name for one in page.all(".output_png img")]
    assert names
    assert all(name and "No description" not in name for name in names), names


def test_formgrader_lists_the_class(page: Window, jupyter: Server) -> None:
    page.open(jupyter.at("formgrader/gradebook"))
    page.click("a", CHAPTER)
    page.click("a", CHAPTER)  # the assignment's only notebook
    page.element("td", "Submission #", 60)
    page.shoot("24_formgrader")
    assert len(page.all("tbody tr")) == len(CLASS) - 1  # one cannot be read


def test_formgrader_shows_what_the_judge_said(course: Course, page: Window, jupyter: Server) -> None:
    """A submission as it was graded: the student's outputs, the judge's message, a field for the points."""
    with gradebook.open_gradebook(course) as book:
        submission = book.find_submission_notebook(CHAPTER, CHAPTER, "Elif Aydın").id
    page.open(jupyter.at(f"formgrader/submissions/{submission}/"))
    failed = page.element(".output_error pre", "you returned")
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", failed)
    page.shoot("25_formgrader_submission")
    assert "expected" in failed.text
    beyond = page.driver.execute_script("return arguments[0].scrollWidth - arguments[0].clientWidth", failed)
    assert beyond <= 0, "the judge's words have to be scrolled"
    assert_figures_are_described(page)


def test_points_given_by_hand_are_kept(course: Course, page: Window) -> None:
    """Typed in formgrader; they are in the gradebook, and reach the table for Moodle."""
    field = page.element("input.score")
    before = gradebook.recorded(course, course.chapter(CHAPTER))["Elif Aydın"]
    had = float(field.get_attribute("value") or field.get_attribute("placeholder") or 0)
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", field)
    field.clear()
    field.send_keys("0.5" + Keys.TAB)

    def points() -> float:
        return gradebook.recorded(course, course.chapter(CHAPTER))["Elif Aydın"]

    page.wait("the points in the gradebook", lambda: points() != before)
    assert points() == pytest.approx(before - had + 0.5)
    page.shoot("26_by_hand")
    grader(course.root, "report", CHAPTER)
    with (course.reports(CHAPTER) / "moodle.csv").open(encoding="utf-8", newline="") as file:
        (row,) = [row for row in csv.reader(file) if "Elif Aydın" in row]
    assert row[:3] == ["Participant 4713", "Elif Aydın", f"{points():g}"]
