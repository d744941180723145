# %% right: reference
import numpy as np

from gpulab import launch


def zero1_step(gradients, state, lr):
    """The state after one step of Adam whose states are sharded over the ranks."""
    def on_rank(rank, world_size, own_gradients, weights, m, v, t):
        import torch
        import torch.distributed as dist

        def flat(arrays):
            row = torch.cat([torch.tensor(array).flatten() for array in arrays])
            return torch.nn.functional.pad(row, (0, -len(row) % world_size))

        share = torch.empty(len(m))
        dist.reduce_scatter_tensor(share, flat(own_gradients))
        share /= world_size
        mine = flat(weights).chunk(world_size)[rank]
        m = 0.9 * torch.tensor(m) + 0.1 * share
        v = 0.999 * torch.tensor(v) + 0.001 * share**2
        mine = mine - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
        whole = torch.empty(len(mine) * world_size)
        dist.all_gather_into_tensor(whole, mine)
        return whole.numpy(), m.numpy(), v.numpy()

    order, t = list(state["weights"]), state["step"] + 1
    given = [state["weights"][name] for name in order]
    inputs = [
        ([one[name] for name in order], given, state["m"][rank], state["v"][rank], t)
        for rank, one in enumerate(gradients)
    ]
    results = launch.ranks(on_rank, inputs)
    ends = np.cumsum([array.size for array in given])
    parts = np.split(results[0][0][: ends[-1]], ends[:-1])
    new = {name: part.reshape(array.shape) for name, part, array in zip(order, parts, given)}
    return {"step": t, "weights": new, "m": [one[1] for one in results], "v": [one[2] for one in results]}

# %% right: lists of shares, float64 inside
import numpy as np

from gpulab import launch


def rank_step(rank, world_size, gradient, weight, m, v, t, lr):
    import torch
    import torch.distributed as dist

    mine = torch.zeros(gradient.shape[1])
    dist.reduce_scatter(mine, [torch.from_numpy(row.copy()) for row in gradient])
    mine = mine.double().numpy() / world_size
    m = 0.9 * m.astype(np.float64) + 0.1 * mine
    v = 0.999 * v.astype(np.float64) + 0.001 * mine**2
    new = weight[rank] - lr * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    parts = [torch.zeros(len(new)) for _ in range(world_size)]
    dist.all_gather(parts, torch.from_numpy(new.astype(np.float32)))
    return np.concatenate([part.numpy() for part in parts]), m.astype(np.float32), v.astype(np.float32)


def zero1_step(gradients, state, lr):
    p, names = len(gradients), list(state["weights"])

    def rows(arrays):
        row = np.concatenate([np.asarray(arrays[name], np.float32).ravel() for name in names])
        return np.pad(row, (0, -len(row) % p)).reshape(p, -1)

    t = state["step"] + 1
    weight = rows(state["weights"])
    inputs = [(rows(one), weight, state["m"][rank], state["v"][rank], t, lr) for rank, one in enumerate(gradients)]
    ended = launch.ranks(rank_step, inputs)
    weights, at = {}, 0
    for name in names:
        array = state["weights"][name]
        weights[name] = ended[-1][0][at : at + array.size].reshape(array.shape)
        at += array.size
    return {"step": t, "weights": weights, "m": [m for _, m, _ in ended], "v": [v for _, _, v in ended]}

# %% right: a nested function, functional collectives
from gpulab import launch


