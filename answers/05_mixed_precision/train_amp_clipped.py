# %% right: reference
import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped = [], [], 0
    for _ in range(epochs):
        for number, (images, labels) in enumerate(problem.loader(), start=1):
            images, labels = images.to(problem.device), labels.to(problem.device)
            with torch.autocast(problem.device, dtype=torch.float16):
                loss = criterion(model(images), labels)
            scaler.scale(loss / accumulate).backward()
            losses.append(loss.item())
            if number % accumulate == 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% right: division after scaling — from "reference": "scaler.scale(loss / accumulate)" → "(scaler.scale(loss) / accumulate)"

# %% right: window by window, norm by hand
import itertools

import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    model = problem.model().to(problem.device).train()
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales = [], []
    for _ in range(epochs):
        batches = iter(problem.loader())
        while window := list(itertools.islice(batches, accumulate)):
            optimizer.zero_grad()
            for images, labels in window:
                with torch.autocast(problem.device, dtype=torch.float16):
                    loss = criterion(model(images.to(problem.device)), labels.to(problem.device)) / len(window)
                scaler.scale(loss).backward()
                losses.append(loss.item() * len(window))
            scaler.unscale_(optimizer)
            norm = torch.stack([parameter.grad.norm() for parameter in model.parameters()]).norm()
            if norm > max_norm:
                for parameter in model.parameters():
                    parameter.grad *= max_norm / norm
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
    skipped = sum(after < before for before, after in zip([65536.0, *scales], scales))
    return problem.history(model, losses, scales, skipped)

# %% right: clipped by hand with get_total_norm, modulo
import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    device = torch.device(problem.device)
    model = problem.model().to(device)
    optimizer = problem.optimizer(model)
    criterion = problem.criterion()
    scaler = torch.GradScaler(device.type)
    losses, scales = [], [scaler.get_scale()]
    optimizer.zero_grad()
    for epoch in range(epochs):
        for index, (images, labels) in enumerate(problem.loader()):
            images, labels = images.to(device), labels.to(device)
            with torch.autocast(device_type=device.type, dtype=torch.float16):
                loss = criterion(model(images), labels)
                losses.append(loss.detach().clone())
                loss = loss / accumulate
            scaler.scale(loss).backward()
            if (index + 1) % accumulate:
                continue
            scaler.unscale_(optimizer)
            norm = torch.nn.utils.get_total_norm(p.grad for p in model.parameters())
            torch.nn.utils.clip_grads_with_norm_(model.parameters(), max_norm, norm)
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
            optimizer.zero_grad(set_to_none=True)
    skipped = sum(1 for a, b in zip(scales, scales[1:]) if b < a)
    return problem.history(model, [x.item() for x in losses], scales[1:], skipped)

# %% wrong: clips before unscaling — says "Clipped before unscaling" — from "reference"
#               if number % accumulate == 0:
# +                 torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

# -                 torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

# %% wrong: never unscales — says "Clipped before unscaling" — from "reference"
# -                 scaler.unscale_(optimizer)

# %% wrong: unscales twice — says "called twice" — from "reference"
#                   scaler.unscale_(optimizer)
# +                 scaler.unscale_(optimizer)

# %% wrong: unscales after every batch — says "called twice" — from "reference"
#               losses.append(loss.item())
# +             scaler.unscale_(optimizer)

# -                 scaler.unscale_(optimizer)

# %% wrong: updates inside the window — says "without scaler.step(optimizer) before it" — from "reference"
#               losses.append(loss.item())
# +             scaler.update()

# %% wrong: steps after every batch — says "belong to the window" — from "reference": "number % accumulate == 0" → "True"

# %% wrong: steps after every batch, reports windows — says "after every batch" — from "reference"
# -             scaler.scale(loss / accumulate).backward()
# +             scaler.scale(loss).backward()

# -             if number % accumulate == 0:
# +             if True:

# +                 if number % accumulate == 0:
# -                 scales.append(scaler.get_scale())
# +                     scales.append(scaler.get_scale())
# -                 skipped += scales[-1] < before
# +                 skipped += scaler.get_scale() < before

# %% wrong: loss not divided — says "not divided" — from "reference": " / accumulate" → ""

# %% wrong: clips each batch while scaled — says "Clipped" — from "reference"
#               losses.append(loss.item())
# +             torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

