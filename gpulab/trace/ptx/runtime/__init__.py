"""What runs translated kernels: memory, the scheduler of warps and lanes, and what is noted at every access."""
