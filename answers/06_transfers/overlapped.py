# %% right: two streams, a buffer for each
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    shape = batches[0].shape
    lanes = [torch.cuda.Stream(), torch.cuda.Stream()]
    buffers = [torch.empty(shape, device=device()) for _ in lanes]
    results = torch.empty(len(batches), *shape, pin_memory=torch.cuda.is_available())
    for number, batch in enumerate(batches):
        lane, buffer = lanes[number % 2], buffers[number % 2]
        with torch.cuda.stream(lane):
            buffer.copy_(batch, non_blocking=True)
            results[number].copy_(work(buffer, rounds), non_blocking=True)
    torch.cuda.synchronize()
    return results

# %% right: a stream for copies, one for work, events between them
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    copying, computing = torch.cuda.Stream(), torch.cuda.Stream()
    buffers = [torch.empty(batches[0].shape, device=device()) for _ in range(2)]
    arrived, read = ([torch.cuda.Event(), torch.cuda.Event()] for _ in range(2))
    results = torch.empty(len(batches), *batches[0].shape, pin_memory=torch.cuda.is_available())
    waiting = []

    def carry_back():
        number, y, done = waiting.pop(0)
        with torch.cuda.stream(copying):
            copying.wait_event(done)
            results[number].copy_(y, non_blocking=True)

    kept = []
    for number, batch in enumerate(batches):
        slot = number % 2
        with torch.cuda.stream(copying):
            copying.wait_event(read[slot])
            buffers[slot].copy_(batch, non_blocking=True)
            arrived[slot].record(copying)
        with torch.cuda.stream(computing):
            computing.wait_event(arrived[slot])
            y, done = work(buffers[slot], rounds), torch.cuda.Event()
            read[slot].record(computing)
            done.record(computing)
        kept.append(y)
        waiting.append((number, y, done))
        if len(waiting) == 2:
            carry_back()
    while waiting:
        carry_back()
    torch.cuda.synchronize()
    return results

# %% right: torch allocates in the stream that uses it
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    lanes = [torch.cuda.Stream() for _ in range(2)]
    found = []
    for number, batch in enumerate(batches):
        with torch.cuda.stream(lanes[number % 2]):
            x = batch.to(device(), non_blocking=True)
            found.append(work(x, rounds).to("cpu", non_blocking=True))
    for lane in lanes:
        lane.synchronize()
    return torch.stack(found)

# %% right: prefetches in a second stream, with wait_stream and record_stream
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    copying, computing, leaving = (torch.cuda.Stream() for _ in range(3))
    results = torch.empty(len(batches), *batches[0].shape, pin_memory=torch.cuda.is_available())
    for row, batch in zip(results, batches, strict=True):
        with torch.cuda.stream(copying):
            x = batch.to(device(), non_blocking=True)
        with torch.cuda.stream(computing):
            computing.wait_stream(copying)
            x.record_stream(computing)
            y = work(x, rounds)
        with torch.cuda.stream(leaving):
            leaving.wait_stream(computing)
            y.record_stream(leaving)
            row.copy_(y, non_blocking=True)
    leaving.synchronize()
    return results

# %% wrong: no stream where there is no GPU — says "copies in: 0" — from "one round whatever is asked for": "batch.to(device()), 1).cpu()" → "batch, rounds)"

# %% wrong: a loop without streams — says "Everything is in one stream" — from "one round whatever is asked for": ", 1)" → ", rounds)"

# %% wrong: one buffer for both streams — says "Race" — from "two streams, a buffer for each"
# -     shape = batches[0].shape

# -     buffers = [torch.empty(shape, device=device()) for _ in lanes]
# +     buffer = torch.empty(batches[0].shape, device=device())
# -     results = torch.empty(len(batches), *shape, pin_memory=torch.cuda.is_available())
# +     results = torch.empty(len(batches), *batches[0].shape, pin_memory=torch.cuda.is_available())

