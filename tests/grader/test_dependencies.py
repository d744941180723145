"""What a chapter's outputs depend on."""

from __future__ import annotations

from pathlib import Path

from grader.dependencies import named_files


def make(folder: Path, **files: str) -> list[Path]:
    paths = []
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + (".csv" if name.startswith("data") else ".py"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(path)
    return paths


def names(found: list[Path]) -> set[str]:
    return {path.stem for path in found}


def test_a_module_and_what_it_names_belong(tmp_path: Path) -> None:
    """Named in a cell, named by a module named in a cell, but not the neighbour that nobody names."""
    files = make(
        tmp_path,
        gpulab__plot="from gpulab import canvas",
        gpulab__canvas="",
        gpulab__chapters__warps="table('gpus')",
        gpulab__chapters__amp="",
        data__gpus="",
        data__instances="",
    )
    cell = "from gpulab import plot\nfrom gpulab.chapters.warps import draw"
    assert names(named_files([cell], files)) == {"plot", "canvas", "warps", "gpus"}


def test_a_package_belongs_whole(tmp_path: Path) -> None:
    """`from gpulab import trace` reaches files that no cell names."""
    files = make(tmp_path, gpulab__trace__races="import banks", gpulab__trace__counts="", gpulab__banks="")
    assert names(named_files(["from gpulab import trace"], files)) == {"races", "counts", "banks"}
    assert names(named_files(["import torch"], files)) == set()


def test_the_list_of_everything_draws_nothing_in(tmp_path: Path) -> None:
    """gpulab/__init__.py belongs to every chapter, the modules that it lists do not."""
    init = tmp_path / "gpulab" / "__init__.py"
    files = make(tmp_path, gpulab__plot="")
    init.write_text("from gpulab import plot")
    assert named_files(["import gpulab"], [*files, init]) == [init]


def test_prose_does_not_belong(tmp_path: Path) -> None:
    """A table's description may be mended without running every chapter again."""
    (readme := tmp_path / "README.md").write_text("")
    (table := tmp_path / "gpus.csv").write_text("")
    assert named_files(["table('gpus')  # see README"], [readme, table]) == [table]
