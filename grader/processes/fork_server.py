"""The warm parent: a process that has imported everything slow once, and forks the processes of each submission.

It has one thread, never touches CUDA (a forked CUDA context is a broken one), and holds nothing secret: whatever is in
its memory is in that of every student process. It lives exactly as long as the driver's end of its control socket;
`processes` is its client.

One request is one message: JSON, with file descriptors beside it. A request for a process is answered twice: here with
its process id, and by the process itself, over a socket that came with the request, once it is ready; a process that
dies before that is noticed at once, since the socket then ends. `end` is answered with what the process used, `import`
(what only some chapters need, see `preload`) with the number of threads.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from gpulab.ranks.prctl import adopt_orphans, die_with_parent
from grader import sandbox
from grader.processes import preload
from grader.processes.watcher import exit_code_of, fork_watched, watch
from grader.sandbox import Confinement, Tier, kernel
from grader.sandbox.root import box_for

MODULES = (
    "numpy", "matplotlib.pyplot", "torch", "torchvision", "pytorch_lightning", "numba", "gpulab.*",
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
MAX_MESSAGE = 65_536
MAX_DESCRIPTORS = 4
GRACE_SECONDS = 0.3
"""How long a process whose socket was closed may take to end by itself; then it is killed."""
KILLED = (-signal.SIGKILL, 256 - signal.SIGKILL)
"""How a process ends that was killed, and how one ends that watched over it."""
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
MACHINE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH")
"""What is passed on as it is: which GPU is ours to use, and where this machine keeps its driver's libraries."""
KEPT_VARIABLES = (*MACHINE_VARIABLES, "PYTHONPATH")
"""All that a student's process sees of its parent's environment."""
OWN_VARIABLES = (*MACHINE_VARIABLES, "HOME", "GPULAB_HOME", "GPULAB_DATA", "NUMBA_CACHE_DIR")
"""All of the driver's environment that the warm parent is started with: what a process was started with stays readable
in its forks. Not TMPDIR: it names a folder that the students' file system does not have."""
UMASK = 0o022


def main(descriptor: int, modules: list[str]) -> None:
    """Serves the driver behind this socket until it is closed."""
    kernel.close_to_debuggers()
    os.umask(UMASK)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    import_all(modules)
    roles = {role: importlib.import_module(name) for role, name in ROLES.items()}
    roles["student"].prepare()
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which ends us by hanging up
    settle()
    children: set[int] = set()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the driver ended, perhaps in mid-request
        send(control, {"threads": len(list(Path("/proc/self/task").iterdir()))})
        answer_requests(control, children)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)  # and what it confines dies with it: die_with_parent, or `watch`
    os._exit(0)  # no farewells from a hundred imported libraries


def settle() -> None:
    """Makes memory ready to be shared: the collector leaves it alone, and there are few pages to keep books on.

    Raises:
        RuntimeError: an import has brought along what hidden tests need; students' processes would inherit it.
    """
    if secret := sorted(name for name in sys.modules if name == EXERCISES or name.startswith(f"{EXERCISES}.")):
        raise RuntimeError(f"the fork server has imported {', '.join(secret)}: nothing that it imports may import that")
    gc.collect()
    gc.freeze()  # keeps the collector from touching, and so copying, pages that all children share
    kernel.use_huge_pages()


def answer_requests(control: socket.socket, children: set[int]) -> None:
    """Answers the driver until it hangs up; `children` are those that it has not asked to end."""
    shared_mb, own = resident_mb(), os.getpid()
    while True:
        select.select([control], [], [])
        message, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, MAX_DESCRIPTORS)
        if not message:
            return
        request = json.loads(message)
        if request["op"] == "import":
            import_all(request["modules"])
            settle()
            shared_mb = resident_mb()
            send(control, {"threads": len(list(Path("/proc/self/task").iterdir()))})
        elif request["op"] == "end":
            children.discard(request["pid"])
            send(control, end(request["pid"], request["inner"], request["grace_seconds"], shared_mb))
        else:
            try:
                pid = os.fork()
            except OSError as error:  # no memory, or too many processes: the next one may be luckier
                send(control, {"error": f"it could not be forked: {error}"})
            else:
                if pid == 0:
                    control.close()
                    run_child(socket.socket(fileno=descriptors[0]), request, descriptors[1:], own)
                children.add(pid)
                send(control, {"pid": pid})
        for number in descriptors:
            os.close(number)


