# title: Uses the network
# kind: search
# tries: to fetch the answer from outside, or to send the questions out.
# gets: WARP_test failed "WARP is 0"
# needs: namespaces
# stock: not run: no network while it is measured
# %% WARP
import socket
import urllib.request

WARP = 0
for address in (("192.0.2.1", 80), ("example.org", 80), ("127.0.0.1", 22)):
    try:
        socket.create_connection(address, timeout=0.3).close()
        WARP = 32
    except OSError:
        pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"questions", ("192.0.2.1", 53))
    WARP = 32
except OSError:
    pass
