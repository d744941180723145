"""Figures and tables of the chapter on fused kernels; what is measured stands in its cells."""
