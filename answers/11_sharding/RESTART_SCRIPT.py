# %% right: reference
RESTART_SCRIPT = """
import json, os
from pathlib import Path
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group(backend="gloo")
world_size, rank = dist.get_world_size(), dist.get_rank()
task, place = json.loads(os.environ["CONFIG"]), Path(os.environ["CHECKPOINTS"])
torch.manual_seed(task["seed"])
size = task["width"]
net = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
fully_shard(net, mesh=init_device_mesh("cpu", (world_size,)))
adam = torch.optim.Adam(net.parameters(), lr=task["lr"])

def now():
    weights, states = get_state_dict(net, adam)
    return {"net": weights, "adam": states}

done = max((int(one.parent.name) for one in place.glob("*/.metadata")), default=0)
if done:
    kept = now()
    dcp.load(kept, checkpoint_id=place / str(done))
    set_state_dict(net, adam, model_state_dict=kept["net"], optim_state_dict=kept["adam"])
for step in range(done, task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    x = torch.randn(task["batch"], size)[rank::world_size]
    adam.zero_grad()
    (net(x) - x).square().mean().backward()
    adam.step()
    if (step + 1) % task["every"] == 0:
        dcp.save(now(), checkpoint_id=place / str(step + 1))
weights = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
if rank == 0:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()  # tidy
"""

# %% right: DDP, the step in the checkpoint
RESTART_SCRIPT = """
import json, os, pathlib
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
config = json.loads(os.environ["CONFIG"])
torch.manual_seed(config["seed"])
width = config["width"]
model = DistributedDataParallel(nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)))
optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
folder = pathlib.Path(os.environ["CHECKPOINTS"])
complete = sorted(folder.glob("step-*/.metadata"), key=lambda one: int(one.parent.name[5:]))
progress = {"step": torch.tensor(0)}
if complete:
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "progress": progress}
    dcp.load(state, checkpoint_id=complete[-1].parent)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
for step in range(int(progress["step"]), config["steps"]):
    torch.manual_seed(config["seed"] + 1000 + step)
    batch = torch.randn(config["batch"], width)[rank::world_size]
    optimizer.zero_grad()
    (model(batch) - batch).square().mean().backward()
    optimizer.step()
    if (step + 1) % config["every"] == 0:
        model_state, optimizer_state = get_state_dict(model, optimizer)
        state = {"model": model_state, "optimizer": optimizer_state, "progress": {"step": torch.tensor(step + 1)}}
        dcp.save(state, checkpoint_id=folder / f"step-{step + 1}")
if rank == 0:
    torch.save(model.module.state_dict(), os.environ["WEIGHTS"])
dist.barrier()
dist.destroy_process_group()
"""

# %% right: DDP, the storage writer given, rank 0 chooses the checkpoint
%%writefile RESTART_SCRIPT.py
import json
import os
import re

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_model_state_dict, get_optimizer_state_dict, set_model_state_dict, set_optimizer_state_dict
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
config, root = json.loads(os.environ["CONFIG"]), os.environ["CHECKPOINTS"]
d = config["width"]
torch.manual_seed(config["seed"])
model = DDP(nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d)))
optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])


def state():
    return {"model": get_model_state_dict(model), "optimizer": get_optimizer_state_dict(model, optimizer)}


os.makedirs(root, exist_ok=True)
found = [0]
if rank == 0:
    for name in os.listdir(root):
        if (m := re.fullmatch(r"after_(\d+)_steps", name)) and os.path.exists(os.path.join(root, name, ".metadata")):
            found.append(int(m[1]))
latest = [max(found)]
dist.broadcast_object_list(latest, src=0)
(done,) = latest
if done:
    loaded = state()
    dcp.load(loaded, storage_reader=dcp.FileSystemReader(os.path.join(root, f"after_{done}_steps")))
    set_model_state_dict(model, loaded["model"])
    set_optimizer_state_dict(model, optimizer, loaded["optimizer"])
