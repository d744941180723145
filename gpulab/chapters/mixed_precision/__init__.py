"""What the chapter on mixed precision measures and draws."""
