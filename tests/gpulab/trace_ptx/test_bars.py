"""The bars of the engine: what misses its bound is noticed; whether they are met is measured by `make bars`."""

from __future__ import annotations

import pytest

from gpulab.trace.ptx.text.nvrtc import ptx_of

from . import bars


def test_a_missed_bound_is_said() -> None:
    speed = bars.Bar("Instructions", 19.0, 20, True, "million/s", 5)
    duration = bars.Bar("Transpose", 3.1, 3, False, "s", 1)
    assert not speed.met
    assert not duration.met
    assert str(speed).endswith("MISSED")
    assert "1 run " in str(duration)
    assert bars.Bar("Transpose", 3.0, 3, False, "s", 1).met


def test_the_command_fails_if_a_bar_is_missed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    every = [bars.Bar("Transpose", 0.2, 3, False, "s", 5)]
    monkeypatch.setattr(bars, "bars", lambda: iter(every))
    with pytest.raises(SystemExit) as ended:
        bars.main()
    assert not ended.value.code
    every.append(bars.Bar("Instructions", 1.0, 20, True, "million/s", 5))
    with pytest.raises(SystemExit) as ended:
        bars.main()
    assert ended.value.code == 1
    assert "1 bars missed" in capsys.readouterr().out


def test_memory_that_grows_with_the_accesses_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "ELEMENTS", 1 << 12)
    monkeypatch.setattr(bars, "launch_source", lambda *given: bytearray(b"1") * ((16 << 20) * given[4][1]))
    bar = bars.memory(1)
    assert bar.measured == pytest.approx(4, rel=0.05)
    assert not bar.met


def test_every_kernel_in_cuda_cpp_is_among_those_of_the_course() -> None:
    found = {answer.exercise for answer in bars.right_answers() if bars.cpp_sources(answer)}
    assert found >= {"SAXPY_CU", "SCAN_CU", "WARP_SUM_CU", "WMMA_CU", "matmul_tiled"}
    (source,) = bars.cpp_sources(bars.first("transpose_tiled", "CUDA C++"))
    assert ".entry" in ptx_of(source)
