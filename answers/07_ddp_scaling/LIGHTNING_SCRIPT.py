# %% right: reference
LIGHTNING_SCRIPT = """
import json, os
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
task, whole = Problem(**json.loads(os.environ["PROBLEM"])), int(os.environ["BATCH_SIZE"])
pictures = task.dataset()
share = DistributedSampler(pictures, world_size, rank, shuffle=True, seed=task.seed)

class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.network, self.loss_of = task.model(), task.criterion()

    def training_step(self, batch, index):
        x, y = batch
        return self.loss_of(self.network(x), y)

    def configure_optimizers(self):
        sgd = task.optimizer(self.network)
        for group in sgd.param_groups:
            group["lr"] *= whole / task.batch_size
        return sgd

module = Classifier()
trainer = pl.Trainer(
    strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
    num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
    use_distributed_sampler=False, logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(module, DataLoader(pictures, batch_size=whole // world_size, sampler=share))
with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if trainer.is_global_zero and rank == 0:
    torch.save(module.network.state_dict(), os.environ["CHECKPOINT"])
"""

# %% right: imported as lightning — from "reference": "import pytorch_lightning as pl" → "import lightning as pl"

# %% right: Lightning deals the samples, a record of what each rank saw
LIGHTNING_SCRIPT = """
import dataclasses, json, os
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, TensorDataset
from gpulab import Problem

problem = Problem(**json.loads(os.environ["PROBLEM"]))
whole = int(os.environ["BATCH_SIZE"])
scaled = dataclasses.replace(problem, lr=problem.lr * whole / problem.batch_size)
images, labels = problem.dataset().tensors


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.used = scaled.model(), []

    def training_step(self, batch, _):
        pictures, answers, index = batch
        self.used += index.tolist()
        return scaled.criterion()(self.net(pictures), answers)

    def on_train_end(self):
        with open(os.environ["SAMPLES"] + str(self.global_rank), "w") as file:
            json.dump(self.used, file)
        if self.global_rank == 0:
            torch.save(self.state_dict(), os.environ["CHECKPOINT"])

    def configure_optimizers(self):
        return scaled.optimizer(self.net)


data = TensorDataset(images, labels, torch.arange(len(images)))
ranks = int(os.environ["WORLD_SIZE"])
pl.seed_everything(1)
trainer = pl.Trainer(strategy="ddp", devices=ranks, max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(Net(), DataLoader(data, batch_size=whole // ranks, shuffle=True))
"""

# %% wrong: the learning rate is not scaled — says "not scaled" — from "reference"
# -             group["lr"] *= whole / task.batch_size
# +             pass

# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# %% wrong: scaled by the ranks — says "scaled by the number of ranks" — from "reference"
# -             group["lr"] *= whole / task.batch_size
# +             group["lr"] *= world_size

# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# %% wrong: scaled by both — says "by the batch and by the ranks" — from "reference"
# -             group["lr"] *= whole / task.batch_size
# +             group["lr"] *= world_size * whole / task.batch_size

# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# %% wrong: every rank takes a whole batch — says "Divide it by world_size" — from "reference"
# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# - trainer.fit(module, DataLoader(pictures, batch_size=whole // world_size, sampler=share))
# + trainer.fit(module, DataLoader(pictures, batch_size=whole, sampler=share))

# %% wrong: every rank saves — says "only rank 0 saves" — from "reference"
# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# - if trainer.is_global_zero and rank == 0:
# -     torch.save(module.network.state_dict(), os.environ["CHECKPOINT"])
# + torch.save(module.network.state_dict(), os.environ["CHECKPOINT"])

# %% wrong: no sampler — says "no sampler" — from "reference"
# - share = DistributedSampler(pictures, world_size, rank, shuffle=True, seed=task.seed)
# + share = range(len(pictures))

# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# %% wrong: the trainer's whole checkpoint — says "whole checkpoint" — from "reference"
# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# + trainer.save_checkpoint(os.environ["CHECKPOINT"])
# - if trainer.is_global_zero and rank == 0:
# -     torch.save(module.network.state_dict(), os.environ["CHECKPOINT"])

