"""How much a submission may use before it is stopped."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """Limits of one submission; every one costs the cell that exceeds it, not the submission."""

    cell_seconds: float = 20.0
    """Wall time of one of the student's cells."""
    notebook_seconds: float = 600.0
    """Wall time of all of the student's cells together, those that are run again after a restart included."""
    call_seconds: float = 10.0
    """Wall time of one call that a test makes into the student's process."""
    launch_seconds: float = 15.0
    """Wall time of one launch of a student's script as several processes; a function that launches has its call's."""
    test_seconds: float = 60.0
    """Wall time of one test cell, calls included."""
    gpu_launch_seconds: float = 60.0
    """As `launch_seconds`, in a test that runs on a GPU only: each rank loads CUDA first."""
    gpu_test_seconds: float = 150.0
    """As `test_seconds`, in such a test."""
    all_tests_seconds: float = 600.0
    """Wall time of all test cells together; those that are left then are not run."""
    output_bytes: int = 200_000
    """Kept of one cell's output; the rest is cut and counted."""
    flood_bytes: int = 20_000_000
    """A cell that prints more than this is stopped; nor is more kept of a whole notebook, pictures included."""
    value_bytes: int = 256_000_000
    """Size of one value that comes back from the student's process."""
    restarts: int = 3
    """How often the student's process is started again after a crash or a hang."""
    memory_bytes: int = 4_000_000_000
    """Of all processes of the submission together, shared pages not counted; where control groups can be had."""
    gpu_memory_bytes: int | None = None
    """Of a GPU, of one of the submission's process trees; looked at twice a second. None: `gpu_memory_share`."""
    gpu_memory_share: float = 0.4
    """Of the card's memory: in a timed test an answer and what it is compared with are there at the same time."""
    processes: int = 256
    """That the submission may have at a time, threads included."""

    def of_gpu_row(self) -> Limits:
        """The limits of a test that runs on a GPU only: never less than those of other tests."""
        return replace(
            self,
            launch_seconds=max(self.launch_seconds, self.gpu_launch_seconds),
            test_seconds=max(self.test_seconds, self.gpu_test_seconds),
        )

    def gpu_memory_of(self, card_bytes: float) -> float:
        """Bytes that may be taken of a card with this memory."""
        return self.gpu_memory_share * card_bytes if self.gpu_memory_bytes is None else self.gpu_memory_bytes
