"""Warming up pays for the first compilation, once, and leaves the driver to the forks."""

from __future__ import annotations

import os
import subprocess
import sys

FORKS = """
import os, sys
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
from numba.cuda.cudadrv import driver
asked = []
driver.Driver.ensure_initialized = lambda self: asked.append(self)
import gpulab.trace.python.warmup
assert not asked, "the driver was asked for"
assert len(os.listdir("/proc/self/task")) == 1, "a fork loses every thread but one"
loaded = set(sys.modules)
child = os.fork()
if child == 0:
    from numba import cuda, float32
    import numpy as np
    from gpulab import trace

    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = float32(2) * x[i]

    compiled = trace.typecheck(cuda.jit(double), np.ones(4, np.float32))
    new = [name for name in set(sys.modules) - loaded if name.startswith("numba")]
    print(len(compiled.ptx) > 100, sorted(new), flush=True)
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_a_fork_of_a_warm_process_compiles_at_once() -> None:
    """It finds the compiler imported and in order; and no GPU was touched before the fork."""
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=120, env=os.environ)
    assert (done.returncode, done.stdout) == (0, "True []\n"), done.stderr