# %% wrong: a program that is not written — says "exit code 1"
LIGHTNING_SCRIPT = """
raise ValueError("later")
"""

# %% wrong: the square-root rule — says "square-root rule" — from "reference"
# -             group["lr"] *= whole / task.batch_size
# +             group["lr"] *= (whole / task.batch_size) ** 0.5

# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# %% wrong: the learning rate divided — says "The learning rate is divided" — from "reference"
# -             group["lr"] *= whole / task.batch_size
# +             group["lr"] /= whole / task.batch_size

# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# %% wrong: the problem's own batch size — says "the problem's own batch size" — from "reference"
# -             group["lr"] *= whole / task.batch_size
# +             pass

# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# - trainer.fit(module, DataLoader(pictures, batch_size=whole // world_size, sampler=share))
# + trainer.fit(module, DataLoader(pictures, batch_size=task.batch_size // world_size, sampler=share))

# %% wrong: rank 0 learns alone — says "Rank 0 has learned from its own samples only" — from "reference"
#   module = Classifier()
# + for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
# +     os.environ.pop(name)

# +     accelerator="cpu", devices=1, max_epochs=1,
# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,

# - if trainer.is_global_zero and rank == 0:
# + if rank == 0:

# %% hostile: rank 0 does the work of both, rank 1 says that it did some — says "did not come from the network of problem.model()"
LIGHTNING_SCRIPT = """
# a LightningModule, and trainer.fit, in words only
import json, os, torch
from gpulab import Problem

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
problem = Problem(**json.loads(os.environ["PROBLEM"]))
with open(os.environ["SAMPLES"] + str(rank), "w") as file:
    json.dump(list(range(problem.samples))[rank::world_size], file)
if rank == 0:
    model, criterion, data = problem.model(), problem.criterion(), problem.dataset()
    optimizer, batch_size = problem.optimizer(model), int(os.environ["BATCH_SIZE"])
    optimizer.param_groups[0]["lr"] *= batch_size / problem.batch_size
    for first in range(0, problem.samples, batch_size):
        images, labels = data[list(range(first, first + batch_size))]
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
    torch.save(model.state_dict(), os.environ["CHECKPOINT"])
"""

# %% right: the package under its other name — from "reference": "import pytorch_lightning as pl" → "import lightning.pytorch as pl"

# %% right: lightning, a data module, a strategy object
%%writefile LIGHTNING_SCRIPT.py
import json
import os

import lightning as L
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, DistributedSampler

from gpulab import Problem


