"""DDP and scaling: what judges need to grade its exercises."""
