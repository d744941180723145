"""GPU architecture, first half: what is measured is what it says, models count right, every picture comes out once."""

import asyncio
import sys
from itertools import combinations, pairwise

import pytest

from gpulab import table
from gpulab.chapters.architecture import diagrams, models, workers
from gpulab.chapters.architecture import pictures as architecture_pictures
from gpulab.figures import plot, styling

ROOT = models.__file__.rsplit("/gpulab/", 1)[0]


@pytest.fixture
def shown(monkeypatch):
    """The pictures shown, as (figure, description)."""
    found = []
    for module in (architecture_pictures, diagrams, plot, sys.modules[plot.timeline.__module__]):
        monkeypatch.setattr(module, "show", lambda figure, words: found.append((styling.png(figure), words)))
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


def test_races_need_no_running_loop_of_ours():
    """A notebook's kernel runs an event loop; the races work inside it."""

    async def as_in_a_notebook():
        return workers.turns(duration_ms=10, repeats=1)

    assert len(asyncio.run(as_in_a_notebook())) == 4


def test_failed_race_says_why(monkeypatch):
    """A race that crashes is reported with what it wrote, not as broken JSON."""
    monkeypatch.setattr(workers, "__file__", "/nonexistent.py")
    with pytest.raises(RuntimeError, match=r"race 'turns 60 5' failed: .*nonexistent"):
        workers.turns()


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


def test_the_names_of_gpus_are_apart(monkeypatch):
    """Of all GPUs of the table: no name covers another one's, or a dot."""
    figures = []
    monkeypatch.setattr(architecture_pictures, "show", lambda figure, words: figures.append(figure))
    rates = {
        row["gpu"]: {"bandwidth_gbs": row["bandwidth_gbs"], "fp32_tflops": row["float32_tflops"]}
        for row in table("gpus")
    }
    architecture_pictures.draw_rates(rates, (20.0, 0.1), "C")
    (figure,) = figures
    figure.canvas.draw()
    (axes,) = figure.axes
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts if text.get_text() in rates}
    assert boxes.keys() == rates.keys()
    assert [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])] == []
    dots = {name: axes.transData.transform((of["bandwidth_gbs"], of["fp32_tflops"])) for name, of in rates.items()}
    assert [(name, dot) for name, box in boxes.items() for dot, at in dots.items() if box.contains(*at)] == []


def test_every_picture_comes_out_once_and_described(shown):
    """Each drawing function shows one image that says in words what it shows."""
    worker = workers
    races = [worker.Speedup(kind, strategy, 2.0, 0.1, 5) for kind in worker.KINDS for strategy in worker.STRATEGIES]
    sm = {"max_warps": 64}
    pictures = [
        lambda: architecture_pictures.draw_turns([worker.WorkerIntervals("thread 1", ((0.0, 5.0), (9.0, 12.0)))]),
        lambda: architecture_pictures.draw_speedups(races),
        architecture_pictures.draw_scenes,
        lambda: architecture_pictures.draw_rates(
            {"G": {"fp32_tflops": 60.0, "bandwidth_gbs": 3000.0}}, (20.0, 0.1), "C"
        ),
        lambda: architecture_pictures.draw_occupancy(lambda block, sm: 16 / block["registers_per_thread"], sm),
        diagrams.draw_sm,
        diagrams.draw_schedule,
        diagrams.draw_warps,
    ]
    for count, picture in enumerate(pictures, start=1):
        picture()
        assert len(shown) == count
        image, words = shown[-1]
        assert image.startswith(b"\x89PNG") and len(words) > 40
