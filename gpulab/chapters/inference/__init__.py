"""What the chapter on inference measures and draws."""
