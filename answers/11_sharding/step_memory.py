# %% right: reference
def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):
    narrow = precision == "bfloat16"
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] + (1 if narrow else 0)
    inputs = sum(one for one, _ in activations_per_sample)
    insides = [inside for _, inside in activations_per_sample]
    values = inputs + (max(insides, default=0) if checkpointed else sum(insides))
    return {
        "weights": (2 if narrow else 4) * parameters,
        "gradients": (2 if narrow else 4) * parameters,
        "optimizer": 4 * states * parameters,
        "activations": (4 if precision == "float32" else 2) * batch * values,
    }

# %% right: from a table of bytes
TABLE = {"float32": (4, 0, 4), "autocast": (4, 0, 2), "bfloat16": (2, 4, 2)}


def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):
    weight, master, activation = TABLE[precision]
    optimizer_bytes = master
    if optimizer in ("momentum", "adam"):
        optimizer_bytes += 4
    if optimizer == "adam":
        optimizer_bytes += 4
    kept, largest = 0, 0
    for inputs, inside in activations_per_sample:
        kept += inputs
        if checkpointed:
            largest = max(largest, inside)
        else:
            kept += inside
    parts = dict.fromkeys(("weights", "gradients"), weight * parameters)
    parts["optimizer"] = parameters * optimizer_bytes
    parts["activations"] = batch * activation * (kept + largest)
    return parts

# %% wrong: master weights forgotten — says "master weights"
def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):
    width = 2 if precision == "bfloat16" else 4
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    inputs = sum(one for one, _ in activations_per_sample)
    insides = [inside for _, inside in activations_per_sample]
    values = inputs + (max(insides) if checkpointed else sum(insides))
    return {
        "weights": width * parameters,
        "gradients": width * parameters,
        "optimizer": 4 * states * parameters,
        "activations": (4 if precision == "float32" else 2) * batch * values,
    }

# %% wrong: states in bfloat16 too — says "float32: 4 bytes each" — from "master weights forgotten"
# -     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
# +     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] + (precision == "bfloat16")

# -         "optimizer": 4 * states * parameters,
# +         "optimizer": width * states * parameters,

# %% wrong: autocast halves the weights — says "autocast keeps weights and gradients in float32" — from "master weights forgotten"
# -     width = 2 if precision == "bfloat16" else 4
# -     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
# +     width = 4 if precision == "float32" else 2
# +     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] + (precision != "float32")

# -         "activations": (4 if precision == "float32" else 2) * batch * values,
# +         "activations": width * batch * values,

# %% wrong: one state for Adam — says "two states" — from "master weights forgotten"
# -     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
# +     states = {"sgd": 0, "momentum": 1, "adam": 1}[optimizer] + (precision == "bfloat16")

# %% wrong: the batch is left out — says "Multiply by the batch" — from "master weights forgotten"
# -     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
# +     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] + (precision == "bfloat16")

# -         "activations": (4 if precision == "float32" else 2) * batch * values,
# +         "activations": (4 if precision == "float32" else 2) * values,

# %% wrong: with checkpoints only the inputs — says "its inside is in memory too" — from "master weights forgotten"
# -     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
# +     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] + (precision == "bfloat16")

# -     values = inputs + (max(insides) if checkpointed else sum(insides))
# +     values = inputs + (0 if checkpointed else sum(insides))

# %% wrong: with checkpoints the largest block alone — says "All inputs count, and one inside"
def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):
    width = 2 if precision == "bfloat16" else 4
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] + (precision == "bfloat16")
    blocks = [inputs + inside for inputs, inside in activations_per_sample]
    values = max(blocks) if checkpointed else sum(blocks)
    return {
        "weights": width * parameters,
        "gradients": width * parameters,
        "optimizer": 4 * states * parameters,
        "activations": (4 if precision == "float32" else 2) * batch * values,
    }

# %% wrong: checkpoints change nothing — says "only inputs are kept" — from "with checkpoints the largest block alone"
# -     blocks = [inputs + inside for inputs, inside in activations_per_sample]
# -     values = max(blocks) if checkpointed else sum(blocks)
# +     values = sum(inputs + inside for inputs, inside in activations_per_sample)

# %% wrong: activations in float32 under autocast — says "2 bytes" — from "master weights forgotten"
# -     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
# +     states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] + (precision == "bfloat16")

# -         "activations": (4 if precision == "float32" else 2) * batch * values,
# +         "activations": width * batch * values,

# %% wrong: master weights among the weights — says "Master weights belong to the optimizer" — from "master weights forgotten"
# -         "weights": width * parameters,
# +         "weights": (6 if precision == "bfloat16" else 4) * parameters,

