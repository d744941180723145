"""What the chapter on inference measures and draws."""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
# Before any import of ONNX Runtime: from 1.29 on it starts a thread there that reports to its makers.
