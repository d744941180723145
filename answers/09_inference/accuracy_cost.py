# %% right: reference
import tempfile
from pathlib import Path

import onnx
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters.inference.engine_data import fitted, held_out


class Reader(CalibrationDataReader):
    def __init__(self, images, name="images", batch=32):
        whole = len(images) // batch * batch  # a histogram needs batches of one size
        self.batches, self.name = iter(images[:whole].split(batch)), name

    def get_next(self):
        images = next(self.batches, None)
        return None if images is None else {self.name: images.numpy()}


def right(content, images, labels):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    scores = session.run(None, {session.get_inputs()[0].name: images.numpy()})[0]
    return float((scores.argmax(1) == labels.numpy()).mean())


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
        options = {"ActivationSymmetric": True, "QuantizeBias": False}
        quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True, extra_options=options)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% right: older exporter, a reader of its own, symmetric, per tensor
import io
import tempfile
from pathlib import Path

import onnx
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters.inference.engine_data import fitted, held_out


def right(content, images, labels):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    scores = session.run(None, {session.get_inputs()[0].name: images.numpy()})[0]
    return float((scores.argmax(1) == labels.numpy()).mean())


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
        name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% right: percentile, QOperator format, unsigned, accuracy by NumPy — from "older exporter, a reader of its own, symmetric, per tensor"
#   from pathlib import Path
#
# + import numpy as np
#   import onnx

# - from onnxruntime.quantization import CalibrationDataReader, quantize_static
# + from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

# + def share(model, pictures):
# +     session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
# +     answers = [session.run(None, {"images": image[None]})[0].argmax() for image in pictures.images.numpy()]
# +     return np.mean(np.array(answers) == pictures.labels.numpy())
# +
# +
#   class Reader(CalibrationDataReader):

# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), extra_options={"ActivationSymmetric": True, "WeightSymmetric": True})
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), calibrate_method=CalibrationMethod.Percentile, quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8)

# -         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
# +         name: {"accuracy": share(model, pictures), "bytes": len(model), "model": model}

# %% right: calibrated on training pictures
import io
import tempfile
from pathlib import Path

import onnx
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters.inference.engine_data import fitted, held_out


class Reader(CalibrationDataReader):
    def __init__(self, images, name="images", batch=32):
        whole = len(images) // batch * batch  # a histogram needs batches of one size
        self.batches, self.name = iter(images[:whole].split(batch)), name

    def get_next(self):
        images = next(self.batches, None)
        return None if images is None else {self.name: images.numpy()}


def right(content, images, labels):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    scores = session.run(None, {session.get_inputs()[0].name: images.numpy()})[0]
    return float((scores.argmax(1) == labels.numpy()).mean())


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
        quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
        models["int8"] = place.read_bytes()
    return {
        name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
        for name, model in models.items()
    }

# %% right: in functions of its own
import tempfile
from pathlib import Path

import onnx
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters.inference.engine_data import fitted, held_out


class Reader(CalibrationDataReader):
    def __init__(self, images, name="images", batch=32):
        whole = len(images) // batch * batch  # a histogram needs batches of one size
        self.batches, self.name = iter(images[:whole].split(batch)), name

    def get_next(self):
        images = next(self.batches, None)
        return None if images is None else {self.name: images.numpy()}


def right(content, images, labels):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    scores = session.run(None, {session.get_inputs()[0].name: images.numpy()})[0]
    return float((scores.argmax(1) == labels.numpy()).mean())


def exported(network):
    batch = torch.export.Dim("batch")
    names = {"input_names": ["pixels"], "output_names": ["scores"]}
    program = torch.onnx.export(
        network, (torch.zeros(4, 3, 32, 32),), dynamo=True, verbose=False, dynamic_shapes=({0: batch},), **names
    )
    return program.model_proto.SerializeToString()


def in_int8(content, images):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "int8.onnx")
        reader = Reader(images, name="pixels")
        quantize_static(onnx.load_from_string(content), place, reader, per_channel=True)
        return place.read_bytes()


def accuracy_cost(problem):
    seen = held_out(problem)
    float32 = exported(fitted(problem))
    half = convert_float_to_float16(onnx.load_from_string(float32), keep_io_types=True)
    models = {"float32": float32, "float16": half.SerializeToString(), "int8": in_int8(float32, seen.calibration)}
    return {name: {"accuracy": right(file, seen.images, seen.labels), "bytes": len(file), "model": file} for name, file in models.items()}

