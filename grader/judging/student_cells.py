"""The student's half of a session: its process, what has been run in it, and a new one when a cell has spoiled it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from gpulab.check import layout
from grader.judging import faults
from grader.judging.outputs import KeptOutputs
from grader.model.limits import Limits
from grader.model.results import Output, Verdict
from grader.model.submission import PlannedCell
from grader.processes import client, wire
from grader.processes.channel import Closed


class Stopped(Exception):
    """A cell of the student's was stopped, or ended its process."""

    def __init__(self, verdict: Verdict, text: str, by_itself: bool = False) -> None:
        super().__init__(text)
        self.verdict, self.by_itself = verdict, by_itself


class StudentCells:
    """Runs the cells of one submission, in order, in a process that is replaced when it has to be."""

    def __init__(
        self, start: Callable[[], client.StudentProcess], link: Callable[[client.StudentProcess], None], limits: Limits
    ) -> None:
        self._start, self._link, self._limits = start, link, limits
        self._replay: list[str] = []
        """Code that ran to its end, in order: what a restarted process runs again."""
        self.failures: dict[str, tuple[Verdict, str]] = {}
        """Exercise → how its solution cell failed when it ran."""
        self.spent: Verdict | None = None
        """Set when the process was stopped more often than allowed: how it ended the last time."""
        self.seconds_left = limits.notebook_seconds
        self._characters_left = limits.flood_bytes
        self.restarts = 0
        self.process = start()
        try:
            link(self.process)
        except BaseException:
            self.process.end()
            raise

    def step(self, step: PlannedCell) -> list[Output]:
        """Runs a cell of the notebook; what it printed and showed."""
        if self.spent:
            return [error_output("NotRun", "This cell was not run: the notebook had been restarted too often.")]
        collected: list[Output] = []
        verdict = Verdict.FAILED
        try:
            for code in filter(None, (step.before, step.source)):
                collected = self.run_code(code)
                self._replay.append(code)
        except Stopped as stop:
            verdict, ended = stop.verdict, self.process
            self.restart(verdict)
            how = ended.how_it_ended if stop.by_itself else ""
            collected = [error_output(verdict.value, f"{stop} {how}".strip())]
        failed = next((output for output in collected if output["output_type"] == "error"), None)
        if failed and not self.spent and faults.may_stay(f"{failed['ename']}: {failed['evalue']}"):
            if self._replay and self._replay[-1] == step.source:
                self._replay.pop()  # it would only fail again
            self.renew()
        if step.key is not None and step.key.grade_id:
            for output in collected:
                if output["output_type"] == "error":
                    text = f"{output['ename']}: {output['evalue']}"[:500]
                    self.failures[step.key.grade_id] = verdict, text
        return collected

    def run_code(self, code: str, student: client.StudentProcess | None = None) -> list[Output]:
        """Runs code in the student's process, or in another one.

        Raises:
            Stopped: it took too long, printed too much, or ended the process. The process must be restarted.
        """
        started = time.monotonic()
        seconds = min(self._limits.cell_seconds, self.seconds_left)
        token = secrets.token_hex(8)
        kept = KeptOutputs(self._limits.output_bytes, self._characters_left)
        student = student or self.process
        channel = student.channel
        before = channel.received_bytes
        try:
            channel.send({"op": "run", "id": token, "code": code}, seconds=seconds)
            while True:
                header, _ = channel.receive(started + seconds, max_bytes=0)
                if channel.received_bytes - before > self._limits.flood_bytes:
                    limit = f"{self._limits.flood_bytes / 1e6:.0f} MB"
                    raise Stopped(Verdict.CRASHED, f"The cell printed more than {limit} and was stopped.")
                if header.get("id") != token:
                    continue
                if "done" in header:
                    break
                kept.add(header.get("output"))
        except TimeoutError:
            text = f"The cell did not end within {self._limits.cell_seconds:g} s and was stopped."
            if seconds < self._limits.cell_seconds:
                text = f"The notebook's cells took more than {self._limits.notebook_seconds:g} s together."
            raise Stopped(Verdict.TIMED_OUT, text) from None
        except (Closed, OSError):
            excess = student.excess()
            ended = excess or "ended the notebook's process"
            raise Stopped(Verdict.CRASHED, f"The cell {ended}.", by_itself=not excess) from None
        except wire.WireError as error:
            raise Stopped(Verdict.CRASHED, f"The cell disturbed the notebook's connection ({error}).") from None
        finally:
            self.seconds_left -= time.monotonic() - started
        kept.print(student.raw_output.take())
        self._characters_left -= kept.characters
        return kept.finish()

    def restart(self, verdict: Verdict) -> None:
        """Replaces the student's process and runs again what had run to its end."""
        self.process.end(at_once=verdict is not Verdict.CRASHED)  # else it is ending, and how it ends is asked
        if self.restarts >= self._limits.restarts or self.seconds_left <= 0:
            self.spent = verdict
            return
        self.restarts += 1
        self._start_again()

    def renew(self) -> None:
        """Replaces the student's process because its GPU is of no use to it any more; no restart is used up."""
        if self.spent or self.seconds_left <= 0:
            return
        self.process.end(at_once=True)
        self._start_again()

    def _start_again(self) -> None:
        """A new process for the student, in which runs again what had run to its end."""
        characters_left = self._characters_left  # what the cells print again is not kept again
        self.process = self._start()
        self._link(self.process)
        for code in self._replay:
            try:
                self.run_code(code)
            except Stopped as stop:  # it ran before, so this is luck or malice: do without it
                self._replay.remove(code)
                self.restart(stop.verdict)
                break
        self._characters_left = characters_left


def error_output(name: str, text: str) -> Output:
    """An exception as a notebook shows it."""
    # Folded where it is shown: formgrader puts it into a box that does not break lines.
    shown = "\n".join([f"{name}:", *layout.lines(text)]) if text else name
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": [shown]}
