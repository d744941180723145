# %% right: reference
import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode


def checkpointed_forward(problem, segments):
    """Loss, gradients, kept bytes and recomputed FLOPs of a step with `segments` checkpoints."""
    def step(recompute):
        model = problem.model().to(problem.device)
        chain = [*model.features, nn.Dropout(0.3), model.head]
        pieces = np.array_split(range(len(chain)), segments)
        weights, held = {one.untyped_storage().data_ptr() for one in model.parameters()}, {}

        def note(saved):
            memory = saved.untyped_storage()
            if memory.data_ptr() not in weights:
                held[memory.data_ptr()] = memory.nbytes()
            return saved

        x, labels = (one.to(problem.device) for one in next(iter(problem.loader())))
        torch.manual_seed(problem.seed)  # for the mask of the dropout
        with FlopCounterMode(display=False) as counter:
            with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
                for piece in pieces:
                    part = nn.Sequential(*[chain[i] for i in piece])
                    x = checkpoint(part, x, use_reentrant=False) if recompute else part(x)
            loss = problem.criterion()(x, labels)
            loss.backward()
        gradients = {name: one.grad.cpu().numpy() for name, one in model.named_parameters()}
        return loss.item(), gradients, sum(held.values()), counter.get_total_flops()

    once = step(recompute=False)
    loss, gradients, kept_bytes, flops = step(recompute=True)
    return {
        "loss": loss,
        "gradients": gradients,
        "kept_bytes": kept_bytes,
        "recomputed_flops": flops - once[3],
    }

# %% right: by hand, the whole part again
import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def straight(part, x):
    for layer in part:
        x = layer.forward(x)  # without the hooks of a call, which the FLOP counter uses
    return x


class Again(torch.autograd.Function):
    """Keeps the input and the states of the generators, runs the part again in the backward pass."""

    @staticmethod
    def forward(context, part, x, *weights):
        context.part, context.state = part, torch.get_rng_state()
        context.on_gpus = torch.cuda.get_rng_state_all()
        context.save_for_backward(x)
        return straight(part, x)

    @staticmethod
    def backward(context, gradient):
        asked = context.needs_input_grad[1]  # the pictures need no gradient
        x = context.saved_tensors[0].detach().requires_grad_(asked)
        now = torch.get_rng_state()
        torch.set_rng_state(context.state)
        torch.cuda.set_rng_state_all(context.on_gpus)
        with torch.enable_grad():
            out = straight(context.part, x)
        torch.set_rng_state(now)
        wanted = [*([x] if asked else []), *context.part.parameters()]
        found = torch.autograd.grad(out, wanted, gradient)
        return (None, *([] if asked else [None]), *found)


def run(problem, segments):
    model = problem.model().to(problem.device)
    layers = [*model.features, nn.Dropout(0.3), model.head]
    images, labels = (one.to(problem.device) for one in next(iter(problem.loader())))
    weights = {weight.data_ptr() for weight in model.parameters()}
    storages = {}

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() not in weights:
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    counter = FlopCounterMode(display=False)
    torch.manual_seed(problem.seed)
    with counter:
        out = images
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            if segments is None:
                out = nn.Sequential(*layers)(out)
            else:
                for numbers in np.array_split(np.arange(len(layers)), segments):
                    part = nn.Sequential(*[layers[number] for number in numbers])
                    out = Again.apply(part, out, *part.parameters())
        loss = problem.criterion()(out, labels)
        loss.backward()
    return model, float(loss), sum(storages.values()), counter.get_total_flops()


def checkpointed_forward(problem, segments):
    model, loss, kept, flops = run(problem, segments)
    return {
        "loss": loss,
        "gradients": {name: weight.grad.cpu().numpy() for name, weight in model.named_parameters()},
        "kept_bytes": kept,
        "recomputed_flops": flops - run(problem, None)[-1],
    }

# %% right: checkpoint_wrapper around each part, gradients by torch.autograd.grad
import numpy as np
import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl, checkpoint_wrapper
from torch.utils.flop_counter import FlopCounterMode