# %% wrong: calibrated on the test set — says "it was calibrated on the test set" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.images), per_channel=True)

# %% wrong: calibrated on the test set, by percentile — says "it was calibrated on the test set" — from "calibrated on training pictures"
# - from onnxruntime.quantization import CalibrationDataReader, quantize_static
# + from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, quantize_static

# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.images), calibrate_method=CalibrationMethod.Percentile)

# %% wrong: calibrated on both — says "it was calibrated on the test set" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([pictures.images, pictures.calibration])), per_channel=True)

# %% wrong: calibrated on numbers of its own — says "calibrated on what" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(100 * torch.rand(64, 3, 32, 32)), per_channel=True)

# %% wrong: calibrated on pictures that are not normalized — says "normalized like the others" — from "calibrated on training pictures"
#       pictures = held_out(problem)
# +     gray = pictures.calibration - pictures.calibration.min()
# +     gray = gray / gray.max()

# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(gray), per_channel=True)

# %% wrong: calibrated on black pictures — says "calibrated on pictures that are normalized" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.zeros(64, 3, 32, 32) + 0.01), per_channel=True)

# %% wrong: quantized dynamically — says "dynamically" — from "calibrated on training pictures"
# - from onnxruntime.quantization import CalibrationDataReader, quantize_static
# + from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic

# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_dynamic(onnx.load_from_string(models["float32"]), place)

# %% wrong: weights only — says "only the weights are small" — from "calibrated on training pictures"
#   from pathlib import Path
#
# + import numpy as np

#   from gpulab.chapters.inference.engine_data import fitted, held_out
# +
# +
# + def weights_only(content):
# +     """Every weight as int8 with a DequantizeLinear behind it; the rest stays."""
# +     model = onnx.load_from_string(content)
# +     for tensor in list(model.graph.initializer):
# +         values = onnx.numpy_helper.to_array(tensor)
# +         if values.dtype != np.float32 or values.ndim < 2:
# +             continue
# +         scale = np.float32(np.abs(values).max() / 127)
# +         small = onnx.numpy_helper.from_array(np.rint(values / scale).astype(np.int8), tensor.name + "_int8")
# +         model.graph.initializer.remove(tensor)
# +         model.graph.initializer.extend([small, onnx.numpy_helper.from_array(np.array(scale), tensor.name + "_scale")])
# +         node = onnx.helper.make_node("DequantizeLinear", [small.name, tensor.name + "_scale"], [tensor.name])
# +         model.graph.node.insert(0, node)
# +     return model.SerializeToString()

# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)
# -         models["int8"] = place.read_bytes()
# +         models["int8"] = weights_only(models["float32"])

# %% wrong: int8 is float32 by another name — says "largest weight is of type float" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)
# -         models["int8"] = place.read_bytes()
# +         models["int8"] = models["float32"]

# %% wrong: float16 is float32 by another name — says "expected float16" — from "calibrated on training pictures"
# -     models["float16"] = half.SerializeToString()
# +     models["float16"] = models["float32"]

# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)

# %% wrong: not trained — says "untrained network" — from "calibrated on training pictures"
# -         fitted(problem), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# +         problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],

# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)

# %% wrong: accuracy over the training pictures — says "that it was trained on" — from "calibrated on training pictures"
#       pictures = held_out(problem)
# +     learned, labels = (torch.cat(part) for part in zip(*problem.loader()))

# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)

# -         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
# +         name: {"accuracy": right(model, learned, labels), "bytes": len(model), "model": model}

# %% wrong: in percent — says "in percent" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)

# -         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
# +         name: {"accuracy": 100 * right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}

# %% wrong: bytes of the weights — says "the length of its model" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)

# -         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
# +         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": 4 * sum(one.numel() for one in problem.model().parameters()), "model": model}

# %% wrong: without the files — says "keys of accuracy_cost" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)

# -         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
# +         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model)}

# %% wrong: accuracies only — says "keys of accuracy_cost" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)

# -         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
# +         name: right(model, pictures.images, pictures.labels)

# %% wrong: fixed batch — says "the batch is fixed at 2" — from "calibrated on training pictures"
# -         dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},

# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration, batch=2), per_channel=True)

# -         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
# +         name: {"accuracy": 0.8, "bytes": len(model), "model": model}

# %% wrong: made up — says "on the test pictures" — from "calibrated on training pictures"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(torch.cat([images for images, _ in problem.loader()])), per_channel=True)
# +         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True)

# -         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
# +         name: {"accuracy": 0.99, "bytes": len(model), "model": model}

