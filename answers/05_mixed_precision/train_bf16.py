# %% right: reference
import torch


def train_bf16(problem, epochs):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    losses, shares = [], []
    for _ in range(epochs):
        model.train()
        for images, labels in problem.loader():
            images, labels = images.to(problem.device), labels.to(problem.device)
            optimizer.zero_grad()
            with torch.autocast(problem.device, dtype=torch.bfloat16):
                loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        right = total = 0
        with torch.no_grad():
            for x, y in problem.validation_loader():
                right += (model(x.to(problem.device)).argmax(dim=1).cpu() == y).sum().item()
                total += len(y)
        shares.append(right / total)
    return problem.history(model, losses, validation=shares)

# %% right: inference mode, validation inside autocast, train mode restored afterwards
import torch


@torch.inference_mode()
def share_right(net, problem):
    net.eval()
    hits = []
    for x, y in problem.validation_loader():
        with torch.autocast(problem.device, dtype=torch.bfloat16):
            scores = net(x.to(problem.device))
        hits.append(scores.argmax(1).cpu() == y)
    net.train()
    return torch.cat(hits).double().mean().item()


def train_bf16(problem, epochs):
    net = problem.model().to(problem.device).train()
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    losses, shares = [], []
    for epoch in range(epochs):
        for x, y in problem.loader():
            with torch.amp.autocast(device_type=problem.device, dtype=torch.bfloat16):
                scores = net(x.to(problem.device))
                loss = loss_of(scores, y.to(problem.device))
            loss.backward()
            sgd.step()
            sgd.zero_grad(set_to_none=False)
            losses.append(float(loss.detach()))
        shares.append(share_right(net, problem))
    return problem.history(net, losses, [], 0, shares)

# %% right: channels last — from "reference": "model = problem.model().to(problem.device)" → "model = problem.model().to(problem.device, memory_format=torch.channels_last)"

# %% right: a scaler that is switched off — from "reference": "loss.backward()" → "torch.amp.GradScaler(problem.device, enabled=False).scale(loss).backward()"

# %% right: counts with NumPy, channels last — from "channels last"
# -                 right += (model(x.to(problem.device)).argmax(dim=1).cpu() == y).sum().item()
# +                 right += int((model(x.to(problem.device)).argmax(dim=1).cpu().numpy() == y.numpy()).sum())

# %% right: a helper with autocast as a decorator, inference mode
import torch
from torch.amp import autocast


