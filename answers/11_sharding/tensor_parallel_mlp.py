# %% right: reference
import numpy as np

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    """gelu(x @ w1) @ w2 by ranks that each have some columns of w1 and the matching rows of w2."""
    def on_rank(rank, world_size, x, columns, rows):
        import torch
        import torch.distributed as dist

        hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns))
        summand = hidden @ torch.tensor(rows)
        dist.all_reduce(summand)
        return summand.numpy()

    columns, rows = np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)
    return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)])[0]

# %% right: torch tensors, a function of its own
import torch
import torch.distributed as dist

from gpulab import launch


def part(rank, world_size, x, a, b):
    out = torch.nn.functional.gelu(torch.from_numpy(x.copy()) @ a) @ b
    dist.all_reduce(out, op=dist.ReduceOp.SUM)
    return out


def tensor_parallel_mlp(x, w1, w2, world_size):
    width = w1.shape[1] // world_size
    inputs = []
    for rank in range(world_size):
        mine = slice(rank * width, (rank + 1) * width)
        inputs.append((x, torch.tensor(w1[:, mine]), torch.tensor(w2[mine])))
    return launch.ranks(part, inputs)[0].numpy()

# %% right: nn.Linear layers with the shares as weights, a functional all-reduce
import numpy as np

from gpulab import launch


def mlp_of(rank, world_size, x, w1, w2):
    import torch
    from torch import nn
    from torch.distributed import _functional_collectives as funcol
    from torch.distributed import group

    up = nn.Linear(*w1.shape, bias=False)
    down = nn.Linear(*w2.shape, bias=False)
    up.weight = nn.Parameter(torch.tensor(w1.T))
    down.weight = nn.Parameter(torch.tensor(w2.T))
    model = nn.Sequential(up, nn.GELU(), down)
    with torch.no_grad():
        return funcol.all_reduce(model(torch.tensor(x)), "sum", group.WORLD).numpy()


def tensor_parallel_mlp(x, w1, w2, world_size):
    wide = w1.shape[1] // world_size
    tasks = []
    for rank in range(world_size):
        mine = slice(rank * wide, (rank + 1) * wide)
        tasks.append((x, w1[:, mine].copy(), w2[mine].copy()))
    first, *_ = launch.ranks(mlp_of, tasks)
    return first

# %% right: DTensors from each rank's shares
from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def on_rank(rank, world_size, x, columns, rows):
        import torch
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor, Replicate, Shard
        from torch.nn.functional import gelu

        mesh = init_device_mesh("cpu", (world_size,))
        make = lambda array, placement: DTensor.from_local(torch.from_numpy(array), mesh, [placement], run_check=False)
        x, columns, rows = make(x, Replicate()), make(columns, Shard(1)), make(rows, Shard(0))
        return (gelu(x @ columns) @ rows).full_tensor().numpy()

    h = w1.shape[1] // world_size
    cut = [slice(rank * h, (rank + 1) * h) for rank in range(world_size)]
    return launch.ranks(on_rank, [(x, w1[:, one].copy(), w2[one].copy()) for one in cut])[0]

# %% wrong: rank 0 has all weights, the others none — says "its columns of w1, and its rows of w2" — from "torch tensors, a function of its own": "// world_size" → "* world_size"

# %% wrong: a rank too many, with nothing to do — says "ranks of" — from "torch tensors, a function of its own": "in range(world_size)" → "in range(world_size + 1)"

# %% wrong: gathers in the middle — says "Nothing has to be gathered" — from "reference"
# -         summand = hidden @ torch.tensor(rows)
# -         dist.all_reduce(summand)
# -         return summand.numpy()
# +         parts = [torch.empty_like(hidden) for _ in range(world_size)]
# +         dist.all_gather(parts, hidden)
# +         return (torch.cat(parts, dim=1) @ torch.tensor(rows)).numpy()

# -     return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)])[0]
# +     return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, [w2] * world_size)])[0]

# %% wrong: rows first — says "GELU saw parts of a sum" — from "reference"
# -         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns))
# -         summand = hidden @ torch.tensor(rows)
# +         summand = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns)) @ torch.tensor(rows) * world_size

