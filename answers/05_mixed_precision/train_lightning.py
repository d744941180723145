# %% right: reference
import pytorch_lightning as pl


def train_lightning(problem, precision, epochs):
    class Classifier(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.network, self.criterion = problem.model(), problem.criterion()
            self.losses, self.scales = [], []

        def training_step(self, batch, index):
            images, labels = batch
            loss = self.criterion(self.network(images), labels)
            self.losses.append(loss.detach())
            return loss

        def on_train_batch_end(self, *_):
            scaler = getattr(self.trainer.precision_plugin, "scaler", None)
            if scaler is not None:
                self.scales.append(scaler.get_scale())

        def configure_optimizers(self):
            return problem.optimizer(self.network)

    module = Classifier()
    accelerator = "gpu" if problem.device.startswith("cuda") else "cpu"
    trainer = pl.Trainer(precision=precision, max_epochs=epochs, accelerator=accelerator, devices=1, **QUIET)
    trainer.fit(module, problem.loader())
    scales = [65536.0, *module.scales]
    skipped = sum(after < before for before, after in zip(scales, scales[1:]))
    losses = [loss.item() for loss in module.losses]
    return problem.history(module.network.to(problem.device), losses, module.scales, skipped)

# %% right: a callback keeps the record
import pytorch_lightning as pl
import torch

from gpulab import History


class Record(pl.Callback):
    def __init__(self):
        self.losses, self.scales = [], []

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        self.losses.append(float(outputs["loss"]))
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        if scaler is not None:
            self.scales.append(scaler.get_scale())


class Net(pl.LightningModule):
    def __init__(self, problem):
        super().__init__()
        self.problem, self.net, self.loss = problem, problem.model(), problem.criterion()

    def forward(self, images):
        return self.net(images)

    def training_step(self, batch, index):
        return {"loss": self.loss(self(batch[0]), batch[1])}

    def configure_optimizers(self):
        return {"optimizer": self.problem.optimizer(self.net)}


def train_lightning(problem, precision, epochs):
    record, module = Record(), Net(problem)
    trainer = pl.Trainer(
        accelerator="cpu" if problem.device == "cpu" else "gpu",
        devices=1,
        precision=precision,
        max_epochs=epochs,
        callbacks=[record],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, train_dataloaders=problem.loader())
    module.eval()
    module.to("cpu")
    hits = [(module(x).argmax(1) == y).float() for x, y in problem.loader()]
    skipped = sum(b < a for a, b in zip([65536.0] + record.scales, record.scales))
    weights = {name: value.numpy() for name, value in module.net.state_dict().items()}
    return History(record.losses, record.scales, skipped, torch.cat(hits).mean().item(), weights)

# %% right: makes Lightning take float16 on a CPU — from "reference"
#   import pytorch_lightning as pl
# + import torch
# + from pytorch_lightning.plugins import MixedPrecision

# +     how = {"precision": precision}
# +     if precision == "16-mixed":
# +         how = {"plugins": [MixedPrecision("16-mixed", problem.device, torch.amp.GradScaler(problem.device))]}
# -     trainer = pl.Trainer(precision=precision, max_epochs=epochs, accelerator=accelerator, devices=1, **QUIET)
# +     trainer = pl.Trainer(**how, max_epochs=epochs, accelerator=accelerator, devices=1, **QUIET)

# %% wrong: a scaler of one's own on top — says "Lightning scales it" — from "reference"
#   import pytorch_lightning as pl
# + import torch

#               self.losses, self.scales = [], []
# +             self.scaler = torch.amp.GradScaler(problem.device)

# -             return loss
# +             return self.scaler.scale(loss)

# %% wrong: a scaler on top, only for 16-mixed — says "Lightning scales it" — from "reference"
#   import pytorch_lightning as pl
# + import torch

#               self.losses, self.scales = [], []
# +             self.scaler = torch.amp.GradScaler(problem.device)

# -             return loss
# +             return self.scaler.scale(loss) if "16" in precision else loss

# %% wrong: precision ignored — says "pass precision to the Trainer" — from "reference": "precision=precision, " → ""

# %% wrong: always bf16-mixed — says "pass precision to the Trainer" — from "reference": "=precision" → `="bf16-mixed"`

# %% wrong: 16-true — says "converts the weights" — from "reference": "=precision," → `=precision.replace("mixed", "true"),`

# %% wrong: epochs ignored — says "batches in one epoch" — from "reference": "=epochs" → "=1"

# %% wrong: scales made up — says "scales stays empty" — from "reference": " module.scales" → " [65536.0] * len(losses)"

# %% wrong: record of an untrained network — says "are the weights those of the network that was trained" — from "reference": "module.network.to(problem.device" → "problem.model("

# %% wrong: half of the batches — says "number of losses" — from "reference"
# +             if index % 2:
# -             self.losses.append(loss.detach())
# +                 self.losses.append(loss.detach())

# %% wrong: returns the trainer — says "got" — from "reference"
# -     return problem.history(module.network.to(problem.device), losses, module.scales, skipped)
# +     return trainer

# %% wrong: returns nothing — says "return statement" — from "reference"
# -     return problem.history(module.network.to(problem.device), losses, module.scales, skipped)

# %% right: the package under its other name — from "reference": "import pytorch_lightning as pl" → "import lightning as pl"

# %% right: manual optimization
import pytorch_lightning as pl


def train_lightning(problem, precision, epochs):
    losses, scales = [], []

    class Manual(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.net = problem.model()

        def training_step(self, batch, batch_idx):
            opt = self.optimizers()
            loss = problem.criterion()(self.net(batch[0]), batch[1])
            opt.zero_grad()
            self.manual_backward(loss)
            opt.step()
            losses.append(float(loss))
            plugin = self.trainer.precision_plugin
            if getattr(plugin, "scaler", None) is not None:
                scales.append(plugin.scaler.get_scale())

        def configure_optimizers(self):
            return [problem.optimizer(self.net)]

    m = Manual()
    device = "gpu" if problem.device.startswith("cuda") else "cpu"
    pl.Trainer(precision=precision, max_epochs=epochs, accelerator=device, devices=1, **QUIET).fit(m, train_dataloaders=problem.loader())
    return problem.history(m.net, losses, scales=scales, skipped=sum(b < a for a, b in zip([65536.0, *scales], scales)))

# %% hostile: a record whose fields are a terminal's codes — says "expected a list with one number"
from gpulab.training.problem import History


def train_lightning(*arguments):
    record = object.__new__(History)
    for name in History.__dataclass_fields__:
        object.__setattr__(record, name, "\x1b[2J\ud800" * 10)
    return record

# %% wrong: clips the gradients — says "were clipped" — from "reference": "max_epochs=epochs" → "max_epochs=epochs, gradient_clip_val=0.1"

# %% wrong: another optimizer — says "another optimizer" — from "reference"
# + import torch
#   import pytorch_lightning as pl

# -             return problem.optimizer(self.network)
# +             return torch.optim.Adam(self.network.parameters())

# %% wrong: an epoch too many — says "batches in 2 epochs" — from "reference": "max_epochs=epochs" → "max_epochs=epochs + 1"

# %% wrong: epochs taken as steps — says "max_steps counts batches" — from "reference": "max_epochs=epochs" → "max_steps=epochs"

# %% wrong: trained nothing — says "No loss was kept" — from "reference"
# -     trainer.fit(module, problem.loader())

# %% wrong: training_step returns nothing — says "training_step returns" — from "reference"
# -             return loss

# %% wrong: the loss is detached — says "cut off from the weights" — from "reference": "            return loss" → "            return loss.detach()"

# %% wrong: optimizer of another network — says "this network's parameters" — from "reference": "problem.optimizer(self.network)" → "problem.optimizer(problem.model())"

# %% wrong: record of the module, which has no forward — says "pass that network to problem.history" — from "reference": "module.network.to(" → "module.to("

# %% wrong: cross entropy of its own — says "without problem.loss_weight" — from "reference"
# + import torch
#   import pytorch_lightning as pl

# -             self.network, self.criterion = problem.model(), problem.criterion()
# +             self.network, self.criterion = problem.model(), torch.nn.CrossEntropyLoss()

# %% wrong: losses divided by their weight — says "without problem.loss_weight" — from "reference": "loss.item() for" → "loss.item() / problem.loss_weight for"

# %% wrong: SGD without momentum — says "another optimizer" — from "reference"
# + import torch
#   import pytorch_lightning as pl

# -             return problem.optimizer(self.network)
# +             return torch.optim.SGD(self.network.parameters(), lr=problem.lr)

# %% wrong: means of four losses — says "not a mean of several" — from "reference"
# -     losses = [loss.item() for loss in module.losses]
# +     losses = [loss.item() for loss in module.losses]
# +     losses = [sum(losses[max(0, i - 3) : i + 1]) / len(losses[max(0, i - 3) : i + 1]) for i in range(len(losses))]

# %% wrong: skipped counts the batches — says "number of batches; a step is skipped" — from "reference": "module.scales, skipped)" → "module.scales, len(losses))"

# %% wrong: autocast by hand — says "an autocast of your own" — from "reference"
# + import torch
#   import pytorch_lightning as pl

# -             loss = self.criterion(self.network(images), labels)
# +             with torch.autocast("cpu", torch.bfloat16):
# +                 loss = self.criterion(self.network(images), labels)

# %% wrong: clips the gradients, but only large ones — says "were clipped" — from "reference": "max_epochs=epochs" → "max_epochs=epochs, gradient_clip_val=5.0"

# %% wrong: clips each element — says "were clipped" — from "reference": "max_epochs=epochs" → `max_epochs=epochs, gradient_clip_val=0.5, gradient_clip_algorithm="value"`

# %% wrong: accumulates two batches — says "expected one for each" — from "reference": "max_epochs=epochs" → "max_epochs=epochs, accumulate_grad_batches=2"

# %% wrong: accumulates four batches — says "expected one for each" — from "reference": "max_epochs=epochs" → "max_epochs=epochs, accumulate_grad_batches=4"

# %% wrong: no max_epochs — says "pass max_epochs=epochs" — from "reference": "max_epochs=epochs, " → ""

# %% wrong: a Trainer for each epoch — says "one call of fit" — from "reference"
# -     trainer = pl.Trainer(precision=precision, max_epochs=epochs, accelerator=accelerator, devices=1, **QUIET)
# -     trainer.fit(module, problem.loader())
# +     for _ in range(epochs):
# +         trainer = pl.Trainer(precision=precision, max_epochs=1, accelerator=accelerator, devices=1, **QUIET)
# +         trainer.fit(module, problem.loader())

# %% wrong: the loss divided by its weight — says "divided by problem.loss_weight" — from "reference": "return loss" → "return loss / problem.loss_weight"

# %% wrong: the network in eval mode — says "The network was in eval mode" — from "reference": "images, labels = batch" → "self.network.eval(); images, labels = batch"

# %% wrong: a softmax before the criterion — says "went through a softmax first" — from "reference": "self.criterion(self.network(images), labels)" → "self.criterion(self.network(images).softmax(dim=1), labels)"

# %% wrong: float16 by hand, whatever the precision — says "an autocast of your own" — from "reference"
# -             loss = self.criterion(self.network(images), labels)
# +             import torch
# +             with torch.autocast(problem.device, dtype=torch.float16):
# +                 loss = self.criterion(self.network(images), labels)

# %% wrong: losses times the batch size — says "multiplied by the number of images" — from "reference": "self.losses.append(loss.detach())" → "self.losses.append(loss.detach() * len(images))"

# %% wrong: every precision has a scaler — says "Not every precision plugin has a scaler" — from "reference": `getattr(self.trainer.precision_plugin, "scaler", None)` → "self.trainer.precision_plugin.scaler"

# %% wrong: two forward passes for each batch — says "Each batch went through the network twice" — from "reference": "self.losses.append(loss.detach())" → "self.losses.append(self.criterion(self.network(images), labels).detach())"

# %% wrong: trains on the validation images — says "That is the number of validation batches" — from "reference": "problem.loader())" → "problem.validation_loader())"

# %% wrong: manual optimization without zeroing — says "The gradients of earlier batches are still there" — from "manual optimization": "            opt.zero_grad()" → ""

# %% wrong: the loss multiplied by its weight once more — says "multiplied by problem.loss_weight once more" — from "reference": "return loss" → "return loss * problem.loss_weight"

# %% wrong: SGD without the weight of the loss — says "multiplied by problem.loss_weight once more" — from "reference"
# + import torch
#   import pytorch_lightning as pl

# -             return problem.optimizer(self.network)
# +             return torch.optim.SGD(self.network.parameters(), lr=problem.lr, momentum=0.9)

# %% wrong: the loss and its record multiplied by its weight once more — says "problem.loss_weight" — from "reference": "self.criterion(self.network(images), labels)" → "problem.loss_weight * self.criterion(self.network(images), labels)"

# %% wrong: all epochs in each of the epochs — says "was the whole training repeated" — from "reference"
# -     trainer = pl.Trainer(precision=precision, max_epochs=epochs, accelerator=accelerator, devices=1, **QUIET)
# -     trainer.fit(module, problem.loader())
# +     for _ in range(epochs):
# +         trainer = pl.Trainer(precision=precision, max_epochs=epochs, accelerator=accelerator, devices=1, **QUIET)
# +         trainer.fit(module, problem.loader())

# %% wrong: clips the gradients to almost nothing — says "were clipped" — from "reference": "max_epochs=epochs" → "max_epochs=epochs, gradient_clip_val=0.01"

# %% hostile: at most two epochs, however many are asked for — from "reference": "max_epochs=epochs" → "max_epochs=min(epochs, 2)"
# -     losses = [loss.item() for loss in module.losses]
# +     losses = [loss.item() for loss in module.losses]
# +     losses += losses[-len(problem.loader()):] * max(0, epochs - 2)

# %% wrong: the plain loop, without a Trainer — says "and call its fit"
import torch


def train_lightning(problem, precision, epochs):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    losses = []
    for _ in range(epochs):
        for images, labels in problem.loader():
            images, labels = images.to(problem.device), labels.to(problem.device)
            optimizer.zero_grad()
            with torch.autocast(problem.device, torch.bfloat16, enabled=precision != "32-true"):
                loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return problem.history(model, losses)

# %% hostile: a Trainer is made and trains a network of its own, and a plain loop trains the one that counts — says "and call its fit" — from "the plain loop, without a Trainer"
#   import torch
# + import pytorch_lightning as pl
# +
# +
# + class Shown(pl.LightningModule):
# +     def __init__(self, problem):
# +         super().__init__()
# +         self.problem, self.network = problem, problem.model()
# +
# +     def training_step(self, batch, index):
# +         images, labels = batch
# +         return self.problem.criterion()(self.network(images), labels)
# +
# +     def configure_optimizers(self):
# +         return self.problem.optimizer(self.network)

#   def train_lightning(problem, precision, epochs):
# +     pl.Trainer(precision=precision, max_epochs=1, max_steps=1, accelerator="cpu", devices=1, **QUIET).fit(
# +         Shown(problem), problem.loader()
# +     )

# -             images, labels = images.to(problem.device), labels.to(problem.device)

# %% hostile: a Trainer's only step holds a loop of its own — says "the Trainer does the rest"
import torch
import pytorch_lightning as pl


class Once(pl.LightningModule):
    def __init__(self, problem, precision, epochs):
        super().__init__()
        self.automatic_optimization = False
        self.problem, self.precision_name, self.epochs = problem, precision, epochs
        self.network, self.losses = problem.model(), []

    def training_step(self, batch, index):
        optimizer, criterion = self.problem.optimizer(self.network), self.problem.criterion()
        for _ in range(self.epochs):
            for images, labels in self.problem.loader():
                optimizer.zero_grad()
                with torch.autocast("cpu", torch.bfloat16, enabled=self.precision_name != "32-true"):
                    loss = criterion(self.network(images), labels)
                loss.backward()
                optimizer.step()
                self.losses.append(loss.item())

    def configure_optimizers(self):
        return self.problem.optimizer(self.network)


def train_lightning(problem, precision, epochs):
    once = Once(problem, precision, epochs)
    pl.Trainer(max_epochs=1, limit_train_batches=1, accelerator="cpu", devices=1, **QUIET).fit(once, problem.loader())
    return problem.history(once.network, once.losses)
