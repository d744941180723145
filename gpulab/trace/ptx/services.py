"""What a kernel calls of the system: `printf`, failed assertions; and what Python computes for a warp."""

from __future__ import annotations

import ctypes
import re
import struct
from typing import TYPE_CHECKING, Any

from gpulab.trace.errors import TraceError
from gpulab.trace.ptx.failures import index_of, place_of
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.text.syntax import Instruction, Symbol

if TYPE_CHECKING:
    from gpulab.trace.ptx.launch import PtxLaunch

_TYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|z|j|t|L)?([diouxXeEfFgGaAcsp%])")
_WIDEST = 1000
PRINTED_LIMIT = 1 << 20
"""Characters that a launch may print."""


class AssertFailedError(TraceError):
    """An `assert` of the kernel does not hold."""


def service_of(launch: PtxLaunch) -> Any:
    """A C function that the compiled kernel calls with warp, mask and number of the call; 0 if all went well."""

    def service(warp: int, mask: int, number: int) -> int:
        try:
            _serve(launch, warp, mask & 0xFFFFFFFF, number)
        except BaseException as error:  # it must not get lost in C
            launch.error = error
            return 1
        return 0

    return _TYPE(service)


def _serve(launch: PtxLaunch, warp: int, mask: int, number: int) -> None:
    one = launch.code.calls[number]
    if one.call is None:
        from gpulab.trace.ptx.tensor_cores import compute

        compute(launch, warp, mask, one, number)
        return
    assert isinstance(one.call.function, Symbol)
    name = one.call.function.name
    if name == "vprintf":
        for lane in _lanes(mask):
            parsed = _print(launch, warp, lane)
            if one.call.results:
                ctypes.memmove(int(launch.operands[2]) + lane * 8, parsed.to_bytes(4, "little"), 4)
    elif name == "__assertfail":
        _assert_failed(launch, warp, mask, one)
    else:
        raise launch.code.refusal(one, f"{name} in a kernel")


def _lanes(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


def _argument(launch: PtxLaunch, number: int, lane: int, size: int = 8) -> int:
    """A parameter of the call, of one lane."""
    start = int(launch.operands[number]) + lane * 8
    return int.from_bytes(ctypes.string_at(start, size), "little")


def host_address(launch: PtxLaunch, warp: int, lane: int, address: int) -> int:
    """Where a device address of a lane lies on the host; only for memory that the kernel itself set up."""
    region = address >> layout.REGION_SHIFT
    if region == layout.LOCAL_REGION:
        own = int(launch.slots_at(warp, layout.WARP_SLOTS)[layout.W_LOCAL]) + lane * launch.local_bytes
        offset = address - layout.LOCAL_BASE
        if not 0 <= offset < launch.local_bytes:
            raise TraceError("printf reads outside the memory of its thread.")
        return own + offset
    if region == layout.SHARED_REGION:
        offset = address - layout.SHARED_BASE
        if not 0 <= offset < launch.shared_bytes:
            raise TraceError("printf reads outside shared memory.")
        return int(launch.context[layout.SHARED_HOST]) + offset
    known = launch.memory.regions.get(region)
    if known is None or not 0 <= address - known.start < known.bytes:
        raise TraceError("printf reads memory that is in no array.")
    return known.host + address - known.start


def _string(launch: PtxLaunch, warp: int, lane: int, address: int) -> str:
    found = bytearray()
    while True:
        byte = ctypes.string_at(host_address(launch, warp, lane, address + len(found)), 1)
        if byte == b"\0":
            return found.decode(errors="replace")
        found += byte


def _print(launch: PtxLaunch, warp: int, lane: int) -> int:
    """The number of arguments, which CUDA's `printf` returns, where C's returns that of characters."""
    text = _string(launch, warp, lane, _argument(launch, 0, lane))
    base = _argument(launch, 1, lane)
    place = taken = 0

    def take(size: int) -> bytes:
        nonlocal place, taken
        taken += 1
        place = -(-place // size) * size
        found = b"".join(
            ctypes.string_at(host_address(launch, warp, lane, base + place + byte), 1) for byte in range(size)
        )
        place += size
        return found

    def convert(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        if width == "*":
            width = str(int.from_bytes(take(4), "little", signed=True))
        if precision == "*":
            precision = str(int.from_bytes(take(4), "little", signed=True))
        if max(int(width or 0), int(precision or 0)) > _WIDEST:
            raise TraceError(f"printf asks for more than {_WIDEST:,} characters for one number: {match[0]!r}.")
        how = f"%{flags}{width or ''}" + (f".{precision}" if precision is not None else "")
        if kind in "eEfFgGaA":
            (value,) = struct.unpack("<d", take(8))
            return str(value.hex() if kind in "aA" else (how + kind) % value)
        if kind == "s":
            return (how + "s") % _string(launch, warp, lane, int.from_bytes(take(8), "little"))
        if kind == "p":
            return f"{int.from_bytes(take(8), 'little'):#x}"
        size = 8 if length in ("l", "ll", "z", "j", "t") else 4
        number = int.from_bytes(take(size), "little", signed=kind in "di")
        if kind == "c":
            return chr(number & 255)
        return (how + ("d" if kind in "diu" else kind)) % number

    printed = _CONVERSION.sub(convert, text)
    launch.printed_characters += len(printed)
    if launch.printed_characters > PRINTED_LIMIT:
        raise TraceError(f"The kernel prints more than {PRINTED_LIMIT:,} characters. Print from one thread only.")
    launch.printed.append(printed)
    return taken


def _assert_failed(launch: PtxLaunch, warp: int, mask: int, one: Instruction) -> None:
    lane = _lanes(mask)[0]
    message = _string(launch, warp, lane, _argument(launch, 0, lane))
    row = launch.slots_at(warp, layout.WARP_SLOTS)
    thread = index_of(int(row[layout.W_NUMBER]) * 32 + lane, launch.block)
    block = index_of(int(launch.context[layout.BLOCK_NUMBER]), launch.grid)
    place = place_of(launch, one)
    raise AssertFailedError(
        f"assert({message}) does not hold. It was thread {thread} of block {block}, {place}.", place.line, thread, block
    )