# -     return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)])[0]
# +     return launch.ranks(on_rank, [(p, a, w2 / world_size) for p, a in zip(np.split(x, world_size, axis=1), np.split(w1, world_size, axis=0))])[0]

# %% wrong: no sum — says "summand of rank 0 alone" — from "reference"
# -         dist.all_reduce(summand)

# %% wrong: the mean for the sum — says "mean of the summands" — from "reference": "summand.numpy" → "(summand / world_size).numpy"

# %% wrong: no GELU — says "GELU is missing" — from "reference"
# -         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns))
# +         hidden = torch.tensor(x) @ torch.tensor(columns)

# %% wrong: everything on every rank — says "each has its columns only" — from "reference"
# -     columns, rows = np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)
# +     columns, rows = [w1] * world_size, [w2] * world_size

# %% wrong: without ranks — says "computed in one process"
import torch


def tensor_parallel_mlp(x, w1, w2, world_size):
    return (torch.nn.functional.gelu(torch.from_numpy(x) @ torch.from_numpy(w1)) @ torch.from_numpy(w2)).numpy()

# %% wrong: summed on rank 0 only — says "collectives of rank" — from "reference": "dist.all_reduce(summand)" → "dist.reduce(summand, 0)"

# %% hostile: an array that equals everything
import numpy as np


class Equal(np.ndarray):
    def __eq__(self, other):
        return np.bool_(True)


def tensor_parallel_mlp(x, w1, w2, world_size):
    return np.zeros((len(x), w2.shape[1]), np.float32).view(Equal)

# %% wrong: all weights to every rank, cut there — says "its columns of w1, and its rows of w2"
import numpy as np

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def part(rank, ranks, x, w1, w2):
        import torch
        import torch.distributed as dist
        from torch.nn.functional import gelu

        x, w1, w2 = (torch.as_tensor(one) for one in (x, w1, w2))
        out = gelu(x @ w1.chunk(ranks, 1)[rank]) @ w2.chunk(ranks, 0)[rank]
        dist.all_reduce(out)
        return out.numpy()

    return launch.ranks(part, [(x, w1, w2)] * world_size)[0]

# %% wrong: w1 by rows, and an all-reduce before GELU — says "none is needed before GELU"
import numpy as np

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def part(rank, ranks, x, rows, below):
        import torch
        import torch.distributed as dist
        from torch.nn.functional import gelu

        x, rows, below = (torch.as_tensor(one) for one in (x, rows, below))
        hidden = x.chunk(ranks, 1)[rank] @ rows
        dist.all_reduce(hidden)
        out = gelu(hidden).chunk(ranks, 1)[rank] @ below
        dist.all_reduce(out)
        return out.numpy()

    pairs = zip(np.split(w1, world_size, axis=0), np.split(w2, world_size, axis=0))
    return launch.ranks(part, [(x, rows, below) for rows, below in pairs])[0]

# %% wrong: GELU by its approximation — says "approximation of GELU" — from "reference": "functional.gelu(" → "functional.gelu(approximate='tanh', input="

# %% hostile: ranks that do not listen: each computes everything, and sends its part for show — says "its columns of w1, and its rows of w2"
import numpy as np

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def on_rank(rank, world_size, x, w1, w2):
        import torch
        import torch.distributed as dist

        x, w1, w2 = torch.tensor(x), torch.tensor(w1), torch.tensor(w2)
        columns, rows = w1.chunk(world_size, dim=1)[rank], w2.chunk(world_size)[rank]
        dist.all_reduce(torch.nn.functional.gelu(x @ columns) @ rows)
        return (torch.nn.functional.gelu(x @ w1) @ w2).numpy()

    return launch.ranks(on_rank, [(x, w1, w2)] * world_size)[0]

# %% wrong: all weights in every rank by the closure, cut there — says "its columns of w1, and its rows of w2" — from "reference"
# -         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns))
# -         summand = hidden @ torch.tensor(rows)
# +         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(np.split(w1, world_size, axis=1)[rank]))
# +         summand = hidden @ torch.tensor(np.split(w2, world_size)[rank])

# -     return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)])[0]
# +     return launch.ranks(on_rank, [(x, 0, 0)] * world_size)[0]

