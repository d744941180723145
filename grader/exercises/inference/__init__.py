"""Inference: what its exercises are held against on a GPU."""
