"""Grades right and wrong answers of real chapters in many surroundings, and compares: only the answer may count.

    python tests/surroundings.py [surrounding …]

Each surrounding is a driver of its own: with variables set, modes or limits changed, the checkout elsewhere, or another
user. The exercises are those that start processes, compile, or write files. Exits with 1 when points or a message
differ from those of the plain surrounding; a surrounding that this machine cannot have is named with the reason.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXERCISES = (
    "01:copy_bandwidth", "02:vec_add", "02:saxpy", "02:add_bias", "02:scale_rows", "02:SAXPY_CU", "03:block_reverse",
    "03:moving_average", "03:total", "03:transpose_tiled", "03:matmul_tiled", "03:histogram", "03:WARP_SUM_CU",
    "03:SCAN_CU", "04:WMMA_CU", "04:padded_linear", "04:matmul_tflops", "05:train_lightning", "06:transfer_bandwidth",
    "06:overlapped", "07:run_ring", "07:DDP_SCRIPT", "07:LIGHTNING_SCRIPT", "08:profile_step", "08:SLOW_LOOP",
    "09:export_onnx", "09:accuracy_cost", "10:triton_add_mul", "10:triton_softmax", "10:triton_layer_norm",
    "10:triton_matmul_relu", "10:flash_attention", "11:zero1_step", "11:FSDP_SCRIPT", "11:tensor_parallel_mlp",
    "11:RESTART_SCRIPT",
)  # fmt: skip
MEASURED = frozenset({"copy_bandwidth", "matmul_tflops", "transfer_bandwidth"})
"""Exercises whose wrong answers are told what they measured: numbers in their messages differ each time."""
FEW = ("07:run_ring", "09:export_onnx")
"""For every test run."""
COURSE = ("gpulab", "grader", "data", "solutions", "notebooks", "answers", "nbgrader_config.py", "pyproject.toml")
SEED = 20_261_122
NOBODY = 65_534
TIMEOUT_SECONDS = 900.0
SECONDS_TO_CHANGE = 5.0
"""Until the clocks change: the driver has started then, and still grades."""
PATIENT = {"cell_seconds": 120.0, "call_seconds": 120.0, "test_seconds": 240.0, "launch_seconds": 60.0}
"""Limits of time that a busy machine keeps too: what is compared here is no speed."""
Outcome = dict[str, list[list[object]]]


class Impossible(Exception):
    """This machine cannot have the surrounding."""


@dataclass(frozen=True)
class Surrounding:
    """What is different about a driver."""

    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables to set; `{folder}` stands for a folder of its own."""
    files: dict[str, str] = field(default_factory=dict)
    """Path in that folder → what is written there, for all to read."""
    without: tuple[str, ...] = ()
    """Environment variables to remove."""
    first: Callable[[], object] | None = None
    """Done in the driver's process before it starts."""
    namespaces: str = ""
    """Options of `unshare` for namespaces of its own; empty for none."""
    inside: str = ""
    """A shell command that is run in them before the driver."""
    timezone: Callable[[], str] | None = None
    """Makes the value of `TZ` when the driver starts."""
    checkout: str = ""
    """A name for a copy of the course to grade from; empty for this one."""
    prepare: Callable[[Path], Path] = lambda course: course
    """Makes something else of that copy, and says where to grade from."""


def only_root() -> None:
    if os.getuid() != 0:
        raise Impossible("needs root")


def as_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def read_only(course: Path) -> Path:
    subprocess.run(["chmod", "-R", "a-w", str(course)], check=True)
    return course


def symlinked(course: Path) -> Path:
    link = course.with_name("a link")
    link.symlink_to(course)
    return link


def open_to_others(course: Path) -> Path:
    """For another user, who must be able to start Python too."""
    only_root()
    for path in (Path(sys.executable).resolve(), Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()):
        closed = [folder for folder in (path, *path.parents) if not folder.stat().st_mode & 0o001]
        if closed:
            raise Impossible(f"other users cannot run this Python: {closed[-1]} is closed to them")
    subprocess.run(["chmod", "-R", "a+rX", str(course)], check=True)
    return course