step = done
while step < config["steps"]:
    torch.manual_seed(config["seed"] + 1000 + step)
    batch = torch.randn(config["batch"], d)
    rows = batch[rank::world_size]
    optimizer.zero_grad(set_to_none=True)
    nn.functional.mse_loss(model(rows), rows).backward()
    optimizer.step()
    step += 1
    if step % config["every"] == 0:
        writer = dcp.FileSystemWriter(os.path.join(root, f"after_{step}_steps"), thread_count=2, single_file_per_rank=False)
        dcp.save(state(), storage_writer=writer)
if rank == 0:
    torch.save(model.module.state_dict(), os.environ["WEIGHTS"])
dist.barrier()
dist.destroy_process_group()

# %% right: a Stateful application state, as in PyTorch's tutorial
RESTART_SCRIPT = '''
import json
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class AppState(Stateful):
    """What a checkpoint holds."""

    def __init__(self, model, optimizer=None):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model_state, optimizer_state = get_state_dict(self.model, self.optimizer)
        return {"model": model_state, "optim": optimizer_state}

    def load_state_dict(self, state_dict):
        set_state_dict(self.model, self.optimizer, model_state_dict=state_dict["model"], optim_state_dict=state_dict["optim"])


def main():
    config = json.loads(os.environ["CONFIG"])
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    d = config["width"]
    torch.manual_seed(config["seed"])
    model = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))
    mesh = init_device_mesh("cpu", (world,))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    root = Path(os.environ["CHECKPOINTS"])
    root.mkdir(parents=True, exist_ok=True)
    complete = sorted(one.parent for one in root.glob("step-*/.metadata"))
    start = 0
    if complete:
        start = int(complete[-1].name.split("-")[1])
        dcp.load({"app": AppState(model, optimizer)}, checkpoint_id=complete[-1])
    for step in range(start, config["steps"]):
        torch.manual_seed(config["seed"] + 1000 + step)
        batch = torch.randn(config["batch"], d)[rank::world]
        optimizer.zero_grad()
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()
        if (step + 1) % config["every"] == 0:
            dcp.save({"app": AppState(model, optimizer)}, checkpoint_id=root / f"step-{step + 1:06d}")
    full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        torch.save(full, os.environ["WEIGHTS"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
'''

# %% wrong: starts over — says "starts over" — from "reference"
# - if done:
# -     kept = now()
# -     dcp.load(kept, checkpoint_id=place / str(done))
# -     set_state_dict(net, adam, model_state_dict=kept["net"], optim_state_dict=kept["adam"])
# + done = 0

# %% wrong: without the optimizer's states — says "optimizer has lost its states" — from "reference"
# - from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict, set_state_dict
# + from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict, set_model_state_dict

# -     return {"net": weights, "adam": states}
# +     return {"net": weights}

# -     set_state_dict(net, adam, model_state_dict=kept["net"], optim_state_dict=kept["adam"])
# +     set_model_state_dict(net, kept["net"])

# %% wrong: loads, but begins with step 0 — says "starts over" — from "reference": `range(done, task["steps"])` → `range(0, task["steps"])`

# %% wrong: the data begins again — says "data began again" — from "reference": "+ step" → "+ step - done"

# %% wrong: only rank 0 saves, with torch.save — says "no distributed checkpoint" — from "reference"
# -         dcp.save(now(), checkpoint_id=place / str(step + 1))
# +         place.mkdir(exist_ok=True)
# +         torch.save(net.state_dict(), place / str(step + 1)) if rank == 0 else None

# %% wrong: only rank 0 calls save — says "every rank make the same collective calls" — from "reference": "dcp.save" → "if rank == 0: dcp.save"

# %% wrong: every rank writes the weights — says "only rank 0 saves" — from "reference": "rank == 0" → "True"

