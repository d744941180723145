"""What the chapter on shared memory draws, and what its timed kernels are given."""