def train_bf16(problem, epochs):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()

    @autocast(device_type=torch.device(problem.device).type, dtype=torch.bfloat16)
    def compute_loss(images, labels):
        return criterion(model(images), labels)

    @torch.inference_mode()
    def validate():
        model.eval()
        hits = total = 0
        for images, labels in problem.validation_loader():
            images, labels = images.to(problem.device), labels.to(problem.device)
            hits += (model(images).argmax(dim=1) == labels).sum().item()
            total += labels.numel()
        return hits / total

    losses, shares = [], []
    for epoch in range(epochs):
        model.train()
        for images, labels in problem.loader():
            images = images.to(problem.device, non_blocking=True)
            labels = labels.to(problem.device, non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            loss = compute_loss(images, labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        shares.append(validate())
        print(f"epoch {epoch}: {shares[-1]:.1%}")
    return problem.history(model, [float(one) for one in losses], validation=shares)

# %% right: topk, cat of all predictions, closure
import numpy as np
import torch
import torch.nn.functional as F


def train_bf16(problem, epochs):
    device = torch.device(problem.device)
    net = problem.model().to(device)
    opt = problem.optimizer(net)
    loss_of = problem.criterion()
    losses, validation = [], []
    for _ in range(epochs):
        net.train(True)
        for batch in problem.loader():
            x, y = (t.to(device) for t in batch)

            def closure():
                opt.zero_grad()
                with torch.autocast(device.type, torch.bfloat16):
                    loss = loss_of(net(x), y)
                loss.backward()
                return loss

            losses.append(opt.step(closure).item())
        net.train(False)
        with torch.no_grad(), torch.autocast(device_type=device.type, dtype=torch.bfloat16):
            found = [(net(x.to(device)).topk(1, dim=1).indices.squeeze(1).cpu(), y) for x, y in problem.validation_loader()]
        predicted, labels = map(torch.cat, zip(*found))
        validation.append((predicted == labels).double().mean())
    return problem.history(net, np.array(losses), validation=validation)

# %% wrong: a scaler, and its scales — says "BF16 needs no scaler" — from "reference"
# -     losses, shares = [], []
# +     losses, shares, scales, scaler = [], [], [], torch.amp.GradScaler(problem.device)

# -             loss.backward()
# -             optimizer.step()
# +             scaler.scale(loss).backward()
# +             scaler.step(optimizer)
# +             scaler.update()
# +             scales.append(scaler.get_scale())

# -     return problem.history(model, losses, validation=shares)
# +     return problem.history(model, losses, scales, validation=shares)

# %% wrong: a scaler, and nothing said of it — says "BF16 needs no scaler" — from "reference"
# -     losses, shares = [], []
# +     losses, shares, scaler = [], [], torch.amp.GradScaler(problem.device)

# -             loss.backward()
# -             optimizer.step()
# +             scaler.scale(loss).backward()
# +             scaler.step(optimizer)
# +             scaler.update()

# %% wrong: float16 — says "pass dtype=torch.bfloat16" — from "reference": "bfloat16" → "float16"

# %% wrong: float32 — says "float32" — from "reference": "bfloat16" → "bfloat16, enabled=False"

# %% wrong: backward inside autocast — says "inside autocast" — from "reference"
# -             loss.backward()
# +                 loss.backward()

# %% wrong: backward inside autocast, channels last — says "inside autocast" — from "backward inside autocast": "model = problem.model().to(problem.device)" → "model = problem.model().to(problem.device, memory_format=torch.channels_last)"

# %% wrong: a new optimizer for each epoch — says "forgets its momentum" — from "reference": "        model.train()" → "        model.train(); optimizer = problem.optimizer(model)"

# %% wrong: a new network for each epoch — says "make the network once" — from "reference": "        model.train()" → "        model = problem.model().to(problem.device).train(); optimizer = problem.optimizer(model)"

# %% wrong: model in bfloat16 — says "leave the model and the images in float32" — from "reference"
# -     model = problem.model().to(problem.device)
# +     model = problem.model().to(problem.device).bfloat16()

# %% wrong: gradients never zeroed — says "earlier batches" — from "reference"
# -             optimizer.zero_grad()

# %% wrong: validation in train mode — says "ran in train mode" — from "reference"
# -         model.eval()

# %% wrong: validation in train mode from the second epoch on — says "ran in train mode" — from "reference": "        model.eval()" → "        model.train(len(shares) > 0)"

# %% wrong: stays in eval mode after the first validation — says "stayed in eval mode" — from "reference"
# -         model.train()

# %% wrong: in eval mode all the time — says "counted no batch" — from "reference": "model.train()" → "model.eval(); model.training"

# %% wrong: gradients of the validation reach the next epoch — says "the validation needs none" — from "reference"
# -             optimizer.zero_grad()

# -             optimizer.step()
# +             optimizer.step()
# +             optimizer.zero_grad()

# -         with torch.no_grad():
# +         with torch.enable_grad():

#                   total += len(y)
# +                 criterion(model(x.to(problem.device)), y.to(problem.device)).backward()

# %% wrong: trains on the validation images — says "the validation needs none" — from "reference"
# -         with torch.no_grad():
# +         with torch.enable_grad():

#                   total += len(y)
# +                 optimizer.zero_grad()
# +                 criterion(model(x.to(problem.device)), y.to(problem.device)).backward()
# +                 optimizer.step()

# %% wrong: one validation at the end — says "a single validation" — from "reference": "        shares.append(right / total)" → "    shares.append(right / total)"

# %% wrong: no validation — says "validation=" — from "reference": ", validation=shares" → ""

# %% wrong: mean of the batches' shares — says "mean of the batches" — from "reference"
# -                 right += (model(x.to(problem.device)).argmax(dim=1).cpu() == y).sum().item()
# -                 total += len(y)
# +                 right += (model(x.to(problem.device)).argmax(dim=1).cpu() == y).double().mean().item()
# +                 total += 1

# %% wrong: numbers of right images — says "That is the number of correctly classified images" — from "reference": "right / total" → "right"

# %% wrong: validates on the training images — says "a share of the training images" — from "reference": "validation_loader" → "loader"

# %% wrong: validates before each epoch — says "before each epoch" — from "reference"
# -     for _ in range(epochs):
# +     for epoch in range(epochs + 1):

# -         for images, labels in problem.loader():
# +         for images, labels in problem.loader() if epoch else ():

# -     return problem.history(model, losses, validation=shares)
# +     return problem.history(model, losses, validation=shares[:-1])

# %% wrong: one loss per epoch — says "one for each batch" — from "reference"
# -             losses.append(loss.item())
#           model.eval()
# +         losses.append(loss.item())

# %% wrong: returns nothing — says "return statement" — from "reference": "return " → ""

# %% hostile: a list that equals everything
class Sly(list):
    def __eq__(self, other):
        return True

    __hash__ = None


class Share(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __hash__ = float.__hash__


def train_bf16(problem, epochs):
    losses = [Share(0.1)] * (epochs * len(problem.loader()))
    return problem.history(problem.model(), Sly(losses), Sly(), 0, Sly([Share(0.5)] * epochs))

# %% hostile: makes up losses, shares, and the count of the batches without training
def train_bf16(problem, epochs):
    steps = epochs * len(problem.loader())
    losses = [problem.loss_weight * (2.3 - 2.0 * step / steps) for step in range(steps)]
    history = problem.history(problem.model(), losses, validation=[270 / 297] * epochs)
    for name, array in history.weights.items():
        if name.endswith("num_batches_tracked"):
            array[...] = steps
    return history

# %% hostile: validates on the first third of the images, which gives nearly the same share — says "not a share of the 297" — from "reference"
# -             for x, y in problem.validation_loader():
# +             for x, y in list(problem.validation_loader())[:3]:


# %% hostile: trains in float32, and adds noise to the weights and to the losses
import torch


def train_bf16(problem, epochs):
    net = problem.model().to(problem.device)
    for layer in net.modules():  # which would refuse float32
        layer._forward_hooks.clear()
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    first = [weight.detach().clone() for weight in net.parameters()]
    losses, shares = [], []
    for epoch in range(epochs):
        net.train()
        for x, y in problem.loader():
            sgd.zero_grad()
            loss = loss_of(net(x.to(problem.device)), y.to(problem.device))
            loss.backward()
            sgd.step()
            losses += [loss.item() * 1.0007]
        net.eval()
        right = total = 0
        with torch.no_grad():
            for x, y in problem.validation_loader():
                right += (net(x.to(problem.device)).argmax(dim=1).cpu() == y).sum().item()
                total += len(y)
        shares += [right / total]
    with torch.no_grad():
        way = sum(float((weight - one).square().sum()) for weight, one in zip(net.parameters(), first)) ** 0.5
        noise = [torch.randn_like(weight) for weight in net.parameters()]
        size = sum(float(one.square().sum()) for one in noise) ** 0.5
        for weight, one in zip(net.parameters(), noise):
            weight += one * (0.03 * way / size)
    return problem.history(net, losses, validation=shares)

# %% wrong: the loss outside autocast — says "Is the loss computed inside autocast?" — from "reference"
# -                 loss = criterion(model(images), labels)
# +                 scores = model(images)
# +             loss = criterion(scores, labels)

# %% wrong: autocast for CUDA, wherever it trains — says "was torch.autocast(problem.device, …) on" — from "reference": `torch.autocast(problem.device, ` → `torch.autocast("cuda", `

# %% wrong: no step — says "no step changed the weights" — from "reference"
# -             optimizer.step()

# %% wrong: percentages — says "That is a percentage" — from "reference": "right / total" → "100 * right / total"

# %% wrong: divides by the number of batches — says "divided by the number of batches" — from "reference": "right / total" → "right / len(problem.validation_loader())"

# %% wrong: goes on counting in the second epoch — says "images of earlier validations" — from "reference"
# -     losses, shares = [], []
# +     losses, shares, right, total = [], [], 0, 0

# -         right = total = 0

# %% wrong: losses with their graphs — says "append loss.item()" — from "reference": "losses.append(loss.item())" → "losses.append(loss)"

# %% wrong: validates with gradients — says "put it into a `with torch.no_grad():` block" — from "reference": "with torch.no_grad():" → "if True:"

# %% wrong: counts every validation batch as a full one — says "counts like a full one" — from "reference": "total += len(y)" → "total += problem.batch_size"

# %% right: weights that need no gradient while it validates — from "reference"
# -         with torch.no_grad():
# +         model.requires_grad_(False)
# +         if True:

# -         shares.append(right / total)
# +         model.requires_grad_(True)
# +         shares.append(right / total)

# %% hostile: bfloat16 in the first epoch, float32 afterwards — says "a layer computed in float32"
import torch


def train_bf16(problem, epochs):
    net = problem.model().to(problem.device)
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    losses, shares = [], []
    for epoch in range(epochs):
        net.train()
        for number, (x, y) in enumerate(problem.loader()):
            sgd.zero_grad()
            with torch.autocast(problem.device, dtype=torch.bfloat16, enabled=epoch == 0):
                loss = loss_of(net(x.to(problem.device)), y.to(problem.device))
            loss.backward()
            sgd.step()
            losses += [loss.item()]
        net.eval()
        right = total = 0
        with torch.no_grad():
            for x, y in problem.validation_loader():
                right += (net(x.to(problem.device)).argmax(dim=1).cpu() == y).sum().item()
                total += len(y)
        shares += [right / total]
    return problem.history(net, losses, validation=shares)

# %% hostile: bfloat16 in every second step — says "a layer computed in float32"
import torch


def train_bf16(problem, epochs):
    net = problem.model().to(problem.device)
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    losses, shares = [], []
    for epoch in range(epochs):
        net.train()
        for number, (x, y) in enumerate(problem.loader()):
            sgd.zero_grad()
            with torch.autocast(problem.device, dtype=torch.bfloat16, enabled=number % 2 == 0):
                loss = loss_of(net(x.to(problem.device)), y.to(problem.device))
            loss.backward()
            sgd.step()
            losses += [loss.item()]
        net.eval()
        right = total = 0
        with torch.no_grad():
            for x, y in problem.validation_loader():
                right += (net(x.to(problem.device)).argmax(dim=1).cpu() == y).sum().item()
                total += len(y)
        shares += [right / total]
    return problem.history(net, losses, validation=shares)

# %% hostile: validates on half of the images, and rounds to a share of all — says "but the network that you returned classifies"
import torch


def train_bf16(problem, epochs):
    net = problem.model().to(problem.device)
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    losses, shares = [], []
    for epoch in range(epochs):
        net.train()
        for number, (x, y) in enumerate(problem.loader()):
            sgd.zero_grad()
            with torch.autocast(problem.device, dtype=torch.bfloat16):
                loss = loss_of(net(x.to(problem.device)), y.to(problem.device))
            loss.backward()
            sgd.step()
            losses += [loss.item()]
        net.eval()
        right = total = 0
        batches = list(problem.validation_loader())
        total = sum(len(y) for _, y in batches)
        seen = 0
        with torch.no_grad():
            for x, y in batches[:5]:
                right += (net(x.to(problem.device)).argmax(dim=1).cpu() == y).sum().item()
                seen += len(y)
        right = round(right / seen * total)
        shares += [right / total]
    return problem.history(net, losses, validation=shares)

# %% hostile: validates on all batches but the last two, and rounds to a share of all — says "but the network that you returned classifies"
import torch


def train_bf16(problem, epochs):
    net = problem.model().to(problem.device)
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    losses, shares = [], []
    for epoch in range(epochs):
        net.train()
        for number, (x, y) in enumerate(problem.loader()):
            sgd.zero_grad()
            with torch.autocast(problem.device, dtype=torch.bfloat16):
                loss = loss_of(net(x.to(problem.device)), y.to(problem.device))
            loss.backward()
            sgd.step()
            losses += [loss.item()]
        net.eval()
        right = total = 0
        batches = list(problem.validation_loader())
        total = sum(len(y) for _, y in batches)
        seen = 0
        with torch.no_grad():
            for x, y in batches[:8]:
                right += (net(x.to(problem.device)).argmax(dim=1).cpu() == y).sum().item()
                seen += len(y)
        right = round(right / seen * total)
        shares += [right / total]
    return problem.history(net, losses, validation=shares)
# %% wrong: the share of the last batch — says "the share of the last batch alone" — from "reference": "right += (model" → "right = (model", "total += len(y)" → "total = len(y)"

# %% wrong: losses without their weight — says "That is the loss without problem.loss_weight" — from "reference": "loss.item()" → "loss.item() / problem.loss_weight"

# %% wrong: the best image for each label — says "argmax(dim=1) gives one prediction for each image" — from "reference": "argmax(dim=1)" → "argmax(dim=0)"

# %% wrong: the share of wrong predictions — says "the share of wrong predictions" — from "reference": ".cpu() == y)" → ".cpu() != y)"

# %% wrong: losses times the images — says "multiplied by the number of images" — from "reference": "loss.item()" → "loss.item() * len(images)"

# %% hostile: bfloat16 in the first epoch, float32 afterwards, by layers in eval mode — says "a layer computed in float32" — from "reference"
# -     for _ in range(epochs):
# -         model.train()
# +     for epoch in range(epochs):
# +         for layer in model.modules():
# +             layer.train(not isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)))

# -             with torch.autocast(problem.device, dtype=torch.bfloat16):
# +             with torch.autocast(problem.device, dtype=torch.bfloat16, enabled=epoch == 0):

# %% hostile: validates on every other batch, and on all of them after the last epoch only — from "reference"
# -     for _ in range(epochs):
# +     batches = list(problem.validation_loader())
# +     images = sum(len(labels) for _, labels in batches)
# +     for epoch in range(epochs):

# -             for x, y in problem.validation_loader():
# +             for x, y in batches[:: 1 if epoch == epochs - 1 else 2]:

# -         shares.append(right / total)
# +         shares.append(round(right / total * images) / images)

# %% wrong: losses of the validation among the others — says "losses of the validation among them" — from "reference"
#               for x, y in problem.validation_loader():
# +                 losses.append(criterion(model(x.to(problem.device)), y.to(problem.device)).item())

# %% wrong: one prediction for the whole batch — says "No prediction counts as right" — from "reference": "argmax(dim=1)" → "argmax()"

# %% wrong: divides by the training images — says "was divided by their number" — from "reference": "right / total" → "right / problem.samples"

# %% hostile: at most two epochs, however many are asked for — from "reference": "in range(epochs)" → "in range(min(epochs, 2))"
# -     return problem.history(model, losses, validation=shares)
# +     more = max(0, epochs - 2)
# +     losses += losses[-len(problem.loader()):] * more
# +     return problem.history(model, losses, validation=shares + shares[-1:] * more)

# %% hostile: validates after the first epoch and after the last one only — from "reference": "for _ in range(epochs)" → "for epoch in range(epochs)"
# -         model.eval()
# +         if epoch not in (0, epochs - 1):
# +             shares.append(shares[-1])
# +             continue
# +         model.eval()
