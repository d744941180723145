"""Hidden tests of GPU architecture: readings of a GPU, and the comparison of answers with them."""
