"""Where code runs and how long it takes: devices, timing, this machine's ceilings, speedups against a reference."""