# %% hostile: all weights to every rank as lists, cut there — says "its columns of w1, and its rows of w2" — from "reference"
# -         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns))
# -         summand = hidden @ torch.tensor(rows)
# +         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns).chunk(world_size, 1)[rank])
# +         summand = hidden @ torch.tensor(rows).chunk(world_size)[rank]

# -     return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)])[0]
# +     return launch.ranks(on_rank, [(x, w1.tolist(), w2.tolist())] * world_size)[0]

# %% hostile: all weights to every rank as bytes, cut there — says "its columns of w1, and its rows of w2" — from "all weights to every rank as lists, cut there"
# -         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns).chunk(world_size, 1)[rank])
# -         summand = hidden @ torch.tensor(rows).chunk(world_size)[rank]
# +         w1 = torch.frombuffer(bytearray(columns), dtype=torch.float32).reshape(x.shape[1], -1)
# +         w2 = torch.frombuffer(bytearray(rows), dtype=torch.float32).reshape(w1.shape[1], -1)
# +         hidden = torch.nn.functional.gelu(torch.tensor(x) @ w1.chunk(world_size, 1)[rank])
# +         summand = hidden @ w2.chunk(world_size)[rank]

# -     return launch.ranks(on_rank, [(x, w1.tolist(), w2.tolist())] * world_size)[0]
# +     return launch.ranks(on_rank, [(x, w1.tobytes(), w2.tobytes())] * world_size)[0]

# %% hostile: all weights to every rank as one integer, cut there — says "its columns of w1, and its rows of w2" — from "all weights to every rank as bytes, cut there"
# -         w1 = torch.frombuffer(bytearray(columns), dtype=torch.float32).reshape(x.shape[1], -1)
# -         w2 = torch.frombuffer(bytearray(rows), dtype=torch.float32).reshape(w1.shape[1], -1)
# +         whole = lambda number, size: bytearray(number.to_bytes(size, "little"))
# +         w1 = torch.frombuffer(whole(*columns), dtype=torch.float32).reshape(x.shape[1], -1)
# +         w2 = torch.frombuffer(whole(*rows), dtype=torch.float32).reshape(w1.shape[1], -1)

# -     return launch.ranks(on_rank, [(x, w1.tobytes(), w2.tobytes())] * world_size)[0]
# +     packed = [(int.from_bytes(one.tobytes(), "little"), one.nbytes) for one in (w1, w2)]
# +     return launch.ranks(on_rank, [(x, *packed)] * world_size)[0]

# %% hostile: all weights to every rank as constants of a function that is written for the call — says "its columns of w1, and its rows of w2" — from "all weights to every rank as bytes, cut there"
# -         w1 = torch.frombuffer(bytearray(columns), dtype=torch.float32).reshape(x.shape[1], -1)
# -         w2 = torch.frombuffer(bytearray(rows), dtype=torch.float32).reshape(w1.shape[1], -1)
# +         w1 = torch.tensor(columns()).reshape(x.shape[1], -1)
# +         w2 = torch.tensor(rows()).reshape(w1.shape[1], -1)

# -     return launch.ranks(on_rank, [(x, w1.tobytes(), w2.tobytes())] * world_size)[0]
# +     made = {}
# +     for name, weights in (("one", w1), ("two", w2)):
# +         exec(f"def {name}():\n    return {tuple(weights.ravel().tolist())}", made)
# +     return launch.ranks(on_rank, [(x, made["one"], made["two"])] * world_size)[0]

# %% hostile: all weights to every rank as a list of short texts, cut there — says "its columns of w1, and its rows of w2" — from "all weights to every rank as bytes, cut there"
# -         w1 = torch.frombuffer(bytearray(columns), dtype=torch.float32).reshape(x.shape[1], -1)
# -         w2 = torch.frombuffer(bytearray(rows), dtype=torch.float32).reshape(w1.shape[1], -1)
# +         whole = lambda texts: bytearray.fromhex("".join(texts))
# +         w1 = torch.frombuffer(whole(columns), dtype=torch.float32).reshape(x.shape[1], -1)
# +         w2 = torch.frombuffer(whole(rows), dtype=torch.float32).reshape(w1.shape[1], -1)

