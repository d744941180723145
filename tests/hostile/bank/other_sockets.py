# title: Sockets of other kinds
# kind: search
# tries: to escape through sockets that a network namespace does not confine: the virtual machine's host, the kernel.
# gets: WARP_test failed "WARP is 0"
# needs: files
# stock: not run: no network while it is measured
# %% WARP
import socket

WARP = 0
for family in ("AF_VSOCK", "AF_ALG", "AF_PACKET", "AF_CAN", "AF_BLUETOOTH", "AF_TIPC", "AF_QIPCRTR", "AF_RDS"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(getattr(socket, family, 40), kind).close()
            WARP = 32
        except OSError:
            pass
