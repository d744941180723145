"""What the chapter on transfers models, measures and draws."""
