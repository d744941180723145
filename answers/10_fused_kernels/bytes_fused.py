# %% right: reference
def bytes_fused(ops, elements, bytes_per_element, fused):
    from_outside = sum(op["inputs"] for op in ops)
    between = 0 if fused else 2 * (len(ops) - 1)
    return (from_outside + between + 1) * elements * bytes_per_element

# %% right: operation by operation
def bytes_fused(ops, elements, bytes_per_element, fused):
    moved = 0
    for number, op in enumerate(ops):
        moved += op["inputs"]
        if not fused:
            moved += 1 + (number > 0)
    if fused:
        moved += 1
    return moved * elements * bytes_per_element

# %% wrong: intermediate results counted in the fused kernel — says "keeps intermediate results in registers"
def bytes_fused(ops, elements, bytes_per_element, fused):
    return (sum(op["inputs"] for op in ops) + 2 * (len(ops) - 1) + 1) * elements * bytes_per_element

# %% wrong: each operation of the fused kernel writes — says "keeps intermediate results in registers"
def bytes_fused(ops, elements, bytes_per_element, fused):
    outside = sum(op["inputs"] for op in ops)
    if fused:
        return (outside + len(ops)) * elements * bytes_per_element
    return (outside + 2 * len(ops) - 1) * elements * bytes_per_element

# %% wrong: eager taken for fused — says "crosses memory twice"
def bytes_fused(ops, elements, bytes_per_element, fused):
    return (sum(op["inputs"] for op in ops) + 1) * elements * bytes_per_element

# %% wrong: the final result is forgotten — says "final result is written"
def bytes_fused(ops, elements, bytes_per_element, fused):
    between = 0 if fused else 2 * (len(ops) - 1)
    return (sum(op["inputs"] for op in ops) + between) * elements * bytes_per_element

# %% wrong: an eager operation reads nothing of the chain — says "written, then read"
def bytes_fused(ops, elements, bytes_per_element, fused):
    outside = sum(op["inputs"] for op in ops)
    return (outside + (1 if fused else len(ops))) * elements * bytes_per_element

# %% wrong: intermediate results are read but never written — says "crosses memory twice" — from "an eager operation reads nothing of the chain": "len(ops)" → "len(ops) - 1"

# %% wrong: elements, not bytes — says "1 byte per element"
def bytes_fused(ops, elements, bytes_per_element, fused):
    between = 0 if fused else 2 * (len(ops) - 1)
    return (sum(op["inputs"] for op in ops) + between + 1) * elements

# %% wrong: fused and eager swapped — says "Swapped: only eager"
def bytes_fused(ops, elements, bytes_per_element, fused):
    between = 2 * (len(ops) - 1) if fused else 0
    return (sum(op["inputs"] for op in ops) + between + 1) * elements * bytes_per_element

# %% wrong: no return — says "is there a return statement"
def bytes_fused(ops, elements, bytes_per_element, fused):
    sum(op["inputs"] for op in ops)

