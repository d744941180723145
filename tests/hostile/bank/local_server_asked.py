# title: Connects to a server on the same machine
# kind: search
# tries: to reach services on the grader's loopback interface: a notebook server, a database, another submission.
# gets: WARP_test failed "WARP is 0"
# needs: namespaces
# stock: not run: no network while it is measured
# %% WARP
import socket

WARP = 0
with open("/proc/net/tcp") as table:
    ports = [int(line.split()[1].split(":")[1], 16) for line in list(table)[1:] if line.split()[3] == "0A"]
for port in {8888, 8786, 5432, *ports}:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
        WARP = 32
    except OSError:
        pass