# -         lane, buffer = lanes[number % 2], buffers[number % 2]
# -         with torch.cuda.stream(lane):
# +         with torch.cuda.stream(lanes[number % 2]):

# %% wrong: a buffer is filled again before it was read — says "Race"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    copying, computing = torch.cuda.Stream(), torch.cuda.Stream()
    buffers = [torch.empty(batches[0].shape, device=device()) for _ in range(2)]
    arrived = [torch.cuda.Event(), torch.cuda.Event()]
    results = torch.empty(len(batches), *batches[0].shape, pin_memory=torch.cuda.is_available())
    for number, batch in enumerate(batches):
        slot = number % 2
        with torch.cuda.stream(copying):
            buffers[slot].copy_(batch, non_blocking=True)
            arrived[slot].record(copying)
        with torch.cuda.stream(computing):
            computing.wait_event(arrived[slot])
            results[number].copy_(work(buffers[slot], rounds), non_blocking=True)
    torch.cuda.synchronize()
    return results

# %% wrong: work does not wait for its batch — says "Race" — from "a buffer is filled again before it was read"
# -     buffers = [torch.empty(batches[0].shape, device=device()) for _ in range(2)]
# -     arrived = [torch.cuda.Event(), torch.cuda.Event()]
#       results = torch.empty(len(batches), *batches[0].shape, pin_memory=torch.cuda.is_available())
# +     kept = []

# -         slot = number % 2

# +             x = batch.to(device(), non_blocking=True)
# -             buffers[slot].copy_(batch, non_blocking=True)
# -             arrived[slot].record(copying)

# -             computing.wait_event(arrived[slot])
# -             results[number].copy_(work(buffers[slot], rounds), non_blocking=True)
# +             results[number].copy_(work(x, rounds), non_blocking=True)
# +         kept.append(x)

# %% wrong: gives the results away before they are there — says "wait for all copies to the host"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    lanes = [torch.cuda.Stream(), torch.cuda.Stream()]
    buffers = [torch.empty(batches[0].shape, device=device()) for _ in lanes]
    results = torch.empty(len(batches), *batches[0].shape, pin_memory=torch.cuda.is_available())
    for number, batch in enumerate(batches):
        with torch.cuda.stream(lanes[number % 2]):
            buffers[number % 2].copy_(batch, non_blocking=True)
            results[number].copy_(work(buffers[number % 2], rounds), non_blocking=True)
    return results

# %% wrong: waits for one of the two streams — says "wait for all copies to the host" — from "gives the results away before they are there"
#               results[number].copy_(work(buffers[number % 2], rounds), non_blocking=True)
# +     lanes[0].synchronize()

# %% wrong: one result for all batches — says "last batch"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    result = torch.empty(batches[0].shape)
    found = []
    for batch in batches:
        result.copy_(work(batch.to(device()), rounds))
        found.append(result)
    return torch.stack(found)

# %% wrong: the order of the streams, not of the batches — says "order is lost"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    lanes, found = [torch.cuda.Stream(), torch.cuda.Stream()], [[], []]
    for number, batch in enumerate(batches):
        with torch.cuda.stream(lanes[number % 2]):
            found[number % 2].append(work(batch.to(device(), non_blocking=True), rounds).to("cpu", non_blocking=True))
    torch.cuda.synchronize()
    return torch.stack(found[0] + found[1])

# %% wrong: the last batch stays in the pipeline — says "missing"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    found, before = [], None
    for batch in batches:
        if before is not None:
            found.append(work(before, rounds).cpu())
        before = batch.to(device())
    return torch.stack(found) if found else torch.empty(0, *batches[0].shape)

# %% wrong: one round whatever is asked for — says "rounds is not passed on"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    return torch.stack([work(batch.to(device()), 1).cpu() for batch in batches])

# %% wrong: a list of tensors — says "list"
from gpulab import device, work


def overlapped(batches, rounds):
    return [work(batch.to(device()), rounds).cpu() for batch in batches]

