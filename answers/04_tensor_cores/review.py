# %% right: reference
def review(layers, batch, dtype):
    multiple = 16 if dtype == "int8" else 8
    sizes = {"linear": ("in_features", "out_features"), "conv": ("in_channels", "out_channels")}
    found = [(-1, "batch")] if batch % multiple else []
    for index, layer in enumerate(layers):
        if layer["kind"] in ("tanh", "sigmoid"):
            found.append((index, "math_heavy"))
        if layer["kind"] in sizes:
            for code, key in zip(("in", "out"), sizes[layer["kind"]]):
                if layer[key] % multiple:
                    found.append((index, code))
            if index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:
                found.append((index, "no_activation"))
    return found

# %% right: generators, a set, and pairs of neighbors
def review(layers, batch, dtype):
    multiple = {"int8": 16}.get(dtype, 8)

    def sizes(layer):
        return [(key.split("_")[0], value) for key, value in layer.items() if key != "kind"]

    widths = {(at, code) for at, layer in enumerate(layers) for code, size in sizes(layer) if size % multiple}
    heavy = {(at, "math_heavy") for at, layer in enumerate(layers) if layer["kind"] in {"tanh", "sigmoid"}}
    pairs = enumerate(zip(layers, layers[1:]))
    bare = {(at, "no_activation") for at, (one, other) in pairs if sizes(one) and sizes(other)}
    return sorted(widths | heavy | bare | ({(-1, "batch")} if batch % multiple else set()))

# %% right: from the back, recursively, in lists
def review(layers, batch, dtype):
    multiple = 16 if dtype == "int8" else 8
    if not layers:
        return [[-1, "batch"]] if batch % multiple else []
    *rest, last = layers
    at = len(rest)
    found = []
    match last["kind"]:
        case "linear":
            found = [[at, "in"]] * (last["in_features"] % multiple > 0) + [[at, "out"]] * (last["out_features"] % multiple > 0)
        case "conv":
            found = [[at, "in"]] * (last["in_channels"] % multiple > 0) + [[at, "out"]] * (last["out_channels"] % multiple > 0)
        case "tanh" | "sigmoid":
            found = [[at, "math_heavy"]]
    if rest and rest[-1]["kind"] in ("linear", "conv") and last["kind"] in ("linear", "conv"):
        found = [[at - 1, "no_activation"]] + found
    return found + review(rest, batch, dtype)

# %% right: with NumPy's integers — from "reference"
# + import numpy as np
# +
# +
#   def review(layers, batch, dtype):

# -     for index, layer in enumerate(layers):
# +     for index, layer in zip(np.arange(len(layers)), layers):

# %% wrong: activations between counted as nothing — says "An activation is between them" — from "reference"
# -             if index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:
# +             if any(other["kind"] in sizes for other in layers[index + 1 :]):

# %% wrong: activations between not counted in the index — says "activations between have places too" — from "reference"
#       found = [(-1, "batch")] if batch % multiple else []
# +     number = -1

# -             found.append((index, "math_heavy"))
# +             found.append((number, "math_heavy"))
#           if layer["kind"] in sizes:
# +             number += 1

# -                     found.append((index, code))
# +                     found.append((number, code))

# -                 found.append((index, "no_activation"))
# +                 found.append((number, "no_activation"))

# %% wrong: only sized layers numbered, activations by their place — says "activations between have places too"
def review(layers, batch, dtype):
    multiple = 16 if dtype == "int8" else 8
    sizes = {"linear": ("in_features", "out_features"), "conv": ("in_channels", "out_channels")}
    found = [(-1, "batch")] if batch % multiple else []
    found += [(index, "math_heavy") for index, layer in enumerate(layers) if layer["kind"] in ("tanh", "sigmoid")]
    sized = [index for index, layer in enumerate(layers) if layer["kind"] in sizes]
    for number, index in enumerate(sized):
        for code, key in zip(("in", "out"), sizes[layers[index]["kind"]]):
            if layers[index][key] % multiple:
                found.append((number, code))
        if index + 1 in sized:
            found.append((number, "no_activation"))
    return found

