"""Gives NumPy the name back that Numba's kernels need: importing this is all there is to do, before a kernel compiles.

numba-cuda up to 0.31 registers `numpy.row_stack` while it compiles its first kernel. NumPy 2.5 has removed that old
name of `numpy.vstack`, so every kernel would fail with an `AttributeError` that says nothing to a student.
"""

from __future__ import annotations

import numpy

if not hasattr(numpy, "row_stack"):  # numpy >= 2.5; to be removed when numba-cuda < 0.32 is no longer allowed
    numpy.row_stack = numpy.vstack