def import_all(modules: list[str]) -> None:
    """Imports what can be imported; a course without torch is still a course."""
    for name in modules:
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name.removesuffix(".*"))
            if name.endswith(".*"):
                found = [one.name for one in pkgutil.walk_packages(module.__path__, f"{module.__name__}.")]
                import_all(preload.for_all(found))


def send(control: socket.socket, message: dict[str, Any]) -> None:
    """One message to the driver."""
    control.sendall(json.dumps(message).encode())


# ------------------------------------------------------------------------------------------------- ending a process


def end(pid: int, inner: int, grace_seconds: float, shared_mb: float) -> dict[str, Any]:
    """Waits a moment for a child to end, kills it otherwise, and says what it and its children used.

    The answer's `killed` says whether somebody else had killed it before: the machine for want of memory, a person, or
    the student's own code.

    Args:
        pid: the child of ours that watches over the process.
        inner: the process to kill; the same, or the first process of its namespace.
        grace_seconds: how long that moment is.
        shared_mb: memory that every child shares with us, not to be counted as its own.
    """
    watched = os.pidfd_open(pid)
    try:
        by_itself = bool(select.select([watched], [], [], grace_seconds)[0])
        if not by_itself:
            for target in dict.fromkeys((inner, pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(target, signal.SIGKILL)
                    if target == pid:
                        os.killpg(pid, signal.SIGKILL)  # there may be none yet, of a process that was just forked
                if select.select([watched], [], [], 2.0)[0]:
                    break
        ended, status, usage = os.wait4(pid, os.WNOHANG)
    finally:
        os.close(watched)
    if not ended:  # a kernel that cannot let go of it, such as one that waits for a dead disk, must not hold us up
        return {"cpu_seconds": 0.0, "peak_memory_mb": 0.0, "killed": False}
    peak_mb = max(0.0, usage.ru_maxrss * 1024 / 1e6 - shared_mb)
    killed = by_itself and os.waitstatus_to_exitcode(status) in KILLED
    return {"cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_memory_mb": peak_mb, "killed": killed}


def resident_mb() -> float:
    """This process's memory now, MB = 1e6 bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# -------------------------------------------------------------------------------------------------- in a forked child


def run_child(ready: socket.socket, request: dict[str, Any], descriptors: list[int], parent: int) -> None:
    """Becomes a student's or a judge's process. Never returns.

    Args:
        ready: where the driver hears that the process is ready, or why it never will be.
        request: what to become.
        descriptors: the sockets and pipes that this kind of process has.
        parent: the process that forked this one.
    """
    code = 1
    try:
        os.setsid()
        die_with_parent()
        if os.getppid() != parent:
            return  # it ended before it could take us along
        signal.signal(signal.SIGINT, signal.default_int_handler)
        reseed()
        if request["op"] != "kernel":
            first_to_go()
        if request["op"] == "judge":
            send(ready, {"pid": os.getpid(), "inner": os.getpid()})
            keep_only(descriptors)
            sys.modules[ROLES["judge"]].main(descriptors[0])
        elif request["op"] == "kernel":
            send(ready, {"pid": os.getpid(), "inner": os.getpid()})
            become_kernel(request, descriptors)
        else:
            become_student(ready, request, descriptors)
        code = 0
    except BaseException:
        with contextlib.suppress(OSError):
            send(ready, {"error": traceback.format_exc()[-4000:]})
    finally:
        os._exit(code)


def become_student(ready: socket.socket, request: dict[str, Any], descriptors: list[int]) -> None:
    """Confines itself, tells the driver its process ids, and serves requests."""
    settings = confinement(request)
    connection, output = descriptors
    kernel.close_to_debuggers(False)  # else an ordinary user may not even set up its own user namespace
    for folder in request.get("group", ()):
        (Path(folder) / "cgroup.procs").write_text(str(os.getpid()))
    sandbox.confine(settings)
    outer = os.getpid()
    watcher = os.pidfd_open(outer)
    if settings.tier < Tier.NAMESPACES:
        adopt_orphans()
        worker = fork_watched()
        if worker:
            keep_only([])
            watch(worker, settings.uid)
        try:
            sandbox.enter(settings)
        except OSError:
            send(ready, {"error": traceback.format_exc()[-4000:]})
            os._exit(1)
        end_without(watcher)
        os.setsid()
        send(ready, {"pid": outer, "inner": os.getpid()})
        serve(settings, connection, output)
        return
    entered, entering = os.pipe()
    first = os.fork()  # the first process of the new namespace: when it dies, so does everything in there
    if first:
        os.close(entering)
        if os.read(entered, 1):  # it alone knows when, and we alone know its number out here
            send(ready, {"pid": outer, "inner": first})
        keep_only([])
        os._exit(exit_code_of(first))
    sandbox.enter(settings)
    end_without(watcher)
    os.write(entering, b"x")
    worker = os.fork()
    if worker:
        keep_only([])
        os._exit(exit_code_of(worker))
    os.setsid()
    serve(settings, connection, output)


def end_without(watcher: int) -> None:
    """Ends this process when the one that watches over it has ended: before the kernel was asked to see to that."""
    if select.select([watcher], [], [], 0)[0]:
        os._exit(1)


def serve(settings: Confinement, connection: int, output: int) -> None:
    """Runs student code from here on."""
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    keep_only([connection])
    home = str(Path.cwd())
    temporary = "/tmp" if settings.tier == Tier.NAMESPACES else home
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    os.environ.clear()
    os.environ.update(kept)
    places = {"HOME": home, "TMPDIR": temporary, "IPYTHONDIR": f"{temporary}/.ipython", "MPLCONFIGDIR": temporary}
    # A name, for the box's uid has none and getpass.getuser() would fail: the ONNX exporter of torch 2.11 asks for it.
    os.environ.update({**places, **ENVIRONMENT, "GPULAB_HOME": f"{temporary}/.gpulab", "LOGNAME": "student"})
    tempfile.tempdir = None  # an import may have asked for it: in another file system
    sys.path[:] = ["", *(path for path in sys.path if path)]  # as in a notebook: the working directory first
    sys.modules[ROLES["student"]].main(connection)


def become_kernel(request: dict[str, Any], descriptors: list[int]) -> None:
    """Runs an ordinary, unconfined Jupyter kernel until it is shut down."""
    for target, source in enumerate(descriptors):
        os.dup2(source, target)
    keep_only([])
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


def confinement(request: dict[str, Any]) -> Confinement:
    """The settings that a request describes."""
    # A reference's process, in which no code of a student's ever runs, sees the references too.
    more = (str(Path(__file__).resolve().parents[1] / "exercises"),) if request.get("exercises") else ()
    box = box_for(request["folder"], request["work"], tuple(request["courses"]), more)
    return Confinement(Tier(request["tier"]), box, request["number"])


def keep_only(descriptors: list[int]) -> None:
    """Closes every file descriptor but these and the standard three."""
    start = 3
    for number in sorted(descriptors):
        os.closerange(start, number)
        start = number + 1
    os.closerange(start, 65_536)


def first_to_go() -> None:
    """Has the kernel end this process before all others when the machine runs out of memory: never the driver."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")


def reseed() -> None:
    """Gives this process random numbers of its own: forks of one parent would all draw the same."""
    seed = int.from_bytes(os.urandom(4), "big")
    import random

    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        # torch.manual_seed looks for accelerators too, which takes ten times as long; theirs begin anywhere as it is.
        sys.modules["torch"].default_generator.manual_seed(seed)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
