"""Which GPUs CUDA programs may use, as NVML and CUDA_VISIBLE_DEVICES say; one answer for everybody who asks."""

from __future__ import annotations

import pynvml
import pytest

from gpulab.doctor import hardware

IDS = {"first": "GPU-aaaa1111", "second": "GPU-bbbb2222", "third": "GPU-bbbb3333"}


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver with three GPUs, whose clocks are a secret."""
    names = list(IDS)

    def secret(*arguments: object) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    answers = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: len(names),
        "nvmlDeviceGetHandleByIndex": lambda index: names[index],
        "nvmlDeviceGetUUID": IDS.get,
        "nvmlDeviceGetName": str,
        "nvmlDeviceGetMemoryInfo": lambda handle: type("Memory", (), {"total": 80_000_000_000}),
        "nvmlDeviceGetClockInfo": secret,
        "nvmlDeviceGetMaxClockInfo": secret,
        "nvmlSystemGetDriverVersion": lambda: "580.65",
    }
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, answer)


@pytest.mark.parametrize(
    ("shown", "names"),
    [
        (None, ("first", "second", "third")),
        ("0,1,2", ("first", "second", "third")),
        ("2", ("third",)),
        (" 1 , 0 ", ("second", "first")),
        ("", ()),
        ("-1", ()),
        ("7", ()),
        ("1,7,0", ("second",)),  # what follows an entry that fits nothing is void
        ("1,-1,0", ("second",)),
        ("GPU-aaaa1111", ("first",)),
        ("GPU-bbbb3", ("third",)),
        ("GPU-bbbb", ()),  # fits two
        ("GPU-cccc", ()),
        ("1,", ("second",)),
        ("all", ()),
    ],
)
def test_what_cuda_is_shown_is_what_counts(
    driver: None, monkeypatch: pytest.MonkeyPatch, shown: str | None, names: tuple[str, ...]
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if shown is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    assert hardware.gpu_names() == names
    assert hardware.device_name() == (names[0] if names else "cpu")


def test_a_gpu_that_tells_no_clocks_is_still_one(driver: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (gpu,) = hardware.gpus()
    assert gpu == hardware.Gpu("first", 80_000.0, 0, 0, "580.65")


def test_without_a_driver_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(pynvml, "nvmlInit", missing)
    assert hardware.gpus() == ()
    assert hardware.device_name() == "cpu"
