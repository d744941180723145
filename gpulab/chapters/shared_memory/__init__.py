"""What the chapter on shared memory counts, measures and draws."""
