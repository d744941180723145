# %% right: reference
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    batch = torch.export.Dim("batch")
    program = torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), dynamo=True, input_names=["images"], dynamic_shapes=({0: batch},), verbose=False
    )
    models = {"float32": program.model_proto.SerializeToString()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% right: older exporter, a reader of its own, symmetric, per tensor
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


class Reader(CalibrationDataReader):
    def __init__(self, images):
        self.images = list(images.numpy())

    def get_next(self):
        return {"images": self.images.pop()[None]} if self.images else None


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), extra_options={"ActivationSymmetric": True, "WeightSymmetric": True})
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% right: percentile, QOperator format, unsigned, accuracy by NumPy
import io
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def share(model, pictures):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    answers = [session.run(None, {"images": image[None]})[0].argmax() for image in pictures.images.numpy()]
    return np.mean(np.array(answers) == pictures.labels.numpy())


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), calibrate_method=CalibrationMethod.Percentile, quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": share(model, pictures), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% right: calibrated on training pictures
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% right: the helpers of the chapter
from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    seen = held_out(problem)
    float32 = engines.exported(fitted(problem))
    models = {"float32": float32, "float16": engines.halved(float32), "int8": engines.quantised(float32, seen.calibration)}
    return {name: {"accuracy": engines.right(file, seen.images, seen.labels), "bytes": len(file), "model": file} for name, file in models.items()}

# %% wrong: calibrated on the test set — says "it was calibrated on the test set"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.images), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: calibrated on the test set, by percentile — says "it was calibrated on the test set"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import CalibrationMethod, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.images), calibrate_method=CalibrationMethod.Percentile)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: calibrated on both — says "it was calibrated on the test set"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(torch.cat([pictures.images, pictures.calibration])), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: calibrated on numbers of its own — says "calibrated on what"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(100 * torch.rand(64, 3, 32, 32)), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: calibrated on pictures that are not normalised — says "normalised like the others"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    grey = pictures.calibration - pictures.calibration.min()
    grey = grey / grey.max()
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(grey), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: calibrated on black pictures — says "calibrated on pictures at all"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(torch.zeros(64, 3, 32, 32) + 0.01), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: quantised dynamically — says "dynamically"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_dynamic(onnx.load_from_string(models["float32"]), place)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: weights only — says "only the weights are small"
import io
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def weights_only(content):
    """Every weight as int8 with a DequantizeLinear behind it; the rest stays."""
    model = onnx.load_from_string(content)
    for tensor in list(model.graph.initializer):
        values = onnx.numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.ndim < 2:
            continue
        scale = np.float32(np.abs(values).max() / 127)
        small = onnx.numpy_helper.from_array(np.rint(values / scale).astype(np.int8), tensor.name + "_int8")
        model.graph.initializer.remove(tensor)
        model.graph.initializer.extend([small, onnx.numpy_helper.from_array(np.array(scale), tensor.name + "_scale")])
        node = onnx.helper.make_node("DequantizeLinear", [small.name, tensor.name + "_scale"], [tensor.name])
        model.graph.node.insert(0, node)
    return model.SerializeToString()


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = weights_only(models["float32"])
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: int8 is float32 by another name — says "largest weight is of type float"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = models["float32"]
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: float16 is float32 by another name — says "expected float16"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = models["float32"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: not trained — says "untrained network"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: accuracy over the training pictures — says "that it was trained on"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    learned, labels = (torch.cat(part) for part in zip(*problem.loader()))
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, learned, labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: in percent — says "in percent"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": 100 * engines.right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: bytes of the weights — says "the length of its model"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": 4 * sum(one.numel() for one in problem.model().parameters()), "model": model}
        for name, model in models.items()
    }

# %% wrong: without the files — says "keys of accuracy_cost"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": engines.right(model, pictures.images, pictures.labels), "bytes": len(model)}
        for name, model in models.items()
    }

# %% wrong: accuracies only — says "keys of accuracy_cost"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: engines.right(model, pictures.images, pictures.labels)
        for name, model in models.items()
    }

# %% wrong: fixed batch — says "the batch is fixed at 2"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration, batch=2), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": 0.8, "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: made up — says "on the test pictures"
import io
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters import inference_engine as engines
from gpulab.chapters.inference_engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures = held_out(problem)
    buffer = io.BytesIO()
    torch.onnx.export(
        fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    models = {"float32": buffer.getvalue()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        quantize_static(onnx.load_from_string(models["float32"]), place, engines.feeder(pictures.calibration), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": 0.99, "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% wrong: nothing comes back — says "keys of accuracy_cost"
def accuracy_cost(problem):
    print({"float32": 0.97})

# %% hostile: a dict that equals everything
class Always(dict):
    def __eq__(self, other):
        return True

    __hash__ = None


def accuracy_cost(problem):
    return Always(float32=Always(), float16=Always(), int8=Always())