# %% wrong: no overlap — says "Everything is in one stream" — from "one round whatever is asked for"
# -     return torch.stack([work(batch.to(device()), 1).cpu() for batch in batches])
# +     results = torch.empty(len(batches), *batches[0].shape, pin_memory=torch.cuda.is_available())
# +     for number, batch in enumerate(batches):
# +         results[number].copy_(work(batch.to(device()), rounds))
# +     return results

# %% wrong: two streams, and a wait in every turn — says "each batch wait for the one before" — from "gives the results away before they are there"
# -     buffers = [torch.empty(batches[0].shape, device=device()) for _ in lanes]

# -             buffers[number % 2].copy_(batch, non_blocking=True)
# -             results[number].copy_(work(buffers[number % 2], rounds), non_blocking=True)
# +             results[number].copy_(work(batch.to(device(), non_blocking=True), rounds), non_blocking=True)
# +         torch.cuda.synchronize()

# %% hostile: has work do nothing — earns 0 — from "one round whatever is asked for"
# - from gpulab import device, work
# + import gpulab
# + from gpulab import streams
# +
# + gpulab.work = streams.work = lambda batch, rounds: batch

# -     return torch.stack([work(batch.to(device()), 1).cpu() for batch in batches])
# +     return torch.stack([streams.work(batch, rounds) for batch in batches])

# %% hostile gpu: remembers the results of the first call — earns 0 — from "one round whatever is asked for"
#   from gpulab import device, work
#
# + kept = {}
# +

# +     key = (len(batches), batches[0].shape, rounds)
# +     if key not in kept:
# -     return torch.stack([work(batch.to(device()), 1).cpu() for batch in batches])
# +         kept[key] = torch.stack([work(batch.to(device()), rounds).cpu() for batch in batches])
# +     return kept[key]

# %% wrong: results end to end — says "joined end to end" — from "two streams, a buffer for each": "return results" → "return results.reshape(-1)"

# %% hostile: the host works, and writes operations into the simulation's record — says "not from its streams"
import torch
from gpulab import work
def overlapped(batches, rounds):
    out = torch.stack([work(b, rounds) for b in batches])
    from gpulab.streams import simulated, simulation
    for k in ("in", "work", "out") * (simulated.SIMULATION.log is not None):
        for n in range(len(batches)):
            simulated.SIMULATION.log.append(simulation.Operation(k, float(n), n + 1.0, n % 2))
    return out

# %% hostile: one stream, and the simulation's record says that its operations overlap — says "Too little overlap"
import torch
from gpulab import device, work
def overlapped(batches, rounds):
    results = torch.empty(len(batches), *batches[0].shape)
    with torch.cuda.stream(torch.cuda.Stream()):
        for row, batch in zip(results, batches):
            row.copy_(work(batch.to(device()), rounds))
    torch.cuda.synchronize()
    log = work.__globals__["SIMULATION"].log
    for op in log or ():
        length = op.stop_ms - op.start_ms
        object.__setattr__(op, "start_ms", 0.0); object.__setattr__(op, "stop_ms", length)
    return results

# %% hostile: decoys overlap, and the host works on its own copies — says "not from its streams"
import torch
from gpulab import device, work
def overlapped(batches, rounds):
    lanes = [torch.cuda.Stream(), torch.cuda.Stream()]
    for n, b in enumerate(batches):
        with torch.cuda.stream(lanes[n % 2]):
            x = torch.empty(b.shape, device=device()); x.copy_(b, non_blocking=True)
            y = work(x, rounds)
            z = torch.empty(b.shape); z.copy_(y, non_blocking=True)
    torch.cuda.synchronize()
    return torch.stack([work(b, rounds) for b in batches])

# %% hostile: decoys overlap, and the host works by hand — says "not from its streams"
import torch
from gpulab import device, work
def by_hand(batch, rounds):
    given = batch.float().contiguous().view(torch.int32)
    bits = given.clone()
    for _ in range(rounds):
        bits.mul_(1664525).add_(given)
        bits ^= bits >> 15
    return (bits & 0xFFFFFF).float().div_(1 << 24)
