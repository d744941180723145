"""What this machine has for the course and what it lacks: `python -m gpulab.doctor`, `grader doctor`."""
