"""Measures what stock nbgrader makes of the bank, and writes it into the files' headers.

    PYTHONPATH=.:tests python -m hostile.stock [NAME…]

Each submission is graded by `nbgrader autograde`, with nbgrader's own settings, in a course of its own. nbgrader does
not confine what it runs, so this does, from outside: namespaces that it cannot leave (only `/tmp`, a file system in
memory, can be written; no network; an ordinary user), a control group, and a time limit. Takes a quarter of an hour.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import nbformat
from hostile import attacks, chapter
from hostile.attacks import Attack

from gpulab.forkserver.process_control import die_with_parent
from grader.sandbox import cgroups, kernel

COURSE = Path("/tmp/course")
SECONDS = 150
"""For one submission; nbgrader itself gives a cell 30 s."""
MEMORY_BYTES, PROCESSES = 3_000_000_000, 400
VERSION = f"nbgrader {importlib.metadata.version('nbgrader')}"
OUR_PROTOCOL = "not run: aims at our own processes"
NETWORK = {"asks_the_network", "local_server_asked", "other_sockets"}
NO_NETWORK = "not run: no network while it is measured"


def main(names: list[str]) -> None:
    """Measures the attacks with these names, or all, and notes each at once."""
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "course"
        make_course(template)
        for attack in attacks.load():
            if names and attack.name not in names:
                continue
            ours = any(re.search(r"\bgrader\.(?:student|wire)", source) for _, source in attack.cells)
            if ours or attack.name in NETWORK:
                text = OUR_PROTOCOL if ours else NO_NETWORK
            else:
                text = measure(attack, template)
            note(attacks.FOLDER / f"{attack.name}.py", text)
            print(f"{attack.name}: {text}", flush=True)


def make_course(folder: Path) -> None:
    """A course as `nbgrader quickstart` makes one, with the chapter released."""
    key = chapter.make_key()
    source = folder / "source" / chapter.NAME
    source.mkdir(parents=True)
    data = chapter.notebook({cell.id: cell.source for cell in key.cells})
    for cell in data["cells"]:
        if cell["id"] in chapter.EXERCISES:
            cell["source"] = _with_region(cell["source"])
    nbformat.write(nbformat.from_dict(data), source / f"{chapter.NAME}.ipynb")
    (folder / "nbgrader_config.py").write_text(f"c = get_config()\nc.CourseDirectory.root = {str(folder)!r}\n")
    code, log = run_nbgrader(folder, "generate_assignment", chapter.NAME)
    if code:
        raise RuntimeError(log)
    (folder / "nbgrader_config.py").write_text(f"c = get_config()\nc.CourseDirectory.root = {str(COURSE)!r}\n")


def _with_region(source: str) -> str:
    """A right answer with its body, or all of it, marked as the solution."""
    head, _, body = source.partition("\n    ")
    indent = "    " if body else ""
    lines = [f"{indent}### BEGIN SOLUTION", f"{indent}{body or head}", f"{indent}### END SOLUTION"]
    return "\n".join([head, *lines] if body else lines)


def run_nbgrader(folder: Path, *arguments: str) -> tuple[int, str]:
    """Runs nbgrader in a course's folder; its exit status, and what it said."""
    program = Path(sys.executable).with_name("nbgrader")
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder), "OMP_NUM_THREADS": "1", "JUPYTER_PLATFORM_DIRS": "1"}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2]), "HOSTILE_SECRET": "hush"}
    log = folder / "nbgrader.log"
    with log.open("wb") as file:  # not a pipe: what an attack leaves running would keep it open
        done = subprocess.run([program, *arguments], cwd=folder, env=environment, stdout=file, stderr=file, check=False)
    return done.returncode, log.read_text(errors="replace")


def measure(attack: Attack, template: Path) -> str:
    """What stock nbgrader makes of one attack, as the header says it."""
    data = attack.data()
    group = cgroups.create(f"{os.getpid()}-stock", MEMORY_BYTES, PROCESSES)
    if group is None:
        raise RuntimeError("no control groups can be made here: not without them")
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            group.add(os.getpid())
            confined(lambda: grade(data, template), writing)
        except BaseException:
            os.write(writing, json.dumps({"failed": traceback.format_exc()[-2000:]}).encode())
        finally:
            os._exit(0)
    os.close(writing)
    found = b""
    deadline = time.monotonic() + SECONDS
    try:
        while select.select([reading], [], [], max(0.0, deadline - time.monotonic()))[0]:
            chunk = os.read(reading, 65_536)
            if not chunk:
                break
            found += chunk
        timed_out = time.monotonic() >= deadline
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        group.remove()
    if not found:
        return f"{VERSION}: " + (f"no end within {SECONDS} s" if timed_out else "the grader was killed")
    answer = json.loads(found)
    if "failed" in answer:
        raise RuntimeError(answer["failed"])
    return f"{VERSION}: {describe(attack, answer)}"


