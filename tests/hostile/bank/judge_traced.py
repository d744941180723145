# title: Traces the judge
# kind: search
# tries: to attach to the process that runs the tests, and to reach other processes with any system call.
# gets: WARP_test failed "WARP is 0"
# needs: files
# stock: nbgrader 0.9.6: no end within 150 s
# %% WARP
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
WARP = 0
buffer = ctypes.create_string_buffer(16)
for pid in {1, os.getppid(), *(int(name) for name in os.listdir("/proc") if name.isdigit())} - {os.getpid()}:
    if libc.ptrace(16, pid, 0, 0) == 0:
        WARP = 32
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 16)
    if libc.process_vm_readv(pid, vector, 1, (ctypes.c_size_t * 2)(0x400000, 16), 1, 0) > 0:
        WARP = 32
    handle = libc.syscall(434, pid, 0)
    if handle >= 0 and any(libc.syscall(438, handle, number, 0) >= 0 for number in range(10)):
        WARP = 32
