"""What developers and CI run about the grader itself: a sample class, benchmarks, and the proof on a GPU."""
