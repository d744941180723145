# %% right: reference
def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    waiting = sorted(requests, key=lambda request: request["arrival_ms"])
    served, free_ms = [], 0.0
    while waiting:
        ready_ms = waiting[0]["arrival_ms"] + max_wait_ms
        if len(waiting) >= max_batch:
            ready_ms = min(ready_ms, waiting[max_batch - 1]["arrival_ms"])
        start_ms = max(free_ms, ready_ms)
        batch = [request for request in waiting[:max_batch] if request["arrival_ms"] <= start_ms]
        waiting = waiting[len(batch):]
        free_ms = start_ms + batch_ms[len(batch)]
        served.append({"ids": [request["id"] for request in batch], "start_ms": start_ms, "end_ms": free_ms})
    return served

# %% right: event by event
import heapq


def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    events, queue, served, free = [], [], [], 0.0
    for place, request in enumerate(requests):
        heapq.heappush(events, (request["arrival_ms"], 0, place))
        heapq.heappush(events, (request["arrival_ms"] + max_wait_ms, 1, place))
    while events:
        now, kind, place = heapq.heappop(events)
        if kind == 0:
            queue.append(place)
        if events and events[0][0] == now:
            continue
        if queue and now >= free and (len(queue) >= max_batch or now >= requests[queue[0]]["arrival_ms"] + max_wait_ms):
            batch, queue = queue[:max_batch], queue[max_batch:]
            free = now + batch_ms[len(batch)]
            served.append({"ids": [requests[one]["id"] for one in batch], "start_ms": now, "end_ms": free})
            heapq.heappush(events, (free, 2, -1))
    return served

# %% right: NumPy scalars and tuples
import numpy as np


def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    at = np.array([request["arrival_ms"] for request in requests], dtype=np.float64)
    order = np.argsort(at, kind="stable")
    at, served, free, first = at[order], [], np.float64(0), 0
    while first < len(at):
        last = first + max_batch - 1
        full = at[last] if last < len(at) else np.inf
        start = np.maximum(free, np.minimum(full, at[first] + max_wait_ms))
        end = min(int(np.searchsorted(at, start, side="right")), first + max_batch)
        free = start + batch_ms[end - first]
        served.append({"ids": tuple(requests[place]["id"] for place in order[first:end]), "start_ms": start, "end_ms": free})
        first = end
    return served

# %% wrong: ignores a busy engine — says "engine is busy" — from "reference": "max(free_ms, ready_ms)" → "ready_ms"

# %% wrong: exceeds the batch — says "more than max_batch" — from "reference": "in waiting[:max_batch] if" → "in waiting if", "batch_ms[len(batch)]" → "batch_ms[min(len(batch), max_batch)]"

# %% wrong: newest first, the oldest starves — says "newer ones overtake" — from "reference"
# -         batch = [request for request in waiting[:max_batch] if request["arrival_ms"] <= start_ms]
# -         waiting = waiting[len(batch):]
# +         batch = [request for request in waiting if request["arrival_ms"] <= start_ms][-max_batch:]
# +         waiting = [request for request in waiting if request not in batch]

# %% wrong: each arrival starts the wait again — says "starts it again" — from "reference"
# -         ready_ms = waiting[0]["arrival_ms"] + max_wait_ms
# +         ready_ms = waiting[0]["arrival_ms"] + max_wait_ms
# +         for request in waiting[1:max_batch]:
# +             if request["arrival_ms"] <= ready_ms:
# +                 ready_ms = request["arrival_ms"] + max_wait_ms

# %% wrong: the wait begins when the engine is free — says "not from when the engine is free" — from "reference": `ready_ms = waiting[0]["arrival_ms"] + max_wait_ms` → `ready_ms = max(free_ms, waiting[0]["arrival_ms"]) + max_wait_ms`

# %% wrong: a free engine never waits — says "waits max_wait_ms for more" — from "reference": `waiting[0]["arrival_ms"] + max_wait_ms` → `waiting[0]["arrival_ms"]`

# %% wrong: only full batches start — says "not full starts, too" — from "reference"
# -         ready_ms = waiting[0]["arrival_ms"] + max_wait_ms
# -         if len(waiting) >= max_batch:
# -             ready_ms = min(ready_ms, waiting[max_batch - 1]["arrival_ms"])
# +         ready_ms = waiting[:max_batch][-1]["arrival_ms"]

