"""CUDA basics, first half: what is counted by hand agrees with the tracer, measurements measure, pictures come out."""

import numpy as np
import pytest
from numba import cuda

from gpulab import trace
from gpulab.chapters.cuda_basics import (
    access_patterns,
    kernels,
)
from gpulab.chapters.cuda_basics import (
    diagrams as cuda_basics_diagrams,
)
from gpulab.chapters.cuda_basics import (
    pictures as cuda_basics_pictures,
)
from gpulab.chapters.shared_memory import diagrams as shared_memory_diagrams
from gpulab.figures import plot, style
from gpulab.figures.shapes import roofline
from gpulab.measuring import machine

CEILINGS = machine.Ceilings("a machine", "cpu", "2026-01-01", {}, copy_gbs=20.0, matmul_gflops={"float32": 100.0})


@cuda.jit
def gather(x, places, out):
    thread = cuda.grid(1)
    out[thread] = x[places[thread]]


@cuda.jit
def double(x):
    thread = cuda.grid(1)
    x[thread] = 2 * x[thread]


@pytest.fixture
def shown(monkeypatch):
    """The pictures shown, as (image, description); ceilings need not be measured for them."""
    found = []
    monkeypatch.setattr(machine, "ceilings", lambda: CEILINGS)
    monkeypatch.setitem(roofline.__globals__, "show", lambda figure, words: found.append((style.png(figure), words)))
    for module in (cuda_basics_diagrams, cuda_basics_pictures, shared_memory_diagrams, plot):
        monkeypatch.setattr(module, "show", lambda figure, words: found.append((style.png(figure), words)))
    return found


@pytest.mark.parametrize("name", access_patterns.PATTERNS)
def test_sectors_of_a_pattern_are_those_that_the_tracer_counts(name):
    """What the page says about a pattern is what a kernel with that pattern does."""
    places = np.array(access_patterns.PATTERNS[name], "int32")
    x, out = np.zeros(512, "float32"), np.zeros(32, "float32")
    line = next(line for line in trace.run(gather, 1, 32, x, places, out).lines if line.array == "x")
    assert access_patterns.sectors_touched(places) == line.most_sectors


def test_an_unguarded_launch_changes_what_lies_behind():
    """All 28 neighbors are doubled, by compiled code that checks nothing; the tracer refuses the same line."""
    assert access_patterns.neighbors_doubled(double) == 28
    with pytest.raises(trace.OutOfBoundsError, match=r"x\[100\]"):
        trace.run(double, 2, 64, np.ones(100, "float32"))


@pytest.mark.alone
def test_rates_are_those_of_this_machine():
    """Strides cost: every sixteenth float takes at least twice as long as every float."""
    strides = access_patterns.stride_rates(strides=(1, 16), runs=3)
    assert strides.gbs[1] > 2 * strides.gbs[16] > 0
    saxpy = access_patterns.saxpy_rates(None, runs=3)
    assert saxpy.kind == "cpu"
    assert 0.1 < saxpy.gbs[1] < 4 * saxpy.copy_gbs < 10_000


def test_the_strided_read_is_a_kernel_for_a_gpu():
    """It compiles without float64, reads what it says, and costs a sector for each float from stride 8 on."""
    x, out = np.ones(1024, "float32"), np.zeros(1, "float32")
    assert trace.typecheck(kernels.read_strided, x, out, 128, 8).float64_lines == ()
    traced = trace.run(kernels.read_strided, 2, 32, x, out, 128, 8)
    assert (traced.global_reads, traced.global_writes, traced.most_read_sectors) == (128, 0, 32)


def test_every_picture_comes_out_once(shown):
    """Each call shows one image, described in words; both without and with a GPU's rates."""
    pictures, diagrams = cuda_basics_pictures, cuda_basics_diagrams
    diagrams.draw_indices()
    diagrams.draw_idle(lambda n, threads: -(-n // threads))
    diagrams.draw_shares()
    shared_memory_diagrams.draw_block_reverse()
    pictures.draw_requests(access_patterns.PATTERNS)
    pictures.draw_sectors({"one": 4.0, "other": 32.0}, "title")
    for kind in ("cpu", "cuda"):
        rates = access_patterns.Rates({1: 10.0, 8: 19.0}, kind, "a machine", 1000, 9, copy_gbs=20.0)
        pictures.draw_saxpy(rates)
        pictures.draw_saxpy_roof(rates)
        pictures.draw_strides(rates)
    assert len(shown) == 12
    assert all(image.startswith(b"\x89PNG") and len(words) > 40 for image, words in shown)


def test_a_wrong_grid_shows_its_gaps(shown):
    """The picture of a grid says how many elements no thread covers."""

    def right(shape, block):
        return -(-shape[1] // block[0]), -(-shape[0] // block[1])

    cuda_basics_diagrams.draw_grid(right)
    cuda_basics_diagrams.draw_grid(lambda shape, block: right(shape[::-1], block))
    assert "0 elements are not covered" in shown[0][1]
    assert f"{14 * 40 - 14 * 16} elements are not covered" in shown[1][1]