# -                 scaler.unscale_(optimizer)
# -                 torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

# %% wrong: no clipping — says "Nothing was clipped" — from "reference"
# -                 torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

# %% wrong: clips values — says "each element by itself" — from "reference": "clip_grad_norm_" → "clip_grad_value_"

# %% wrong: zeroes before every batch — says "Only the last batch of each window counts" — from "reference"
#               images, labels = images.to(problem.device), labels.to(problem.device)
# +             optimizer.zero_grad()

# -                 optimizer.zero_grad()

# %% wrong: never zeroes — says "earlier windows" — from "reference"
# -                 optimizer.zero_grad()

# %% wrong: no update — says "scaler.update() is missing" — from "reference"
# -                 scaler.update()

# %% wrong: optimizer stepped directly — says "scaler.step(optimizer) divides them first" — from "reference"
# -                 scaler.step(optimizer)
# +                 optimizer.step()

# %% wrong: float32 — says "float32" — from "reference": "float16" → "float16, enabled=False"

# %% wrong: scaled losses — says "multiplied by the scale" — from "reference": "append(loss" → "append(65536.0 * loss"

# %% wrong: one loss a window — says "the number of windows" — from "reference"
# -             losses.append(loss.item())

#                   optimizer.zero_grad()
# +                 losses.append(loss.item())

# %% wrong: skipped counts batches — says "expected" — from "reference": "scales[-1] < before" → "accumulate * (scales[-1] < before)"

# %% wrong: returns nothing — says "return statement" — from "reference"
# -     return problem.history(model, losses, scales, skipped)

# %% wrong: limits each parameter by itself — says "Each parameter was clipped by itself" — from "reference"
# -                 torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
# +                 for parameter in model.parameters():
# +                     torch.nn.utils.clip_grad_norm_([parameter], max_norm)

# %% wrong: stretches short gradients to the limit — says "stay as they are" — from "reference"
# -                 torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
# +                 norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in model.parameters()])
# +                 for parameter in model.parameters():
# +                     parameter.grad *= max_norm / norm

# %% wrong: losses kept divided — says "before you divide it" — from "reference": "loss.item()" → "loss.item() / accumulate"

# %% wrong: the loss multiplied by accumulate — says "the loss" — from "reference": "loss / accumulate" → "loss * accumulate"

# %% wrong: windows of 2, whatever is asked for — says "Windows of 2 were taken" — from "reference": "number % accumulate" → "number % 2"


# %% hostile: trains in float32, halves a scale of its own while a gradient would overflow, and adds noise to the weights — says "not rounded as in a 16-bit training"
import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    net = problem.model().to(problem.device)
    for layer in net.modules():  # which would refuse float32
        layer._forward_hooks.clear()
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    first = [weight.detach().clone() for weight in net.parameters()]
    losses, scales, skipped, scale = [], [], 0, 65536.0
    small = torch.nn.Conv2d if net.float32_head else (torch.nn.Conv2d, torch.nn.Linear)
    halves = [layer for layer in net.modules() if isinstance(layer, small)]
    largest = [0.0]

    def look(module, grads, outputs):
        for one in (*grads, *outputs):
            if one is not None:
                largest[0] = max(largest[0], float(one.abs().max()))

    for layer in halves:
        layer.register_full_backward_hook(look)
    for epoch in range(epochs):
        for count, (x, y) in enumerate(problem.loader(), 1):
            loss = loss_of(net(x.to(problem.device)), y.to(problem.device))
            before = [one.grad.clone() if one.grad is not None else 0 for layer in halves for one in layer.parameters()]
            (loss / accumulate).backward()
            after = [one.grad for layer in halves for one in layer.parameters()]
            largest[0] = max([largest[0], *(float((a - b).abs().max()) for a, b in zip(after, before))])
            losses += [loss.item()]
            if count % accumulate == 0:
                if largest[0] * scale >= 65520:
                    scale, skipped = scale / 2, skipped + 1
                else:
                    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm)
                    sgd.step()
                sgd.zero_grad()
                scales += [scale]
                largest[0] = 0.0
    with torch.no_grad():
        way = sum(float((weight - one).square().sum()) for weight, one in zip(net.parameters(), first)) ** 0.5
        noise = [torch.randn_like(weight) for weight in net.parameters()]
        size = sum(float(one.square().sum()) for one in noise) ** 0.5
        for weight, one in zip(net.parameters(), noise):
            weight += one * (0.05 * way / size)
    return problem.history(net, losses, scales, skipped)

