"""Counts of a kernel's accesses, taken in a process that runs nothing of the student's but the kernel's own text."""