# %% wrong: one file measured for all three — says "another precision" — from "calibrated on training pictures"
# -     return {
# +     share = right(models["float32"], pictures.images, pictures.labels)
# +     return {
# -         name: {"accuracy": right(model, pictures.images, pictures.labels), "bytes": len(model), "model": model}
# +         name: {"accuracy": share, "bytes": len(model), "model": model}

# %% wrong: the float16 file wants float16 — says "expected: (tensor(float16))" — from "calibrated on training pictures": ", keep_io_types=True" → ""

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


# %% hostile: only the largest weight is small, and only the input has a range, made by hand: all products stay in float32 — says "products are not computed in"
import onnx
import onnxruntime
import torch
import numpy as np
from onnx import helper, numpy_helper

from gpulab.chapters.inference.engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures, batch = held_out(problem), torch.export.Dim("batch")

    def measured(content):
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        (scores,) = session.run(None, {"images": pictures.images.numpy()})
        return float((scores.argmax(1) == pictures.labels.numpy()).mean())

    options = {"input_names": ["images"], "dynamic_shapes": ({0: batch},)}
    program = torch.onnx.export(fitted(problem), (torch.zeros(2, 3, 32, 32),), dynamo=True, verbose=False, **options)
    models = {"float32": program.model_proto.SerializeToString()}

    def largest(model):
        return max(model.graph.initializer, key=lambda one: np.prod(one.dims))

    def swap(model, small, nodes):
        tensor = largest(model)
        name, model_nodes = tensor.name, list(model.graph.node)
        tensor.CopyFrom(numpy_helper.from_array(small, name + "_small"))
        del model.graph.node[:]
        model.graph.node.extend([*nodes(name), *model_nodes])

    half = onnx.load_from_string(models["float32"])
    weight = numpy_helper.to_array(largest(half))
    swap(half, weight.astype(np.float16), lambda name: [helper.make_node("Cast", [name + "_small"], [name], to=1)])
    models["float16"] = half.SerializeToString()

    int8 = onnx.load_from_string(models["float32"])
    scale = np.float32(abs(weight).max() / 127)
    for node in int8.graph.node:
        for place, name in enumerate(node.input):
            if name == "images":
                node.input[place] = "images_read"
    swap(int8, np.rint(weight / scale).astype(np.int8), lambda name: [
        helper.make_node("DequantizeLinear", [name + "_small", "scale_w"], [name]),
        helper.make_node("QuantizeLinear", ["images", "scale_x", "zero"], ["images_small"]),
        helper.make_node("DequantizeLinear", ["images_small", "scale_x", "zero"], ["images_read"]),
    ])
    top = np.float32(np.abs(pictures.calibration.numpy()).max() / 127)
    for name, value in (("scale_w", scale), ("scale_x", top), ("zero", np.int8(0))):
        int8.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    models["int8"] = int8.SerializeToString()
    return {name: {"accuracy": measured(model), "bytes": len(model), "model": model} for name, model in models.items()}

# %% wrong: activations in 16 bits — says "products are not computed in int8" — from "calibrated on training pictures": "import CalibrationDataReader, quantize_static" → "import CalibrationDataReader, QuantType, quantize_static", "per_channel=True)" → "per_channel=True, activation_type=QuantType.QInt16, extra_options={'UseQDQContribOps': True})"

# %% hostile: the whole network in float32, in a branch that is always taken, and small products for show — says "is in a graph inside a node"
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper

