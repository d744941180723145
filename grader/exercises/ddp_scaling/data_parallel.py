"""What `DataParallel` does in a step on this machine's GPUs, and how long a step takes.

It takes two GPUs: with one, `DataParallel` calls the network and does nothing else. The steps of a small network show
where its parts run and what is copied; a ResNet-18 shows the time.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

from gpulab import check
from gpulab.check.outcomes import WrongAnswer
from gpulab.ranks import launch
from grader.exercises.confront import Absent, Unusable

ReadingValues = dict[str, Any]
SECONDS = 60.0
EACH = 64
"""Images per GPU in the steps that are timed, as `device_ranks` has them for DDP."""
WORDS = frozenset(
    {"replicates", "every_batch", "gil", "rereads", "gathers", "too_many_rings", "one_updates", "float64", "processes"}
)
"""The codes of the exercise's table."""
PROGRAM = r'''
import json, os, statistics, threading, time
import torch
import torch.distributed
from torch import nn
from torch.utils.data import DataLoader, Dataset
from gpulab.training.problem import Problem

device, each = os.environ["DP_ON"], int(os.environ["EACH"])
gpus = torch.cuda.device_count() if device == "cuda" else 1
torch.set_num_threads(1)
calls, reads = [], 0


class Pictures(Dataset):
    def __len__(self):
        return 4 * 8 * gpus

    def __getitem__(self, at):
        global reads
        reads += 1
        return torch.full((16,), float(at % 7 + 1))


class Part(nn.Module):
    """A network that notes where it is called, and keeps Python busy for a while, as launching kernels does."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 4)

    def forward(self, x):
        begin, cpu = time.perf_counter(), time.thread_time()
        for _ in range(400_000):
            pass
        end, cpu = time.perf_counter(), time.thread_time() - cpu
        calls.append({
            "gpu": x.device.index, "samples": len(x), "process": os.getpid(),
            "thread": threading.current_thread() is not threading.main_thread(),
            "weights": self.layer.weight.detach().cpu().double().sum().item(),
            "begin": begin, "end": end, "busy": cpu,
        })
        return self.layer(x)


part = Part().to(device)
wrapped, optimizer = nn.DataParallel(part), torch.optim.SGD(part.parameters(), lr=0.1, momentum=0.9)
steps = []
for x in DataLoader(Pictures(), batch_size=8 * gpus):
    x = x.to(device)
    weights = part.layer.weight.detach().cpu().double().sum().item()
    scores = wrapped(x)
    optimizer.zero_grad()
    scores.square().mean().backward()
    optimizer.step()
    gradients = [one.grad for one in part.parameters()]
    state = [one["momentum_buffer"] for one in optimizer.state.values()]
    steps.append({
        "batch": len(x), "read": reads, "weights": weights, "calls": list(calls),
        "input_gpu": x.device.index, "output_gpu": scores.device.index, "output_samples": len(scores),
        "gradient_gpus": sorted({one.device.index for one in gradients + state}, key=str),
        "types": sorted({str(one.dtype) for one in gradients}),
    })
    calls.clear()
    reads = 0
found = {"gpus": gpus, "process": os.getpid(), "group": torch.distributed.is_initialized(), "steps": steps}

problem = Problem("resnet18", samples=each * gpus, batch_size=each * gpus, device=device)
images, labels = (one.to(device) for one in next(iter(problem.loader())))
network = nn.DataParallel(problem.model().to(device))
taken = []
for _ in range(9):
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    problem.criterion()(network(images), labels).backward()
    for one in range(gpus if device == "cuda" else 0):
        torch.cuda.synchronize(one)
    taken.append(time.perf_counter() - start)
took = statistics.median(taken[2:])
found["row"] = {"method": "DataParallel", "gpus": gpus, "throughput": each * gpus / took, "step_s": took}
print(json.dumps(found))
'''


@functools.cache
def measured() -> ReadingValues:
    """What one process saw: `gpus`, `process`, `group`, `steps` (facts of four steps), `row` (time of a larger one).

    Raises:
        Absent: there is one GPU.
        LaunchError: the process failed.
    """
    import torch

    if torch.cuda.device_count() < 2:
        raise Absent("a second GPU")
    return run("cuda")


def run(device: str, program: str = PROGRAM, each: int = EACH) -> ReadingValues:
    """What the program prints, in a process that sees all GPUs.

    Args:
        device: `"cuda"`, or `"cpu"`, on which DataParallel only calls the network.
        program: its text.
        each: images per GPU in the steps that are timed.
    """
    around = {"DP_ON": device, "EACH": str(each)}
    found: ReadingValues = json.loads(
        launch.script(program, 1, environment=around, seconds=SECONDS).check().ranks[0].last_line
    )
    return found


def true_of(readings: ReadingValues) -> frozenset[str]:
    """Those statements of the exercise's table that held in every step.

    Raises:
        Unusable: these are no steps of several GPUs that train.
    """
    gpus, steps = readings["gpus"], readings["steps"]
    if gpus < 2 or len(steps) < 2 or any(sorted(_of(step, "gpu")) != list(range(gpus)) for step in steps):
        raise Unusable("not every GPU was called once in every step")
    if len({step["weights"] for step in steps}) < len(steps):
        raise Unusable("the weights did not change from step to step")
    if any(_busy(step) <= 0 for step in steps):
        raise Unusable("no time was taken")

    def elsewhere(step: ReadingValues) -> bool:
        return any(one != readings["process"] for one in _of(step, "process"))

    held: dict[str, Callable[[ReadingValues], bool]] = {
        "replicates": lambda step: set(_of(step, "weights")) == {step["weights"]},
        "every_batch": lambda step: set(_of(step, "samples")) == {step["batch"]},
        # With one lock for all threads, their loops take as long as one after another.
        "gil": lambda step: all(_of(step, "thread")) and not elsewhere(step) and _span(step) > 0.8 * _busy(step),
        "rereads": lambda step: step["read"] >= gpus * step["batch"],
        "gathers": lambda step: (
            (step["input_gpu"], step["output_gpu"]) == (0, 0) and step["output_samples"] == step["batch"]
        ),
        "too_many_rings": lambda step: bool(readings["group"]),
        "one_updates": lambda step: len(step["gradient_gpus"]) == 1,
        "float64": lambda step: "torch.float64" in step["types"],
        "processes": elsewhere,
    }
    return frozenset(word for word, holds in held.items() if all(map(holds, steps)))


def _of(step: ReadingValues, key: str) -> list[Any]:
    return [call[key] for call in step["calls"]]


def _busy(step: ReadingValues) -> float:
    return float(sum(_of(step, "busy")))


def _span(step: ReadingValues) -> float:
    return float(max(_of(step, "end")) - min(_of(step, "begin")))


def check_answer(answer: Any, readings: ReadingValues) -> None:
    """Passes if a set holds just the statements that held of `DataParallel` on this machine.

    Raises:
        WrongAnswer: it does not; says how many of them it has.
        Unusable: as `true_of`, or nothing held.
    """
    true = true_of(readings)
    if not true:
        raise Unusable("no statement held in every step")
    what, salt = f"WHY_DP_SLOWS, DataParallel on the {readings['gpus']} GPUs of this machine", "read"
    digests: Sequence[str] = [check.digest(salt, "", word) for word in true]
    if check.choice(answer, digests, WORDS, 1.0, what, salt=salt) < 1.0:
        raise WrongAnswer(f"{what}: some statements are missing, or did not hold.")