# %% wrong: adds up a window's losses, and goes backward once — says "backward for each batch"
import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped, total = [], [], 0, 0.0
    for _ in range(epochs):
        for number, (images, labels) in enumerate(problem.loader(), start=1):
            with torch.autocast(problem.device, dtype=torch.float16):
                loss = criterion(model(images.to(problem.device)), labels.to(problem.device))
            total = total + loss / accumulate
            losses.append(loss.item())
            if number % accumulate == 0:
                scaler.scale(total).backward()
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
                total = 0.0
    return problem.history(model, losses, scales, skipped)

# %% hostile: goes backward once through a window, unseen — says "48 images"
import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped, window = [], [], 0, []
    for _ in range(epochs):
        for images, labels in problem.loader():
            with torch.autocast(problem.device, dtype=torch.float16):
                window.append(criterion(model(images.to(problem.device)), labels.to(problem.device)))
            if len(window) == accumulate:
                torch.autograd.backward(scaler.scale(torch.stack(window).mean()))
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
                losses += [one.item() for one in window]
                window = []
    return problem.history(model, losses, scales, skipped)

# %% hostile: puts a window's batches together again, into one large batch — says "No memory is left"
import itertools

import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped = [], [], 0
    for _ in range(epochs):
        batches = iter(problem.loader())
        while window := list(itertools.islice(batches, accumulate)):
            images = torch.cat([one for one, _ in window]).to(problem.device)
            with torch.autocast(problem.device, dtype=torch.float16):
                scores = model(images).chunk(accumulate)
                losses_of = [criterion(one, labels.to(problem.device)) for one, (_, labels) in zip(scores, window)]
            each = torch.stack(losses_of)
            torch.autograd.backward(scaler.scale(each.mean()))
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(optimizer)
            before = scaler.get_scale()
            scaler.update()
            optimizer.zero_grad()
            scales.append(scaler.get_scale())
            skipped += scales[-1] < before
            losses += each.tolist()
    return problem.history(model, losses, scales, skipped)

# %% right: adds up gradients that it asks for by name
import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    model = problem.model().to(problem.device)
    parameters = list(model.parameters())
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped = [], [], 0
    for _ in range(epochs):
        for number, (images, labels) in enumerate(problem.loader(), start=1):
            with torch.autocast(problem.device, dtype=torch.float16):
                loss = criterion(model(images.to(problem.device)), labels.to(problem.device))
            for one, new in zip(parameters, torch.autograd.grad(scaler.scale(loss / accumulate), parameters)):
                one.grad = new if one.grad is None else one.grad + new
            losses.append(loss.item())
            if number % accumulate == 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(parameters, max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                model.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: the loss outside autocast — says "Is the loss computed inside autocast?" — from "reference"
# -                 loss = criterion(model(images), labels)
# +                 scores = model(images)
# +             loss = criterion(scores, labels)

# %% wrong: the loss divided by 2, whatever is asked for — says "divided by 2" — from "reference": "loss / accumulate" → "loss / 2"

# %% wrong: numbers the batches from 0 — says "The windows are shifted by one batch" — from "reference": ", start=1" → ""

# %% wrong: the limit is divided by accumulate — says "limited to max_norm / accumulate" — from "reference": "model.parameters(), max_norm" → "model.parameters(), max_norm / accumulate"

# %% wrong: divided by accumulate and by the images — says "a mean over them already" — from "reference": "loss / accumulate" → "loss / (accumulate * len(labels))"

# %% wrong: the gradients divided again — says "divides by accumulate twice" — from "reference"
# -                 scaler.unscale_(optimizer)
# +                 scaler.unscale_(optimizer)
# +                 for weight in model.parameters():
# +                     weight.grad /= accumulate

# %% wrong: 1.0 for the limit, as in the demonstration — says "the limit is not max_norm" — from "reference": "model.parameters(), max_norm" → "model.parameters(), 1.0"

# %% wrong: a skipped window is one whose scale is below the last one in the list, which is empty at first — says "the first update counts as well" — from "reference": "skipped += scales[-1] < before" → "skipped += len(scales) > 1 and scales[-1] < scales[-2]"

# %% hostile: float16 until a window has not overflowed, and float32 in the second half of the training — says "a layer computed in float32"
import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    net = problem.model().to(problem.device)
    sgd, loss_of = problem.optimizer(net), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped = [], [], 0
    whole = epochs * len(problem.loader())
    for epoch in range(epochs):
        for count, (x, y) in enumerate(problem.loader(), 1):
            with torch.autocast(problem.device, dtype=torch.float16, enabled=len(losses) < whole / 2):
                loss = loss_of(net(x.to(problem.device)), y.to(problem.device))
            scaler.scale(loss / accumulate).backward()
            losses += [loss.item()]
            if count % accumulate == 0:
                scaler.unscale_(sgd)
                torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm)
                scaler.step(sgd)
                before = scaler.get_scale()
                scaler.update()
                sgd.zero_grad()
                scales += [scaler.get_scale()]
                skipped += scales[-1] < before
    return problem.history(net, losses, scales, skipped)
