# title: Sends answers before they are asked for
# kind: protocol
# tries: to have its own message accepted as the answer to the next request.
# gets: bump_test failed "bump("
# stock: not run: aims at our own processes
# %% first
import gc

from grader.judging.student import Server

server = next(thing for thing in gc.get_objects() if isinstance(thing, Server))
# %% bump
sent = ["", 0, 1, "0" * 16, None, server._outputs.request]


def bump(x):
    for token in sent:
        server._channel.send({"id": token, "done": {"value": {"t": [3 * x + 1, []]}, "changed": False}})
        server._channel.send({"id": token, "done": {"verdict": "passed", "share": 2.0}})
    server._outputs.request = ""
    return 0 if x != 2 else 7
# %% last
for token in sent:
    server._channel.send({"id": token, "done": {"kind": "callable", "value": 1}})
