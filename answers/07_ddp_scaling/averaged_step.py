# %% right: reference
def averaged_step(problem, world_size):
    """Weights after one step with the gradients of `world_size` shards of the first batch."""
    net, loss_of = problem.model(), problem.criterion()
    x, y = next(iter(problem.loader()))
    for part, answers in zip(x.chunk(world_size), y.chunk(world_size)):
        loss_of(net(part), answers).backward()  # adds to what is in .grad
    for weight in net.parameters():
        weight.grad /= world_size
    problem.optimizer(net).step()
    return {name: tensor.numpy() for name, tensor in net.state_dict().items()}

# %% right: losses divided — from "reference"
# +         (loss_of(net(part), answers) / world_size).backward()
# -         loss_of(net(part), answers).backward()  # adds to what is in .grad
# -     for weight in net.parameters():
# -         weight.grad /= world_size

# %% right: a model for each rank, gradients averaged between them
import torch


def averaged_step(problem, world_size):
    images, labels = next(iter(problem.loader()))
    each = len(images) // world_size
    models = [problem.model() for _ in range(world_size)]
    for rank, model in enumerate(models):
        mine = slice(rank * each, (rank + 1) * each)
        problem.criterion()(model(images[mine]), labels[mine]).backward()
    for weights in zip(*(model.parameters() for model in models)):
        weights[0].grad = torch.stack([weight.grad for weight in weights]).mean(0)
    problem.optimizer(models[0]).step()
    return {name: value.detach().clone().numpy() for name, value in models[0].state_dict().items()}

# %% wrong: summed — says "are the gradients summed, not averaged" — from "reference": "weight.grad /= world_size" → "pass"

# %% wrong: divided twice — says "Divided twice" — from "reference"
# -         loss_of(net(part), answers).backward()  # adds to what is in .grad
# +         (loss_of(net(part), answers) / world_size).backward()  # adds to what is in .grad

# %% wrong: gradients zeroed in between — says "Only the last shard" — from "reference"
#       for part, answers in zip(x.chunk(world_size), y.chunk(world_size)):
# +         net.zero_grad()

# %% wrong: the first shard only — says "Only the first shard"
def averaged_step(problem, world_size):
    model, criterion = problem.model(), problem.criterion()
    images, labels = next(iter(problem.loader()))
    criterion(model(images.chunk(world_size)[0]), labels.chunk(world_size)[0]).backward()
    problem.optimizer(model).step()
    return {name: value.numpy() for name, value in model.state_dict().items()}

# %% wrong: a step for each shard — says "one step per shard"
def averaged_step(problem, world_size):
    model, criterion = problem.model(), problem.criterion()
    optimizer = problem.optimizer(model)
    images, labels = next(iter(problem.loader()))
    for part, answers in zip(images.chunk(world_size), labels.chunk(world_size)):
        optimizer.zero_grad()
        criterion(model(part), answers).backward()
        optimizer.step()
    return {name: value.numpy() for name, value in model.state_dict().items()}

# %% wrong: no step — says "first weights" — from "reference"
# -     problem.optimizer(net).step()

# %% wrong: returns the model — says "must return" — from "reference"
# -     return {name: tensor.numpy() for name, tensor in net.state_dict().items()}
# +     return net

# %% hostile: the step of the whole batch, whatever the ranks — says "by itself"
def averaged_step(problem, world_size):
    model = problem.model()
    images, labels = next(iter(problem.loader()))
    problem.criterion()(model(images), labels).backward()
    problem.optimizer(model).step()
    return {name: value.numpy() for name, value in model.state_dict().items()}

# %% wrong: in eval mode — says "train mode" — from "reference": "net, loss_of = problem.model(), problem.criterion()" → "net, loss_of = problem.model().eval(), problem.criterion()"

# %% wrong: two shards whatever is asked for — says "into world_size of them"
def averaged_step(problem, world_size):
    model, criterion = problem.model(), problem.criterion()
    images, labels = next(iter(problem.loader()))
    for part, answers in zip(images.chunk(2), labels.chunk(2)):
        (criterion(model(part), answers) / 2).backward()
    problem.optimizer(model).step()
    return {name: value.numpy() for name, value in model.state_dict().items()}

# %% wrong: every world_size-th image — says "cut the batch in order" — from "two shards whatever is asked for"
# -     for part, answers in zip(images.chunk(2), labels.chunk(2)):
# -         (criterion(model(part), answers) / 2).backward()
# +     for rank in range(world_size):
# +         part, answers = images[rank::world_size], labels[rank::world_size]
# +         (criterion(model(part), answers) / world_size).backward()

# %% wrong: shards of world_size images — says "Are there exactly world_size shards" — from "two shards whatever is asked for": "zip(images.chunk(2), labels.chunk(2))" → "zip(images.split(world_size), labels.split(world_size))", "/ 2)" → "/ world_size)"

# %% wrong: divided by the number of images — says "not of images" — from "two shards whatever is asked for": "zip(images.chunk(2), labels.chunk(2))" → "zip(images.chunk(world_size), labels.chunk(world_size))", "/ 2)" → "/ len(images))"

