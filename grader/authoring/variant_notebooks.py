"""A notebook per student: the release, in which every menu is written in codes that only this student has.

Who has a variant, and the secret, are kept by `intake.variants`; the judge reads the codes by `judging.codes`.
"""

from __future__ import annotations

import ast
import copy
import shutil
import textwrap
from collections.abc import Iterable, Mapping

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from grader.authoring.building import files_below
from grader.authoring.releasing import leaks, secrets_of, texts_of
from grader.intake import variants
from grader.intake.roster import Person
from grader.model.course import Chapter, Course
from grader.model.findings import Finding, Findings
from grader.model.menus import Menu, call_in, menus_of
from grader.model.notebook_io import to_text, write
from grader.model.notebooks import Role, cells_of, read_own
from grader.model.syntax import syntax_tree

WIDTH = 84
"""Of lines of code in a rewritten test, less their indentation."""


def write_variants(course: Course, chapter: Chapter, people: Mapping[str, Person]) -> list[Menu]:
    """Writes the students' variants of a released chapter, and gives the menus in it; nothing where there is none.

    Args:
        course: whose secret the codes come from; one is drawn the first time.
        chapter: built, and released from what was built.
        people: folder → student, of `variants.people_in`.

    Raises:
        CourseError: the chapter or a file of the course cannot be read or written.
        Findings: something that students must not see would be released. No variant is written then.
    """
    solution = read_own(chapter.solution, f'Run "grader build {chapter.name}".')
    released = read_own(chapter.release, f'Run "grader release {chapter.name}".')
    menus = menus_of(cells_of(solution))
    if not menus:
        return []
    secret = variants.secret_of(course)
    texts = {}
    for student in people:
        codes = {menu.exercise: menu.codes_of(secret, student, chapter.name) for menu in menus}
        notebook = variant_of(released, menus, codes)
        if faults := prove_variant(solution, released, notebook, menus):
            remedy = f'Fix the source, then run "grader build {chapter.name}" and "grader release {chapter.name}".'
            where = f"variant of {chapter.name} for {student}"
            raise Findings(tuple(Finding(where, fault, remedy) for fault in faults))
        texts[student] = to_text(notebook)
    variants.enroll(course, chapter.name, people, secret)  # from here on the chapter is graded by codes
    for student, text in texts.items():
        folder = course.variants / student / chapter.name
        write(folder / f"{chapter.name}.ipynb", text.encode())
        for path in files_below(chapter.release.parent):
            target = folder / path.relative_to(chapter.release.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return menus


def variant_of(released: NotebookNode, menus: Iterable[Menu], codes: Mapping[str, Mapping[str, str]]) -> NotebookNode:
    """The release with codes in its menus.

    Args:
        released: what every student would get.
        menus: of the chapter.
        codes: exercise → word → the student's code.
    """
    notebook = copy.deepcopy(released)
    known = {menu.exercise: menu for menu in menus}
    cells = []
    for own, cell in zip(cells_of(notebook), notebook.cells, strict=True):
        menu = known.get(own.exercise) if own.grade_id else None
        if menu is not None and own.role is Role.SOLUTION:
            cells.append(_legend(menu, codes[menu.exercise]))
        elif menu is not None and own.role is Role.TEST:
            cell.source = in_codes(cell.source, menu, codes[menu.exercise])
            cell.metadata.nbgrader.checksum = compute_checksum(cell)
        cells.append(cell)
    notebook.cells = cells
    return notebook


def prove_variant(
    solution: NotebookNode, released: NotebookNode, variant: NotebookNode, menus: Iterable[Menu]
) -> list[str]:
    """What is in a variant that must not be, or differs from the release beyond menus; nothing when it is clean."""
    faults = list(leaks(secrets_of(solution), texts_of(variant)))
    exercises = {menu.exercise for menu in menus}
    legends = {_legend_id(exercise) for exercise in exercises}
    tests = {own.id for own in cells_of(released) if own.role is Role.TEST and own.exercise in exercises}
    rest = [cell for cell in variant.cells if cell.id not in legends]
    if [cell.id for cell in rest] != [cell.id for cell in released.cells]:
        return [*faults, "has other cells than the release"]
    for cell, theirs in zip(rest, released.cells, strict=True):
        if cell.id not in tests and cell != theirs:
            faults.append(f"cell {cell.id} is not that of the release")
    return faults


def in_codes(source: str, menu: Menu, code_of: Mapping[str, str]) -> str:
    """A visible test whose words and digests are those of a student's codes.

    What computed the chapter's own words and digests, and nothing else, is left out.
    """
    tree = syntax_tree(source)
    found = call_in(tree)
    if found is None:
        return source
    number, call = found
    named = [option for option in call.keywords if option.arg != "notes"]
    live = {node.id for part in (call.args[0], *(one.value for one in named)) for node in _names(part)} | {"check"}
    before: list[str] = []
    for node in reversed(tree.body[:number]):
        if isinstance(node, (ast.Assign, ast.Import, ast.ImportFrom)) and not _bound(node) & live:
            continue
        live |= {name.id for name in _names(node)}
        before.insert(0, "\n".join(source.splitlines()[node.lineno - 1 : node.end_lineno]))
    imports = [text for text in before if text.startswith(("import ", "from "))]
    others = [text for text in before if text not in imports]
    arguments = [ast.get_source_segment(source, part) or "" for part in (call.args[0], *call.args[3:])]
    options = [f"{one.arg}={ast.get_source_segment(source, one.value)}" for one in named]
    function = ast.unparse(call.func)
    checks = f"{function}({', '.join([arguments[0], 'digests', 'words', *arguments[1:], *options])})"
    words = _wrapped("words", sorted(code_of.values()))
    digests = menu.digests_of(code_of)
    if isinstance(digests, dict):
        pairs = "\n".join(f'    "{item}": "{hashed}",' for item, hashed in digests.items())
        hashes = f"digests = {{\n{pairs}\n}}"
    else:
        hashes = _wrapped("digests", digests)
    after = source.splitlines()[tree.body[number].end_lineno :]
    return "\n".join([*imports, "", words, hashes, *others, checks, *after])


def _wrapped(name: str, words: Iterable[str]) -> str:
    """An assignment of words as one text that is split."""
    lines = textwrap.wrap(" ".join(words), WIDTH - 4)
    if len(lines) == 1 and len(name) + len(lines[0]) + 13 <= WIDTH:
        return f'{name} = "{lines[0]}".split()'
    inside = "\n".join(f'    "{line}{" " * (line is not lines[-1])}"' for line in lines)
    return f"{name} = (\n{inside}\n).split()"


def _names(node: ast.AST) -> list[ast.Name]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Name)]


def _bound(node: ast.Assign | ast.Import | ast.ImportFrom) -> set[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.Assign):
        return {name.id for target in node.targets for name in _names(target)}
    return {(one.asname or one.name).partition(".")[0] for one in node.names}


def _legend_id(exercise: str) -> str:
    return f"{exercise}-codes"


def _legend(menu: Menu, code_of: Mapping[str, str]) -> NotebookNode:
    """The cell that lists the student's codes, in the order of the codes."""
    rows = "\n".join(f'| `"{code}"` | `"{word}"` |' for word, code in sorted(code_of.items(), key=lambda pair: pair[1]))
    text = (
        f"**Your codes for `{menu.exercise}`.** Every student has different codes for the words of this menu. In your "
        "answer, write your code in place of the word. The check in this notebook knows only your codes.\n\n"
        f"| your code | word of the menu |\n|---|---|\n{rows}"
    )
    cell = nbformat.v4.new_markdown_cell(text, id=_legend_id(menu.exercise))
    cell.metadata.update({"deletable": False, "editable": False})
    return cell