# -     return launch.ranks(on_rank, [(x, w1.tobytes(), w2.tobytes())] * world_size)[0]
# +     texts = [[one.tobytes()[at : at + 28].hex() for at in range(0, one.nbytes, 28)] for one in (w1, w2)]
# +     return launch.ranks(on_rank, [(x, *texts)] * world_size)[0]

# %% hostile: all weights to every rank as decimal numbers, cut there — says "its columns of w1, and its rows of w2" — from "all weights to every rank as lists, cut there"
# + from decimal import Decimal
# +
#   import numpy as np

# -         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns).chunk(world_size, 1)[rank])
# -         summand = hidden @ torch.tensor(rows).chunk(world_size)[rank]
# +         w1, w2 = (torch.tensor([[float(one) for one in row] for row in part]) for part in (columns, rows))
# +         hidden = torch.nn.functional.gelu(torch.tensor(x) @ w1.chunk(world_size, 1)[rank])
# +         summand = hidden @ w2.chunk(world_size)[rank]

# -     return launch.ranks(on_rank, [(x, w1.tolist(), w2.tolist())] * world_size)[0]
# +     w1, w2 = ([[Decimal(str(one)) for one in row] for row in weights] for weights in (w1, w2))
# +     return launch.ranks(on_rank, [(x, w1, w2)] * world_size)[0]

# %% hostile: all weights to every rank in arrays of complex numbers, cut there — says "its columns of w1, and its rows of w2" — from "all weights to every rank as bytes, cut there"
# -         w1 = torch.frombuffer(bytearray(columns), dtype=torch.float32).reshape(x.shape[1], -1)
# -         w2 = torch.frombuffer(bytearray(rows), dtype=torch.float32).reshape(w1.shape[1], -1)
# +         both, (h, e) = torch.tensor(columns.view("float32")), rows
# +         w1, w2 = both[: x.shape[1] * h].reshape(-1, h), both[x.shape[1] * h :][: h * e].reshape(h, e)

# -     return launch.ranks(on_rank, [(x, w1.tobytes(), w2.tobytes())] * world_size)[0]
# +     both = np.concatenate([w1.ravel(), w2.ravel()])
# +     both = np.pad(both, (0, -len(both) % 4)).view(np.complex128)
# +     return launch.ranks(on_rank, [(x, both, w2.shape)] * world_size)[0]

# %% right: views of the weights as tensors, and a GELU by hand
import torch

from gpulab import launch


def on_rank(rank, world_size, x, columns, rows):
    import torch
    import torch.distributed as dist

    hidden = x @ columns
    hidden = 0.5 * hidden * (1 + torch.erf(hidden * 0.7071067811865476))
    summand = hidden @ rows
    dist.all_reduce(summand)
    return summand


def tensor_parallel_mlp(x, w1, w2, world_size):
    x, w1, w2 = (torch.from_numpy(one) for one in (x, w1, w2))
    inputs = [(x, a, b) for a, b in zip(w1.chunk(world_size, 1), w2.chunk(world_size))]
    return launch.ranks(on_rank, inputs)[0].numpy()

# %% wrong: rank r has block p - 1 - r — says "rank r has the r-th one" — from "reference": "zip(columns, rows)]" → "zip(columns[::-1], rows[::-1])]"

# %% right: waits for its all-reduce — from "reference": "dist.all_reduce(summand)" → "dist.all_reduce(summand, async_op=True).wait()"

# %% wrong: what a functional all-reduce returns is thrown away — says "call wait() on what it returns" — from "reference": "dist.all_reduce(summand)" → `dist._functional_collectives.all_reduce(summand, "sum", dist.group.WORLD)`

# %% wrong: gathers the summands — says "gives everybody the sum" — from "reference"
# -         dist.all_reduce(summand)
# -         return summand.numpy()
# +         parts = [torch.empty_like(summand) for _ in range(world_size)]
# +         dist.all_gather(parts, summand)
# +         return sum(parts).numpy()

# %% wrong: a single sample loses its axis — says "shape of tensor_parallel_mlp" — from "reference": "summand.numpy()" → "summand.squeeze().numpy()"

# %% wrong: a barrier before the all-reduce — says "A barrier is a collective call" — from "reference"
# -         dist.all_reduce(summand)
# +         dist.barrier()
# +         dist.all_reduce(summand)


