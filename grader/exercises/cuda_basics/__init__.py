"""Hidden tests of CUDA basics: readings of a GPU, and the comparison of answers with them."""
