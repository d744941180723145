"""How exceptions look in a notebook: a failed check is its message, a cell that waits for an exercise is one line.

An error that the course's own code raises about a student's line shows the frames of the notebook only. So does one
that a student's answer raises when the course's code calls it, and one that a demonstration raises over what an answer
returned. A name that a test cell does not find, and a GPU that is not there, take one line each. Everything else keeps
IPython's traceback; outside of a notebook (pytest, the judge) nothing changes. What is raised, and its text, stay the
same: this decides only what is shown.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

from gpulab import ipython
from gpulab.check import own_names
from gpulab.check.layout import lines
from gpulab.check.outcomes import Undecided

_STUB = "Write your answer in place of `raise NotImplementedError()`, then run this cell again."
_NO_GPU = "No GPU here, and this cell needs one. Read on without it."
_ABSENT = re.compile(r"Found no NVIDIA driver|No CUDA GPUs are available|Torch not compiled with CUDA enabled")
"""How PyTorch says that there is no GPU."""
_HERE = Path(__file__).resolve().parents[1]
_failed: set[str] = set()
"""Exercises whose test was run last without passing."""
_waiting: dict[str, str] = {}
"""Names and keys that a cell would have bound, had its exercise been solved → that exercise."""


def install(shell: Any) -> None:
    """Has an IPython shell show exceptions in this way, and keep the names of test cells apart."""
    shell.ast_transformers.append(own_names.OwnNames(shell.user_ns))
    shell.set_custom_exc((Exception,), _show)
    shell.events.register("post_run_cell", _remember)


def _remember(result: Any) -> None:
    """Keeps which exercises have failed their test; IPython calls it after each cell."""
    source = result.info.raw_cell if result.info is not None else ""
    if not _tests(source) or isinstance(result.error_in_exec, Undecided):
        return
    used = _given(source)
    if result.success:
        _failed.difference_update(used)
    else:
        _failed.update(used)


def _show(shell: Any, kind: type, error: Exception, trace: TracebackType | None, tb_offset: int | None = None) -> None:
    """IPython calls it as a method of the shell, with what a cell raised."""
    shown = None if hasattr(error, "_render_traceback_") else shown_instead(error, shell.user_ns)
    if shown is not None:
        vars(error)["_render_traceback_"] = lambda: shown  # IPython asks exceptions for it
    # Not where the cell itself cannot be compiled: IPython would then show its own frames above the student's line.
    running = any(variables is shell.user_ns for _, variables in _frames(error))
    if running and trace is not None and _shows_the_notebook_only(error, shell.user_ns):
        trace = _of_the_notebook(trace, shell.user_ns)
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=running)


def _shows_the_notebook_only(error: Exception, names: dict[str, Any]) -> bool:
    """Whether the frames of libraries are left out; an error over an answer that failed its test also gets a note."""
    if type(error).__module__.partition(".")[0] == __name__.partition(".")[0]:
        return True
    frames = _frames(error)
    running = next(code.co_filename for code, variables in frames if variables is names)
    files = [Path(code.co_filename) for code, _ in frames]
    source = "".join(linecache.getlines(running))
    # A name that is missing comes from a cell that was not run.
    wrong = [] if _tests(source) or isinstance(error, NameError) else sorted(_failed & _given(source))
    if wrong and not hasattr(error, "__notes__"):
        words = ", ".join(f"`{name}`" for name in wrong)
        error.add_note(f"This cell uses {words}, whose test failed. Correct your answer first.")
    # The course's code met what an answer returned, or called a function of the notebook, and that raised it.
    ours = any(file.is_relative_to(_HERE) for file in files)
    return ours and (bool(wrong) or files[-1].parent == Path(running).parent)


def _of_the_notebook(trace: TracebackType, names: dict[str, Any]) -> TracebackType | None:
    """A traceback without the frames of libraries: only those that run the cell, and those of the notebook's code."""
    parts = [trace]
    while parts[-1].tb_next is not None:
        parts.append(parts[-1].tb_next)
    first = next(at for at, part in enumerate(parts) if part.tb_frame.f_globals is names)
    cells = _folder(parts[first])  # kernels that are traced have other globals, but the file of their cell
    kept = None
    for part in reversed([*parts[:first], *(part for part in parts[first:] if _folder(part) == cells)]):
        kept = TracebackType(kept, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return kept


def _folder(part: TracebackType) -> Path:
    return Path(part.tb_frame.f_code.co_filename).parent


def shown_instead(error: BaseException, names: dict[str, Any]) -> list[str] | None:
    """The lines to show instead of a traceback; None where the traceback is what helps.

    Args:
        error: raised while a cell ran.
        names: the notebook's variables: code of the notebook has them as its globals.
    """
    frames = _frames(error)
    codes = [code for code, variables in frames if variables is names]
    if not codes:
        return None
    running = codes[0].co_filename
    source = "".join(linecache.getlines(running))
    own = all(code.co_filename == running for code in codes)  # no function of another cell was called
    if own and isinstance(error, (RuntimeError, AssertionError)) and _ABSENT.search(str(error)):
        return [_NO_GPU]
    if waits := _unsolved(error, names, running):
        if waits == "<module>":
            return [_STUB]
        _waiting.update(dict.fromkeys(_bound_by(running), waits))
        return [f"Solve `{waits}` first and run its cell; this cell will then {_purpose(running)}."]
    if isinstance(error, NameError) and error.name and frames[-1][0].co_filename == running and _tests(source):
        return [
            f"There is no `{error.name}` yet: run the cell with your answer first. It must define exactly this name."
        ]
    if isinstance(error, AssertionError) and str(error) and own:
        return lines(str(error))  # the cell's own assertion: one in the student's function keeps its traceback
    return None


def _frames(error: BaseException) -> list[tuple[CodeType, dict[str, Any]]]:
    """Code and globals of the frames that an exception went through, the outermost first."""
    found, trace = [], error.__traceback__
    while trace is not None:
        found.append((trace.tb_frame.f_code, trace.tb_frame.f_globals))
        trace = trace.tb_next
    return found


def _unsolved(error: BaseException, names: dict[str, Any], running: str) -> str:
    """The exercise without an answer that this exception comes from; `<module>` in its own cell; else ""."""
    if isinstance(error, NameError):  # exercises that are values have names in capitals
        name = str(error.name or "")
        return _waiting.get(name) or (name if name.isupper() else "")
    if isinstance(error, KeyError) and error.args:
        return _waiting.get(str(error.args[0]), "")
    cause: BaseException | None = error
    seen: set[int] = set()  # libraries chain exceptions in circles: Triton's interpreter does
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, NotImplementedError) and not str(cause):
            for code, variables in _frames(cause)[-1:]:
                if variables is names and (code.co_filename != running or code.co_name == "<module>"):
                    return code.co_name
        cause = cause.__cause__ or cause.__context__
    return ""