# %% wrong: last layer skipped — says "The last layer counts too" — from "reference": "(layers):" → "(layers[:-1]):"

# %% wrong: last layer skipped by pairing neighbors — says "The last layer counts too" — from "reference"
# -     for index, layer in enumerate(layers):
# +     for index, layer in enumerate(first for first, _ in zip(layers, layers[1:])):

# %% wrong: fails at the last layer — says "IndexError" — from "reference": "index + 1 < len(layers) and " → ""

# %% wrong: batch forgotten — says "The batch is a size like the others" — from "reference"
# -     found = [(-1, "batch")] if batch % multiple else []
# +     found = []

# %% wrong: multiples of 8 for int8 — says "multiples of 16" — from "reference": `16 if dtype == "int8" else ` → ""

# %% wrong: multiples of 16 for everything — says "8 elements of a 16-bit type" — from "reference": ` if dtype == "int8" else 8` → ""

# %% wrong: one rule a layer — says "One layer can break several rules" — from "reference"
# +                     break
# +             broken = found and found[-1][0] == index
# -             if index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:
# +             if not broken and index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:

# %% wrong: the second of two layers lacks the activation — says "to the first of the two" — from "reference"
# -             if index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:
# +             if index and layers[index - 1]["kind"] in sizes:

# %% wrong: an activation missing at the end — says "Nothing follows the last layer" — from "reference"
# -             if index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:
# +             if index + 1 == len(layers) or layers[index + 1]["kind"] in sizes:

# %% wrong: gelu is heavy — says "gelu passes" — from "reference": `sigmoid")` → `sigmoid", "gelu")`

# %% wrong: no eye for activations — says "at their own place" — from "reference"
# -         if layer["kind"] in ("tanh", "sigmoid"):
# -             found.append((index, "math_heavy"))

# %% wrong: convolutions passed over — says "A convolution has sizes too" — from "reference"
# -     sizes = {"linear": ("in_features", "out_features"), "conv": ("in_channels", "out_channels")}
# +     sizes = {"linear": ("in_features", "out_features")}

# %% wrong: convolutions passed over, but known as neighbors — says "A convolution has sizes too" — from "reference"
# -         if layer["kind"] in sizes:
# +         if layer["kind"] == "linear":

# %% wrong: a linear layer may follow a convolution — says "right after a convolution" — from "reference"
# -             if index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:
# +             if index + 1 < len(layers) and layers[index + 1]["kind"] == layer["kind"]:

# %% wrong: batch at index 0 — says "expected" — from "reference": "-1" → "0"

# %% wrong: a dict by layer — says "expected a list"
def review(layers, batch, dtype):
    multiple = 16 if dtype == "int8" else 8
    found = {-1: "batch"} if batch % multiple else {}
    for index, layer in enumerate(layers):
        if layer["kind"] == "linear" and layer["in_features"] % multiple:
            found[index] = "in"
    return found

# %% wrong: takes the activations out of the list that it was given — says "changed an argument" — from "reference"
#   def review(layers, batch, dtype):
# +     layers[:] = [layer for layer in layers if layer["kind"] not in ("relu", "gelu")]

# %% wrong: sentences — says "expected" — from "reference": "return found" → `return [f"layer {index}: {code}" for index, code in found]`

# %% wrong: prints instead of returning — says "is there a return statement" — from "reference": "return found" → "print(found)"

# %% wrong: says that all is well — says "linear 15→64"
def review(layers, batch, dtype):
    return []

# %% hostile: a list that is equal to every other — earns 0
class Anything(list):
    def __eq__(self, other):
        return True

    def __len__(self):
        return 0


def review(layers, batch, dtype):
    return Anything()

