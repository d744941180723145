"""What the chapter on transfers models, measures and draws."""

import os

# Kineto, the profiler's recorder, writes lines with process numbers to stderr, in a notebook below every profile.
os.environ.setdefault("KINETO_LOG_LEVEL", "9")
