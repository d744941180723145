"""What judges the exercises that measure: machines for the simulated GPU, and what a wrong number shows."""