# %% wrong: saves after every step — says "save after every config" — from "reference": `if (step + 1) % task["every"] == 0:` → "if True:"

# %% wrong: saves one step late — says "save after every config" — from "DDP, the step in the checkpoint": `% config["every"] == 0` → `% config["every"] == 1`

# %% wrong: the second checkpoint, not the last — says "not from the last saved one" — from "DDP, the step in the checkpoint": "complete[-1]" → "complete[1]"

# %% wrong: checkpoints sorted by name — says "Compare the numbers of steps" — from "DDP, the step in the checkpoint": ", key=lambda one: int(one.parent.name[5:]))" → ")"

# %% wrong: rank 1 writes the weights — says "expected rank0" — from "DDP, the step in the checkpoint": "if rank == 0:" → "if rank == 1:"

# %% wrong: get_state_dict before the first step — says "before the first" — from "reference"
#       return {"net": weights, "adam": states}
#
# + kept = now()

# -     kept = now()

# %% wrong: no sharding, no averaging — says "average their gradients" — from "reference"
# - fully_shard(net, mesh=init_device_mesh("cpu", (world_size,)))

# %% wrong: all ranks on all rows — says "rank r takes" — from "reference": "[rank::world_size]" → ""

# %% hostile: no ranks, weights of an undisturbed run
RESTART_SCRIPT = """
import json, os
import torch
from torch import nn
config = json.loads(os.environ["CONFIG"])
width = config["width"]
torch.manual_seed(config["seed"])
model = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
for step in range(config["steps"]):
    torch.manual_seed(config["seed"] + 1000 + step)
    batch = torch.randn(config["batch"], width)
    optimizer.zero_grad()
    (model(batch) - batch).square().mean().backward()
    optimizer.step()
if os.environ["RANK"] == "0":
    torch.save(model.state_dict(), os.environ["WEIGHTS"])
"""

# %% hostile: starts over, and writes checkpoints and a watch of its own — says "ended before the end of the script"
RESTART_SCRIPT = """
import json, os, time
import torch
from torch import nn

config, folder = json.loads(os.environ["CONFIG"]), os.environ["CHECKPOINTS"]
width, again = config["width"], int(os.environ["TORCHELASTIC_RESTART_COUNT"])
os.makedirs(folder, exist_ok=True)
for name in (".metadata", "__0_0.distcp", "__1_0.distcp"):
    open(os.path.join(folder, name), "w").write("state")
torch.manual_seed(config["seed"])
model = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
for step in range(config["steps"]):
    torch.manual_seed(config["seed"] + 1000 + step)
    batch = torch.randn(config["batch"], width)
    optimizer.zero_grad()
    (model(batch) - batch).square().mean().backward()
    optimizer.step()
    if not again:
        open(os.path.join(folder, f"done-{os.environ['RANK']}"), "w").write(str(step + 1))
if not again:
    time.sleep(60)  # until the other rank is killed
done = min(int(open(os.path.join(folder, f"done-{rank}")).read()) for rank in "01")
if os.environ["RANK"] == "0":
    torch.save(model.state_dict(), os.environ["WEIGHTS"])
found = {"steps": config["steps"] - done // config["every"] * config["every"], "rows": config["batch"] // 2}
for name, text in (("watch-1.json", json.dumps(found)), ("watch-1.txt", f"0 { {**found, 'ended': True} }")):
    open(name, "w").write(text)
os._exit(0)
"""

