# title: Floods the connection from a thread
# kind: protocol
# tries: to drown its answer, keep the reader busy, or have its own frame accepted as an answer.
# gets: bump_test failed "bump("
# stock: not run: aims at our own processes
# %% bump
import gc
import threading
import time

from grader.judging.student import Server

server = next(thing for thing in gc.get_objects() if isinstance(thing, Server))


def flood():
    while True:
        server._channel.send({"id": server._outputs.request[::-1], "done": {"value": {"t": [7, []]}, "changed": False}})
        server._channel.send({"id": "x", "output": {"output_type": "stream", "name": "stdout", "text": "x" * 100}})
        time.sleep(0.001)


threading.Thread(target=flood, daemon=True).start()


def bump(x):
    return 7
