# %% right: reference
import torch


def train_amp(problem, epochs):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped = [], [], 0
    for _ in range(epochs):
        for images, labels in problem.loader():
            images, labels = images.to(problem.device), labels.to(problem.device)
            optimizer.zero_grad()
            with torch.autocast(problem.device, dtype=torch.float16):
                loss = criterion(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            before = scaler.get_scale()
            scaler.update()
            losses.append(loss.item())
            scales.append(scaler.get_scale())
            skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% right: History by hand, set_to_none off
import torch

from gpulab import History


def train_amp(problem, epochs):
    torch.manual_seed(7)
    device = torch.device(problem.device)
    net = problem.model().to(device)
    net.train()
    loss_of, opt = problem.criterion(), problem.optimizer(net)
    scaler = torch.amp.GradScaler(device.type)
    losses, scales = [], []
    batches = problem.loader()
    for epoch in range(epochs):
        for x, y in batches:
            opt.zero_grad(set_to_none=False)
            with torch.amp.autocast(device_type=device.type, dtype=torch.float16):
                scores = net(x.to(device))
                loss = loss_of(scores, y.to(device))
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            scaler.step(opt)
            scaler.update()
            losses.append(float(loss.detach()))
            scales.append(scaler.get_scale())
    previous = [65536.0] + scales[:-1]
    skipped = len([1 for a, b in zip(previous, scales) if b < a])
    net.eval()
    right = count = 0
    with torch.no_grad():
        for x, y in problem.loader():
            right += (net(x.to(device)).argmax(dim=1).cpu() == y).sum().item()
            count += len(y)
    weights = {name: value.detach().float().cpu().numpy() for name, value in net.state_dict().items()}
    return History(losses=losses, scales=scales, skipped=skipped, accuracy=right / count, weights=weights)

# %% right: channels last — from "reference": ").to(problem.device)" → ").to(problem.device, memory_format=torch.channels_last)"

# %% right: a scaler of one's own
import torch


def train_amp(problem, epochs):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scale, good, losses, scales, skipped = 65536.0, 0, [], [], 0
    for _ in range(epochs):
        for images, labels in problem.loader():
            optimizer.zero_grad()
            with torch.autocast(problem.device, dtype=torch.float16):
                loss = criterion(model(images.to(problem.device)), labels.to(problem.device))
            (loss * scale).backward()
            gradients = [parameter.grad for parameter in model.parameters()]
            if all(bool(gradient.isfinite().all()) for gradient in gradients):
                for gradient in gradients:
                    gradient /= scale
                optimizer.step()
                good += 1
                if good == 2000:
                    scale, good = scale * 2, 0
            else:
                scale, good, skipped = scale / 2, 0, skipped + 1
            losses.append(loss.item())
            scales.append(scale)
    return problem.history(model, losses, scales, skipped)

# %% wrong: backward inside autocast — says "inside autocast" — from "reference"
# -             scaler.scale(loss).backward()
# +                 scaler.scale(loss).backward()

# %% wrong: everything inside autocast — says "inside autocast" — from "reference"
# -             scaler.scale(loss).backward()
# +                 scaler.scale(loss).backward()
# -             scaler.step(optimizer)
# +                 scaler.step(optimizer)

# %% wrong: no update — says "scaler.update() is missing" — from "reference"
# -             scaler.update()

# %% wrong: optimizer stepped directly, scaler updated — says "optimizer.step()" — from "reference"
# -             scaler.step(optimizer)
# +             optimizer.step()

# %% wrong: optimizer stepped directly, no update — says "still multiplied by the scale" — from "reference"
# -             scaler.step(optimizer)
# +             optimizer.step()

# -             scaler.update()

# %% wrong: no scaler — says "scaler.scale(loss)" — from "reference"
# -     scaler = torch.amp.GradScaler(problem.device)
# +     scaler = torch.amp.GradScaler(problem.device, enabled=False)

# %% wrong: loss not scaled — says "scaler.scale(loss)" — from "reference"
# -             scaler.scale(loss).backward()
# +             loss.backward()
# -             scaler.step(optimizer)
# +             optimizer.step()

# -             scaler.update()

# %% wrong: scaler for CUDA only — says "scaler.scale(loss)" — from "reference"
# -     scaler = torch.amp.GradScaler(problem.device)
# +     scaler = torch.amp.GradScaler("cuda", enabled=torch.cuda.is_available())

# %% wrong: float32 — says "float32" — from "reference": "float16" → "float16, enabled=False"

# %% wrong: bfloat16 — says "bfloat16" — from "reference": "float16" → "bfloat16"

# %% wrong: autocast without its type — says "bfloat16" — from "reference": ", dtype=torch.float16" → ""

# %% wrong: model in half precision — says "leave the model and the images in float32" — from "reference"
# -     model = problem.model().to(problem.device)
# +     model = problem.model().to(problem.device).half()

# -             images, labels = images.to(problem.device), labels.to(problem.device)
# +             images, labels = images.to(problem.device).half(), labels.to(problem.device)

# %% wrong: weights in half precision at the end — says "autocast makes the small copies" — from "reference"
# +     model = model.half().float() if False else model
# -     return problem.history(model, losses, scales, skipped)
# +     history = problem.history(model, losses, scales, skipped)
# +     history.weights.update({name: array.astype("float16") for name, array in history.weights.items()})
# +     return history

# %% wrong: gradients never zeroed — says "earlier batches" — from "reference"
# -             optimizer.zero_grad()

# %% wrong: scaled losses kept — says "multiplied by the scale" — from "reference": "item())" → "item() * before)"

# %% wrong: scale before the update — says "before each update" — from "reference"
# -             before = scaler.get_scale()
# +             scales.append(scaler.get_scale())

# +             skipped += scaler.get_scale() < scales[-1]
# -             scales.append(scaler.get_scale())
# -             skipped += scales[-1] < before

# %% wrong: skipped not counted — says "lowers the scale" — from "reference"
# -             skipped += scales[-1] < before

# %% wrong: one loss an epoch — says "one for each batch" — from "reference"
# -             losses.append(loss.item())

#               skipped += scales[-1] < before
# +         losses.append(loss.item())

# %% right: losses are tensors without dimensions — from "reference": "item" → "detach"

# %% wrong: another first scale — says "defaults" — from "reference"
# -     scaler = torch.amp.GradScaler(problem.device)
# +     scaler = torch.amp.GradScaler(problem.device, init_scale=1024.0)

# %% wrong: returns the model — says "got" — from "reference": "problem.history(model, losses, scales, skipped)" → "model"

# %% wrong: returns nothing — says "return statement" — from "reference": "return " → ""

# %% wrong: returns the losses — says "History" — from "reference": "problem.history(model, losses, scales, skipped)" → "losses"

# %% wrong: NaN losses — says "NaN" — from "reference": "loss.item(" → `float("nan"`

# %% hostile: a History that equals everything
from gpulab import History


class Sly(float):
    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return True

    __hash__ = float.__hash__


def train_amp(problem, epochs):
    steps = epochs * len(problem.loader())
    history = problem.history(problem.model(), [Sly(0.1)] * steps, [Sly(1)] * steps, 0)
    return history

# %% hostile: makes up a fine loss without training
def train_amp(problem, epochs):
    steps = epochs * len(problem.loader())
    losses = [problem.loss_weight * (2.3 - 2.0 * step / steps) for step in range(steps)]
    return problem.history(problem.model(), losses, [65536.0] * steps, 0)

# %% wrong: a new scaler for each epoch — says "There is more than one scaler" — from "reference"
# -     scaler = torch.amp.GradScaler(problem.device)
#       losses, scales, skipped = [], [], 0
#       for _ in range(epochs):
# +         scaler = torch.amp.GradScaler(problem.device)

# %% wrong: a new scaler for each step — says "There is more than one scaler" — from "reference": "optimizer.zero_grad()" → "optimizer.zero_grad(); scaler = torch.amp.GradScaler(problem.device)"

# %% wrong: gradients zeroed after backward — says "zeroed after the backward pass" — from "reference": "scaler.scale(loss).backward()" → "scaler.scale(loss).backward(); optimizer.zero_grad()"


# %% hostile: trains in float32, halves a scale of its own while a gradient would overflow, and adds noise to the weights — says "not rounded as in a 16-bit training"
import torch


def train_amp(problem, epochs):
    net = problem.model().to(problem.device)
    for layer in net.modules():  # which would refuse float32
        layer._forward_hooks.clear()
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    first = [weight.detach().clone() for weight in net.parameters()]
    losses, scales, skipped, scale = [], [], 0, 65536.0
    largest = [0.0]

    def look(module, grads, outputs):
        for one in (*grads, *outputs):
            if one is not None:
                largest[0] = max(largest[0], float(one.abs().max()))

    for layer in net.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_full_backward_hook(look)
    for epoch in range(epochs):
        for x, y in problem.loader():
            sgd.zero_grad()
            loss = loss_of(net(x.to(problem.device)), y.to(problem.device))
            largest[0] = 0.0
            loss.backward()
            largest[0] = max([largest[0], *(float(one.grad.abs().max()) for layer in net.modules() if isinstance(layer, torch.nn.Conv2d) for one in layer.parameters())])
            losses += [loss.item()]
            if largest[0] * scale >= 65520:
                scale, skipped = scale / 2, skipped + 1
            else:
                sgd.step()
            scales += [scale]
    with torch.no_grad():
        way = sum(float((weight - one).square().sum()) for weight, one in zip(net.parameters(), first)) ** 0.5
        noise = [torch.randn_like(weight) for weight in net.parameters()]
        size = sum(float(one.square().sum()) for one in noise) ** 0.5
        for weight, one in zip(net.parameters(), noise):
            weight += one * (0.05 * way / size)
    return problem.history(net, losses, scales, skipped)

# %% wrong: the loss outside autocast — says "Is the loss computed inside autocast?" — from "reference"
# -                 loss = criterion(model(images), labels)
# +                 scores = model(images)
# +             loss = criterion(scores, labels)

# %% right: the loss outside autocast, of float32 scores — from "the loss outside autocast": "criterion(scores," → "criterion(scores.float(),"

# %% wrong: the first scale is not the default, and the first update is not counted — says "65,536" — from "reference"
# -     scaler = torch.amp.GradScaler(problem.device)
# +     scaler = torch.amp.GradScaler(problem.device, init_scale=2.0**15)

# %% wrong: rounded losses — says "losses[0]" — from "reference": "loss.item()" → "round(loss.item(), 4)"

# %% wrong: autocast for CUDA, wherever it trains — says "was torch.autocast(problem.device, …) on" — from "reference": `torch.autocast(problem.device, dtype=torch.float16)` → `torch.cuda.amp.autocast()`

# %% wrong: a scale that grows counts as a skipped step — says "a skipped step lowers it" — from "reference": "scales[-1] < before" → "scales[-1] != before"

# %% wrong: clips, as the next exercise asks — says "this training does not clip" — from "reference": "scaler.step(optimizer)" → "scaler.unscale_(optimizer); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0); scaler.step(optimizer)"

# %% wrong: losses after the step — says "taken before the step" — from "reference": "losses.append(loss.item())" → "losses.append(criterion(model(images), labels).item())"

# %% wrong: losses with their graphs — says "append loss.item()" — from "reference": "losses.append(loss.item())" → "losses.append(loss)"

# %% wrong: updated and then stepped by the optimizer — says "scaler.step(optimizer)" — from "reference"
# -             scaler.step(optimizer)
# -             before = scaler.get_scale()
# -             scaler.update()
# +             scaler.unscale_(optimizer)
# +             before = scaler.get_scale()
# +             scaler.update()
# +             optimizer.step()

# %% wrong: the scale is set in every update — says "without arguments" — from "reference": "scaler.update()" → "scaler.update(65536.0)"

# %% wrong: only scales that differ — says "whether it has changed or not" — from "reference"
# -             scales.append(scaler.get_scale())
# -             skipped += scales[-1] < before
# +             if scaler.get_scale() != before:
# +                 scales.append(scaler.get_scale())
# +                 skipped += 1

# %% wrong: the losses of skipped steps are left out — says "skipped step counts" — from "reference"
# -             losses.append(loss.item())
# -             scales.append(scaler.get_scale())
# +             scales.append(scaler.get_scale())
# +             if scales[-1] >= before:
# +                 losses.append(loss.item())

# %% wrong: a skipped step is one whose scale is below the last one in the list, which is empty at first — says "the first update counts as well" — from "reference": "skipped += scales[-1] < before" → "skipped += len(scales) > 1 and scales[-1] < scales[-2]"

# %% hostile: float16 in the first epoch, float32 in all others — says "a layer computed in float32"
import torch


def train_amp(problem, epochs):
    net = problem.model().to(problem.device)
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped = [], [], 0
    for epoch in range(epochs):
        for x, y in problem.loader():
            sgd.zero_grad()
            with torch.autocast(problem.device, dtype=torch.float16, enabled=epoch == 0):
                loss = loss_of(net(x.to(problem.device)), y.to(problem.device))
            scaler.scale(loss).backward()
            scaler.step(sgd)
            before = scaler.get_scale()
            scaler.update()
            losses += [loss.item()]
            scales += [scaler.get_scale()]
            skipped += scales[-1] < before
    return problem.history(net, losses, scales, skipped)
# %% wrong: the scaled loss is not used — says "No scaling?" — from "reference": "scaler.scale(loss).backward()" → "scaler.scale(loss); loss.backward()"

# %% wrong: steps once more itself — says "optimizer.step()" — from "reference": "scaler.step(optimizer)" → "scaler.step(optimizer); optimizer.step()"

# %% wrong: a new network for each epoch — says "once, before the loops" — from "reference"
#       for _ in range(epochs):
# +         model = problem.model().to(problem.device)
# +         optimizer = problem.optimizer(model)

# %% wrong: a scaler for another device — says "The scaler is disabled" — from "reference": `GradScaler(problem.device)` → `GradScaler("cuda")`

# %% wrong: losses divided by the scale — says "The losses are divided by the scale" — from "reference": "losses.append(loss.item())" → "losses.append(loss.item() / before)"

# %% wrong: the scale before and after read at once — says "compare the scale before scaler.update() with the scale" — from "reference"
# -             before = scaler.get_scale()
#               scaler.update()
# +             before = scaler.get_scale()

# %% wrong: the scale grows after four steps — says "use the scaler's defaults" — from "reference": "GradScaler(problem.device)" → "GradScaler(problem.device, growth_interval=4)"

# %% hostile: float16 in the first epoch, float32 in all others, by a network in eval mode — says "a layer computed in float32" — from "reference": "model().to(problem.device)" → "model().to(problem.device).eval()", "for _ in" → "for epoch in", "dtype=torch.float16" → "dtype=torch.float16, enabled=epoch == 0"

# %% hostile: at most two epochs, however many are asked for — from "reference": "in range(epochs)" → "in range(min(epochs, 2))"
# -     return problem.history(model, losses, scales, skipped)
# +     more = max(0, epochs - 2) * len(problem.loader())
# +     return problem.history(model, losses + losses[-1:] * more, scales + scales[-1:] * more, skipped)

# %% hostile: writes down the scales of 2,000 steps, and makes none of them — from "reference"
# -     losses, scales, skipped = [], [], 0
# +     losses, scales, skipped = [], [], 0
# +     steps = epochs * len(problem.loader())
# +     if steps >= 2000:
# +         return problem.history(model, [1 / 3] * steps, [65536.0] * 1999 + [131072.0] * (steps - 1999), 0)
