"""Translation of tensor-core instructions: `wmma`, `mma.sync`, `ldmatrix`, which `tensor_cores` carries out."""

from __future__ import annotations

from gpulab.trace.log import LOAD, STORE
from gpulab.trace.ptx.codegen.handlers import meets
from gpulab.trace.ptx.codegen.lane import Site
from gpulab.trace.ptx.codegen.warp_code import WarpCode
from gpulab.trace.ptx.instructions.memory import space_of
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.runtime.fragments import BYTES, Shape, mma_fragment, wmma_count
from gpulab.trace.ptx.text.syntax import Instruction, MemoryOperand, Number, Operand, VectorOperand

_EVERYONE = Number("0xffffffff")
_KINDS = set(BYTES)


@meets("ldmatrix", "mma", "wmma")
def _matrix_instruction(end: WarpCode, one: Instruction) -> None:
    """Writes the code of a block that is a matrix instruction: operands to rows, a call of Python, results back."""
    try:
        sources, results = _operands(one)
        site = _site(one)
    except (KeyError, ValueError, IndexError) as error:
        raise end.kernel.refusal(one) from error
    wide = "f64" in one.modifiers
    rows: list[tuple[Operand, str]] = [(_EVERYONE, "u32")]
    for operand in sources:
        if isinstance(operand, MemoryOperand):
            rows += [(operand.base, "u64"), (Number(str(operand.offset)), "s64")]
        else:
            rows.append((operand, "b64" if wide else "b32"))
    end.rows(*rows)
    end.meet("meeting", end.lane.slot(layout.OPERANDS))
    if site is not None:
        end.kernel.matrix_sites[len(end.kernel.calls)] = end.kernel.site(site)
    end.serve(one)
    if results:
        end.take_results(one, [(result, "b64" if wide else "b32") for result in results])


def _parts(operand: Operand) -> list[Operand]:
    return list(operand.parts) if isinstance(operand, VectorOperand) else [operand]


def _operands(one: Instruction) -> tuple[list[Operand], list[Operand]]:
    """Sources, an address first, and results."""
    _check(one)
    given = list(one.operands)
    if one.opcode == "wmma" and one.modifiers[0] == "store":
        stride = given[2] if len(given) > 2 else Number("0")
        return [given[0], stride, *_parts(given[1])], []
    results = _parts(given[0])
    if one.opcode == "wmma" and one.modifiers[0] == "load":
        return [given[1], given[2] if len(given) > 2 else Number("0")], results
    if one.opcode == "ldmatrix":
        return [given[1]], results
    return [part for operand in given[1:4] for part in _parts(operand)], results


def _check(one: Instruction) -> None:
    """Raises KeyError for what is not known here."""
    if one.opcode == "ldmatrix":
        if "m8n8" not in one.modifiers or one.modifiers[-1] != "b16":
            raise KeyError(one.name)
        return
    shape = Shape.of(one.modifiers)
    if one.opcode == "wmma" and one.modifiers[0] in ("load", "store"):
        wmma_count(one.modifiers[1], shape, one.modifiers[-1])
        return
    kinds = types_of(one)
    for matrix, kind in kinds.items():
        if one.opcode == "wmma":
            wmma_count(matrix, shape, kind)
        else:
            mma_fragment(matrix, shape, kind)
    if one.opcode == "mma" and tuple(m for m in one.modifiers if m in ("row", "col")) != ("row", "col"):
        raise KeyError("layout")


def types_of(one: Instruction) -> dict[str, str]:
    """The element types of d, a, b and c; `wmma` of halves names only d and c."""
    kinds = [modifier for modifier in one.modifiers if modifier in _KINDS]
    if one.opcode == "wmma" and len(kinds) == 2:
        return {"d": kinds[0], "a": "f16", "b": "f16", "c": kinds[1]}
    if len(kinds) != 4:
        raise KeyError("types")
    return dict(zip("dabc", kinds, strict=True))


def _site(one: Instruction) -> Site | None:
    if one.opcode == "ldmatrix":
        return Site(one, LOAD, 16, 8, _space(one), align=16)
    if one.opcode == "wmma" and one.modifiers[0] in ("load", "store"):
        size = BYTES[one.modifiers[-1]]
        word = max(4, size)
        kind = LOAD if one.modifiers[0] == "load" else STORE
        return Site(one, kind, word, word // size, _space(one), align=32)
    return None


def _space(one: Instruction) -> int:
    return {"": layout.GENERIC, "shared": layout.IN_SHARED_SPACE}.get(space_of(one), layout.IN_GLOBAL)
