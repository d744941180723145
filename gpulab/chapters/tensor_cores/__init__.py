"""What the chapter on tensor cores models, measures and draws."""
