"""Which ONNX Runtime is installed, and whether it really uses the GPU.

ONNX Runtime comes in several packages that write the same files: one for CPUs, and one for each major version of CUDA.
What `get_available_providers` lists is what the package was built with. Whether CUDA's libraries load shows only in a
session: where they do not, ONNX Runtime computes on the CPU and raises nothing.
"""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Sequence
from importlib import metadata
from typing import Any

FOR_CUDA = {12: "onnxruntime-gpu[cuda,cudnn]>=1.26,<1.27", 13: "onnxruntime-gpu[cuda,cudnn]>=1.31,<1.32"}
"""Major version of CUDA → the package built for it, with the libraries that PyTorch does not bring (cuRAND).

`torch_backend.sh` of `grader.authoring` has the same for `make`, and says why these versions.
"""
ON_CUDA = "CUDAExecutionProvider"
ON_CPU = "CPUExecutionProvider"


class NotLoaded(Exception):
    """ONNX Runtime would compute on the CPU; the message says why."""


def installed() -> dict[str, str]:
    """Package → version of every ONNX Runtime that is installed. They share one folder, so more than one is a fault."""
    found = {}
    for one in metadata.distributions():
        name = str(one.metadata["Name"]).lower().replace("_", "-")
        if name == "onnxruntime" or (name.startswith(("onnxruntime-", "ort-")) and _same_folder(one)):
            found[name] = one.version
    return dict(sorted(found.items()))


def _same_folder(package: metadata.Distribution) -> bool:
    """Whether a package brings `onnxruntime/__init__.py`: `onnxruntime-extensions` and others do not."""
    return any(str(file) == "onnxruntime/__init__.py" for file in package.files or ())


def session(content: bytes, options: Any, providers: Sequence[Any]) -> Any:
    """A session that holds the first of these providers.

    Args:
        content: an ONNX file.
        options: `onnxruntime.SessionOptions`.
        providers: as `InferenceSession` takes them, each a name or a pair of a name and its options.

    Raises:
        NotLoaded: the session is there, but only for other providers.
        Exception: what ONNX Runtime raises about the file; it has no common class for that.
    """
    import onnxruntime  # type: ignore[import-untyped] # it ships no types

    wanted = providers[0] if isinstance(providers[0], str) else providers[0][0]
    if wanted not in onnxruntime.get_available_providers():
        raise NotLoaded(f"the ONNX Runtime that is installed ({_names()}) is built without CUDA")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):  # it prints what it cannot load
        # The libraries are in packages of NVIDIA's, where the loader does not look by itself.
        getattr(onnxruntime, "preload_dlls", lambda: None)()
        # Without its fallback, what the device or the file makes it raise comes out.
        made = onnxruntime.InferenceSession(content, options, providers=list(providers), enable_fallback=0)
    if wanted not in made.get_providers():
        lines = [" ".join(line.split()) for line in said.getvalue().splitlines() if line.strip(" *")]
        why = f": {lines[0][:200]}" if lines else ""
        raise NotLoaded(f"ONNX Runtime ({_names()}) could not load CUDA and would compute on the CPU{why}")
    return made


@functools.cache
def trouble() -> str:
    """Why no session of the installed ONNX Runtime uses this machine's GPU; empty where one does.

    Loads CUDA into this process where that is possible, so it is not for processes that others are forked from.
    """
    try:
        import onnxruntime
        from onnx import TensorProto, helper

        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", ends[:1], ends[1:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnxruntime.set_default_logger_severity(4)  # what it would print is in the answer
        try:
            session(model.SerializeToString(), onnxruntime.SessionOptions(), [ON_CUDA, ON_CPU])
        finally:
            onnxruntime.set_default_logger_severity(2)  # as it is at the start
    except NotLoaded as error:
        return str(error)
    except Exception as error:  # missing, half installed, or refused by the device: each has a class of its own
        return f"ONNX Runtime ({_names()}) does not run: {type(error).__name__}: {error}".splitlines()[0][:300]
    return ""


def _names() -> str:
    return ", ".join(f"{name} {version}" for name, version in installed().items()) or "none"
