# title: Ends its process before the tests
# kind: process
# tries: to end the whole notebook, so that no later cell can fail.
# gets: bump_test crashed "ended the notebook's process"
# stock: nbgrader 0.9.6: nothing recorded (DeadKernelError)
# %% bump
import os

os._exit(0)