# %% wrong: a full batch waits, too — says "starts at once" — from "reference"
# -         if len(waiting) >= max_batch:
# -             ready_ms = min(ready_ms, waiting[max_batch - 1]["arrival_ms"])

# %% wrong: closes the batch while the engine is busy — says "still join" — from "reference": `["arrival_ms"] <= start_ms` → `["arrival_ms"] <= ready_ms`

# %% wrong: leaves out who arrives at the start — says "arrives exactly when" — from "reference"
# -         batch = [request for request in waiting[:max_batch] if request["arrival_ms"] <= start_ms]
# +         batch = [request for request in waiting[:max_batch] if request["arrival_ms"] < start_ms] or waiting[:1]

# %% wrong: always the time of a full batch — says "not max_batch" — from "reference": "batch_ms[len(batch)]" → "batch_ms[max_batch]"

# %% wrong: the time of one request — says "here it took batch_ms[1]" — from "reference": "batch_ms[len(batch)]" → "batch_ms[1]"

# %% wrong: the times of single requests added — says "not n times" — from "reference": "batch_ms[len(batch)]" → "len(batch) * batch_ms[1]"

# %% wrong: knows which request is the last — says "which request is the last" — from "reference"
# -         start_ms = max(free_ms, ready_ms)
# +         if len(waiting) <= max_batch:
# +             ready_ms = min(ready_ms, waiting[-1]["arrival_ms"])
# +         start_ms = max(free_ms, ready_ms)

# %% wrong: the last requests are lost — says "missing at the end" — from "reference": "while waiting:" → "while len(waiting) >= max_batch:"

# %% wrong: in the order of the list — says "any order" — from "reference": `sorted(requests, key=lambda request: request["arrival_ms"])` → `list(requests)`, `waiting[max_batch - 1]["arrival_ms"]` → `max(request["arrival_ms"] for request in waiting[:max_batch])`, `waiting = waiting[len(batch):]` → `batch = batch or waiting[:1]; waiting = [request for request in waiting if request not in batch]`

# %% wrong: ties by id instead of by place — says "not by id" — from "reference": `request["arrival_ms"])` → `(request["arrival_ms"], str(request["id"])))`

# %% wrong: one by one — says "all requests that wait" — from "reference": "waiting[:max_batch]" → "waiting[:1]"

# %% wrong: a clock that ticks in quarters of a millisecond — says "start_ms"
def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    waiting = sorted(requests, key=lambda one: one["arrival_ms"])
    served, now, free = [], 0.0, 0.0
    while waiting:
        here = [one for one in waiting if one["arrival_ms"] <= now][:max_batch]
        full = len(here) == max_batch
        if here and now >= free and (full or now - here[0]["arrival_ms"] >= max_wait_ms):
            free = now + batch_ms[len(here)]
            served.append({"ids": [one["id"] for one in here], "start_ms": now, "end_ms": free})
            waiting = waiting[len(here):]
        else:
            now += 0.25
    return served

# %% wrong: changes its argument — says "changed an argument" — from "reference"
# -     waiting = sorted(requests, key=lambda request: request["arrival_ms"])
# +     requests.sort(key=lambda request: request["arrival_ms"])
# +     waiting = requests

# %% wrong: other keys — says "Missing keys" — from "reference": `"ids": [` → `"id": [`

# %% wrong: no return — says "None" — from "reference": "    return served" → ""

# %% hostile: a list that is equal to every list — earns 0
class Batches(list):
    def __eq__(self, other):
        return True

    def __len__(self):
        return 1


def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    return Batches()

# %% wrong: one fewer than max_batch — says "the batch takes only two" — from "reference": "in waiting[:max_batch] if" → "in waiting[:max(1, max_batch - 1)] if"


# %% wrong: a key that requests do not have — says "The keys of a request are id and arrival_ms" — from "reference": `key=lambda request: request["arrival_ms"]` → `key=lambda request: request["arrival"]`

