"""Transfers, before it needs a GPU: timelines laid out by hand, published rates, the practice GPU, figures."""

import itertools
import re
import statistics
from pathlib import Path

import pytest
import torch

import gpulab
from gpulab import virtual_gpu
from gpulab.chapters.transfers import models, pictures
from gpulab.chapters.transfers.practice import RATES_GBS, TransferGPU

LAST_MS = {"SERIAL": 24, "STAGES": 18, "TWO_ENGINES": 14}


@pytest.mark.parametrize("name", LAST_MS)
def test_timelines_obey_engines_chunks_and_order(name):
    """An engine does one thing at a time, a chunk goes through its stages in order, and nobody waits without reason."""
    spans = getattr(models, name)
    assert max(span.stop for span in spans) == LAST_MS[name] and len(spans) == 9
    for lane in {span.lane for span in spans}:
        own = sorted((span.start, span.stop) for span in spans if span.lane == lane)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(own))
    for chunk in range(3):
        into, kernel, out = (next(s for s in spans if s.label == f"{kind} {chunk}") for kind in ("in", "kernel", "out"))
        assert into.stop <= kernel.start and kernel.stop <= out.start
        assert [span.stop - span.start for span in (into, kernel, out)] == [3, 2, 3]
    assert {span.lane for span in spans} >= {"compute"}


@pytest.mark.parametrize("way", RATES_GBS)
def test_the_practice_gpu_names_the_way_of_another_rate(way):
    """Each way has a rate of its own, and the message about another one's names it."""
    direction, memory = way.split()
    for other in RATES_GBS.keys() - {way}:
        with pytest.raises(AssertionError, match=f"That is the rate of {other}"):
            TransferGPU().require(RATES_GBS[other], 1000, memory == "pinned", direction)


@pytest.mark.parametrize(
    ("factor", "words"), [(2, "counted twice"), (1e3, "MB/s"), (1e9, "1e9 bytes"), (0.9313, "GiB"), (3.3, "measured")]
)
def test_the_practice_gpu_names_mistakes_of_unit(factor, words):
    with pytest.raises(AssertionError, match=words):
        TransferGPU().require(factor * 25.7, 1_000_000, True, "h2d")


@pytest.mark.parametrize("answer", [None, "55 GB/s", True, -1.0, float("nan")])
def test_the_practice_gpu_refuses_what_is_no_rate(answer):
    with pytest.raises(AssertionError, match="you returned"):
        TransferGPU().require(answer, 1_000_000, True, "h2d")


@pytest.mark.parametrize("faster", [1.0, 2.0])
def test_times_on_the_practice_gpu_are_those_of_its_link(faster):
    import time

    gpu, seconds = TransferGPU(faster), []
    with virtual_gpu.running(gpu):
        host = torch.zeros(4_000_000, dtype=torch.uint8, pin_memory=True)
        there = torch.zeros(4_000_000, dtype=torch.uint8, device="cuda")
        there.copy_(host)
        for _ in range(3):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            there.copy_(host, non_blocking=True)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begin)
    gpu.require(4e-3 / statistics.median(seconds), 4_000_000, True, "h2d")
    assert not gpu.early


def test_figures_state_what_was_found(shown):
    rates = gpulab.table("transfer_rates")
    pictures.draw_staging()
    pictures.draw_bytes(lambda shape, host, there, place: 4e6 if place == "cpu" else 1e6)
    pictures.draw_early({0.0: 0.0, 20.0: 0.5, 40.0: 1.0})
    for which in ("serial", "stages", "two engines"):
        pictures.draw_orders(which)
    pictures.draw_chunks(lambda n, into, kernel, out, engines, order: n * (into + kernel + out) / engines)
    pictures.draw_loading({0: 52.0, 1: 32.0, 2: 20.0}, 20.0, 2)
    pictures.draw_pinning(rates)
    pictures.draw_loader_pinning(gpulab.table("loader_pinning"))
    pictures.draw_casts(6.0, {"uint8": 0.5, "float32": 2.0})
    pictures.draw_layouts({"channels first": 6.0, "channels last": 4.0})
    pictures.draw_sweep({"pinned": {4096: 1.0, 1 << 20: 10.0}}, rates)
    words = [
        "Pageable memory is copied twice",
        "4 MB if the CPU casts, 1 MB if the GPU does",
        "The copy takes 40 ms",
        "nothing overlaps, 24 ms",
        "kernels hide behind copies, 18 ms",
        "in, compute and out at once, 14 ms",
        "in 32 chunks: 45 ms, or still 90",
        "20 to 52 ms, for a step of 20 ms; num_workers=2",
        "2.6 to 5.2 times as fast",
        "29% less time",
        "The cast on one core: 6 ms; the transfer of the floats: 2 ms",
        "channels first 6 ms, channels last 4 ms",
        "0.4 GB/s at 1 kB, 12.4 GB/s from 10 MB on",
    ]
    assert len(shown) == len(words)
    for description, expected in zip(shown, words, strict=True):
        assert expected in description


def test_every_published_rate_has_its_source():
    """Pinned memory is faster than pageable on every GPU that was measured with both."""
    rows = gpulab.table("transfer_rates")
    assert all(row["source"] and row["gbs"] > 0 for row in rows)
    rates = {(row["gpu"], row["direction"], row["memory"]): row["gbs"] for row in rows if row["gpu"].startswith("A100")}
    for (gpu, direction, memory), rate in rates.items():
        assert memory == "pinned" or rate < rates[gpu, direction, "pinned"]


def test_every_snippet_of_the_page_that_can_fail_here_fails_as_the_chapter_says():
    """torch knows no device "gpu", and says so before it looks for a GPU."""
    with pytest.raises(RuntimeError, match="device string: gpu"):
        torch.ones(3).to("gpu", non_blocking=True)


def test_the_table_of_snippets_has_the_keys_of_the_answer():
    folder = Path(gpulab.__file__).parent.parent / "solutions"
    text = (folder / "06_transfers.md").read_text(encoding="utf-8")
    table = text[text.index("| key | the snippet |") :]
    keys = re.findall(r'^\| `"(\w+)"` \|', table[: table.index("\n\n")], flags=re.MULTILINE)
    answer = text[text.index("SYNC_POINTS = {") :]
    assert keys == re.findall(r'^    "(\w+)":', answer[: answer.index("}")], flags=re.MULTILINE)
