"""What the chapter on CUDA basics draws."""
