"""`gpulab.machine`: ceilings measured once, kept, and read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from fake_gpu import FakeGPU

from gpulab import tables
from gpulab.measuring import machine
from gpulab.measuring.timing import Timing


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "COPY_BYTES", {"cpu": 1 << 20, "cuda": 1 << 20})
    monkeypatch.setattr(machine, "MATRIX_SIZE", {"cpu": 64, "cuda": 8})
    monkeypatch.setattr(machine, "TRANSFER_BYTES", 8)


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what a CPU-only machine has")
def test_a_cpu_has_memory_and_arithmetic_but_no_link(small: None) -> None:
    found = machine.ceilings()
    assert found.kind == "cpu"
    assert found.device == machine.name()
    assert found.copy_gbs > 0.1
    assert found.matmul_gflops.keys() == {"float32", "float64"}
    assert found.spreads.keys() == {"copy", "float32", "float64"}
    assert all(rate > 0.01 for rate in found.matmul_gflops.values())
    assert (found.launch_us, found.h2d_gbs, found.d2h_gbs) == (None, None, None)
    assert "GB/s (read + written)" in str(found)
    assert "launch" not in str(found)


def test_measured_once_and_kept(small: None, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = machine.ceilings()
    assert [path.suffix for path in home.iterdir()] == [".json"]
    monkeypatch.setattr(machine, "_measured", lambda: pytest.fail("measured again"))
    assert machine.ceilings() == first


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 0}', '{"version": 1, "speed": 3}'])
def test_a_broken_or_old_file_is_measured_again(small: None, home: Path, content: str) -> None:
    machine.ceilings()
    (kept,) = home.iterdir()
    kept.write_text(content, encoding="utf-8")
    assert machine.ceilings().copy_gbs > 0
    assert json.loads(kept.read_text(encoding="utf-8"))["version"] == machine.VERSION


def test_a_home_that_cannot_be_written_to_is_no_trouble(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("GPULAB_HOME", str(tmp_path / "file" / "below"))
    assert machine.ceilings().copy_gbs > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="counts what a CPU-only machine measures")
def test_copy_counts_both_directions(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 MiB copied in 1 ms is 2.1 GB/s: each byte is read once and written once."""
    monkeypatch.setattr(machine, "measure", lambda *_, **__: Timing(1.0, 0.0, 1, "fake"))
    assert machine.ceilings().copy_gbs == pytest.approx(2 * (1 << 20) / 1e6)


def test_measured_once_in_a_process(small: None) -> None:
    """Whatever is asked: an exercise that measures cannot be answered with it, since its figure never changes."""
    assert machine.ceilings(fresh=True) is machine.ceilings(fresh=True)


def test_recordings(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "data_folder", lambda: tmp_path)
    (tmp_path / "machines").mkdir()
    assert machine.recorded("h200") is None
    found = machine.ceilings()
    (tmp_path / "machines" / "h200.json").write_text(machine.to_json(found), encoding="utf-8")
    assert machine.recorded("H200") == found
    (tmp_path / "machines" / "h200.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"h200\.json: .*Record it again"):
        machine.recorded("h200")


def test_a_recording_of_any_gpu_is_shown(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own GPU first, where it has one that is recorded; else the latest of all recordings."""
    monkeypatch.setattr(machine, "data_folder", lambda: tmp_path)
    assert machine.recorded_gpu() is None
    (tmp_path / "machines").mkdir()
    assert machine.recorded_gpu() is None
    for device, day in (("NVIDIA H200", "2026-01-01"), ("Tesla T4", "2027-01-01"), ("NVIDIA A10", "2025-01-01")):
        found = machine.Ceilings(device, "cuda", day, {}, 1.0)
        slug = "-".join(device.removeprefix("NVIDIA ").lower().split())
        (tmp_path / "machines" / f"{slug}.json").write_text(machine.to_json(found), encoding="utf-8")

    def shown(on: str | None) -> str:
        monkeypatch.setattr(machine, "has_gpu", lambda: on is not None)
        monkeypatch.setattr(machine, "device_name", lambda kind: on)
        recording = machine.recorded_gpu()
        assert recording is not None
        return recording.device

    assert [shown(None), shown("NVIDIA A10"), shown("NVIDIA L4")] == ["Tesla T4", "NVIDIA A10", "Tesla T4"]


def test_recordings_in_the_course_can_be_read() -> None:
    for path in (tables.data_folder() / "machines").glob("*.json"):
        assert machine.recorded(path.stem) is not None


class TestOnGPU:
    def test_every_figure_is_measured(self, small: None, fake_gpu: FakeGPU) -> None:
        """On the fake GPU each product and each copy lasts 2 ms."""
        found = machine.ceilings(fresh=True)
        assert (found.device, found.kind) == ("NVIDIA Fake", "cuda")
        assert "cuda" in found.versions
        assert found.copy_gbs == pytest.approx(2 * (1 << 20) / 2e6)
        assert found.matmul_gflops == {
            kind: pytest.approx(2 * size**3 / 2e6)
            for kind, size in [("float32", 8), ("float64", 4), ("tfloat32", 8), ("bfloat16", 8), ("float16", 8)]
        }
        assert found.h2d_gbs == pytest.approx(8 / 2e6)
        assert found.d2h_gbs == pytest.approx(8 / 2e6)
        assert (found.h2d_pageable_gbs, found.d2h_pageable_gbs) == (found.h2d_gbs, found.d2h_gbs)
        ways = {"h2d", "d2h", "h2d_pageable", "d2h_pageable"}
        assert found.spreads.keys() == {"copy", "launch", *ways, *found.matmul_gflops}
        assert found.spreads["h2d"] == 0
        assert found.launch_us is not None
        assert "host to device" in str(found)

    def test_older_gpus_are_not_asked_for_newer_types(
        self, small: None, fake_gpu: FakeGPU, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (7, 5))
        assert list(machine.ceilings(fresh=True).matmul_gflops) == ["float32", "float64", "float16"]

    def test_float32_is_measured_without_tf32_and_the_setting_put_back(
        self, small: None, fake_gpu: FakeGPU, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings = torch.backends.cuda.matmul
        before = settings.fp32_precision
        settings.fp32_precision = "tf32"
        seen = []
        product = torch.mm
        monkeypatch.setattr(torch, "mm", lambda *g, **n: (seen.append(settings.fp32_precision), product(*g, **n)))
        try:
            machine.ceilings(fresh=True)
            after = settings.fp32_precision
        finally:
            settings.fp32_precision = before
        assert seen[0] == "ieee"
        assert set(seen) == {"ieee", "tf32"}
        assert after == "tf32"
