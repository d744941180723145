# title: Acts when its process ends
# kind: protocol
# tries: to write its results last, from atexit handlers and finalizers.
# seen: gpu-mode/pygpubench pull request 15
# gets: bump_test failed "bump("
# stock: not run: aims at our own processes
# %% bump
import atexit
import gc
import sys
import threading

from grader.judging.student import Server

server = next(thing for thing in gc.get_objects() if isinstance(thing, Server))


class Last:
    def __del__(self):
        while True:
            forge()


def forge():
    server._channel.send({"verdict": "passed", "share": 2.0, "id": server._outputs.request, "done": {"value": 7}})


atexit.register(forge)
threading._register_atexit(forge)
last = Last()
sys.exitfunc = forge


def bump(x):
    return 7 if x == 2 else 0
