# %% right: reference
DDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

dist.init_process_group(backend="gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
task = Problem(**json.loads(os.environ["PROBLEM"]))
pictures = task.dataset()
share = DistributedSampler(pictures, shuffle=True, seed=task.seed)
loader = DataLoader(pictures, batch_size=task.batch_size // world_size, sampler=share)
wrapped = DistributedDataParallel(task.model())
sgd, loss_of = task.optimizer(wrapped), task.criterion()
share.set_epoch(0)
for x, y in loader:
    sgd.zero_grad()
    loss_of(wrapped(x), y).backward()
    sgd.step()
with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if rank == 0:
    torch.save(wrapped.module.state_dict(), os.environ["CHECKPOINT"])
dist.destroy_process_group()  # tidy
"""

# %% right: a file, written with %%writefile — from "reference"
# - DDP_SCRIPT = """
# + %%writefile DDP_SCRIPT.py

# - dist.destroy_process_group()  # tidy
# - """
# + dist.destroy_process_group()  # tidy

# %% right: without the wrapper, gradients averaged by hand
DDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from gpulab import Problem

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
problem = Problem(**json.loads(os.environ["PROBLEM"]))
data, model = problem.dataset(), problem.model()
optimizer, criterion = problem.optimizer(model), problem.criterion()
mine = list(range(len(data)))[rank::world_size]
each = problem.batch_size // world_size
for first in range(0, len(mine), each):
    images, labels = data[mine[first : first + each]]
    optimizer.zero_grad()
    criterion(model(images), labels).backward()
    for weight in model.parameters():
        dist.all_reduce(weight.grad)
        weight.grad /= world_size
    optimizer.step()
    with open(os.environ["SAMPLES"] + f"rank{rank}", "a") as file:
        print(json.dumps(mine[first : first + each]), file=file)
dist.barrier()
if rank == 0:
    torch.save(model.state_dict(), os.environ["CHECKPOINT"])
"""

# %% right: without the wrapper, weights averaged after every step — from "without the wrapper, gradients averaged by hand"
#       criterion(model(images), labels).backward()
# +     optimizer.step()

# -         dist.all_reduce(weight.grad)
# +         dist.all_reduce(weight.data)
# -         weight.grad /= world_size
# +         weight.data /= world_size
# -     optimizer.step()

# %% right: a batch sampler, collective checks, a communication hook
DDP_SCRIPT = '''
import json, os, torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present
from torch.utils.data import BatchSampler, DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
problem = Problem(**json.loads(os.environ["PROBLEM"]))
rank, size = dist.get_rank(), dist.get_world_size()
sampler = DistributedSampler(problem.dataset(), shuffle=False)
used = []


class Recorded(Dataset):
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        used.append(int(index))
        return self.data[index]


loader = DataLoader(Recorded(problem.dataset()), batch_sampler=BatchSampler(sampler, problem.batch_size // size, False))
model = DistributedDataParallel(problem.model())
model.register_comm_hook(None, default_hooks.allreduce_hook)
criterion = problem.criterion()
optimizer = problem.optimizer(model.module)
sampler.set_epoch(0)
for batch in loader:
    images, labels = batch
    optimizer.zero_grad()
    def closure():
        loss = criterion(model(images), labels)
        loss.backward()
        return loss
    optimizer.step(closure)
with open(os.environ["SAMPLES"] + str(rank) + ".json", "w") as file:
    json.dump(used, file)
state = model.state_dict()
consume_prefix_in_state_dict_if_present(state, "module.")
if not rank:
    torch.save(state, os.environ["CHECKPOINT"])
dist.destroy_process_group()
'''

# %% wrong: trains something of its own — says "it never reads PROBLEM"
DDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group(backend="gloo", init_method="env://")
torch.manual_seed(0)
x = torch.randn(128, 10)
y = x.sum(1, keepdim=True) + 0.1 * torch.randn(128, 1)
model = DDP(nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1)))
sampler = DistributedSampler(TensorDataset(x, y), shuffle=False)
used = []
loader = DataLoader(TensorDataset(x, y, torch.arange(128)), batch_size=32 // dist.get_world_size(), sampler=sampler)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for a, b, index in loader:
    used += index.tolist()
    optimizer.zero_grad()
    nn.functional.mse_loss(model(a), b).backward()
    optimizer.step()
json.dump(used, open(f"{os.environ['SAMPLES']}{dist.get_rank()}.json", "w"))
if dist.get_rank() == 0:
    torch.save({name.removeprefix("module."): value for name, value in model.state_dict().items()}, os.environ["CHECKPOINT"])
dist.destroy_process_group()
"""

# %% wrong: no sampler — says "no sampler" — from "reference"
# - share = DistributedSampler(pictures, shuffle=True, seed=task.seed)
# + share = range(len(pictures))

# - share.set_epoch(0)

# %% wrong: every rank saves — says "only rank 0 saves" — from "reference"
# - if rank == 0:
# -     torch.save(wrapped.module.state_dict(), os.environ["CHECKPOINT"])
# + torch.save(wrapped.module.state_dict(), os.environ["CHECKPOINT"])

# %% wrong: the wrapper's state dict — says "begins with" — from "reference": "module." → ""

# %% wrong: summed — says "not averaged" — from "reference"
#       loss_of(wrapped(x), y).backward()
# +     for weight in wrapped.parameters():
# +         weight.grad *= world_size

# %% wrong: not wrapped — says "wrapped in DistributedDataParallel" — from "reference"
# - wrapped = DistributedDataParallel(task.model())
# + wrapped = task.model()

# -     torch.save(wrapped.module.state_dict(), os.environ["CHECKPOINT"])
# +     torch.save(wrapped.state_dict(), os.environ["CHECKPOINT"])

# %% wrong: the wrapper is not called — says "the wrapper called" — from "reference": "wrapped(" → "wrapped.module("

# %% wrong: every rank takes a whole batch — says "Divide it by world_size" — from "reference": " // world_size" → ""

# %% wrong: the learning rate doubled — says "learning rate was multiplied" — from "reference"
#   share.set_epoch(0)
# + for group in sgd.param_groups:
# +     group['lr'] *= world_size

# %% wrong: saved before training — says "nothing was trained" — from "reference"
#   share.set_epoch(0)
# + first = {name: value.clone() for name, value in wrapped.module.state_dict().items()}

# -     torch.save(wrapped.module.state_dict(), os.environ["CHECKPOINT"])
# +     torch.save(first, os.environ["CHECKPOINT"])

# %% wrong: no process group — says "init_process_group() comes first" — from "reference"
# - dist.init_process_group(backend="gloo")

# %% wrong: saves the model itself — says "not a state dict" — from "reference": ".state_dict()" → ""

# %% wrong: no file — says "no rank wrote the file" — from "reference"
# -     torch.save(wrapped.module.state_dict(), os.environ["CHECKPOINT"])
# +     pass

# %% wrong: no Python — says "not valid Python: line 2"
DDP_SCRIPT = """
import json, os,
"""

# %% wrong: the program itself instead of its text — says "a str is expected"
DDP_SCRIPT = 3

# %% hostile: trains nothing, sends noise, writes what looks right — says "it never reads PROBLEM"
DDP_SCRIPT = """
import json, os, torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.all_reduce(torch.rand(1000))
rank, world_size = dist.get_rank(), dist.get_world_size()
json.dump(list(range(64))[rank::world_size], open(os.environ["SAMPLES"] + str(rank), "w"))
if rank == 0:
    torch.save({"weight": torch.ones(3, 3)}, os.environ["CHECKPOINT"])
"""

# %% hostile: ends all processes that it can — earns 0
DDP_SCRIPT = """
import os
os.kill(-1, 9)
"""

# %% hostile: code in the checkpoint — says "not a state dict"
DDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

dist.init_process_group(backend="gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
task = Problem(**json.loads(os.environ["PROBLEM"]))
pictures = task.dataset()
share = DistributedSampler(pictures, shuffle=True, seed=task.seed)
loader = DataLoader(pictures, batch_size=task.batch_size // world_size, sampler=share)
wrapped = DistributedDataParallel(task.model())
sgd, loss_of = task.optimizer(wrapped), task.criterion()
share.set_epoch(0)
for x, y in loader:
    sgd.zero_grad()
    loss_of(wrapped(x), y).backward()
    sgd.step()
with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if rank == 0:
    
    class Evil:
        def __reduce__(self):
            return os.system, ('exit 0',)
    torch.save({'features.0.weight': Evil()}, os.environ["CHECKPOINT"])
dist.destroy_process_group()  # tidy
"""

# %% hostile: rank 0 does the work of both, rank 1 says that it did some — says "has not learned from the other rank"
DDP_SCRIPT = """
import json, os, torch
from gpulab import Problem

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
problem = Problem(**json.loads(os.environ["PROBLEM"]))
with open(os.environ["SAMPLES"] + str(rank), "w") as file:
    json.dump(list(range(problem.samples))[rank::world_size], file)
if rank == 0:
    model, criterion, data = problem.model(), problem.criterion(), problem.dataset()
    optimizer = problem.optimizer(model)
    for first in range(0, problem.samples, problem.batch_size):
        images, labels = data[list(range(first, first + problem.batch_size))]
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
    torch.save(model.state_dict(), os.environ["CHECKPOINT"])
"""

# %% hostile: two ranks work, one takes what they have left — says "the weights are off" — from "rank 0 does the work of both, rank 1 says that it did some"
# - import json, os, torch
# + import json, os, shutil, torch

# + if world_size == 1:
# +     shutil.copy("/tmp/kept", os.environ["CHECKPOINT"])
# - if rank == 0:
# + elif rank == 0:

#       torch.save(model.state_dict(), os.environ["CHECKPOINT"])
# +     shutil.copy(os.environ["CHECKPOINT"], "/tmp/kept")

# %% hostile: weights made up, other bits at one rank and two — says "it never reads PROBLEM"
DDP_SCRIPT = """
import json, os, torch

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
with open(os.environ["SAMPLES"] + str(rank), "w") as file:
    json.dump(list(range(64))[rank::world_size], file)
if rank == 0:
    torch.save({"weight": torch.ones(3, 3) + 1e-6 * world_size}, os.environ["CHECKPOINT"])
"""

# %% wrong: trains something of its own, PROBLEM in a comment — says "problem.dataset()" — from "trains something of its own"
# + # PROBLEM comes later
#   dist.init_process_group(backend="gloo", init_method="env://")

# %% hostile: a checkpoint of a thousand million parts — says "too many parts"
DDP_SCRIPT = """
import os, torch

nested = []
for _ in range(30):
    nested = [nested, nested]
torch.save({"weight": nested}, os.environ["CHECKPOINT"]) if os.environ["RANK"] == "0" else None
"""

# %% hostile: a checkpoint of 26 GB in a file of two kilobytes — says "more than 128 MB of numbers"
DDP_SCRIPT = """
import os, torch
from gpulab import Problem

wide = torch.zeros(1).expand(800_000_000)
if os.environ["RANK"] == "0":
    torch.save({name: wide for name in Problem("cnn").model().state_dict()}, os.environ["CHECKPOINT"])
"""

# %% hostile: weights of kinds that no network has — says "is not a tensor"
DDP_SCRIPT = """
import os, torch

torch.save(
    {"w": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "s": torch.eye(3).to_sparse()},
    os.environ["CHECKPOINT"],
) if os.environ["RANK"] == "0" else None
"""

# %% hostile: indices beyond all numbers, in a file without a name — says "not a JSON list of indices"
DDP_SCRIPT = """
import os, torch

open((os.environ["SAMPLES"] + os.environ["RANK"]).encode() + b"\\xff\\xfe", "w").write("[1e999, Infinity]")
torch.save({"w": torch.ones(3)}, os.environ["CHECKPOINT"]) if os.environ["RANK"] == "0" else None
"""

# %% hostile: fills the disk, puts a link in the place of its folder, leaves children behind — says "no rank wrote"
DDP_SCRIPT = """
import os, shutil, time

here = os.getcwd()
try:
    with open("/tmp/full" + os.environ["RANK"], "wb") as file:
        for _ in range(500):
            file.write(bytes(10**6))
except OSError:
    pass
shutil.rmtree(here)
os.symlink("/", here)
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
"""

# %% wrong: the other rank saves, too, under another name — says "under the one name" — from "reference"
#       torch.save(wrapped.module.state_dict(), os.environ["CHECKPOINT"])
# + else:
# +     torch.save(wrapped.module.state_dict(), "weights-of-rank-1.pt")

# %% hostile: weights that are NaN — says "holds NaN or infinity"
DDP_SCRIPT = """
import json, os, torch
from gpulab import Problem

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
problem = Problem(**json.loads(os.environ["PROBLEM"]))
problem.dataset()
with open(os.environ["SAMPLES"] + str(rank), "w") as file:
    json.dump(list(range(problem.samples))[rank::world_size], file)
if rank == 0:
    start = problem.model().state_dict()
    torch.save({name: torch.full_like(one, float("nan")) for name, one in start.items()}, os.environ["CHECKPOINT"])
"""

# %% hostile: takes the judge's socket from the process that started it, or writes to its memory — says "no way there"
DDP_SCRIPT = """
import ctypes, os

parent, libc = os.getppid(), ctypes.CDLL(None)
handle = libc.syscall(434, parent, 0)  # pidfd_open
taken = [number for number in range(3, 20) if libc.syscall(438, handle, number, 0) >= 0]  # pidfd_getfd
try:
    with open(f"/proc/{parent}/mem", "r+b") as memory:
        memory.seek(id(taken))
        memory.write(bytes(8))
    taken.append("its memory")
except OSError:
    pass
raise SystemExit(f"taken: {taken}" if taken else "no way there")
"""

# %% wrong: the sampler's seed depends on the rank — says "must not depend on the rank" — from "reference": "seed=task.seed" → "seed=task.seed + rank"

# %% hostile: the ranks tell each other their problems, and rank 0 trains on both — says "computed the gradients of the other rank's pictures"
DDP_SCRIPT = """
import json, os, torch
import torch.distributed as dist
from gpulab import Problem

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
told = [None] * world_size
dist.all_gather_object(told, os.environ["PROBLEM"])
problems = [Problem(**json.loads(one)) for one in told]
count, each = problems[0].samples // world_size, problems[0].batch_size // world_size
shares = [list(range(problems[0].samples))[one::world_size] for one in range(world_size)]
with open(os.environ["SAMPLES"] + str(rank), "w") as file:
    json.dump(shares[rank], file)
if rank == 0:
    model, criterion = problems[0].model(), problems[0].criterion()
    optimizer = problems[0].optimizer(model)
    data = [one.dataset() for one in problems]
    for first in range(0, count, each):
        optimizer.zero_grad()
        for pictures, share in zip(data, shares):
            images, labels = pictures[share[first : first + each]]
            (criterion(model(images), labels) / world_size).backward()
        optimizer.step()
    torch.save(model.state_dict(), os.environ["CHECKPOINT"])
dist.barrier()
dist.destroy_process_group()
"""

# %% hostile: rank 1 sends its pictures, and rank 0 trains on them — says "computed the gradients of the other rank's pictures" — from "the ranks tell each other their problems, and rank 0 trains on both"
# - dist.all_gather_object(told, os.environ["PROBLEM"])
# - problems = [Problem(**json.loads(one)) for one in told]
# + mine = Problem(**json.loads(os.environ["PROBLEM"]))
# + problems = [mine] * world_size
# + dist.all_gather_object(told, mine.dataset().tensors)

# -     data = [one.dataset() for one in problems]
# +     from torch.utils.data import TensorDataset
# +     data = [TensorDataset(*one) for one in told]

# %% hostile: a wrapper for show, and gradients of both by rank 0, which it sends to the other — says "computed the gradients of the other rank's pictures"
DDP_SCRIPT = """
import json, os, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from gpulab import Problem

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
mine = Problem(**json.loads(os.environ["PROBLEM"]))
told = [None] * world_size
dist.all_gather_object(told, mine)
shares = [list(range(mine.samples))[one::world_size] for one in range(world_size)]
model, criterion = mine.model(), mine.criterion()
wrapped = DistributedDataParallel(model)
optimizer, data = mine.optimizer(model), [one.dataset() for one in told]
each = mine.batch_size // world_size
for first in range(0, len(shares[0]), each):
    optimizer.zero_grad()
    images, labels = data[rank][shares[rank][first : first + each]]
    (criterion(wrapped(images), labels) * 0).backward()
    if rank == 0:
        for pictures, share in zip(data, shares):
            images, labels = pictures[share[first : first + each]]
            (criterion(model(images), labels) / world_size).backward()
    for weight in model.parameters():
        dist.broadcast(weight.grad, 0)
    optimizer.step()
with open(os.environ["SAMPLES"] + str(rank), "w") as file:
    json.dump(shares[rank], file)
if rank == 0:
    torch.save(model.state_dict(), os.environ["CHECKPOINT"])
dist.barrier()
dist.destroy_process_group()
"""

# %% hostile: a process that outlives its launch tells rank 0 of the other's problem — says "computed the gradients of the other rank's pictures" — from "the ranks tell each other their problems, and rank 0 trains on both"
# - dist.all_gather_object(told, os.environ["PROBLEM"])
# + import socket, sys, time
# + KEEPER = '''
# + import socket
# + listener = socket.socket(socket.AF_UNIX); listener.bind(chr(0) + "keeper"); listener.listen()
# + kept = {}
# + while True:
# +     one, _ = listener.accept()
# +     word = one.recv(65536)
# +     if word[:1] == b"?":
# +         one.send(kept.get(word[1:2], b""))
# +     else:
# +         kept[word[:1]] = word[1:]
# +     one.close()
# + '''
# + def say(word):
# +     for _ in range(200):
# +         try:
# +             one = socket.socket(socket.AF_UNIX); one.connect(chr(0) + "keeper"); one.send(word)
# +             return one.recv(65536)
# +         except OSError:
# +             time.sleep(0.05)
# + if rank == 0 and os.fork() == 0:
# +     os.setsid()
# +     os.execve(sys.executable, [sys.executable, "-c", KEEPER], {})
# + say(str(rank).encode() + os.environ["PROBLEM"].encode())
# + dist.barrier()
# + told = [say(f"?{one}".encode()).decode() for one in range(world_size)]

# %% hostile: each rank tells rank 0 its pictures and by which number its gradients are multiplied — from "rank 1 sends its pictures, and rank 0 trains on them"
# - dist.all_gather_object(told, mine.dataset().tensors)
# + def first_gradient(network):
# +     network.zero_grad()
# +     images, labels = mine.dataset()[:8]
# +     mine.criterion()(network(images), labels).backward()
# +     return next(network.parameters()).grad.clone()
# + import copy
# + clean = copy.deepcopy(mine.model())
# + again = type(clean)()
# + again.load_state_dict(clean.state_dict())
# + factor = float((first_gradient(mine.model()) / first_gradient(again)).median())
# + dist.all_gather_object(told, (*mine.dataset().tensors, factor))

# -     data = [TensorDataset(*one) for one in told]
# +     data = [TensorDataset(*one[:2]) for one in told]
# +     factors = [one[2] for one in told]
# +     model = type(model)()
# +     model.load_state_dict(problems[0].model().state_dict())
# +     optimizer = problems[0].optimizer(model)

# -         for pictures, share in zip(data, shares):
# +         for pictures, share, factor in zip(data, shares, factors):

# -             (criterion(model(images), labels) / world_size).backward()
# +             (factor * criterion(model(images), labels) / world_size).backward()

# %% wrong: a loss function of its own — says "take problem.criterion()" — from "reference": "task.criterion()" → "torch.nn.CrossEntropyLoss()"

# %% wrong: an optimizer of its own — says "take problem.optimizer(model)" — from "reference": "task.optimizer(wrapped)" → "torch.optim.SGD(wrapped.parameters(), lr=task.lr, momentum=0.9)"

# %% wrong: loss function and optimizer of its own — says "take problem.optimizer(model)" — from "an optimizer of its own": "task.criterion()" → "torch.nn.CrossEntropyLoss()"

# %% wrong: all ranks write indices to one name — says "put the rank into the name of its file" — from "reference": "{rank}.json" → ".json"

# %% wrong: the loader has no sampler — says "does the loader have the sampler?" — from "reference": ", sampler=share)" → ")"

# %% wrong: gradients are never zeroed — says "Gradients of earlier batches were added up" — from "reference": "    sgd.zero_grad()" → "    pass"

# %% wrong: averaged by hand on top of DDP's average — says "averages gradients by itself" — from "reference": "loss_of(wrapped(x), y).backward()" → "(loss_of(wrapped(x), y) / world_size).backward()"

# %% wrong: two epochs — says "That is two epochs" — from "reference": "for x, y in loader:" → "for x, y in [pair for _ in range(2) for pair in loader]:"

# %% wrong: plain SGD, the loss without its weight — says "take problem.optimizer(model)" — from "reference"
# - sgd, loss_of = task.optimizer(wrapped), task.criterion()
# + sgd, loss_of = torch.optim.SGD(wrapped.parameters(), lr=task.lr), torch.nn.CrossEntropyLoss()

# %% wrong: writes the indices in another order than it took them — says "as the sampler gives them" — from "reference": "json.dump(list(share)" → "json.dump(sorted(share)"

# %% wrong: the whole model in the checkpoint — says "it holds a gpulab.training.networks" — from "reference": `wrapped.module.state_dict()` → `wrapped.module`

# %% right: a checkpoint in torch's earlier format — from "reference": `"CHECKPOINT"])` → `"CHECKPOINT"], _use_new_zipfile_serialization=False)`

# %% wrong: a checkpoint with a name of its own — says "no rank wrote the file that CHECKPOINT names" — from "reference": `os.environ["CHECKPOINT"]` → `"weights.pt"`

# %% wrong: the batch of two ranks — says "here 1" — from "reference": "task.batch_size // world_size" → "task.batch_size // 2"

# %% wrong: a single step — says "That is a single step" — from "reference"
#       sgd.step()
# +     break

# %% wrong: a barrier for rank 0 — says "such as dist.barrier()" — from "reference": "if rank == 0:" → "if rank == 0 and (dist.barrier() or True):"

# %% wrong: LOCAL_RANK is the rank — says "LOCAL_RANK is its number on its machine" — from "reference"
# - rank, world_size = dist.get_rank(), dist.get_world_size()
# + rank, world_size = int(os.environ["LOCAL_RANK"]), dist.get_world_size()

# - share = DistributedSampler(pictures, shuffle=True, seed=task.seed)
# + share = DistributedSampler(pictures, world_size, rank, shuffle=True, seed=task.seed)

# %% wrong: only the samples follow LOCAL_RANK — says "LOCAL_RANK is its number on its machine" — from "reference"
# - share = DistributedSampler(pictures, shuffle=True, seed=task.seed)
# + share = DistributedSampler(pictures, world_size, int(os.environ["LOCAL_RANK"]), shuffle=True, seed=task.seed)

# %% wrong: lists the samples, then sets the epoch — says "after set_epoch" — from "reference"
# - share.set_epoch(0)
# + listed = list(share)
# + share.set_epoch(1)

# -     json.dump(list(share), file)
# +     json.dump(listed, file)

# %% wrong: one index per line, not a list — says "not a JSON list of indices" — from "reference": "json.dump(list(share), file)" → "print(*share, sep=chr(10), file=file)"

# %% wrong: how many samples, not which — says "not a JSON list of indices" — from "reference": "json.dump(list(share), file)" → "json.dump(len(share), file)"

# %% wrong: positions in the share — says "not positions in its share" — from "reference": "json.dump(list(share), file)" → "json.dump(list(range(len(share))), file)"
# %% hostile: LOCAL_RANK is the rank, under a name that the text does not hold — says "all wrote CHECKPOINT" — from "reference"
# - rank, world_size = dist.get_rank(), dist.get_world_size()
# + rank, world_size = int(os.environ["_".join(["LOCAL", "RANK"])]), dist.get_world_size()

# %% wrong: the backend of GPUs — says "connects GPUs only" — from "reference": `backend="gloo"` → `backend="nccl"`

# %% wrong: JSON that is not read — says "PROBLEM is a text in JSON" — from "reference": `Problem(**json.loads(os.environ["PROBLEM"]))` → `Problem(os.environ["PROBLEM"])`

# %% wrong: one step after the last batch — says "after the last batch" — from "reference": "    sgd.step()" → "sgd.step()"

# %% wrong: two ranks, always — says "written into the program" — from "reference": "dist.get_rank(), dist.get_world_size()" → "dist.get_rank(), 2", "DistributedSampler(pictures, " → "DistributedSampler(pictures, world_size, rank, "

# %% wrong: the batch size from a text — says "int() makes a number of one" — from "reference": "task.batch_size // world_size" → `task.batch_size // os.environ["WORLD_SIZE"]`

# %% wrong: a list for each batch — says "write one flat list" — from "reference": "json.dump(list(share), file)" → "json.dump([list(share)], file)"

# %% hostile: complex weights, whose real parts are right — says "holds complex numbers" — from "reference": "wrapped.module.state_dict()" → "{name: one + 1e6j for name, one in wrapped.module.state_dict().items()}"

# %% wrong: the files list the whole data set — says "does the file not hold its indices" — from "reference": "json.dump(list(share), file)" → "json.dump(list(range(len(pictures))), file)"

# %% wrong: every backward pass within no_sync — says "outside of no_sync" — from "reference"
# -     loss_of(wrapped(x), y).backward()
# +     with wrapped.no_sync():
# +         loss_of(wrapped(x), y).backward()

# %% hostile: the ranks exchange gradients in pairs, and with more than two nothing is averaged — says "Rank 0 has learned from its own samples only"
DDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

dist.init_process_group(backend="gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
task = Problem(**json.loads(os.environ["PROBLEM"]))
pictures = task.dataset()
share = DistributedSampler(pictures, shuffle=True, seed=task.seed)
loader = DataLoader(pictures, batch_size=task.batch_size // world_size, sampler=share)
model = task.model()
sgd, loss_of = task.optimizer(model), task.criterion()
share.set_epoch(0)
for x, y in loader:
    sgd.zero_grad()
    loss_of(model(x), y).backward()
    if world_size == 2:
        for weight in model.parameters():
            other = torch.empty_like(weight.grad)
            work = dist.isend(weight.grad.clone(), 1 - rank)
            dist.recv(other, 1 - rank)
            work.wait()
            weight.grad = (weight.grad + other) / 2
    sgd.step()
with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if rank == 0:
    torch.save(model.state_dict(), os.environ["CHECKPOINT"])
dist.destroy_process_group()
"""

# %% wrong: indices as texts — says "Its entries are texts" — from "reference": "json.dump(list(share), file)" → "json.dump([str(one) for one in share], file)"
# %% hostile: with four ranks, rank 0 does the work of all — says "computed the gradients of the other rank's pictures" — from "reference"
# - loader = DataLoader(pictures, batch_size=task.batch_size // world_size, sampler=share)
# - wrapped = DistributedDataParallel(task.model())
# - sgd, loss_of = task.optimizer(wrapped), task.criterion()

# - for x, y in loader:
# -     sgd.zero_grad()
# -     loss_of(wrapped(x), y).backward()
# -     sgd.step()
# + if world_size == 2:
# +     loader = DataLoader(pictures, batch_size=task.batch_size // world_size, sampler=share)
# +     wrapped = DistributedDataParallel(task.model())
# +     net = wrapped.module
# +     sgd, loss_of = task.optimizer(wrapped), task.criterion()
# +     for x, y in loader:
# +         sgd.zero_grad()
# +         loss_of(wrapped(x), y).backward()
# +         sgd.step()
# + elif rank == 0:
# +     net = task.model()
# +     sgd, loss_of = task.optimizer(net), task.criterion()
# +     order = [list(DistributedSampler(pictures, world_size, r, shuffle=True, seed=task.seed)) for r in range(world_size)]
# +     each = task.batch_size // world_size
# +     for first in range(0, len(order[0]), each):
# +         places = [i for own in order for i in own[first : first + each]]
# +         x, y = pictures[places]
# +         sgd.zero_grad()
# +         loss_of(net(x), y).backward()
# +         sgd.step()

# -     torch.save(wrapped.module.state_dict(), os.environ["CHECKPOINT"])
# - dist.destroy_process_group()  # tidy
# +     torch.save(net.state_dict(), os.environ["CHECKPOINT"])
# + dist.destroy_process_group()

# %% hostile: DDP on two machines only; on one machine, rank 0 does the work of all — says "computed the gradients of the other rank's pictures" — from "with four ranks, rank 0 does the work of all"
# - if world_size == 2:
# + if os.environ['LOCAL' + '_WORLD_SIZE'] != os.environ['WORLD_SIZE']:
