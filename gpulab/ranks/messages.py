"""What a rank says to others: how many messages it sends through its process group, how large, and which collectives.

It counts inside the rank, for the rank's own good or for a test that runs it alone: code in there could count
differently.
"""

from __future__ import annotations

import pickletools
import random
import struct
from collections.abc import Callable
from typing import Any

COLLECTIVES = (
    "allreduce", "allreduce_coalesced", "allgather", "allgather_coalesced", "_allgather_base", "alltoall",
    "alltoall_base", "broadcast", "gather", "reduce", "reduce_scatter", "_reduce_scatter_base", "scatter",
    # What all_gather_into_tensor and reduce_scatter_tensor call in newer versions of torch:
    "all_gather_single", "all_gather_single_coalesced", "allgather_into_tensor_coalesced",
    "reduce_scatter_single", "reduce_scatter_single_coalesced", "reduce_scatter_tensor_coalesced",
)  # fmt: skip

FUNCTIONAL = {
    "all_reduce": "allreduce", "all_reduce_": "allreduce", "all_reduce_coalesced": "allreduce_coalesced",
    "all_gather_into_tensor": "all_gather_single",
    "all_gather_into_tensor_coalesced": "allgather_into_tensor_coalesced",
    "reduce_scatter_tensor": "reduce_scatter_single",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor_coalesced",
    "all_to_all_single": "alltoall_base", "broadcast": "broadcast", "broadcast_": "broadcast",
}  # fmt: skip
"""The operators of torch's functional collectives, which DTensor uses, and the collective that each of them is. They
call the process group in C++, past Python's methods."""

Sent = dict[str, Any]
"""`messages`, `bytes`, `largest` (bytes of the largest message), `to` (ranks), `collectives` (names), `contents` (lists
of the numbers in each message), `summands`, `scattered`, `gathered` (lists of the numbers that it put into each
all-reduce, reduce-scatter, or all-gather): plain values. The last four have at most `MOST_NUMBERS` numbers each, but a
list for each call; `numbers` says how many there were in all, by the name of the list.
`given`: how many numbers the rank's function and its arguments bring along (`numbers_in`); `scaled`: how many of them
`launch.listening` multiplied; `barriers`: how many."""
KEPT = ("contents", "summands", "scattered", "gathered")
MOST_NUMBERS = 10_000
"""That a rank keeps of what it sends."""
FLOAT_BYTES = 4
"""As the arrays of the exercises have them."""
FLOAT_OPCODE_BYTES = 9
"""That one of Python's floats takes in a pickle."""
FREE_FLOATS = 40
"""That a rank may be given besides its arrays: a learning rate, the constants of its function."""
FREE_BYTES = 8000
"""That a rank may be given besides arrays and floats: its function, names, shapes. The inputs of tests that compare
`given` hold several times as much."""


def nothing() -> Sent:
    """Of a rank that has said nothing yet."""
    kept: Sent = {name: [] for name in ("to", "collectives", *KEPT)}
    counts: Sent = {"messages": 0, "bytes": 0, "largest": 0, "given": 0, "scaled": 0, "barriers": 0}
    return {**counts, "numbers": dict.fromkeys(KEPT, 0), **kept}


def addend(perturb: float, rank: int) -> float:
    """What a rank adds to what it sends, between 0.5 and 2: no rank's number tells another's, nor `perturb`."""
    return random.Random(f"{perturb!r} of {rank}").uniform(0.5, 2.0) if perturb else 0.0


def addends(perturb: float, count: int) -> Any:
    """What a rank adds to the numbers of its first message, between 0.5 and 2: none tells another.

    So a rank that was given everything has to hand on all of them to know them, which is the work that it wanted to
    save.

    Args:
        perturb: the rank's own number: `addend`.
        count: of the numbers in the message.

    Returns:
        A NumPy array, float64.
    """
    import numpy as np

    return np.random.default_rng(int(perturb * 2**50)).uniform(0.5, 2.0, count)


def numbers_in(packed: bytes) -> int:
    """How many numbers there are in what a rank is sent: a function and its arguments, from `packing.packed`.

    It scans the pickle without creating its objects, so none can pretend to be smaller than it is. Arrays and tensors
    count one number per four bytes, and floats beyond `FREE_FLOATS` as one, or as two if four bytes
    would not do. Anything else (texts, integers, other types, names, code) counts by the bytes that it takes beyond
    `FREE_BYTES`, whatever it is. What is there twice counts once.
    """
    floats, held, rest = 0, 0, len(packed)
    for opcode, part, _ in pickletools.genops(packed):
        if isinstance(part, bytearray):
            held += len(part)
            rest -= len(part)
        elif isinstance(part, float) and opcode.name == "BINFLOAT":
            floats += 1 if _narrow(part) else 2
            rest -= FLOAT_OPCODE_BYTES
    return max(0, floats - FREE_FLOATS) + (held + max(0, rest - FREE_BYTES)) // FLOAT_BYTES


def _narrow(number: float) -> bool:
    """Whether four bytes would do for it."""
    try:
        return struct.pack("d", struct.unpack("f", struct.pack("f", number))[0]) == struct.pack("d", number)
    except OverflowError:
        return False


