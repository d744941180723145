"""Which submissions share more than the chapter gives."""