def _purpose(running: str) -> str:
    """What a cell will do: the comment in its first line, `# Draw the waves.`"""
    first = (linecache.getlines(running) or [""])[0].strip()
    words = first.removeprefix("# ").rstrip(".")
    return words[:1].lower() + words[1:] if words != first else "run"


def _tests(source: str) -> bool:
    """Whether a cell is a test: all of them use `check`, which they import themselves."""
    return re.search(r"^from gpulab import .*\bcheck\b", source, re.MULTILINE) is not None


def _given(source: str) -> set[str]:
    """Names that a cell reads and does not bind itself: in a test, those of its exercise only."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return set()
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    bound |= {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    bound |= {(alias.asname or alias.name).split(".")[0] for node in imports for alias in node.names}
    return read - bound - vars(builtins).keys()


def _bound_by(running: str) -> list[str]:
    """The variables, functions, modules and keys of dicts that a cell binds."""
    try:
        tree = ast.parse("".join(linecache.getlines(running)))
    except SyntaxError:  # a magic
        return []
    found = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    parts = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
    found += [str(part.slice.value) for part in parts if isinstance(part.slice, ast.Constant)]
    found += [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return found + [(alias.asname or alias.name).split(".")[0] for node in imports for alias in node.names]


def install_here() -> None:
    """Installs it where there is a shell."""
    if (shell := ipython.shell()) is not None:
        install(shell)
