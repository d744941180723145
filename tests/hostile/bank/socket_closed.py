# title: Closes the connection
# kind: protocol
# tries: to leave the harness without an answer.
# gets: bump_test crashed "ended during the call"; unit_test crashed "ended during the call"
# stock: not run: aims at our own processes
# %% bump
import gc
import os
import socket

from grader.judging.student import Server

server = next(thing for thing in gc.get_objects() if isinstance(thing, Server))


def bump(x):
    server._channel._socket.shutdown(socket.SHUT_RDWR)
    return 7
# %% unit
def unit(v):
    os.closerange(0, 100)
    return v
