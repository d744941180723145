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

# %% right: built on the meta device
FSDP_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

dist.init_process_group(backend="gloo")
world_size, rank = dist.get_world_size(), dist.get_rank()
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
sharded = {"mesh": init_device_mesh("cpu", (world_size,)), "mp_policy": policy}
task = json.loads(os.environ["CONFIG"])
size, pieces = task["width"], []
for number in range(task["blocks"]):
    torch.manual_seed(task["seed"] + number)
    values = [nn.Linear(size, 4 * size), nn.Linear(4 * size, size)]
    start = [one.detach() for layer in values for one in layer.parameters()]
    with torch.device("meta"):
        piece = nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))
    fully_shard(piece, **sharded)
    piece.to_empty(device="cpu")
    for shard, one in zip(piece.parameters(), start):
        with torch.no_grad():
            shard.copy_(distribute_tensor(one, shard.device_mesh, shard.placements))
    del values, start
    pieces.append(piece)
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

# %% right: full tensors one by one
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
weights = {name: one.full_tensor() for name, one in net.state_dict().items()}
if rank == 0:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()  # tidy
"""

# %% wrong: nothing is sharded — says "Nothing is sharded"
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
    pieces.append(piece)
net = nn.parallel.DistributedDataParallel(nn.Sequential(*pieces))
adam = torch.optim.Adam(net.parameters(), lr=task["lr"])
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    x = torch.randn(task["batch"], size)[rank::world_size]
    adam.zero_grad()
    (net(x).float() - x).square().mean().backward()
    adam.step()
whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
weights = get_model_state_dict(net.module, options=whole)
if rank == 0:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()  # tidy
"""

# %% wrong: only the model as one group — says "call fully_shard on each block"
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
    pieces.append(piece)
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

# %% wrong: whole, then sharded — says "built before it was sharded"
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
    pieces.append(piece)
for piece in pieces:
    fully_shard(piece, **sharded)
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

# %% wrong: no mixed precision — says "No mixed precision"
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
sharded = {"mesh": init_device_mesh("cpu", (world_size,))}
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

# %% wrong: the model itself in bfloat16 — says "master weights"
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
    pieces.append(fully_shard(piece.bfloat16(), **sharded))
net = fully_shard(nn.Sequential(*pieces), **sharded)
adam = torch.optim.Adam(net.parameters(), lr=task["lr"])
for step in range(task["steps"]):
    torch.manual_seed(task["seed"] + 1000 + step)
    x = torch.randn(task["batch"], size)[rank::world_size]
    adam.zero_grad()
    (net(x.bfloat16()).float() - x).square().mean().backward()
    adam.step()
whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
weights = get_model_state_dict(net, options=whole)
if rank == 0:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()  # tidy
"""

# %% wrong: every rank saves — says "only rank 0 saves"
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
if True:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()  # tidy
"""

# %% wrong: shards in the checkpoint — says "full_state_dict"
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
whole = StateDictOptions(full_state_dict=False)
weights = get_model_state_dict(net, options=whole)
if rank == 0:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()  # tidy
"""

# %% wrong: all ranks on all rows — says "rank r takes"
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
    x = torch.randn(task["batch"], size)
    adam.zero_grad()
    (net(x).float() - x).square().mean().backward()
    adam.step()
whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
weights = get_model_state_dict(net, options=whole)
if rank == 0:
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()  # tidy
"""

# %% wrong: only rank 0 gathers — says "does every rank make the same collective calls"
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
if rank == 0:
    weights = get_model_state_dict(net, options=whole)
    torch.save(weights, os.environ["WEIGHTS"])
dist.destroy_process_group()  # tidy
"""

# %% hostile: writes a watch of its own
FSDP_SCRIPT = """
import json, os
import torch

found = {"built": 1, "gathered": 1, "trained": 1, "states": 2, "compute": "torch.bfloat16", "stored": "torch.float32"}
open("watch-0.json", "w").write(json.dumps({**found, "steps": 3}))
if os.environ["RANK"] == "0":
    torch.save({"weight": torch.zeros(1)}, os.environ["WEIGHTS"])
"""
