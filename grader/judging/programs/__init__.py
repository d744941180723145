"""Launches of Triton kernels: written down in a student's process, and made again where only the kernels are."""