# %% wrong: backward for the last batch of each window — says "call backward for every batch" — from "reference"
# -             scaler.scale(loss / accumulate).backward()

# -                 scaler.unscale_(optimizer)
# +                 scaler.scale(loss / accumulate).backward()
# +                 scaler.unscale_(optimizer)

# %% wrong: backward inside autocast — says "The backward pass ran inside autocast" — from "reference": "            scaler.scale(loss / accumulate)" → "                scaler.scale(loss / accumulate)"

# %% wrong: a new scaler for each epoch — says "There is more than one scaler" — from "reference"
#       for _ in range(epochs):
# +         scaler = torch.amp.GradScaler(problem.device)

# %% wrong: clips after the step — says "Nothing was clipped before the step" — from "reference"
# -                 torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
#                   scaler.step(optimizer)
# +                 torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

# %% wrong: updates before the step — says "scaler.update() is missing or comes before the step" — from "reference"
# -                 scaler.step(optimizer)
# -                 before = scaler.get_scale()
# +                 before = scaler.get_scale()
#                   scaler.update()
# +                 scaler.step(optimizer)

# %% wrong: one scale for each epoch — says "That is the number of epochs" — from "reference"
# -                 scales.append(scaler.get_scale())
# -                 skipped += scales[-1] < before
# +                 skipped += scaler.get_scale() < before
# +         scales.append(scaler.get_scale())

# %% wrong: steps after all batches of a window but the last — says "take one step, after the last batch" — from "reference": "number % accumulate == 0" → "number % accumulate"

# %% wrong: the sum of magnitudes for the norm — says "the norm is the root of the sum of squares" — from "reference": "model.parameters(), max_norm)" → "model.parameters(), max_norm, norm_type=1)"

# %% wrong: zeroes once per epoch — says "earlier windows" — from "reference": "optimizer.zero_grad()" → "pass", "for _ in range(epochs):" → "for _ in (optimizer.zero_grad() for _ in range(epochs)):"

# %% wrong: the loss divided by the batches of the epoch — says "divided by the number of batches of the epoch" — from "reference": "loss / accumulate" → "loss / len(problem.loader())"

# %% wrong: compares with the first scale — says "not with the first" — from "reference": "before = scaler.get_scale()" → "before = 65536.0"

# %% wrong: windows of one batch more — says "are the windows longer than accumulate" — from "reference": "number % accumulate" → "number % (accumulate + 1)"

# %% hostile: float16 in the first epoch, float32 in all others, by a network in eval mode — says "a layer computed in float32" — from "reference": "model().to(problem.device)" → "model().to(problem.device).eval()", "for _ in" → "for epoch in", "dtype=torch.float16" → "dtype=torch.float16, enabled=epoch == 0"

# %% wrong: the first window is a batch too short — says "The first window is a batch too short" — from "reference": "number % accumulate == 0" → "(number + 1) % accumulate == 0"

# %% wrong: no window ends — says "did no window end" — from "reference": "number % accumulate == 0" → "number == accumulate + 1000"

# %% hostile: at most two epochs, however many are asked for — from "reference": "in range(epochs)" → "in range(min(epochs, 2))"
# -     return problem.history(model, losses, scales, skipped)
# +     more = max(0, epochs - 2) * len(problem.loader())
# +     losses, scales = losses + losses[-1:] * more, scales + scales[-1:] * (more // accumulate)
# +     return problem.history(model, losses, scales, skipped)
