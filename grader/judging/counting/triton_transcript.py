"""Writes down, in a student's process, a launch of a Triton kernel: the kernel, its grid, where its tensors came from.

As `transcript` does for Numba's kernels: plain values and no result, which the judge has carried out again elsewhere
(`triton_replay`) on other inputs. Nothing in it is believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import torch

from gpulab.trace.errors import LaunchError
from gpulab.trace.python.binding import global_names
from grader.judging.counting.transcript import arrays_of

MOST_LAUNCHES = 100
"""In one call; a test asks for one."""


class TritonTranscript:
    """The launches of one call of an exercise.

    Args:
        arguments: of the call, by position.
        named: those by name.
    """

    def __init__(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        self.launches: list[dict[str, Any]] = []
        self._memories = [one.untyped_storage() for one in arrays_of(arguments, named) if isinstance(one, torch.Tensor)]

    def before(self, kernel: Any, given: Mapping[str, Any]) -> None:
        """Notes a launch that is about to run."""
        if len(self.launches) >= MOST_LAUNCHES:
            raise LaunchError(f"More than {MOST_LAUNCHES} launches in one call. Let one launch do more work.")
        made: list[dict[str, Any]] = []
        arguments = {name: self._form(value, made) for name, value in given.items()}
        self.launches.append({"kernel": function_form(kernel.fn), "arguments": arguments, "made": made})

    def after(self, grid: tuple[int, ...]) -> None:
        """Notes how many programs there were."""
        self.launches[-1]["grid"] = list(grid)

    def result(self, value: Any) -> Any:
        """Where in the launches' tensors a returned value stands; None for one that no launch was given."""
        if isinstance(value, (tuple, list)):
            items = [self.result(item) for item in value]
            return None if None in items or not items else {"items": items, "tuple": isinstance(value, tuple)}
        if not isinstance(value, torch.Tensor):
            return None
        number = self._number(value.untyped_storage())
        return None if number is None else _layout(value, number)

    def _number(self, memory: Any) -> int | None:
        places = [one.data_ptr() for one in self._memories]
        return places.index(memory.data_ptr()) if memory.data_ptr() in places else None

    def _form(self, value: Any, made: list[dict[str, Any]]) -> dict[str, Any]:
        if isinstance(value, torch.Tensor):
            memory = value.untyped_storage()
            number = self._number(memory)
            if number is None:
                number = len(self._memories)
                self._memories.append(memory)
                made.append(
                    {"number": number, "bytes": memory.nbytes(), "item": _first_item(memory, value.element_size())}
                )
            return {"tensor": _layout(value, number)}
        if hasattr(value, "block_shape") and hasattr(value, "base"):
            lists = {name: list(getattr(value, name)) for name in ("shape", "strides", "block_shape")}
            return {"descriptor": self._form(value.base, made), **lists, "padding": str(value.padding)}
        if hasattr(value, "data_ptr") and hasattr(value, "base"):  # of triton.reinterpret
            return {"reinterpreted": self._form(value.base, made), "as": str(value.dtype)}
        if isinstance(value, tuple):
            return {"tuple": [self._form(item, made) for item in value]}
        return name_form("an argument", value)


def function_form(function: FunctionType, depth: int = 0) -> dict[str, Any]:
    """Where a function stands in its cell and what the names in it mean there, in plain values.

    Raises:
        LaunchError: it names something that a kernel cannot be given anywhere else.
    """
    if depth > 20:
        raise LaunchError(f"'{function.__name__}' calls itself. Kernels have no recursion.")
    code = function.__code__
    free = dict(zip(code.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=True))
    outer = {name: function.__globals__[name] for name in global_names(code) if name in function.__globals__}
    forms = {name: name_form(name, value, depth) for name, value in {**outer, **free}.items()}
    return {"name": code.co_name, "line": code.co_firstlineno, "names": forms}


def name_form(name: str, value: Any, depth: int = 0) -> dict[str, Any]:
    """What a name, or an argument, stands for, in plain values.

    Raises:
        LaunchError: nothing that a kernel can use.
    """
    from triton.runtime.jit import JITFunction

    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in ("math", "numpy", "torch", "triton"):
        return {"module": value.__name__}
    if hasattr(value, "value") and type(value).__name__ == "constexpr":
        return {"constexpr": name_form(name, value.value, depth)}
    if type(value).__name__ == "dtype" and type(value).__module__.partition(".")[0] == "triton":
        return {"type": str(value.name)}
    own = getattr(value, "fn", value)
    module = str(getattr(own, "__module__", ""))
    if module.partition(".")[0] == "triton" and hasattr(own, "__name__"):
        return {"member": [module, str(own.__name__)]}
    if isinstance(value, JITFunction) and isinstance(own, FunctionType):
        return {"function": function_form(own, depth + 1)}
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype)):
        return {"value": value}
    if isinstance(value, (tuple, list)):
        return {"tuple": [name_form(name, item, depth) for item in value]}
    raise LaunchError(f"'{name}' in a kernel is a {type(value).__name__}. A kernel takes tensors and single numbers.")


def _layout(tensor: Any, number: int) -> dict[str, Any]:
    place = {"memory": number, "offset": int(tensor.storage_offset()), "type": tensor.dtype}
    return {**place, "shape": list(tensor.shape), "strides": list(tensor.stride())}


def _first_item(memory: Any, size: int) -> bytes:
    """What a memory that the host made is filled with; it is filled with that in the replay, whatever else it holds."""
    start = torch.empty(0, dtype=torch.uint8, device="cpu").set_(memory.cpu())[:size]
    return bytes(start.numpy().tobytes())