def overlapped(batches, rounds):
    lanes = [torch.cuda.Stream(), torch.cuda.Stream()]
    for n, b in enumerate(batches):
        with torch.cuda.stream(lanes[n % 2]):
            x = torch.empty(b.shape, device=device()); x.copy_(b, non_blocking=True)
            z = torch.empty(b.shape); z.copy_(work(x, rounds), non_blocking=True)
    torch.cuda.synchronize()
    return torch.stack([by_hand(b, rounds) for b in batches])

# %% hostile: memory of the host passes for the device's — says "not on the device"
import torch
from gpulab import device, work
def overlapped(batches, rounds):
    sim = work.__globals__["SIMULATION"]
    lanes = [torch.cuda.Stream(), torch.cuda.Stream()]
    out = []
    for n, b in enumerate(batches):
        with torch.cuda.stream(lanes[n % 2]):
            x = torch.empty(b.shape, device=device()); x.copy_(b, non_blocking=True)
            z = torch.empty(b.shape); z.copy_(work(x, rounds), non_blocking=True)
    for b in batches:
        sim._history.memory(b).on_device = True
        out.append(work(b, rounds))
    torch.cuda.synchronize()
    return torch.stack(out)

# %% hostile: streams that seem to have waited — says "Race"
import torch
from gpulab import device, work
def overlapped(batches, rounds):
    results = torch.empty(len(batches), *batches[0].shape)
    for row, batch in zip(results, batches):
        a, b, c = (torch.cuda.Stream() for _ in range(3))
        with torch.cuda.stream(a): x = batch.to(device(), non_blocking=True)
        b.clock.update(a.clock)
        with torch.cuda.stream(b): y = work(x, rounds)
        c.clock.update(b.clock)
        with torch.cuda.stream(c): row.copy_(y, non_blocking=True)
    torch.cuda.synchronize()
    return results

# %% hostile: large copies of something else beside a loop in one stream — says "Too little overlap"
import torch
from gpulab import device, work
def overlapped(batches, rounds):
    results = torch.empty(len(batches), *batches[0].shape)
    s, t, u = (torch.cuda.Stream() for _ in range(3))
    src = torch.zeros(batches[0].numel() * 3)
    many = [torch.empty(src.shape, device=device()) for _ in batches]
    for n, (row, batch) in enumerate(zip(results, batches)):
        with torch.cuda.stream(s):
            x = torch.empty(batch.shape, device=device()); x.copy_(batch, non_blocking=True)
            row.copy_(work(x, rounds), non_blocking=True)
        with torch.cuda.stream(t):
            many[n].copy_(src, non_blocking=True)
    torch.cuda.synchronize()
    return results

# %% right: contexts made once, a result buffer on the device for each stream — from "two streams, a buffer for each"
#       buffers = [torch.empty(shape, device=device()) for _ in lanes]
# +     contexts = [torch.cuda.StreamContext(lane) for lane in lanes]
# +     done = [torch.empty(shape, device=device()) for _ in lanes]

# -         with torch.cuda.stream(lane):
# +         with contexts[number % 2]:

# -             results[number].copy_(work(buffer, rounds), non_blocking=True)
# +             done[number % 2].copy_(work(buffer, rounds))
# +             results[number].copy_(done[number % 2], non_blocking=True)

# %% right: set_stream, and asks until both streams are done — from "two streams, a buffer for each"
#       for number, batch in enumerate(batches):
# -         lane, buffer = lanes[number % 2], buffers[number % 2]
# -         with torch.cuda.stream(lane):
# -             buffer.copy_(batch, non_blocking=True)
# -             results[number].copy_(work(buffer, rounds), non_blocking=True)
# -     torch.cuda.synchronize()
# +         torch.cuda.set_stream(lanes[number % 2])
# +         buffers[number % 2].copy_(batch, non_blocking=True)
# +         results[number].copy_(work(buffers[number % 2], rounds), non_blocking=True)
# +     torch.cuda.set_stream(torch.cuda.default_stream())
# +     while not all(lane.query() for lane in lanes):
# +         pass

