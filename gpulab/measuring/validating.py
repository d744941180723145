"""`nbgrader validate` on a machine without a GPU: a cell that needs one ends at `needs_gpu()` and counts as passed.

nbgrader knows passed and failed only, so a laptop could never validate perfect work. Everywhere else such a cell raises
`NeedsGPU`: in a notebook, under `nbgrader autograde`, and in the judge, where its points stay pending.
"""

from __future__ import annotations

import ast
import os
from typing import Any

from gpulab import ipython

VARIABLE = "NBGRADER_VALIDATING"
"""What nbgrader's validator sets in the environment of the kernel."""


class _EndsAtNeedsGPU(ast.NodeTransformer):
    """Leaves out what follows a cell's own call of `needs_gpu`."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for place, statement in enumerate(node.body):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and "needs_gpu" in (
                getattr(call.func, "id", ""),
                getattr(call.func, "attr", ""),
            ):
                node.body = node.body[: place + 1]
                break
        return node


def here() -> bool:
    """Whether nbgrader's validator runs this process."""
    return os.environ.get(VARIABLE) == "1"


def install() -> None:
    """Has the IPython kernel of this process, if it is one, end such cells early from the next cell on."""
    shell = ipython.shell()
    if shell is not None and not _installed(shell):
        shell.ast_transformers.insert(0, _EndsAtNeedsGPU())  # before a test cell becomes a function


def skips() -> bool:
    """Whether cells end at `needs_gpu()` in this process."""
    shell = ipython.shell()
    return shell is not None and _installed(shell)


def _installed(shell: Any) -> bool:
    return any(isinstance(one, _EndsAtNeedsGPU) for one in shell.ast_transformers)
