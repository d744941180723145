"""LLVM: text in, addresses of compiled functions out. Other modules define what they compute."""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

from gpulab.trace.ptx.runtime.barriers import BARRIERS_AND_MEETINGS
from gpulab.trace.ptx.runtime.collective import COLLECTIVE, NUMBERS
from gpulab.trace.ptx.runtime.copies import COPYING
from gpulab.trace.ptx.runtime.frames import FRAMES
from gpulab.trace.ptx.runtime.layout import constants
from gpulab.trace.ptx.runtime.observation import OBSERVING
from gpulab.trace.ptx.runtime.races import IS_ATOMIC, IS_LOAD, IS_STORE, RACES
from gpulab.trace.ptx.runtime.rounding import AWAY, DOWN, ROUNDING, TO_NEAREST, TO_ZERO, UP
from gpulab.trace.ptx.runtime.scheduler import SCHEDULING
from gpulab.trace.ptx.runtime.small import DECLARATIONS, llvm


class CompiledModule:
    """A compiled module; its code lives as long as this object.

    Args:
        text: LLVM assembly.
        level: 0 compiles fastest; 1 takes several times as long, for code that runs longer; 2 optimizes as well.
    """

    def __init__(self, text: str, level: int) -> None:
        binding, target = _llvm()
        module = binding.parse_assembly(text)
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        if level == 2:
            options = binding.create_pipeline_tuning_options(speed_level=1)
            options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = False
            passes = binding.create_pass_builder(target, options)
            passes.getModulePassManager().run(module, passes)
        self._engine = binding.create_mcjit_compiler(module, _machine(level))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Of a function."""
        return int(self._engine.get_function_address(name))


@functools.cache
def _llvm() -> tuple[Any, Any]:
    binding = importlib.import_module("llvmlite.binding")  # it comes without types
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.load_library_permanently("")  # libm and libc of this process
    return binding, _machine(1)


def _machine(level: int) -> Any:
    binding = importlib.import_module("llvmlite.binding")
    target = binding.Target.from_default_triple()
    features = binding.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features, opt=level, reloc="default", codemodel="jitdefault", jit=True
    )


_FUNCTIONS: list[Any] = [
    *SCHEDULING,
    *BARRIERS_AND_MEETINGS,
    *FRAMES,
    *OBSERVING,
    *RACES,
    *ROUNDING,
    *COLLECTIVE,
    *COPYING,
]


@functools.cache
def runtime() -> CompiledModule:
    """The functions that are the same for every kernel."""
    numbers = constants() | {"IS_LOAD": IS_LOAD, "IS_STORE": IS_STORE, "IS_ATOMIC": IS_ATOMIC}
    numbers |= {"TO_NEAREST": TO_NEAREST, "TO_ZERO": TO_ZERO, "DOWN": DOWN, "UP": UP, "AWAY": AWAY}
    numbers |= NUMBERS
    return CompiledModule(DECLARATIONS + llvm(_FUNCTIONS, numbers), level=2)


def runtime_function(name: str) -> Any:
    """A function of the runtime, to be called from Python with integers."""
    count = next(one for one in _FUNCTIONS if one.__name__ == name).__code__.co_argcount
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(runtime().address(name))


def runtime_pointer(name: str) -> str:
    """A function of the runtime as an LLVM constant."""
    return f"inttoptr (i64 {runtime().address(name)} to ptr)"
