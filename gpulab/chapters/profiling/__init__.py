"""The chapter on profiling and monitoring: its figures, its example pages and traces, and the loop with five faults."""

import os

# Kineto, the profiler's recorder, writes lines with process numbers to stderr, in a notebook below every profile.
os.environ.setdefault("KINETO_LOG_LEVEL", "9")
