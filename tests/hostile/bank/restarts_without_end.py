# title: Crashes again and again
# kind: process
# tries: to be restarted and rerun forever.
# gets: bump_test crashed; unit_test crashed; fast_test crashed; WARP_test crashed; honest_test crashed "restarted 3 times"
# stock: nbgrader 0.9.6: nothing recorded (DeadKernelError)
# %% bump
import os


def bump(x):
    os._exit(0)
# %% unit
def unit(v):
    os._exit(0)
# %% WARP
os._exit(0)
# %% fast
def fast(n):
    os._exit(0)
