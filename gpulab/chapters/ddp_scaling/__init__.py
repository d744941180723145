"""What the chapter on DDP scaling measures and draws."""
