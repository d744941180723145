"""Inference: what its exercises are compared with on a GPU."""
