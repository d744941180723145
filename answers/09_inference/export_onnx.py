# %% right: reference
import torch


def export_onnx(problem):
    batch = torch.export.Dim("batch")
    program = torch.onnx.export(problem.model().eval(), (torch.zeros(2, 3, 32, 32),), dynamo=True, dynamic_shapes=({0: batch},), verbose=False)
    return program.model_proto.SerializeToString()

# %% right: to a path, weights inside, names of its own
import inspect
import tempfile
from pathlib import Path

import torch


def export_onnx(problem):
    model = problem.model()
    model.eval()
    shapes = {next(iter(inspect.signature(model.forward).parameters)): {0: "n"}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        torch.onnx.export(
            model, (torch.randn(5, 3, 32, 32),), path, input_names=["x"], output_names=["y"], dynamic_shapes=shapes, external_data=False, verbose=False
        )
        return path.read_bytes()

# %% right: the older exporter
import io

import torch


def export_onnx(problem):
    buffer = io.BytesIO()
    torch.onnx.export(
        problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    return buffer.getvalue()

# %% right: the exported program first, a buffer
import io

import torch


def export_onnx(problem):
    model = problem.model()
    model.eval()
    batch = torch.export.Dim("batch", min=1, max=4096)
    program = torch.export.export(model, (torch.randn(4, 3, 32, 32),), dynamic_shapes=({0: batch},))
    onnx_program = torch.onnx.export(program, verbose=False)
    buffer = io.BytesIO()
    onnx_program.save(buffer)
    return buffer.getvalue()

# %% wrong: fixed batch — says "the batch is fixed at 2" — from "reference"
# -     batch = torch.export.Dim("batch")
# -     program = torch.onnx.export(problem.model().eval(), (torch.zeros(2, 3, 32, 32),), dynamo=True, dynamic_shapes=({0: batch},), verbose=False)
# +     program = torch.onnx.export(problem.model().eval(), (torch.zeros(2, 3, 32, 32),), dynamo=True, verbose=False)

# %% wrong: one picture at a time, older exporter — says "the batch is fixed at 1" — from "the older exporter"
# -         problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# +         problem.model().eval(), (torch.zeros(1, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# -         dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},

# %% wrong: batch fixed inside — says "the batch is still fixed" — from "the older exporter"
#   def export_onnx(problem):
# +     class Whole(torch.nn.Module):
# +         def __init__(self):
# +             super().__init__()
# +             self.network = problem.model()
# +
# +         def forward(self, images):
# +             return self.network(images).reshape(7, 10)
# +

# -         problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# +         Whole().eval(), (torch.zeros(7, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],

# %% wrong: training mode — says "training mode" — from "the older exporter"
# -         problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# +         problem.model(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# -         dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
# +         dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}}, training=torch.onnx.TrainingMode.TRAINING

# %% wrong: training mode, as it came — says "training mode" — from "the older exporter"
# -         problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# +         problem.model().train(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# -         dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
# +         dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}}, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False

# %% wrong: weights beside the file — says "external data"
import tempfile
from pathlib import Path

import torch


def export_onnx(problem):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "network.onnx")
        torch.onnx.export(problem.model().eval(), (torch.zeros(2, 3, 32, 32),), path, dynamic_shapes=({0: torch.export.Dim("batch")},), external_data=True, verbose=False)
        return path.read_bytes()

# %% wrong: the whole model, pickled by torch.save — says "a zip as torch.save" — from "the older exporter"
# +     torch.save(problem.model().eval(), buffer)
# -     torch.onnx.export(
# -         problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# -         dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
# -     )

# %% wrong: the whole model, pickled — says "a pickle"
import pickle


def export_onnx(problem):
    return pickle.dumps(problem.model().eval())

# %% wrong: softmax added — says "A softmax was added" — from "batch fixed inside"
# -             return self.network(images).reshape(7, 10)
# +             return self.network(images).softmax(1)

# -         Whole().eval(), (torch.zeros(7, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# +         Whole().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],

# %% wrong: log_softmax added — says "A log_softmax was added" — from "softmax added": "softmax" → "log_softmax"

# %% wrong: answers in place of scores — says "as an argmax gives them" — from "softmax added": "softmax" → "argmax"

# %% wrong: brightness scaled in front — says "The pictures were divided by 255" — from "softmax added": ").softmax(1" → " / 255"

# %% wrong: another seed — says "another network" — from "the older exporter"
#   import torch
# +
# + from gpulab import Problem

# -         problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# +         Problem(problem.network, seed=problem.seed + 1, device="cpu").model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],

# %% wrong: float16 — says "of type float16" — from "the older exporter"
# -         problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
# +         problem.model().eval().half(), (torch.zeros(2, 3, 32, 32).half(),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],

# %% wrong: float16 inside — says "16 bits" — from "the older exporter"
#   import io
#
# + import onnx
#   import torch
# + from onnxruntime.transformers.float16 import convert_float_to_float16

# -     return buffer.getvalue()
# +     return convert_float_to_float16(onnx.load_from_string(buffer.getvalue()), keep_io_types=True).SerializeToString()

# %% wrong: a path — says "A path is not the file"
import tempfile

import torch


def export_onnx(problem):
    path = tempfile.mkdtemp() + "/network.onnx"
    torch.onnx.export(problem.model().eval(), (torch.zeros(2, 3, 32, 32),), path, dynamo=False, dynamic_axes={"images": {0: "batch"}}, input_names=["images"])
    return path

# %% wrong: nothing comes back — says "return statement" — from "the older exporter": "buffer.getvalue()" → "None"

# %% wrong: half of the bytes — says "only a part of one" — from "the older exporter"
# -     return buffer.getvalue()
# +     return buffer.getvalue()[: len(buffer.getvalue()) // 2]

# %% wrong: the bare weights — says "not an ONNX file"
def export_onnx(problem):
    return b"".join(tensor.numpy().tobytes() for tensor in problem.model().state_dict().values())

# %% wrong: an opset that nobody has yet — says "opset" — from "the older exporter"
#   import io
#
# + import onnx
#   import torch
# +
# +
# + def late(content):
# +     model = onnx.load_from_string(content)
# +     model.opset_import[0].version = 99
# +     return model.SerializeToString()

# -     return buffer.getvalue()
# +     return late(buffer.getvalue())

# %% hostile: asks for a terabyte — says "memory"
import onnx
from onnx import TensorProto, helper


def export_onnx(problem):
    size = helper.make_tensor("size", TensorProto.INT64, [1], [1 << 40])
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["huge"]),
        helper.make_node("ReduceSum", ["huge"], ["total"]),
        helper.make_node("Flatten", ["images"], ["flat"]),
        helper.make_node("Add", ["flat", "total"], ["scores"]),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("images", ["n", 3, 32, 32]), ("scores", None))]
    graph = helper.make_graph(nodes, "huge", values[:1], values[1:], [size])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()

