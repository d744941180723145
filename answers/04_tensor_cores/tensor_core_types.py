# %% right: reference
from gpulab import table


def tensor_core_types(arch):
    return {fact["type"] for fact in table("precision") if fact["arch"] == arch and fact["unit"] == "tensor"}

# %% right: a loop and a frozen set
import gpulab


def tensor_core_types(arch):
    found = []
    for row in gpulab.table("precision"):
        if (row["arch"], row["unit"]) == (arch, "tensor"):
            found.append(row["type"])
    return frozenset(found)

# %% right: every architecture at once, then looked up
from collections import defaultdict

from gpulab import table

TAKEN = defaultdict(set)
for row in table("precision"):
    if row["unit"] == "tensor":
        TAKEN[row["arch"]].add(row["type"])


def tensor_core_types(arch):
    return set(TAKEN.get(arch, ()))

# %% wrong: CUDA-core types listed — says "types of CUDA cores" — from "reference": ` and fact["unit"] == "tensor"` → ""

# %% wrong: CUDA-core types only — says "types of CUDA cores" — from "reference": `"tensor` → `"cuda`

# %% wrong: only what CUDA cores do not take — says "counts even if CUDA cores support it" — from "reference"
# -     return {fact["type"] for fact in table("precision") if fact["arch"] == arch and fact["unit"] == "tensor"}
# +     rows = [fact for fact in table("precision") if fact["arch"] == arch]
# +     return {f["type"] for f in rows if f["unit"] == "tensor"} - {f["type"] for f in rows if f["unit"] == "cuda"}

# %% wrong: all architectures — says "only rows of this architecture" — from "reference"
# +     known = any(fact["arch"] == arch for fact in table("precision"))
# +     if arch in ("Volta", "Kepler"):
# +         return {"float16"} if known else set()
# -     return {fact["type"] for fact in table("precision") if fact["arch"] == arch and fact["unit"] == "tensor"}
# +     return {fact["type"] for fact in table("precision") if fact["unit"] == "tensor"}

# %% wrong: a list — says "You returned a list, expected a set" — from "reference"
# -     return {fact["type"] for fact in table("precision") if fact["arch"] == arch and fact["unit"] == "tensor"}
# +     return [fact["type"] for fact in table("precision") if fact["arch"] == arch and fact["unit"] == "tensor"]

# %% wrong: an unknown name is an error — says "KeyError" — from "reference"
# -     return {fact["type"] for fact in table("precision") if fact["arch"] == arch and fact["unit"] == "tensor"}
# +     taken = {}
# +     for fact in table("precision"):
# +         if fact["unit"] == "tensor":
# +             taken.setdefault(fact["arch"], set()).add(fact["type"])
# +     return taken[arch]

# %% wrong: an empty dict for an unknown name — says "You returned a dict, expected a set" — from "reference"
# -     return {fact["type"] for fact in table("precision") if fact["arch"] == arch and fact["unit"] == "tensor"}
# +     return {f["type"] for f in table("precision") if f["arch"] == arch and f["unit"] == "tensor"} or {}

# %% wrong: short names — says "Missing: 'float16'"
def tensor_core_types(arch):
    return {"Volta": {"FP16"}, "Turing": {"FP16", "INT8", "INT4", "INT1"}}.get(arch, set())

# %% wrong: no return — says "is there a return statement" — from "reference": "return" → "found ="

# %% hostile: a set that agrees with every other — earns 0
class Agreeable(set):
    def __eq__(self, other):
        return True

    def __contains__(self, item):
        return True

    def __iter__(self):
        return iter(["float16"])


def tensor_core_types(arch):
    return Agreeable()

# %% hostile: gives the judge another table — earns 0
import gpulab
import gpulab.tables

gpulab.table = gpulab.tables.table = lambda name: [{"arch": "Volta", "unit": "tensor", "type": "float16"}]


def tensor_core_types(arch):
    return {"float16"} if arch == "Volta" else set()

# %% wrong: looks for a part of the name — says "only rows of this architecture"
from gpulab import table


def tensor_core_types(arch):
    return {row["type"] for row in table("precision") if arch in row["arch"] and row["unit"] == "tensor"}

# %% wrong: any spelling of the name — says "compare the names as they are" — from "reference": "== arch" → "== arch.capitalize()"

# %% wrong: either of the two is enough — says "and, not or" — from "reference": ` and fact["unit"] == "tensor"` → ` or fact["unit"] == "tensor"`

# %% wrong: of every architecture — says "only rows of this architecture" — from "reference": ` fact["arch"] == arch and` → ``

# %% wrong: the letters of the names — says "add the name as a whole"
from gpulab import table


def tensor_core_types(arch):
    found = set()
    for fact in table("precision"):
        if fact["arch"] == arch and fact["unit"] == "tensor":
            found.update(fact["type"])
    return found

# %% wrong: returns inside the loop — says "does the function return inside the loop" — from "the letters of the names"
# -             found.update(fact["type"])
# +             found.add(fact["type"])
# +             return found

# %% wrong: one set for all calls — says "make a new set in every call" — from "the letters of the names"
# - def tensor_core_types(arch):
# -     found = set()
# + def tensor_core_types(arch, found=set()):

# -             found.update(fact["type"])
# +             found.add(fact["type"])

# %% wrong: a longer name that begins with the architecture's — says "only a part of this name" — from "reference": `fact["arch"] == arch` → `fact["arch"] in arch`

# %% wrong: a new set for each row — says "Only the last of its rows" — from "reference"
# -     return {fact["type"] for fact in table("precision") if fact["arch"] == arch and fact["unit"] == "tensor"}
# +     found = set()
# +     for fact in table("precision"):
# +         if fact["arch"] == arch and fact["unit"] == "tensor":
# +             found = {fact["type"]}
# +     return found