# %% hostile: looks for the reference in its caller — earns 0
def review(layers, batch, dtype):
    import gc
    import sys

    frame = sys._getframe(1)
    while frame is not None:
        if "by_hand" in frame.f_globals:
            return frame.f_globals["by_hand"](layers, batch, dtype)
        frame = frame.f_back
    for thing in gc.get_objects():
        if getattr(thing, "__name__", "") == "by_hand":
            return thing(layers, batch, dtype)
    return []

# %% hostile: replaces the checks — earns 0
import gpulab.check


def review(layers, batch, dtype):
    gpulab.check.equal = lambda *arguments, **options: None
    return []

# %% wrong: multiples of 8 for the batch, also for int8 — says "also for the batch" — from "reference": "if batch % multiple" → "if batch % 8"

# %% wrong: a convolution may follow a convolution — says "A convolution right after another" — from "reference": `layers[index + 1]["kind"] in sizes` → `"linear" in (layer["kind"], layers[index + 1]["kind"]) and layers[index + 1]["kind"] in sizes`

# %% wrong: sigmoid forgotten — says "sigmoid is math-heavy as well" — from "reference": `("tanh", "sigmoid")` → `("tanh",)`

# %% wrong: input and output swapped — says "in is for the layer's input size" — from "reference": `zip(("in", "out")` → `zip(("out", "in")`

# %% wrong: powers of two — says "no rule asks for a power of two" — from "reference": "if layer[key] % multiple" → "if layer[key] % multiple or layer[key] & (layer[key] - 1)"

# %% wrong: a math-heavy activation is taken for none — says "none is missing before them" — from "reference": `layers[index + 1]["kind"] in sizes` → `layers[index + 1]["kind"] not in ("relu", "gelu")`

# %% wrong: the first of equal layers — says "Layers may be equal" — from "reference": "found.append((index, code))" → "found.append((layers.index(layer), code))"

# %% wrong: the first of equal layers lacks the activation — says "Layers may be equal" — from "reference": `found.append((index, "no_activation"))` → `found.append((layers.index(layer), "no_activation"))`

# %% wrong: takes the sizes by their place — says "expected" — from "reference": `zip(("in", "out"), sizes[layer["kind"]])` → `zip(("in", "out"), [key for key in layer if key != "kind"])`

# %% wrong: one violation for each code — says "not one per code" — from "reference": "return found" → "return [(index, code) for code, index in {code: index for index, code in found}.items()]"

# %% wrong: bfloat16 as wide as int8 — says "16 bytes are 8 elements of a 16-bit type" — from "reference": `16 if dtype == "int8" else 8` → `8 if dtype == "float16" else 16`

# %% wrong: the last layer before the first — says "nothing comes before the first one" — from "reference"
# -             if index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:
# -                 found.append((index, "no_activation"))
# +             if layers[index - 1]["kind"] in sizes:
# +                 found.append((index - 1, "no_activation"))

# %% wrong: an activation before a layer — says "Only linear and conv layers lack an activation" — from "reference"
# -             if index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:
# -                 found.append((index, "no_activation"))
# +         if index + 1 < len(layers) and layers[index + 1]["kind"] in sizes:
# +             found.append((index, "no_activation"))

# %% wrong: only the first layer — says "does the function return inside the loop" — from "reference": "    return found" → "        return found"

# %% wrong: codes before indices — says "the index comes first" — from "reference": "return found" → "return [(code, index) for index, code in found]"

# %% wrong: input sizes that are powers of two — says "no rule asks for a power of two" — from "reference": `if layer[key] % multiple:` → `if layer[key] % multiple or code == "in" and layer[key] & (layer[key] - 1):`

# %% wrong: the batch is smaller than the multiple — says "if it is not a multiple" — from "reference": "if batch % multiple" → "if batch < multiple"

# %% wrong: output sizes only — says "reported as in" — from "reference": `zip(("in", "out"), sizes[layer["kind"]])` → `zip(("out",), sizes[layer["kind"]][1:])`

# %% wrong: input sizes only — says "Its output size counts" — from "reference": `zip(("in", "out"), sizes[layer["kind"]])` → `zip(("in",), sizes[layer["kind"]])`

