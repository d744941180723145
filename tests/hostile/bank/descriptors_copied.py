# title: Copies the connection to children
# kind: protocol
# tries: to keep the connection open after its end, in children that answer in its place.
# gets: bump_test crashed
# stock: not run: aims at our own processes
# %% bump
import gc
import os
import time

from grader.judging.student import Server

server = next(thing for thing in gc.get_objects() if isinstance(thing, Server))


def bump(x):
    for _ in range(3):
        os.dup(server._channel.fileno())
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                server._channel.send({"id": server._outputs.request, "done": {"verdict": "passed"}})
            except OSError:
                pass
            time.sleep(0.2)
    os._exit(0)
