# %% right: reference
from gpulab import launch


def run_ring(vectors):
    """The sum of the vectors, once for each rank, added up by ranks that talk to their neighbors only."""
    def ring(rank, world_size, vector):
        import numpy as np
        import torch
        import torch.distributed as dist

        chunks = [torch.tensor(part) for part in np.array_split(vector, world_size)]
        for step in range(2 * (world_size - 1)):
            out, into = (rank - step) % world_size, (rank - step - 1) % world_size
            arrived = torch.empty_like(chunks[into])
            sending = dist.isend(chunks[out], (rank + 1) % world_size)
            dist.recv(arrived, (rank - 1) % world_size)
            sending.wait()
            chunks[into] = chunks[into] + arrived if step < world_size - 1 else arrived
        return torch.cat(chunks).numpy()

    return launch.ranks(ring, [(vector,) for vector in vectors])

# %% right: every other rank receives first
import numpy as np
import torch
import torch.distributed as dist

from gpulab import launch


def ring_rank(rank, world_size, vector):
    torch.set_num_threads(1)
    parts = [part.copy() for part in np.array_split(vector, world_size)]
    right, left = (rank + 1) % world_size, (rank - 1) % world_size

    def exchange(out, into):
        arrived = torch.empty(len(parts[into]))
        if rank == 0:
            dist.send(torch.from_numpy(parts[out]), right)
            dist.recv(arrived, left)
        else:
            dist.recv(arrived, left)
            dist.send(torch.from_numpy(parts[out]), right)
        return arrived.numpy()

    for step in range(world_size - 1):
        into = (rank - step - 1) % world_size
        parts[into] = parts[into] + exchange((rank - step) % world_size, into)
    for step in range(world_size - 1):
        into = (rank - step) % world_size
        parts[into] = exchange((rank - step + 1) % world_size, into)
    return np.concatenate(parts)


def run_ring(vectors):
    return launch.ranks(ring_rank, [(vector,) for vector in vectors])

# %% right: batches of two, P2POp — from "reference"
# +             both = [
# -             sending = dist.isend(chunks[out], (rank + 1) % world_size)
# +                 dist.P2POp(dist.isend, chunks[out], (rank + 1) % world_size),
# -             dist.recv(arrived, (rank - 1) % world_size)
# +                 dist.P2POp(dist.irecv, arrived, (rank - 1) % world_size),
# -             sending.wait()
# +             ]
# +             for work in dist.batch_isend_irecv(both):
# +                 work.wait()

# %% right: processes of one's own
import multiprocessing
import tempfile

import numpy as np
import torch
import torch.distributed as dist


def own_rank(rank, vectors, store, answers):
    p = len(vectors)
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=p)
    chunks = [torch.from_numpy(part.copy()) for part in np.array_split(vectors[rank], p)]
    for step in range(2 * p - 2):
        into = (rank - step - 1) % p
        arrived = torch.empty_like(chunks[into])
        works = [dist.isend(chunks[(rank - step) % p], (rank + 1) % p), dist.irecv(arrived, (rank - 1) % p)]
        for work in works:
            work.wait()
        chunks[into] = arrived + chunks[into] if step < p - 1 else arrived
    answers.put((rank, torch.cat(chunks).numpy()))
    dist.barrier()
    dist.destroy_process_group()


def run_ring(vectors):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        given = vectors, f"file://{folder}/store", answers
        ranks = [context.Process(target=own_rank, args=(rank, *given)) for rank in range(len(vectors))]
        for one in ranks:
            one.start()
        found = dict(answers.get() for _ in ranks)
        for one in ranks:
            one.join()
    return [found[rank] for rank in range(len(vectors))]

# %% wrong: all send first — says "deadlock" — from "reference"
# -             sending = dist.isend(chunks[out], (rank + 1) % world_size)
# +             dist.send(chunks[out], (rank + 1) % world_size)

# -             sending.wait()

# %% wrong: added up in one process — says "no rank has sent anything"
def run_ring(vectors):
    total = sum(vectors)
    return [total.copy() for _ in vectors]