# %% wrong: relu as heavy as tanh — says "relu passes" — from "reference": `("tanh", "sigmoid")` → `("tanh", "sigmoid", "relu")`

# %% wrong: multiples of 4 — says "20 is no multiple of 8" — from "reference": `"int8" else 8` → `"int8" else 4`

# %% wrong: both layers lack the activation — says "belongs to the first of the two" — from "reference": `found.append((index, "no_activation"))` → `found += [(index, "no_activation"), (index + 1, "no_activation")]`

# %% wrong: only the first layer that lacks an activation — says "right before another counts" — from "reference"
# -     return found
# +     lacking = [pair for pair in found if pair[1] == "no_activation"]
# +     return [pair for pair in found if pair not in lacking[1:]]

# %% wrong: only the last layer that lacks an activation — says "right before another counts" — from "reference"
# -     return found
# +     lacking = [pair for pair in found if pair[1] == "no_activation"]
# +     return [pair for pair in found if pair not in lacking[:-1]]

# %% wrong: the input size of the first layer only — says "The input size of each layer is reported" — from "reference": "if layer[key] % multiple" → `if layer[key] % multiple and (code == "out" or index == 0)`

# %% wrong: one code for each index — says "One layer can break several rules" — from "reference": "return found" → "return list(dict(found).items())"

# %% wrong: gelu is no activation — says "gelu is an activation" — from "reference": `layers[index + 1]["kind"] in sizes` → `layers[index + 1]["kind"] not in ("relu", "tanh", "sigmoid")`

# %% wrong: the batch with every layer — says "not once for each layer" — from "reference"
# -     found = [(-1, "batch")] if batch % multiple else []
# +     found = []

# -         if layer["kind"] in ("tanh", "sigmoid"):
# +         if batch % multiple:
# +             found.append((-1, "batch"))
# +         if layer["kind"] in ("tanh", "sigmoid"):

# %% wrong: a size below the multiple passes — says "not a multiple of 16 either" — from "reference": "if layer[key] % multiple:" → "if layer[key] > multiple and layer[key] % multiple:"

# %% wrong: texts instead of pairs — says "not a string" — from "reference": "return found" → `return [f"{index} {code}" for index, code in found]`

# %% wrong: the multiple divided by the size — says "not the multiple by the size" — from "reference": "layer[key] % multiple" → "multiple % layer[key]"

# %% wrong: rows of 128 bytes — says "8 elements are 16 bytes" — from "reference": "else 8" → "else 64"

# %% wrong: ends at the first tanh — says "The loop ends too early" — from "reference": `found.append((index, "math_heavy"))` → `found.append((index, "math_heavy")); break`

# %% wrong: some pairs turned around — says "the index comes first" — from "reference": "found.append((index, code))" → "found.append((code, index))"

# %% wrong: math-heavy between other layers only — says "wherever they are, also first or last" — from "reference": `in ("tanh", "sigmoid"):` → `in ("tanh", "sigmoid") and 0 < index < len(layers) - 1:`

# %% wrong: reports multiples — says "here all are multiples of 8" — from "reference": "if batch % multiple" → "if batch % multiple == 0", "if layer[key] % multiple" → "if layer[key] % multiple == 0"

# %% wrong: the batch must be a power of two — says "need not be a power of two" — from "reference": "if batch % multiple" → "if batch % multiple or batch & (batch - 1)"

# %% wrong: missing activations of short networks only — says "lacks an activation: report it" — from "reference": "if index + 1 < len(layers) and" → "if index + 1 < len(layers) < 3 and"

# %% wrong: no rule for a batch of one — says "a batch of one is reported, too" — from "reference": "if batch % multiple else" → "if batch % multiple and batch > 1 else"

# %% wrong: the input size of the first layer is left out where it is a convolution — says "also that of a convolution" — from "reference": "if layer[key] % multiple:" → `if layer[key] % multiple and not (index == 0 and key == "in_channels"):`