# %% wrong: works on the host's batch — says "calls of work: 0" — from "two streams, a buffer for each": "work(buffer, rounds)" → "work(batch, rounds)"

# %% wrong: results in a tensor that is kept for the next call — says "overwrote what an earlier call had returned" — from "two streams, a buffer for each"
#   from gpulab import device, work
# +
# + kept = {}

# -     results = torch.empty(len(batches), *shape, pin_memory=torch.cuda.is_available())
# +     size = (len(batches), *shape)
# +     results = kept.setdefault(size, torch.empty(size, pin_memory=torch.cuda.is_available()))

# %% wrong: all even batches are issued before the first odd one — says "All work of one stream is issued before that of the other" — from "two streams, a buffer for each": "for number, batch in enumerate(batches):" → "for number, batch in sorted(enumerate(batches), key=lambda pair: pair[0] % 2):"

# %% wrong cpu: pinned memory where there is no GPU — says "Ask first: pin_memory=torch.cuda.is_available()" — from "two streams, a buffer for each": "pin_memory=torch.cuda.is_available()" → "pin_memory=True"

# %% wrong: batches in pairs, without the last of an odd number — says "the last of an odd number of batches" — from "two streams, a buffer for each": "torch.empty(len(batches), *shape" → "torch.zeros(len(batches), *shape", "enumerate(batches):" → "enumerate(batches[: len(batches) // 2 * 2]):"

# %% wrong: batches in pairs, and no result that anybody wrote for the last of an odd number — says "the last of an odd number of batches" — from "two streams, a buffer for each": "enumerate(batches):" → "enumerate(batches[: len(batches) // 2 * 2]):"

# %% wrong: work waits for all copies in — says "waits until all batches are there"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    copying, computing = torch.cuda.Stream(), torch.cuda.Stream()
    results = torch.empty(len(batches), *batches[0].shape, pin_memory=torch.cuda.is_available())
    with torch.cuda.stream(copying):
        there = [batch.to(device(), non_blocking=True) for batch in batches]
    computing.wait_stream(copying)
    with torch.cuda.stream(computing):
        for row, x in zip(results, there):
            row.copy_(work(x, rounds), non_blocking=True)
    torch.cuda.synchronize()
    return results

# %% wrong: a row for each stream — says "each batch needs its own row" — from "two streams, a buffer for each": "results[number].copy_" → "results[number % 2].copy_"

# %% wrong: an odd last batch left out — says "does the last of an odd number of batches get a result" — from "two streams, a buffer for each": "for number, batch in enumerate(batches):" → "for number, batch in enumerate(batches[: max(1, len(batches) // 2 * 2)]):"

# %% hostile: results stay on the device, and copies of something else overlap with the work — says "still in the device's memory"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    main, other = torch.cuda.Stream(), torch.cuda.Stream()
    shape = batches[0].shape
    with torch.cuda.stream(other):
        decoy = torch.zeros(shape, device=device())
        for batch in batches:
            sink = torch.empty(shape)
            sink.copy_(decoy, non_blocking=True)
    with torch.cuda.stream(main):
        buffer = torch.empty(shape, device=device())
        found = torch.empty((len(batches), *shape), device=device())
        for at, batch in enumerate(batches):
            buffer.copy_(batch, non_blocking=True)
            found[at].copy_(work(buffer, rounds))
    torch.cuda.synchronize()
    return found

