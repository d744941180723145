"""Where Triton's interpreter computes something else than a compiled kernel would, and none of it is counted."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

OPERATORS = tuple(
    f"__{name}__"
    for name in (
        "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "pow",
        "rpow", "gt", "ge", "lt", "le", "eq", "ne", "and", "or", "xor", "rshift", "lshift",
    )
)  # fmt: skip


def install(interpreter: Any) -> None:
    """Repairs it for this process."""
    _comparisons(interpreter)
    _bfloat16(interpreter)
    _constants()


def widened(handle: Any) -> Any:
    """bfloat16 as float32. The interpreter has it as its bits, and would compute with those."""
    from triton import language
    from triton.runtime.interpreter import TensorHandle

    if not isinstance(handle, TensorHandle) or handle.dtype.scalar != language.bfloat16:
        return handle
    numbers = (handle.data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return TensorHandle(numbers, language.float32)


def _bfloat16(interpreter: Any) -> None:
    """Operators compute with the numbers of a bfloat16 block, and round what they give, as conversions do."""
    from triton import language

    builder = type(interpreter.interpreter_builder)

    def rounding(operator: Any) -> Any:
        @functools.wraps(operator)
        def applied(self: Any, *operands: Any) -> Any:
            wide = [widened(one) for one in operands]
            found = operator(self, *wide)
            narrow = any(one is not other for one, other in zip(operands, wide, strict=True))
            return self.cast_impl(found, language.bfloat16) if narrow and found.dtype == language.float32 else found

        return applied

    cast = builder.cast_impl

    def rounded(self: Any, source: Any, kind: Any) -> Any:
        """To the nearest bfloat16; the interpreter cuts the other bits off."""
        if source.dtype.scalar != language.float32 or kind.scalar != language.bfloat16:
            return cast(self, source, kind)
        bits = source.data.view(np.uint32)
        nearest = (bits + (0x7FFF + (bits >> 16 & 1))) >> 16
        found = np.where(np.isnan(source.data), 0x7FC0, nearest).astype(np.uint16)
        return interpreter.TensorHandle(found, language.bfloat16)

    def in_float32(reduction: Any) -> Any:
        @functools.wraps(reduction)
        def applied(self: Any, given: Any) -> Any:
            wide = [widened(one.handle) for one in given]
            if all(one is block.handle for one, block in zip(wide, given, strict=True)):
                return reduction(self, given)
            return reduction(self, tuple(self.to_tensor(one.data, one.dtype) for one in wide))

        return applied

    builder.cast_impl = rounded
    for operations in (interpreter.ReduceOps, interpreter.ScanOps):
        operations.apply_impl = in_float32(operations.apply_impl)
    for name in ("unary_op", "binary_op", "ternary_op", "create_fma"):
        setattr(builder, name, rounding(getattr(builder, name)))


def _comparisons(interpreter: Any) -> None:
    """A comparison gives truth values, not numbers of the type that it compared.

    A mask that combines a block's comparison with a single number's, as in `(column < width) & (row < rows)`, would
    otherwise be of integers, which no load takes.
    """
    from triton.language import int1

    builder = type(interpreter.interpreter_builder)
    binary = builder.binary_op

    def typed(self: Any, *operands: Any) -> Any:
        found = binary(self, *operands)
        if found.data.dtype == np.bool_:
            found.dtype = int1
        return found

    builder.binary_op = typed


def _constants() -> None:
    """A `tl.constexpr` and a tensor give a tensor, as in a compiled kernel, and not a constant that is a tensor."""
    from triton.language import constexpr, tensor

    def with_tensors(operator: Any) -> Any:
        @functools.wraps(operator)
        def applied(self: Any, other: Any) -> Any:
            found = operator(self, other)
            return found.value if isinstance(other, tensor) else found

        return applied

    for name in OPERATORS:
        setattr(constexpr, name, with_tensors(getattr(constexpr, name)))
