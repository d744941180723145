"""PTX text: where it comes from, how it is read, and which source lines it belongs to."""
