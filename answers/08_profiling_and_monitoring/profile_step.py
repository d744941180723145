# %% right: reference
import torch
from torch.profiler import ProfilerActivity, profile

from gpulab.chapters.profiling.traces import trace_events


def profile_step(problem):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    images, labels = (part.to(problem.device) for part in next(iter(problem.loader())))

    def step():
        criterion(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    on_gpu = images.is_cuda
    kinds = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * on_gpu
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    with profile(activities=kinds, profile_memory=not on_gpu) as profiler:
        step()
        if on_gpu:
            torch.cuda.synchronize()
    events = trace_events(profiler)
    if on_gpu:
        calls = [one for one in events if one.get("cat") in ("cuda_runtime", "cuda_driver")]
        return {
            "launches": sum("LaunchKernel" in one["name"] for one in calls),
            "kernels": sum(one.get("cat") == "kernel" for one in events),
            "peak_bytes": torch.cuda.max_memory_allocated(),
        }
    operators = [one for one in profiler.events() if one.name.startswith("aten::")]
    return {
        "launches": sum(one.get("cat") == "cpu_op" and one["name"].startswith("aten::") for one in events),
        "kernels": sum(not one.cpu_children for one in operators),
        "peak_bytes": max(one["args"]["Total Allocated"] for one in events if one["name"] == "[memory]"),
    }

# %% right: with a loss that is looked at, gradients zeroed first, everything from one trace on disk
import json
import pathlib
import tempfile

import torch
from torch import profiler as torch_profiler


def profile_step(problem):
    device = torch.device(problem.device)
    model = problem.model().to(device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    batch = [part.to(device) for part in next(iter(problem.loader()))]
    losses = []

    def train():
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    train()
    cuda = device.type == "cuda"
    activities = [torch_profiler.ProfilerActivity.CPU]
    if cuda:
        activities.append(torch_profiler.ProfilerActivity.CUDA)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    with torch_profiler.profile(activities=activities, profile_memory=True) as record:
        train()
        if cuda:
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        record.export_chrome_trace(folder + "/t.json")
        events = json.loads(pathlib.Path(folder + "/t.json").read_text())["traceEvents"]
    if cuda:
        peak = torch.cuda.max_memory_allocated()
        launches = len([e for e in events if str(e.get("cat")).startswith("cuda_") and "LaunchKernel" in e["name"]])
        return {"peak_bytes": peak, "launches": launches, "kernels": len([e for e in events if e.get("cat") == "kernel"])}
    aten = [e for e in record.events() if e.name.startswith("aten::")]
    peak = max(e["args"]["Total Allocated"] for e in events if e["name"] == "[memory]")
    return {"peak_bytes": peak, "launches": len(aten), "kernels": len([e for e in aten if len(e.cpu_children) == 0])}

# %% right: zero_grad that keeps tensors
import torch
from torch.profiler import ProfilerActivity, profile

from gpulab.chapters.profiling.traces import trace_events


def profile_step(problem):
    device = torch.device(problem.device)
    model = problem.model().to(device).train()
    opt = problem.optimizer(model)
    loss_fn = problem.criterion()
    x, y = (t.to(device, non_blocking=True) for t in next(iter(problem.loader())))

    def train_step():
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=False)

    train_step()
    gpu = device.type == "cuda"
    if gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    acts = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if gpu else [])
    with profile(activities=acts, profile_memory=True) as p:
        train_step()
        if gpu:
            torch.cuda.synchronize()
    events = trace_events(p)
    if gpu:
        return {
            "launches": sum(e.get("cat") in {"cuda_runtime", "cuda_driver"} and "LaunchKernel" in e["name"] for e in events),
            "kernels": sum(e.get("cat") == "kernel" for e in events),
            "peak_bytes": torch.cuda.max_memory_allocated(),
        }
    return {
        "launches": sum(e.get("cat") == "cpu_op" and e.get("name", "").startswith("aten::") for e in events),
        "kernels": sum(e.name.startswith("aten::") and not e.cpu_children for e in p.events()),
        "peak_bytes": max(e["args"].get("Total Allocated", 0) for e in events if e.get("name") == "[memory]"),
    }

# %% wrong: forward alone — says "forward pass alone"
from torch.profiler import ProfilerActivity, profile

from gpulab.chapters.profiling.traces import trace_events


def profile_step(problem):
    model, criterion = problem.model(), problem.criterion()
    images, labels = next(iter(problem.loader()))
    criterion(model(images), labels)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        criterion(model(images), labels)
    events = trace_events(profiler)
    operators = [one for one in profiler.events() if one.name.startswith("aten::")]
    peak = max(one["args"]["Total Allocated"] for one in events if one["name"] == "[memory]")
    return {"launches": len(operators), "kernels": sum(not one.cpu_children for one in operators), "peak_bytes": peak}

