"""Hidden tests of CUDA basics: what a GPU is asked, and the answers held against it."""
