"""The cell magic `%%cuda`: a cell of CUDA C++ that is compiled, and run or traced if the first line says how.

    %%cuda SAXPY_CU                                        compiles the cell and keeps its text in this variable
    %%cuda SAXPY_CU saxpy[4, 128](2.0, x, y, 1000)         … and runs a kernel: y is changed as on a GPU
    %%cuda --trace SAXPY_CU saxpy[4, 128](2.0, x, y, 1000) … and counts: the result is a `Trace`

Grid and block stand in brackets, a third number is the dynamic shared memory in bytes. Arguments are expressions of the
notebook. Errors are shown with the line of the cell.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from gpulab import cuda_cpp, ipython
from gpulab.trace.errors import TraceError

_USAGE = "Write %%cuda [--trace] NAME [kernel[grid, block](arguments)], with the CUDA C++ below."


def register(shell: Any) -> None:
    """Makes `%%cuda` known to an IPython shell."""

    def cuda(line: str, cell: str) -> Any:
        return run_cell(line, cell, shell.user_ns)

    shell.register_magic_function(cuda, magic_kind="cell", magic_name="cuda")


def run_cell(line: str, cell: str, names: dict[str, Any]) -> Any:
    """What the magic does.

    Args:
        line: behind `%%cuda`.
        cell: CUDA C++.
        names: variables of the notebook.

    Returns:
        A `Trace` with `--trace`, else None.

    Raises:
        ValueError: the line is not understood.
    """
    words = line.strip()
    traced = words.startswith("--trace ")
    variable, _, call = words.removeprefix("--trace ").strip().partition(" ")
    if not variable.isidentifier() or (traced and not call.strip()):
        raise ValueError(f"%%cuda {line.strip()}: not understood. {_USAGE}")
    try:
        cuda_cpp.ptx(cell)
        names[variable] = cell
        if not call.strip():
            return None
        name, grid, block, shared_bytes, arguments = _launch(call.strip(), names)
        if traced:
            return cuda_cpp.trace(cell, name, grid, block, *arguments, shared_bytes=shared_bytes)
        results = iter(cuda_cpp.run(cell, name, grid, block, *arguments, shared_bytes=shared_bytes))
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                argument[...] = next(results)
    except (cuda_cpp.CudaCompileError, cuda_cpp.GuardError, TraceError) as error:
        print(f"{type(error).__name__}: {error}")  # its lines are the cell's; Python's traceback would say nothing
    return None


def _launch(call: str, names: dict[str, Any]) -> tuple[str, Any, Any, int, list[Any]]:
    """Kernel, grid, block, dynamic shared memory and arguments of `kernel[grid, block](arguments)`."""
    try:
        tree = ast.parse(call, mode="eval").body
    except SyntaxError:
        raise ValueError(f"%%cuda: {call!r} is no launch. {_USAGE}") from None
    if not (
        isinstance(tree, ast.Call)
        and isinstance(tree.func, ast.Subscript)
        and isinstance(tree.func.value, ast.Name)
        and isinstance(tree.func.slice, ast.Tuple)
        and len(tree.func.slice.elts) in (2, 3)
        and not tree.keywords
    ):
        raise ValueError(f"%%cuda: {call!r} is no launch. {_USAGE}")

    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "<cuda>", "eval"), names)  # the notebook's own code

    configuration = [value(node) for node in tree.func.slice.elts]
    shared_bytes = int(configuration[2]) if len(configuration) == 3 else 0
    return tree.func.value.id, configuration[0], configuration[1], shared_bytes, [value(node) for node in tree.args]


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext gpulab.cuda_magic` calls."""
    register(shell)


def _register_in_a_notebook() -> None:
    """Where there is a shell, `%%cuda` is there as soon as this module is imported."""
    if (shell := ipython.shell()) is not None:
        register(shell)


_register_in_a_notebook()