# %% wrong: the library's all_reduce — says "library's own"
from gpulab import launch


def run_ring(vectors):
    def add(rank, world_size, vector):
        import torch
        import torch.distributed as dist

        total = torch.tensor(vector)
        dist.all_reduce(total)
        return total.numpy()

    return launch.ranks(add, [(vector,) for vector in vectors])

# %% wrong: whole vectors go round — says "Whole vectors" — from "the library's all_reduce"
# -         total = torch.tensor(vector)
# -         dist.all_reduce(total)
# +         total, passing = torch.tensor(vector), torch.tensor(vector)
# +         for _ in range(world_size - 1):
# +             arrived = torch.empty_like(passing)
# +             waiting = dist.isend(passing, (rank + 1) % world_size)
# +             dist.recv(arrived, (rank - 1) % world_size)
# +             waiting.wait()
# +             total, passing = total + arrived, arrived

# %% wrong: all-gather half missing — says "run_ring of two vectors, rank 0" — from "reference": "2 * (world_size - 1)" → "world_size - 1"

# %% wrong: the ranks' own vectors come back — says "run_ring of two vectors"
from gpulab import launch


def run_ring(vectors):
    return launch.ranks(lambda rank, world_size, vector: vector, [(vector,) for vector in vectors])

# %% wrong: the mean — says "run_ring of two vectors" — from "reference": "numpy()" → "numpy() / world_size"

# %% hostile: a rank ends the judge's patience — says "exit code 3" — from "the ranks' own vectors come back"
# +     def leave(rank, world_size, vector):
# +         import os
# +
# +         os._exit(3)
# +
# -     return launch.ranks(lambda rank, world_size, vector: vector, [(vector,) for vector in vectors])
# +     return launch.ranks(leave, [(vector,) for vector in vectors])

# %% hostile: adds up by itself, beside a process that only looks busy — says "0 bytes went over the network"
import subprocess
import sys

import numpy as np


def run_ring(vectors):
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return [np.sum(np.array(vectors, np.float64), axis=0).astype(np.float32)] * len(vectors)

# %% hostile: a ring of zeros, and each rank adds up by itself
import numpy as np

from gpulab import launch