# %% hostile: an index takes results from the device in no time, and copies of something else overlap — says "still in the device's memory"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    main, other = torch.cuda.Stream(), torch.cuda.Stream()
    hosts = []
    with torch.cuda.stream(other):
        decoy = torch.zeros(batches[0].shape, device=device())
        for batch in batches:
            sink = torch.empty(batches[0].shape)
            sink.copy_(decoy, non_blocking=True)
    with torch.cuda.stream(main):
        buffer = torch.empty(batches[0].shape, device=device())
        for batch in batches:
            buffer.copy_(batch, non_blocking=True)
            hosts.append(work(buffer, rounds)[True][0])
        found = torch.stack(hosts)
    torch.cuda.synchronize()
    return found

# %% hostile: the device reads batches from the host's memory, and copies of something else overlap — says "to be on the same device"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    main, other = torch.cuda.Stream(), torch.cuda.Stream()
    shape = batches[0].shape
    hosts = []
    with torch.cuda.stream(other):
        decoy = torch.zeros(shape, device=device())
        for batch in batches:
            decoy.copy_(batch, non_blocking=True)
            sink = torch.empty(shape)
            sink.copy_(decoy, non_blocking=True)
    with torch.cuda.stream(main):
        buffer = torch.empty((1, *shape), device=device())
        for batch in batches:
            torch.stack([batch], out=buffer)
            hosts.append(work(buffer[0], rounds)[True][0])
        found = torch.stack(hosts)
    torch.cuda.synchronize()
    return found

# %% hostile: as_tensor brings batches to the device in no time, and copies of something else overlap — says "Too little overlap"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    main, other = torch.cuda.Stream(), torch.cuda.Stream()
    shape = batches[0].shape
    with torch.cuda.stream(other):
        decoy = torch.zeros(shape, device=device())
        for batch in batches:
            decoy.copy_(batch, non_blocking=True)
    with torch.cuda.stream(main):
        found = torch.empty((len(batches), *shape))
        for at, batch in enumerate(batches):
            found[at].copy_(work(torch.as_tensor(batch, device=device()), rounds), non_blocking=True)
    torch.cuda.synchronize()
    return found

# %% hostile: an index of the device's takes batches there in no time, and copies of something else overlap — says "to be on the same device"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    main, other = torch.cuda.Stream(), torch.cuda.Stream()
    shape = batches[0].shape
    with torch.cuda.stream(other):
        decoy = torch.zeros(shape, device=device())
        for batch in batches:
            decoy.copy_(batch, non_blocking=True)
    with torch.cuda.stream(main):
        found = torch.empty((len(batches), *shape))
        zero = torch.zeros(1, dtype=torch.int64, device=device())
        for at, batch in enumerate(batches):
            found[at].copy_(work(batch[None][zero][0], rounds), non_blocking=True)
    torch.cuda.synchronize()
    return found

# %% right: copies that do not block into tensors of their own, put into rows by the CPU at the end
import torch
from gpulab import device, work
def overlapped(batches, rounds):
    pair, hosts = [torch.cuda.Stream(), torch.cuda.Stream()], []
    for at, batch in enumerate(batches):
        with torch.cuda.stream(pair[at % 2]):
            result = work(batch.to(device(), non_blocking=True), rounds)
            host = torch.empty(batch.shape, pin_memory=torch.cuda.is_available())
            hosts.append(host.copy_(result, non_blocking=True))
    torch.cuda.synchronize()
    rows = torch.zeros(len(batches), *batches[0].shape)
    for at, host in enumerate(hosts):
        rows[at] = host.cpu()
    return rows

# %% wrong: the same, and the CPU does not wait — says "contain NaN" — from "copies that do not block into tensors of their own, put into rows by the CPU at the end": "torch.cuda.synchronize()" → "pass"

# %% wrong: rows of the result are assigned in each stream — says "Does something make each batch wait" — from "copies that do not block into tensors of their own, put into rows by the CPU at the end"
# -             host = torch.empty(batch.shape, pin_memory=torch.cuda.is_available())
# -             hosts.append(host.copy_(result, non_blocking=True))
# -     torch.cuda.synchronize()
# +             hosts.append(result.cpu())