# %% wrong: one more than max_batch — says "batch_ms has 1 to 3" — from "reference": "waiting[:max_batch]" → "waiting[:max_batch + 1]"

# %% wrong: looks for one request too many — says "Fewer than max_batch may be left" — from "reference": "waiting[max_batch - 1]" → "waiting[max_batch]"

# %% wrong: sorts dicts without a key — says "give sorted a key" — from "reference": `requests, key=lambda request: request["arrival_ms"]` → `requests`

# %% wrong: waits in seconds — says "do not divide it by 1000" — from "reference": "+ max_wait_ms" → "+ max_wait_ms / 1000"

# %% wrong: the latest first — says "sort from early to late" — from "reference": `request["arrival_ms"])` → `request["arrival_ms"], reverse=True)`

# %% wrong: names in alphabetical order — says "Do not sort ids" — from "reference": `[request["id"] for request in batch]` → `sorted(request["id"] for request in batch)`

# %% wrong: batches of the call before — says "begin each call with a new list" — from "reference": "max_wait_ms, batch_ms):" → "max_wait_ms, batch_ms, served=[]):", "served, free_ms = [], 0.0" → "free_ms = 0.0"

# %% wrong: requests that have not arrived — says "it cannot be in it" — from "reference": ` if request["arrival_ms"] <= start_ms` → ``

# %% wrong: after a batch, the oldest request does not wait — says "the next one waits, too" — from "reference"
# -         start_ms = max(free_ms, ready_ms)
# +         start_ms = max(free_ms, ready_ms)
# +         if served and waiting[0]["arrival_ms"] <= free_ms:
# +             start_ms = free_ms

# %% wrong: the largest batch that has a time — says "max_batch is 2 here" — from "reference"
# -     served, free_ms = [], 0.0
# +     served, free_ms, max_batch = [], 0.0, max(batch_ms)

# %% wrong: a clock that moves in whole ms — says "Starts need not be whole ms"
def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    queue = sorted(requests, key=lambda one: one["arrival_ms"])
    batches, now = [], 0.0
    while queue:
        waiting = [one for one in queue if one["arrival_ms"] <= now]
        full = len(waiting) >= max_batch
        if not full and not (waiting and now - waiting[0]["arrival_ms"] >= max_wait_ms):
            now += 1.0
            continue
        inside = waiting[:max_batch]
        end = now + batch_ms[len(inside)]
        batches.append({"ids": [one["id"] for one in inside], "start_ms": now, "end_ms": end})
        queue, now = queue[len(inside) :], end
    return batches

# %% wrong: closes the batch before it waits — says "arrive during the wait are in the batch" — from "reference": `["arrival_ms"] <= start_ms` → `["arrival_ms"] <= max(free_ms, waiting[0]["arrival_ms"])`

# %% right: recursive
def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    def rest(left, free):
        if not left:
            return []
        arrivals = [one["arrival_ms"] for one in left]
        full = arrivals[max_batch - 1] if max_batch <= len(left) else float("inf")
        start = max(free, min(full, arrivals[0] + max_wait_ms))
        count = min(max_batch, sum(at <= start for at in arrivals))
        end = start + batch_ms[count]
        batch = {"ids": [one["id"] for one in left[:count]], "start_ms": start, "end_ms": end}
        return [batch, *rest(left[count:], end)]

    return rest(sorted(requests, key=lambda one: one["arrival_ms"]), 0)

# %% wrong: the time of a batch times its size — says "do not multiply it by n"
def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    queue = sorted(requests, key=lambda one: one["arrival_ms"])
    batches, free, at = [], 0.0, 0
    while at < len(queue):
        ready = queue[at]["arrival_ms"] + max_wait_ms
        if at + max_batch <= len(queue):
            ready = min(ready, queue[at + max_batch - 1]["arrival_ms"])
        start, ids = max(free, ready), []
        while at < len(queue) and len(ids) < max_batch and queue[at]["arrival_ms"] <= start:
            ids.append(queue[at]["id"])
            at += 1
        free = start + len(ids) * batch_ms[len(ids)]
        batches.append({"ids": ids, "start_ms": start, "end_ms": free})
    return batches