# %% hostile: bytes that equal everything
class Always(bytes):
    def __eq__(self, other):
        return True

    def startswith(self, *_):
        return False

    __hash__ = bytes.__hash__


def export_onnx(problem):
    return Always(b"network")

# %% hostile: a constant whose numbers lie in a file of the grader's machine — says "external data"
import io

import onnx
import torch


def export_onnx(problem):
    buffer = io.BytesIO()
    torch.onnx.export(
        problem.model().eval(), (torch.zeros(2, 3, 32, 32),), buffer, dynamo=False, input_names=["images"], output_names=["scores"],
        dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
    )
    model = onnx.load_from_string(buffer.getvalue())
    held = onnx.TensorProto(name="held", data_type=onnx.TensorProto.UINT8, dims=[16])
    held.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": "../etc/passwd", "offset": "0", "length": "16"}.items():
        held.external_data.add(key=key, value=value)
    model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["held"], value=held))
    return model.SerializeToString()

# %% hostile: four million nodes without a name, in 8 MB — says "more in it than any model of this course"
def export_onnx(problem):
    def field(number, content):
        size, head = len(content), bytes([number << 3 | 2])
        while size > 127:
            head, size = head + bytes([size & 127 | 128]), size >> 7
        return head + bytes([size]) + content

    graph = field(1, b"") * 4_000_000 + field(12, b"")
    return field(7, graph) + field(8, b"\x10\x12")

