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

# %% right: losses kept divided, division after scaling
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
            (scaler.scale(loss) / accumulate).backward()
            losses.append(loss.item() / accumulate)
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

# %% wrong: clips before unscaling — says "Clipped before unscaling"
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
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.unscale_(optimizer)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: never unscales — says "Clipped before unscaling"
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
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: unscales twice — says "called twice"
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
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: unscales after every batch — says "called twice"
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
            scaler.unscale_(optimizer)
            if number % accumulate == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: updates inside the window — says "inside the window"
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
            scaler.update()
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

# %% wrong: steps after every batch — says "belong to the window"
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
            if True:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: steps after every batch, reports windows — says "after every batch"
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
            scaler.scale(loss).backward()
            losses.append(loss.item())
            if True:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                if number % accumulate == 0:
                    scales.append(scaler.get_scale())
                skipped += scaler.get_scale() < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: loss not divided — says "not divided"
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
            scaler.scale(loss).backward()
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

# %% wrong: clips each batch while scaled — says "Clipped after every batch"
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
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            if number % accumulate == 0:
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: no clipping — says "Nothing was clipped"
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
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: clips values — says "each element by itself"
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
                torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: zeroes before every batch — says "only the window"
import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped = [], [], 0
    for _ in range(epochs):
        for number, (images, labels) in enumerate(problem.loader(), start=1):
            images, labels = images.to(problem.device), labels.to(problem.device)
            optimizer.zero_grad()
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
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: never zeroes — says "earlier windows"
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
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: no update — says "scaler.update() is missing"
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
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: optimiser stepped directly — says "scaler.step(optimizer) divides them first"
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
                optimizer.step()
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: float32 — says "float32"
import torch


def train_amp_clipped(problem, epochs, max_norm, accumulate):
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped = [], [], 0
    for _ in range(epochs):
        for number, (images, labels) in enumerate(problem.loader(), start=1):
            images, labels = images.to(problem.device), labels.to(problem.device)
            with torch.autocast(problem.device, dtype=torch.float16, enabled=False):
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

# %% wrong: scaled losses — says "multiplied by the scale"
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
            losses.append(65536.0 * loss.item())
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

# %% wrong: one loss a window — says "one for each batch"
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
            if number % accumulate == 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                optimizer.zero_grad()
                losses.append(loss.item())
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)

# %% wrong: skipped counts batches — says "expected"
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
                skipped += accumulate * (scales[-1] < before)
    return problem.history(model, losses, scales, skipped)

# %% wrong: returns nothing — says "return statement"
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