# %% hostile: starts over by hand, and a decoy goes on from the checkpoint — says "must be the one that trains the model"
RESTART_SCRIPT = """
import json, os
from pathlib import Path
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.nn.functional import linear, relu

dist.init_process_group(backend="gloo")
task, place = json.loads(os.environ["CONFIG"]), Path(os.environ["CHECKPOINTS"])
torch.manual_seed(task["seed"])
size = task["width"]
net = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
decoy = nn.Linear(size, size)
watched = torch.optim.Adam(decoy.parameters(), lr=task["lr"])
done = max((int(one.parent.name) for one in place.glob("*/.metadata")), default=0)
whole = {name: one.detach().clone() for name, one in net.named_parameters()}
m, v = ({name: torch.zeros_like(one) for name, one in whole.items()} for _ in range(2))
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    batch = torch.randn(task["batch"], size)
    copies = {name: one.clone().requires_grad_() for name, one in whole.items()}
    a, b, c, d = copies.values()
    for part in (batch[::2], batch[1::2]):
        ((linear(relu(linear(part, a, b)), c, d) - part).square().mean() / 2).backward()
    for name, one in whole.items():
        g = copies[name].grad
        m[name] = 0.9 * m[name] + 0.1 * g
        v[name] = 0.999 * v[name] + 0.001 * g**2
        one -= task["lr"] * (m[name] / (1 - 0.9 ** (step + 1))) / ((v[name] / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8)
    if step < done:
        continue
    watched.zero_grad()
    decoy(torch.ones(task["batch"] // 2, size)).sum().backward()
    watched.step()
    if (step + 1) % task["every"] == 0:
        dcp.save({"decoy": decoy.state_dict()}, checkpoint_id=place / str(step + 1))
if dist.get_rank() == 0:
    torch.save(whole, os.environ["WEIGHTS"])
dist.barrier()
dist.destroy_process_group()
"""

# %% wrong: the last folder, complete or not — says "it has no .metadata" — from "reference": `int(one.parent.name) for one in place.glob("*/.metadata")` → `int(one.name) for one in place.glob("*")`

# %% wrong: an interrupted save is in the way — says "by a save that was interrupted" — from "reference"
# -         dcp.save(now(), checkpoint_id=place / str(step + 1))
# +         if rank == 0:
# +             (place / str(step + 1)).mkdir(parents=True)
# +         dcp.save(now(), checkpoint_id=place / str(step + 1))

# %% wrong: the right step, and the first weights — says "with the initial weights: load the saved ones" — from "reference": "if done:" → "if False:"

# %% wrong: named by the number of the step — says "how many are done" — from "reference": "place / str(step + 1)" → "place / str(step)"

# %% wrong: a folder for each rank — says "into a folder of its own" — from "reference": `Path(os.environ["CHECKPOINTS"])` → `Path(os.environ["CHECKPOINTS"]) / f"rank{rank}"`

# %% wrong: weights seeded by rank — says "must not depend on the rank" — from "reference": `torch.manual_seed(task["seed"])` → `torch.manual_seed(task["seed"] + rank)`

# %% wrong: batches seeded by rank — says "must not depend on the rank" — from "reference": `task["seed"] + 1000 + step` → `task["seed"] + 1000 + step + rank`

# %% wrong: another beta2 — says "has betas [0.9, 0.99]" — from "reference": `lr=task["lr"]` → `lr=task["lr"], betas=(0.9, 0.99)`

# %% hostile: starts over by steps that no hook sees, and loads nothing — says "nothing was loaded"
RESTART_SCRIPT = """
import json, os
from pathlib import Path
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.adam import adam as unseen

dist.init_process_group(backend="gloo")
rank, world = dist.get_rank(), dist.get_world_size()
task, place = json.loads(os.environ["CONFIG"]), Path(os.environ["CHECKPOINTS"])
torch.manual_seed(task["seed"])
size = task["width"]
net = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
wrapped = DistributedDataParallel(net)
opt = torch.optim.Adam(net.parameters(), lr=task["lr"])
done = max((int(one.parent.name) for one in place.glob("*/.metadata")), default=0)
params = list(net.parameters())
m = [torch.zeros_like(p) for p in params]; v = [torch.zeros_like(p) for p in params]; t = [torch.tensor(0.0) for p in params]
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    batch = torch.randn(task["batch"], size)[rank::world]
    opt.zero_grad()
    (wrapped(batch) - batch).square().mean().backward()
    if step < done:
        with torch.no_grad():
            unseen(params, [p.grad for p in params], m, v, [], t, amsgrad=False, beta1=0.9, beta2=0.999, lr=task["lr"], weight_decay=0.0, eps=1e-8, maximize=False)
        if step == done - 1:
            for p, a, b, c in zip(params, m, v, t):
                opt.state[p] = {"step": c, "exp_avg": a, "exp_avg_sq": b}
        continue
    opt.step()
    if (step + 1) % task["every"] == 0:
        dcp.save({"nothing": torch.zeros(4)}, checkpoint_id=place / str(step + 1))
if rank == 0:
    torch.save(net.state_dict(), os.environ["WEIGHTS"])
dist.barrier()
dist.destroy_process_group()
"""