# %% wrong: a step for each batch — says "a step for each batch" — from "two shards whatever is asked for"
# -     images, labels = next(iter(problem.loader()))
# -     for part, answers in zip(images.chunk(2), labels.chunk(2)):
# -         (criterion(model(part), answers) / 2).backward()
# -     problem.optimizer(model).step()
# +     optimizer = problem.optimizer(model)
# +     for images, labels in problem.loader():
# +         optimizer.zero_grad()
# +         for part, answers in zip(images.chunk(world_size), labels.chunk(world_size)):
# +             (criterion(model(part), answers) / world_size).backward()
# +         optimizer.step()

# %% wrong: weights averaged instead of gradients — says "averages of weights"
def averaged_step(problem, world_size):
    images, labels = next(iter(problem.loader()))
    ends = []
    for part, answers in zip(images.chunk(world_size), labels.chunk(world_size)):
        model = problem.model()
        problem.criterion()(model(part), answers).backward()
        problem.optimizer(model).step()
        ends.append(model.state_dict())
    return {name: sum(end[name].double() for end in ends).numpy() / world_size for name in ends[0]}

# %% wrong: a step by hand — says "step of plain SGD" — from "reference"
# -     for weight in net.parameters():
# -         weight.grad /= world_size
# -     problem.optimizer(net).step()
# +     for weight in net.parameters():
# +         weight.data -= problem.lr * weight.grad / world_size
#       return {name: tensor.numpy() for name, tensor in net.state_dict().items()}

# %% wrong: a step by hand, the rate divided by the loss's weight — says "step of plain SGD" — from "a step by hand": "problem.lr * weight.grad / world_size" → "problem.lr / problem.loss_weight * weight.grad / world_size"

# %% hostile: cuts the batch only where there is batch norm — says "whole batch"
import torch


def averaged_step(problem, world_size):
    model, criterion = problem.model(), problem.criterion()
    images, labels = next(iter(problem.loader()))
    count = world_size if any(isinstance(one, torch.nn.BatchNorm2d) for one in model.modules()) else 1
    for part, right in zip(images.chunk(count), labels.chunk(count)):
        (criterion(model(part), right) / count).backward()
    problem.optimizer(model).step()
    return {name: value.numpy() for name, value in model.state_dict().items()}

# %% right: the mean of the losses of split tensors, one backward
import torch


def averaged_step(problem, world_size):
    model, criterion = problem.model().train(), problem.criterion()
    optimizer = problem.optimizer(model)
    images, labels = next(iter(problem.loader()))
    losses = [criterion(model(x), y) for x, y in zip(torch.tensor_split(images, world_size), torch.tensor_split(labels, world_size))]
    torch.stack(losses).mean().backward()
    optimizer.step()
    return {k: v.numpy() for k, v in model.state_dict().items()}

# %% hostile: weights of a class with a __torch_function__ of its own
import torch