def clocks_change(direction: int) -> str:
    """A time zone whose clocks go on or back by an hour (+1 or -1) some seconds from now."""
    change = time.gmtime(time.time() + SECONDS_TO_CHANGE + (3600 if direction < 0 else 0))  # written in daylight time
    at = f"{change.tm_yday - 1}/{change.tm_hour}:{change.tm_min:02}:{change.tm_sec:02}"
    half_a_year_off = (change.tm_yday + 182) % 365
    start, end = (at, half_a_year_off) if direction > 0 else (half_a_year_off, at)
    return f"STD0DST-1,{start},{end}"


SURROUNDINGS = {
    "plain": Surrounding(),
    "TMPDIR": Surrounding({"TMPDIR": "{folder}"}),
    "umask 077": Surrounding(first=lambda: os.umask(0o077)),
    "HOME unset": Surrounding(without=("HOME",)),
    "HOME read-only": Surrounding({"HOME": "/proc/sys"}),
    "LANG=C": Surrounding({"LANG": "C", "LC_ALL": "C"}),
    "proxies": Surrounding(
        dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://192.0.2.1:9")
    ),
    "ranks": Surrounding(
        {"MASTER_ADDR": "192.0.2.1", "MASTER_PORT": "1", "WORLD_SIZE": "7", "RANK": "5", "LOCAL_RANK": "3"}
    ),
    "threads": Surrounding({"OMP_NUM_THREADS": "64", "MKL_NUM_THREADS": "64"}),
    "no GPU visible": Surrounding({"CUDA_VISIBLE_DEVICES": ""}),
    "PYTHONPATH": Surrounding({"PYTHONPATH": "{folder}"}),
    "MPI": Surrounding(
        {"PYTHONPATH": "{folder}"}, files={"mpi4py/__init__.py": "", "mpi4py/MPI.py": "import os\n\nos._exit(1)\n"}
    ),
    "PYTHONWARNINGS": Surrounding({"PYTHONWARNINGS": "always", "PYTHONOPTIMIZE": "2"}),
    "LD_PRELOAD": Surrounding({"LD_PRELOAD": "libm.so.6"}),
    "64 open files": Surrounding(first=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))),
    "spaces and accents": Surrounding(checkout="mein Kurs für später, déjà vu"),
    "read-only checkout": Surrounding(checkout="read only", prepare=read_only),
    "symlinked checkout": Surrounding(checkout="linked", prepare=symlinked),
    "ordinary user": Surrounding(checkout="nobody", prepare=open_to_others, first=as_nobody, without=("HOME",)),
    "no user namespaces": Surrounding(namespaces="-Ur", inside="echo 0 > /proc/sys/user/max_user_namespaces"),
    "/tmp without exec": Surrounding(
        namespaces="-m", inside="mount --bind /tmp /tmp; mount -o remount,bind,noexec /tmp"
    ),
    "no /dev/shm": Surrounding(namespaces="-m", inside="mount -t tmpfs -o ro,mode=0 none /dev/shm"),
    "an hour skipped": Surrounding(timezone=lambda: clocks_change(+1)),
    "an hour repeated": Surrounding(timezone=lambda: clocks_change(-1)),
    "all at once": Surrounding(
        {
            "TMPDIR": "{folder}", "LANG": "C", "LC_ALL": "C", "http_proxy": "http://192.0.2.1:9", "RANK": "5",
            "WORLD_SIZE": "7", "MASTER_ADDR": "192.0.2.1", "OMP_NUM_THREADS": "64", "PYTHONWARNINGS": "always",
            "PYTHONOPTIMIZE": "2", "LD_PRELOAD": "libm.so.6",
        },
        without=("HOME",),
        first=lambda: (os.umask(0o077), resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))),
    ),
}  # fmt: skip