def confined(action, writing: int) -> None:
    """Runs an action as the first process of its own namespaces, and sends what it returns into the pipe."""
    uid, gid = os.getuid(), os.getgid()
    spaces = kernel.NEW_MOUNTS | kernel.NEW_HOSTNAME | kernel.NEW_IPC | kernel.NEW_PIDS | kernel.NEW_NETWORK
    die_with_parent()
    kernel.unshare(spaces | kernel.NEW_USERS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"1000 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"1000 {gid} 1")
    kernel.loopback_up()
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.PRIVATE)
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", kernel.NO_SETUID | kernel.NO_DEVICES, "size=200m,mode=1777")
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    die_with_parent()
    kernel.mount("proc", "/proc", "proc", kernel.NO_SETUID | kernel.NO_DEVICES | kernel.NO_EXECUTE)
    os.write(writing, json.dumps(action()).encode())
    os._exit(0)


def grade(data: bytes, template: Path) -> dict[str, object]:
    """Grades one submission in a copy of the course, and says what the gradebook holds then."""
    # The copy first goes into memory, since the new /tmp hides the folder that it comes from.
    kept = {path.relative_to(template): path.read_bytes() for path in template.rglob("*") if path.is_file()}
    kernel.mount("tmpfs", "/tmp", "tmpfs", kernel.NO_SETUID | kernel.NO_DEVICES, "size=400m,mode=1777")
    for path, content in kept.items():
        (COURSE / path).parent.mkdir(parents=True, exist_ok=True)
        (COURSE / path).write_bytes(content)
    submitted = COURSE / "submitted" / "s" / chapter.NAME
    submitted.mkdir(parents=True)
    (submitted / f"{chapter.NAME}.ipynb").write_bytes(data)
    for place in ("/", *{line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()}):
        if place not in ("/tmp", "/dev/shm", "/proc") and not place.startswith(("/proc/", "/dev/")):
            try:
                kernel.set_mount_flags(place, kernel.READ_ONLY, recursive=False)
            except OSError:
                continue  # not there under this name any more
    kernel.drop_capabilities()
    kernel.no_new_privileges()
    code, log = run_nbgrader(COURSE, "autograde", chapter.NAME)
    others = [path for path in Path("/proc").glob("[0-9]*") if path.name != "1" and _alive(path)]
    return {"code": code, "log": log[-6000:], "scores": scores(), "left": len(others)}


def _alive(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def scores() -> dict[str, tuple[float | None, float]]:
    """Test cell → points and most points, as the gradebook has them; empty when nothing is recorded."""
    import sqlite3

    query = """
        select base_cell.name, grade.auto_score, grade_cells.max_score from grade
        join grade_cells on grade_cells.id = grade.cell_id join base_cell on base_cell.id = grade.cell_id
    """
    with sqlite3.connect(f"file:{COURSE}/gradebook.db?mode=ro", uri=True) as book:
        return {name: (points, most) for name, points, most in book.execute(query)}


def describe(attack: Attack, answer: dict) -> str:
    """The outcome in the header's words."""
    wanted = [name for name, one in attack.gets.items() if one.verdict != "not attempted"] or list(chapter.POINTS)
    parts = []
    for name in wanted:
        points, most = answer["scores"].get(name, (None, chapter.POINTS[name]))
        parts.append(f"{name} {'none' if points is None else f'{points:g}'}/{most:g}")
    text = ", ".join(parts)
    if answer["code"] or all(points is None for points, _ in answer["scores"].values()):
        reasons = re.findall(r"^ *(?:\w+\.)*(\w+(?:Error|Exception|Entry|Interrupt)\b)", answer["log"], re.MULTILINE)
        text = f"nothing recorded ({reasons[-1] if reasons else 'exit status ' + str(answer['code'])})"
    if answer["left"]:
        text += f", {answer['left']} processes left"
    return text


def note(path: Path, text: str) -> None:
    """Writes the `stock` line into the header of a file of the bank."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    head = next(index for index, line in enumerate(lines) if line.startswith("# %%"))
    kept = []
    inside = False
    for line in lines[:head]:
        inside = line.startswith("# stock:") or (inside and line.startswith("#   "))
        if not inside:
            kept.append(line)
    path.write_text("".join([*kept, f"# stock: {text}\n", *lines[head:]]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
