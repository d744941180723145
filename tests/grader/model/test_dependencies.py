"""What a chapter's outputs depend on."""

from __future__ import annotations

from pathlib import Path

from grader.model.dependencies import needed_files


def make(folder: Path, **files: str) -> list[Path]:
    paths = []
    for name, text in files.items():
        path = folder / (name.replace("___", "/").replace("INIT", "__init__") + (".csv" if "data" in name else ".py"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(path)
    return paths


def names(found: list[Path]) -> set[str]:
    return {path.stem if path.stem != "__init__" else path.parent.name for path in found}


def course(folder: Path) -> list[Path]:
    """A small package: a facade that lists everything, a package that is taken whole, and two chapters."""
    return make(
        folder,
        gpulab___INIT="from gpulab.figures import plot\nfrom gpulab.measuring.timing import measure",
        gpulab___figures___INIT="",
        gpulab___figures___plot='"""Not `precision`."""\nfrom gpulab.figures import styling  # not amp',
        gpulab___figures___styling="",
        gpulab___measuring___INIT="",
        gpulab___measuring___timing="",
        gpulab___trace___INIT="from gpulab.trace.races import find",
        gpulab___trace___races="",
        gpulab___trace___unused="",
        gpulab___chapters___INIT="",
        gpulab___chapters___warps="from gpulab import table\ntable('gpus')",
        gpulab___chapters___amp="",
        data___gpus="",
        data___precision="",
    )


def test_a_module_and_what_it_imports_belong(tmp_path: Path) -> None:
    """Imported in a cell, imported by such a module, but not a neighbor that only a comment or docstring mentions."""
    cell = "from gpulab import plot\nfrom gpulab.chapters.warps import draw"
    found = names(needed_files([cell], course(tmp_path)))
    assert found == {"gpulab", "figures", "plot", "styling", "chapters", "warps", "gpus"}


def test_a_new_neighbor_changes_nothing(tmp_path: Path) -> None:
    """Neither a module that nobody imports nor another chapter's package makes a chapter stale."""
    files = course(tmp_path)
    more = make(tmp_path, gpulab___chapters___new___INIT="", gpulab___chapters___new___pictures="")
    cell = "from gpulab.chapters import warps"
    assert needed_files([cell], files) == needed_files([cell], [*files, *more])


def test_a_package_that_is_taken_whole_brings_what_it_imports(tmp_path: Path) -> None:
    assert names(needed_files(["from gpulab import trace"], course(tmp_path))) == {"gpulab", "trace", "races"}
    assert needed_files(["import torch"], course(tmp_path)) == []


def test_the_facade_leads_to_the_module_behind_a_name(tmp_path: Path) -> None:
    """`gpulab/__init__.py` lists everything; importing one name from it brings that one."""
    for cell in ("from gpulab import measure", "import gpulab\ngpulab.measure(f)"):
        assert names(needed_files([cell], course(tmp_path))) == {"gpulab", "measuring", "timing"}


def test_scripts_in_strings_and_names_in_strings_count(tmp_path: Path) -> None:
    """A script that ranks run, and a reference that is looked up by name."""
    script = 'SCRIPT = """from gpulab import plot\nplot.show()"""'
    assert {"plot", "styling"} <= names(needed_files([script], course(tmp_path)))
    assert "warps" in names(needed_files(['against(f, "gpulab.chapters.warps:RACE")'], course(tmp_path)))


def test_lines_that_are_no_python_do_not_hide_the_rest(tmp_path: Path) -> None:
    assert "warps" in names(needed_files(["!nvidia-smi\nfrom gpulab.chapters import warps"], course(tmp_path)))


def test_prose_does_not_belong(tmp_path: Path) -> None:
    """The description of a table may change without running every chapter again."""
    (readme := tmp_path / "README.md").write_text("")
    (table := tmp_path / "gpus.csv").write_text("")
    assert needed_files(["table('gpus')  # see README"], [readme, table]) == [table]


def test_the_order_in_which_modules_are_found_does_not_matter(tmp_path: Path) -> None:
    """A package around a module that was found first is still read when it is imported itself. Sets of names have
    another order in every process, so a dozen packages make sure that one of them comes second."""
    packages = [f"package{number}" for number in range(12)]
    files = make(
        tmp_path,
        gpulab___INIT="",
        **{f"gpulab___{name}___INIT": f"from gpulab.{name}.listed import it" for name in packages},
        **{f"gpulab___{name}___listed": "" for name in packages},
        **{f"gpulab___{name}___inner": "" for name in packages},
    )
    cell = "\n".join(f"import gpulab.{name}.inner, gpulab.{name}" for name in packages)
    assert needed_files([cell], files) == sorted(files)


def test_what_hidden_tests_import_belongs(tmp_path: Path) -> None:
    """The module of `grader.exercises`, and the workload that it names in a string."""
    files = course(tmp_path) + make(
        tmp_path,
        grader___exercises___INIT="",
        grader___exercises___warps___INIT="",
        grader___exercises___warps___races="WORKLOAD = 'gpulab.chapters.warps:NAME'",
        grader___exercises___warps___unused="",
        grader___judging___races="",
    )
    found = needed_files(["from grader.exercises.warps.races import RACE"], files)
    assert names(found) == {"exercises", "warps", "races", "gpulab", "chapters", "gpus"}
    assert not any("judging" in path.parts for path in found)