# %% hostile: a loop that never ends — says "did not finish"
def export_onnx(problem):
    import onnx
    from onnx import helper

    float32, truth, whole = onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL, onnx.TensorProto.INT64
    same = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in ("go", "x")]
    body = helper.make_graph(
        same, "body",
        [helper.make_tensor_value_info(*one) for one in (("i", whole, []), ("go", truth, []), ("x", float32, None))],
        [helper.make_tensor_value_info(*one) for one in (("go_out", truth, []), ("x_out", float32, None))],
    )
    always = helper.make_node("Constant", [], ["always"], value=helper.make_tensor("t", truth, [], [True]))
    loop = helper.make_node("Loop", ["", "always", "images"], ["scores"], body=body)
    ends = [helper.make_tensor_value_info("images", float32, ["batch", 3, 32, 32])]
    graph = helper.make_graph([always, loop], "g", ends, [helper.make_tensor_value_info("scores", float32, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()

# %% hostile: scores that are NaN, which is not further off than any limit — says "hold NaN"
def export_onnx(problem):
    from onnx import helper

    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("Slice", ["flat", "from", "to", "axis"], ["ten"]),
        helper.make_node("Sub", ["ten", "ten"], ["zero"]),
        helper.make_node("Div", ["zero", "zero"], ["y"]),
    ]
    held = [helper.make_tensor(name, 7, [1], [value]) for name, value in (("from", 0), ("to", 10), ("axis", 1))]
    pictures = helper.make_tensor_value_info("x", 1, ["n", 3, 32, 32])
    scores = helper.make_tensor_value_info("y", 1, ["n", 10])
    graph = helper.make_graph(nodes, "\x1b[2J", [pictures], [scores], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()

# %% hostile: weights of 2^62 numbers, and none of them in the file — says "refuses the model"
def export_onnx(problem):
    import onnx
    from onnx import helper

    weights = onnx.TensorProto(name="w", data_type=1, dims=[2**31, 2**31], raw_data=b"")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    pictures, scores = (helper.make_tensor_value_info(name, 1, None) for name in "xy")
    graph = helper.make_graph([node], "g", [pictures], [scores], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()

# %% hostile: 200 MB in a field that ONNX does not know — says "more in it than any model of this course"
def export_onnx(problem):
    return b"\x82\x7d\x80\x84\xaf\x5f" + bytes(200_000_000)

# %% wrong: today's exporter in training mode, which only dropout tells — says "training mode" — from "reference": "problem.model().eval()" → "problem.model()"


# %% right: the content of a buffer, as a memoryview
import io

import torch


def export_onnx(problem):
    buffer = io.BytesIO()
    shapes = ({0: torch.export.Dim("batch")},)
    torch.onnx.export(problem.model().eval(), (torch.zeros(1, 3, 32, 32),), buffer, dynamo=True, dynamic_shapes=shapes, verbose=False)
    return buffer.getbuffer()


# %% wrong: the exported program — says "model_proto.SerializeToString() gives its bytes" — from "reference": "program.model_proto.SerializeToString()" → "program"

# %% wrong: the model in memory — says "SerializeToString() gives its bytes" — from "reference": "program.model_proto.SerializeToString()" → "program.model_proto"

# %% wrong: the buffer itself — says "getvalue() gives its bytes" — from "the content of a buffer, as a memoryview": "buffer.getbuffer()" → "buffer"

# %% wrong: pictures of 28 by 28 pixels — says "(batch, 3, 28, 28), expected (batch, 3, 32, 32)" — from "reference": "2, 3, 32, 32" → "2, 3, 28, 28"

# %% wrong: a comma is missing, so that the shapes are a dict — says "UserError: When `dynamic_shapes` is specified as a dict" — from "reference": "({0: batch},)" → "({0: batch})"

# %% wrong: an example without a batch — says "Is the example a batch of pictures"
import torch


def export_onnx(problem):
    model = problem.model().eval()
    shapes = ({0: torch.export.Dim("batch")},)
    program = torch.onnx.export(model, (torch.zeros(3, 32, 32),), dynamo=True, verbose=False, dynamic_shapes=shapes)
    return program.model_proto.SerializeToString()

# %% wrong: another axis is open — says "the batch is axis 0" — from "an example without a batch": "torch.zeros(3" → "torch.zeros(2, 3", "{0: " → "{1: "

# %% wrong: the example has its channels last — says "Is the example a batch of pictures"
import torch


def export_onnx(problem):
    example = torch.zeros(2, 32, 32, 3)
    shapes = ({0: torch.export.Dim("batch")},)
    program = torch.onnx.export(
        problem.model().eval(), (example,), dynamo=True, verbose=False, dynamic_shapes=shapes
    )
    return program.model_proto.SerializeToString()

# %% wrong: the method, not called — says "put () after its name" — from "reference": "SerializeToString()" → "SerializeToString"

# %% wrong: the file in words — says "serialize it instead" — from "reference": "return program.model_proto.SerializeToString()" → "return str(program.model_proto)"
