"""What the chapter on CUDA basics measures and draws."""
