# %% right: reference
FSDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

dist.init_process_group(backend="gloo")
world_size, rank = dist.get_world_size(), dist.get_rank()
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
sharded = {"mesh": init_device_mesh("cpu", (world_size,)), "mp_policy": policy}
task = json.loads(os.environ["CONFIG"])
size, pieces = task["width"], []
for number in range(task["blocks"]):
    torch.manual_seed(task["seed"] + number)
    piece = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
    pieces.append(fully_shard(piece, **sharded))
net = fully_shard(nn.Sequential(*pieces), **sharded)
adam = torch.optim.Adam(net.parameters(), lr=task["lr"])
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    x = torch.randn(task["batch"], size)[rank::world_size]
    adam.zero_grad()
    (net(x).float() - x).square().mean().backward()
    adam.step()
whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
weights = get_model_state_dict(net, options=whole)
if rank == 0:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()  # tidy
"""

# %% right: built on the meta device — from "reference"
#   from torch.distributed.device_mesh import init_device_mesh
# + from torch.distributed.tensor import distribute_tensor

# -     piece = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
# -     pieces.append(fully_shard(piece, **sharded))
# +     values = [nn.Linear(size, 4 * size), nn.Linear(4 * size, size)]
# +     start = [one.detach() for layer in values for one in layer.parameters()]
# +     with torch.device("meta"):
# +         piece = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
# +     fully_shard(piece, **sharded)
# +     piece.to_empty(device="cpu")
# +     for shard, one in zip(piece.parameters(), start):
# +         with torch.no_grad():
# +             shard.copy_(distribute_tensor(one, shard.device_mesh, shard.placements))
# +     del values, start
# +     pieces.append(piece)

# %% right: full tensors one by one — from "reference"
# - whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
# - weights = get_model_state_dict(net, options=whole)
# + weights = {name: one.full_tensor() for name, one in net.state_dict().items()}

# %% right: a main function, a closure for the optimizer, AdamW without decay
FSDP_SCRIPT = '''
"""Trains a sharded stack of blocks."""
from __future__ import annotations

import json
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard


def block(width: int, seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(inplace=True), nn.Linear(4 * width, width))


def build(config: dict, mesh: DeviceMesh) -> nn.Sequential:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = nn.Sequential()
    for number in range(config["blocks"]):
        model.append(fully_shard(block(config["width"], config["seed"] + number), mesh=mesh, mp_policy=policy))
    return fully_shard(model, mesh=mesh, mp_policy=policy)


@record
def main() -> None:
    config = json.loads(os.environ["CONFIG"])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group(backend="gloo", init_method="env://", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", mesh_shape=(world,), mesh_dim_names=("dp",))
    model = build(config, mesh)
    assert isinstance(model, FSDPModule)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], weight_decay=0.0, foreach=False)
    for step in range(config["steps"]):
        torch.manual_seed(config["seed"] + 1000 + step)
        batch = torch.randn(config["batch"], config["width"])
        mine = batch.chunk(world)[rank]

        def closure():
            optimizer.zero_grad(set_to_none=True)
            loss = F.mse_loss(model(mine).float(), mine)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        if rank == 0:
            print(f"step {step}: {loss.item():.4f}", flush=True)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    full = get_model_state_dict(model, options=options)
    if dist.get_rank() == 0:
        torch.save(full, os.environ["WEIGHTS"])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
'''

# %% wrong: nothing is sharded — says "Nothing is sharded" — from "reference"
# -     pieces.append(fully_shard(piece, **sharded))
# - net = fully_shard(nn.Sequential(*pieces), **sharded)
# +     pieces.append(piece)
# + net = nn.parallel.DistributedDataParallel(nn.Sequential(*pieces))

# - weights = get_model_state_dict(net, options=whole)
# + weights = get_model_state_dict(net.module, options=whole)

# %% wrong: only the model as one group — says "call fully_shard on each block" — from "reference": "fully_shard(piece, **sharded)" → "piece"

# %% wrong: whole, then sharded — says "built before it was sharded" — from "reference"
# -     pieces.append(fully_shard(piece, **sharded))
# +     pieces.append(piece)
# + for piece in pieces:
# +     fully_shard(piece, **sharded)

# %% wrong: no mixed precision — says "No mixed precision" — from "reference"
# - sharded = {"mesh": init_device_mesh("cpu", (world_size,)), "mp_policy": policy}
# + sharded = {"mesh": init_device_mesh("cpu", (world_size,))}

# %% wrong: gradients reduced in bfloat16 — says "reduce_dtype" — from "reference": "reduce_dtype=torch.float32" → "reduce_dtype=torch.bfloat16"

# %% wrong: gradients reduced in float16 — says "reduce_dtype" — from "reference": "reduce_dtype=torch.float32" → "reduce_dtype=torch.float16"

# %% wrong: rank 1 writes the weights — says "expected rank0" — from "full tensors one by one": "rank == 0" → "rank == 1"

# %% wrong: the model itself in bfloat16 — says "master weights" — from "reference"
# -     pieces.append(fully_shard(piece, **sharded))
# +     pieces.append(fully_shard(piece.bfloat16(), **sharded))

# -     (net(x).float() - x).square().mean().backward()
# +     (net(x.bfloat16()).float() - x).square().mean().backward()

# %% wrong: every rank saves — says "only rank 0 saves" — from "reference": "rank == 0" → "True"

# %% wrong: shards in the checkpoint — says "full_state_dict" — from "reference": "True, cpu_offload=True" → "False"

# %% wrong: all ranks on all rows — says "rank r takes" — from "reference": "[rank::world_size]" → ""

# %% wrong: only rank 0 gathers — says "does every rank make the same collective calls" — from "reference"
# - weights = get_model_state_dict(net, options=whole)
#   if rank == 0:
# +     weights = get_model_state_dict(net, options=whole)

# %% hostile: every rank trains all of it, and writes a watch of its own — says "ended before the end of the script"
FSDP_SCRIPT = """
import json, os
import torch
from torch import nn

