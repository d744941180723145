"""`gpulab.table` and the tables of the course."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulab
from gpulab import table, tables
from gpulab.tables import gpu_row

GPUS = table("gpus")
TYPES = ("float64", "float32", "tfloat32", "bfloat16", "float16", "float8", "int8")


def test_numbers_are_numbers_and_empty_is_none() -> None:
    row = next(row for row in GPUS if row["gpu"] == "V100")
    assert type(row["sm_count"]) is int
    assert type(row["fp32_tflops"]) is float
    assert row["float8_tflops"] is None
    assert row["arch"] == "Volta"


def test_every_call_gives_fresh_rows() -> None:
    """A notebook that changes a row must not change it for the next cell."""
    table("gpus")[0]["sm_count"] = -1
    assert table("gpus")[0]["sm_count"] == GPUS[0]["sm_count"]


@pytest.mark.parametrize("name", ["gpu", "GPUS", "../pyproject", "", "machines/h200"])
def test_unknown_table_lists_the_known_ones(name: str) -> None:
    with pytest.raises(LookupError, match="gpus"):
        table(name)


def test_found_from_below_the_course_when_installed_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "gpus.csv").write_text("# a comment\n\na,b\n1,\n2.5, x y \n", encoding="utf-8")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(tables, "__file__", "/nowhere/gpulab/tables.py")
    monkeypatch.chdir(tmp_path / "notebooks")
    assert table("gpus") == [{"a": 1, "b": None}, {"a": 2.5, "b": "x y"}]


def test_no_data_folder_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "__file__", "/nowhere/gpulab/tables.py")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LookupError, match="any folder data/"):
        table("gpus")


@pytest.mark.parametrize("row", GPUS, ids=lambda row: str(row["gpu"]))
class TestGpus:
    def test_lanes_and_clock_give_the_datasheet_rate(self, row: dict[str, float]) -> None:
        """Two FLOPs for each lane and cycle; students compute it so."""
        rate = row["sm_count"] * row["fp32_lanes_per_sm"] * 2 * row["boost_mhz"] * 1e6 / 1e12
        assert rate == pytest.approx(row["fp32_tflops"], rel=0.02)

    def test_bus_and_pins_give_the_datasheet_bandwidth(self, row: dict[str, float]) -> None:
        rate = row["memory_bus_bits"] / 8 * row["memory_gbps_per_pin"]
        assert rate == pytest.approx(row["bandwidth_gbs"], rel=0.02)

    def test_sparse_is_about_twice_dense(self, row: dict[str, float]) -> None:
        for kind in TYPES:
            sparse = row.get(f"{kind}_sparse_tflops")
            if sparse is not None:
                assert sparse == pytest.approx(2 * row[f"{kind}_tflops"], rel=0.03)

    def test_both_names_of_the_float32_rate_agree(self, row: dict[str, float]) -> None:
        assert row["float32_tflops"] == row["fp32_tflops"]

    def test_narrow_types_are_never_slower(self, row: dict[str, float]) -> None:
        rates = [row[f"{kind}_tflops"] for kind in ("float32", "tfloat32", "float16", "float8")]
        known = [rate for rate in rates if rate is not None]
        assert known == sorted(known)

    def test_names_its_source(self, row: dict[str, str]) -> None:
        assert any(kind in row["source"] for kind in ("datasheet", "whitepaper", "specification page"))
        assert int(row["year"]) <= int(row["date"]) <= 2026


def test_a_gpu_is_found_by_its_name() -> None:
    assert gpu_row("H200")["bandwidth_gbs"] == 4800
    with pytest.raises(LookupError, match="H9000"):
        gpu_row("H9000")


def test_every_data_file_is_described() -> None:
    folder = Path(gpulab.__file__).parent.parent / "data"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert path.name in readme or path.parent.name in readme, path
    for column in GPUS[0]:
        assert f"`{column}`" in readme or column.endswith("_tflops"), column