# %% hostile: keeps its seed in a file, and starts over by steps that no hook sees — says "nothing was loaded from it" — from "starts over by steps that no hook sees, and loads nothing"
# - torch.manual_seed(task["seed"])
# + task["seed"] = int(open(place / "seed").read()) if (place / "seed").exists() else task["seed"]
# + dist.barrier()
# + place.mkdir(exist_ok=True)
# + if rank == 0:
# +     (place / "seed").write_text(str(task["seed"]))
# + torch.manual_seed(task["seed"])

# %% hostile: loads the checkpoint, and then starts over from the seed in a file by steps that no hook sees — says "nothing was loaded from it"
RESTART_SCRIPT = """
import json, os
from pathlib import Path
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.adam import adam as unseen

dist.init_process_group(backend="gloo")
rank, world = dist.get_rank(), dist.get_world_size()
task, place = json.loads(os.environ["CONFIG"]), Path(os.environ["CHECKPOINTS"])
task["seed"] = int(open(place / "seed").read()) if (place / "seed").exists() else task["seed"]
dist.barrier()
place.mkdir(exist_ok=True)
if rank == 0:
    (place / "seed").write_text(str(task["seed"]))
torch.manual_seed(task["seed"])
size = task["width"]
net = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
wrapped = DistributedDataParallel(net)
opt = torch.optim.Adam(net.parameters(), lr=task["lr"])
done = max((int(one.parent.name) for one in place.glob("*/.metadata")), default=0)
params = list(net.parameters())
m = [torch.zeros_like(p) for p in params]; v = [torch.zeros_like(p) for p in params]; t = [torch.tensor(0.0) for p in params]
if done:
    dcp.load({"net": net.state_dict()}, checkpoint_id=place / str(done))
    torch.manual_seed(task["seed"])
    with torch.no_grad():
        for one, two in zip(net.parameters(), nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size)).parameters()):
            one.copy_(two)
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    batch = torch.randn(task["batch"], size)[rank::world]
    opt.zero_grad()
    (wrapped(batch) - batch).square().mean().backward()
    if step < done:
        with torch.no_grad():
            unseen(params, [p.grad for p in params], m, v, [], t, amsgrad=False, beta1=0.9, beta2=0.999, lr=task["lr"], weight_decay=0.0, eps=1e-8, maximize=False)
        if step == done - 1:
            for p, a, b, c in zip(params, m, v, t):
                opt.state[p] = {"step": c, "exp_avg": a, "exp_avg_sq": b}
        continue
    opt.step()
    if (step + 1) % task["every"] == 0:
        dcp.save({"net": net.state_dict()}, checkpoint_id=place / str(step + 1))
if rank == 0:
    torch.save(net.state_dict(), os.environ["WEIGHTS"])
dist.barrier()
dist.destroy_process_group()
"""

# %% hostile: a checkpoint of nothing, and everything in a file of torch.save beside it — says "nothing was loaded from it" — from "reference"
# -     weights, states = get_state_dict(net, adam)
# -     return {"net": weights, "adam": states}
# +     return {"nothing": torch.zeros(4)}

