"""Warp-wide instructions: operands of all lanes to rows, the common work, results to registers."""

from __future__ import annotations

from gpulab.trace.ptx.codegen.handlers import meets
from gpulab.trace.ptx.codegen.warp_code import DISTANCE_SITE, WarpCode
from gpulab.trace.ptx.runtime import collective, layout
from gpulab.trace.ptx.text.syntax import Instruction, Operand, RegisterPair

_SHUFFLES = {
    "up": collective.SHUFFLE_UP,
    "down": collective.SHUFFLE_DOWN,
    "bfly": collective.SHUFFLE_XOR,
    "idx": collective.SHUFFLE_INDEX,
}
_VOTES = {
    "all": collective.VOTE_ALL,
    "any": collective.VOTE_ANY,
    "uni": collective.VOTE_UNIFORM,
    "ballot": collective.VOTE_BALLOT,
}
_REDUCTIONS = {
    "add": collective.REDUCE_ADD,
    "min": collective.REDUCE_MIN,
    "max": collective.REDUCE_MAX,
    "and": collective.REDUCE_AND,
    "or": collective.REDUCE_OR,
    "xor": collective.REDUCE_XOR,
}


@meets("bar", "barrier", "elect", "match", "redux", "shfl", "vote")
def _warp_wide(end: WarpCode, one: Instruction) -> None:
    """Writes the code of a block that is a warp-wide instruction."""
    if one.opcode in ("bar", "barrier"):
        end.rows((one.operands[0], "u32"))
        end.meet("sync_lanes", end.lane.slot(layout.OPERANDS))
    elif "sync" not in one.modifiers and one.opcode != "elect":
        raise end.kernel.refusal(one, "it has no .sync")
    elif one.opcode == "shfl":
        value, by, clamp, mask = one.operands[1:5]
        mode = next(number for name, number in _SHUFFLES.items() if name in one.modifiers)
        _together(end, one, "shuffle", [(mask, "u32"), (value, "b32"), (by, "u32"), (clamp, "u32")], mode, "b32")
    elif one.opcode == "vote":
        predicate, mask = one.operands[1:3]
        mode = next(number for name, number in _VOTES.items() if name in one.modifiers)
        kind = "b32" if mode == collective.VOTE_BALLOT else "pred"
        _together(end, one, "vote", [(mask, "u32"), (predicate, "pred")], mode, kind)
    elif one.opcode == "match":
        value, mask = one.operands[1:3]
        kind = one.modifiers[-1]
        _together(end, one, "match", [(mask, "u32"), (value, kind)], int("all" in one.modifiers), "b32")
    elif one.opcode == "redux":
        value, mask = one.operands[1:3]
        kind = one.modifiers[-1]
        if kind not in ("u32", "s32", "b32"):
            raise end.kernel.refusal(one, kind)
        mode = next(number for name, number in _REDUCTIONS.items() if name in one.modifiers)
        _together(end, one, "reduce", [(mask, "u32"), (value, kind)], mode, "b32")
    elif one.opcode == "elect":
        _together(end, one, "elect", [(one.operands[1], "u32")], None, "b32")
    else:
        raise end.kernel.refusal(one)


def _together(
    end: WarpCode, one: Instruction, function: str, rows: list[tuple[Operand, str]], mode: int | None, kind: str
) -> None:
    """Lanes meet, a function of `collective` works on their rows, and each gets its results."""
    end.rows(*rows)
    operands = end.lane.slot(layout.OPERANDS)
    end.meet("meeting", operands)
    if function == "shuffle" and mode != collective.SHUFFLE_INDEX:
        end.refuse(end.call("unlike", "%ctx.n", end.whole, operands), DISTANCE_SITE)
    end.call(function, operands, end.whole, *([] if mode is None else [str(mode)]))
    target = one.operands[0]
    results: list[tuple[Operand, str]] = [(target, kind)]
    if isinstance(target, RegisterPair):
        results = [(target.first, kind), (target.second, "pred")]
    end.take_results(one, results)
