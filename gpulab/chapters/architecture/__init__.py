"""What the chapter on GPU architecture measures and draws."""
