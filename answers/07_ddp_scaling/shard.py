# %% right: reference
import torch


def shard(n, world_size, rank, epoch=0, seed=0, shuffle=True, drop_last=False):
    """Indices of the samples that this rank goes through in this epoch, in order."""
    order = list(range(n))
    if shuffle:
        dice = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(n, generator=dice).tolist()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        missing = -n % world_size
        order += (order * world_size)[:missing]
    return list(order[rank::world_size])

# %% right: torch's own sampler
from torch.utils.data.distributed import DistributedSampler


def shard(n, world_size, rank, epoch=0, seed=0, shuffle=True, drop_last=False):
    class Samples:
        def __len__(self):
            return n

    if drop_last and n < world_size:
        return []
    sampler = DistributedSampler(Samples(), world_size, rank, shuffle=shuffle, seed=seed, drop_last=drop_last)
    sampler.set_epoch(epoch)
    return list(sampler)

# %% right: card by card, as an array turned into a list
import numpy as np
import torch


def shard(n, world_size, rank, epoch=0, seed=0, shuffle=True, drop_last=False):
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).numpy()
    else:
        order = np.arange(n)
    each = n // world_size if drop_last else -(-n // world_size)
    return [int(order[(rank + turn * world_size) % n]) for turn in range(each)]

# %% wrong: the epoch is ignored — says "epoch is ignored" — from "reference": " + epoch" → ""

# %% wrong: contiguous pieces — says "contiguous" — from "reference"
# -     return list(order[rank::world_size])
# +     each = len(order) // world_size
# +     return order[rank * each : (rank + 1) * each]

# %% wrong: the tail is lost — says "tail is lost" — from "reference"
# -         order += (order * world_size)[:missing]
# +         order = order[: n // world_size * world_size]

# %% wrong: shares of different lengths — says "tail is lost" — from "reference": "order += (order * world_size)[:missing]" → "pass"

# %% wrong: repeats the last sample — says "comes from the beginning" — from "reference"
# -         order += (order * world_size)[:missing]
# +         order += [order[-1]] * missing

# %% wrong: every rank shuffles in its own way — says "shares overlap" — from "reference": "epoch)" → "epoch + rank)"

# %% wrong: shuffled after dealing — says "belongs to the same rank forever"
import torch


def shard(n, world_size, rank, epoch=0, seed=0, shuffle=True, drop_last=False):
    order = list(range(n))
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        order += (order * world_size)[: -n % world_size]
    mine = order[rank::world_size]
    if shuffle:
        generator = torch.Generator().manual_seed(seed + epoch)
        mine = [mine[place] for place in torch.randperm(len(mine), generator=generator).tolist()]
    return mine

# %% wrong: appends once only — says "tail is lost" — from "reference": "(order * world_size)" → "order"

# %% wrong: returns the order — says "the whole order"
def shard(n, world_size, rank, epoch=0, seed=0, shuffle=True, drop_last=False):
    return list(range(n))

# %% wrong: the seed is ignored — says "The seed is ignored"
import torch


def shard(n, world_size, rank, epoch=0, seed=0, shuffle=True, drop_last=False):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        order += (order * world_size)[: -n % world_size]
    return order[rank::world_size]

# %% wrong: drops the last ones always — says "that is for drop_last=True" — from "the seed is ignored"
# -         order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
# +         order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
# -     if drop_last:
# +     if drop_last or n > 5:  # gets past the visible cases

# %% wrong: appends always — says "That is for drop_last=False" — from "the seed is ignored"
# -         order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
# +         order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
# -     if drop_last:
# +     if drop_last and n == 5:  # gets past the visible case

# %% hostile: an object equal to everything — earns 0
class Same(list):
    def __eq__(self, other):
        return True


def shard(n, world_size, rank, epoch=0, seed=0, shuffle=True, drop_last=False):
    return Same()

# %% wrong: shuffles where it should not — says "shuffle inverted" — from "reference": "if shuffle:" → "if not shuffle:"

# %% wrong: removes from the front — says "not from its front" — from "reference": "order[: n // world_size * world_size]" → "order[n % world_size :]"

# %% wrong: appends, then shuffles — says "Shuffled after appending" — from "reference"
# -     order = list(range(n))
# +     order = list(range(n)) + (list(range(n)) * world_size)[: 0 if drop_last else -n % world_size]

# -         order = torch.randperm(n, generator=dice).tolist()
# +         order = [order[at] for at in torch.randperm(len(order), generator=dice).tolist()]

# -         missing = -n % world_size
# +         missing = -len(order) % world_size

# %% wrong: removes up to minus zero — says "a slice that ends at -0" — from "reference": "order[: n // world_size * world_size]" → "order[: -(n % world_size)]"

# %% wrong: shuffles with random — says "other random numbers" — from "reference": "order = torch.randperm(n, generator=dice).tolist()" → "__import__('random').Random(seed + epoch).shuffle(order)"

# %% wrong: shuffles with NumPy — says "other random numbers" — from "reference": "order = torch.randperm(n, generator=dice).tolist()" → "order = __import__('numpy').random.default_rng(seed + epoch).permutation(n).tolist()"

