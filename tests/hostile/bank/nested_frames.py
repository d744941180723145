# title: Frames with deeply nested JSON
# kind: protocol
# tries: to hit the recursion limit of the process that reads its messages.
# gets: bump_test crashed "could not be read"; unit_test crashed
# stock: not run: aims at our own processes
# %% first
import gc
import json
import struct

from grader.judging.student import Server

server = next(thing for thing in gc.get_objects() if isinstance(thing, Server))


def raw(text):
    server._channel._socket.sendall(struct.pack("<I", len(text)) + text)


def nested(depth):
    return b"[" * depth + b"]" * depth


token = server._outputs.request.encode()
for depth in (100, 300, 400, 450, 480):
    for form in (b'%s', b'{"output_type": %s}', b'{"output_type": "error", "ename": %s, "traceback": [%s]}',
                 b'{"output_type": "display_data", "data": {"application/json": %s, "text/plain": %s}}'):
        raw(b'{"h": {"id": "%s", "output": %s}, "n": []}' % (token, form.replace(b"%s", nested(depth))))
# %% bump
def bump(x):
    raw(b'{"h": {"id": "%s", "done": {"value": %s}}, "n": []}' % (server._outputs.request.encode(), nested(450)))
    return 7
# %% unit
def unit(v):
    raw(b'{"h": %s, "n": []}' % nested(100_000))
    return v
