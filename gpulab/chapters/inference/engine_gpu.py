"""Inference: an ONNX file on a GPU, in TensorRT or in ONNX Runtime, against eager PyTorch. Needs one of the two.

`make` installs ONNX Runtime with CUDA where it finds a driver; TensorRT is used where it is installed.
`runtime` says what is here. The caller times the file alone.
"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from gpulab.doctor import onnx_runtimes
from gpulab.measuring.devices import NeedsPart, has_gpu
from gpulab.measuring.speedup import Noisy
from gpulab.measuring.timing import Ratio, race

RunBatch = Callable[[Tensor], Tensor]
"""Images (N, 3, 32, 32) in float32 on the GPU → scores (N, 10) there."""
LATENCY, THROUGHPUT = 1, 256
"""Pictures in a batch."""
NOISE = 0.10
"""Half the distance between the quartiles, as a share of the median, from which a ratio says too little."""


def runtime() -> str:
    """What runs a file on this machine's GPU: `"TensorRT"`, `"ONNX Runtime on CUDA"`, or `""`."""
    if not has_gpu():
        return ""
    if importlib.util.find_spec("tensorrt") is not None:
        return "TensorRT"
    return "" if onnx_runtimes.trouble() else "ONNX Runtime on CUDA"


def needs_runtime(points: str) -> None:
    """Stops a test cell where nothing here runs a file on the GPU, so that its points stay pending.

    Args:
        points: what is pending, such as `"2 points"`.

    Raises:
        NeedsPart: neither TensorRT is installed, nor does ONNX Runtime use the GPU; says why not.
    """
    if not runtime():
        raise NeedsPart(_missing(onnx_runtimes.trouble(), f"{points} are pending"))


def _missing(why: str, pending: str = "these points are pending") -> str:
    return (
        f"There is a GPU, but no TensorRT, and {why}: {pending}, not lost. This says nothing about your answer."
        ' ("python -m gpulab.doctor" says what to install.)'
    )


def engine(content: bytes, most: int = THROUGHPUT) -> RunBatch:
    """A file, built for this GPU and ready to be fed.

    Args:
        content: an ONNX file with one input and one output; numbers are computed in the types that it says.
        most: pictures in the largest batch.

    Raises:
        NeedsPart: ONNX Runtime would run it on the CPU.
        ValueError: the runtime refuses the file.
    """
    return _tensorrt(content, most) if runtime() == "TensorRT" else _onnxruntime(content)


def ratios(models: Mapping[str, bytes], network: nn.Module, seed: int) -> dict[str, dict[int, Ratio]]:
    """How long each file takes, in times of eager float32: precision → batch → its time over PyTorch's.

    A file that the runtime refuses is left out.

    Args:
        models: precision → ONNX file of this network.
        network: in eval mode; PyTorch's defaults otherwise, so TF32 in convolutions where the GPU has it.
        seed: of the pictures.

    Raises:
        AssertionError: an engine's scores are not the network's, or the runtime refuses every file.
        Noisy: the times differ too much to tell.
    """
    network = copy.deepcopy(network).to("cuda").eval()

    @torch.inference_mode()
    def eager(images: Tensor) -> Tensor:
        scores: Tensor = network(images)
        return scores

    found: dict[str, dict[int, Ratio]] = {}
    refused: dict[str, str] = {}
    for name, content in models.items():
        try:
            run = engine(content)
        except ValueError as error:  # TensorRT takes int8 with zero points of 0 and biases in float32 only
            refused[name] = str(error)
            continue
        for batch in (LATENCY, THROUGHPUT):
            generator = torch.Generator("cuda").manual_seed(seed + batch)
            images = torch.randn(batch, 3, 32, 32, generator=generator, device="cuda")
            _same(run(images), eager(images), name)
            ratio = race(run, eager, (images,), runs=15)
            if ratio.spread > NOISE * ratio.median:
                raise Noisy(f"Too noisy to tell, grade again: {name} at batch {batch}, {ratio}.")
            found.setdefault(name, {})[batch] = ratio
    if not found:
        raise AssertionError(f"{runtime()} refuses every file: {refused}"[:1000])
    return found


def _same(scores: Tensor, expected: Tensor, name: str) -> None:
    """Random pictures, so int8 may be far off in places; a file of another network is everywhere."""
    torch.cuda.synchronize()
    off = float((scores.float() - expected).norm() / expected.norm())
    if not off < (0.5 if name == "int8" else 0.05):
        raise AssertionError(f"{name}: on the GPU the engine's scores are off by {off:.2g} of PyTorch's.")


