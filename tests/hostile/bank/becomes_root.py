# title: Becomes root
# kind: search
# tries: to gain privileges: setuid programs, its own namespaces, mounts, device files.
# gets: WARP_test failed "WARP is 0"
# needs: files
# stock: nbgrader 0.9.6: WARP_test 1/1, honest_test 1/1
# %% WARP
import ctypes
import os
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
before = os.getuid()
successes = [
    libc.unshare(0x10000000 | 0x20000) == 0,
    libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0,
    libc.chroot(b"/tmp") == 0,
    libc.setuid(0) == 0 and before != 0,
]
for command in (["unshare", "-r", "true"], ["sudo", "-n", "true"], ["su", "-c", "true"], ["mount", "-o", "remount,rw", "/"]):
    try:
        successes.append(subprocess.run(command, stdin=subprocess.DEVNULL, timeout=1).returncode == 0)
    except (OSError, subprocess.TimeoutExpired):
        pass
try:
    os.mknod("/tmp/hostile-disk", 0o60666, os.makedev(8, 0))
    open("/tmp/hostile-disk", "rb").read(1)
    successes.append(True)
except OSError:
    pass
WARP = 32 if any(successes) else 0