# %% wrong: the largest of the summands — says "or the largest" — from "reference": "dist.all_reduce(summand)" → "dist.all_reduce(summand, op=dist.ReduceOp.MAX)"

# %% wrong: summed twice — says "all sums were added up twice" — from "reference": "dist.all_reduce(summand)" → "dist.all_reduce(summand); dist.all_reduce(summand)"

# %% wrong: a second GELU — says "not after the second one" — from "reference": "return summand.numpy()" → "return torch.nn.functional.gelu(summand).numpy()"

# %% wrong: hidden columns added up — says "hidden columns of the ranks differ" — from "reference": "summand = hidden @" → "dist.all_reduce(hidden); summand = hidden @"

# %% wrong: SiLU — says "That is SiLU" — from "reference": "functional.gelu" → "functional.silu"

# %% wrong: the rows of the other rank — says "each other's rows of w2" — from "reference": "zip(columns, rows)" → "zip(columns, rows[::-1])"

# %% wrong: every second column and row — says "a block of consecutive columns" — from "reference"
# -     columns, rows = np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)
# +     columns = [np.ascontiguousarray(w1[:, rank::world_size]) for rank in range(world_size)]
# +     rows = [np.ascontiguousarray(w2[rank::world_size]) for rank in range(world_size)]

# %% wrong: w1 by rows, w2 by columns, and the results side by side — says "GELU saw parts of a sum" — from "reference"
# -         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns))
# -         summand = hidden @ torch.tensor(rows)
# -         dist.all_reduce(summand)
# -         return summand.numpy()
# +         part = torch.tensor(x).chunk(world_size, dim=1)[rank]
# +         hidden = torch.nn.functional.gelu(part @ torch.tensor(columns))
# +         dist.all_reduce(hidden)
# +         return (hidden @ torch.tensor(rows)).numpy()

# -     columns, rows = np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)
# -     return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)])[0]
# +     columns, rows = np.split(w1, world_size, axis=0), np.split(w2, world_size, axis=1)
# +     return np.concatenate(launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)]), axis=1)

# %% wrong: w1 by rows and w2 by columns, x whole — says "Is w1 (d, h) cut by columns" — from "reference": "np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)" → "np.split(w1, world_size, axis=0), np.split(w2, world_size, axis=1)"

# %% wrong: a second all-reduce, of what is divided after it — says "One is enough, after the product with w2" — from "reference": "dist.all_reduce(summand)" → "dist.all_reduce(summand); dist.all_reduce(summand); summand /= world_size"

# %% hostile: one process computes all summands, the ranks add them up — says "The ranks compute the products"
import numpy as np
import torch

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def on_rank(rank, world_size, summand):
        import torch
        import torch.distributed as dist

        summand = torch.tensor(summand)
        dist.all_reduce(summand)
        return summand.numpy()

    parts = zip(np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0))
    gelu = torch.nn.functional.gelu
    given = [((gelu(torch.tensor(x) @ torch.tensor(a)) @ torch.tensor(b)).numpy(),) for a, b in parts]
    return launch.ranks(on_rank, given)[0]

# %% hostile: one process computes all summands, and each rank is given its weights for show — says "the ranks did not compute the products"
import numpy as np
import torch

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def on_rank(rank, world_size, summand, a, b):
        import torch
        import torch.distributed as dist

        summand = torch.tensor(summand)
        dist.all_reduce(summand)
        return summand.numpy()

    parts = zip(np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0))
    gelu = torch.nn.functional.gelu
    given = [((gelu(torch.tensor(x) @ torch.tensor(a)) @ torch.tensor(b)).numpy(), a[1:], b[1:]) for a, b in parts]
    return launch.ranks(on_rank, given)[0]

# %% hostile: one process computes the hidden layer, the ranks multiply by their rows of w2 — says "The ranks compute the products"
import numpy as np
import torch

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def on_rank(rank, world_size, hidden, b):
        import torch
        import torch.distributed as dist

        summand = torch.tensor(hidden) @ torch.tensor(b)
        dist.all_reduce(summand)
        return summand.numpy()

    hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(w1)).numpy()
    given = zip(np.split(hidden, world_size, axis=1), np.split(w2, world_size, axis=0))
    return launch.ranks(on_rank, list(given))[0]

