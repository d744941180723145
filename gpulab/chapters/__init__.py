"""What the notebooks of each chapter measure and draw; one module a subject, nothing that a chapter grades."""