class Late(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func.__name__ == "numpy":
            return torch.Tensor.numpy(args[0].as_subclass(torch.Tensor))
        return super().__torch_function__(func, types, args, kwargs or {})


def averaged_step(problem, world_size):
    return {name: one.as_subclass(Late) for name, one in problem.model().state_dict().items()}

# %% wrong: a batch of the loader for each rank — says "several batches of the loader" — from "two shards whatever is asked for"
# -     images, labels = next(iter(problem.loader()))
# -     for part, answers in zip(images.chunk(2), labels.chunk(2)):
# -         (criterion(model(part), answers) / 2).backward()
# +     for (part, answers), _ in zip(problem.loader(), range(world_size)):
# +         (criterion(model(part), answers) / world_size).backward()

# %% wrong: the shards of every batch — says "several batches of the loader" — from "two shards whatever is asked for"
# -     images, labels = next(iter(problem.loader()))
# -     for part, answers in zip(images.chunk(2), labels.chunk(2)):
# -         (criterion(model(part), answers) / 2).backward()
# +     for images, labels in problem.loader():
# +         for part, answers in zip(images.chunk(world_size), labels.chunk(world_size)):
# +             (criterion(model(part), answers) / world_size).backward()

# %% wrong: a criterion of its own — says "take problem.criterion()" — from "reference": "problem.criterion()" → "__import__('torch').nn.CrossEntropyLoss()"

# %% wrong: steps in the loop, too — says "There are steps in the loop" — from "a model for each rank, gradients averaged between them"
# -     images, labels = next(iter(problem.loader()))
# -     each = len(images) // world_size
# -     models = [problem.model() for _ in range(world_size)]
# -     for rank, model in enumerate(models):
# -         mine = slice(rank * each, (rank + 1) * each)
# -         problem.criterion()(model(images[mine]), labels[mine]).backward()
# -     for weights in zip(*(model.parameters() for model in models)):
# -         weights[0].grad = torch.stack([weight.grad for weight in weights]).mean(0)
# -     problem.optimizer(models[0]).step()
# +     images, labels = next(iter(problem.loader()))
# +     models = [problem.model()]
# +     optimizer = problem.optimizer(models[0])
# +     for part, answers in zip(images.chunk(world_size), labels.chunk(world_size)):
# +         (problem.criterion()(models[0](part), answers) / world_size).backward()
# +         optimizer.step()
# +     optimizer.step()

# %% wrong: stops after the first shard — says "Only the first shard counts" — from "losses divided"
# -         (loss_of(net(part), answers) / world_size).backward()
# +         (loss_of(net(part), answers) / world_size).backward()
# +         break

# %% wrong: without the last shard — says "The last shard is missing" — from "losses divided": "zip(x.chunk(world_size), y.chunk(world_size))" → "list(zip(x.chunk(world_size), y.chunk(world_size)))[: max(1, world_size - 1)]"

# %% wrong: divided after every shard — says "divide once" — from "reference"
#           loss_of(net(part), answers).backward()  # adds to what is in .grad
# -     for weight in net.parameters():
# -         weight.grad /= world_size
# +         for weight in net.parameters():
# +             weight.grad /= world_size

# %% wrong: labels of the first shard — says "The labels are not those of the images" — from "reference": "y.chunk(world_size))" → "[y.chunk(world_size)[0]] * world_size)"

# %% wrong: the parameters only — says "a state dict has the buffers, too" — from "reference": "tensor.numpy() for name, tensor in net.state_dict().items()" → "tensor.detach().numpy() for name, tensor in net.named_parameters()"

# %% wrong: shards of world_size images, all of them averaged — says "split takes the size of a part" — from "reference": "zip(x.chunk(world_size), y.chunk(world_size))" → "zip(x.split(world_size), y.split(world_size))", "weight.grad /= world_size" → "weight.grad /= len(x.split(world_size))"

# %% wrong: an optimizer and a step for each shard — says "one step per shard" — from "reference"
#           loss_of(net(part), answers).backward()  # adds to what is in .grad
# -     for weight in net.parameters():
# -         weight.grad /= world_size
# -     problem.optimizer(net).step()
# +         problem.optimizer(net).step()
# +         net.zero_grad()

# %% right: tensors — from "reference": "tensor.numpy() for" → "tensor for"

# %% wrong: the learning rate is divided — says "the same step only with plain SGD" — from "reference"
# -     for weight in net.parameters():
# -         weight.grad /= world_size
# -     problem.optimizer(net).step()
# +     optimizer = problem.optimizer(net)
# +     for group in optimizer.param_groups:
# +         group["lr"] /= world_size
# +     optimizer.step()

# %% wrong: the last batch of the loader — says "another batch of the loader" — from "reference": "next(iter(problem.loader()))" → "list(problem.loader())[-1]"

# %% wrong: the optimizer of another network — says "the optimizer or the checkpoint is of another copy" — from "reference": "problem.optimizer(net)" → "problem.optimizer(problem.model())"

# %% wrong: the gradients — says "Those are gradients" — from "reference": "name: tensor.numpy() for name, tensor in net.state_dict().items()" → "name: weight.grad for name, weight in net.named_parameters()"

# %% wrong: Adam — says "take problem.optimizer(model)" — from "reference": "problem.optimizer(net).step()" → "__import__('torch').optim.Adam(net.parameters(), lr=problem.lr).step()"

# %% wrong: a list of weights — says "A list has no keys" — from "reference": "{name: tensor.numpy() for name, tensor in net.state_dict().items()}" → "[tensor.numpy() for tensor in net.state_dict().values()]"

# %% wrong: the learning rate is scaled by the ranks — says "The learning rate stays as it is" — from "reference"
# -     problem.optimizer(net).step()
# +     optimizer = problem.optimizer(net)
# +     optimizer.param_groups[0]["lr"] *= world_size
# +     optimizer.step()

# %% wrong: one shard too many — says "Are there exactly world_size shards" — from "reference": "x.chunk(world_size), y.chunk(world_size)" → "x.chunk(world_size + 1), y.chunk(world_size + 1)"

# %% wrong: gradients are clipped — says "The gradients are clipped" — from "reference"
# +     torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
#       problem.optimizer(net).step()

# - def averaged_step(problem, world_size):
# + import torch
# +
# +
# + def averaged_step(problem, world_size):

# %% wrong: labels from the other end — says "The labels are not those of the images" — from "reference": "y.chunk(world_size))" → "y.chunk(world_size)[::-1])"
# %% hostile: no gradients are averaged: the whole batch for the plain network, the mean of weights after separate steps for others — says "averages of weights"
def averaged_step(problem, world_size):
    x, y = next(iter(problem.loader()))
    parts = 1 if problem.network == "cnn" else world_size
    ends = []
    for part, answers in zip(x.chunk(parts), y.chunk(parts)):
        net = problem.model()
        problem.criterion()(net(part), answers).backward()
        problem.optimizer(net).step()
        ends.append(net.state_dict())
    return {name: sum(end[name].double() for end in ends).numpy() / parts for name in ends[0]}