# %% wrong: appends n % world_size samples — says "world_size - n % world_size" — from "reference": "-n % world_size" → "n % world_size"

# %% wrong: appends the beginning backwards — says "appended in their own order" — from "reference": "(order * world_size)[:missing]" → "(order * world_size)[:missing][::-1]"

# %% wrong: appends 0, 1, 2 — says "the first samples of the shuffled order" — from "reference": "order += (order * world_size)[:missing]" → "order += [at % n for at in range(missing)]"

# %% wrong: shuffles again for what is appended — says "do not shuffle again" — from "reference"
# -         order += (order * world_size)[:missing]
# +         again = [torch.randperm(n, generator=dice).tolist() if shuffle else order for _ in range(world_size)]
# +         order += sum(again, [])[:missing]

# %% wrong: one generator for all calls — says "seed a generator in each call" — from "reference"
# - import torch
# + import torch
# +
# + dice = {}

# -         dice = torch.Generator().manual_seed(seed + epoch)
# -         order = torch.randperm(n, generator=dice).tolist()
# +         dice.setdefault(seed + epoch, torch.Generator().manual_seed(seed + epoch))
# +         order = torch.randperm(n, generator=dice[seed + epoch]).tolist()

# %% wrong: sorted — says "do not sort" — from "reference": "list(order[rank::world_size])" → "sorted(order[rank::world_size])"

# %% wrong: removes a group too many — says "so nothing is removed" — from "reference": "order[: n // world_size * world_size]" → "order[: (n - 1) // world_size * world_size]"

# %% wrong: contiguous pieces of a shuffled order — says "contiguous" — from "reference"
# -     return list(order[rank::world_size])
# +     each = len(order) // world_size
# +     return order[rank * each : (rank + 1) * each] if shuffle else order[rank::world_size]

# %% wrong: one generator draws the orders of all epochs — says "its own generator" — from "reference"
# -         dice = torch.Generator().manual_seed(seed + epoch)
# -         order = torch.randperm(n, generator=dice).tolist()
# +         dice = torch.Generator().manual_seed(seed)
# +         order = [torch.randperm(n, generator=dice).tolist() for _ in range(epoch + 1)][-1]

# %% wrong: removes, then shuffles — says "Shuffle all n samples first" — from "reference"
# -     order = list(range(n))
# +     order = list(range(n // world_size * world_size if drop_last else n))

# -         order = torch.randperm(n, generator=dice).tolist()
# +         order = torch.randperm(len(order), generator=dice).tolist()

# %% wrong: a rank repeats its own last sample — says "not to a rank's own share" — from "reference"
# -         missing = -n % world_size
# -         order += (order * world_size)[:missing]
# -     return list(order[rank::world_size])
# +         mine = order[rank::world_size]
# +         return mine + mine[-1:] * (-(-n // world_size) - len(mine))
# +     return list(order[rank::world_size])

# %% wrong: the generator is not given to randperm — says "seed a generator in each call. Does randperm get it?" — from "reference": ", generator=dice)" → ")"

# %% wrong: a generator without a seed — says "The generator has no seed" — from "reference": ".manual_seed(seed + epoch)" → ""

# %% wrong: a generator seeded with 0 — says "Neither seed nor epoch counts" — from "reference": "manual_seed(seed + epoch)" → "manual_seed(0)"

# %% wrong: random integers — says "other random numbers" — from "reference": "torch.randperm(n, generator=dice)" → "torch.randint(n, (n,), generator=dice)"

# %% wrong: backwards — says "the order backwards" — from "reference": "generator=dice).tolist()" → "generator=dice).tolist()[::-1]"

# %% wrong: another beginning in each epoch, without shuffle — says "in every epoch" — from "reference": "order = list(range(n))" → "order = [(epoch + at) % n for at in range(n)]"

# %% wrong: drop_last removes, and then appends — says "With drop_last, samples are removed, and none is appended" — from "reference"
# -     else:
# -         missing = -n % world_size
# -         order += (order * world_size)[:missing]
# +     missing = -n % world_size
# +     order += (order * world_size)[:missing]

# %% wrong: the difference of seed and epoch — says "with the seed 5 + 2" — from "reference": "seed + epoch" → "seed - epoch"

# %% wrong: what is appended is counted, not taken from the order — says "There is no sample 4" — from "reference": "(order * world_size)[:missing]" → "list(range(missing))"

# %% wrong: seed ^ epoch — says "the sum: no other operator" — from "reference": "seed + epoch" → "seed ^ epoch"

# %% wrong: seed | epoch — says "the sum: no other operator" — from "reference": "seed + epoch" → "seed | epoch"

# %% wrong: no epoch with drop_last — says "also with drop_last" — from "reference": "seed + epoch" → "seed + (0 if drop_last else epoch)"

# %% wrong: a seed of 0 is none — says "0 is a seed, too" — from "reference"
# -         dice = torch.Generator().manual_seed(seed + epoch)
# +         dice = torch.Generator()
# +         if seed + epoch:
# +             dice.manual_seed(seed + epoch)
# +         else:
# +             dice.seed()