# %% wrong: a request that has not arrived ends an empty batch — says "Are the requests sorted by arrival" — from "the time of a batch times its size": `sorted(requests, key=lambda one: one["arrival_ms"])` → "list(requests)", "len(ids) * batch_ms" → "batch_ms"

# %% wrong: the start is the arrival of the oldest — says "here that is after the wait" — from "the time of a batch times its size": `"start_ms": start` → `"start_ms": start - max_wait_ms`, "len(ids) * batch_ms" → "batch_ms"

# %% wrong: the wait begins anew after each batch — says "And a full batch does not wait" — from "the time of a batch times its size": "max(free, ready)" → `max(ready, free + max_wait_ms if free > queue[at]["arrival_ms"] else ready)`, "len(ids) * batch_ms" → "batch_ms"

# %% wrong: the earlier one of two times — says "at the later one of two times" — from "reference": "max(free_ms, ready_ms)" → "min(free_ms, ready_ms)"
# %% wrong: in the order of the list, and batches are cut off by their length — says "Requests may come in any order"
def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    waiting, batches, free_ms = list(requests), [], 0.0
    while waiting:
        ready_ms = waiting[0]["arrival_ms"] + max_wait_ms
        if len(waiting) >= max_batch:
            ready_ms = min(ready_ms, waiting[max_batch - 1]["arrival_ms"])
        start_ms = max(free_ms, ready_ms)
        taken = [one for one in waiting[:max_batch] if one["arrival_ms"] <= start_ms]
        free_ms = start_ms + batch_ms[len(taken)]
        ids = [one["id"] for one in taken]
        batches.append({"ids": ids, "start_ms": start_ms, "end_ms": free_ms})
        waiting = waiting[len(taken):]
    return batches

# %% wrong: sorts by id — says "not by id" — from "in the order of the list, and batches are cut off by their length": `list(requests)` → `sorted(requests, key=lambda one: str(one["id"]))`

# %% wrong: what does not fit is lost — says "is in no batch" — from "in the order of the list, and batches are cut off by their length": `list(requests)` → `sorted(requests, key=lambda one: one["arrival_ms"])`, `waiting = waiting[len(taken):]` → `waiting = [one for one in waiting if one["arrival_ms"] > start_ms]`

# %% wrong: the next request ends the wait — says "it does not wait until the next request arrives"
def serve_batches(requests, max_batch, max_wait_ms, batch_ms):
    batches, queue, free_ms = [], [], 0.0

    def run(at_ms):
        nonlocal free_ms
        taken = [queue.pop(0) for _ in range(min(max_batch, len(queue)))]
        start_ms = max(at_ms, free_ms)
        free_ms = start_ms + batch_ms[len(taken)]
        ids = [one["id"] for one in taken]
        batches.append({"ids": ids, "start_ms": start_ms, "end_ms": free_ms})

    for request in sorted(requests, key=lambda one: one["arrival_ms"]):
        if queue and request["arrival_ms"] - queue[0]["arrival_ms"] > max_wait_ms:
            run(request["arrival_ms"])
        queue.append(request)
        if len(queue) == max_batch:
            run(request["arrival_ms"])
    while queue:
        run(queue[0]["arrival_ms"] + max_wait_ms)
    return batches

# %% wrong: two batches at most — says "is in no batch" — from "reference": "served.append" → "len(served) < 2 and served.append"

# %% wrong: the time of one request fewer — says "here it is that of n - 1" — from "reference": "batch_ms[len(batch)]" → "batch_ms[max(1, len(batch) - 1)]"

# %% wrong: requests in place of their ids — says "the id of each request, not the request itself" — from "reference": `[request["id"] for request in batch]` → `batch`

# %% wrong: removes from the list that it walks along — says "is in two batches" — from "reference": "waiting = waiting[len(batch):]" → "[waiting.remove(request) for request in waiting if request in batch]"

# %% wrong: full when the last of the list has come — says "the last one of the whole list" — from "reference": "waiting[max_batch - 1]" → "waiting[-1]"

# %% wrong: no batch before max_wait_ms after the one before it — says "not from when the engine is free" — from "reference": `ready_ms = waiting[0]["arrival_ms"] + max_wait_ms` → `ready_ms = max(waiting[0]["arrival_ms"], free_ms + max_wait_ms)`
