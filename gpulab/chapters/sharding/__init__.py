"""Chapter 11: pictures of memory, shards and pipelines, and the small agent that runs a script as two ranks."""

import os

# Before the first profile: its library otherwise writes "profiler_start" and the like into the notebook.
os.environ.setdefault("KINETO_LOG_LEVEL", "9")
