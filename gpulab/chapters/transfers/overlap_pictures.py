"""Draws the second half of the transfers chapter: casts, layouts, and who works when while batches go through the
device."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpulab.chapters.transfers.layout import Casts
from gpulab.chapters.transfers.overlap import LANES, Course
from gpulab.figures import plot
from gpulab.figures.shapes import Span
from gpulab.measuring.timing import Timing

CAST = "cast to float32, one core"


def draw_casts(found: Casts) -> None:
    """Bars: casting a batch by one core, and carrying it as either type."""
    slow = found.cast_ms.median_ms / found.carry_ms["float32"]
    times: dict[str, plot.Value] = {CAST: found.cast_ms}
    times |= {f"carry as {name}": lasts for name, lasts in found.carry_ms.items()}
    title = f"A core casts {plot.number(slow, 2)} times as long as the link carries floats"
    if slow < 1:
        title = f"The link carries floats {plot.number(1 / slow, 2)} times as long as a core casts"
    shape = " × ".join(map(str, found.shape))
    plot.bars(
        times,
        title=title,
        y="a batch takes, ms",
        note=f"{shape} from uint8 to float32. Cast measured on {found.cast_ms.device};\n{found.link}",
        highlight=CAST,
    )


def draw_layouts(times: Mapping[str, Timing]) -> None:
    """Bars: one convolution in both layouts."""
    first, last = (times[name].median_ms for name in ("channels first", "channels last"))
    noise = sum(time.spread_ms for time in times.values())
    if abs(first - last) <= noise:
        title = "The same convolution in both orders: no difference to be seen here"
    else:
        quick, factor = ("last", first / last) if last < first else ("first", last / first)
        title = f"The same convolution, {factor:.2f} times as fast with the channels {quick}"
    plot.bars(dict(times), title=title, y="forward, ms", highlight="channels last")


def draw_overlap(one_by_one: Course, yours: Course, pipeline_ms: Callable[..., float], batches: int) -> None:
    """A timeline of the serial loop above one of the student's."""
    stages = [one_by_one.stage_ms(stage) for stage in dict.fromkeys(LANES.values())]
    ideal = pipeline_ms(batches, *stages, 2)
    ratio = one_by_one.total_ms / yours.total_ms
    title = f"{batches} batches: {_ms(one_by_one.total_ms)} one by one, {_ms(yours.total_ms)} yours, {ratio:.2f} ×"
    note = f"{yours.note}.\nBy your pipeline_ms, with the stages of the serial loop and two copy engines: {_ms(ideal)}"
    spans = [*_named("one by one", one_by_one), *_named("yours", yours)]
    plot.timeline(spans, title=title, note=note)


def draw_profile(found: Course) -> None:
    """A timeline of what the profiler saw."""
    plot.timeline(found.spans, title=f"What the GPU itself reports: {_ms(found.total_ms)}", note=found.note)


def _named(who: str, course: Course) -> list[Span]:
    return [
        Span(f"{who}: {span.lane}", span.start, span.stop, span.label.rpartition(" ")[2], span.kind)
        for span in course.spans
    ]


def _ms(value: float) -> str:
    return f"{plot.number(value)} ms"


def hidden(one_by_one: Course, yours: Course) -> float:
    """How near to a perfect overlap: the least time that there could be over the time that it took."""
    compute_ms = sum(span.stop - span.start for span in one_by_one.spans if span.lane == "compute")
    least_ms = one_by_one.stage_ms("copy in") + compute_ms + one_by_one.stage_ms("copy out")
    return least_ms / yours.total_ms