from gpulab.chapters.inference.engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures, batch = held_out(problem), torch.export.Dim("batch")

    def measured(content):
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        (scores,) = session.run(None, {"images": pictures.images.numpy()})
        return float((scores.argmax(1) == pictures.labels.numpy()).mean())

    options = {"input_names": ["images"], "dynamic_shapes": ({0: batch},)}
    program = torch.onnx.export(fitted(problem), (torch.zeros(2, 3, 32, 32),), dynamo=True, verbose=False, **options)
    plain = onnx.load_from_string(program.model_proto.SerializeToString())

    def hidden(model, nodes, weights):
        """The network inside an If, next to some other nodes."""
        inner = helper.make_graph(model.graph.node, "inside", [], list(model.graph.output), list(model.graph.initializer))
        out = model.graph.output[0]
        made = helper.make_node("If", ["yes"], ["outside"], then_branch=inner, else_branch=inner)
        named = onnx.helper.make_tensor_value_info("outside", 1, ["batch", 10])
        outer = helper.make_graph([*nodes, made], "all", list(model.graph.input), [named])
        outer.initializer.extend([numpy_helper.from_array(np.array(True), "yes"), *weights])
        return helper.make_model(outer, opset_imports=list(model.opset_import), ir_version=model.ir_version).SerializeToString()

    # float16: nothing but a large half for show; int8: a quantized input and a product for show
    half = [numpy_helper.from_array(np.zeros((2, 2), np.float16), "h")]
    top = np.float32(np.abs(pictures.calibration.numpy()).max() / 127)
    small = [
        numpy_helper.from_array(np.zeros((3, 32, 40), np.int8), "w"), numpy_helper.from_array(top, "s"),
        numpy_helper.from_array(np.int8(0), "z"),
    ]
    show = [
        helper.make_node("QuantizeLinear", ["images", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["a"]),
    ]
    models = {"float16": hidden(plain, [], half), "int8": hidden(plain, show, small)}
    plain.doc_string = "x" * 40_000 + "x" * (max(map(len, models.values())))
    models["float32"] = plain.SerializeToString()
    return {name: {"accuracy": measured(model), "bytes": len(model), "model": model} for name, model in models.items()}

# %% hostile: the whole network in float32 beside more small products, whose result multiplies its scores — says "products are not computed in float16"
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper

from gpulab.chapters.inference.engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures, batch = held_out(problem), torch.export.Dim("batch")

    def measured(content):
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        (scores,) = session.run(None, {"images": pictures.images.numpy()})
        return float((scores.argmax(1) == pictures.labels.numpy()).mean())

    options = {"input_names": ["images"], "dynamic_shapes": ({0: batch},)}
    program = torch.onnx.export(fitted(problem), (torch.zeros(2, 3, 32, 32),), dynamo=True, verbose=False, **options)
    models = {"float32": program.model_proto}

    def with_show(kind, weight, others, nodes):
        """The network in float32, and products whose result, a 1, multiplies its scores."""
        model = onnx.load_from_string(models["float32"].SerializeToString())
        graph, scores = model.graph, model.graph.output[0].name
        for node in graph.node:
            node.output[:] = ["scores_before" if one == scores else one for one in node.output]
        tensors = {"w": weight, "one": np.float32([[1]]), "first": np.int64([0]), "last": np.int64([1]), **others}
        graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in tensors.items())
        ends = [helper.make_node("Cast", [f"p{at}"], [f"f{at}"], to=1) for at in range(9)]
        ends += [helper.make_node("Slice", ["f0", "first", "last", "first_axis"], ["row"])]
        ends += [helper.make_node("Slice", ["row", "first", "last", "second_axis"], ["gate"])]
        ends += [helper.make_node("Mul", ["scores_before", "gate"], [scores])]
        axes = {"first_axis": np.int64([0]), "second_axis": np.int64([1])}
        graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in axes.items())
        graph.node.extend([*nodes, *ends])
        return model

    eye = np.ones((90, 90))
    half = [helper.make_node("MatMul", ["h", "w"], [f"p{at}"]) for at in range(9)]
    # Each row of h has a single 1.
    models["float16"] = with_show("half", eye.astype(np.float16), {"h": np.eye(90, dtype=np.float16)}, half)
    top = np.float32(np.abs(pictures.calibration.numpy()).max() / 127)
    small = [
        helper.make_node("QuantizeLinear", ["images", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["images_small"]),
        helper.make_node("DequantizeLinear", ["a", "unit", "z"], ["given"]),
        helper.make_node("DequantizeLinear", ["w", "unit", "z"], ["v"]),
        *(helper.make_node("MatMul", ["given", "v"], [f"p{at}"]) for at in range(9)),
    ]
    others = {"s": top, "z": np.int8(0), "unit": np.float32(1), "a": np.eye(90, dtype=np.int8)}
    models["int8"] = with_show("int8", eye.astype(np.int8), others, small)
    models["float32"].doc_string = "x" * 100_000
    files = {name: model.SerializeToString() for name, model in models.items()}
    return {name: {"accuracy": measured(file), "bytes": len(file), "model": file} for name, file in files.items()}

# %% wrong: kilobytes — says "not kB" — from "calibrated on training pictures": `"bytes": len(model)` → `"bytes": len(model) / 1000`
# %% hostile: only the weights are in float16: each is cast to float32 and handed on, and all products stay in float32 — says "products are not computed in float16"
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static

from gpulab.chapters.inference.engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures, batch = held_out(problem), torch.export.Dim("batch")

    class Reader(CalibrationDataReader):
        batches = iter(pictures.calibration.split(32))

        def get_next(self):
            images = next(self.batches, None)
            return None if images is None else {"images": images.numpy()}

    def measured(content):
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        (scores,) = session.run(None, {"images": pictures.images.numpy()})
        return float((scores.argmax(1) == pictures.labels.numpy()).mean())

    example, options = (torch.zeros(2, 3, 32, 32),), {"input_names": ["images"], "dynamic_shapes": ({0: batch},)}
    program = torch.onnx.export(fitted(problem), example, dynamo=True, verbose=False, **options)
    models = {"float32": program.model_proto.SerializeToString()}
    half = onnx.load_from_string(models["float32"])
    before = []
    for tensor in half.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) > 1:
            name = tensor.name
            small = numpy_helper.to_array(tensor).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(small, name + "_16"))
            before.append(helper.make_node("Cast", [name + "_16"], [name + "_32"], to=1))
            before.append(helper.make_node("Identity", [name + "_32"], [name]))
    nodes = [*before, *half.graph.node]
    del half.graph.node[:]
    half.graph.node.extend(nodes)
    del half.graph.value_info[:]
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "engine.onnx")
        for_tensorrt = {"ActivationSymmetric": True, "QuantizeBias": False}
        quantize_static(onnx.load_from_string(models["float32"]), target, Reader(), per_channel=True, extra_options=for_tensorrt)
        models["int8"] = target.read_bytes()
    return {name: {"accuracy": measured(model), "bytes": len(model), "model": model} for name, model in models.items()}

