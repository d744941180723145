"""Inference: a network's file, built into an engine and fed. On the CPU, in ONNX Runtime.

Files of unknown origin are run in a process of their own by `onnx_sandbox`; measuring and drawing have modules too.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
# Before the import: from 1.29 on ONNX Runtime starts a thread there that reports to its makers.

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped] # it ships no types
import torch
from numpy.typing import NDArray

from gpulab.chapters.inference.engine_files import NotAnEngine, first_line, quiet, read, reason, solved

__all__ = [
    "NotAnEngine",
    "fed",
    "feeder",
    "opened",
    "optimized",
    "quiet",
    "read",
    "reason",
    "right",
    "solved",
]

LEVELS = {
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "fused": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
"""How much ONNX Runtime's builder may change; `"all"` also chooses layouts for this very processor."""


def opened(content: bytes, *, level: str = "all", save_as: str = "", threads: int = 1) -> Any:
    """An `InferenceSession` on the CPU: the builder has done its work, the engine is ready to be fed.

    Args:
        content: an ONNX file.
        level: what the builder may do, one of `LEVELS`.
        save_as: path to write the optimized network to; none when empty.
        threads: of one operation.

    Raises:
        NotAnEngine: `read` refuses the file, or the runtime does.
    """
    read(content)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3  # that an optimized file fits this processor only is said in the text
    if save_as:
        options.optimized_model_filepath = save_as
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # a class for each of its error codes, and no common one
        newest = re.search(r"domain ai\.onnx is till opset (\d+)", str(error))
        if newest:
            raise NotAnEngine(
                f"it is written in opset {_opset(content)}, and ONNX Runtime {onnxruntime.__version__} knows those up"
                f" to {newest[1]}. Export with a smaller opset_version, or install a newer runtime."
            ) from error
        raise NotAnEngine(f"ONNX Runtime refuses it: {first_line(error)}") from error


def fed(session: Any, images: Any) -> NDArray[Any]:
    """The one output of a session for a batch of images.

    Args:
        session: from `opened`, with one input.
        images: tensor or array, as the input wants them: (N, 3, 32, 32).

    Raises:
        NotAnEngine: they have another shape or type; the message says which is wanted.
    """
    (into,) = session.get_inputs()
    array = np.ascontiguousarray(images)
    try:
        found: NDArray[Any] = session.run(None, {into.name: array})[0]
    except Exception as error:
        given = f"{tuple(array.shape)} of {array.dtype}"
        raise NotAnEngine(f"the engine takes {into.shape} of {into.type}, and was fed {given}.") from error
    return found


def right(content: bytes, images: Any, labels: Any) -> float:
    """Share of images (N, 3, 32, 32) whose highest score is at the label (N,)."""
    return float((fed(opened(content), images).argmax(1) == np.asarray(labels)).mean())


def optimized(content: bytes, level: str = "fused") -> bytes:
    """The network as ONNX Runtime's builder leaves it, saved: it can be opened later without building again.

    Args:
        content: an ONNX file.
        level: what the builder may do, one of `LEVELS`.

    Raises:
        NotAnEngine: see `opened`.
    """
    with tempfile.TemporaryDirectory(prefix="gpulab-engine-") as folder:
        place = Path(folder, "engine.onnx")
        opened(content, level=level, save_as=str(place))
        return place.read_bytes()


def feeder(images: torch.Tensor, batch: int = 32, name: str = "images") -> Any:
    """Calibration pictures as ONNX Runtime's quantizer wants them: one dict per batch, then None.

    Args:
        images: float32 (N, 3, 32, 32); what does not fill a batch is left out, unless it is all there is.
        batch: pictures at a time.
        name: of the network's input.
    """
    from onnxruntime.quantization import CalibrationDataReader  # type: ignore[import-untyped] # no types either

    class Feeder(CalibrationDataReader):
        def __init__(self) -> None:
            whole = images[: max(len(images) // batch * batch, min(batch, len(images)))]
            self._batches = iter(torch.split(whole, batch))

        def get_next(self) -> dict[str, NDArray[Any]] | None:
            pictures = next(self._batches, None)
            return None if pictures is None else {name: pictures.numpy()}

    return Feeder()


def _opset(content: bytes) -> int:
    versions = {entry.domain: entry.version for entry in onnx.load_from_string(content).opset_import}
    return int(versions.get("", versions.get("ai.onnx", 0)))
