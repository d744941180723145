"""What ranks with tensors on the GPU do and cost: sums, bytes over the wire, times of all-reduces, steps.

With gloo, four ranks share this machine's GPUs: three workers, and a server that takes no part in the all-reduces. With
NCCL, every GPU has a rank. The program runs on the CPU as well, which is how it is tested.
"""

from __future__ import annotations

import functools
import json
import os
from typing import Any

from gpulab.ranks import launch
from grader.exercises.confront import Absent

WORKERS = 3
"""The fewest with which known mistakes about rings differ."""
SECONDS = 40.0
PROGRAM = r'''
import json, os, statistics, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from gpulab.training.problem import Problem

device, backend, workers = os.environ["RANKS_ON"], os.environ["BACKEND"], int(os.environ["WORKERS"])
torch.set_num_threads(1)
torch.backends.cudnn.allow_tf32 = False
on_gpu = device == "cuda"
dist.init_process_group(backend)
rank = dist.get_rank()
if on_gpu:
    torch.cuda.set_device(rank % torch.cuda.device_count())
group, worker, found = dist.new_group(list(range(workers))), rank < workers, {}


def settled():
    if on_gpu:
        torch.cuda.synchronize()


def seconds(call, rounds=7):
    """Median over the rounds of the slowest rank's time; the first two do not count."""
    taken = []
    for _ in range(rounds + 2):
        settled()
        dist.barrier()
        start = time.perf_counter()
        call()
        settled()
        one = torch.tensor([time.perf_counter() - start], device=device)
        dist.all_reduce(one, op=dist.ReduceOp.MAX)
        taken.append(one.item())
    return statistics.median(taken[2:])


def summed(vector, **how):
    return dist.all_reduce(vector, group=group, **how) if worker else None


# sums
vectors = [[float((3 * one + 7 * at) % 50 + at) for at in range(4 * workers)] for one in range(workers)]
mine = torch.tensor(vectors[rank] if worker else vectors[0], device=device)
summed(mine)
found["sums"] = {"vectors": vectors, "sums": mine.tolist()}


# bytes over the wire, which the loopback network counts
def crossed():
    for line in open("/proc/net/dev"):
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    return 0


def counted(call):
    dist.barrier()
    before = crossed()
    dist.barrier()
    call()
    settled()
    dist.barrier()
    return crossed() - before


def to_server():
    if worker:
        dist.send(large.cpu(), workers)
    else:
        for one in range(workers):
            dist.recv(taken, one)


def from_server():
    if worker:
        dist.recv(taken, workers)
    else:
        for one in range(workers):
            dist.send(taken, one)


if backend == "gloo":
    large, taken = torch.ones(1 << 23, device=device), torch.zeros(1 << 23)
    for call in (lambda: summed(large), to_server, from_server):
        call()  # opens connections
    # The fewest of three: other programs only add bytes.
    ring, up, down = (min(counted(call) for _ in range(3)) for call in (lambda: summed(large), to_server, from_server))
    found["wire"] = {"world_size": workers, "nbytes": large.nbytes, "ring": ring / workers}
    found["wire"] |= {"parameter_server": up / workers, "server": down}

# times of all-reduces
sizes = [1 << power for power in range(14, 25 if backend == "gloo" else 28)]
taken = []
for size in sizes:
    vector = torch.zeros(size // 4, device=device)
    taken.append(seconds(lambda: summed(vector)))
found["times"] = {"world_size": workers, "nbytes": sizes, "seconds": taken}

# a step, and the gradients' all-reduce after it or beside it
nbytes = sizes[-2]
gradients = torch.zeros(nbytes // 4, device=device)
communication = taken[-2]
cycles = 20_000_000
if on_gpu:
    cycles = int(cycles * 0.6 * communication / seconds(lambda: torch.cuda._sleep(cycles)))


def step():
    torch.cuda._sleep(cycles) if on_gpu else time.sleep(0.6 * communication)


def beside():
    work = summed(gradients, async_op=True)
    step()
    settled()
    if work is not None:
        work.wait()


def after():
    step()
    settled()
    summed(gradients)


alone = seconds(step)
found["steps"] = {"world_size": workers, "nbytes": nbytes, "step_s": alone}
found["steps"]["communication_s"] = seconds(lambda: summed(gradients))
found["steps"] |= {"after": alone / seconds(after), "beside": alone / seconds(beside)}

# one step of data parallelism, as DDP makes it
problem = Problem("cnn", samples=8 * workers, batch_size=8 * workers, lr=0.05, seed=11, device="cpu")
if worker:
    wrapped = DistributedDataParallel(problem.model().to(device), process_group=group)
    images, labels = (part.chunk(workers)[rank].to(device) for part in next(iter(problem.loader())))
    problem.criterion()(wrapped(images), labels).backward()
    problem.optimizer(wrapped).step()
    weights = {name: value.tolist() for name, value in wrapped.module.state_dict().items()}
    found["ddp"] = {"world_size": workers, "seed": 11, "lr": 0.05, "weights": weights}

# throughput of one GPU, and of all
if backend == "nccl":
    problem, rows = Problem("resnet18", samples=64, batch_size=64, device=device), []
    images, labels = (part.to(device) for part in next(iter(problem.loader())))
    model, criterion = problem.model().to(device), problem.criterion()
    for gpus in (1, workers):  # DDP leaves hooks on the parameters
        network = DistributedDataParallel(model, process_group=group) if gpus > 1 else model
        train = lambda: criterion(network(images), labels).backward()
        took = seconds(lambda: train() if rank < gpus else None)
        rows.append({"gpus": gpus, "throughput": gpus * 64 / took, "step_s": took})
    found["rows"] = rows

if rank == 0:
    with open("found.json", "w") as file:
        json.dump(found, file)
dist.destroy_process_group()
'''


@functools.cache
def measured(backend: str, device: str = "cuda") -> dict[str, Any]:
    """What rank 0 found: `sums`, `wire` (gloo), `times`, `steps`, `ddp`, `rows` (NCCL).

    Args:
        backend: `"gloo"`, or `"nccl"` where there are several GPUs.
        device: where the ranks' tensors are.

    Raises:
        Absent: there is one GPU, and NCCL was asked for.
        LaunchError: a rank failed.
    """
    count = 0
    if device == "cuda":
        import torch

        count = torch.cuda.device_count()
    if backend == "nccl" and count < 2:
        raise Absent("a second GPU")
    workers = count if backend == "nccl" else WORKERS
    around = {"RANKS_ON": device, "BACKEND": backend, "WORKERS": str(workers)}
    # A launch with more ranks than GPUs hides these: here several ranks share one.
    around["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(count)))
    ranks = workers + (backend == "gloo")
    run = launch.script(PROGRAM, ranks, environment=around, apart=True, seconds=SECONDS).check()
    found: dict[str, Any] = json.loads(run.ranks[0].left["found.json"])
    return found


def fastest() -> dict[str, Any]:
    """By NCCL where there are several GPUs and it works, else by gloo.

    Raises:
        LaunchError: a rank failed.
    """
    try:
        return measured("nccl")
    except (Absent, launch.LaunchError):
        return measured("gloo")
