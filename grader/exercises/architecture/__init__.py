"""Hidden tests of GPU architecture: what a GPU is asked, and the answers held against it."""