# %% right: lists of lists — from "reference": "[(x, a, b) for a, b" → "[(x.tolist(), a.tolist(), b.tolist()) for a, b"

# %% right: bytes — from "reference"
# -         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns))
# +         x, columns, rows = (np.frombuffer(one[1], "f4").reshape(one[0]).astype("f4") for one in (x, columns, rows))
# +         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns))

# -     return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)])[0]
# +     given = [tuple((one.shape, one.tobytes()) for one in (x, a, b)) for a, b in zip(columns, rows)]
# +     return launch.ranks(on_rank, given)[0]

# %% right: x is captured by the function — from "reference": "world_size, x, columns, rows):" → "world_size, columns, rows):", "[(x, a, b) for a, b" → "[(a, b) for a, b"

# %% wrong: an all-reduce before GELU, too — says "were added up before GELU" — from "reference"
# -         hidden = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns))
# +         hidden = torch.tensor(x) @ torch.tensor(columns)
# +         dist.all_reduce(hidden)
# +         hidden = torch.nn.functional.gelu(hidden)

# %% wrong: the product of the summands — says "The summands were multiplied" — from "reference": "dist.all_reduce(summand)" → "dist.all_reduce(summand, op=dist.ReduceOp.PRODUCT)"

# %% wrong: the last hidden column of each rank is left out — says "The last hidden column" — from "reference": "hidden @ torch.tensor(rows)" → "hidden[:, :-1] @ torch.tensor(rows[:-1])"

# %% wrong: the hidden layer in float16 — says "as inexact as a 16-bit type" — from "reference": "hidden @ torch.tensor(rows)" → "hidden.half().float() @ torch.tensor(rows)"

# %% hostile: rank 0 is sent all weights as messages, computes all summands, and sends them back — says "messages to single ranks"
import numpy as np

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def on_rank(rank, world_size, x, a, b):
        import torch
        import torch.distributed as dist

        x, a, b = torch.tensor(x), torch.tensor(a), torch.tensor(b)
        summand = torch.empty(len(x), b.shape[1])
        if rank:
            dist.send(torch.zeros(1), 0)
            dist.send(a.contiguous(), 0)
            dist.send(b.contiguous(), 0)
            dist.recv(torch.empty(1), 0)
            dist.recv(summand, 0)
        else:
            for other in range(1, world_size):
                one, two = torch.empty_like(a.contiguous()), torch.empty_like(b.contiguous())
                dist.recv(torch.empty(1), other)
                dist.recv(one, other)
                dist.recv(two, other)
                dist.send(torch.zeros(1), other)
                dist.send(torch.nn.functional.gelu(x @ one) @ two, other)
            summand = torch.nn.functional.gelu(x @ a) @ b
        dist.all_reduce(summand)
        return summand.numpy()

    columns, rows = np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)
    return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)])[0]

# %% hostile: all weights go to every rank in an all-reduce that is too large to be kept — says "all-reduces of rank 0"
import numpy as np

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def on_rank(rank, world_size, x, a, b):
        import torch
        import torch.distributed as dist

        x, a, b = torch.tensor(x), torch.tensor(a), torch.tensor(b)
        every = torch.zeros(world_size, 20_000)
        every[rank, : a.numel()] = a.flatten()
        every[rank, a.numel() : a.numel() + b.numel()] = b.flatten()
        dist.all_reduce(every)
        every -= every[0, -1].clone()
        summands = []
        for one in every:
            first, second = one[: a.numel()].view(a.shape), one[a.numel() : a.numel() + b.numel()].view(b.shape)
            summands.append(torch.nn.functional.gelu(x @ first) @ second)
        summand = summands[rank].clone()
        dist.all_reduce(summand)
        return summand.numpy()

    columns, rows = np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)
    return launch.ranks(on_rank, [(x, a, b) for a, b in zip(columns, rows)])[0]

# %% hostile: the ranks multiply a single sample only, otherwise one process computes all summands — says "the ranks did not compute the products" — from "one process computes all summands, the ranks add them up"
# -     def on_rank(rank, world_size, summand):
# +     def on_rank(rank, world_size, x, columns, rows):
# +         import torch
# +         import torch.distributed as dist
# +
# +         summand = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns)) @ torch.tensor(rows)
# +         dist.all_reduce(summand)
# +         return summand.numpy()
# +
# +     def show(rank, world_size, summand, a, b):

