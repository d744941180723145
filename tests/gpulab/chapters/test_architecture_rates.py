"""GPU architecture, second half: what is measured, modeled and drawn."""

import re
from pathlib import Path

import torch

from gpulab.chapters.architecture import offload_model, offload_pictures, rates_pictures, stack, stack_pictures
from gpulab.chapters.architecture.offload_model import HostRates, host_rates

HOST = HostRates("a small CPU", memory_gbs=30.0, peak_gflops=100.0)


def test_host_rates_are_those_of_the_processor(monkeypatch):
    monkeypatch.setattr(offload_model, "HOST_MATRIX", 64)
    found = host_rates()
    assert found.memory_gbs > 0
    assert found.peak_gflops > 0
    assert "NVIDIA" not in found.device


def test_cudnn_versions_read_as_people_write_them():
    assert stack.cudnn_version(91002) == "9.10.2"
    assert stack.cudnn_version(8902) == "8.9.2"


def test_the_stack_names_a_compiler_on_the_path(tmp_path: Path, monkeypatch):
    nvcc = tmp_path / "nvcc"
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.99'\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert _layer("CUDA toolkit (nvcc)").found == "12.4"
    nvcc.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _layer("CUDA toolkit (nvcc)").found == "none"


def test_the_stack_knows_what_came_with_pytorch():
    assert _layer("PyTorch").found == torch.__version__
    assert _layer("CUDA runtime").found == (torch.version.cuda or "none")


def _layer(name):
    return next(layer for layer in stack.software_stack() if layer.name == name)


def test_measurements_are_drawn_with_their_figures(shown):
    rates_pictures.bandwidths(24.0)
    for figure, words in zip(
        shown,
        [
            "promises 200 times",
        ],
        strict=True,
    ):
        assert words in figure


def test_warps_needed_are_the_students_own(shown):
    rates_pictures.warps_needed(lambda latency, bandwidth, request, sms: request + sms, latency_ns=600)
    assert "T4 128 bytes: 168 of 32" in shown[0]


def test_the_offload_map_asks_the_students_functions(shown):
    def roof(intensity, peak, bandwidth):
        return min(peak, intensity * bandwidth / 1000)

    def draw(pays):
        offload_pictures.offload_map(pays, roof, lambda m, n, k, size: n / 6, HOST)
        return shown.pop()

    assert draw(lambda *job: False).count("never pays") == 6
    assert draw(lambda *job: True).count("pays from 0.0123 MB") == 6
    honest = draw(
        lambda bytes_in, bytes_out, flops, link, cpu, gpu, launch: (
            (bytes_in + bytes_out) / link / 1e9 + launch / 1e6 + flops / gpu / 1e9 < flops / cpu / 1e9
        )
    )
    # At 30 GB/s at home the doors of 12 and 25 GB/s are too narrow for sums; the one of 55 is not.
    assert re.findall(r"add: (\S+)[^:]*: never pays", honest) == ["T4", "A100"]
    assert "add: H200: pays from" in honest
    assert "multiply: T4: pays from" in honest


def test_schematics_say_what_they_show_in_words(shown):
    stack_pictures.stopwatch()
    stack_pictures.nvidia_smi()
    stack_pictures.who_brings_what()
    assert "GPU-Util 0%: time with at least one kernel running" in shown[1]
    assert "container: " in shown[2]
    assert "driver the host's, with --gpus" in shown[2]


def test_measuring_and_drawing_stay_apart():
    """Whoever only measures does not load matplotlib's figures."""
    for module in (offload_model, stack):
        assert "canvas" not in vars(module)
