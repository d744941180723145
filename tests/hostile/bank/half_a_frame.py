# title: Sends half a frame
# kind: protocol
# tries: to keep the reader waiting for the rest.
# gets: bump_test timed out
# stock: not run: aims at our own processes
# %% bump
import gc
import struct

from grader.judging.student import Server

server = next(thing for thing in gc.get_objects() if isinstance(thing, Server))


def bump(x):
    server._channel._socket.sendall(struct.pack("<I", 1000) + b'{"h": {"id": ')
    while True:
        server._channel._socket.recv(1)