def count(perturb: float = 0.0) -> Sent:
    """What this process sends from now on; the dict grows as it does.

    Args:
        perturb: added to each number of each tensor that an all-reduce sums, and of what a reduce-scatter or an
            all-gather is given. To the first message, `addends` are added. The dict has the numbers as they were.
    """
    import torch
    from torch.distributed import ProcessGroup

    sent = nothing()
    ProcessGroup.send = _counted(ProcessGroup.send, sent, perturb)  # type: ignore[method-assign]
    for name in COLLECTIVES:
        if hasattr(ProcessGroup, name):
            setattr(ProcessGroup, name, _named(getattr(ProcessGroup, name), name, sent, perturb))
    ProcessGroup.barrier = _noted(ProcessGroup.barrier, sent)  # type: ignore[method-assign]
    operators = torch.ops._c10d_functional
    for name, collective in FUNCTIONAL.items():
        if hasattr(operators, name):
            setattr(operators, name, _functional(getattr(operators, name), collective, sent, perturb))
    return sent


def _counted(send: Callable[..., Any], sent: Sent, perturb: float) -> Callable[..., Any]:
    first: list[Any] = []  # lives as long as this process: gloo reads the message after `send` has returned

    def counted(group: Any, tensors: Any, to: int, *rest: Any) -> Any:
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        sent["messages"] += 1
        sent["bytes"] += size
        sent["largest"] = max(sent["largest"], size)
        _keep(sent, "contents", tensors)
        if to not in sent["to"]:
            sent["to"].append(to)
        if perturb and not first:
            first.extend(_unlike(tensors, perturb))
            return send(group, first, to, *rest)
        return send(group, tensors, to, *rest)

    return counted


def _noted(barrier: Callable[..., Any], sent: Sent) -> Callable[..., Any]:
    def noted(*arguments: Any, **options: Any) -> Any:
        sent["barriers"] += 1
        return barrier(*arguments, **options)

    return noted


def _named(collective: Callable[..., Any], name: str, sent: Sent, perturb: float) -> Callable[..., Any]:
    def named(*arguments: Any, **options: Any) -> Any:
        if name not in sent["collectives"]:
            sent["collectives"].append(name)
        if name == "allreduce" and isinstance(arguments[1], list):
            _keep(sent, "summands", arguments[1])
            for tensor in arguments[1] if perturb else ():
                tensor.copy_(_perturbed(tensor, perturb))  # in place: the result goes there, too
        for part, kept in (("reduce_scatter", "scattered"), ("gather", "gathered")):
            if part in name and len(arguments) > 2:  # the group, what it writes, what it is given
                _keep(sent, kept, _tensors(arguments[2]))
        if perturb and ("reduce_scatter" in name or "gather" in name) and len(arguments) > 2:
            arguments = (*arguments[:2], _perturbed(arguments[2], perturb), *arguments[3:])
        return collective(*arguments, **options)

    return named


def _functional(operator: Any, name: str, sent: Sent, perturb: float) -> Callable[..., Any]:
    def functional(given: Any, *arguments: Any) -> Any:
        if name not in sent["collectives"]:
            sent["collectives"].append(name)
        for part, kept in (("allreduce", "summands"), ("reduce_scatter", "scattered"), ("gather", "gathered")):
            if part in name:
                _keep(sent, kept, _tensors(given))
        if perturb and ("allreduce" in name or "reduce_scatter" in name or "gather" in name):
            more = _perturbed(given, perturb)
            if operator.__name__.endswith("_"):  # in place: the result goes there, too
                given.copy_(more)
            else:
                given = more
        return operator(given, *arguments)

    functional.default = operator.default  # type: ignore[attr-defined]  # the one variant, which a compiler asks for
    return functional


def _perturbed(given: Any, perturb: float) -> Any:
    """Copies of the tensors in lists in lists, with a number added to each of theirs."""
    if isinstance(given, (list, tuple)):
        return [_perturbed(item, perturb) for item in given]
    return given + perturb if given.is_floating_point() else given


def _unlike(tensors: Any, perturb: float) -> list[Any]:
    """Copies of tensors of floating-point numbers, with another number added to each."""
    found = []
    for tensor in tensors:
        more = tensor.new_tensor(addends(perturb, tensor.numel()) if tensor.is_floating_point() else 0)
        found.append(tensor + more.reshape(tensor.shape if more.numel() > 1 else ()))
    return found


def _tensors(given: Any) -> list[Any]:
    """The tensors in lists in lists."""
    return [one for item in given for one in _tensors(item)] if isinstance(given, (list, tuple)) else [given]


def _keep(sent: Sent, name: str, tensors: Any) -> None:
    """Counts the numbers of these tensors, and keeps the first of them as one list: as many as there is room for."""
    sent["numbers"][name] += sum(tensor.numel() for tensor in tensors)
    room, found = MOST_NUMBERS - sum(map(len, sent[name])), list[float]()
    for tensor in tensors:
        found += [float(number) for number in tensor.detach().reshape(-1)[: room - len(found)]]
    sent[name].append(found)