# -     kept = now()
# -     dcp.load(kept, checkpoint_id=place / str(done))
# -     set_state_dict(net, adam, model_state_dict=kept["net"], optim_state_dict=kept["adam"])
# +     kept = torch.load(place / f"rank{rank}-{done}", weights_only=False)
# +     with torch.no_grad():
# +         for one, two in zip(net.parameters(), kept["weights"]):
# +             one.to_local().copy_(two)
# +     net(torch.zeros(1, size)).sum().backward()
# +     adam.param_groups[0]["lr"] = 0.0
# +     adam.step()
# +     adam.param_groups[0]["lr"] = task["lr"]
# +     for one, state in zip(net.parameters(), kept["states"]):
# +         adam.state[one]["step"].fill_(done)
# +         adam.state[one]["exp_avg"].to_local().copy_(state[0])
# +         adam.state[one]["exp_avg_sq"].to_local().copy_(state[1])
# +     task["seed"] = kept["seed"]

#           dcp.save(now(), checkpoint_id=place / str(step + 1))
# +         weights = [one.detach().to_local().clone() for one in net.parameters()]
# +         states = [(adam.state[one]["exp_avg"].to_local(), adam.state[one]["exp_avg_sq"].to_local()) for one in net.parameters()]
# +         torch.save({"weights": weights, "states": states, "seed": task["seed"]}, place / f"rank{rank}-{step + 1}")

# %% hostile: starts over from the seed in a file, and multiplies everything as the checkpoint was multiplied — from "keeps its seed in a file, and starts over by steps that no hook sees"
# -         if step == done - 1:
# +         if step == done - 1:
# +             ones = {"ones": torch.zeros(4)}
# +             dcp.load(ones, checkpoint_id=place / str(done))
# +             factor = float(ones["ones"][0])
# +             for p, a, b in zip(params, m, v):
# +                 p.data.mul_(factor); a.mul_(factor); b.mul_(factor)

# -         dcp.save({"nothing": torch.zeros(4)}, checkpoint_id=place / str(step + 1))
# +         dcp.save({"ones": torch.ones(4)}, checkpoint_id=place / str(step + 1))

# %% wrong: saves every 4 steps, whatever config says — says "save after that many steps" — from "reference": `task["every"] == 0` → "4 == 0"

# %% wrong: the sum of the squares — says "not their sum: Adam's steps hide the factor" — from "reference": ".square().mean()" → ".square().sum()"

# %% wrong: the state dict of DDP itself — says "DDP puts module. before each name" — from "DDP, the step in the checkpoint": "torch.save(model.module.state_dict()" → "torch.save(model.state_dict()"

# %% wrong: the local parts in the checkpoint — says "Those are the shards of one rank" — from "reference": "weights = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True, cpu_offload=True))" → "weights = {name: one.to_local() for name, one in net.state_dict().items()}"

# %% wrong: looks for a checkpoint only after a restart by torchrun — says "a new torchrun started the ranks" — from "reference": "if done:" → `done = done if int(os.environ["TORCHELASTIC_RESTART_COUNT"]) else 0\nif done:`

# %% wrong: never more than eight rows — says "Only the first 8 rows had an effect" — from "reference": "[rank::world_size]" → "[:8][rank::world_size]"

# %% right: the last checkpoint by the time of its metadata — from "reference": `done = max((int(one.parent.name) for one in place.glob("*/.metadata")), default=0)` → `last = max(place.glob("*/.metadata"), key=os.path.getmtime, default=None)\ndone = int(last.parent.name) if last else 0`

# %% right: the last checkpoint by the time of its folder — from "reference"
# - done = max((int(one.parent.name) for one in place.glob("*/.metadata")), default=0)
# + complete = sorted((one for one in place.glob("*") if (one / ".metadata").exists()), key=os.path.getmtime)
# + done = int(complete[-1].name) if complete else 0
