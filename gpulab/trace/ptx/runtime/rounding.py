"""Rounding to a narrower float, in every direction. Written for `small`."""

from __future__ import annotations

TO_NEAREST, TO_ZERO, DOWN, UP, AWAY = 0, 1, 2, 3, 4
"""Ties to even; ties away from zero for `AWAY`."""


def narrow(bits: int, fraction: int, lowest: int, highest: int, mode: int) -> int:
    """A float64 in a format with fewer bits.

    Args:
        bits: of the float64.
        fraction: binary places of the target.
        lowest: exponent of its smallest normal number.
        highest: exponent of its largest.
        mode: as above.

    Returns:
        The bits of the target, the sign above the exponent. NaN has all bits set but the sign.
    """
    sign = bits >> 63
    exponent = (bits >> 52) & 2047
    significand = bits & 4503599627370495
    infinity = (highest - lowest + 2) << fraction
    size = 64 - leading_zeros(highest - lowest + 1) + fraction
    if exponent == 2047 and significand:
        return (1 << size) - 1
    if exponent == 2047:
        return infinity | sign << size
    if exponent == 0 and significand == 0:
        return sign << size
    if exponent == 0:
        exponent = 1
    else:
        significand |= 4503599627370496
    exponent -= 1023
    shift = 52 - fraction
    if exponent < lowest:
        shift += lowest - exponent
    if shift > 55:
        shift = 55
    kept = significand >> shift
    rest = significand & ((1 << shift) - 1)
    half = 1 << (shift - 1) if shift else 0
    up = 0
    if rest:
        if mode == TO_NEAREST:
            up = 1 if rest > half or (rest == half and kept & 1) else 0
        elif mode == AWAY:
            up = 1 if rest >= half else 0
        elif mode == DOWN:
            up = sign
        elif mode == UP:
            up = 1 - sign
    kept += up
    result = kept if exponent < lowest else ((exponent - lowest) << fraction) + kept
    if result >= infinity:
        to_largest = mode == TO_ZERO or (mode == DOWN and sign == 0) or (mode == UP and sign == 1)
        result = infinity - 1 if to_largest else infinity
    return result | sign << size


def leading_zeros(value: int) -> int:
    """Of 64 bits."""
    count = 64
    while value:
        value = value >> 1
        count -= 1
    return count


ROUNDING = [narrow, leading_zeros]
