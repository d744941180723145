"""Inference: runs an ONNX file of unknown origin, in a process of its own with little time and memory.

A file can be wrong in ways that end the process which opens it. What is in the file, and whether it is right, is for
`inference.engine_files` and the tests to say.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab import confined

SECONDS = 20.0
START_SECONDS = 10.0
"""Beyond them, to start a confined process."""
MEMORY_BYTES = 6_000_000_000
"""Of addresses, not of memory in use: ONNX Runtime maps more than it touches."""


def outputs(content: bytes, batches: list[NDArray[Any]], seconds: float = SECONDS) -> list[NDArray[Any] | str]:
    """What an ONNX file with one input and one output makes of each batch: an array, or why there is none.

    Args:
        content: the file's bytes.
        batches: arrays for its input, of any shape.
        seconds: for all of them.

    Raises:
        ValueError: the file cannot be opened, has other inputs or outputs, or ran out of time or memory.
    """
    (found,) = all_outputs([content], [batches], seconds)
    if isinstance(found, str):
        raise ValueError(found)
    return found


def all_outputs(
    contents: list[bytes], batches: list[list[NDArray[Any]]], seconds: float = SECONDS
) -> list[list[NDArray[Any] | str] | str]:
    """The `outputs` of several files, each for batches of its own, in one process; for a refused file, why.

    Raises:
        ValueError: one of them ran out of time or memory.
    """
    question = io.BytesIO()
    files = {f"file{at}": np.frombuffer(content, np.uint8) for at, content in enumerate(contents)}
    inputs = {f"{at}.{which}": batch for at, row in enumerate(batches) for which, batch in enumerate(row)}
    np.savez(question, sizes=[len(row) for row in batches], **files, **inputs)  # type: ignore[arg-type] # its own options
    answer = confined.call(
        _boxed, question.getvalue(), seconds, what="Running the model", seconds=seconds + START_SECONDS
    )
    with np.load(io.BytesIO(answer), allow_pickle=False) as found:
        told = json.loads(str(found["told"]))
        return [
            why["refused"]
            or [found[name] if (name := f"{at}.{which}") in found else why[str(which)] for which in range(len(row))]
            for at, (row, why) in enumerate(zip(batches, told, strict=True))
        ]


def _boxed(question: bytes, seconds: float) -> bytes:
    """The answer of a process with little time and memory. The judge calls this in a confined process."""
    # -I: nothing from the folder that the caller happens to be in.
    path = [place or os.getcwd() for place in sys.path]  # noqa: PTH109 - as Python itself reads an empty entry
    command = [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {path!r}; {_MAIN}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
    try:
        ended = subprocess.run(
            command, input=question, capture_output=True, timeout=seconds, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"the model did not finish within {seconds:g} s in ONNX Runtime") from None
    if ended.returncode != 0:
        raise ValueError("ONNX Runtime crashed on the model, or it needs more memory than any model of this course")
    return ended.stdout


_MAIN = "from gpulab.chapters.inference.onnx_sandbox import main; main()"


def main() -> None:
    """The process that `outputs` starts: question on stdin, answer on stdout."""
    answer, out = sys.stdout.buffer, io.BytesIO()
    sys.stdout = sys.stderr
    with contextlib.suppress(ImportError):  # Windows has no such limits
        import resource

        for kind, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, round(2 * SECONDS))):
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(kind, (most, most))
    made: dict[str, Any] = {}
    told = []
    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as asked:
        for at, size in enumerate(asked["sizes"]):
            arrays, why = _run(asked[f"file{at}"].tobytes(), [asked[f"{at}.{which}"] for which in range(size)])
            made |= {f"{at}.{which}": array for which, array in arrays.items()}
            told.append(why)
    np.savez(out, told=np.array(json.dumps(told)), **made)
    answer.write(out.getvalue())
    answer.flush()


def _run(content: bytes, batches: list[NDArray[Any]]) -> tuple[dict[int, NDArray[Any]], dict[str, str]]:
    """Number of the batch → its output; number of the batch → why there is none, `"refused"` for the whole file."""
    import onnxruntime  # type: ignore[import-untyped] # it ships no types

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    made: dict[int, NDArray[Any]] = {}
    why = {"refused": ""}
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a class for each error code, and no common one
        return made, {"refused": f"ONNX Runtime refuses the model: {_line(error)}"}
    into, out = session.get_inputs(), session.get_outputs()
    if len(into) != 1 or len(out) != 1:
        return made, {"refused": f"the model has {len(into)} inputs and {len(out)} outputs: images in, scores out"}
    for at, batch in enumerate(batches):
        try:
            found = np.asarray(session.run(None, {into[0].name: batch})[0])
            made[at] = found if found.dtype.kind in "fiub" else found.astype(np.float64)
        except Exception as error:
            why[str(at)] = _line(error)
    return made, why


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (" ".join(lines) if lines else type(error).__name__)[:300]
    return f"{text} (out of memory)" if "bad_alloc" in text else text  # before 1.27 ONNX Runtime leaves it at that