def zero1_step(gradients, state, lr):
    import numpy as np

    t = state["step"] + 1
    names, shapes = list(state["weights"]), [w.shape for w in state["weights"].values()]

    def worker(rank, world_size, mine, weights, m, v):
        import torch
        from torch.distributed import _functional_collectives as funcol
        from torch.distributed import group

        def flatten(arrays):
            flat = np.concatenate([np.ravel(arrays[name]) for name in names]).astype(np.float32)
            return torch.from_numpy(np.pad(flat, (0, -flat.size % world_size)))

        gradient = funcol.reduce_scatter_tensor(flatten(mine), "sum", 0, group.WORLD) / world_size
        w = flatten(weights).tensor_split(world_size)[rank]
        m, v = torch.as_tensor(m).lerp(gradient, 0.1), 0.999 * torch.as_tensor(v) + 0.001 * gradient.square()
        denominator = (v / (1 - 0.999**t)).sqrt().add(1e-8)
        w = w.addcdiv(m / (1 - 0.9**t), denominator, value=-lr)
        everything = funcol.all_gather_tensor(w.contiguous(), 0, group.WORLD)
        everything = funcol.wait_tensor(everything)
        return {"w": everything.numpy(), "m": m.numpy(), "v": v.numpy()}

    done = launch.ranks(worker, [(g, state["weights"], m, v) for g, m, v in zip(gradients, state["m"], state["v"])])
    sizes = [int(np.prod(shape)) for shape in shapes]
    pieces = np.split(done[-1]["w"], np.cumsum(sizes))
    weights = {name: piece.reshape(shape) for name, piece, shape in zip(names, pieces, shapes)}
    return dict(step=np.int64(t), weights=weights, m=[d["m"] for d in done], v=[d["v"] for d in done])

# %% right: torch's own Adam on the share, lists of shares
import numpy as np

from gpulab import launch


def step_of_rank(rank, world_size, gradients, weights, m, v, step, lr):
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F

    sizes = {name: w.shape for name, w in weights.items()}

    def flat(arrays):
        joined = torch.cat([torch.from_numpy(np.ascontiguousarray(arrays[name])).flatten() for name in sizes])
        return F.pad(joined, (0, -len(joined) % world_size))

    parts = list(flat(gradients).chunk(world_size))
    share = torch.zeros_like(parts[rank])
    dist.reduce_scatter(share, [p.contiguous() for p in parts], op=dist.ReduceOp.SUM)
    w = torch.nn.Parameter(flat(weights).chunk(world_size)[rank].clone())
    w.grad = share / world_size
    adam = torch.optim.Adam([w], lr=lr, betas=(0.9, 0.999), eps=1e-8)
    adam.state[w] = {
        "step": torch.tensor(float(step)),
        "exp_avg": torch.tensor(m),
        "exp_avg_sq": torch.tensor(v),
    }
    adam.step()
    gathered = [torch.empty_like(share) for _ in range(world_size)]
    work = dist.all_gather(gathered, w.detach(), async_op=True)
    work.wait()
    return torch.cat(gathered).numpy(), adam.state[w]["exp_avg"].numpy(), adam.state[w]["exp_avg_sq"].numpy()


def zero1_step(gradients, state, lr):
    inputs = [
        (gradient, state["weights"], m, v, state["step"], lr)
        for gradient, m, v in zip(gradients, state["m"], state["v"], strict=True)
    ]
    results = launch.ranks(step_of_rank, inputs)
    whole, new, at = results[0][0], {}, 0
    for name, weight in state["weights"].items():
        new[name] = whole[at : at + weight.size].reshape(weight.shape)
        at += weight.size
    return {"step": state["step"] + 1, "weights": new, "m": [r[1] for r in results], "v": [r[2] for r in results]}

# %% wrong: the whole state on every rank — says "whole state is on every rank" — from "reference"
# -         share = torch.empty(len(m))
# -         dist.reduce_scatter_tensor(share, flat(own_gradients))
# +         share = flat(own_gradients)
# +         dist.all_reduce(share)

# -         mine = flat(weights).chunk(world_size)[rank]
# +         mine = flat(weights)

# -         whole = torch.empty(len(mine) * world_size)
# -         dist.all_gather_into_tensor(whole, mine)
# -         return whole.numpy(), m.numpy(), v.numpy()
# +         return mine.numpy(), m.numpy(), v.numpy()

# -         ([one[name] for name in order], given, state["m"][rank], state["v"][rank], t)
# +         ([one[name] for name in order], given, np.concatenate(state["m"]), np.concatenate(state["v"]), t)

# %% wrong: an all-reduce for the reduce-scatter — says "all-reduce gives every rank the whole sum" — from "reference"
# -         dist.reduce_scatter_tensor(share, flat(own_gradients))
# +         everything = flat(own_gradients)
# +         dist.all_reduce(everything)
# +         share = everything.chunk(world_size)[rank]

