"""The same batch on a Dask cluster: the same gradebook, whichever process dies on the way."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from courses import LIGHT, NAME, ROOT, built_course
from distributed import Client
from disturbed import SEED, STUDENTS, assert_same, fill, kept, processes_with, undisturbed_course, wait_for

from grader.batch import cluster as cluster_module
from grader.batch import cluster_worker
from grader.batch.batch import grade_class
from grader.batch.cluster import Cluster
from grader.batch.cluster_worker import RemoteFault, Sealed, WorkerError, WorkerMachine, compare
from grader.judging.task import Task
from grader.model.course import Course, CourseError
from grader.model.limits import Limits
from grader.model.notebooks import load_key
from grader.model.records import load_results
from grader.model.results import Verdict
from grader.sandbox import Tier

pytestmark = pytest.mark.long


class Lab:
    """A scheduler and workers in processes of their own, with a marker in LD_LIBRARY_PATH that descendants keep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.scheduler, output = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        wait_for(lambda: re.search(r"Scheduler at: +(tcp://\S+)", output.read_text()))
        (self.address,) = re.findall(r"Scheduler at: +(tcp://\S+)", output.read_text())
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.drivers: list[subprocess.Popen[bytes]] = []

    def staff(self, *names: str) -> None:
        """Starts those of these workers that do not run; one thread each, and nobody to start them again."""
        started = []
        for name in names:
            if name not in self.workers or self.workers[name].poll() is not None:
                options = ("--nthreads", "1", "--no-nanny", "--death-timeout", "60")
                self.workers[name], output = self._start("worker", self.address, *options, marker=name)
                started.append(output)
        wait_for(lambda: all("Registered to" in output.read_text() for output in started))

    def kill(self, name: str) -> None:
        """Ends a worker so that it can do nothing about it."""
        self.workers[name].kill()
        self.workers[name].wait()

    def logs(self) -> str:
        return "".join(path.read_text() for path in self.folder.glob("*.log"))

    def _start(self, *arguments: str, marker: str = "lab") -> tuple[subprocess.Popen[bytes], Path]:
        output = self.folder / f"{arguments[0]}-{marker}.log"
        variables = {
            **os.environ,
            **LIGHT,
            "PYTHONPATH": str(ROOT),
            "LD_LIBRARY_PATH": f"/{self.marker(marker)}",
        }
        command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
        with output.open("wb") as file:
            process = subprocess.Popen(
                command, env=variables, stdout=file, stderr=file, cwd=self.folder, start_new_session=True
            )
        return process, output

    def marker(self, name: str) -> str:
        return f"{self.folder.name}-{name}-{os.getpid()}"

    def close(self) -> None:
        for process in (*self.workers.values(), self.scheduler):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Lab]]:
    """All labs of this module; the last one is in use."""
    labs = [Lab(tmp_path_factory.mktemp("labs") / "first")]
    yield labs
    for lab in labs:
        lab.close()


@pytest.fixture
def lab(labs: list[Lab]) -> Iterator[Lab]:
    """A running scheduler with two running workers; a test that ends one need not start another. Drivers end here."""
    if labs[-1].scheduler.poll() is not None:
        labs.append(Lab(labs[-1].folder.with_name(f"next-{len(labs)}")))
    labs[-1].staff("one", "two")
    yield labs[-1]
    for driver in labs[-1].drivers:
        driver.kill()
        driver.wait()


@pytest.fixture
def undisturbed() -> Course:
    """The class, graded on this machine alone."""
    return undisturbed_course()


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return fill(built_course(tmp_path / "course"))


def autograde(course: Course, lab: Lab, *options: str) -> subprocess.Popen[bytes]:
    """`grader autograde` on the cluster, in a process of its own."""
    variables = {
        **os.environ,
        **LIGHT,
        "PYTHONPATH": str(ROOT),
        "LD_LIBRARY_PATH": f"/{lab.marker('driver')}",
    }
    command = [sys.executable, "-m", "grader", "autograde", NAME, "--no-pages", "--seed", str(SEED), *options]
    command += ["--scheduler", lab.address, "--require-tier", "0"]
    with (lab.folder / "driver.log").open("ab") as log:
        lab.drivers.append(subprocess.Popen(command, cwd=course.root, env=variables, stdout=log, stderr=log))
    return lab.drivers[-1]


def test_the_gradebook_is_that_of_a_local_run(course: Course, undisturbed: Course, lab: Lab) -> None:
    """Row by row, executed notebooks and messages included; and no secret is in any log."""
    chapter, progress = course.chapter(NAME), []
    with Cluster(lab.address, Tier.LIMITS) as cluster:
        assert cluster.slots() == 2
        grade_class(
            course,
            chapter,
            course.submitted,
            key=load_key(chapter),
            slots=1,
            seed=SEED,
            cluster=cluster,
            on_progress=progress.append,
        )
    assert_same(course, undisturbed)
    assert {one.state for one in progress} == {"graded", "unreadable"}
    said = lab.logs()
    assert "Registered to" in said
    for secret in ("the_whole_secret", "the square, not the double", str(SEED), "student-1"):
        assert secret not in said


