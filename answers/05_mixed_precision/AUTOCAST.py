# %% right: reference
AUTOCAST = {
    "matmul": "float16",
    "conv2d": "float16",
    "relu": "float16",
    "softmax": "float32",
    "layer_norm": "float32",
    "cross_entropy": "float32",
    "sum": "float32",
    "add": "float32",
    "double": "float64",
    "gradient": "float32",
}

# %% right: by type
AUTOCAST = dict.fromkeys(["softmax", "layer_norm", "cross_entropy", "sum", "add", "gradient"], "float32")
AUTOCAST |= dict.fromkeys(["matmul", "conv2d", "relu"], "float16") | {"double": "float64"}

# %% right: asks torch for most
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional


def result_type(operation, *types):
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.float16)
    with FakeTensorMode():
        found = operation(*(torch.empty(8, 8, dtype=getattr(torch, one), device="cuda") for one in types)).dtype
    torch.set_autocast_enabled("cuda", False)
    return str(found).removeprefix("torch.")


AUTOCAST = {
    "matmul": result_type(lambda a, b: a @ b, "float32", "float32"),
    "conv2d": result_type(lambda a, b: functional.conv2d(a[None, None], b[None, None]), "float32", "float32"),
    "relu": result_type(torch.relu, "float16"),
    "softmax": result_type(lambda x: x.softmax(dim=1), "float16"),
    "layer_norm": result_type(lambda x: functional.layer_norm(x, (8,)), "float16"),
    "cross_entropy": result_type(
        lambda x: functional.cross_entropy(x, torch.zeros(8, dtype=torch.long, device="cuda")), "float16"
    ),
    "sum": result_type(torch.sum, "float16"),
    "add": result_type(torch.add, "float16", "float32"),
    "double": result_type(lambda a, b: a @ b, "float64", "float64"),
    "gradient": "float32",
}

# %% wrong: everything is float16 — says "3 of 10 entries are right"
AUTOCAST = dict.fromkeys(
    ["matmul", "conv2d", "relu", "softmax", "layer_norm", "cross_entropy", "sum", "add", "double", "gradient"], "float16"
)

# %% wrong: everything is float32 — says "6 of 10 entries are right" — from "everything is float16": "float16" → "float32"

# %% wrong: torch types instead of their names — says "no entry for conv2d"
import torch

AUTOCAST = {"matmul": torch.float16, "sum": torch.float32}

# %% wrong: a list — says "is not a dict"
AUTOCAST = ["float16", "float32"]

# %% hostile: a dict that says yes to every key
class Yes(dict):
    def __getitem__(self, key):
        return "float32"

    def __contains__(self, key):
        return True


AUTOCAST = Yes()

# %% wrong: float32 everywhere but for the key that names its type — says "7 of 10 entries are right. Points begin at 8"
AUTOCAST = dict.fromkeys("matmul conv2d relu softmax layer_norm cross_entropy sum add gradient".split(), "float32")
AUTOCAST["double"] = "float64"

# %% wrong: eight of ten — says "8 of 10 entries are right" — earns 0.6666666666666666
AUTOCAST = dict.fromkeys(["softmax", "layer_norm", "cross_entropy", "sum", "add", "gradient", "conv2d", "relu"], "float32")
AUTOCAST |= {"matmul": "float16", "double": "float64"}

# %% wrong: float64 for a sum of two types — says "never casts to float64" — earns 1.3333333333333333 — from "reference": `"add": "float32"` → `"add": "float64"`