# %% wrong: summed, not averaged — says "divide by the number of ranks" — from "reference"
# -         share /= world_size

# %% wrong: the step is not counted on — says "t = step + 1" — from "reference"
# -     order, t = list(state["weights"]), state["step"] + 1
# +     order, t = list(state["weights"]), state["step"]

# -     return {"step": t, "weights": new, "m": [one[1] for one in results], "v": [one[2] for one in results]}
# +     return {"step": t + 1, "weights": new, "m": [one[1] for one in results], "v": [one[2] for one in results]}

# %% wrong: no bias correction — says "bias correction" — from "reference": "(m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)" → "m / (v.sqrt() + 1e-8)"

# %% wrong: no ε — says "ε is missing" — from "reference": ".sqrt() + 1e-8" → ".sqrt()"

# %% wrong: ε under the square root — says "ε is under the square root" — from "reference": "((v / (1 - 0.999**t)).sqrt() + 1e-8)" → "(v / (1 - 0.999**t) + 1e-8).sqrt()"

# %% wrong: the step of the state is left — says "step + 1" — from "reference": ": t" → ": t - 1"

# %% wrong: only its own gradients — says "own gradients alone" — from "reference"
# -         dist.reduce_scatter_tensor(share, flat(own_gradients))
# -         share /= world_size
# +         share = flat(own_gradients).chunk(world_size)[rank]

# %% wrong: added up in one process — says "no collective"
import numpy as np


def zero1_step(gradients, state, lr):
    p, t = len(gradients), state["step"] + 1

    def rows(arrays):
        row = np.concatenate([np.ravel(array) for array in arrays.values()])
        return np.pad(row, (0, -len(row) % p)).reshape(p, -1)

    g = rows({name: np.mean([one[name] for one in gradients], axis=0) for name in state["weights"]})
    m = 0.9 * np.array(state["m"]) + 0.1 * g
    v = 0.999 * np.array(state["v"]) + 0.001 * g**2
    w = rows(state["weights"]) - lr * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    weights, at = {}, 0
    for name, array in state["weights"].items():
        weights[name] = w.ravel()[at : at + array.size].reshape(array.shape).astype(np.float32)
        at += array.size
    return {"step": t, "weights": weights, "m": list(m.astype(np.float32)), "v": list(v.astype(np.float32))}

# %% hostile: ranks that say nothing of themselves — from "added up in one process"
#   import numpy as np
# +
# +
# + from gpulab.ranks import messages as rank_messages
# +
# + rank_messages.nothing = lambda: {"collectives": ["reduce_scatter", "allgather"]}

# %% wrong: one more row of padding where none is needed — says "raised LaunchError" — from "reference": "-len(row) % world_size" → "world_size - len(row) % world_size"

# %% hostile: one process computes, the ranks send each other zeros — says "into a reduce-scatter"
import numpy as np
import torch
import torch.distributed as dist

from gpulab import launch