# %% wrong: the last inside for the largest — says "and the largest inside" — from "with checkpoints the largest block alone"
# -     blocks = [inputs + inside for inputs, inside in activations_per_sample]
# -     values = max(blocks) if checkpointed else sum(blocks)
# +     inputs = sum(one for one, _ in activations_per_sample)
# +     insides = [inside for _, inside in activations_per_sample]
# +     values = inputs + (insides[-1] if checkpointed else sum(insides))

# %% hostile: a dict that equals everything
class Everything(dict):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):
    return Everything()

# %% wrong: bits — says "not bits" — from "reference": `"weights": (2 if narrow else 4)` → `"weights": (16 if narrow else 32)`

# %% wrong: momentum has no state — says "one state per parameter" — from "reference": `"momentum": 1` → `"momentum": 0`

# %% wrong: a network without blocks — says "activations_per_sample may be empty" — from "reference": ", default=0" → ""

# %% wrong: master weights under autocast — says "Under autocast the weights are their own master copy"
def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):
    width = 2 if precision == "bfloat16" else 4
    states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] + (precision != "float32")
    inputs = [one for one, _ in activations_per_sample]
    insides = [one for _, one in activations_per_sample]
    values = sum(inputs) + (max(insides, default=0) if checkpointed else sum(insides))
    return {
        "weights": width * parameters,
        "gradients": width * parameters,
        "optimizer": 4 * states * parameters,
        "activations": (4 if precision == "float32" else 2) * batch * values,
    }

# %% wrong: the inside of the block with the largest input — says "not that of the block with the largest input" — from "master weights under autocast": `(precision != "float32")` → `(precision == "bfloat16")`, "max(insides, default=0)" → "max(activations_per_sample, default=(0, 0))[1]"

# %% wrong: the largest block's input twice — says "its input is there already" — from "master weights under autocast": `(precision != "float32")` → `(precision == "bfloat16")`, "max(insides, default=0)" → "max(map(sum, activations_per_sample), default=0)"


# %% wrong: the inputs of blocks are left out — says "The inputs of the blocks are kept, too" — from "reference": "values = inputs + (" → "values = ("

# %% wrong: inside and input swapped — says "A pair is (input, inside)" — from "reference": "sum(one for one, _ in" → "sum(one for _, one in", "[inside for _, inside in" → "[inside for inside, _ in"

# %% wrong: gradients of every sample — says "Gradients are per parameter" — from "reference": `"gradients": (` → `"gradients": batch * (`

# %% wrong: with checkpoints, the mean of the insides — says "one inside: the largest" — from "reference": "max(insides, default=0)" → "sum(insides) // max(len(insides), 1)"

# %% wrong: with checkpoints, the first input does not count — says "the first one too" — from "reference": "inputs = sum(one for one, _ in activations_per_sample)" → "inputs = sum(one for one, _ in activations_per_sample[checkpointed:])"

# %% wrong: states in bfloat16, master weights in float32 — says "The states are float32, too" — from "reference": `"optimizer": 4 * states * parameters` → `"optimizer": (2 * (states - 1) + 4 if narrow else 4 * states) * parameters`

# %% wrong: master weights for Adam only — says "also holds float32 master weights" — from "reference": "(1 if narrow else 0)" → `(1 if narrow and optimizer == "adam" else 0)`

# %% wrong: megabytes — says "not MB" — from "reference": `"weights": (2 if narrow else 4) * parameters` → `"weights": (2 if narrow else 4) * parameters / 1e6`

# %% wrong: one dict for all calls — says "overwrote what an earlier call had returned" — from "reference"
# - def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):
# + PARTS = {}
# +
# +
# + def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):

# -     return {
# +     PARTS.update({

# -     }
# +     })
# +     return PARTS

# %% wrong: the last block is not computed again — says "The last block is computed again, too" — from "reference": "max(insides, default=0)" → "max(insides[:-1], default=0)"

# %% wrong: activations counted in int32 — says "holds only numbers below 2**31" — from "reference"
# - def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):
# + import numpy as np
# +
# +
# + def step_memory(parameters, batch, activations_per_sample, precision, optimizer, checkpointed):

# -         "activations": (4 if precision == "float32" else 2) * batch * values,
# +         "activations": int(np.array(values * batch).astype(np.int32) * np.int32(4 if precision == "float32" else 2)),

# %% wrong: under autocast the kept inputs stay in float32 — says "Inputs and insides are both activations" — from "reference": "batch * values," → `batch * (values + (inputs if checkpointed and precision == "autocast" else 0)),`
