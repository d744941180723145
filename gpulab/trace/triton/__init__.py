"""Runs `@triton.jit` kernels without a GPU, and counts what they, and the eager kernels around them, do to memory."""