# -     parts = zip(np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0))
# +     parts = list(zip(np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)))
# +     if len(x) == 1:
# +         return launch.ranks(on_rank, [(x, a, b) for a, b in parts])[0]

# -     given = [((gelu(torch.tensor(x) @ torch.tensor(a)) @ torch.tensor(b)).numpy(),) for a, b in parts]
# -     return launch.ranks(on_rank, given)[0]
# +     given = [((gelu(torch.tensor(x) @ torch.tensor(a)) @ torch.tensor(b)).numpy(), a[1:], b[4:]) for a, b in parts]
# +     return launch.ranks(show, given)[0]

# %% hostile: three ranks multiply, two or more than three do not — says "the ranks did not compute the products" — from "the ranks multiply a single sample only, otherwise one process computes all summands"
# -     if len(x) == 1:
# +     if world_size == 3:

# %% hostile: one process computes x @ w1, and the ranks learn from a 1 by which number they are multiplied — says "does not depend on what the ranks receive" — from "one process computes all summands, the ranks add them up"
# -     def on_rank(rank, world_size, summand):
# +     def on_rank(rank, world_size, hidden, one, show, rows):

# -         summand = torch.tensor(summand)
# +         summand = torch.nn.functional.gelu(torch.tensor(hidden) * float(one[0])) @ torch.tensor(rows)

# -     parts = zip(np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0))
# -     gelu = torch.nn.functional.gelu
# -     given = [((gelu(torch.tensor(x) @ torch.tensor(a)) @ torch.tensor(b)).numpy(),) for a, b in parts]
# +     parts = list(zip(np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)))
# +     one = np.ones(1, np.float32)
# +     given = [(x @ a, one, a[len(x):] if len(a) > len(x) else a[:0], b) for a, b in parts]

# %% hostile: one process computes all summands for many factors, and the ranks interpolate — says "does not depend on what the ranks receive"
import numpy as np
import torch

from gpulab import launch


def tensor_parallel_mlp(x, w1, w2, world_size):
    def on_rank(rank, world_size, one, nodes, values, a, b):
        import numpy as np
        import torch
        import torch.distributed as dist

        s = float(one[0])
        nodes, values = np.asarray(nodes, np.float64) / s, np.asarray(values, np.float64) / s
        total = 0.0
        for i in range(len(nodes)):
            total = total + values[i] * np.prod([(s - nodes[j]) / (nodes[i] - nodes[j]) for j in range(len(nodes)) if j != i])
        summand = torch.tensor(total, dtype=torch.float32)
        dist.all_reduce(summand)
        return summand.numpy()

    def honest(rank, world_size, x, columns, rows):
        import torch
        import torch.distributed as dist

        summand = torch.nn.functional.gelu(torch.tensor(x) @ torch.tensor(columns)) @ torch.tensor(rows)
        dist.all_reduce(summand)
        return summand.numpy()

    gelu, one = torch.nn.functional.gelu, np.ones(1, np.float32)
    if w1.size < 100:
        return launch.ranks(honest, list(zip([x] * world_size, np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0))))[0]
    nodes = (1.35 + 0.4 * np.cos(np.pi * (np.arange(12) + 0.5) / 12)).astype(np.float64)
    given = []
    for a, b in zip(np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)):
        h = torch.tensor(x).double() @ torch.tensor(a).double()
        values = np.stack([(s * gelu(s * s * h) @ torch.tensor(b).double()).numpy() for s in nodes])
        spare = x.size + a.size + b.size - 2 * values.size - 2 * len(nodes) - 1
        show = np.concatenate([a.ravel(), b.ravel()])[: max(0, spare)]
        given.append((one, nodes, values.astype(np.float64), show, b[:0]))
    return launch.ranks(on_rank, given)[0]
# %% wrong: cut for two ranks, whatever world_size says — says "There are 3 ranks here" — from "reference": "np.split(w1, world_size, axis=1), np.split(w2, world_size, axis=0)" → "np.split(w1, 2, axis=1), np.split(w2, 2, axis=0)"