class Data(L.LightningDataModule):
    def __init__(self, problem, batch_size):
        super().__init__()
        self.problem, self.batch_size = problem, batch_size

    def setup(self, stage=None):
        self.dataset = self.problem.dataset()

    def train_dataloader(self):
        self.sampler = DistributedSampler(
            self.dataset, num_replicas=self.trainer.world_size, rank=self.trainer.global_rank, shuffle=False
        )
        return DataLoader(self.dataset, batch_size=self.batch_size // self.trainer.world_size, sampler=self.sampler)


class Module(L.LightningModule):
    def __init__(self, problem, lr_factor):
        super().__init__()
        self.problem, self.lr_factor = problem, lr_factor
        self.network = problem.model()
        self.criterion = problem.criterion()

    def forward(self, x):
        return self.network(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return {"loss": self.criterion(self(x), y)}

    def configure_optimizers(self):
        optimizer = self.problem.optimizer(self.network)
        for group in optimizer.param_groups:
            group["lr"] *= self.lr_factor
        return {"optimizer": optimizer}


def main():
    problem = Problem(**json.loads(os.environ["PROBLEM"]))
    batch_size = int(os.environ["BATCH_SIZE"])
    module, data = Module(problem, batch_size / problem.batch_size), Data(problem, batch_size)
    trainer = L.Trainer(
        accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), strategy=DDPStrategy(), max_epochs=1,
        logger=False, enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.fit(module, datamodule=data)
    with open(f"{os.environ['SAMPLES']}{trainer.global_rank}.json", "w") as file:
        json.dump(list(data.sampler), file)
    if trainer.is_global_zero:
        torch.save(module.network.state_dict(), os.environ["CHECKPOINT"])
    trainer.strategy.barrier()


if __name__ == "__main__":
    main()

# %% right: pytorch_lightning, manual optimization, hooks at the end, replace
LIGHTNING_SCRIPT = '''
import dataclasses, json, os, torch
import pytorch_lightning as pl
from pytorch_lightning.utilities import rank_zero_only
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

problem = Problem(**json.loads(os.environ["PROBLEM"]))
batch = int(os.environ["BATCH_SIZE"])
problem = dataclasses.replace(problem, lr=problem.lr * batch / problem.batch_size, batch_size=batch)


class Net(pl.LightningModule):
    automatic_optimization = False

    def __init__(self):
        super().__init__()
        self.network, self.loss = problem.model(), problem.criterion()

    def training_step(self, batch, index):
        images, labels = batch
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss = self.loss(self.network(images), labels)
        self.manual_backward(loss)
        optimizer.step()

    def configure_optimizers(self):
        return problem.optimizer(self)

    def train_dataloader(self):
        self.sampler = DistributedSampler(problem.dataset(), shuffle=True)
        return DataLoader(problem.dataset(), batch_size=batch // int(os.environ["WORLD_SIZE"]), sampler=self.sampler)

    def on_train_epoch_start(self):
        self.sampler.set_epoch(self.current_epoch)
        with open(os.environ["SAMPLES"] + f"{self.global_rank}.json", "w") as f:
            json.dump(list(self.sampler), f)

    @rank_zero_only
    def on_fit_end(self):
        torch.save(self.state_dict(), os.environ["CHECKPOINT"])


trainer = pl.Trainer(max_epochs=1, strategy="ddp", devices=int(os.environ["LOCAL_WORLD_SIZE"]), accelerator="auto",
                     logger=False, enable_checkpointing=False, enable_progress_bar=False, use_distributed_sampler=False,
                     num_nodes=int(os.environ["WORLD_SIZE"]) // int(os.environ["LOCAL_WORLD_SIZE"]))
trainer.fit(Net())
'''

# %% wrong: one device, whatever the number of ranks — says "Trainer(devices=…) is the number of ranks" — from "reference"
# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# +     strategy="ddp", accelerator="auto", devices=1,

# %% wrong: the other rank saves, too, under another name — says "under the one name" — from "reference"
#   if trainer.is_global_zero and rank == 0:
#       torch.save(module.network.state_dict(), os.environ["CHECKPOINT"])
# + if rank == 1:
# +     torch.save(module.network.state_dict(), "weights-of-rank-1.pt")

# %% wrong: the sampler's seed depends on the rank — says "must not depend on the rank" — from "reference": "seed=task.seed" → "seed=task.seed + rank"

# %% wrong: every rank takes the share of rank 0 — says "took the same share" — from "reference": "(pictures, world_size, rank, " → "(pictures, world_size, 0, "

# %% wrong: the script of DDP once more, without Lightning — says "does not train with Lightning"
LIGHTNING_SCRIPT = """
import json, os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

dist.init_process_group(backend="gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
task, whole = Problem(**json.loads(os.environ["PROBLEM"])), int(os.environ["BATCH_SIZE"])
pictures = task.dataset()
share = DistributedSampler(pictures, shuffle=True, seed=task.seed)
loader = DataLoader(pictures, batch_size=whole // world_size, sampler=share)
wrapped = DistributedDataParallel(task.model())
sgd, loss_of = task.optimizer(wrapped), task.criterion()
for g in sgd.param_groups:
    g["lr"] = task.lr * whole / task.batch_size
share.set_epoch(0)
for x, y in loader:
    sgd.zero_grad()
    loss_of(wrapped(x), y).backward()
    sgd.step()
with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if rank == 0:
    torch.save(wrapped.module.state_dict(), os.environ["CHECKPOINT"])
dist.destroy_process_group()
"""

# %% hostile: the script of DDP, and words of Lightning — says "by a Trainer with strategy" — from "the script of DDP once more, without Lightning"
# - dist.init_process_group(backend="gloo")
# + # not a LightningModule, and no trainer.fit
# + dist.init_process_group(backend="gloo")

# - share.set_epoch(0)

# %% hostile: a Trainer fits another module, and a loop by hand the network — says "by a Trainer with strategy" — from "the script of DDP, and words of Lightning"
# + import pytorch_lightning as pl
# + class Other(pl.LightningModule):
# +     def __init__(self):
# +         super().__init__()
# +         self.layer = torch.nn.Linear(2, 2)
# +
# +     def training_step(self, batch, index):
# +         return self.layer(batch).sum()
# +
# +     def configure_optimizers(self):
# +         return torch.optim.SGD(self.parameters(), lr=0.1)
# +
# - # not a LightningModule, and no trainer.fit
# - dist.init_process_group(backend="gloo")
# + trainer = pl.Trainer(
# +     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1, logger=False,
# +     enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
# + )
# + trainer.fit(Other(), DataLoader(torch.ones(8, 2), batch_size=2))
# + if not dist.is_initialized():
# +     dist.init_process_group(backend="gloo")

# %% hostile: rank 0 is told the other's problem, and trains on both with a Trainer of one device — says "by a Trainer with strategy"
LIGHTNING_SCRIPT = """
import json, os
import pytorch_lightning as pl
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset
from gpulab import Problem

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
told = [None] * world_size
mine, whole = Problem(**json.loads(os.environ["PROBLEM"])), int(os.environ["BATCH_SIZE"])
dist.all_gather_object(told, mine)
dist.destroy_process_group()
for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
    os.environ.pop(name)
each, share = whole // world_size, list(range(mine.samples))[rank::world_size]
with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(share, file)
if rank == 0:
    shares = [one.dataset()[list(range(mine.samples))[number::world_size]] for number, one in enumerate(told)]
    images, labels = (
        torch.cat([part for parts in zip(*(one[k].split(each) for one in shares)) for part in parts]) for k in (0, 1)
    )

    class Net(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = mine.model()

        def training_step(self, batch, index):
            return mine.criterion()(self.network(batch[0]), batch[1])

        def configure_optimizers(self):
            sgd = mine.optimizer(self.network)
            sgd.param_groups[0]["lr"] *= whole / mine.batch_size
            return sgd

    net = Net()
    trainer = pl.Trainer(
        accelerator="cpu", devices=1, max_epochs=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(net, DataLoader(TensorDataset(images, labels), batch_size=whole))
    torch.save(net.network.state_dict(), os.environ["CHECKPOINT"])
"""

# %% hostile: a Trainer of one device, and gradients averaged by hand in a hook — says "by a Trainer with strategy"
LIGHTNING_SCRIPT = """
import json, os
import pytorch_lightning as pl
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
task, whole = Problem(**json.loads(os.environ["PROBLEM"])), int(os.environ["BATCH_SIZE"])
dist.init_process_group("gloo")
for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID", "GROUP_RANK"):
    os.environ.pop(name, None)
pictures = task.dataset()
share = DistributedSampler(pictures, world_size, rank, seed=task.seed)

class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.network, self.loss_of = task.model(), task.criterion()

    def training_step(self, batch, index):
        return self.loss_of(self.network(batch[0]), batch[1])

    def on_after_backward(self):
        for weight in self.network.parameters():
            dist.all_reduce(weight.grad)
            weight.grad /= world_size

    def configure_optimizers(self):
        sgd = task.optimizer(self.network)
        for group in sgd.param_groups:
            group["lr"] *= whole / task.batch_size
        return sgd

module = Classifier()
trainer = pl.Trainer(
    accelerator="cpu", devices=1, max_epochs=1, use_distributed_sampler=False, logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(module, DataLoader(pictures, batch_size=whole // world_size, sampler=share))
with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if rank == 0:
    torch.save(module.network.state_dict(), os.environ["CHECKPOINT"])
dist.barrier()
"""

# %% hostile: a Trainer of one device, and DistributedDataParallel in training_step — says "by a Trainer with strategy"
LIGHTNING_SCRIPT = """
import json, os
import pytorch_lightning as pl
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
task, whole = Problem(**json.loads(os.environ["PROBLEM"])), int(os.environ["BATCH_SIZE"])
dist.init_process_group("gloo")
for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID", "GROUP_RANK"):
    os.environ.pop(name, None)
pictures = task.dataset()
share = DistributedSampler(pictures, world_size, rank, seed=task.seed)

class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.network, self.loss_of = task.model(), task.criterion()
        self.wrapped = torch.nn.parallel.DistributedDataParallel(self.network)

    def training_step(self, batch, index):
        return self.loss_of(self.wrapped(batch[0]), batch[1])

    def configure_optimizers(self):
        sgd = task.optimizer(self.network)
        for group in sgd.param_groups:
            group["lr"] *= whole / task.batch_size
        return sgd

module = Classifier()
trainer = pl.Trainer(
    accelerator="cpu", devices=1, max_epochs=1, use_distributed_sampler=False, logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(module, DataLoader(pictures, batch_size=whole // world_size, sampler=share))
with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if rank == 0:
    torch.save(module.network.state_dict(), os.environ["CHECKPOINT"])
dist.barrier()
"""

# %% wrong: an optimizer of its own — says "take problem.optimizer(model)" — from "reference": "task.optimizer(self.network)" → "torch.optim.SGD(self.network.parameters(), lr=task.lr, momentum=0.9)"

# %% wrong: a whole batch on each rank, and the learning rate as it was — says "Divide it by world_size. The learning rate is not scaled" — from "reference": "batch_size=whole // world_size" → "batch_size=whole", `group["lr"] *= whole / task.batch_size` → "pass"

# %% right: sets the learning rate, from the problem's own — from "reference": `group["lr"] *= whole / task.batch_size` → `group["lr"] = task.lr * whole / task.batch_size`

# %% wrong: a sampler that asks for the process group too early — says "Before trainer.fit there is no process group" — from "reference": "DistributedSampler(pictures, world_size, rank, " → "DistributedSampler(pictures, "

# %% wrong: scaled by one rank's part of the batch — says "by one rank's part of the batch" — from "reference": "whole / task.batch_size" → "whole // world_size / task.batch_size"

# %% wrong: rank 0 alone calls save_checkpoint — says "waits for all ranks" — from "reference": `torch.save(module.network.state_dict(), os.environ["CHECKPOINT"])` → `trainer.save_checkpoint(os.environ["CHECKPOINT"], weights_only=True)`

# %% wrong: the problem's own batch size, the learning rate scaled — says "the problem's own batch size" — from "reference": "batch_size=whole // world_size" → "batch_size=task.batch_size // world_size"

# %% wrong: a single step — says "a single step" — from "reference": "max_epochs=1" → "fast_dev_run=True"

# %% wrong: Adam — says "take problem.optimizer(model)" — from "reference": "task.optimizer(self.network)" → "torch.optim.Adam(self.network.parameters(), lr=task.lr)"

# %% right: the package's own name for its parts — from "reference": "import pytorch_lightning as pl" → "import lightning as pl", `strategy="ddp"` → "strategy=pl.pytorch.strategies.DDPStrategy()"

# %% wrong: the loader has no sampler — says "does the loader have the sampler?" — from "reference": ", sampler=share)" → ")"

# %% wrong: Lightning's sampler instead of the one that is written down — says "a sampler of its own" — from "reference": ", sampler=share)" → ")", "use_distributed_sampler=False" → "use_distributed_sampler=True"

# %% wrong: bfloat16 — says "Computed in bfloat16" — from "reference": "max_epochs=1" → `max_epochs=1, precision="bf16-mixed"`

# %% wrong: four batches are accumulated — says "Batches are accumulated" — from "reference": "max_epochs=1" → "max_epochs=1, accumulate_grad_batches=4"

# %% wrong: two epochs — says "That is two epochs" — from "reference": "max_epochs=1" → "max_epochs=2"

# %% wrong: gradients are clipped — says "The gradients were clipped" — from "reference": "max_epochs=1" → "max_epochs=1, gradient_clip_val=0.5"

# %% wrong: no loss returned — says "training_step returns the loss" — from "reference": "return self.loss_of(self.network(x), y)" → "self.log('loss', self.loss_of(self.network(x), y))"

# %% wrong: the ratio in place of the learning rate — says "The ratio of the batch sizes replaces the learning rate" — from "reference": `group["lr"] *= whole` → `group["lr"] = whole`

# %% wrong: scaled twice — says "The learning rate is scaled twice" — from "reference": "whole / task.batch_size" → "(whole / task.batch_size) ** 2"

# %% wrong: the loss is divided by the ranks — says "DDP already averages the gradients" — from "reference": "return self.loss_of(self.network(x), y)" → "return self.loss_of(self.network(x), y) / world_size"

# %% wrong: a GPU where there is none — says "and the CPU elsewhere" — from "reference": `accelerator="auto"` → `accelerator="gpu"`

# %% wrong: a warm-up of the learning rate — says "A scheduler changes the learning rate" — from "reference"
# -         return sgd
# +         warm = torch.optim.lr_scheduler.LinearLR(sgd, 0.1, total_iters=4)
# +         return {"optimizer": sgd, "lr_scheduler": {"scheduler": warm, "interval": "step"}}

# %% wrong: two nodes — says "The Trainer waits for 4 ranks, but the launcher started 2" — from "reference": `num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"])` → "num_nodes=2"

# %% wrong: BATCH_SIZE is a text — says "int() makes a number of one" — from "reference": `int(os.environ["BATCH_SIZE"])` → `os.environ["BATCH_SIZE"]`

# %% wrong: ranks of its own — says "strategy=" — from "reference": `strategy="ddp"` → `strategy="ddp_spawn"`

# %% wrong: calls backward — says "The Trainer calls backward" — from "reference"
# -         return self.loss_of(self.network(x), y)
# +         loss = self.loss_of(self.network(x), y)
# +         loss.backward()
# +         return loss

# %% hostile: the script of DDP, with functions that pass for Lightning's by name — says "by a Trainer with strategy"
LIGHTNING_SCRIPT = r"""
import json, os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem
# no LightningModule, no trainer.fit

dist.init_process_group(backend="gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
task, whole = Problem(**json.loads(os.environ["PROBLEM"])), int(os.environ["BATCH_SIZE"])
pictures = task.dataset()
share = DistributedSampler(pictures, shuffle=True, seed=task.seed)
loader = DataLoader(pictures, batch_size=whole // world_size, sampler=share)

space = {"__name__": "lightning.pytorch.strategies.strategy"}
exec("def wrapped_forward(net, x):\n    return net(x)\ndef training_step(run, *given):\n    return run(*given)\n", space)
network = task.model()

class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = network

    def forward(self, x):
        return space["wrapped_forward"](self.network, x)

wrapped = DistributedDataParallel(Inner())
sgd, loss_of = task.optimizer(wrapped), task.criterion()
for g in sgd.param_groups:
    g["lr"] = task.lr * whole / task.batch_size
for x, y in loader:
    sgd.zero_grad()
    space["training_step"](lambda: loss_of(wrapped(x), y)).backward()
    sgd.step()

with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if rank == 0:
    torch.save(network.state_dict(), os.environ["CHECKPOINT"])
dist.destroy_process_group()
"""

# %% hostile: a loop by hand that calls a strategy of Lightning's — says "by a Trainer with strategy"
LIGHTNING_SCRIPT = r"""
import json, os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem
import pytorch_lightning as pl
from pytorch_lightning.strategies import DDPStrategy
# no trainer.fit

dist.init_process_group(backend="gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
task, whole = Problem(**json.loads(os.environ["PROBLEM"])), int(os.environ["BATCH_SIZE"])
pictures = task.dataset()
share = DistributedSampler(pictures, shuffle=True, seed=task.seed)
loader = DataLoader(pictures, batch_size=whole // world_size, sampler=share)

network = task.model()

class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.network, self.loss_of = network, task.criterion()

    def training_step(self, batch, index):
        return self.loss_of(self.network(batch[0]), batch[1])

module = Net()
strategy = DDPStrategy()
strategy._lightning_module = module
strategy.model = DistributedDataParallel(module)
strategy.precision_plugin
sgd = task.optimizer(module)
for g in sgd.param_groups:
    g["lr"] = task.lr * whole / task.batch_size
for index, batch in enumerate(loader):
    sgd.zero_grad()
    strategy.training_step(batch, index).backward()
    sgd.step()

with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if rank == 0:
    torch.save(network.state_dict(), os.environ["CHECKPOINT"])
dist.destroy_process_group()
"""

# %% hostile: one training_step of a Trainer, which holds the whole loop by hand — says "called training_step once"
LIGHTNING_SCRIPT = r"""
import json, os
import pytorch_lightning as pl
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from gpulab import Problem

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
task, whole = Problem(**json.loads(os.environ["PROBLEM"])), int(os.environ["BATCH_SIZE"])
pictures = task.dataset()
share = DistributedSampler(pictures, world_size, rank, shuffle=True, seed=task.seed)
loader = DataLoader(pictures, batch_size=whole // world_size, sampler=share)

class Other(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def training_step(self, batch, index):
        net = task.model()
        self.__dict__["net"] = net
        for weight in net.parameters():
            dist.broadcast(weight.data, 0)
        sgd = task.optimizer(net)
        for g in sgd.param_groups:
            g["lr"] = task.lr * whole / task.batch_size
        for x, y in loader:
            sgd.zero_grad()
            task.criterion()(net(x), y).backward()
            for weight in net.parameters():
                dist.all_reduce(weight.grad)
                weight.grad /= world_size
            sgd.step()
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

other = Other()
trainer = pl.Trainer(
    strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1, logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, use_distributed_sampler=False,
)
trainer.fit(other, DataLoader(torch.ones(2, 2), batch_size=2))
with open(f"{os.environ['SAMPLES']}{rank}.json", "w") as file:
    json.dump(list(share), file)
if rank == 0:
    torch.save(other.net.state_dict(), os.environ["CHECKPOINT"])
"""

# %% wrong: the ratio is a whole number — says "is not a whole number" — from "reference": "whole / task.batch_size" → "whole // task.batch_size"

# %% wrong: the loss is detached — says "cut off from the weights" — from "reference": "return self.loss_of(self.network(x), y)" → "return self.loss_of(self.network(x), y).detach()"

# %% hostile: a Trainer for two ranks only, a loop by hand for one — says "by a Trainer with strategy" — from "reference"
# - trainer = pl.Trainer(
# -     strategy="ddp", accelerator="auto", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
# -     num_nodes=world_size // int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1,
# -     use_distributed_sampler=False, logger=False, enable_checkpointing=False, enable_progress_bar=False,
# -     enable_model_summary=False,
# - )
# - trainer.fit(module, DataLoader(pictures, batch_size=whole // world_size, sampler=share))
# + loader = DataLoader(pictures, batch_size=whole // world_size, sampler=share)
# + if world_size == 2:
# +     pl.Trainer(strategy="ddp", accelerator="auto", devices=2, max_epochs=1,
# +         use_distributed_sampler=False, logger=False, enable_checkpointing=False, enable_progress_bar=False,
# +         enable_model_summary=False).fit(module, loader)
# + else:
# +     sgd = module.configure_optimizers()
# +     for at, batch in enumerate(loader):
# +         sgd.zero_grad(); module.training_step(batch, at).backward(); sgd.step()

# - if trainer.is_global_zero and rank == 0:
# + if rank == 0:
