# %% right: reference
from gpulab import table


def tensor_core_types(arch):
    return {row["type"] for row in table("precision") if row["arch"] == arch and row["unit"] == "tensor"}


def training_type(arch):
    taken = tensor_core_types(arch)
    for kind in ("bfloat16", "float16"):
        if kind in taken:
            return kind
    return "float32"

# %% right: without the other exercise
from gpulab import table


def training_type(arch):
    taken = {row["type"] for row in table("precision") if row["unit"] == "tensor" and row["arch"] == arch}
    return "bfloat16" if "bfloat16" in taken else "float16" if "float16" in taken else "float32"

# %% right: by generation
def training_type(arch):
    return {"Volta": "float16", "Turing": "float16"}.get(
        arch, "bfloat16" if arch in {"Ampere", "Ada", "Hopper", "Blackwell"} else "float32"
    )

# %% wrong: CUDA cores count as well — says "its tensor cores do not" — from "without the other exercise"
# -     taken = {row["type"] for row in table("precision") if row["unit"] == "tensor" and row["arch"] == arch}
# +     taken = {row["type"] for row in table("precision") if row["arch"] == arch}

# %% wrong: float16 first — says "bfloat16 comes first" — from "reference"
# +     return "float16" if "float16" in taken else "bfloat16" if "bfloat16" in taken else "float32"
# -     for kind in ("bfloat16", "float16"):
# -         if kind in taken:
# -             return kind
# -     return "float32"

# %% wrong: bfloat16 wherever there are tensor cores — says "Volta has no bfloat16"
from gpulab import table


def tensor_core_types(arch):
    return {row["type"] for row in table("precision") if row["arch"] == arch and row["unit"] == "tensor"}


def training_type(arch):
    return "bfloat16" if tensor_core_types(arch) else "float32"

# %% wrong: bfloat16 from Turing on — says "No tensor core of it takes that type" — from "bfloat16 wherever there are tensor cores"
#   def training_type(arch):
# +     if arch == "Volta":
# +         return "float16"

# %% wrong: nothing for what is unknown — says "Is there a return statement on every path" — from "bfloat16 wherever there are tensor cores"
# -     return "bfloat16" if tensor_core_types(arch) else "float32"
# +     if arch == "Pascal":
# +         return "float32"
# +     for kind in ("bfloat16", "float16"):
# +         if kind in tensor_core_types(arch):
# +             return kind

# %% wrong: bf16 — says "expected 'bfloat16'"
def training_type(arch):
    return "bf16"

# %% wrong: a set — says "expected a str" — from "bfloat16 wherever there are tensor cores"
# -     return "bfloat16" if tensor_core_types(arch) else "float32"
# +     return tensor_core_types(arch) & {"bfloat16"} or tensor_core_types(arch) & {"float16"} or {"float32"}

# %% wrong: torch's type, not its name — says "It must be a str" — from "bfloat16 wherever there are tensor cores"
# + import torch
#   from gpulab import table

# -     return "bfloat16" if tensor_core_types(arch) else "float32"
# +     return torch.bfloat16 if "bfloat16" in tensor_core_types(arch) else torch.float16

# %% hostile: a string that is equal to every other — earns 0
class Anything(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


def training_type(arch):
    return Anything("?")

# %% hostile: raises SystemExit as if all were well — earns 0 — from "bf16": `return "bf16"` → "raise SystemExit(0)"

# %% wrong: looks for a part of the name — says "No tensor core" — from "without the other exercise": `row["arch"] == arch` → `arch in row["arch"]`

# %% wrong: float16 only from bfloat16 on — says "take a 16-bit type" — from "without the other exercise": `"float16" if "float16" in taken else "float32"` → `"float32"`

# %% wrong: one architecture forgotten — says "take a 16-bit type" — from "by generation": `, "Turing": "float16"` → ""

# %% wrong: names in any case — says "No tensor core has this name" — from "reference": "    taken = tensor_core_types(arch)" → "    taken = tensor_core_types(arch.capitalize())"

# %% wrong: float8 before all others — says "Only bfloat16, float16, and float32" — from "reference": `("bfloat16", "float16")` → `("float8", "bfloat16", "float16")`

# %% wrong: Ada is missing in a list of names — says "Its tensor cores take bfloat16"
def training_type(arch):
    if arch in ("Ampere", "Hopper", "Blackwell"):
        return "bfloat16"
    return "float16" if arch in ("Volta", "Turing", "Ada") else "float32"

# %% wrong: tfloat32 first — says "Only bfloat16, float16, and float32" — from "reference": `in ("bfloat16", "float16")` → `in ("tfloat32", "bfloat16", "float16")`

# %% wrong: asks whether a string is true — says "is always true" — from "reference": "if kind in taken" → "if kind or kind in taken"

# %% wrong: bfloat16 for what is unknown — says "return float32 for an unknown architecture" — from "reference"
# -     taken = tensor_core_types(arch)
# +     taken = tensor_core_types(arch)
# +     if arch not in {row["arch"] for row in table("precision")}:
# +         return "bfloat16"

# %% wrong: a short name — says "as in the table" — from "reference": "            return kind" → `            return kind.replace("float", "f")`

# %% wrong: tfloat32 for a name that is not in the table — says "not in the table: return float32" — from "reference": `return "float32"` → `return "tfloat32" if arch != "Pascal" else "float32"`
