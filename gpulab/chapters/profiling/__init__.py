"""What the chapter on profiling and monitoring measures and draws."""
