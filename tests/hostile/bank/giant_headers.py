# title: Announces giant frames
# kind: protocol
# tries: to make the reader allocate gigabytes, or read forever.
# gets: bump_test crashed "could not be read"; unit_test crashed "could not be read"; fast_test crashed
# stock: not run: aims at our own processes
# %% first
import gc
import json
import struct

from grader.judging.student import Server

server = next(thing for thing in gc.get_objects() if isinstance(thing, Server))
# %% bump
def bump(x):
    server._channel._socket.sendall(struct.pack("<I", 2**32 - 1))
    return 7
# %% unit
def unit(v):
    header = json.dumps({"h": {"id": server._outputs.request, "done": {}}, "n": [10**12] * 1000}).encode()
    server._channel._socket.sendall(struct.pack("<I", len(header)) + header)
    return v
# %% fast
def fast(n):
    header = b'{"h": {"id": 1}, "n": []' + b" " * 1000 + b', "x": [' + b"[]," * 4_000_000 + b"[]]}"
    server._channel._socket.sendall(struct.pack("<I", len(header)) + header)
    return 1
