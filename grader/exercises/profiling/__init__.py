"""Profiling: what judges need to grade its exercises."""
