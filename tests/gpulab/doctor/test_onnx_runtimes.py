"""Which ONNX Runtime is installed, and whether it uses the GPU: with the one that is here, and with stand-ins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpulab.doctor import hardware, looks, onnx_runtimes

ROOT = Path(__file__).resolve().parents[3]
A_T4 = hardware.Gpu("Tesla T4", 16_000.0, 300, 1590, "580.65.06")


def pretend(
    monkeypatch: pytest.MonkeyPatch, holds: tuple[str, ...], says: str = "", fails: Exception | None = None
) -> list[str]:
    """An ONNX Runtime built with CUDA whose sessions hold these providers; gives the calls that it will get."""
    calls: list[str] = []

    def preload() -> None:
        calls.append("preload")
        print(says)

    def session(content: bytes, options: Any, providers: list[Any], enable_fallback: int) -> Any:
        assert not enable_fallback
        calls.append("session")
        if fails:
            raise fails
        return SimpleNamespace(get_providers=lambda: list(holds))

    made = SimpleNamespace(
        get_available_providers=lambda: ["TensorrtExecutionProvider", onnx_runtimes.ON_CUDA, onnx_runtimes.ON_CPU],
        preload_dlls=preload, InferenceSession=session, SessionOptions=SimpleNamespace,
        set_default_logger_severity=lambda level: None,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "onnxruntime", made)
    return calls


def test_the_one_for_cpus_is_told_as_such() -> None:
    """The package that is installed here; it has no preload_dlls that could do anything."""
    assert "is built without CUDA" in onnx_runtimes.trouble()
    assert "onnxruntime 1." in onnx_runtimes.trouble()


def test_libraries_are_loaded_first_and_the_session_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = pretend(monkeypatch, holds=(onnx_runtimes.ON_CUDA, onnx_runtimes.ON_CPU))
    assert onnx_runtimes.trouble() == ""
    assert calls == ["preload", "session"]


def test_a_session_that_fell_back_to_the_cpu_is_not_taken_for_one_on_the_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """ONNX Runtime raises nothing then; what it prints is the reason."""
    says = "Failed to load libcurand.so.10: libcurand.so.10: cannot open shared object file"
    pretend(monkeypatch, holds=(onnx_runtimes.ON_CPU,), says=says)
    assert onnx_runtimes.trouble().endswith(f"would compute on the CPU: {says}")
    assert capsys.readouterr().out == ""
    with pytest.raises(onnx_runtimes.NotLoaded, match="would compute on the CPU"):
        onnx_runtimes.session(b"", None, [(onnx_runtimes.ON_CUDA, {}), onnx_runtimes.ON_CPU])


def test_whatever_it_raises_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, holds=(), fails=RuntimeError("CUDA failure 35: CUDA driver version is insufficient\nmore"))
    assert onnx_runtimes.trouble().endswith("RuntimeError: CUDA failure 35: CUDA driver version is insufficient")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    onnx_runtimes.trouble.cache_clear()
    assert "ModuleNotFoundError" in onnx_runtimes.trouble()


def package(folder: Path, name: str, version: str, file: str) -> None:
    """What an installed package leaves of itself."""
    place = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (place / "RECORD").write_text(f"{file},,\n")
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).touch()  # newer versions of importlib.metadata leave out files that are not there


def test_two_side_by_side_are_found_and_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only adds operators, in a folder of its own, is no second one."""
    package(tmp_path, "onnxruntime-gpu", "1.31.1", "onnxruntime/__init__.py")
    package(tmp_path, "onnxruntime-extensions", "0.14", "onnxruntime_extensions/__init__.py")
    monkeypatch.syspath_prepend(tmp_path)
    found = onnx_runtimes.installed()
    assert list(found) == ["onnxruntime", "onnxruntime-gpu"]
    (row,) = looks._onnx_runtime()
    assert (row.state, "two packages side by side" in row.found) == ("bad", True)
    assert "pip uninstall --yes onnxruntime onnxruntime-gpu" in row.remedy
    assert "pip install 'onnxruntime'" in row.remedy  # no GPU here


def test_without_a_gpu_any_one_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: ())
    (row,) = looks._onnx_runtime()
    assert row.state == "good"
    assert onnx_runtimes.ON_CPU in row.found
    monkeypatch.setattr(onnx_runtimes, "installed", dict)
    (row,) = looks._onnx_runtime()
    assert (row.state, row.found) == ("bad", "not there")


@pytest.mark.parametrize("cuda", [12, 13])
def test_where_there_is_a_gpu_the_row_says_whether_it_is_used(monkeypatch: pytest.MonkeyPatch, cuda: int) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: (A_T4,))
    monkeypatch.setattr(looks, "_cuda_of_torch", lambda: cuda)
    (row,) = looks._onnx_runtime()
    assert (row.state, "built without CUDA" in row.found) == ("fair", True)
    assert f"pip install '{onnx_runtimes.FOR_CUDA[cuda]}'" in row.remedy
    monkeypatch.setattr(onnx_runtimes, "trouble", lambda: "")
    (row,) = looks._onnx_runtime()
    assert (row.state, row.remedy) == ("good", "")
    assert onnx_runtimes.ON_CUDA in row.found


def test_importing_it_asks_no_driver() -> None:
    """Processes that others are forked from import it; CUDA must not be loaded there."""
    code = "import onnxruntime, re; print(re.findall(r'libcuda\\.so|providers_cuda', open('/proc/self/maps').read()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"
