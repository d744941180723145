"""DDP and scaling: measurements with ranks: buckets during a backward pass, throughput with one rank and with two.

Each is a small program that `gpulab.launch` runs; drawing is for `ddp_scaling.ranks_pictures`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gpulab.measuring.timing import Timing
from gpulab.ranks import launch

_BEGIN = """
import json, os, statistics, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from gpulab import Problem
torch.set_num_threads(1)
on_gpus = os.environ.get("ON_GPUS") == "1"
if on_gpus:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl" if on_gpus else "gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
"""
_END = """
if rank == 0:
    print(json.dumps(found))
dist.destroy_process_group()
"""

_BUCKETS = """
network = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(8)))
model = DistributedDataParallel(network, bucket_cap_mb=8)
images = torch.randn(256, 1024)
events = []


def hook(state, bucket):
    entry = {"ready": time.perf_counter(), "mbytes": bucket.buffer().nbytes / 1e6}
    events.append(entry)

    def finish(future):
        entry["done"] = time.perf_counter()
        return future.value()[0] / world_size

    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(finish)


model.register_comm_hook(None, hook)
for _ in range(2):  # the first pass finds out in which order gradients come
    loss = model(images).square().mean()
    dist.barrier()
    events.clear()
    begin = time.perf_counter()
    loss.backward()
    end = time.perf_counter()
times = [{**one, "ready": one["ready"] - begin, "done": one["done"] - begin} for one in events]
found = {"backward": end - begin, "buckets": times}
"""

_THROUGHPUT = """
alone = dist.new_group([0])
steps = {}
for name, images_each, group in (("alone", 96, alone), ("weak", 96, None), ("strong", 96 // world_size, None)):
    if name == "alone" and rank > 0:
        continue
    network, device = ("resnet18", "cuda") if on_gpus else ("cnn", "cpu")
    problem = Problem(network, samples=images_each, batch_size=images_each, device=device)
    model = DistributedDataParallel(problem.model().to(device), process_group=group)
    images, labels = (tensor.to(device) for tensor in next(iter(problem.loader())))
    steps[name] = model, problem.optimizer(model), problem.criterion(), images, labels


def step(name):
    dist.barrier()
    if name not in steps:
        return 0.0
    model, optimizer, criterion, images, labels = steps[name]
    begin = time.perf_counter()
    optimizer.zero_grad()
    criterion(model(images), labels).backward()
    optimizer.step()
    if on_gpus:
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3


times = {name: [] for name in ("alone", "weak", "strong")}
for _ in range(25):  # in turn, so that a machine that is busy for a while is so for all
    for name, made in times.items():
        made.append(step(name))
found = {}
for name, made in times.items():
    low, middle, high = statistics.quantiles(made[5:], n=4)
    found[name] = [middle, (high - low) / 2]
"""


@dataclass(frozen=True)
class Bucket:
    """Gradients that DDP sends together, and when, in ms from the start of the backward pass."""

    mbytes: float
    ready_ms: float
    done_ms: float


@dataclass(frozen=True)
class Backward:
    """A backward pass of eight linear layers under DDP, two gloo ranks, seen from rank 0."""

    milliseconds: float
    buckets: list[Bucket]

    @property
    def hidden(self) -> int:
        """All-reduces that were over when the last bucket was ready."""
        return sum(bucket.done_ms < self.buckets[-1].ready_ms for bucket in self.buckets)


def watched_backward() -> Backward:
    """One backward pass, with a note of each bucket that DDP sends.

    Raises:
        launch.LaunchError: the ranks did not end well.
    """
    found = _measured(_BUCKETS, 2)
    buckets = [Bucket(one["mbytes"], one["ready"] * 1e3, one["done"] * 1e3) for one in found["buckets"]]
    return Backward(found["backward"] * 1e3, buckets)


@dataclass(frozen=True)
class Throughput:
    """A training step under DDP."""

    ranks: int
    images: int
    """In a step, of all ranks together."""
    step: Timing

    @property
    def images_per_second(self) -> float:
        """Of all ranks together."""
        return self.images / self.step.median_ms * 1e3


def throughputs(gpus: int = 0) -> dict[str, list[Throughput]]:
    """Steps with one rank and with all, 96 images a rank (`"weak"`) and 96 in all (`"strong"`), measured in turn.

    Args:
        gpus: so many ranks, each with a GPU of its own, train a ResNet-18; 0: two ranks on the CPU train the small
            network. "In all" is as near to 96 as equal shares come.

    Raises:
        launch.LaunchError: the ranks did not end well.
    """
    from gpulab.measuring.devices import device_name

    ranks, device = (gpus, device_name("cuda")) if gpus else (2, device_name("cpu"))
    found = _measured(_THROUGHPUT, ranks, on_gpus=gpus > 0)
    steps = {name: Timing(median, spread, 20, device) for name, (median, spread) in found.items()}
    one = Throughput(1, 96, steps["alone"])
    weak, strong = (
        Throughput(ranks, each * ranks, steps[name]) for name, each in (("weak", 96), ("strong", 96 // ranks))
    )
    return {"weak": [one, weak], "strong": [one, strong]}


def _measured(body: str, world_size: int, on_gpus: bool = False) -> dict:  # type: ignore[type-arg]
    environment = {"ON_GPUS": "1"} if on_gpus else {}
    run = launch.script(_BEGIN + body + _END, world_size, environment=environment, seconds=60).check()
    found = json.loads(run.ranks[0].last_line)
    assert isinstance(found, dict)
    return found