# %% hostile: a number that equals everything — earns 0
class Any(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def bytes_fused(ops, elements, bytes_per_element, fused):
    return Any(0)

# %% wrong: bits — says "not bits" — from "reference": "* bytes_per_element" → "* bytes_per_element * 8"

# %% wrong: one intermediate result too many — says "Between 3 operations there are 2 results" — from "reference": "(len(ops) - 1)" → "len(ops)"


# %% wrong: only the first operation reads in the fused kernel — says "Inputs of all operations"
def bytes_fused(ops, elements, bytes_per_element, fused):
    if fused:
        return (ops[0]["inputs"] + 1) * elements * bytes_per_element
    n = sum(o["inputs"] for o in ops) + 1 + 2 * (len(ops) - 1)
    return n * elements * bytes_per_element


# %% wrong: two inputs for each operation — says "one tensor too many"
def bytes_fused(ops, elements, bytes_per_element, fused):
    if fused:
        return (len(ops) + 2) * elements * bytes_per_element
    return 3 * len(ops) * elements * bytes_per_element


# %% right: a NumPy integer
import numpy as np
def bytes_fused(ops, elements, bytes_per_element, fused):
    reads = np.array([op["inputs"] for op in ops])
    if fused:
        tensors = reads.sum() + 1
    else:
        tensors = (reads + 2).sum() - 1
    return tensors * np.int64(elements) * bytes_per_element

# %% wrong: an eager operation writes nothing for the chain — says "written, then read" — from "reference": "2 * (len(ops) - 1)" → "len(ops) - 1"


# %% wrong: a result for the first operation, too — says "one tensor too many"
def bytes_fused(ops, elements, bytes_per_element, fused):
    inputs = sum(op["inputs"] for op in ops)
    return (inputs + 1 if fused else inputs + 2 * len(ops)) * elements * bytes_per_element


# %% wrong: at least one input for each operation — says "one tensor too many"
def bytes_fused(ops, elements, bytes_per_element, fused):
    inputs = sum(max(1, op["inputs"]) for op in ops)
    return (inputs + 1 if fused else inputs + 2 * len(ops) - 1) * elements * bytes_per_element

# %% wrong: equal numbers of inputs count once — says "even if the numbers are equal" — from "reference": `sum(op["inputs"] for op in ops)` → `sum({op["inputs"] for op in ops})`

# %% wrong: the largest number of inputs — says "Inputs of all operations are read" — from "reference": `sum(op["inputs"] for op in ops)` → `max(op["inputs"] for op in ops)`

# %% wrong: in MB — says "not MB" — from "reference": "* bytes_per_element" → "* bytes_per_element / 1e6"

# %% wrong: an operation without other inputs moves nothing — says "has no other input" — from "reference": `    between` → `    ops = [op for op in ops if op["inputs"]]; between`

# %% wrong: bytes per element — says "multiply by the number of elements" — from "reference": " * elements" → ""

# %% wrong: fused is half of eager — says "not half of eager"
def bytes_fused(ops, elements, bytes_per_element, fused):
    tensors = sum(op["inputs"] for op in ops) + 2 * (len(ops) - 1) + 1
    total = tensors * elements * bytes_per_element
    return total // 2 if fused else total

# %% wrong: an input for each operation — says "six here, not three" — from "reference": `sum(op["inputs"] for op in ops)` → "len(ops)"

# %% wrong: the inputs of the last operation only — says "Inputs of all operations are read" — from "reference": `sum(op["inputs"] for op in ops)` → `ops[-1]["inputs"]`

# %% wrong: returns in the first round of the loop — says "That is the first operation alone" — from "operation by operation"
# -     if fused:
# -         moved += 1
# -     return moved * elements * bytes_per_element
# +         return (moved + fused) * elements * bytes_per_element

# %% wrong: an operation without inputs of its own reads nothing — says "each but the first reads the one before"
def bytes_fused(ops, elements, bytes_per_element, fused):
    tensors = sum(op["inputs"] for op in ops) + 1
    if not fused:
        tensors += len(ops) - 1 + sum(1 for op in ops[1:] if op["inputs"])
    return tensors * elements * bytes_per_element

# %% wrong: the eager chain is the fused one times its length — says "three times the fused chain"
def bytes_fused(ops, elements, bytes_per_element, fused):
    tensors = sum(op["inputs"] for op in ops) + 1
    return tensors * (1 if fused else len(ops)) * elements * bytes_per_element

# %% wrong: intermediate results of one element — says "as many elements as the inputs"
def bytes_fused(ops, elements, bytes_per_element, fused):
    between = 0 if fused else 2 * (len(ops) - 1)
    return (sum(op["inputs"] for op in ops) + 1) * elements * bytes_per_element if fused else (
        (sum(op["inputs"] for op in ops) + 1) * elements + between
    ) * bytes_per_element

# %% wrong: the first operation's inputs are dropped — says "by your function 1: inputs of all operations are read"
def bytes_fused(ops, elements, bytes_per_element, fused):
    between = 0 if fused else 2 * (len(ops) - 1)
    return (sum(op["inputs"] for op in ops[1:]) + between + 1) * elements * bytes_per_element

# %% wrong: the last operation's inputs are dropped — says "Inputs of all operations are read"
def bytes_fused(ops, elements, bytes_per_element, fused):
    between = 0 if fused else 2 * (len(ops) - 1)
    return (sum(op["inputs"] for op in ops[:-1]) + between + 1) * elements * bytes_per_element

# %% wrong: fused, one input for each operation after the first — says "one tensor too many: the fused kernel reads the 3 inputs"
def bytes_fused(ops, elements, bytes_per_element, fused):
    if fused:
        return (ops[0]["inputs"] + len(ops)) * elements * bytes_per_element
    return (sum(op["inputs"] for op in ops) + 2 * len(ops) - 1) * elements * bytes_per_element
