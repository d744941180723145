"""Tells a person which cells to look at; it costs no points.

What is timed, simulated or counted as Triton's programs runs in one process with the code that projects and counts, so
an answer that names that code, goes round an import or rewrites a library under it deserves a glance. So does a ring of
processes that nobody can listen to, and a launched script that trains something else than it was given, since nobody
can work that out again. Accesses of `@cuda.jit` kernels are counted elsewhere (`counted`), and need none.
"""

from __future__ import annotations

import ast
import functools
import re

from grader.model.needs import Need
from grader.model.notebooks import Cell, ChapterKey, Role
from grader.model.submission import Action, Submission
from grader.model.syntax import syntax_tree

WATCHED = frozenset({Need.SPEEDUP, Need.VIRTUAL_GPU, Need.LISTENING, Need.TIMELINE, Need.SCRIPTS})
"""Needs of a test whose exercise is timed, counted, or reported on in a process that it could change."""
GIVEN = "PROBLEM"
"""The variable that tells a launched script what to train."""
INTERNALS = re.compile(
    r"""
    \bgpulab\s*\.\s*(?:backend|speedup|measuring|trace|chapters|check|ranks|virtual_gpu)\b |
    \bfrom\s+gpulab\b[^\n]{0,200}\b(?:backend|speedup|chapters|ranks|trace|virtual_gpu)\b |
    \bgrader\b | \b(?:_python_dispatch|overrides)\b |
    \b(?:importlib|__import__|inspect|subprocess|multiprocessing|threading|atexit|weakref)\b |
    (?<![.\w])(?:exec|eval|globals|vars)\s*\( | \bos\s*\.\s*(?:system|fork\w*|spawn\w*|popen|posix_spawn\w*|exec\w+)\b |
    \bsys\s*\.\s*(?:modules|_getframe|settrace|setprofile)\b | \bctypes\b | \bgc\s*\.\s*\w+ |
    \b(?:(?:tb|gi|cr|ag)_frame|f_back|f_locals|f_globals|cell_contents|__traceback__|linecache)\b |
    \b__(?!(?:name|main|init|call|enter|exit|len|iter|next|getitem|repr|future)__)(?!(?:global|device|host|shared)__)
        (?!(?:constant|restrict|forceinline|noinline|launch_bounds)__)\w+__\b |
    \bctypeslib\b | (?<!\bself)(?<!\bcls)\.\s{0,9}_[A-Za-z]\w* |
    \.\s*(?:sys|builtins|gc|os(?!\s*\.\s*environ)|_C)\b |
    \bfrom\s+os\s+import\b(?!\s*(?:environ|path)\b) |
    (?<![.\w])[A-Z]\w*(?:\s{0,9}\.\s{0,9}\w+){1,9}\s{0,9}=(?!=) |
    (?<![.\w])(?:torch(?!\s*\.\s*backends\b)|numpy|np|numba|cuda|time|builtins)
        (?:\s{0,9}\.\s{0,9}\w+){1,9}\s{0,9}=(?!=) |
    \bsetattr\s*\(
    """,
    re.VERBOSE,
)

COMMON = frozenset({
    "__future__", "argparse", "cmath", "collections", "contextlib", "copy", "cuda", "dataclasses", "datetime", "enum",
    "functools", "gpulab", "itertools", "json", "lightning", "logging", "math", "matplotlib", "numba", "numpy", "onnx",
    "onnxruntime", "operator", "os", "pathlib", "pytorch_lightning", "random", "re", "shutil", "statistics", "struct",
    "tempfile", "time", "timeit", "torch", "torchvision", "triton", "typing", "warnings", "zlib",
})  # fmt: skip
"""Packages that answers import; what reaches into a process is in others, under whichever name."""
MOST_CHARACTERS = 20_000
"""Of a cell that is searched."""
IMPORT = re.compile(r"(?:^|[;:\"'\n])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([^\n#;\"']+))")
"""Also inside a text that is a program."""


def notes(submission: Submission, key: ChapterKey) -> list[str]:
    """A sentence for each such cell."""
    watched, launched = _of_interest(key.tests, key.launches_triton)
    found = []
    for step in submission.steps:
        own = step.key
        if own is not None and own.role is Role.SOLUTION and own.grade_id in watched:
            what = _telling(step.source)
            if what:
                found.append(
                    f"The cell {own.grade_id}, which is counted or timed, contains {what!r}: review it yourself."
                )
    for name in sorted(launched & submission.attempted):
        texts = [text for step in submission.steps if step.action is Action.RUN for text in _texts(step.source, name)]
        if not texts or not all(GIVEN in text for text in texts):
            found.append(f"The script {name} trains on a task of its own, which cannot be checked: review it yourself.")
    return found


def unheard(exercise: str) -> str:
    """The sentence for an exercise whose ranks were started by the student's own process, when a test called it."""
    return f"The exercise {exercise} started processes that nobody could listen to: review it yourself."


def _telling(source: str) -> str:
    """What a cell says that makes it worth a look; empty if nothing."""
    if len(source) > MOST_CHARACTERS:
        return f"{source[:20]}…"  # longer than any answer, and all other submissions wait for a search
    named = INTERNALS.search(source)
    if named:
        return " ".join(named[0].split())
    for module, modules in IMPORT.findall(source):
        for one in [module] if module else modules.split(","):
            name = one.split(" as ")[0].strip()
            if name and name.partition(".")[0] not in COMMON:
                return f"import {name}"
    return ""


@functools.lru_cache(maxsize=64)
def _of_interest(tests: tuple[Cell, ...], triton: bool) -> tuple[frozenset[str], frozenset[str]]:
    """The exercises that are counted or timed, and those that are scripts."""
    needs = WATCHED | {Need.COUNTING} if triton else WATCHED
    watched = {test.exercise for test in tests if needs & test.needs}
    launched = {test.exercise for test in tests if Need.SCRIPTS in test.needs and GIVEN in test.source}
    return frozenset(watched), frozenset(launched)


def _texts(source: str, name: str) -> list[str]:
    """What a cell assigns to a name; nothing of what is not written out there as one text.

    A cell that begins with `%%writefile NAME.py` assigns the rest of itself.
    """
    first, _, rest = source.lstrip().partition("\n")
    if first.split() == ["%%writefile", f"{name}.py"]:
        return [rest]
    try:
        tree = syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    assignments = [
        (node.targets if isinstance(node, ast.Assign) else [node.target], node.value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr))
    ]
    values = [
        value.value if isinstance(value, ast.Constant) else None
        for targets, value in assignments
        if name in {target.id for target in targets if isinstance(target, ast.Name)}
    ]
    return [value if isinstance(value, str) else "" for value in values]
