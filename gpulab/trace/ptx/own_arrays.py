"""Names for places in a thread's own memory. PTX has one block of it for each function, without the arrays' names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpulab.trace.ptx.codegen.lane import Site
from gpulab.trace.ptx.text.syntax import Instruction, Number, Register

if TYPE_CHECKING:
    from gpulab.trace.ptx.launch import PtxLaunch

_POINTERS = ("%SP", "%SPL")


def own_array(launch: PtxLaunch, site: Site) -> str:
    """What the source calls the array of a thread that an instruction touches; empty where its line names several."""
    line = launch.sources.line(launch.code.own(site.instruction.location))
    others = {view.name for region in launch.memory.regions.values() for view in region.views}
    others |= {view.name for view in launch.shared_views}
    names = {name for name in re.findall(r"\b([A-Za-z_]\w*)\s*\[", line) if name not in others}
    return names.pop() if len(names) == 1 else ""


def own_index(launch: PtxLaunch, site: Site, offset: int) -> tuple[int, ...]:
    """The element at a place of the kernel's own memory; empty if it has several indexes, or belongs to a function."""
    line = launch.sources.line(launch.code.own(site.instruction.location))
    several = not launch.dialect.flat and re.search(r"\[[^\[\]]*,", line)
    if several or not 0 <= offset < launch.code.entry.local_bytes:
        return ()
    starts = [start for start in _starts(launch) if start <= offset]
    return ((offset - max(starts, default=0)) // (site.bytes // site.parts),)


def _starts(launch: PtxLaunch) -> set[int]:
    """Where arrays begin: the compiler adds that to the pointer to the whole."""
    found = {0}
    for one in launch.code.entry.syntax.body:
        if isinstance(one, Instruction) and one.opcode == "add" and len(one.operands) == 3:
            base, offset = one.operands[1:]
            if isinstance(base, Register) and base.name in _POINTERS and isinstance(offset, Number):
                found.add(int(offset.text))
    return found