@pytest.mark.slow
def test_whoever_dies_on_the_way_the_gradebook_is_the_same(course: Course, undisturbed: Course, lab: Lab) -> None:
    """A worker is killed, then the driver, which is started again: nothing is lost, nothing graded twice, and nothing
    outlives those who started it.
    """
    driver = autograde(course, lab)
    wait_for(lambda: len(kept(course)) >= 1 or driver.poll() is not None)
    assert len(processes_with(lab.marker("one"))) >= 2  # it, its fork server, and a student's process perhaps
    lab.kill("one")
    wait_for(lambda: not processes_with(lab.marker("one")), 10)
    at_death = len(kept(course))
    wait_for(lambda: len(kept(course)) > at_death or driver.poll() is not None)  # the other one goes on
    driver.kill()
    driver.wait()
    before = kept(course)
    assert at_death < len(before) < STUDENTS - 1
    wait_for(lambda: not processes_with(lab.marker("driver")), 10)
    lab.staff("one")
    again = autograde(course, lab)
    assert again.wait(480) == 0, lab.logs()
    after = kept(course)
    assert {student: after[student] for student in before} == before
    assert_same(course, undisturbed)


def test_workers_of_another_version_are_refused(course: Course, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "harness_digest", lambda: "another version")
    with pytest.raises(WorkerError, match=r"tcp://\S+: the worker runs another version of the grader\. Install"):
        Cluster(lab.address, Tier.LIMITS)


def test_a_worker_that_comes_later_is_looked_at_too(course: Course, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first look saw is also what every task insists on."""
    chapter = course.chapter(NAME)
    with Cluster(lab.address, Tier.LIMITS) as cluster:
        monkeypatch.setattr(cluster, "machine", lambda: WorkerMachine("another version", cluster.gpus, Tier.LIMITS))
        with pytest.raises(WorkerError, match="another version of the grader"):
            grade_class(course, chapter, course.submitted, key=load_key(chapter), slots=1, cluster=cluster)
    assert {result.student for result in load_results(course, NAME)} <= {"student-0"}  # who sent no notebook


@pytest.mark.slow
def test_a_submission_whose_workers_all_die_is_pending(course: Course, undisturbed: Course, lab: Lab) -> None:
    """Its points are neither earned nor lost, the rest of the class is graded, and the next run settles it."""
    with Client(lab.address, set_as_default=False) as client:
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    driver = autograde(course, lab)
    wait_for(lambda: len(kept(course)) >= 2 or driver.poll() is not None)
    lab.kill("one")
    assert driver.wait(480) == 1, lab.logs()
    pending = [result for result in load_results(course, NAME) if result.pending > 1]
    assert [{cell.verdict for cell in result.cells} for result in pending] == [{Verdict.HARNESS_ERROR}]
    log = course.work / "logs" / NAME / f"{pending[0].student}.log"
    assert "KilledWorker" in log.read_text()
    assert autograde(course, lab).wait(480) == 0
    assert_same(course, undisturbed)


def test_a_scheduler_that_ends_ends_the_run_with_one_line(
    course: Course, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 2.0)
    chapter, cluster = course.chapter(NAME), Cluster(lab.address, Tier.LIMITS)
    with pytest.raises(CourseError, match=r"the scheduler has ended\. .*run the same command again"), cluster:
        grade_class(
            course,
            chapter,
            course.submitted,
            key=load_key(chapter),
            slots=1,
            cluster=cluster,
            on_progress=lambda one: lab.scheduler.kill(),
        )
    lab.close()
    assert 1 <= len(load_results(course, NAME)) < STUDENTS


HERE = WorkerMachine("digest", ("NVIDIA H200",), Tier.FILES)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (WorkerMachine("other", HERE.gpus, HERE.tier), "another version"),
        (WorkerMachine(HERE.harness, (), HERE.tier), r"other GPUs \(none\) than another one \(NVIDIA H200\)"),
        (
            WorkerMachine(HERE.harness, HERE.gpus, Tier.LIMITS),
            r"to tier 0 \(limits\), and tier 1 \(files\) is required",
        ),
    ],
)
def test_a_machine_that_would_grade_otherwise_is_refused(machine: WorkerMachine, words: str) -> None:
    with pytest.raises(WorkerError, match=words):
        compare("tcp://w", machine, HERE)
    compare("tcp://w", WorkerMachine(HERE.harness, HERE.gpus, Tier.NAMESPACES), HERE)


def test_no_scheduler_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 1.0)
    with pytest.raises(CourseError, match=r'tcp://127\.0\.0\.1:9: no Dask scheduler answers .* "dask scheduler"'):
        Cluster("tcp://127.0.0.1:9", Tier.LIMITS)
    with pytest.raises(CourseError, match="no Dask scheduler answers"):
        Cluster("nonsense://x", Tier.LIMITS)


def test_no_worker_is_said_in_one_line(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "lab")
    try:
        with pytest.raises(CourseError, match=r'has had no worker for 0\.5 s\. Start some: "dask worker tcp'):
            Cluster(lab.address, Tier.LIMITS, patience_seconds=0.5)
    finally:
        lab.close()


def test_what_may_be_logged_holds_no_secret() -> None:
    """Dask logs the arguments of tasks that fail."""
    task = Task("anna", "anna.ipynb", b"my answer", SEED, "fingerprint", Limits())
    assert str(SEED) not in repr(task) and "my answer" not in repr(task)
    assert repr(Sealed("the tests")) == "Sealed(str)"
    assert "the tests" not in repr((task, Sealed("the tests")))


@pytest.mark.parametrize("error", [RemoteFault("KeyError: 'x'", "Traceback …"), WorkerError("w", "is ill", "Fix it.")])
def test_faults_survive_the_journey(error: Exception) -> None:
    same = pickle.loads(pickle.dumps(error))
    assert (type(same), str(same), vars(same)) == (type(error), str(error), vars(error))


def test_the_worker_side_needs_no_dask_to_be_looked_at() -> None:
    """The driver's own machine is described by the same function."""
    here = cluster_worker.this_machine()
    assert re.fullmatch("[0-9a-f]{64}", here.harness)
    assert here.tier in Tier