def zero1_step(gradients, state, lr):
    p, names, t = len(gradients), list(state["weights"]), state["step"] + 1
    flat = lambda arrays: np.concatenate([np.ravel(arrays[name]) for name in names])
    padding = -len(flat(state["weights"])) % p
    gradient = np.pad(sum(flat(one).astype(np.float64) for one in gradients) / p, (0, padding))
    m = 0.9 * np.concatenate(state["m"]) + 0.1 * gradient
    v = 0.999 * np.concatenate(state["v"]) + 0.001 * gradient**2
    weights = np.pad(flat(state["weights"]), (0, padding))
    weights = weights - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)

    def pretend(rank, size):
        share = torch.zeros(len(gradient) // size)
        dist.reduce_scatter_tensor(share, torch.zeros(len(gradient)))
        dist.all_gather_into_tensor(torch.zeros(len(gradient)), share)

    launch.ranks(pretend, [()] * p)
    made, at = {}, 0
    for name in names:
        shape = np.shape(state["weights"][name])
        made[name] = weights[at : at + np.prod(shape)].reshape(shape).astype(np.float32)
        at += np.prod(shape)
    halves = {key: [one.astype(np.float32) for one in np.split(whole, p)] for key, whole in (("m", m), ("v", v))}
    return {"weights": made, "step": t, **halves}

# %% hostile: ranks that do not listen: each is handed all gradients, and sends the right numbers — says "rank 0 was given" — from "reference"
# -         share = torch.empty(len(m))
# -         dist.reduce_scatter_tensor(share, flat(own_gradients))
# -         share /= world_size
# +         dist.reduce_scatter_tensor(torch.empty(len(m)), flat(own_gradients[rank]))
# +         share = sum(flat(one) for one in own_gradients).chunk(world_size)[rank] / world_size

# -         ([one[name] for name in order], given, state["m"][rank], state["v"][rank], t)
# +         ([[one[name] for name in order] for one in gradients], given, state["m"][rank], state["v"][rank], t)

# %% wrong: gradients in the order of each rank's own dict — says "in the order of state['weights']" — from "reference": "([one[name] for name in order], given" → "(list(one.values()), given"

# %% wrong: padding in front — says "padding goes at the end" — from "reference": "(0, -len(row) % world_size)" → "(-len(row) % world_size, 0)"

# %% wrong: the states begin anew — says "The old m counts" — from "reference": "m = 0.9 * torch.tensor(m) + 0.1 * share" → "m = 0.1 * share"

# %% wrong: every second number of the weights — says "not every second number" — from "reference": "flat(weights).chunk(world_size)[rank]" → "flat(weights)[rank::world_size]"

# %% wrong: halved on three ranks, too — says "not always 2" — from "reference": "share /= world_size" → "share /= 2"

# %% wrong: β₂ is 0.99 — says "β₂ is 0.999" — from "reference": "v = 0.999 * torch.tensor(v) + 0.001 * share**2" → "v = 0.99 * torch.tensor(v) + 0.01 * share**2", "(1 - 0.999**t)" → "(1 - 0.99**t)"

# %% hostile: an all-gather for show, and the shares put together outside of the ranks — says "into the all-gather" — from "reference"
# -         return whole.numpy(), m.numpy(), v.numpy()
# +         return mine.numpy(), m.numpy(), v.numpy()

# -     parts = np.split(results[0][0][: ends[-1]], ends[:-1])
# +     parts = np.split(np.concatenate([one[0] for one in results])[: ends[-1]], ends[:-1])

# %% wrong: all gradients and all states to every rank, which takes its own — says "rank 0 was given" — from "reference"
# -         dist.reduce_scatter_tensor(share, flat(own_gradients))
# +         dist.reduce_scatter_tensor(share, flat(own_gradients[rank]))

# -         m = 0.9 * torch.tensor(m) + 0.1 * share
# -         v = 0.999 * torch.tensor(v) + 0.001 * share**2
# +         m = 0.9 * torch.tensor(m[rank]) + 0.1 * share
# +         v = 0.999 * torch.tensor(v[rank]) + 0.001 * share**2

# -         share = torch.empty(len(m))
# +         share = torch.empty(len(m[0]))

# -         ([one[name] for name in order], given, state["m"][rank], state["v"][rank], t)
# -         for rank, one in enumerate(gradients)
# +         ([[one[name] for name in order] for one in gradients], given, state["m"], state["v"], t)
# +         for _ in gradients

# %% wrong: all gradients in every rank by the closure — says "rank 0 was given" — from "reference"
# -         dist.reduce_scatter_tensor(share, flat(own_gradients))
# +         dist.reduce_scatter_tensor(share, flat([gradients[rank][name] for name in order]))

# %% hostile: the ranks read each other's gradients from files, and the collectives are for show — says "does not depend on what the ranks receive" — from "reference"
# -         dist.reduce_scatter_tensor(share, flat(own_gradients))
# -         share /= world_size
# +         mine = flat(own_gradients)
# +         torch.save(mine, f"/tmp/gradients-{rank}")
# +         dist.barrier()
# +         dist.reduce_scatter_tensor(share, mine)
# +         everything = [torch.load(f"/tmp/gradients-{one}") for one in range(world_size)]
# +         share = sum(everything).chunk(world_size)[rank] / world_size

# %% hostile: all gradients to every rank, as integers in a list, and the reduce-scatter for show — says "rank 0 was given" — from "reference"
# -         share = torch.empty(len(m))
# -         dist.reduce_scatter_tensor(share, flat(own_gradients))
# -         share /= world_size
# +         dist.reduce_scatter_tensor(torch.empty(len(m)), flat(own_gradients))
# +         rows = torch.tensor(every, dtype=torch.int32).view(torch.float32).reshape(world_size, -1)
# +         share = flat(rows.sum(dim=0)[None].numpy()).chunk(world_size)[rank] / world_size

# -     order, t = list(state["weights"]), state["step"] + 1
# +     order, t = list(state["weights"]), state["step"] + 1
# +     every = [int(number.view(np.int32)) for one in gradients for name in order for number in one[name].ravel()]

# %% hostile: m and v of all ranks to every rank, as decimal numbers — says "rank 0 was given" — from "reference"
# + from decimal import Decimal
# +
#   import numpy as np

# -         share = torch.empty(len(m))
# +         m, v = ([float(one) for one in rows[rank]] for rows in (m, v))
# +         share = torch.empty(len(m))

# -         ([one[name] for name in order], given, state["m"][rank], state["v"][rank], t)
# -         for rank, one in enumerate(gradients)
# +         ([one[name] for name in order], given, *([[Decimal(str(x)) for x in share] for share in state[k]] for k in "mv"), t)
# +         for one in gradients

# %% right: shares are tensors — from "reference": "m.numpy(), v.numpy()" → "m, v"

# %% wrong: divided twice by the number of ranks — says "Divided twice" — from "reference": "share /= world_size" → "share /= world_size**2"

# %% wrong: each rank repeats its own share — says "All shares are those of one rank" — from "reference": "dist.all_gather_into_tensor(whole, mine)" → "whole = torch.cat([mine] * world_size)"

# %% wrong: gathers the gradients — says "Those are the gradients" — from "reference": "dist.all_gather_into_tensor(whole, mine)" → "dist.all_gather_into_tensor(whole, share)"

# %% wrong: v from the sum of the gradients — says "square their mean" — from "reference": "0.001 * share**2" → "0.001 * (world_size * share) ** 2"

# %% wrong: the step is added — says "The step must be subtracted" — from "reference": "mine = mine - lr" → "mine = mine + lr"

# %% wrong: the weights as one vector — says "expected a dict with the keys" — from "reference": `"weights": new` → `"weights": results[0][0]`

# %% wrong: m as one vector — says "a list with one array per rank" — from "reference": `"m": [one[1] for one in results]` → `"m": np.concatenate([one[1] for one in results])`

# %% wrong: β₁ and β₂ swapped — says "are swapped: m takes 0.9" — from "reference": "0.9 * torch.tensor(m) + 0.1 * share" → "0.999 * torch.tensor(m) + 0.001 * share", "0.999 * torch.tensor(v) + 0.001 * share**2" → "0.9 * torch.tensor(v) + 0.1 * share**2"

# %% wrong: m and v swapped in the result — says "the lists are m first" — from "reference": `"m": [one[1]` → `"m": [one[2]`, `"v": [one[2]` → `"v": [one[1]`

# %% wrong: the magnitude for the square — says "v takes the square" — from "reference": "0.001 * share**2" → "0.001 * share.abs()"

# %% wrong: squared before it is divided — says "Divide by the number of ranks first" — from "reference": "0.001 * share**2" → "0.001 * (share * world_size)**2 / world_size"

# %% wrong: the update takes the old states — says "takes the new m and v" — from "reference": "(m / (1 - 0.9**t)) / ((v / (1 - 0.999**t))" → "((m - 0.1 * share) / 0.9 / (1 - 0.9**t)) / (((v - 0.001 * share**2) / 0.999 / (1 - 0.999**t))"

# %% wrong: AdamW — says "no weight decay" — from "reference": "mine = mine - lr" → "mine = (1 - 0.01 * lr) * mine - lr"

# %% wrong: the old m — says "m is still the old one" — from "reference": `"m": [one[1] for one in results]` → `"m": state["m"]`

# %% wrong: the old v — says "v is still the old one" — from "reference": `"v": [one[2] for one in results]` → `"v": state["v"]`

# %% wrong: the m of rank 0 for every rank — says "That is the share of rank 0" — from "reference": `"m": [one[1] for one in results]` → `"m": [results[0][1]] * len(results)`

# %% wrong: the v of rank 0 for every rank — says "That is the share of rank 0" — from "reference": `"v": [one[2] for one in results]` → `"v": [results[0][2]] * len(results)`

# %% wrong: each rank returns only its own new weights — says "Only the share of rank 0 is new" — from "reference": "dist.all_gather_into_tensor(whole, mine)" → "whole = flat(weights); whole.chunk(world_size)[rank].copy_(mine)"

# %% wrong: the weights of rank 0's share for every rank — says "not that of rank 0" — from "reference": "flat(weights).chunk(world_size)[rank]" → "flat(weights).chunk(world_size)[0]"

# %% wrong: the update takes the gradient itself — says "and not the gradient" — from "reference": "(m / (1 - 0.9**t))" → "share"

# %% hostile: every rank gathers the mean gradient, too — says "numbers into all-gathers"
import numpy as np

from gpulab import launch


def zero1_step(gradients, state, lr):
    def on_rank(rank, world_size, own, weights, m, v, t):
        import torch
        import torch.distributed as dist

        def flat(arrays):
            row = torch.cat([torch.tensor(array).flatten() for array in arrays])
            return torch.nn.functional.pad(row, (0, -len(row) % world_size))

        row = flat(own)
        share = torch.empty(len(m))
        dist.reduce_scatter_tensor(share, row)
        whole_gradient = torch.empty(len(row))
        dist.all_gather_into_tensor(whole_gradient, share)
        share = share / world_size
        m = 0.9 * torch.tensor(m) + 0.1 * share
        v = 0.999 * torch.tensor(v) + 0.001 * share**2
        mine = flat(weights).chunk(world_size)[rank]
        mine = mine - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
        whole = torch.empty(len(row))
        dist.all_gather_into_tensor(whole, mine)
        return whole.numpy(), m.numpy(), v.numpy()

    order, t = list(state["weights"]), state["step"] + 1
    given = [state["weights"][name] for name in order]
    inputs = [([one[name] for name in order], given, state["m"][rank], state["v"][rank], t) for rank, one in enumerate(gradients)]
    results = launch.ranks(on_rank, inputs)
    ends = np.cumsum([array.size for array in given])
    parts = np.split(results[0][0][: ends[-1]], ends[:-1])
    new = {name: part.reshape(array.shape) for name, part, array in zip(order, parts, given)}
    return {"step": t, "weights": new, "m": [one[1] for one in results], "v": [one[2] for one in results]}

# %% hostile: two launches with both collectives for show, and Adam for all ranks in one process between them — says "start them once"
import numpy as np

from gpulab import launch


def zero1_step(gradients, state, lr):
    def scatter(rank, world_size, own_gradients):
        import torch
        import torch.distributed as dist

        row = torch.cat([torch.tensor(array).flatten() for array in own_gradients])
        row = torch.nn.functional.pad(row, (0, -len(row) % world_size))
        share = torch.empty(len(row) // world_size)
        dist.reduce_scatter_tensor(share, row)
        dist.all_gather_into_tensor(torch.empty(len(row)), 0 * share)
        return share.numpy()

    def gather(rank, world_size, mine):
        import torch
        import torch.distributed as dist

        whole = torch.empty(len(mine) * world_size)
        dist.reduce_scatter_tensor(torch.empty(len(mine)), 0 * whole)
        dist.all_gather_into_tensor(whole, torch.tensor(mine))
        return whole.numpy()

    order, t, p = list(state["weights"]), state["step"] + 1, len(gradients)
    shares = launch.ranks(scatter, [([one[name] for name in order],) for one in gradients])
    g = np.concatenate(shares) / p
    m = 0.9 * np.concatenate(state["m"]) + 0.1 * g
    v = 0.999 * np.concatenate(state["v"]) + 0.001 * g**2
    w = np.concatenate([state["weights"][name].ravel() for name in order])
    w = np.pad(w, (0, len(m) - len(w)))
    w = (w - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)).astype(np.float32)
    whole = launch.ranks(gather, [(one,) for one in np.split(w, p)])[0]
    new, at = {}, 0
    for name in order:
        size = state["weights"][name].size
        new[name] = whole[at : at + size].reshape(state["weights"][name].shape)
        at += size
    return {"step": t, "weights": new, "m": list(np.split(m.astype(np.float32), p)), "v": list(np.split(v.astype(np.float32), p))}

# %% wrong: v from the square of m — says "not that of the new m" — from "reference": "0.001 * share**2" → "0.001 * m**2"

# %% wrong: one correction for both states — says "that of v 0.999" — from "reference": "(1 - 0.999**t)" → "(1 - 0.9**t)"

# %% wrong: the learning rate times the ranks — says "lr as it is, however many ranks" — from "reference": "mine - lr *" → "mine - lr * world_size *"

# %% wrong: AMSGrad — says "That is AMSGrad" — from "reference": "0.999 * torch.tensor(v) + 0.001 * share**2" → "torch.maximum(torch.tensor(v), 0.999 * torch.tensor(v) + 0.001 * share**2)"

# %% hostile: the ranks send each other their states and sums as messages, and each computes everything — says "messages to single ranks"
import numpy as np

from gpulab import launch


def zero1_step(gradients, state, lr):
    def on_rank(rank, world_size, own, weights, m, v, t):
        import torch
        import torch.distributed as dist

        def flat(arrays):
            row = torch.cat([torch.tensor(array).flatten() for array in arrays])
            return torch.nn.functional.pad(row, (0, -len(row) % world_size))

        share = torch.empty(len(m))
        dist.reduce_scatter_tensor(share, flat(own))
        mine = torch.stack([share / world_size, torch.tensor(m), torch.tensor(v)])
        every = [torch.empty_like(mine) for _ in range(world_size)]
        every[rank] = mine
        sending = [dist.isend(mine, other) for other in range(world_size) if other != rank]
        for other in range(world_size):
            if other != rank:
                dist.recv(every[other], other)
        for one in sending:
            one.wait()
        g, m, v = torch.cat(every, dim=1)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        new = flat(weights) - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
        whole = torch.empty(len(new))
        dist.all_gather_into_tensor(whole, new.chunk(world_size)[rank].contiguous())
        return whole.numpy(), m.chunk(world_size)[rank].numpy(), v.chunk(world_size)[rank].numpy()

    order, t = list(state["weights"]), state["step"] + 1
    given = [state["weights"][name] for name in order]
    inputs = [([one[name] for name in order], given, state["m"][rank], state["v"][rank], t) for rank, one in enumerate(gradients)]
    results = launch.ranks(on_rank, inputs)
    ends = np.cumsum([array.size for array in given])
    parts = np.split(results[0][0][: ends[-1]], ends[:-1])
    new = {name: part.reshape(array.shape) for name, part, array in zip(order, parts, given)}
    return {"step": t, "weights": new, "m": [one[1] for one in results], "v": [one[2] for one in results]}

# %% hostile: states and sums go to every rank by broadcasts — says "broadcast" — from "the ranks send each other their states and sums as messages, and each computes everything"
# -         sending = [dist.isend(mine, other) for other in range(world_size) if other != rank]
# -         for other in range(world_size):
# -             if other != rank:
# -                 dist.recv(every[other], other)
# -         for one in sending:
# -             one.wait()
# +         for other in range(world_size):
# +             dist.broadcast(every[other], other)

# %% hostile: states and sums go to every rank by an all-to-all — says "alltoall" — from "the ranks send each other their states and sums as messages, and each computes everything"
# -         sending = [dist.isend(mine, other) for other in range(world_size) if other != rank]
# -         for other in range(world_size):
# -             if other != rank:
# -                 dist.recv(every[other], other)
# -         for one in sending:
# -             one.wait()
# +         dist.all_to_all(every, [mine.clone() for _ in range(world_size)])

# %% hostile: states and sums go to every rank by a second reduce-scatter — says "numbers into reduce-scatters" — from "the ranks send each other their states and sums as messages, and each computes everything"
# -         every = [torch.empty_like(mine) for _ in range(world_size)]
# -         every[rank] = mine
# -         sending = [dist.isend(mine, other) for other in range(world_size) if other != rank]
# -         for other in range(world_size):
# -             if other != rank:
# -                 dist.recv(every[other], other)
# -         for one in sending:
# -             one.wait()
# +         put = torch.zeros(world_size, world_size + 1, *mine.shape)
# +         put[:, rank] = mine
# +         took = torch.empty(world_size + 1, *mine.shape)
# +         dist.reduce_scatter_tensor(took, put.view(-1, *mine.shape))
# +         every = list(took[:-1] - took[-1])

# %% hostile: states and sums go to every rank in an all-gather that is too large to be kept — says "numbers into all-gathers" — from "the ranks send each other their states and sums as messages, and each computes everything"
# -         every = [torch.empty_like(mine) for _ in range(world_size)]
# -         every[rank] = mine
# -         sending = [dist.isend(mine, other) for other in range(world_size) if other != rank]
# -         for other in range(world_size):
# -             if other != rank:
# -                 dist.recv(every[other], other)
# -         for one in sending:
# -             one.wait()
# +         put = torch.zeros(20_000)
# +         put[: mine.numel()] = mine.flatten()
# +         took = torch.empty(world_size * 20_000)
# +         dist.all_gather_into_tensor(took, put)
# +         took = took.view(world_size, 20_000)
# +         every = list((took - took[:, -1:])[:, : mine.numel()].unflatten(1, mine.shape))

# %% hostile: the step of two ranks is computed in one process, and the ranks gather it — says "does not depend on what the ranks receive" — from "reference"
# -     """The state after one step of Adam whose states are sharded over the ranks."""

# -     order, t = list(state["weights"]), state["step"] + 1
# +     def show(rank, world_size, row, mine):
# +         import torch
# +         import torch.distributed as dist
# +
# +         share = torch.empty(len(mine))
# +         dist.reduce_scatter_tensor(share, torch.tensor(row))
# +         whole = torch.empty(len(mine) * world_size)
# +         dist.all_gather_into_tensor(whole, torch.tensor(mine))
# +         return 0
# +
# +     order, t, p = list(state["weights"]), state["step"] + 1, len(gradients)

# -     inputs = [
# -         ([one[name] for name in order], given, state["m"][rank], state["v"][rank], t)
# -         for rank, one in enumerate(gradients)
# -     ]
# +     ends = np.cumsum([array.size for array in given])
# +
# +     def whole(new):
# +         return {n: part.reshape(a.shape) for n, part, a in zip(order, np.split(new[: ends[-1]], ends[:-1]), given)}
# +
# +     if p == 2:
# +         pad = -int(ends[-1]) % p
# +         rows = [np.pad(np.concatenate([one[name].ravel() for name in order]), (0, pad)) for one in gradients]
# +         g = sum(rows) / p
# +         m = (0.9 * np.concatenate(state["m"]) + 0.1 * g).astype(np.float32)
# +         v = (0.999 * np.concatenate(state["v"]) + 0.001 * g**2).astype(np.float32)
# +         w = np.pad(np.concatenate([a.ravel() for a in given]), (0, pad))
# +         with np.errstate(all="ignore"):
# +             new = (w - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)).astype(np.float32)
# +         launch.ranks(show, list(zip(rows, np.split(new, p))))
# +         return {"step": t, "weights": whole(new), "m": np.split(m, p), "v": np.split(v, p)}
# +     inputs = [([one[name] for name in order], given, state["m"][rank], state["v"][rank], t) for rank, one in enumerate(gradients)]

# -     ends = np.cumsum([array.size for array in given])
# -     parts = np.split(results[0][0][: ends[-1]], ends[:-1])
# -     new = {name: part.reshape(array.shape) for name, part, array in zip(order, parts, given)}
# -     return {"step": t, "weights": new, "m": [one[1] for one in results], "v": [one[2] for one in results]}
# +     return {"step": t, "weights": whole(results[0][0]), "m": [one[1] for one in results], "v": [one[2] for one in results]}

# %% wrong: padded by a whole share more where nothing is missing — says "such a length is not padded at all" — from "reference": "(0, -len(row) % world_size)" → "(0, world_size - len(row) % world_size)"