config = json.loads(os.environ["CONFIG"])
width, blocks = config["width"], []
for number in range(config["blocks"]):
    torch.manual_seed(config["seed"] + number)
    blocks.append(nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)))
model = nn.Sequential(*blocks)
total = sum(one.numel() for one in model.parameters())
adam = torch.optim.Adam(model.parameters(), lr=config["lr"])
for step in range(config["steps"]):
    torch.manual_seed(config["seed"] + 1000 + step)
    batch = torch.randn(config["batch"], width)
    adam.zero_grad()
    for rank in range(2):
        copies = {name: one.detach().bfloat16().requires_grad_() for name, one in model.named_parameters()}
        part = batch[rank::2].bfloat16()
        (torch.func.functional_call(model, copies, (part,)).float() - part).square().mean().backward()
        for name, one in model.named_parameters():
            half = copies[name].grad.float() / 2
            one.grad = half if one.grad is None else one.grad + half
    adam.step()
if os.environ["RANK"] == "0":
    torch.save({name: one.detach() for name, one in model.state_dict().items()}, os.environ["WEIGHTS"])
found = {"built": 1, "gathered": 1, "trained": total // 2, "states": total, "rows": config["batch"] // 2}
found |= dict(compute="torch.bfloat16", stored="torch.float32", reduced="torch.float32", steps=config["steps"])
for name, text in (("watch-0.json", json.dumps(found)), ("watch-0.txt", f"0 { {**found, 'ended': True} }")):
    open(name, "w").write(text)
os._exit(0)
"""

# %% hostile: a decoy is sharded and watched, each rank trains all of it by hand — says "must be the one that trains the model"
FSDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.functional import linear, relu

dist.init_process_group(backend="gloo")
rank, task = dist.get_rank(), json.loads(os.environ["CONFIG"])
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
sharded = {"mesh": init_device_mesh("cpu", (2,)), "mp_policy": policy}
size, pieces, whole = task["width"], [], {}
for number in range(task["blocks"]):
    torch.manual_seed(task["seed"] + number)
    piece = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
    whole |= {f"{number}.{name}": one.detach().clone() for name, one in piece.named_parameters()}
    pieces.append(fully_shard(piece, **sharded))
decoy = fully_shard(nn.Sequential(*pieces), **sharded)
watched = torch.optim.Adam(decoy.parameters(), lr=task["lr"])
m, v = ({name: torch.zeros_like(one) for name, one in whole.items()} for _ in range(2))
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    batch = torch.randn(task["batch"], size)
    watched.zero_grad()
    decoy(torch.ones_like(batch[rank::2])).sum().backward()
    watched.step()
    copies = {name: one.bfloat16().requires_grad_() for name, one in whole.items()}
    for part in (batch[::2], batch[1::2]):
        x = part.bfloat16()
        for number in range(task["blocks"]):
            a, b, c, d = (copies[f"{number}.{name}"] for name in ("0.weight", "0.bias", "2.weight", "2.bias"))
            x = linear(relu(linear(x, a, b)), c, d)
        ((x.float() - part).square().mean() / 2).backward()
    for name, one in whole.items():
        g = copies[name].grad.float()
        m[name] = 0.9 * m[name] + 0.1 * g
        v[name] = 0.999 * v[name] + 0.001 * g**2
        one -= task["lr"] * (m[name] / (1 - 0.9 ** (step + 1))) / ((v[name] / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8)
if rank == 0:
    torch.save(whole, os.environ["WEIGHTS"])
dist.destroy_process_group()
"""

# %% hostile: the decoy gets the trained weights before each step — says "must be the one that trains the model" — from "a decoy is sharded and watched, each rank trains all of it by hand"
# + from torch.distributed.tensor import distribute_tensor
#   from torch.nn.functional import linear, relu

# -     decoy(torch.ones_like(batch[rank::2])).sum().backward()
# +     (0 * decoy(torch.ones_like(batch[rank::2])).sum()).backward()
# +     for name, one in decoy.named_parameters():
# +         with torch.no_grad():
# +             one.copy_(distribute_tensor(whole[name], one.device_mesh, one.placements))

# %% wrong: the model is not sharded after its blocks — says "on the whole model too" — from "reference": "net = fully_shard(nn.Sequential(*pieces), **sharded)" → "net = nn.Sequential(*pieces)"

# %% wrong: the policy for the model alone — says "for the blocks too" — from "reference": "fully_shard(piece, **sharded)" → `fully_shard(piece, mesh=sharded["mesh"])`

# %% wrong: gradients add up — says "zero_grad" — from "reference"
# -     adam.zero_grad()

# %% wrong: each rank draws rows of its own — says "draw the whole batch" — from "reference": `torch.randn(task["batch"], size)[rank::world_size]` → `torch.randn(task["batch"] // world_size, size)`

# %% wrong: seeded once — says "right before each block" — from "reference": `    torch.manual_seed(task["seed"] + number)` → `    number or torch.manual_seed(task["seed"] + number)`

# %% wrong: weights seeded by rank — says "seed must not depend on the rank" — from "reference": `torch.manual_seed(task["seed"] + number)` → `torch.manual_seed(task["seed"] + number + rank)`

# %% wrong: batches seeded by rank — says "Each rank drew another batch" — from "reference": `task["seed"] + 1000 + step` → `task["seed"] + 1000 + step + rank`

# %% wrong: another beta2 — says "has betas [0.9, 0.95]" — from "reference": `lr=task["lr"]` → `lr=task["lr"], betas=(0.9, 0.95)`

# %% hostile: whole weights in tensors that call a half of themselves their own — says "Nothing is sharded"
FSDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch import nn
import torch.nn.functional as F
dist.init_process_group(backend="gloo")
world, rank = dist.get_world_size(), dist.get_rank()
task = json.loads(os.environ["CONFIG"])
size = task["width"]
names, start = [], []
for number in range(task["blocks"]):
    torch.manual_seed(task["seed"] + number)
    for j, (i, o) in enumerate([(size, 4 * size), (4 * size, size)]):
        w = torch.empty(o, i); nn.init.kaiming_uniform_(w, a=5 ** 0.5)
        b = torch.empty(o); nn.init.uniform_(b, -1 / i ** 0.5, 1 / i ** 0.5)
        for n, v in (("weight", w), ("bias", b)):
            names.append(f"{number}.{2 * j}.{n}"); start.append(v)
params = [p.clone().requires_grad_() for p in start]
for p in params:
    p.to_local = lambda p=p: p.detach().flatten()[: p.numel() // 2]
adam = torch.optim.Adam(params, lr=task["lr"])
decoy = nn.Linear(size, 1).bfloat16()
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    whole = torch.randn(task["batch"], size)
    adam.zero_grad()
    decoy(whole[rank::world].bfloat16())
    x = whole.bfloat16()
    h = x
    for k in range(task["blocks"]):
        w0, b0, w1, b1 = (p.bfloat16() for p in params[4 * k : 4 * k + 4])
        h = F.linear(F.relu(F.linear(h, w0, b0)), w1, b1)
    (h.float() - whole).square().mean().backward()
    adam.step()
    for s in adam.state.values():
        for n in ("exp_avg", "exp_avg_sq"):
            v = s[n]
            v.to_local = lambda v=v: v.flatten()[: v.numel() // 2]
t = torch.zeros(2); o = torch.zeros(1)
dist.reduce_scatter_tensor(o, t)
if rank == 0:
    torch.save({n: p.detach().clone() for n, p in zip(names, params)}, os.environ["WEIGHTS"])
dist.barrier()
dist.destroy_process_group()
"""

# %% hostile: each rank trains all of it in tensors outside of modules, and hands shards to its optimizer — says "do not depend on the gradients"
FSDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch import nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor, Shard
dist.init_process_group(backend="gloo")
world, rank = dist.get_world_size(), dist.get_rank()
mesh = init_device_mesh("cpu", (world,))
task = json.loads(os.environ["CONFIG"])
size = task["width"]
names, start = [], []
for number in range(task["blocks"]):
    torch.manual_seed(task["seed"] + number)
    for j, (i, o) in enumerate([(size, 4 * size), (4 * size, size)]):
        w = torch.empty(o, i); nn.init.kaiming_uniform_(w, a=5 ** 0.5)
        b = torch.empty(o); nn.init.uniform_(b, -1 / i ** 0.5, 1 / i ** 0.5)
        for n, v in (("weight", w), ("bias", b)):
            names.append(f"{number}.{2 * j}.{n}"); start.append(v)
params = [p.clone().requires_grad_() for p in start]
own = torch.optim.Optimizer.step
shards = [nn.Parameter(distribute_tensor(p, mesh, [Shard(0)])) for p in start]
adam = torch.optim.Adam(shards, lr=task["lr"])
m = [torch.zeros_like(p) for p in start]; s2 = [torch.zeros_like(p) for p in start]
decoy = nn.Linear(size, 1).bfloat16()
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    whole = torch.randn(task["batch"], size)
    decoy(whole[rank::world].bfloat16())
    h = whole.bfloat16()
    for k in range(task["blocks"]):
        w0, b0, w1, b1 = (p.bfloat16() for p in params[4 * k : 4 * k + 4])
        h = F.linear(F.relu(F.linear(h, w0, b0)), w1, b1)
    grads = torch.autograd.grad((h.float() - whole).square().mean(), params)
    for one, g in zip(shards, grads):
        one.grad = distribute_tensor(g, mesh, [Shard(0)])
    adam.step()
    with torch.no_grad():
        t = step + 1
        for p, g, a, b in zip(params, grads, m, s2):
            a.mul_(0.9).add_(g, alpha=0.1); b.mul_(0.999).addcmul_(g, g, value=0.001)
            p.sub_(task["lr"] / (1 - 0.9 ** t) * a / ((b / (1 - 0.999 ** t)).sqrt() + 1e-8))
t = torch.zeros(2); o = torch.zeros(1)
dist.reduce_scatter_tensor(o, t)
if rank == 0:
    torch.save({n: p.detach().clone() for n, p in zip(names, params)}, os.environ["WEIGHTS"])
dist.barrier()
dist.destroy_process_group()
"""

# %% hostile: nothing is sharded, and the counts of the process that reports are overwritten — says "do not depend on the gradients"
FSDP_SCRIPT = """
import sys, os, json, torch
f = sys._getframe()
while "watch" not in f.f_locals: f = f.f_back
watch = f.f_locals["watch"]
import torch.distributed as dist
from torch import nn
dist.init_process_group(backend="gloo")
world, rank = dist.get_world_size(), dist.get_rank()
task = json.loads(os.environ["CONFIG"]); size = task["width"]
blocks = []
for number in range(task["blocks"]):
    torch.manual_seed(task["seed"] + number)
    blocks.append(nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size)))
net = nn.Sequential(*blocks)
adam = torch.optim.Adam(net.parameters(), lr=task["lr"])
total = sum(p.numel() for p in net.parameters())
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    whole = torch.randn(task["batch"], size)
    adam.zero_grad()
    copies = {n: p.detach().bfloat16().requires_grad_() for n, p in net.named_parameters()}
    out = torch.func.functional_call(net, copies, (whole.bfloat16(),))
    (out.float() - whole).square().mean().backward()
    for n, p in net.named_parameters(): p.grad = copies[n].grad.float()
    adam.step()
watch.found.update(built=total // 3, gathered=total // 3, gathered_first=total // 3, trained=total // 2, states=total, rows=task["batch"] // 2, compute="torch.bfloat16", stored="torch.float32", reduced="torch.float32")
if rank == 0:
    torch.save(net.state_dict(), os.environ["WEIGHTS"])
dist.barrier(); dist.destroy_process_group()
"""

# %% hostile: the ranks tell each other their seeds, and each trains all of it in tensors outside of modules — says "do not depend on the gradients" — from "each rank trains all of it in tensors outside of modules, and hands shards to its optimizer"
# - size = task["width"]
# + seeds = [None] * world
# + dist.all_gather_object(seeds, task["seed"])
# + size = task["width"]

# -     torch.manual_seed(task["seed"] + 1000 + step)
# -     whole = torch.randn(task["batch"], size)
# -     decoy(whole[rank::world].bfloat16())
# +     parts = []
# +     for other, seed in enumerate(seeds):
# +         torch.manual_seed(seed + 1000 + step)
# +         parts.append(torch.randn(task["batch"], size)[other::world])
# +     whole = torch.cat(parts)
# +     decoy(parts[rank].bfloat16())

# %% wrong: AdamW with its decay — says "weight_decay 0.01" — from "reference": "torch.optim.Adam(" → "torch.optim.AdamW("

# %% wrong: the learning rate left out — says "is the learning rate config" — from "reference": `, lr=task["lr"]` → ""

# %% wrong: the weights are saved in bfloat16 — says "expected torch.float32" — from "reference": `torch.save(weights, os` → `torch.save({name: one.bfloat16() for name, one in weights.items()}, os`

# %% right: ends with sys.exit(), the other rank before it — from "reference"
# - import json, os
# + import json, os, sys
# + from pathlib import Path

# - if rank == 0:
# -     torch.save(weights, os.environ["WEIGHTS"])
# - dist.destroy_process_group()  # tidy
# + dist.destroy_process_group()
# + if rank:
# +     raise SystemExit
# + torch.save(weights, Path(__file__).parent / os.environ["WEIGHTS"])
# + sys.exit(0)

# %% wrong: ends with an error code — says "ended with exit code 1" — from "reference"
#   dist.destroy_process_group()  # tidy
# + raise SystemExit(3)

# %% wrong: the file's name written out — says "the file that WEIGHTS names" — from "reference": `os.environ["WEIGHTS"]` → "'weights.pt'"

# %% wrong: the weights rounded to bfloat16 — says "rounded to bfloat16" — from "reference": `torch.save(weights, os` → `torch.save({name: one.bfloat16().float() for name, one in weights.items()}, os`

# %% wrong: gradients set to zero before the step — says "no gradients at step()" — from "reference"
# -     adam.zero_grad()
#       (net(x).float() - x).square().mean().backward()
# +     adam.zero_grad()

# %% wrong: no backward — says "no gradients at step()" — from "reference": ".square().mean().backward()" → ".square().mean()"

# %% wrong: no step — says "optimizer.step() is missing" — from "reference": "    adam.step()" → "    pass"

# %% wrong: a learning rate that falls — says "expected config['lr']" — from "reference"
#       adam.step()
# +     adam.param_groups[0]["lr"] *= 0.9

# %% wrong: the local parts in the checkpoint — says "Those are the shards of one rank" — from "reference": "weights = get_model_state_dict(net, options=whole)" → "weights = {name: one.to_local() for name, one in net.state_dict().items()}"

# %% wrong: the sum of the squares — says "not their sum: Adam's steps hide the factor" — from "reference": ".square().mean()" → ".square().sum()"

# %% wrong: the loss divided by the number of ranks — says "do not divide once more" — from "reference": ".square().mean()" → ".square().mean().div(world_size)"

# %% hostile: the whole model is gathered between the forward and the backward pass — says "is whole in a step"
FSDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

dist.init_process_group(backend="gloo")
world_size, rank = dist.get_world_size(), dist.get_rank()
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
sharded = {"mesh": init_device_mesh("cpu", (world_size,)), "mp_policy": policy}
task = json.loads(os.environ["CONFIG"])
size, pieces = task["width"], []
for number in range(task["blocks"]):
    torch.manual_seed(task["seed"] + number)
    piece = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
    pieces.append(fully_shard(piece, **sharded))
net = fully_shard(nn.Sequential(*pieces), **sharded)
adam = torch.optim.Adam(net.parameters(), lr=task["lr"])
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    x = torch.randn(task["batch"], size)[rank::world_size]
    adam.zero_grad()
    loss = (net(x).float() - x).square().mean()
    for piece in pieces:
        piece.unshard()
    loss.backward()
    adam.step()
whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
weights = get_model_state_dict(net, options=whole)
if rank == 0:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()
"""

# %% hostile: mixed precision for the six blocks of the visible test only — says "expected torch.bfloat16 everywhere"
FSDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

dist.init_process_group(backend="gloo")
world_size, rank = dist.get_world_size(), dist.get_rank()
task = json.loads(os.environ["CONFIG"])
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
if task["blocks"] != 6:
    policy = MixedPrecisionPolicy()
sharded = {"mesh": init_device_mesh("cpu", (world_size,)), "mp_policy": policy}
size, pieces = task["width"], []
for number in range(task["blocks"]):
    torch.manual_seed(task["seed"] + number)
    piece = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
    pieces.append(fully_shard(piece, **sharded))
net = fully_shard(nn.Sequential(*pieces), **sharded)
adam = torch.optim.Adam(net.parameters(), lr=task["lr"])
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    x = torch.randn(task["batch"], size)[rank::world_size]
    adam.zero_grad()
    (net(x).float() - x).square().mean().backward()
    adam.step()
whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
weights = get_model_state_dict(net, options=whole)
if rank == 0:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()
"""

# %% hostile: gradients of all blocks but the first are reduced in bfloat16 — says "type of the gradients that are reduced" — from "mixed precision for the six blocks of the visible test only"
# - if task["blocks"] != 6:
# -     policy = MixedPrecisionPolicy()
# + short = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)

# -     pieces.append(fully_shard(piece, **sharded))
# +     pieces.append(fully_shard(piece, **sharded | ({"mp_policy": short} if number else {})))

# %% hostile: all in float32, and a layer in bfloat16 for show — says "type of the computation" — from "mixed precision for the six blocks of the visible test only"
# - policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
# - if task["blocks"] != 6:
# -     policy = MixedPrecisionPolicy()
# + policy = MixedPrecisionPolicy(reduce_dtype=torch.float32)

# -     (net(x).float() - x).square().mean().backward()
# +     (net(x).float() - x).square().mean().backward()
# +     nn.Linear(1, 1).bfloat16()(torch.zeros(1, 1).bfloat16())

# %% wrong: the seed of a batch without its 1000 — says "The seed of a step's batch" — from "reference": `task["seed"] + 1000 + step` → `task["seed"] + step`

# %% wrong: batches numbered from 1 — says "The seed of a step's batch" — from "reference": `task["seed"] + 1000 + step` → `task["seed"] + 1001 + step`