def _stream() -> torch.cuda.Stream:
    return torch.cuda.Stream()  # type: ignore[no-untyped-call] # torch has no types there


def _onnxruntime(content: bytes) -> RunBatch:
    import numpy as np
    import onnxruntime  # type: ignore[import-untyped] # it ships no types

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    beside = _stream()  # its own: the number of the usual stream is 0, which reads as "none given"
    cuda = (onnx_runtimes.ON_CUDA, {"user_compute_stream": str(beside.cuda_stream)})
    try:
        session = onnx_runtimes.session(content, options, [cuda, onnx_runtimes.ON_CPU])
    except onnx_runtimes.NotLoaded as error:
        raise NeedsPart(_missing(str(error))) from error
    except Exception as error:  # a class for each error code, and no common one
        raise ValueError(f"ONNX Runtime refuses the file on CUDA: {error}") from error
    (into,), (out,) = session.get_inputs(), session.get_outputs()
    half = into.type == "tensor(float16)"
    kinds = {"tensor(float)": (np.float32, torch.float32), "tensor(float16)": (np.float16, torch.float16)}

    def run(images: Tensor) -> Tensor:
        images = (images.half() if half else images).contiguous()
        scores = torch.empty(len(images), 10, dtype=kinds[out.type][1], device="cuda")
        binding = session.io_binding()
        for bind, name, tensor, kind in (
            (binding.bind_input, into.name, images, kinds[into.type][0]),
            (binding.bind_output, out.name, scores, kinds[out.type][0]),
        ):
            bind(name, "cuda", 0, kind, tuple(tensor.shape), tensor.data_ptr())
        beside.wait_stream(torch.cuda.current_stream())
        session.run_with_iobinding(binding)
        torch.cuda.current_stream().wait_stream(beside)
        return scores

    return run


def _tensorrt(content: bytes, most: int) -> RunBatch:
    plan = plan_of(content, most)
    import tensorrt  # type: ignore[import-not-found] # only where somebody has installed it

    inference = tensorrt.Runtime(tensorrt.Logger(tensorrt.Logger.ERROR))
    built = inference.deserialize_cuda_engine(plan)
    context = built.create_execution_context()
    beside = _stream()  # on the usual one TensorRT waits for the GPU at every call
    into, out = (built.get_tensor_name(at) for at in range(2))
    kinds = {tensorrt.float32: torch.float32, tensorrt.float16: torch.float16}
    taken, given = (kinds[built.get_tensor_dtype(name)] for name in (into, out))

    def run(images: Tensor) -> Tensor:
        images = images.to(taken).contiguous()
        scores = torch.empty(len(images), 10, dtype=given, device="cuda")
        context.set_input_shape(into, tuple(images.shape))
        context.set_tensor_address(into, images.data_ptr())
        context.set_tensor_address(out, scores.data_ptr())
        beside.wait_stream(torch.cuda.current_stream())
        context.execute_async_v3(beside.cuda_stream)
        torch.cuda.current_stream().wait_stream(beside)
        return scores

    run.keeps = (inference, built)  # type: ignore[attr-defined] # they must live as long as the context
    return run


def plan_of(content: bytes, most: int = THROUGHPUT) -> bytes:
    """TensorRT's serialized engine ("plan") of an ONNX file, built for this GPU; takes seconds to minutes.

    Args:
        content: the file; strongly typed, so computed in the types that it says.
        most: pictures in the largest batch.

    Raises:
        ImportError: `tensorrt` is not installed.
        ValueError: TensorRT refuses the file; with its reasons.
    """
    import tensorrt

    logger = tensorrt.Logger(tensorrt.Logger.ERROR)
    builder = tensorrt.Builder(logger)
    # From release 11 on every network is strongly typed, and the flag is gone.
    flag = getattr(tensorrt.NetworkDefinitionCreationFlag, "STRONGLY_TYPED", None)
    definition = builder.create_network(0 if flag is None else 1 << int(flag))
    parser = tensorrt.OnnxParser(definition, logger)
    if not parser.parse(content):
        reasons = "; ".join(str(parser.get_error(at)) for at in range(parser.num_errors))
        raise ValueError(f"TensorRT refuses the file: {reasons}")
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    picture = tuple(definition.get_input(0).shape)[1:]
    profile.set_shape(definition.get_input(0).name, (1, *picture), (most, *picture), (most, *picture))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(definition, config)
    if plan is None:
        raise ValueError("TensorRT could not build an engine from the file; its log says why.")
    return bytes(plan)
