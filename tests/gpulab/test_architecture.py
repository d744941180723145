"""GPU architecture, first half: what is measured is what it says, models count right, every picture comes out once."""

import asyncio
import os
import subprocess
import sys
from itertools import pairwise

import pytest

from gpulab.chapters.architecture import diagrams, models, workers
from gpulab.chapters.architecture import pictures as architecture_pictures
from gpulab.figures import plot, style
from gpulab.measuring.timing import Timing

ROOT = models.__file__.rsplit("/gpulab/", 1)[0]


def by_rule(branches, costs, size=32):
    """Issue cycles, written out as a loop over threads: a model may be checked against another way of counting."""
    paid = {(thread // size, branch) for thread, branch in enumerate(branches)}
    return sum(costs[branch] for _, branch in paid)


@pytest.fixture
def shown(monkeypatch):
    """The pictures shown, as (figure, description)."""
    found = []
    for module in (architecture_pictures, diagrams, plot, sys.modules[plot.timeline.__module__]):
        monkeypatch.setattr(module, "show", lambda figure, words: found.append((style.png(figure), words)))
    return found


def test_threads_take_turns():
    """Two threads of Python code are never seen computing at the same moment, up to the stamps' resolution."""
    lanes = workers.turns(duration_ms=40, repeats=2)
    assert [lane.worker for lane in lanes] == ["thread 1", "thread 2", "process 1", "process 2"]
    first, second = lanes[0].busy_ms, lanes[1].busy_ms
    both = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in first for b in second)
    computing = sum(stop - start for start, stop in (*first, *second))
    assert computing > 0
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        assert both < 0.1 * computing


@pytest.mark.alone
def test_waits_overlap_and_blocking_calls_stop_coroutines():
    """Threads overlap waits of either kind; coroutines only those that they can await."""
    found = {(race.kind, race.strategy): race.ratio for race in workers.speedups(tasks=4, repeats=2)}
    assert len(found) == 12
    assert found["a call that blocks", "threads"] > 2
    assert found["a wait that yields", "coroutines"] > 2
    assert found["a call that blocks", "coroutines"] < 1.5
    assert found["pure Python", "coroutines"] < 1.5


@pytest.mark.alone
def test_starting_costs_rise_from_coroutine_to_process():
    """A coroutine is the cheapest worker to start, an interpreter by far the dearest."""
    costs = {row.worker: row.median_us for row in workers.starts(repeats=3)}
    assert costs["coroutine"] < costs["thread"] < costs["process"]


def test_races_need_no_running_loop_of_ours():
    """A notebook's kernel runs an event loop; the races work inside it."""

    async def as_in_a_notebook():
        return workers.starts(repeats=2)

    assert len(asyncio.run(as_in_a_notebook())) == 3


def test_failed_race_says_why(monkeypatch):
    """A race that crashes is reported with what it wrote, not as broken JSON."""
    monkeypatch.setattr(workers, "__file__", "/nonexistent.py")
    with pytest.raises(RuntimeError, match=r"race 'starts 7' failed: .*nonexistent"):
        workers.starts()


def test_additions_that_wait_cost_more():
    """A chain of additions is slower than independent ones, and bytes are added faster than 64-bit integers."""
    import torch

    threads = torch.get_num_threads()
    costs = {row.way: row.median_ns for row in models.additions(runs=7)}
    assert torch.get_num_threads() == threads
    assert costs["Python loop"] > costs["each waits for the last"] > costs["none waits"]
    assert costs["int64"] > 2 * costs["int8"]


def test_unified_units_are_never_slower():
    """All scenes take the same time on unified units; on separate ones only the matching mix is as fast."""
    scenes = {scene.name: scene for scene in models.scenes()}
    assert {scene.unified_ms for scene in scenes.values()} == {10.0}
    assert scenes["a street"].separate_ms == pytest.approx(10.0)
    assert scenes["a field of grass"].separate_ms == pytest.approx(28.0)
    for scene in scenes.values():
        assert scene.busy == pytest.approx(scene.unified_ms / scene.separate_ms)


@pytest.mark.parametrize("warps, used", [(1, 4), (4, 16), (9, 36), (12, 36)])
def test_scheduler_issues_at_most_once_a_cycle(warps, used):
    """One warp of nine cycles uses a ninth of the slots; nine or more use all, and a warp always waits its eight."""
    rows = models.schedule(warps, wait_cycles=8, horizon=36)
    issued = [cycle for row in rows for cycle, state in enumerate(row) if state == "issue"]
    assert len(issued) == len(set(issued)) == used
    for row in rows:
        own = [cycle for cycle, state in enumerate(row) if state == "issue"]
        assert all(later - earlier >= 9 for earlier, later in pairwise(own))


@pytest.mark.parametrize("touched", [1, 2, 4, 8, 16, 32])
def test_layout_keeps_the_work(touched):
    """Always 32 expensive threads of 1024, in as many warps as asked for."""
    branches = models.layout(touched)
    assert len(branches) == 1024 and branches.count(models.DEAR) == 32
    warps = {thread // 32 for thread, branch in enumerate(branches) if branch == models.DEAR}
    assert len(warps) == touched


def test_sweep_uses_the_students_function(monkeypatch):
    """Without a GPU the sweep is the student's own count, labelled as a model; nothing is timed."""
    monkeypatch.setattr(models, "has_gpu", lambda: False)
    sweep = models.divergence_sweep(by_rule)
    assert sweep.model_cycles == (400, 500, 680, 1040, 1760, 3200)
    assert sweep.timings == () and sweep.note == "no GPU here"
    assert sweep.scattered_over_gathered == 8.0
    assert models.divergence_sweep(lambda branches, costs: len(branches)).model_cycles == (1024,) * 6


KERNEL = """
import numpy
from gpulab.chapters.architecture.models import DEAR, layout
from gpulab.chapters.architecture.kernel import diverge
for touched in (1, 8, 32):
    result = numpy.zeros(1024, "float32")
    diverge[16, 64](result, touched, 32 // touched, 1)
    # 90 rounds of x / 2 + 1 end at 2, 10 rounds of x / 4 + 3 near 4.
    dear = numpy.isclose(result, 2.0)
    assert (dear == (numpy.array(layout(touched)) == DEAR)).all(), touched
    assert numpy.isclose(result[~dear], 4.0, atol=1e-2).all()
"""


def test_kernel_takes_the_branches_of_the_layout():
    """The kernel that is timed on a GPU runs the expensive branch in just the threads that the model counts."""
    pytest.importorskip("numba.cuda", reason="Numba's CUDA target is not installed")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": ROOT}
    finished = subprocess.run(
        [sys.executable, "-c", KERNEL], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert finished.returncode == 0, finished.stderr


def test_sweep_on_a_gpu_without_numba(monkeypatch):
    """Where no kernel can run, the sweep falls back to the model and says why."""
    monkeypatch.setattr(models, "has_gpu", lambda: True)
    monkeypatch.setitem(sys.modules, "gpulab.chapters.architecture.kernel", None)
    sweep = models.divergence_sweep(by_rule)
    assert sweep.timings == () and sweep.note.startswith("no kernel ran")


@pytest.mark.gpu
def test_divergence_costs_time_on_a_gpu():
    """On a GPU, scattered expensive threads take several times as long as gathered ones."""
    if not models.has_gpu():
        pytest.skip("needs a CUDA device")
    pytest.importorskip("numba.cuda", reason="Numba's CUDA target is not installed")
    sweep = models.divergence_sweep(by_rule, (1, 32))
    assert len(sweep.timings) == 2 and sweep.note == ""
    assert sweep.scattered_over_gathered > 3


def test_every_picture_comes_out_once_and_described(shown):
    """Each drawing function shows one image that says in words what it shows."""
    worker = workers
    start = [worker.Start(name, cost, cost / 50, 7) for name, cost in (("coroutine", 4.0), ("process", 8e3))]
    races = [worker.Speedup(kind, strategy, 2.0, 0.1, 5) for kind in worker.KINDS for strategy in worker.STRATEGIES]
    ways = ("Python loop", "each waits for the last", "none waits", "int64", "int32", "int16", "int8")
    additions = [models.Addition(way, 10.0 / (place + 1), 0.1, 30, "a CPU") for place, way in enumerate(ways)]
    timings = tuple(Timing(float(place), 0.01, 30, "a GPU") for place in (1, 2, 8))
    measured = models.Divergence((1, 2, 32), (400, 500, 3200), timings, "")
    sm = {"max_warps": 64}
    pictures = [
        lambda: architecture_pictures.draw_turns([worker.Lane("thread 1", ((0.0, 5.0), (9.0, 12.0)))]),
        lambda: architecture_pictures.draw_speedups(races),
        lambda: architecture_pictures.draw_starts(start),
        lambda: architecture_pictures.draw_additions(additions),
        lambda: architecture_pictures.draw_scenes(models.scenes()),
        lambda: architecture_pictures.draw_rates({"G": {"fp32_tflops": 60.0, "bandwidth_gbs": 3000.0}}),
        lambda: architecture_pictures.draw_occupancy(lambda block, sm: 16 / block["registers_per_thread"], sm),
        lambda: architecture_pictures.draw_divergence(measured),
        lambda: architecture_pictures.draw_divergence(models.divergence_sweep(by_rule)),
        diagrams.draw_sm,
        diagrams.draw_schedule,
        diagrams.draw_warps,
    ]
    for count, picture in enumerate(pictures, start=1):
        picture()
        assert len(shown) == count
        image, words = shown[-1]
        assert image.startswith(b"\x89PNG") and len(words) > 40


def test_model_is_never_called_a_measurement(shown, monkeypatch):
    """What a model computed is labelled as one, on the axis and in the description."""
    monkeypatch.setattr(models, "has_gpu", lambda: False)
    architecture_pictures.draw_divergence(models.divergence_sweep(by_rule))
    assert "model" in shown[0][1]


def test_this_machine_names_the_lock_and_the_gpu(capsys):
    """The first cell says what runs the page, and that nothing is lost without a GPU."""
    models.this_machine()
    said = capsys.readouterr().out
    assert "cores for this process" in said and "global interpreter lock" in said
    assert "GPU" in said