# %% hostile: calibrated on the test set, next to a quantized input that nothing reads — says "the pictures are changed before they are quantized"
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters.inference.engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures, batch = held_out(problem), torch.export.Dim("batch")

    class Reader(CalibrationDataReader):
        batches = iter(pictures.images.split(32))

        def get_next(self):
            images = next(self.batches, None)
            return None if images is None else {"images": images.numpy()}

    def measured(content):
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        (scores,) = session.run(None, {"images": pictures.images.numpy()})
        return float((scores.argmax(1) == pictures.labels.numpy()).mean())

    example, options = (torch.zeros(2, 3, 32, 32),), {"input_names": ["images"], "dynamic_shapes": ({0: batch},)}
    program = torch.onnx.export(fitted(problem), example, dynamo=True, verbose=False, **options)
    models = {"float32": program.model_proto.SerializeToString()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "engine.onnx")
        for_tensorrt = {"ActivationSymmetric": True, "QuantizeBias": False}
        quantize_static(onnx.load_from_string(models["float32"]), target, Reader(), per_channel=True, extra_options=for_tensorrt)
        model = onnx.load_from_string(target.read_bytes())
    for node in model.graph.node:
        node.input[:] = ["images_too" if one == "images" else one for one in node.input]
    top = np.float32(np.abs(pictures.calibration.numpy()).max() / 127)
    tensors = {"own_scale": top, "own_zero": np.int8(0), "nothing": np.float32(0)}
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in tensors.items())
    nodes = [
        helper.make_node("QuantizeLinear", ["images", "own_scale", "own_zero"], ["for_show"]),
        helper.make_node("Add", ["images", "nothing"], ["images_too"]),
        *model.graph.node,
    ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    models["int8"] = model.SerializeToString()
    return {name: {"accuracy": measured(model), "bytes": len(model), "model": model} for name, model in models.items()}

# %% hostile: two of the four products stay in float32 in the float16 file — says "products are not computed in float16" — from "reference"
# -     half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
# +     whole = onnx.load_from_string(models["float32"])
# +     products = [one.name for one in whole.graph.node if one.op_type in ("Conv", "Gemm", "MatMul")]
# +     half = convert_float_to_float16(whole, keep_io_types=True, node_block_list=products[1:3])

# %% hostile: two of the four products are not quantized — says "products are not computed in int8" — from "reference"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True, extra_options=options)
# +         whole = onnx.load_from_string(models["float32"])
# +         products = [one.name for one in whole.graph.node if one.op_type in ("Conv", "Gemm", "MatMul")]
# +         quantize_static(whole, place, Reader(pictures.calibration), per_channel=True, extra_options=options, nodes_to_exclude=products[1:3])

# %% hostile: calibrated on the test set, and only the range of the input is that of the calibration — says "Was it found on other pictures" — from "reference"
# -         quantize_static(onnx.load_from_string(models["float32"]), place, Reader(pictures.calibration), per_channel=True, extra_options=options)
# -         models["int8"] = place.read_bytes()
# +         made = []
# +         for images in (pictures.calibration, pictures.images):
# +             quantize_static(onnx.load_from_string(models["float32"]), place, Reader(images), per_channel=True, extra_options=options)
# +             made.append(onnx.load_from_string(place.read_bytes()))
# +         own = {one.name: one for one in made[0].graph.initializer}
# +         for tensor in made[1].graph.initializer:
# +             if tensor.name.startswith("images"):
# +                 tensor.CopyFrom(own[tensor.name])
# +         models["int8"] = made[1].SerializeToString()

# %% hostile: calibrated on a single picture — earns 2 — from "reference": "Reader(pictures.calibration)" → "Reader(pictures.calibration[pictures.calibration.amax((1, 2, 3)).argmax()][None], batch=1)"
# %% wrong: the batch is not left open — says "leave its first axis open" — from "reference": "dynamic_shapes=({0: batch},), " → ""

# %% wrong: in bits — says "That is in bits" — from "calibrated on training pictures": `"bytes": len(model)` → `"bytes": 8 * len(model)`

# %% wrong: the length of one file for all — says "That is the length of the float32 file" — from "calibrated on training pictures": `"bytes": len(model)` → `"bytes": len(models["float32"])`

# %% wrong: the best picture for each digit — says "the argmax of its ten scores" — from "calibrated on training pictures": "argmax(1)" → "argmax(0)"

# %% wrong: the reader has no end — says "Then get_next returns None" — from "calibrated on training pictures": "None if images is None else " → ""

# %% wrong: accuracies rounded to one decimal place — says "rounded to one decimal place" — from "reference": "return float((scores.argmax(1) == labels.numpy()).mean())" → "return round(float((scores.argmax(1) == labels.numpy()).mean()), 1)"

# %% wrong: batches without the input's name — says "Does get_next return an array" — from "reference": "{self.name: images.numpy()}" → "images.numpy()"

# %% hostile: no calibration inside: the file computes the scale of each inner activation from the batch — says "is computed from the pictures while the model runs"
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from gpulab.chapters.inference.engine_data import fitted, held_out


def accuracy_cost(problem):
    pictures, batch = held_out(problem), torch.export.Dim("batch")

    class Reader(CalibrationDataReader):
        batches = iter(pictures.calibration.split(32))

        def get_next(self):
            images = next(self.batches, None)
            return None if images is None else {"images": images.numpy()}

    def measured(content):
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        (scores,) = session.run(None, {"images": pictures.images.numpy()})
        return float((scores.argmax(1) == pictures.labels.numpy()).mean())

    example, options = (torch.zeros(2, 3, 32, 32),), {"input_names": ["images"], "dynamic_shapes": ({0: batch},)}
    program = torch.onnx.export(fitted(problem), example, dynamo=True, verbose=False, **options)
    models = {"float32": program.model_proto.SerializeToString()}
    half = convert_float_to_float16(onnx.load_from_string(models["float32"]), keep_io_types=True)
    models["float16"] = half.SerializeToString()
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "engine.onnx")
        for_tensorrt = {"ActivationSymmetric": True, "QuantizeBias": False}
        quantize_static(onnx.load_from_string(models["float32"]), target, Reader(), per_channel=True, extra_options=for_tensorrt)
        model = onnx.load(target)
    graph = model.graph
    inputs = {one.name for one in graph.input}
    graph.initializer.append(numpy_helper.from_array(np.float32(127), "limit127"))
    nodes, renamed = [], {}
    for node in graph.node:
        if node.op_type == "QuantizeLinear" and node.input[0] not in inputs:
            at = node.input[0]
            nodes.append(helper.make_node("Abs", [at], [at + "_abs"]))
            nodes.append(helper.make_node("ReduceMax", [at + "_abs"], [at + "_top"], keepdims=0))
            nodes.append(helper.make_node("Div", [at + "_top", "limit127"], [at + "_now"]))
            renamed[node.input[1]] = at + "_now"
            node.input[1] = at + "_now"
        elif node.op_type == "DequantizeLinear" and node.input[1] in renamed:
            node.input[1] = renamed[node.input[1]]
        nodes.append(node)
    made = [onnx.NodeProto.FromString(one.SerializeToString()) for one in nodes]
    del graph.node[:]
    graph.node.extend(made)
    models["int8"] = model.SerializeToString()
    return {name: {"accuracy": measured(model), "bytes": len(model), "model": model} for name, model in models.items()}
