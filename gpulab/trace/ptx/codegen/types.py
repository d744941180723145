"""PTX types as LLVM's, and constants of them."""

from __future__ import annotations

import struct

LLVM = {
    "pred": "i1", "b8": "i8", "u8": "i8", "s8": "i8", "b16": "i16", "u16": "i16", "s16": "i16", "f16": "i16",
    "bf16": "i16", "b32": "i32", "u32": "i32", "s32": "i32", "f16x2": "i32", "bf16x2": "i32", "tf32": "i32",
    "f32": "float", "b64": "i64", "u64": "i64", "s64": "i64", "f64": "double", "b128": "i128",
}  # fmt: skip
"""Halves are kept as bits."""

BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "float": 32, "i64": 64, "double": 64, "i128": 128}
INTEGER = {"float": "i32", "double": "i64"}


def is_float(kind: str) -> bool:
    """`f32` and `f64`, which LLVM computes with."""
    return kind in ("f32", "f64")


def is_signed(kind: str) -> bool:
    """Whether a value of this type is extended by its sign."""
    return kind.startswith("s")


def integer_bits(text: str) -> int:
    """The bits of a constant as it stands in PTX; negative numbers as they are."""
    negative, digits = text.startswith("-"), text.lstrip("-")
    if digits[:2] in ("0f", "0F", "0d", "0D"):
        bits = int(digits[2:], 16)
        return bits ^ (1 << 4 * len(digits[2:]) - 1) if negative else bits
    if "." in digits or ("e" in digits and not digits.startswith("0x")):
        (bits,) = struct.unpack("<Q", struct.pack("<d", float(text)))
        return int(bits)
    digits = digits.rstrip("U")
    value = int(digits, 8) if len(digits) > 1 and digits.isdigit() and digits[0] == "0" else int(digits, 0)
    return -value if negative else value


def constant(text: str, kind: str) -> str:
    """A PTX constant in LLVM assembly."""
    llvm = LLVM[kind]
    if llvm == "i1":
        return "true" if integer_bits(text) else "false"
    if llvm in ("float", "double"):
        lowered = text.lstrip("-").lower()
        if lowered.startswith("0f"):
            return float_text(integer_bits(text), 32)
        if lowered.startswith("0d") or "." in lowered or "e" in lowered:
            bits = integer_bits(text)
        else:
            (bits,) = struct.unpack("<Q", struct.pack("<d", float(integer_bits(text))))
        if llvm == "float":
            value = struct.unpack("<d", struct.pack("<Q", bits))[0]
            (bits,) = struct.unpack("<Q", struct.pack("<d", struct.unpack("<f", struct.pack("<f", value))[0]))
        return f"0x{bits:016X}"
    bits = integer_bits(text) & ((1 << BITS[llvm]) - 1)
    return str(bits - (1 << BITS[llvm]) if bits >> BITS[llvm] - 1 else bits)


def float_text(bits: int, width: int) -> str:
    """A number of 32 or 64 bits as LLVM writes it: always in the form of a double."""
    if width == 64:
        return f"0x{bits:016X}"
    exponent, fraction, sign = bits >> 23 & 255, bits & (1 << 23) - 1, bits >> 31
    if exponent == 255:
        return f"0x{sign << 63 | 0x7FF << 52 | fraction << 29:016X}"
    (wide,) = struct.unpack("<Q", struct.pack("<d", struct.unpack("<f", struct.pack("<I", bits))[0]))
    return f"0x{wide:016X}"