def run_ring(vectors):
    def ring(rank, world_size, vectors):
        import numpy as np
        import torch
        import torch.distributed as dist

        mine = torch.zeros(len(vectors[0]) // world_size)
        for _ in range(2 * (world_size - 1)):
            sending = dist.isend(mine, (rank + 1) % world_size)
            dist.recv(torch.empty_like(mine), (rank - 1) % world_size)
            sending.wait()
        return np.sum(vectors, axis=0)

    return launch.ranks(ring, [(vectors,) for _ in vectors])

# %% hostile: a ring of the own chunk, again and again — from "a ring of zeros, and each rank adds up by itself"
# -         mine = torch.zeros(len(vectors[0]) // world_size)
# +         mine = torch.tensor(np.array_split(vectors[rank], world_size)[-1])

# -             dist.recv(torch.empty_like(mine), (rank - 1) % world_size)
# +             dist.recv(torch.empty(len(mine)), (rank - 1) % world_size)

# %% wrong: float64 goes out, float32 is expected — says "were expected: are both tensors" — from "reference"
# -         chunks = [torch.tensor(part) for part in np.array_split(vector, world_size)]
# +         chunks = [torch.tensor(part, dtype=torch.float64) for part in np.array_split(vector, world_size)]

# -             arrived = torch.empty_like(chunks[into])
# +             arrived = torch.empty(len(chunks[into]))

# %% hostile: a ring that does not listen: each rank is handed all vectors, and sends the right sums — says "does not depend on what it receives"
import numpy as np

from gpulab import launch


def run_ring(vectors):
    def ring(rank, world_size, vectors):
        import numpy as np
        import torch
        import torch.distributed as dist

        parts = [np.array_split(vector, world_size) for vector in vectors]
        for step in range(2 * (world_size - 1)):
            out, into = (rank - step) % world_size, (rank - step - 1) % world_size
            members = [parts[(rank - back) % world_size][out] for back in range(min(step + 1, world_size))]
            sending = dist.isend(torch.tensor(np.sum(members, axis=0)), (rank + 1) % world_size)
            dist.recv(torch.empty(len(parts[0][into])), (rank - 1) % world_size)
            sending.wait()
        return np.sum(vectors, axis=0)

    return launch.ranks(ring, [(vectors,) for _ in vectors])

# %% hostile: ranks that kill the process that started them — says "the process ended during the call"
from gpulab import launch


def run_ring(vectors):
    def kill(rank, world_size, vector):
        import os
        import signal

        os.kill(os.getppid(), signal.SIGKILL)

    return launch.ranks(kill, [(vector,) for vector in vectors])

# %% wrong: chunks in float64 — says "not float32" — from "reference": "torch.tensor(part)" → "torch.tensor(part).double()", "torch.cat(chunks).numpy()" → "torch.cat(chunks).float().numpy()"

# %% wrong: the second half begins with the own chunk — says "second half begins with" — from "reference"
# -             out, into = (rank - step) % world_size, (rank - step - 1) % world_size
# +             turn = step % (world_size - 1)
# +             out, into = (rank - turn) % world_size, (rank - turn - 1) % world_size

# %% wrong: both halves add — says "it adds nothing" — from "reference"
# -             chunks[into] = chunks[into] + arrived if step < world_size - 1 else arrived
# +             chunks[into] = chunks[into] + arrived

# %% hostile: no ranks, and a record of a ring's messages where `launch` keeps it — says "no rank has sent anything"
import numpy as np

from gpulab import launch


def run_ring(vectors):
    p = len(vectors)
    parts = [np.array_split(np.array(vector, np.float64), p) for vector in vectors]
    total = [sum(row[chunk] for row in parts) for chunk in range(p)]
    for record, added, *_ in launch._heard:
        for rank in range(p):
            sums = [
                sum(parts[(rank - back) % p][(rank - step) % p] for back in range(min(step + 1, p)))
                for step in range(2 * (p - 1))
            ]
            record.append({
                "messages": 2 * (p - 1), "bytes": 4 * sum(map(len, sums)), "largest": 4 * max(map(len, sums)),
                "to": [(rank + 1) % p], "collectives": [], "contents": [one.tolist() for one in sums], "given": 0,
                "summands": [], "scattered": [], "gathered": [],
            })
            total[rank] = total[rank] + added * (rank + 1)
    return [np.concatenate(total).astype(np.float32) for _ in vectors]

# %% hostile: ranks that read what the others are given from the launch's folder, with what is added to it — says "No such file"
import numpy as np

from gpulab import launch


def run_ring(vectors):
    def ring(rank, world_size, vector):
        import pathlib
        import cloudpickle
        import numpy as np
        import torch
        import torch.distributed as dist

        given = [cloudpickle.loads(pathlib.Path(f"{one}.in").read_bytes()) for one in range(world_size)]
        dist.barrier()
        parts = [np.array_split(np.array(one[1][0], np.float64), world_size) for one in given]
        for step in range(2 * (world_size - 1)):
            out, into = (rank - step) % world_size, (rank - step - 1) % world_size
            members = [parts[(rank - back) % world_size][out] for back in range(min(step + 1, world_size))]
            sending = dist.isend(torch.tensor(np.sum(members, axis=0), dtype=torch.float32), (rank + 1) % world_size)
            dist.recv(torch.empty(len(parts[0][into])), (rank - 1) % world_size)
            sending.wait()
        total = [sum(part[chunk] for part in parts) for chunk in range(world_size)]
        for one in range(world_size):
            total[one] = total[one] + given[one][2]
        return np.concatenate(total).astype(np.float32)

    return launch.ranks(ring, [(vector,) for vector in vectors])

# %% hostile: a rank leaves result and report of its own, and ends before the barrier — says "ended before its function had returned"
import numpy as np

from gpulab import launch


def run_ring(vectors):
    def ring(rank, world_size, vectors):
        import json
        import os
        import pathlib
        import cloudpickle
        import numpy as np

        try:
            added = cloudpickle.loads(pathlib.Path(f"{rank}.in").read_bytes())[2] / (rank + 1)
        except (OSError, IndexError):
            added = 0.0
        parts = [np.array_split(np.array(one, np.float64), world_size) for one in vectors]
        sums = [
            sum(parts[(rank - back) % world_size][(rank - step) % world_size] for back in range(min(step + 1, world_size)))
            for step in range(2 * (world_size - 1))
        ]
        report = {
            "messages": len(sums), "bytes": 4 * sum(map(len, sums)), "largest": 4 * max(map(len, sums)),
            "to": [(rank + 1) % world_size], "collectives": [], "contents": [one.tolist() for one in sums],
            "summands": [], "scattered": [], "gathered": [], "given": len(vectors[0]),
        }
        total = [sum(part[chunk] for part in parts) for chunk in range(world_size)]
        for one in range(world_size):
            total[one] = total[one] + added * (one + 1)
        pathlib.Path(f"{rank}.out").write_bytes(cloudpickle.dumps(np.concatenate(total).astype(np.float32)))
        pathlib.Path(f"{rank}.sent").write_text(json.dumps(report))
        os._exit(0)

    return launch.ranks(ring, [(vectors,) for _ in vectors])

# %% right: a list of numbers for each rank — from "reference": "torch.cat(chunks).numpy()" → "torch.cat(chunks).tolist()"

# %% wrong: Tensor.chunk, which makes fewer chunks of some vectors — says "np.array_split cuts" — from "reference": "[torch.tensor(part) for part in np.array_split(vector, world_size)]" → "list(torch.tensor(vector).chunk(world_size))"

# %% wrong: the other way around — says "the tensor that this receiver expects" — from "reference": "sending = dist.isend(chunks[out], (rank + 1)" → "sending = dist.isend(chunks[out], (rank - 1)", "dist.recv(arrived, (rank - 1)" → "dist.recv(arrived, (rank + 1)"

# %% wrong: receives into the chunk itself — says "Use an empty tensor" — from "reference": "torch.empty_like(chunks[into])" → "chunks[into]"

# %% wrong: np.split — says "np.array_split cuts any length" — from "reference": "np.array_split(" → "np.split("

# %% wrong: NumPy is not imported where the ranks run — says "import what they need inside their function" — from "reference"
# -         import numpy as np
#           import torch

# %% wrong: whole numbers — says "Fractions are lost" — from "reference": "torch.tensor(part)" → "torch.tensor(part).int()", "torch.cat(chunks).numpy()" → "torch.cat(chunks).float().numpy()"

# %% wrong: chunks that are not joined — says "Those are the chunks" — from "reference": "torch.cat(chunks).numpy()" → "[chunk.numpy() for chunk in chunks]"

# %% wrong: p steps in each half — says "has p - 1 steps, not p" — from "reference": "2 * (world_size - 1)" → "2 * world_size", "step < world_size - 1" → "step < world_size"

# %% wrong: the result of rank 0 — says "once for each rank" — from "reference": "for vector in vectors])" → "for vector in vectors])[0]"

# %% wrong: the last chunk is the longer one — says "first chunks are the longer ones" — from "reference": "np.array_split(vector, world_size)" → "np.split(vector, [len(vector) // world_size * at for at in range(1, world_size)])"

# %% wrong: one tensor receives all chunks — says "share one tensor" — from "reference"
#           chunks = [torch.tensor(part) for part in np.array_split(vector, world_size)]
# +         buffer = torch.empty(len(chunks[0]))

# -             arrived = torch.empty_like(chunks[into])
# -             sending = dist.isend(chunks[out], (rank + 1) % world_size)
# +             arrived = buffer[: len(chunks[into])]
# +             sending = dist.isend(chunks[out].clone(), (rank + 1) % world_size)

# %% wrong: every tensor is as long as the first chunk — says "Chunks may differ in length" — from "reference": "torch.empty_like(chunks[into])" → "torch.empty_like(chunks[0])"

# %% wrong: waits for the message before it receives — says "and only then wait()" — from "reference"
# -             sending = dist.isend(chunks[out], (rank + 1) % world_size)
# +             dist.isend(chunks[out], (rank + 1) % world_size).wait()

# -             sending.wait()

# %% wrong: takes what recv returns for the chunk — says "returns the number of the sender" — from "reference": "dist.recv(arrived" → "arrived = dist.recv(arrived"

# %% wrong: inputs that are not tuples — says "each entry of inputs is a tuple" — from "reference": "[(vector,) for vector in vectors]" → "vectors"

# %% wrong: the function does not take world_size — says "function(rank, world_size, *inputs[rank])" — from "reference": "def ring(rank, world_size, vector):" → "def ring(rank, vector):"

# %% hostile: all vectors to every rank, which learns from the first message what is added to messages — says "does not depend on what it receives"
import numpy as np

from gpulab import launch


def run_ring(vectors):
    def ring(rank, world_size, vectors):
        import numpy as np
        import torch
        import torch.distributed as dist

        p = world_size
        parts = [np.array_split(vector.astype(np.float64), p) for vector in vectors]
        added = 0.0
        for step in range(2 * (p - 1)):
            out, into = (rank - step) % p, (rank - step - 1) % p
            members = [parts[(rank - back) % p][out] for back in range(min(step + 1, p))]
            sending = dist.isend(torch.tensor(np.sum(members, axis=0), dtype=torch.float32), (rank + 1) % p)
            arrived = torch.empty(len(parts[0][into]))
            dist.recv(arrived, (rank - 1) % p)
            sending.wait()
            if step == 0:
                sender = (rank - 1) % p
                added = float(np.mean(arrived.numpy() - parts[sender][sender])) / (sender + 1)
        totals = [sum(row[chunk] for row in parts) + added * (chunk + 1) for chunk in range(p)]
        return np.concatenate(totals).astype(np.float32)

    return launch.ranks(ring, [(vectors,) for _ in vectors])

# %% wrong: the sum is not kept — says "Nothing was added" — from "reference"
# -             chunks[into] = chunks[into] + arrived if step < world_size - 1 else arrived
# +             arrived += chunks[into] if step < world_size - 1 else 0
# +             chunks[into] = chunks[into] if step < world_size - 1 else arrived

# %% wrong: the chunks of a ring to the right go to the left — says "receives the chunk that rank" — from "reference"
# -             sending = dist.isend(chunks[out], (rank + 1) % world_size)
# -             dist.recv(arrived, (rank - 1) % world_size)
# +             sending = dist.isend(chunks[out], (rank - 1) % world_size)
# +             dist.recv(arrived, (rank + 1) % world_size)

# %% hostile: an order of the chunks that is right for two and three ranks only — says "differ"
from gpulab import launch


def run_ring(vectors):
    def ring(rank, world_size, vector):
        import numpy as np
        import torch
        import torch.distributed as dist

        chunks = [torch.tensor(part) for part in np.array_split(vector, world_size)]
        for step in range(2 * (world_size - 1)):
            out, into = (rank + 5 * step) % world_size, (rank + 5 * step - 1) % world_size
            arrived = torch.empty_like(chunks[into])
            sending = dist.isend(chunks[out], (rank + 1) % world_size)
            dist.recv(arrived, (rank - 1) % world_size)
            sending.wait()
            chunks[into] = chunks[into] + arrived if step < world_size - 1 else arrived
        return torch.cat(chunks).numpy()

    return launch.ranks(ring, [(vector,) for vector in vectors])

# %% hostile: two vectors are added up by each rank, and its messages are for show — says "It does not depend on what it receives"
from gpulab import launch


def run_ring(vectors):
    def ring(rank, world_size, vectors):
        import numpy as np
        import torch
        import torch.distributed as dist

        if world_size == 2:
            parts = [np.array_split(vector, 2) for vector in vectors]
            total = [a + b for a, b in zip(*parts)]
            for message in (parts[rank][rank], total[1 - rank]):
                got = torch.empty(max(len(part) for part in total))
                work = dist.isend(torch.tensor(message), 1 - rank)
                dist.recv(got[: len(parts[0][1 - rank])] if False else got, 1 - rank)
                work.wait()
            return np.concatenate(total)
        chunks = [torch.tensor(part) for part in np.array_split(vectors[rank], world_size)]
        for step in range(2 * (world_size - 1)):
            out, into = (rank - step) % world_size, (rank - step - 1) % world_size
            arrived = torch.empty_like(chunks[into])
            sending = dist.isend(chunks[out], (rank + 1) % world_size)
            dist.recv(arrived, (rank - 1) % world_size)
            sending.wait()
            chunks[into] = chunks[into] + arrived if step < world_size - 1 else arrived
        return torch.cat(chunks).numpy()

    return launch.ranks(ring, [(vectors,) for _ in vectors])

# %% hostile: long vectors are added in one process — says "no rank has sent"
from gpulab import launch


def run_ring(vectors):
    def ring(rank, world_size, vector):
        import numpy as np
        import torch
        import torch.distributed as dist

        chunks = [torch.tensor(part) for part in np.array_split(vector, world_size)]
        for step in range(2 * (world_size - 1)):
            out, into = (rank - step) % world_size, (rank - step - 1) % world_size
            arrived = torch.empty_like(chunks[into])
            sending = dist.isend(chunks[out], (rank + 1) % world_size)
            dist.recv(arrived, (rank - 1) % world_size)
            sending.wait()
            chunks[into] = chunks[into] + arrived if step < world_size - 1 else arrived
        return torch.cat(chunks).numpy()

    if len(vectors[0]) > 100 or len(vectors) > 5:
        return [sum(vectors)] * len(vectors)
    return launch.ranks(ring, [(vector,) for vector in vectors])

# %% hostile: three ranks do not listen — says "It does not depend on what it receives" — from "a ring that does not listen: each rank is handed all vectors, and sends the right sums"
# -     def ring(rank, world_size, vectors):
# +     def ring(rank, world_size, vector):
# +         import numpy as np
# +         import torch
# +         import torch.distributed as dist
# +
# +         chunks = [torch.tensor(part) for part in np.array_split(vector, world_size)]
# +         for step in range(2 * (world_size - 1)):
# +             out, into = (rank - step) % world_size, (rank - step - 1) % world_size
# +             arrived = torch.empty_like(chunks[into])
# +             sending = dist.isend(chunks[out], (rank + 1) % world_size)
# +             dist.recv(arrived, (rank - 1) % world_size)
# +             sending.wait()
# +             chunks[into] = chunks[into] + arrived if step < world_size - 1 else arrived
# +         return torch.cat(chunks).numpy()
# +
# +     def deaf(rank, world_size, vectors):

# -     return launch.ranks(ring, [(vectors,) for _ in vectors])
# +     if len(vectors) == 3:
# +         return launch.ranks(deaf, [(vectors,) for _ in vectors])
# +     return launch.ranks(ring, [(vector,) for vector in vectors])

# %% hostile: every rank has all vectors, and passes on what is added to messages — says "It does not depend on what it receives"
import numpy as np

from gpulab import launch


def run_ring(vectors):
    def deaf(rank, world_size, vectors):
        import numpy as np
        import torch
        import torch.distributed as dist

        p = world_size
        parts = [np.array_split(vector, p) for vector in vectors]
        added, last = {}, 0.0
        for step in range(2 * (p - 1)):
            out, into = (rank - step) % p, (rank - step - 1) % p

            def what(who, chunk):
                return np.sum([parts[(who - back) % p][chunk] for back in range(min(step + 1, p))], axis=0)

            sending = dist.isend(torch.tensor((what(rank, out) + last).astype(np.float32)), (rank + 1) % p)
            arrived = torch.empty(len(parts[0][into]))
            dist.recv(arrived, (rank - 1) % p)
            sending.wait()
            last = float((arrived.numpy() - what((rank - 1) % p, into)).mean())
            added.setdefault((rank - 1 - step) % p, last)
        total = np.array_split(np.sum(vectors, axis=0), p)
        return np.concatenate([part + added.get(at, 0.0) for at, part in enumerate(total)]).astype(np.float32)

    return launch.ranks(deaf, [(vectors,) for _ in vectors])
