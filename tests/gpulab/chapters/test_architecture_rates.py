"""GPU architecture, second half: what is measured, modeled and drawn."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import torch

import gpulab
from gpulab.chapters.architecture import offload_pictures, rates_pictures, stack_pictures

NOTEBOOK = Path(gpulab.__file__).parent.parent / "solutions" / "01_gpu_architecture" / "01_gpu_architecture.ipynb"


@pytest.mark.parametrize("served, version", [(12080, "12.8"), (12010, "12.1"), (13000, "13.0"), (11040, "11.4")])
def test_the_page_shows_the_drivers_cuda_as_people_write_it(served, version, monkeypatch, capsys):
    """The driver's 12080 is CUDA 12.8, neither 12.08 nor 12.80."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    (source,) = (cell.source for cell in cells if "nvmlSystemGetCudaDriverVersion" in cell.source)
    driver = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlSystemGetCudaDriverVersion=lambda: served,
        nvmlSystemGetDriverVersion=lambda: "580.65",
        NVMLError=RuntimeError,
    )
    monkeypatch.setitem(sys.modules, "pynvml", driver)
    exec(source, {"sys": sys, "torch": torch})
    assert re.search(r"^newest CUDA for it +(\S+)$", capsys.readouterr().out, re.MULTILINE)[1] == version


def test_measurements_are_drawn_with_their_figures(shown):
    rates_pictures.bandwidths(24.0)
    for figure, words in zip(
        shown,
        [
            "You measured 24 GB/s; an H200's datasheet says 4,800 GB/s",
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
        offload_pictures.offload_map(pays, roof, lambda m, n, k, size: n / 6, 30.0, 100.0)
        return shown.pop()

    nowhere, everywhere = draw(lambda *job: False), draw(lambda *job: True)
    assert "A sum pays off with 0 of 3 GPUs, a product with 0." in nowhere and nowhere.count("never pays") == 6
    assert "A sum pays off with 3 of 3 GPUs" in everywhere and everywhere.count("pays from 0.0123 MB") == 6
    honest = draw(
        lambda bytes_in, bytes_out, flops, link, cpu, gpu, launch: (
            (bytes_in + bytes_out) / link / 1e9 + launch / 1e6 + flops / gpu / 1e9 < flops / cpu / 1e9
        )
    )
    # At 30 GB/s at home the doors of 12 and 25 GB/s are too narrow for sums; the one of 55 is not.
    assert re.findall(r"add: (\S+)[^:]*: never pays", honest) == ["T4", "A100"]
    assert "A sum pays off with 1 of 3 GPUs, a product with 3." in honest
    assert "add: H200: pays from" in honest
    assert "multiply: T4: pays from" in honest


def test_schematics_say_what_they_show_in_words(shown):
    stack_pictures.stopwatch()
    stack_pictures.nvidia_smi()
    stack_pictures.who_brings_what()
    assert "GPU-Util 0%: time with at least one kernel running" in shown[1]
    assert "container: " in shown[2]
    assert "driver the host's, with --gpus" in shown[2]
