"""Transfers, before it needs a GPU: early reads, timelines laid out by hand, a loader that is timed, figures."""

import itertools
import re
from pathlib import Path

import pytest
import torch

import gpulab
from gpulab.chapters.transfers import link, models, pictures
from gpulab.chapters.transfers.models import Early, Loading


def test_an_early_reader_sees_part_of_a_copy_and_a_late_one_all_of_it():
    found = models.early_reads(chunks=5, chunk_ms=4.0)
    assert found.returned_ms < found.asked_ms[-1]
    assert found.arrived[0] < 1.0 and found.arrived[-1] == 1.0
    assert list(found.arrived) == sorted(found.arrived)


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


def test_pictures_are_decoded_cut_and_stacked():
    data = models.Pictures(3)
    assert len(data) == 3
    assert data[2].shape == (224, 224, 3) and data[2].dtype == torch.uint8 and data[2].float().std() > 0
    assert next(iter(torch.utils.data.DataLoader(data, 2))).shape == (2, 224, 224, 3)


def test_without_workers_step_and_pictures_stand_one_behind_the_other():
    found = models.loading(workers=[0], pictures=48, batch_size=8, step=3.0)
    assert found.step_ms == pytest.approx(3.0 * 8 * found.sample_ms)
    assert found.batch_ms["pageable"][0] > found.step_ms


def test_rates_are_measured_at_every_size(monkeypatch):
    """Within one memory where there is no GPU; two kinds of memory, two kinds of call, and pinning first on one."""
    sizes = (4096, 1 << 20)
    monkeypatch.setattr(link, "SIZES", {"cpu": sizes, "cuda": sizes})
    found = link.sweep()
    assert link.sweep() is found
    names = [name for name in found.gbs if not name.startswith("within")]
    assert bool(names) is torch.cuda.is_available()
    assert all(list(series) == [4096, 1 << 20] and min(series.values()) > 0 for series in found.gbs.values())


def test_the_sweep_is_drawn_with_what_the_cable_could_do(shown):
    found = link.Sweep({"pinned": {1e6: 10.0, 1e8: 50.0}, "pageable": {1e6: 4.0, 1e8: 20.0}}, "a GPU")
    pictures.draw_sweep(found)
    pictures.draw_sweep(link.Sweep({"within this memory": {1e6: 10.0, 1e8: 5.0}}, "a CPU"))
    assert "pinned memory carries 2.5 times as much" in shown[0]
    assert "No cable here" in shown[1] and "within this memory" in shown[1]


def test_a_recorded_gpu_is_named_as_recorded(shown, monkeypatch):
    recording = pictures.machine.Ceilings("NVIDIA H200", "cuda", "2026-01-01", {}, 4000.0, h2d_gbs=55.0)
    monkeypatch.setattr(pictures.machine, "recorded_gpu", lambda: recording)
    drawn = {}
    monkeypatch.setattr(pictures.plot, "lines", lambda series, **named: drawn.update(named["limits"]))
    pictures.draw_sweep(link.Sweep({"within this memory": {1e6: 10.0}}, "a CPU"))
    assert drawn["pinned, recorded on NVIDIA H200: 55 GB/s"] == 55.0


def test_figures_state_what_was_found(shown):
    pictures.draw_staging()
    pictures.draw_bytes(lambda shape, host, there, place: 4e6 if place == "cpu" else 1e6)
    pictures.draw_early(Early((1.0, 2.0, 3.0), (0.0, 0.5, 1.0), 0.1))
    for which in ("serial", "stages", "two engines"):
        pictures.draw_orders(which)
    pictures.draw_chunks(lambda n, into, kernel, out, engines, order: n * (into + kernel + out) / engines)
    loading = Loading(2.0, 16, 20.0, {"pageable": {0: 52.0, 1: 32.0, 2: 20.0}}, 2, "a CPU")
    pictures.draw_loading(loading, lambda *given: {"num_workers": 2})
    words = [
        "Pageable memory is copied twice",
        "4 times less to carry",
        "back after 0.1 ms: the data took 3 ms",
        "nothing overlaps, 24 ms",
        "kernels hide behind copies, 18 ms",
        "in, compute and out at once, 14 ms",
        "in 32 chunks: 45 ms, or still 90",
        "up to 2.6 times as long; you chose 2 workers",
    ]
    assert len(shown) == len(words)
    for description, expected in zip(shown, words, strict=True):
        assert expected in description


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
