"""What tests ask of the launches that `trace.counting()` found: one kernel that does it all, and writes every element.

The messages are for students. What the kernel has to read and write is the test's own business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpulab.check.outcomes import WrongAnswer

if TYPE_CHECKING:
    import torch

UNWRITTEN = {"float32": 0x7FC0DEAD, "float16": 0x7EAD, "bfloat16": 0x7FDE}
"""The NaN that `torch.empty` holds while launches are counted, by its bits: arithmetic gives other ones."""


def one_kernel(launches: Sequence[dict[str, Any]], what: str) -> dict[str, Any]:
    """The launch of the one Triton kernel that did all the work.

    Args:
        launches: as `trace.counting()` gives them.
        what: what was called, put so that it can stand before a colon.

    Raises:
        WrongAnswer: there was none, there were several, PyTorch launched kernels of its own before or after it, or the
            host computed values.
    """
    own = [launch for launch in launches if launch.get("kind") == "triton"]
    eager = [launch["kernel"] for launch in launches if launch.get("kind") == "torch"]
    if not own:
        raise WrongAnswer(f"{what}: no Triton kernel was launched. The result must be computed by a kernel of yours.")
    if eager:
        named = ", ".join(f"{count} × {name}" if count > 1 else name for name, count in Counter(eager).items())
        cure = "Do that inside your kernel (reserve results with torch.empty, which launches nothing)."
        raise WrongAnswer(
            f"{what}: besides your kernel, PyTorch launched {len(eager)} of its own: {named}. Each of them is "
            f"a pass over memory. {cure}"
        )
    if len(own) > 1:
        raise WrongAnswer(
            f"{what}: {len(own)} kernels were launched. Separate kernels write what lies between them to memory and "
            "read it back: fuse them into one kernel."
        )
    if foreign := [launch["reason"] for launch in launches if launch.get("kind") == "host"]:
        raise WrongAnswer(f"{what}: {foreign[0]}")
    return own[0]


def all_written(answer: Any, what: str, launch: Mapping[str, Any] | None = None) -> None:
    """Passes if a result that was made with `torch.empty` has been written everywhere.

    Args:
        answer: what the exercise returned; anything but a tensor passes.
        what: what was called.
        launch: the launch that made it, as `one_kernel` gives it; its counts tell why elements are missing.

    Raises:
        WrongAnswer: some elements still hold what `torch.empty` left there.
    """
    import torch

    if not isinstance(answer, torch.Tensor) or not answer.is_floating_point():
        return
    bits = UNWRITTEN.get(str(answer.dtype).removeprefix("torch."))
    if bits is None:
        return
    whole = answer.detach().cpu().contiguous().view(torch.int32 if answer.element_size() == 4 else torch.int16)
    places = (whole.reshape(-1) == bits).nonzero().reshape(-1).tolist()
    if places:
        raise WrongAnswer(
            f"{what}: {len(places):,} of {answer.numel():,} elements were never written; the first is element "
            f"{places[0]:,}. {_why(places, answer, launch)}"
        )


def _why(places: list[int], answer: torch.Tensor, launch: Mapping[str, Any] | None) -> str:
    """What the missing elements and the counts of the launch say about the mistake."""
    import torch

    unknown = (
        "No program stores them: are there enough programs, is the block large enough, does a mask leave them out, are"
        " the grid's axes in the right order, and do the addresses differ from program to program?"
    )
    if launch is None or not answer.dim():
        return unknown
    programs, written = launch["programs"], answer.numel() - len(places)
    each, stored = (launch[name] // answer.element_size() for name in ("most_written", "bytes_written"))  # elements
    if not each:
        return "No program stores anything: is there a tl.store, and is its mask ever true?"
    if not written and (both := [name for name in launch["writes"] if name in launch["reads"]]):
        return f"The kernel loads from {both[0]} and also stores into it: is that the right pointer in both places?"
    if not written:
        return "The kernel stores into another tensor: does it get the one that you return?"
    if launch["strides"] and answer.dim() > 1:
        return str(launch["strides"][-1])
    if programs > 1 and len(launch["writes"]) == 1 and stored > written:
        overlap = "do the addresses differ from program to program, so that no two blocks overlap?"
        return f"Others were stored more than once: {overlap}{_next_begin(answer, launch)}"
    if programs == 1 and len(launch["writes"]) == 1 and stored > written:
        if written == 1:
            cure = "the address of each needs its offset (tl.arange)."
            return f"The program stores {stored:,} values, but all in one element of the result: {cure}"
        cure = "the addresses must differ in each store."
        return f"The program stores {stored:,} values, but in {written:,} elements of the result: {cure}"
    if (begin := launch["begins"].get("0,0,0", 0)) and places == [*range(begin)]:
        return f"Program 0 begins to store at element {begin:,}: is the address off by {begin:,}?"
    if answer.dim() == 1 and places[0] == written == programs * each and each % launch["largest_block"] == 0:
        ran = f"{programs} program{'s' * (programs > 1)} of {each:,} elements ran"
        return f"{ran}: it takes triton.cdiv(n, BLOCK) of them, with the BLOCK of the launch."
    rest = answer.numel() // max(1, len(answer))
    if answer.dim() == 2 and programs == len(answer) and len(places) == programs * (rest - each):
        few = f"Each program stores {each:,} elements, but a row has {rest:,}"
        return f"{few}: is the block large enough, or does a mask end too early?"
    if answer.dim() > 1 and places[0] == written == rest:
        if idle := programs - launch["writers"]:
            return f"Only [0] of the result was stored, and {idle} of {programs} programs stored nothing: see the mask."
        return f"Only [0] of the result was stored: does the grid have programs for all of the {len(answer)}?"
    (rows, columns), (*grid, depth) = launch["dot_tile"], (*launch["grid"], 1, 1)[:3]
    needed = (-(-len(answer) // max(1, rows)), -(-rest // max(1, columns)))
    if answer.dim() == 2 and depth == 1 and 0 < each <= rows * columns and tuple(grid) != needed:
        has = f"The result has {needed[0]} × {needed[1]} tiles of {rows} × {columns}, but the grid is {tuple(grid)}:"
        if tuple(grid) == needed[::-1] and launch["writers"] < programs:  # else the kernel takes its axes in this order
            order = "are its axes in the order in which the kernel uses them"
            if needed[0] == 1:
                across = f"a tile's row and column computed from the {needed[1]} tiles across"
                order += f", or, if it uses one axis, are {across}"
            return f"{has} {order}?"
        if all(few <= enough for few, enough in zip(grid, needed, strict=True)):
            return f"{has} round the number of programs up along each axis, with triton.cdiv."
    if answer.dim() == 2 and rows and columns and places == _off_diagonal(answer, rows, columns):
        tiles = f"Only the tiles of {rows} × {columns} on the diagonal were stored"
        return f"{tiles}: do rows and columns take their numbers from different axes of the grid?"
    if answer.dim() == 2 and depth == 1 and tuple(grid) == needed and needed[0] != needed[1]:
        reached = torch.zeros(answer.shape, dtype=torch.bool, device="cpu")
        reached[: needed[1] * rows, : needed[0] * columns] = True
        if places == (~reached).reshape(-1).nonzero().reshape(-1).tolist():
            has = f"The grid {tuple(grid)} is that of the result's tiles, its rows first:"
            return f"{has} does the kernel take program_id(0) for the columns and program_id(1) for the rows?"
    for many in grid if answer.dim() == 3 and rows else ():
        count = len(answer[0])
        missing = torch.zeros(answer.shape, dtype=torch.bool, device="cpu")
        missing[:, many * rows :] = True
        enough = many * rows >= count or programs != many * len(answer)  # or another axis has this number
        if not enough and places == missing.reshape(-1).nonzero().reshape(-1).tolist():
            done = f"Of {count} rows, only 0 to {many * rows - 1} were stored, by {many} programs of {rows} rows"
            return f"{done}: it takes triton.cdiv({count}, {rows}) programs."
    return _left_out(places, answer, launch, needed) or unknown


def _off_diagonal(answer: torch.Tensor, rows: int, columns: int) -> list[int]:
    """The places of a matrix that lie in no tile whose row and column have the same number."""
    import torch

    row, column = (torch.arange(extent, device="cpu") for extent in answer.shape)
    apart = (row // rows)[:, None] != (column // columns)[None, :]
    return [int(place) for place in apart.reshape(-1).nonzero().reshape(-1)]


def _left_out(places: list[int], answer: torch.Tensor, launch: Mapping[str, Any], needed: tuple[int, int]) -> str:
    """Of a launch that has enough programs for all elements: what may leave some out."""
    programs, written = launch["programs"], answer.numel() - len(places)
    if answer.dim() == 1 and places[0] == written and programs * launch["largest_block"] >= answer.numel():
        blocks = f"The {programs} blocks of" if programs > 1 else "The block of"
        reach = f"{blocks} {launch['largest_block']:,} elements reach{'' if programs > 1 else 'es'} beyond them"
        return f"{reach}: is the mask false from element {places[0]:,} on, because its limit is not the length?"
    if answer.dim() == 2 and launch["dot_tile"][0] and programs == launch["grid"][0] == needed[0] * needed[1]:
        tiles = f"The grid has one axis, and a program for each of the {needed[0]} × {needed[1]} tiles"
        return f"{tiles}: are the row and the column of a program's tile computed from {needed[1]} tiles across?"
    return ""


def stored_again(answer: torch.Tensor, launch: Mapping[str, Any]) -> str:
    """What to say of a right result of which elements were certainly stored more than once, or "".

    Args:
        answer: the tensor.
        launch: that made it, as `one_kernel` gives it.
    """
    size = answer.numel() * answer.element_size()
    padded = answer.untyped_storage().nbytes() > size
    if padded or len(launch["writes"]) != 1 or launch["bytes_written"] <= size:
        return ""
    asked = "does each program store elements of its own, and each of them once?"
    return f"elements were stored more than once: {asked}{_next_begin(answer, launch)}"


def _next_begin(answer: torch.Tensor, launch: Mapping[str, Any]) -> str:
    """Where the second program along an axis begins to store, if that is not where the second part of a result lies."""
    begins, grid = launch["begins"], (*launch["grid"], 1, 1)[:3]
    for axis, extent in enumerate(grid):
        place = [int(axis == number) for number in range(3)]
        first = begins.get(",".join(map(str, place)))
        if extent == 1 or first is None or begins.get("0,0,0") != 0:
            continue
        used = place[: max(number + 1 for number in range(3) if grid[number] > 1)]
        name = f" Program {used[0] if len(used) == 1 else tuple(used)} begins to store at element {first:,}"
        rest = answer.numel() // len(answer)
        if answer.dim() > 1 and extent == len(answer) and first != rest:
            return f"{name}, but [1] of the result begins at element {rest:,}."
        if answer.dim() == 1 and first < launch["most_written"] // answer.element_size():
            return f"{name}, and program 0 stores more elements than that."
    return ""
