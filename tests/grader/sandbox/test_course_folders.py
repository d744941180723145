"""Student code sees nothing of the course, wherever it and the interpreter lie; each tier proves that from inside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.sandbox import Tier, course_folders
from grader.sandbox.probe import best_tier

ROOT = Path(__file__).parents[3]
DRIVER = """
import json, sys
from minikey import RIGHT, make_key
from grader.judging.session import grade
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import Tier
from grader.sandbox.probe import refusals

LOOK = '''
import json, os, numpy, gpulab
seen = []
for folder, folders, files in os.walk({course!r}):
    for name in files:
        try:
            open(os.path.join(folder, name), "rb").close()
            seen.append(os.path.relpath(os.path.join(folder, name), {course!r}))
        except OSError:
            pass
print(json.dumps([seen, gpulab.__file__]))
'''
key = make_key()
found = {{}}
for tier in (Tier.FILES, Tier.NAMESPACES):
    if tier in refusals():
        found[tier.name] = refusals()[tier]
        continue
    parent = client.SubmissionServer(fork_server.LIGHT_MODULES, tier)
    answers = from_answers(key, {{**RIGHT, "double": LOOK + RIGHT["double"]}})
    result = grade(answers, key, student="s", seed=1, parent=parent)
    seen, where = json.loads(result.outputs["double"][0]["text"])
    found[tier.name] = [sorted({{path.split("/")[0] for path in seen}}), where, result.earned]
    parent.close()
print(json.dumps(found))
"""


def course_in(folder: Path) -> Path:
    """A course with secrets of every kind."""
    course = folder / "course"
    for name in ("solutions", "answers", "work", "notebooks"):
        (course / name).mkdir(parents=True)
        (course / name / "secret.txt").write_text("the answer")
    (course / "nbgrader_config.py").write_text("")
    for name in ("gpulab", "grader", "data"):
        shutil.copytree(ROOT / name, course / name, ignore=shutil.ignore_patterns("__pycache__"))
    return course


def seen_from(course: Path, python: str, paths: list[str]) -> dict[str, list[object]]:
    """What a student sees of the course, tier by tier: folders, where gpulab is, points for a right answer."""
    packages = [sysconfig.get_path("purelib"), str(ROOT / "tests")]
    done = subprocess.run(
        [python, "-P", "-c", DRIVER.format(course=str(course))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(course), *paths, *packages])},
        cwd=course,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[object]] = json.loads(done.stdout)
    return found


def assert_hidden(course: Path, found: dict[str, list[object]], visible: set[str]) -> None:
    for tier in (Tier.FILES, Tier.NAMESPACES):
        if tier > best_tier():
            continue
        assert isinstance(found[tier.name], list), found
        folders, where, earned = found[tier.name]
        assert set(folders) <= visible  # type: ignore[call-overload]
        assert where == str(course / "gpulab" / "__init__.py")
        assert earned == 5.0


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gpulab-course-") as path:
        Path(path).chmod(0o755)
        yield Path(path).resolve()


def test_a_virtual_environment_in_the_course_folder_itself_shows_no_course(folder: Path) -> None:
    """`python -m venv .` in the clone: the interpreter's prefix is the course."""
    course = course_in(folder)
    venv.create(course, symlinks=True, with_pip=False)
    visible = {"bin", "include", "lib", "lib64", "pyvenv.cfg", "gpulab", "data"}
    assert_hidden(course, seen_from(course, str(course / "bin" / "python"), []), visible)


def test_a_course_within_the_interpreters_folder_is_hidden(folder: Path) -> None:
    course = course_in(folder / "lib")  # below the prefix, in a part of it that an interpreter needs
    venv.create(folder, symlinks=True, with_pip=False)
    assert_hidden(course, seen_from(course, str(folder / "bin" / "python"), []), {"gpulab", "data"})


def test_a_course_in_usr_is_hidden() -> None:
    """Though `/usr` is visible as a whole otherwise."""
    if not os.access("/usr/local", os.W_OK):
        pytest.skip("nothing can be written to /usr/local here")
    with tempfile.TemporaryDirectory(prefix="gpulab-course-", dir="/usr/local") as path:
        Path(path).chmod(0o755)
        course = course_in(Path(path))
        assert_hidden(course, seen_from(course, sys.executable, []), {"gpulab", "data"})


def test_a_linked_course_is_hidden_and_works(folder: Path) -> None:
    course = course_in(folder)
    (folder / "link").symlink_to(course)
    assert_hidden(course, seen_from(course, sys.executable, [str(folder / "link")]), {"gpulab", "data"})


def test_an_environment_that_the_course_links_to_is_no_secret(folder: Path) -> None:
    course = course_in(folder)
    venv.create(folder / "environment", symlinks=True, with_pip=False)
    (course / ".venv").symlink_to(folder / "environment")
    found = seen_from(course, str(folder / "environment" / "bin" / "python"), [])
    assert_hidden(course, found, {".venv", "gpulab", "data"})


def test_a_link_to_grades_elsewhere_is_a_secret(folder: Path) -> None:
    course = course_in(folder)
    (folder / "grades").mkdir()
    (course / "grades").symlink_to(folder / "grades")
    visible = (str(course / "gpulab"), sys.prefix)
    assert str(course / "grades") in course_folders.secrets((str(course),), visible)


def test_another_course_among_the_packages_is_not_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = course_in(folder)
    monkeypatch.setattr(sys, "path", [*sys.path, str(other)])
    assert str(other) not in course_folders.interpreter_folders(())


PROBE = """
import sys
from grader.sandbox import course_folders, probe, root
course = sys.argv[1]
real = root.box_for
def careless(folder, work, courses):
    box = real(folder, work, courses)
    return root.Box(folder, work, (*box.read_only, course), box.courses)
root.box_for = careless
for tier in (probe.Tier.FILES, probe.Tier.NAMESPACES):
    print(probe.why_not(tier))
"""


def test_a_tier_that_shows_the_course_is_not_claimed(folder: Path) -> None:
    """The probe looks from inside: were the course open there, doctor would say so and the tier would not be had."""
    if best_tier() < Tier.NAMESPACES:
        pytest.skip("no confinement of tier 2 here")
    course = course_in(folder)
    packages = sysconfig.get_path("purelib")
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, str(course)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(course), packages])},
        cwd=course,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    said = done.stdout.splitlines()
    assert len(said) == 2
    assert all("the course would be open to students" in line for line in said), said


def test_what_can_be_opened_is_reported(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("x")
    with pytest.raises(OSError, match=r"key\.txt can be read in there"):
        course_folders.prove_hidden([str(tmp_path / "missing"), str(tmp_path / "key.txt")])
    course_folders.prove_hidden([str(tmp_path / "missing")])