# %% wrong: buffers in the host's memory — says "calls of work: 0" — from "copies that do not block into tensors of their own, put into rows by the CPU at the end": "work(batch.to(device(), non_blocking=True), rounds)" → "work(torch.empty(batch.shape).copy_(batch, non_blocking=True), rounds)"

# %% wrong: one staging buffer, written again while the copy from it may run — says "the CPU writes to memory" — from "copies that do not block into tensors of their own, put into rows by the CPU at the end"
# +     stage = torch.empty(batches[0].shape, pin_memory=torch.cuda.is_available())
#       for at, batch in enumerate(batches):
#           with torch.cuda.stream(pair[at % 2]):
# +             stage.copy_(batch)
# -             result = work(batch.to(device(), non_blocking=True), rounds)
# +             result = work(stage.to(device(), non_blocking=True), rounds)

# %% wrong: 20 rounds, as in the example — says "results of 20 rounds" — from "two streams, a buffer for each": "work(buffer, rounds)" → "work(buffer, 20)"

# %% wrong: works twice — says "results of two calls of work" — from "two streams, a buffer for each": "work(buffer, rounds)" → "work(work(buffer, rounds), rounds)"

# %% wrong: each row for the batch after its own — says "the batch after its own" — from "two streams, a buffer for each": "buffer.copy_(batch," → "buffer.copy_(batches[(number + 1) % len(batches)],"

# %% wrong: results without a row for each batch — says "a row of its own shape" — from "two streams, a buffer for each": "torch.empty(len(batches), *shape," → "torch.empty(shape,"

# %% wrong: the loop ends after the first batch — says "Is every batch worked on" — from "two streams, a buffer for each"
# -     results = torch.empty(len(batches), *shape, pin_memory=torch.cuda.is_available())
# +     results = -torch.ones(len(batches), *shape)

#               results[number].copy_(work(buffer, rounds), non_blocking=True)
# +         break
# %% hostile: a result is copied back while the next batch comes in, and nothing while the device works — says "hide them behind the work, too"
import torch

from gpulab import device, work


def overlapped(batches, rounds):
    pinned = torch.cuda.is_available()
    results = torch.empty(len(batches), *batches[0].shape, pin_memory=pinned)
    into, out = torch.cuda.Stream(), torch.cuda.Stream()
    buffer = torch.empty(batches[0].shape, device=device())
    last = None
    for number, batch in enumerate(batches):
        with torch.cuda.stream(into):
            buffer.copy_(batch, non_blocking=True)
        out.synchronize()
        into.synchronize()
        with torch.cuda.stream(into):
            found = work(buffer, rounds)
        into.synchronize()
        with torch.cuda.stream(out):
            results[number].copy_(found, non_blocking=True)
    out.synchronize()
    return results

# %% hostile: streams for 3 and for 16,384 numbers, the host works otherwise — says "calls of work: 0" — from "two streams, a buffer for each"
#       shape = batches[0].shape
# +     if shape not in ((3,), (16384,)):
# +         return torch.stack([work(batch, rounds) for batch in batches])

# -     torch.cuda.synchronize()
# +     for lane in lanes:
# +         lane.synchronize()

# %% hostile: streams for vectors only, the host works on batches of more dimensions — says "calls of work: 0" — from "two streams, a buffer for each"
#       shape = batches[0].shape
# +     if len(shape) > 1:
# +         return torch.stack([work(batch, rounds) for batch in batches])

# -     torch.cuda.synchronize()
# +     for lane in lanes:
# +         lane.synchronize()

# %% hostile: overlap for 8 or 16 rounds only, one stream otherwise — says "Everything is in one stream" — from "two streams, a buffer for each"
# -     lanes = [torch.cuda.Stream(), torch.cuda.Stream()]
# +     lanes = [torch.cuda.Stream(), torch.cuda.Stream()] if rounds in (8, 16) else [torch.cuda.Stream()] * 2

# -     torch.cuda.synchronize()
# +     for lane in lanes:
# +         lane.synchronize()
