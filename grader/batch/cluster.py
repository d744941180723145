"""The slots of a Dask cluster: the same batch on other machines, or in other processes.

The driver keeps the record, Dask only runs: a submission is sent when a slot is free, never queued on the cluster, and
comes back as text. What a worker that dies was doing goes to another one; nothing else is tried twice. Starts no
cluster: that is for `dask`, dask-jobqueue or dask-kubernetes. What runs on a worker is in `cluster_worker`.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from grader.batch import cluster_worker
from grader.batch.cluster_worker import RemoteFault, Sealed, WorkerError, WorkerMachine
from grader.batch.thread_pool import WAITING, Handing
from grader.model.course import CourseError
from grader.model.harness import harness_digest
from grader.model.results import SubmissionResult
from grader.sandbox import Tier

if TYPE_CHECKING:
    from distributed import Client, Future

    from grader.judging.task import Task
    from grader.model.notebooks import ChapterKey

Item = TypeVar("Item")

CONNECT_SECONDS = 10.0
PATIENCE_SECONDS = 60.0
"""How long a batch waits for a worker when there is none."""
LOOK_SECONDS = 1.0
"""Between two looks at which workers there are."""
ATTEMPTS = 4
"""How often a submission is sent whose task the scheduler has lost."""


class Cluster:
    """A connection to a Dask scheduler; a context manager.

    Args:
        address: the scheduler's, as `tcp://10.0.0.1:8786`.
        required: the weakest confinement that every worker's machine must allow.
        patience_seconds: how long to wait for a worker when there is none.

    Raises:
        CourseError: no scheduler answers, no worker comes, or the workers are not fit to grade.
    """

    def __init__(self, address: str, required: Tier, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.address, self._required, self._patience = address, required, patience_seconds
        self._client = _connect(address)
        try:
            self._slots = self._wait_for_workers()
            self.gpus = self._examine()
            """Names of the GPUs that each worker shows: a grade may depend on them."""
        except BaseException:
            self._client.close()
            raise
        self._looked = time.monotonic()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close(timeout=CONNECT_SECONDS)

    def map_submissions(
        self, read: Callable[[Item], Task], items: Iterable[Item], key: ChapterKey
    ) -> Iterator[tuple[Item, SubmissionResult | Exception]]:
        """Each item with its result or the exception that it ended in, in order of completion.

        Args:
            read: makes the task, when there is a slot for it.
            items: taken one by one.
            key: the chapter's key; travels once to each machine.

        Raises:
            CourseError: the scheduler has ended, or no worker has come for too long, or one is not fit to grade.
        """
        handing: Handing[tuple[Item, SubmissionResult | Exception] | Exception] = Handing(self._slots * WAITING)
        feeder = _Feeder(self, self._client, handing, read, iter(items), key)
        thread = threading.Thread(target=feeder.run, name="feeder", daemon=True)
        thread.start()
        try:
            for outcome in handing.take(givers=1):
                if isinstance(outcome, Exception):
                    raise outcome
                if isinstance(outcome[1], WorkerError):
                    raise outcome[1]
                yield outcome
        finally:
            handing.close()
            feeder.stop()
            thread.join(CONNECT_SECONDS)

    def slots(self) -> int:
        """Submissions that can be graded at a time: all threads of all workers that are there now."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._slots = self._count()
            self._looked = time.monotonic()
        return self._slots

    def check(self, lonely_since: float) -> None:
        """Gives up when there is nobody to wait for.

        Raises:
            CourseError: the scheduler has ended, or there has been no worker since long before now.
        """
        if self._client.status not in ("running", "connecting"):
            raise CourseError(self.address, "the scheduler has ended", _resume("Start it and its workers again."))
        if time.monotonic() - lonely_since > self._patience:
            what = f"no worker for {self._patience:g} s"
            raise CourseError(self.address, what, _resume("Look at their logs and start them again."))

    def machine(self) -> WorkerMachine:
        """What a worker must be like, those that come later included."""
        return WorkerMachine(harness_digest(), self.gpus, self._required)

    def _count(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except Exception:  # reconnecting, or closed: `check` tells which
            return 0

    def _wait_for_workers(self) -> int:
        until = time.monotonic() + self._patience
        while not (count := self._count()):
            if time.monotonic() > until:
                remedy = f'Start some: "dask worker {self.address} --nthreads 4".'
                raise CourseError(self.address, f"the scheduler has had no worker for {self._patience:g} s", remedy)
            time.sleep(0.1)
        return count

    def _examine(self) -> tuple[str, ...]:
        """Looks at the scheduler and at every worker that is there; gives the names of their GPUs."""
        same = "Install the same version of this package there as here, and start it again."
        try:
            self._client.run_on_scheduler(harness_digest)
            machines: dict[str, WorkerMachine] = self._client.run(cluster_worker.this_machine)
        except (ImportError, AttributeError) as error:
            raise CourseError(self.address, f"not all there can load the grader ({error})", same) from None
        gpus = next(iter(machines.values())).gpus
        wanted = WorkerMachine(harness_digest(), gpus, self._required)
        for address, machine in sorted(machines.items()):
            cluster_worker.compare(address, machine, wanted)
        return gpus


class _Feeder:
    """Sends submissions to the cluster, as many as it has slots; in a thread of its own, since the caller records."""

    def __init__(
        self,
        cluster: Cluster,
        client: Client,
        handing: Handing[tuple[Item, SubmissionResult | Exception] | Exception],
        read: Callable[[Item], Task],
        items: Iterator[Item],
        key: ChapterKey,
    ) -> None:
        self._cluster, self._client, self._handing = cluster, client, handing
        self._read, self._items = read, items
        self._machine = cluster.machine()
        # Sent once as a task, not as scattered data: when the worker that holds it dies, the scheduler makes it again.
        self._sealed = Sealed(key)
        self._key: Future | None = None
        self._running: dict[Future, tuple[Item, Task, int]] = {}
        self._ended: queue.Queue[Future | None] = queue.Queue()

    def stop(self) -> None:
        """Nobody wants results any more."""
        self._ended.put(None)

    def run(self) -> None:
        """Until all is done or nobody wants results any more; what goes wrong is handed over as well."""
        try:
            try:
                self._run()
            except Exception:
                self._cluster.check(time.monotonic())  # a client that has lost its scheduler fails in many ways
                raise
        except Exception as error:
            self._handing.give(error)
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel([*self._running, *([self._key] if self._key else [])], force=True)
        self._handing.finish()

    def _run(self) -> None:
        lonely_since = time.monotonic()
        more = self._fill()
        while (self._running or more) and not self._handing.closed:
            try:
                ended = self._ended.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                lonely_since = time.monotonic() if self._cluster.slots() else lonely_since
                self._cluster.check(lonely_since)
                more = self._fill()
                continue
            if ended is None:
                return
            lonely_since = time.monotonic()
            item, task, attempt = self._running.pop(ended)
            more = self._fill()  # first: the slot works while we fetch and hand over
            outcome = self._outcome(ended)
            if outcome is None and attempt < ATTEMPTS:
                self._cluster.check(lonely_since)
                self._send(item, task, attempt + 1)
                continue
            self._handing.give((item, outcome or RemoteFault(f"the scheduler lost the task {ATTEMPTS} times", "")))

    def _fill(self) -> bool:
        """Sends submissions until every slot has one. Whether there may be more of them."""
        while len(self._running) < self._cluster.slots() and not self._handing.closed:
            try:
                item = next(self._items)
            except StopIteration:
                return False
            try:
                task = self._read(item)
            except Exception as error:
                self._handing.give((item, error))
                continue
            self._send(item, task, 1)
        return True

    def _send(self, item: Any, task: Task, attempt: int) -> None:
        if self._key is None or self._key.cancelled():  # with all else that the scheduler knew, when it was lost
            self._key = self._client.submit(cluster_worker.same, self._sealed, pure=False)
        future = self._client.submit(cluster_worker.grade, task, self._key, self._machine, pure=False, retries=0)
        self._running[future] = item, task, attempt
        future.add_done_callback(self._ended.put)

    def _outcome(self, future: Future) -> SubmissionResult | Exception | None:
        """How a task ended; None when the scheduler has lost it."""
        try:
            answer = future.result()
        except CancelledError:
            return None
        except Exception as error:  # of Dask's: the workers that had it have died, one after the other
            return RemoteFault(f"{type(error).__name__}: {error}", "")
        return SubmissionResult.from_json(answer) if isinstance(answer, str) else answer


def _connect(address: str) -> Client:
    """A client of the scheduler at this address.

    Raises:
        CourseError: there is none.
    """
    import dask
    from distributed import Client

    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})  # notebooks may have 20 MB
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="grader")
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        remedy = 'Start one with "dask scheduler", which prints its address: tcp://…:8786.'
        raise CourseError(address, f"no Dask scheduler answers there ({reason})", remedy) from None


def _resume(remedy: str) -> str:
    return f"{remedy} What is graded is kept: run the same command again and it goes on from there."