def outcomes(name: str, exercises: tuple[str, ...] = EXERCISES) -> Outcome:
    """What each answer earns in a surrounding: exercise and kind → verdict, points and message of each of its tests.

    Raises:
        Impossible: this machine cannot have the surrounding.
        RuntimeError: the driver failed.
    """
    one = SURROUNDINGS[name]
    with checkout(one) as course, tempfile.TemporaryDirectory(prefix="gpulab surroundings ") as folder:
        Path(folder).chmod(0o755 if one.files else 0o700)
        for path, text in one.files.items():
            Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, path).write_text(text)
        variables = {key: value for key, value in os.environ.items() if key not in one.without}
        own = {key: value.format(folder=folder) for key, value in one.variables.items()}
        paths = [str(course), *filter(None, [own.get("PYTHONPATH")])]
        if one.timezone:
            own["TZ"] = one.timezone()
        done = subprocess.run(
            [*apart(one), sys.executable, "-P", str(Path(__file__).resolve()), "--grade", str(course), *exercises],
            env={**variables, **own, "PYTHONPATH": os.pathsep.join(paths)},
            cwd="/",
            preexec_fn=one.first,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-3000:]}")
    found: Outcome = json.loads(done.stdout.splitlines()[-1])
    return found


def apart(one: Surrounding) -> list[str]:
    """The command before the driver's own: it makes the namespaces and what is different in them.

    Raises:
        Impossible: this machine does not let us.
    """
    if not one.namespaces:
        return []
    command = ["unshare", one.namespaces, "sh", "-ec", f'{one.inside}; exec "$@"', "sh"]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise Impossible(tried.stderr.strip())
    return command


@contextmanager
def checkout(one: Surrounding) -> Iterator[Path]:
    """The course that a surrounding grades from."""
    if not one.checkout:
        yield ROOT
        return
    folder = tempfile.mkdtemp(prefix="gpulab-surroundings-")
    try:
        Path(folder).chmod(0o755)
        course = Path(folder) / one.checkout
        course.mkdir()
        for name in COURSE:
            source = ROOT / name
            shutil.copytree(source, course / name) if source.is_dir() else shutil.copy(source, course / name)
        yield one.prepare(course)
    finally:
        subprocess.run(["chmod", "-R", "u+w", folder], check=False)
        shutil.rmtree(folder)


def graded(course: Path, exercises: list[str]) -> Outcome:
    """The driver's side: the first right and the first wrong answer of each exercise."""
    from grader.authoring.answers import AnswerKind, load
    from grader.judging.session import grade
    from grader.model.course import Course
    from grader.model.limits import Limits
    from grader.model.notebooks import load_key
    from grader.model.submission import from_answers

    found: Outcome = {}
    for which in exercises:
        number, _, exercise = which.partition(":")
        chapter = Course(course).chapter(number)
        key = load_key(chapter)
        bank = [one for one in load(chapter.answers, key) if one.exercise == exercise and not one.gpu]
        tests = frozenset(cell.grade_id for cell in key.tests if cell.exercise == exercise)
        for kind in (AnswerKind.RIGHT, AnswerKind.WRONG):
            answer = next(one for one in bank if one.kind is kind and not one.endless)
            submission = from_answers(key, {exercise: answer.source})
            result = grade(submission, key, student="s", seed=SEED, only=tests, limits=Limits(**PATIENT))
            found[f"{exercise} {kind.value}"] = [
                [cell.verdict.value, cell.earned, told(cell.message, exercise)] for cell in result.cells
            ]
    return found


def told(message: str, exercise: str) -> str:
    """A message, without numbers where they are measured."""
    return re.sub(r"\d[\d.e+]*", "#", message) if exercise in MEASURED else message


def main(names: list[str]) -> int:
    """Tries surroundings and prints a line for each: 0 when all agree with the plain one."""
    plain = outcomes("plain")
    print(json.dumps(plain, indent=1))
    different = 0
    for name in names or [name for name in SURROUNDINGS if name != "plain"]:
        try:
            found = outcomes(name)
        except Impossible as reason:
            print(f"{name}: not possible here: {reason}")
            continue
        except RuntimeError as error:
            found = {}
            print(error)
        changed = {answer: cells for answer, cells in found.items() if cells != plain[answer]}
        agrees = found.keys() == plain.keys() and not changed
        different += not agrees
        print(f"{name}: {'as in the plain one' if agrees else f'differs: {json.dumps(changed)}'}", flush=True)
    return int(bool(different))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--grade"]:
        print(json.dumps(graded(Path(sys.argv[2]), sys.argv[3:])))
        sys.exit()
    sys.exit(main(sys.argv[1:]))
