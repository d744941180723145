"""The grader's fork server: forks the processes of each submission, students' confined before their first line.

It holds nothing secret: whatever is in its memory is in that of every student process. `client` asks it, and
`gpulab.forkserver` is how it is asked, forks and ends.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpulab.forkserver.forking import has_ended, keep_only, take_streams
from gpulab.forkserver.process_control import adopt_orphans
from gpulab.forkserver.server import ForkingServer, ForkRequest, Ready
from grader import sandbox
from grader.processes import preload
from grader.processes.box_server import confinement
from grader.processes.watcher import exit_code_of, fork_watched, watch_worker
from grader.sandbox import Confinement, Tier, cgroups, course_folders, kernel, tiers

MODULES = (
    "numpy", "matplotlib.pyplot", "torch", "torchvision", "numba", "gpulab.*",
    "ipykernel.kernelapp", "IPython.core.completerlib", "IPython.core.oinspect", "stack_data",
    "pygments.formatters.terminal256", "pygments.lexers.python",
)  # fmt: skip
"""Imported before the first fork; a student's or test's own import of them then costs nothing. The last few are what
IPython leaves for its first cell and its first traceback; `.*` stands for every module of a package but those that
`preload` is for."""
LIGHT_MODULES = ("numpy", "gpulab", "gpulab.check.assertions")
"""Enough for tests of the harness itself."""
EXERCISES = "grader.exercises"
"""Never imported here: a fork inherits `sys.modules`. Judges, and the processes of references, import it themselves."""
ROLES = {"judge": "grader.judging.judge", "student": "grader.judging.student"}
"""What a fork becomes. Named and not imported by name: grading is built on this package, not the other way round."""
CONNECTION = 3
"""The file descriptor of a student's process that its requests come from: below all that it opens itself."""
SHELL = "grader.judging.shell"
"""IPython as students' processes run it, made ready before the first fork."""
SYSTEM_PATH = ("/usr/local/cuda/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
ENVIRONMENT = {
    "PATH": os.pathsep.join((str(Path(sys.executable).parent), *SYSTEM_PATH)),
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # else asking for a GPU initializes CUDA, which does not survive a fork
    "ORT_DISABLE_TELEMETRY": "1",  # else ONNX Runtime starts a thread, in the parent too
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""The same wherever a submission is graded: nothing of the grader's own surroundings may decide about points."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Of these, what bounds threads: a submission has one core, a notebook of the author's own has them all."""
MACHINE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")
"""What is passed on as it is: which GPU is ours to use, and where this machine keeps its driver's libraries and its
CUDA toolkit, in which Numba looks for its compiler where no wheel holds it."""
KEPT_VARIABLES = (*MACHINE_VARIABLES, "PYTHONPATH")
"""All that a student's process sees of its parent's environment."""
NOT_HERE = ("mpi4py",)
"""Modules that a student's process does not have, installed or not. Lightning imports MPI to ask whether that started
the process; where MPI finds no network and no programs of its own, as in a sandbox, it ends the process."""
OWN_VARIABLES = (*MACHINE_VARIABLES, "HOME", "GPULAB_HOME", "GPULAB_DATA", "NUMBA_CACHE_DIR")
"""All of the driver's environment that the fork server is started with: what a process was started with stays readable
in its forks. Not TMPDIR: it names a folder that the students' file system does not have."""


class GraderServer(ForkingServer):
    """Forks the processes of submissions, and Jupyter kernels."""

    def __init__(self) -> None:
        super().__init__()
        self._own = os.pidfd_open(os.getpid())

    @contextlib.contextmanager
    def forking(self, request: ForkRequest, descriptors: Sequence[int]) -> Iterator[None]:
        """Forks a student's process into its box at once where this process can come back from there, which root can.

        Raises:
            OSError: the box is gone.
            RuntimeError: it cannot come back; it must end.
        """
        boxes: Sequence[int] = ()
        if request["op"] == "student":
            settings, boxes = confinement(request), descriptors[2:]
            course_folders.secrets(settings.box.courses, settings.box.read_only)  # a fork knows what its parent knew
        if not boxes or os.getuid():
            yield
            return
        sandbox.join_processes(*boxes)
        try:
            yield
        finally:
            try:
                sandbox.join_processes(self._own)
            except OSError as error:
                raise RuntimeError("this fork server cannot leave a box") from error

    def prepare(self) -> None:
        """Imports what forks become, and makes the shell of all students' processes."""
        for name in ROLES.values():
            importlib.import_module(name)
        importlib.import_module(SHELL).prepare()

    def settle(self) -> None:
        """See `ForkingServer`; there are few pages to keep books on, too.

        Raises:
            RuntimeError: an import has brought along what hidden tests need; students' processes would inherit it.
        """
        if secret := sorted(name for name in sys.modules if name == EXERCISES or name.startswith(f"{EXERCISES}.")):
            told = ", ".join(secret)
            raise RuntimeError(f"the fork server has imported {told}: nothing that it imports may import that")
        gc.collect()
        super().settle()
        kernel.use_huge_pages()

    def become(self, ready: Ready, request: ForkRequest, descriptors: list[int]) -> int:
        """Becomes a student's or a judge's process, or a kernel."""
        if request["op"] != "kernel":
            first_to_go()
        if request["op"] == "judge":
            ready()
            keep_only(descriptors)
            sys.modules[ROLES["judge"]].main(descriptors[0])
        elif request["op"] == "kernel":
            ready()
            become_kernel(request, descriptors)
        else:
            become_student(ready, request, descriptors, self._own)
        return 0


def expanded(modules: list[str]) -> list[str]:
    """The names, with all modules of a package in place of `package.*`."""
    found = []
    for name in modules:
        if name.endswith(".*"):
            with contextlib.suppress(ImportError):
                package = importlib.import_module(name.removesuffix(".*"))
                inner = [one.name for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
                found += preload.for_all(inner)
        else:
            found.append(name)
    return found


# -------------------------------------------------------------------------------------------------- in a forked child


def become_student(ready: Ready, request: ForkRequest, descriptors: list[int], server: int) -> None:
    """Confines itself, tells the driver that it is ready, and serves requests.

    Args:
        ready: see `ForkingServer.become`.
        request: see `ForkingServer.become`.
        descriptors: for requests and for raw output; in tier 2, the first process of its box too.
        server: the fork server, a descriptor of `os.pidfd_open`.
    """
    settings = confinement(request)
    connection, output, *boxes = descriptors
    kernel.close_to_debuggers(False)  # else an ordinary user may not even set up its own user namespace
    for folder in request.get("group", ()):
        cgroups.join(Path(folder))
    watcher = server
    if settings.tier < Tier.NAMESPACES:
        watcher = os.pidfd_open(os.getpid())
        adopt_orphans()
        if worker := fork_watched():
            keep_only([])
            watch_worker(worker, settings.uid)
        os.setsid()
    elif os.getuid():  # root alone can leave a box again, so that the fork server leads the way: see `forking`
        watcher = os.pidfd_open(os.getpid())
        sandbox.join_processes(*boxes)
        if worker := os.fork():
            keep_only([])
            os._exit(exit_code_of(worker))
        os.setsid()
    sandbox.enter(settings, *boxes)
    end_without(watcher)
    ready(inner=os.getpid())
    serve(settings, connection, output)


def end_without(watcher: int) -> None:
    """Ends this process when the one that watches over it has ended: before the kernel was asked to see to that."""
    if has_ended(watcher):
        os._exit(1)


def serve(settings: Confinement, connection: int, output: int) -> None:
    """Runs student code from here on."""
    take_streams((os.open("/dev/null", os.O_RDONLY), output, output, connection), keep=[CONNECTION])
    home = str(Path.cwd())
    temporary = "/tmp" if settings.tier == Tier.NAMESPACES else home
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    os.environ.clear()
    os.environ.update(kept)
    places = {"HOME": home, "TMPDIR": temporary, "IPYTHONDIR": f"{temporary}/.ipython", "MPLCONFIGDIR": temporary}
    places["TRITON_HOME"] = home  # Triton asked for HOME when it was imported, before the fork: it was the driver's
    # A name, for the box's uid has none and getpass.getuser() would fail: the ONNX exporter of torch 2.11 asks for it.
    os.environ.update({**places, **ENVIRONMENT, "GPULAB_HOME": f"{temporary}/.gpulab", "LOGNAME": "student"})
    tempfile.tempdir = None  # an import may have asked for it: in another file system
    sys.path[:] = ["", *(path for path in sys.path if path)]  # as in a notebook: the working directory first
    sys.modules.update(dict.fromkeys(NOT_HERE))  # type: ignore[arg-type]  # None: it cannot be imported
    sys.modules[ROLES["student"]].main(CONNECTION)


def become_kernel(request: ForkRequest, descriptors: list[int]) -> None:
    """Runs an ordinary, unconfined Jupyter kernel until it is shut down."""
    take_streams(descriptors)
    kernel.close_to_debuggers(False)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.environ.setdefault("MPLBACKEND", ENVIRONMENT["MPLBACKEND"])
    tempfile.tempdir = None
    os.chdir(request["folder"])
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in sys.path]
    sys.path[:] = ["", *given, *filter(None, sys.path)]
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = ["ipykernel_launcher", "-f", request["connection_file"]]
    IPKernelApp.launch_instance(argv=sys.argv[1:])


def first_to_go() -> None:
    """Has the kernel end this process before all others when the machine runs out of memory: never the driver."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")


if __name__ == "__main__":
    kernel.close_to_debuggers()
    os.umask(tiers.UMASK)
    GraderServer().serve(int(sys.argv[1]), expanded(sys.argv[2:]))