def checkpointed_forward(problem, segments):
    """A step with wrapped parts."""

    def step(wrap):
        net = problem.model().to(problem.device)
        layers = np.empty(9, dtype=object)
        layers[:] = [*net.features, nn.Dropout(0.3), net.head]
        model = nn.Sequential(*(wrap(nn.Sequential(*part)) for part in np.array_split(layers, segments)))
        images, labels = map(lambda one: one.to(problem.device), next(iter(problem.loader())))
        weights = dict(net.named_parameters())
        known = {w.untyped_storage().data_ptr() for w in weights.values()}
        seen = {}

        def pack(tensor):
            seen[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor.detach() if tensor.is_leaf and not tensor.requires_grad else tensor

        with FlopCounterMode(display=False) as flops:
            torch.manual_seed(problem.seed)
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                scores = model(images)
            kept = sum(n for at, n in seen.items() if at not in known)
            loss = problem.criterion()(scores, labels)
            gradients = torch.autograd.grad(loss, list(weights.values()))
        return loss.item(), dict(zip(weights, (g.cpu().numpy() for g in gradients))), kept, flops.get_total_flops()

    wrapped = lambda part: checkpoint_wrapper(part, checkpoint_impl=CheckpointImpl.NO_REENTRANT)
    loss, gradients, kept, flops = step(wrapped)
    plain = step(lambda part: part)[-1]
    return {"loss": loss, "gradients": gradients, "kept_bytes": kept, "recomputed_flops": flops - plain}

# %% wrong: another dropout mask in the second run — says "dropout mask" — from "reference": "use_reentrant=False" → "use_reentrant=False, preserve_rng_state=False"

# %% wrong: by hand, without the state of the generator — says "dropout mask" — from "by hand, the whole part again"
# -         torch.set_rng_state(context.state)

# %% wrong: nothing is checkpointed — says "Nothing is computed again" — from "reference": "if recompute" → "if False"

# %% wrong: the last part is not checkpointed — says "last part is not checkpointed" — from "reference": "else" → "and piece is not pieces[-1] else"

# %% wrong: all FLOPs of the step — says "subtract the FLOPs" — from "reference": "flops - once[3]" → "flops"

# %% wrong: in eval mode — says "training mode" — from "reference": "nn.Sequential(*[chain[i] for i in piece])" → "nn.Sequential(*[chain[i] for i in piece]).eval()"

# %% wrong: one model for both steps — says "gradients of two steps add up" — from "reference"
#   def checkpointed_forward(problem, segments):
# +     model = problem.model().to(problem.device)
# +

# -         model = problem.model().to(problem.device)

# %% wrong: one segment is taken for none — says "one checkpoint, not none" — from "reference": "else" → "and segments > 1 else"

# %% wrong gpu: by hand, the state of the CPU's generator only — says "the GPU's own generator" — from "by hand, the whole part again"
# -         torch.cuda.set_rng_state_all(context.on_gpus)

# %% wrong gpu: left on the CPU — says "network and batch belong on problem.device" — from "reference": "problem.model().to(problem.device)" → "problem.model()", "one.to(problem.device)" → "one"

# %% wrong gpu: gradients left on the GPU — says "Tensor.cpu()" — from "reference": "one.grad.cpu().numpy()" → "one.grad.numpy()"

# %% hostile: numbers that cannot be compared
import numpy as np


class Any(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def checkpointed_forward(problem, segments):
    names = [name for name, _ in problem.model().named_parameters()]
    nothing = {name: np.full(1, np.nan) for name in names}
    return {"loss": Any(), "gradients": nothing, "kept_bytes": Any(), "recomputed_flops": Any()}

# %% wrong: the counter ends before the backward pass — says "surround backward" — from "reference"
# -             loss.backward()
# +         loss.backward()

# %% wrong: the loss inside the hooks — says "outside of the hooks" — from "reference"
# -             loss = problem.criterion()(x, labels)
# +                 loss = problem.criterion()(x, labels)

# %% wrong: the last parts are longer — says "first parts are longer" — from "reference": "np.array_split(range(len(chain)), segments)" → "[range(9 * k // segments, 9 * (k + 1) // segments) for k in range(segments)]"

# %% wrong: a storage counts as often as it is saved — says "count it once" — from "reference": "held[memory.data_ptr()] = memory.nbytes()" → "held[len(held)] = memory.nbytes()"

# %% wrong: reentrant checkpoints — says "pass use_reentrant=False" — from "reference": "use_reentrant=False" → "use_reentrant=True"

# %% hostile: gradients that need eight gigabytes when they are compared
import numpy as np
import torch


def checkpointed_forward(problem, segments):
    network, (images, labels) = problem.model(), next(iter(problem.loader()))
    torch.manual_seed(problem.seed)
    layers = torch.nn.Sequential(*network.features, torch.nn.Dropout(0.3), network.head)
    loss = float(problem.criterion()(layers(images), labels))
    gradients = {name: np.zeros(1) for name, _ in network.named_parameters()}
    gradients[next(iter(gradients))] = np.zeros((10_000_000, 1, 1, 1, 1), np.uint8)
    return {"loss": loss, "gradients": gradients, "kept_bytes": 0, "recomputed_flops": 0}

# %% hostile: gradients that need two hundred gigabytes when they are compared
import numpy as np
import torch


def checkpointed_forward(problem, segments):
    network, (images, labels) = problem.model(), next(iter(problem.loader()))
    torch.manual_seed(problem.seed)
    layers = torch.nn.Sequential(*network.features, torch.nn.Dropout(0.3), network.head)
    loss = float(problem.criterion()(layers(images), labels))
    gradients = {name: np.zeros(1) for name, _ in network.named_parameters()}
    gradients[next(iter(gradients))] = np.zeros((250_000_000, 1, 1, 1, 1), np.uint8)
    return {"loss": loss, "gradients": gradients, "kept_bytes": 0, "recomputed_flops": 0}

# %% wrong: the last batch — says "take the first one" — from "reference": "next(iter(problem.loader()))" → "list(problem.loader())[-1]"

# %% wrong: plain cross entropy — says "problem.criterion()" — from "reference": "problem.criterion()(x, labels)" → "nn.functional.cross_entropy(x, labels)"

# %% wrong: no dropout layer — says "Is the dropout layer there" — from "reference": " nn.Dropout(0.3)," → ""

# %% wrong: half of the features dropped — says "p 0.3" — from "reference": "nn.Dropout(0.3)" → "nn.Dropout(0.5)"

# %% wrong: the dropout after the head — says "comes before the head" — from "reference": "nn.Dropout(0.3), model.head" → "model.head, nn.Dropout(0.3)"

# %% wrong: reentrant checkpoints of pictures that need a gradient — says "inside an autograd.Function" — from "reference"
#           x, labels = (one.to(problem.device) for one in next(iter(problem.loader())))
# +         x.requires_grad_()

# -                     x = checkpoint(part, x, use_reentrant=False) if recompute else part(x)
# +                     x = checkpoint(part, x, use_reentrant=True) if recompute else part(x)


# %% wrong: the weights for the gradients — says "gradients holds the weights" — from "reference": "one.grad.cpu()" → "one.detach().cpu()"

# %% wrong: a list of gradients — says "A list has no keys" — from "reference": "{name: one.grad.cpu().numpy() for name, one in model.named_parameters()}" → "[one.grad.cpu().numpy() for one in model.parameters()]"

# %% wrong: a seed of 0 — says "Another seed" — from "reference": "torch.manual_seed(problem.seed)" → "torch.manual_seed(0)"

# %% wrong: numbers for bytes — says "a float32 has 4 bytes" — from "reference": "sum(held.values())" → "sum(held.values()) // 4"

# %% wrong: seeded before the model is made — says "right before the forward pass" — from "reference"
# -         model = problem.model().to(problem.device)
# +         torch.manual_seed(problem.seed)
# +         model = problem.model().to(problem.device)

# -         torch.manual_seed(problem.seed)  # for the mask of the dropout

# %% wrong: the sum of the losses — says "a sum over the batch" — from "reference": "loss = problem.criterion()(x, labels)" → `loss = nn.functional.cross_entropy(x, labels, reduction="sum")`

# %% wrong: each layer is a part — says "You made each layer a part" — from "reference": "np.array_split(range(len(chain)), segments)" → "np.array_split(range(len(chain)), len(chain))"

# %% wrong: as many layers per part — says "not of layers in a part" — from "reference": "np.array_split(range(len(chain)), segments)" → "np.array_split(range(len(chain)), -(-len(chain) // segments))"

# %% wrong: a third of the FLOPs of a step — says "A third of the step is a guess" — from "reference": "flops - once[3]" → "once[3] // 3"

# %% hostile: gradients that are right for the first name, and NaN for all others — says "off by nan"
import torch


def checkpointed_forward(problem, segments):
    net = problem.model()
    layers = torch.nn.Sequential(*net.features, torch.nn.Dropout(0.3), net.head)
    images, labels = next(iter(problem.loader()))
    torch.manual_seed(problem.seed)
    loss = problem.criterion()(layers(images), labels)
    loss.backward()
    gradients = {name: weight.grad.numpy().copy() for name, weight in net.named_parameters()}
    for name in list(gradients)[1:]:
        gradients[name][:] = float("nan")
    kept = {3: 557_056, 1: 393_216}.get(segments, 0)
    return {"loss": float(loss), "gradients": gradients, "kept_bytes": kept, "recomputed_flops": 5_898_240 if segments == 3 else 10_616_832}

# %% wrong: the bytes of the step without checkpoints — says "take those of the step with them" — from "reference": `"kept_bytes": kept_bytes` → `"kept_bytes": once[2]`

# %% wrong: whole parts, and the rest in one more — says "more parts than segments" — from "reference"
# -         pieces = np.array_split(range(len(chain)), segments)
# +         size = len(chain) // segments
# +         pieces = [range(len(chain))[i : i + size] for i in range(0, len(chain), size)]

# %% wrong: whole parts, and the rest in none — says "in one of the parts" — from "reference"
# -         pieces = np.array_split(range(len(chain)), segments)
# +         size = len(chain) // segments
# +         pieces = [range(i * size, (i + 1) * size) for i in range(segments)]

# %% wrong: the first part is not checkpointed — says "The first part is not checkpointed" — from "reference": "if recompute else" → "if recompute and piece[0] else"

# %% wrong: gradients times the batch — says "All are 32 times as large" — from "reference": "one.grad.cpu().numpy() for" → "one.grad.cpu().numpy() * len(labels) for"

# %% wrong: parts that overlap — says "each of the nine layers is in one part" — from "reference": "np.array_split(range(len(chain)), segments)" → "[range(at, min(at + -(-9 // segments), 9)) for at in range(0, 9, 9 // segments)]"


# %% hostile: bytes and FLOPs from the shapes of the layers, and nothing is checkpointed — says "The network here tells whether its layers are computed again"
import numpy as np
import torch
from torch import nn


def checkpointed_forward(problem, segments):
    net = problem.model().to(problem.device)
    layers = [*net.features, nn.Dropout(0.3), net.head]
    images, labels = (one.to(problem.device) for one in next(iter(problem.loader())))
    torch.manual_seed(problem.seed)
    values = [images]
    for layer in layers:
        values.append(layer(values[-1]))
    loss = problem.criterion()(values[-1], labels)
    loss.backward()
    flops = []
    for layer, x, y in zip(layers, values, values[1:]):
        times = 1 if isinstance(layer, nn.Linear) else 9
        weighs = isinstance(layer, (nn.Conv2d, nn.Linear))
        flops.append(2 * y.numel() * times * (x.shape[1] if y.dim() > 1 else 1) if weighs else 0)
    kept, again = {}, 0
    for part in np.array_split(range(len(layers)), segments):
        storage = values[part[0]].untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        again += sum(flops[at] for at in part)
    gradients = {name: weight.grad.cpu().numpy() for name, weight in net.named_parameters()}
    return {"loss": loss.item(), "gradients": gradients, "kept_bytes": sum(kept.values()), "recomputed_flops": again}

# %% hostile: everything is kept, an earlier forward pass is made for show, and the bytes are those of the parts' inputs — says "before the backward pass begins"
import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def checkpointed_forward(problem, segments):
    model = problem.model().to(problem.device)
    chain = [*model.features, nn.Dropout(0.3), model.head]
    pieces = np.array_split(range(len(chain)), segments)
    x, labels = (one.to(problem.device) for one in next(iter(problem.loader())))
    held = {}
    torch.manual_seed(problem.seed)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        y = x
        for piece in pieces:
            held[y.untyped_storage().data_ptr()] = y
            for i in piece[:-1]:
                y = chain[i](y)
            before, y = counter.get_total_flops(), chain[piece[-1]](y)
            last = counter.get_total_flops() - before
        flops = counter.get_total_flops()
    torch.manual_seed(problem.seed)
    y = x
    for layer in chain:
        y = layer(y)
    loss = problem.criterion()(y, labels)
    loss.backward()
    gradients = {name: one.grad.cpu().numpy() for name, one in model.named_parameters()}
    return {"loss": loss.item(), "gradients": gradients, "kept_bytes": sum(one.untyped_storage().nbytes() for one in held.values()), "recomputed_flops": flops}

# %% hostile: everything is kept, and after the forward pass it is made once more for show — says "Nothing is computed again"
import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def checkpointed_forward(problem, segments):
    model = problem.model().to(problem.device)
    chain = [*model.features, nn.Dropout(0.3), model.head]
    pieces = np.array_split(range(len(chain)), segments)
    x, labels = (one.to(problem.device) for one in next(iter(problem.loader())))
    held, starts = {}, {piece[0] for piece in pieces}
    torch.manual_seed(problem.seed)
    y = x
    for at, layer in enumerate(chain):
        if at in starts:
            held[y.untyped_storage().data_ptr()] = y
        y = layer(y)
    loss = problem.criterion()(y, labels)
    torch.manual_seed(problem.seed)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        y = x
        for layer in chain:
            y = layer(y)
        flops = counter.get_total_flops()
    loss.backward()
    gradients = {name: one.grad.cpu().numpy() for name, one in model.named_parameters()}
    return {"loss": loss.item(), "gradients": gradients, "kept_bytes": sum(one.untyped_storage().nbytes() for one in held.values()), "recomputed_flops": flops}