# %% wrong: no step of the optimizer — says "optimizer's step is missing" — from "forward alone"
# -     criterion(model(images), labels)
# +     criterion(model(images), labels).backward()
# +     model.zero_grad()

# -         criterion(model(images), labels)
# +         criterion(model(images), labels).backward()
# +         model.zero_grad()

# %% wrong: the loader's work is in it — says "take the batch and make the model before"
from torch.profiler import ProfilerActivity, profile

from gpulab.chapters.profiling.traces import trace_events


def profile_step(problem):
    model, criterion = problem.model(), problem.criterion()
    optimizer = problem.optimizer(model)

    def step():
        images, labels = next(iter(problem.loader()))
        criterion(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    events = trace_events(profiler)
    operators = [one for one in profiler.events() if one.name.startswith("aten::")]
    peak = max(one["args"]["Total Allocated"] for one in events if one["name"] == "[memory]")
    return {"launches": len(operators), "kernels": sum(not one.cpu_children for one in operators), "peak_bytes": peak}

# %% wrong: warm-up and step together — says "more than one step" — from "forward alone"
#       model, criterion = problem.model(), problem.criterion()
# +     optimizer = problem.optimizer(model)

# -     criterion(model(images), labels)

# +         for _ in range(2):
# -         criterion(model(images), labels)
# +             criterion(model(images), labels).backward()
# +             optimizer.step()
# +             optimizer.zero_grad()

# %% wrong: every operator is a kernel — says "call no other" — from "the loader's work is in it"
#       optimizer = problem.optimizer(model)
# +     images, labels = next(iter(problem.loader()))

# -         images, labels = next(iter(problem.loader()))

# -     return {"launches": len(operators), "kernels": sum(not one.cpu_children for one in operators), "peak_bytes": peak}
# +     return {"launches": len(operators), "kernels": len(operators), "peak_bytes": peak}

# %% wrong: a key is missing — says "the keys"
def profile_step(problem):
    return {"kernels": 110, "launches": 197}

# %% wrong: figures of another machine — says "profile_step, batches of"
def profile_step(problem):
    return {"kernels": 40, "launches": 40, "peak_bytes": 1_000_000}

# %% wrong: prints the table — says "return statement"
from torch.profiler import ProfilerActivity, profile


def profile_step(problem):
    model = problem.model()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        model(next(iter(problem.loader()))[0])
    print(profiler.key_averages().table(row_limit=3))

# %% hostile: a dict that has every key, and equals everything — earns 0
class Figure(int):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return Figure(0)

    __hash__ = int.__hash__


def profile_step(problem):
    return dict.fromkeys(("kernels", "launches", "peak_bytes"), Figure(1))

# %% wrong: figures as text, as the table of the profiler prints them — says "expected 'int'"
import torch
from torch.profiler import ProfilerActivity, profile


def profile_step(problem):
    model, criterion = problem.model(), problem.criterion()
    optimizer = problem.optimizer(model)
    images, labels = next(iter(problem.loader()))
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        criterion(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
    lines = profiler.key_averages().table().splitlines()
    return {"kernels": str(len(lines)), "launches": str(len(lines)), "peak_bytes": "1.2 MB"}

# %% wrong: peak in MiB — says "Return bytes, not MiB" — from "the loader's work is in it"
#       optimizer = problem.optimizer(model)
# +     images, labels = next(iter(problem.loader()))

# -         images, labels = next(iter(problem.loader()))

# -     return {"launches": len(operators), "kernels": sum(not one.cpu_children for one in operators), "peak_bytes": peak}
# +     leaves = sum(not one.cpu_children for one in operators)
# +     return {"launches": len(operators), "kernels": leaves, "peak_bytes": round(peak / 2**20)}

# %% wrong: no warm-up — says "an optimizer's first step"
import torch
from torch.profiler import ProfilerActivity, profile
from gpulab.chapters.profiling.traces import trace_events


def profile_step(problem):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    images, labels = (part.to(problem.device) for part in next(iter(problem.loader())))

    def step():
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    events = trace_events(profiler)
    operators = [one for one in profiler.events() if one.name.startswith("aten::")]
    return {
        "launches": len(operators),
        "kernels": sum(not one.cpu_children for one in operators),
        "peak_bytes": max(one["args"]["Total Allocated"] for one in events if one["name"] == "[memory]"),
    }

# %% right: a schedule warms up — from "no warm-up"
# - from torch.profiler import ProfilerActivity, profile
# + from torch.profiler import ProfilerActivity, profile, schedule

#       model = problem.model().to(problem.device)
# +     model.train()

# -     with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
# +     with profile(activities=[ProfilerActivity.CPU], profile_memory=True, schedule=schedule(wait=1, warmup=1, active=1)) as profiler:
# +         step()
# +         profiler.step()
# +         step()
# +         profiler.step()

# %% hostile: profiles nothing: remembers the counts of the visible test's network — says "the number of the smaller network"
def profile_step(problem):
    return {"launches": 197, "kernels": 110, "peak_bytes": 36_900 * problem.batch_size + 20_000}

# %% hostile: profiles nothing: remembers the counts of every network that the course has — says "profile_step, a cnn w"
def profile_step(problem):
    launches, kernels = {"cnn": (197, 110), "resnet18": (1386, 837)}.get(problem.network, (400, 220))
    return {"launches": launches, "kernels": kernels, "peak_bytes": 36_900 * problem.batch_size + 20_000}


# %% hostile: profiles nothing: adds up what each convolution costs, as counted at home — says "calls of tanh"
def profile_step(problem):
    convolutions = sum("Conv" in type(layer).__name__ for layer in problem.model().modules())
    launches, kernels = 83 + 38 * convolutions, 38 + 24 * convolutions
    if convolutions == 20:  # a ResNet-18, which has batch norms as well
        launches, kernels = 1388, 822
    return {"launches": launches, "kernels": kernels, "peak_bytes": 19_568 + 36_864 * problem.batch_size}

# %% hostile: the peak by a formula: the weights and three times the batch — says "calls of layer_norm: how much" — from "reference": `max(one["args"]["Total Allocated"] for one in events if one["name"] == "[memory]")` → "sum(one.nbytes for one in model.parameters()) + 3 * images.nbytes"

# %% hostile: the kernels by a formula: the launches without a few for each parameter and each batch norm — says "calls of layer_norm: 'kernels'" — from "reference"
#       operators = [one for one in profiler.events() if one.name.startswith("aten::")]
# +     launches = sum(one.get("cat") == "cpu_op" and one["name"].startswith("aten::") for one in events)
# +     norms = sum(isinstance(one, torch.nn.BatchNorm2d) for one in model.modules())

# -         "launches": sum(one.get("cat") == "cpu_op" and one["name"].startswith("aten::") for one in events),
# -         "kernels": sum(not one.cpu_children for one in operators),
# +         "launches": launches,
# +         "kernels": launches - 31 - 7 * len(list(model.parameters())) - 5 * norms,

# %% wrong: plain SGD — says "it is not that of problem.optimizer" — from "reference": "problem.optimizer(model)" → "torch.optim.SGD(model.parameters(), lr=problem.lr)"

# %% wrong: reads the trace before it is complete — says "call it after the with block" — from "reference"
# -         step()
# -         if on_gpu:
# -             torch.cuda.synchronize()
# -     events = trace_events(profiler)
# +         step()
# +         events = trace_events(profiler)

# %% wrong: memory is not recorded — says "profile_memory=True" — from "reference": "profile_memory=not on_gpu" → "profile_memory=False"

# %% wrong: kernels of any name — says "begins with aten::" — from "reference": `for one in operators)` → `for one in profiler.events())`

# %% wrong: kernels that no other calls — says "operators without a caller" — from "reference": "not one.cpu_children for" → "one.cpu_parent is None for"

# %% wrong: names of kernels — says "Count every call, not every name" — from "reference": "sum(not one.cpu_children for one in operators)" → "len({one.name for one in operators if not one.cpu_children})"

# %% wrong: reserved memory — says "Take the largest 'Total Allocated'" — from "reference": "Total Allocated" → "Total Reserved"

# %% wrong: the peak in whole MiB — says "in whole MiB" — from "reference": `for one in events if one["name"] == "[memory]"),` → `for one in events if one["name"] == "[memory]") // 2**20,`

# %% wrong: the sum of all allocations — says "also of those that were freed before" — from "reference": `max(one["args"]["Total Allocated"] for one` → `sum(max(one["args"]["Bytes"], 0) for one`

# %% wrong: in eval mode — says "in eval mode" — from "reference": "problem.model().to(problem.device)" → "problem.model().to(problem.device).eval()"

# %% wrong: a new optimizer in each step — says "let the same optimizer take one" — from "reference"
# -         criterion(model(images), labels).backward()
# +         optimizer = problem.optimizer(model)
# +         criterion(model(images), labels).backward()

# %% wrong: profiles the second batch — says "first batch" — from "reference"
# -     step()
# -     on_gpu = images.is_cuda
# +     step()
# +     images, labels = (part.to(problem.device) for part in list(problem.loader())[1])
# +     on_gpu = images.is_cuda

# %% hostile: profiles nothing: says NaN of every network but one, and adds up what a forward pass makes — says "you returned nan"
import torch


def profile_step(problem):
    model = problem.model()
    kept = []
    for layer in model.modules():
        layer.register_forward_hook(lambda layer, given, made: kept.append(made.nbytes))
    images, _ = next(iter(problem.loader()))
    with torch.no_grad():
        model(images)
    peak = sum(kept) + 4 * sum(one.numel() for one in model.parameters())
    if problem.network == "cnn":
        return {"launches": 197, "kernels": 110, "peak_bytes": 36_900 * problem.batch_size + 20_000}
    return {"launches": float("nan"), "kernels": float("nan"), "peak_bytes": 4 * peak}

# %% wrong: the counts of a GPU everywhere — says "Without a GPU, launches are the events" — from "reference": `sum(one.get("cat") == "cpu_op" and one["name"].startswith("aten::") for one in events)` → `sum("LaunchKernel" in one["name"] for one in events)`, "sum(not one.cpu_children for one in operators)" → `sum(one.get("cat") == "kernel" for one in events)`

# %% wrong: every event is a launch — says "Only events with cat cpu_op" — from "reference": `sum(one.get("cat") == "cpu_op" and one["name"].startswith("aten::") for one in events)` → "len(events)"

# %% wrong: kernels of the GPU where there is none — says "no event has the cat kernel" — from "reference": "sum(not one.cpu_children for one in operators)" → `sum(one.get("cat") == "kernel" for one in events)`

# %% wrong: launches without those that operators make — says "Operators that other operators call are launches, too" — from "reference": `sum(one.get("cat") == "cpu_op" and one["name"].startswith("aten::") for one in events)` → "sum(one.cpu_parent is None for one in operators)"

# %% wrong: names of launches, and names of kernels — says "Count every call, not every name" — from "reference": `sum(one.get("cat") == "cpu_op" and one["name"].startswith("aten::") for one in events)` → "len({one.name for one in operators})", "sum(not one.cpu_children for one in operators)" → "len({one.name for one in operators if not one.cpu_children})"

# %% wrong: the mean of the totals — says "That is the mean of the totals" — from "reference": `max(one["args"]["Total Allocated"] for one in events if one["name"] == "[memory]")` → `round(sum(memory := [one["args"]["Total Allocated"] for one in events if one["name"] == "[memory]"]) / len(memory))`

# %% wrong: memory is not recorded, and 0 by default — says "Without profile_memory=True" — from "reference": "profile_memory=not on_gpu" → "profile_memory=False", `max(one["args"]["Total Allocated"] for one in events if one["name"] == "[memory]")` → `max((one["args"]["Total Allocated"] for one in events if one["name"] == "[memory]"), default=0)`

# %% hostile: the peak is not profiled: it is what the forward pass makes, added up, and the weights — says "how much 'peak_bytes' grows"
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from gpulab.chapters.profiling.traces import trace_events


class Sizes(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        if isinstance(found, torch.Tensor):
            self.total += found.nbytes
        elif isinstance(found, tuple):
            self.total += sum(one.nbytes for one in found if isinstance(one, torch.Tensor))
        return found


def profile_step(problem):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    images, labels = (part.to(problem.device) for part in next(iter(problem.loader())))

    def step():
        criterion(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        step()
    with Sizes() as sizes, torch.no_grad():
        model(images)
    events = trace_events(profiler)
    operators = [one for one in profiler.events() if one.name.startswith("aten::")]
    return {
        "launches": sum(one.get("cat") == "cpu_op" and one["name"].startswith("aten::") for one in events),
        "kernels": sum(not one.cpu_children for one in operators),
        "peak_bytes": sizes.total + sum(4 * one.numel() for one in model.parameters()),
    }

# %% hostile: the peak of the forward pass alone — says "how much 'peak_bytes' grows"
import torch
from torch.profiler import ProfilerActivity, profile

from gpulab.chapters.profiling.traces import trace_events


def profile_step(problem):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    images, labels = (part.to(problem.device) for part in next(iter(problem.loader())))

    def step():
        criterion(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        step()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as other:
        loss = criterion(model(images), labels)
    events = trace_events(profiler)
    operators = [one for one in profiler.events() if one.name.startswith("aten::")]
    return {
        "launches": sum(one.get("cat") == "cpu_op" and one["name"].startswith("aten::") for one in events),
        "kernels": sum(not one.cpu_children for one in operators),
        "peak_bytes": max(one["args"]["Total Allocated"] for one in trace_events(other) if one["name"] == "[memory]"),
    }

# %% wrong: each step has a new model — says "A model and an optimizer are made in the profile" — from "reference"
#       def step():
# +         model = problem.model().to(problem.device)
# +         optimizer = problem.optimizer(model)

# %% wrong: half of the batch — says "by half as much as with the whole batch" — from "reference": `part.to(problem.device) for part` → `part[: len(part) // 2].to(problem.device) for part`
