"""Runs `@cuda.jit` kernels from their Python source: one greenlet per CUDA thread, every access logged."""
