"""What this machine has: GPUs and their troubles, memory and turns on them, and the doctor that examines all of it."""
