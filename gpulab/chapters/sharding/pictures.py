"""Chapter 11: memory over time and by part, pipelines, layouts. Drawn from what the page measured or computed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpulab.figures import plot
from gpulab.figures.styling import BLUE, GRAY, INK, ORANGE, canvas, ink_on, label_ends, number, show, style, tidy

PARTS = ("weights", "gradients", "optimizer", "activations")
COLORS = {"weights": BLUE, "gradients": ORANGE, "optimizer": GRAY, "activations": "#17becf"}
CPU = "measured on the CPU of this machine by torch.profiler"


def memory_curve(events: Sequence[tuple[float, int]]) -> tuple[list[float], list[float]]:
    """ms since the first event, and MB in use from then on; `events` are (µs, bytes), sorted."""
    times, levels, held = [], [], 0
    for at, nbytes in events:
        held += nbytes
        times.append((at - events[0][0]) / 1e3)
        levels.append(held / 1e6)
    return times, levels


def recorded_events(recorded: Any) -> list[tuple[float, int]]:
    """The (µs, bytes) of a profile's allocations and releases, sorted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        recorded.export_chrome_trace(str(path))
        trace = json.loads(path.read_text())
    found = [(one["ts"], one["args"]["Bytes"]) for one in trace["traceEvents"] if one.get("name") == "[memory]"]
    return sorted(found)


def draw_memory(events: Sequence[tuple[float, int]], optimizer_steps: Sequence[tuple[float, float]]) -> float:
    """Memory in use over two training steps; gives the peak in bytes.

    Args:
        events: µs and bytes of allocations and releases, sorted.
        optimizer_steps: µs of the start and length of each `optimizer.step()`.
    """
    times, levels = memory_curve(events)
    peak, weights = max(levels), 33.6
    with style():
        figure, axes = canvas(
            f"Training needs {peak:.0f} MB for {weights:.0f} MB of weights",
            f"8.4 million parameters, batch of 1,024, two steps with Adam; {CPU}",
            3.8,
        )
        axes.step(times, levels, where="post", color=BLUE)
        axes.fill_between(times, levels, step="post", color=BLUE, alpha=0.15, linewidth=0)
        axes.axhline(weights, color=ORANGE, linestyle="--", linewidth=1.4)
        for place, (start, length) in enumerate(optimizer_steps):
            begin = (start - events[0][0]) / 1e3
            axes.axvspan(begin, begin + length / 1e3, color=GRAY, alpha=0.25, linewidth=0)
            axes.annotate(f"Adam, step {place + 1}", (begin, peak * 1.1), ha="right", color=INK, fontsize=10)
        last = max(at for at, level in zip(times, levels, strict=True) if level > weights)
        axes.set(xlabel="time, ms", ylabel="memory in use, MB", ylim=(0, peak * 1.2), xlim=(0, last))
        label_ends(axes, [("weights", last, weights, ORANGE)])
    show(figure, f"Memory in use over two training steps; the peak is {peak:.0f} MB, the weights alone {weights} MB.")
    return peak * 1e6


def draw_parts(parts: Mapping[str, Mapping[str, int]], parameters: int) -> None:
    """A stacked bar per precision: GB of weights, gradients and optimizer."""
    total = {name: sum(one.values()) / 1e9 for name, one in parts.items()}
    with style():
        figure, axes = canvas(
            f"Adam takes {next(iter(total.values())):.0f} GB for {parameters / 1e9:.0f} billion parameters,"
            " in any precision",
            "Computed with your step_memory; without activations; a large GPU has 80 to 192 GB",
            3.0,
        )
        for row, (_, one) in enumerate(parts.items()):
            left = 0.0
            for part in PARTS[:3]:
                width = one[part] / 1e9
                axes.barh(row, width, left=left, color=COLORS[part], height=0.62)
                axes.text(
                    left + width / 2, row, f"{part}\n{width:.0f} GB", ha="center", va="center", fontsize=9.5,
                    color=ink_on(COLORS[part]),
                )  # fmt: skip
                left += width
        axes.set_yticks(range(len(parts)), list(parts))
        axes.invert_yaxis()
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        axes.set(xlabel="GB")
    words = "; ".join(
        f"{name}: " + ", ".join(f"{p} {v / 1e9:g}" for p, v in one.items()) for name, one in parts.items()
    )
    show(figure, f"GB by part. {words}.")


def draw_checkpointing(steps: Mapping[str, tuple[Any, int]]) -> None:
    """Memory over a step without and with checkpoints, above the level at its start; names the FLOPs of each."""
    curves = {way: memory_curve(recorded_events(recorded)) for way, (recorded, _) in steps.items()}
    peaks = {way: max(levels) for way, (_, levels) in curves.items()}
    found = {way: f"{peak:.0f} MB" for way, peak in peaks.items()}
    more = steps["checkpointed"][1] / steps["plain"][1] - 1
    with style():
        figure, axes = canvas(
            f"Peak: {found['plain']} plain, {found['checkpointed']} checkpointed, for {more:.0%} more FLOPs",
            f"Forward and backward pass of eight blocks, batch of 4,096; without weights; {CPU}",
            3.8,
        )
        ends = []
        for way, color in (("plain", GRAY), ("checkpointed", BLUE)):
            times, levels = curves[way]
            times = [100 * at / times[-1] for at in times]
            axes.step(times, levels, where="post", color=color)
            ends.append((f"{way}:\npeak {found[way]}", times[-1], peaks[way], color))
        axes.set(xlabel="share of the step, %", ylabel="memory in use, MB", ylim=(0, None), xlim=(0, 100))
        label_ends(axes, ends)
    words = "; ".join(f"{way}: peak {found[way]}, {steps[way][1] / 1e9:.1f} GFLOP" for way in steps)
    show(figure, f"Memory over a step. {words}.")


def draw_segments(rows: Mapping[int, Mapping[str, Any]], plain_bytes: int) -> None:
    """Bytes kept and FLOPs recomputed over the number of segments; `plain_bytes` are kept without checkpoints."""
    kept = {"none": plain_bytes / 1e3, **{str(segments): row["kept_bytes"] / 1e3 for segments, row in rows.items()}}
    again = ", ".join(f"{number(row['recomputed_flops'] / 1e6)} ({n})" for n, row in rows.items())
    plot.bars(
        kept,
        title="Each checkpoint keeps its input: nine of them keep more than none",
        x="checkpointed segments",
        y="kept for the backward pass, kB",
        note=f"Nine layers, batch of 64, counted by saved_tensors_hooks; MFLOP computed again: {again}",
        highlight="none",
    )


def draw_stages(parts: Mapping[str, int], ranks: int) -> dict[int, float]:
    """GB per GPU for ZeRO stages 0 to 3, stacked by part; gives the totals by stage."""
    sharded = {0: (), 1: ("optimizer",), 2: ("optimizer", "gradients"), 3: ("optimizer", "gradients", "weights")}
    rows = {
        stage: {part: parts[part] / 1e9 / (ranks if part in cut else 1) for part in PARTS[:3]}
        for stage, cut in sharded.items()
    }
    totals = {stage: sum(row.values()) for stage, row in rows.items()}
    with style():
        figure, axes = canvas(
            f"On {ranks} GPUs ZeRO takes {totals[0]:.0f} GB per GPU down to {totals[3]:.0f} GB",
            "Computed: 8 billion parameters in bfloat16 with Adam, without activations",
            3.2,
        )
        for stage, row in rows.items():
            left = 0.0
            for part, width in row.items():
                axes.barh(stage, width, left=left, color=COLORS[part], height=0.62, label=part if not stage else None)
                left += width
            axes.text(left + 1.5, stage, f"{number(left)} GB", va="center", color=INK, fontsize=10.5)
        axes.set_yticks(range(4), [f"stage {stage}" for stage in rows])
        axes.invert_yaxis()
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        axes.set(xlabel="GB per GPU", xlim=(0, 1.12 * totals[0]))
        axes.legend(loc="lower right", frameon=False, ncols=3)
    words = "; ".join(f"stage {stage}: {number(total)} GB" for stage, total in totals.items())
    show(figure, f"Memory per GPU by ZeRO stage. {words}.")
    return totals


def draw_held(found: Mapping[str, Mapping[str, Any]], blocks: int) -> None:
    """Share of the model that a process holds: whole in the forward pass, in its optimizer, as states."""
    total = max(one["trained"] for one in found.values())
    labels = {
        "gathered": "whole weights\nin the forward pass",
        "trained": "weights in\nthe optimizer",
        "states": "m and v",
    }
    values = {
        name: {label: one[key] / total for key, label in labels.items()} for name, one in found.items()
    }  # fmt: skip
    plot.bars(
        values,
        title=f"In the forward pass a rank of FSDP2 holds {_blocks(found, blocks, total)} of {blocks} blocks whole",
        y="elements, as a share of the model's parameters",
        note="Counted in the processes while they trained, on the CPU of this machine (gloo)",
    )


def _blocks(found: Mapping[str, Mapping[str, Any]], blocks: int, total: int) -> int:
    whole: int = min(one["gathered"] for one in found.values())
    return round(whole / total * blocks)


def draw_pipeline(runs: Mapping[str, Mapping[tuple[int, str], tuple[float, float]]], stages: int, title: str) -> None:
    """Timelines of pipelines, one above the other: blue forward, orange backward; the number is the micro-batch."""
    ends = {name: max(end for _, end in done.values()) for name, done in runs.items()}
    idle = {
        name: 1 - sum(end - start for start, end in done.values()) / (stages * ends[name])
        for name, done in runs.items()
    }
    widest = max(ends.values())
    with style():
        figure, axes = canvas(
            title, "Simulated: forward (blue) 1 unit per micro-batch, backward (orange) 2, sending free", 4.4
        )
        row = 0.0
        places, names = [], []
        for name, done in runs.items():
            axes.text(0, row - 0.65, f"{name}: idle {idle[name]:.0%}", fontsize=10.5, color=INK, weight="bold")
            for (stage, task), (start, end) in done.items():
                forward = task[0] == "F"
                color = BLUE if forward else ORANGE
                axes.barh(row + stage, end - start, left=start, height=0.86, color=color, edgecolor="white")
                axes.text(
                    (start + end) / 2,
                    row + stage,
                    task[1:],
                    ha="center",
                    va="center",
                    fontsize=8.5 if end - start > widest / 80 else 6.5,
                    color=ink_on(color),
                )
            places += [row + stage for stage in range(stages)]
            names += [f"stage {stage}" for stage in range(stages)]
            row += stages + 1.4
        axes.set_yticks(places, names)
        axes.grid(visible=False)
        axes.set(xlabel="time, units of one micro-batch's forward pass", xlim=(0, widest), ylim=(row - 1.6, -1.5))
    words = "; ".join(f"{name}: {number(ends[name])} units, idle {idle[name]:.0%}" for name in runs)
    show(figure, f"Timelines of pipelines. {words}.")


def draw_runs(runs: Sequence[Mapping[str, Any]]) -> None:
    """Step times over model size: measured, predicted for the published layout, and for the planner's."""
    series = {
        "measured": ("measured_s", INK, "o"), "model, published layout": ("published_cost_s", BLUE, "s"),
    }  # fmt: skip
    sizes = [run["parameters_billion"] for run in runs]
    worst = max(abs(run["published_cost_s"] / run["measured_s"] - 1) for run in runs)
    with style():
        figure, axes = canvas(
            f"A cost model with one constant predicts ten step times within {worst:.0%}",
            "Measured: Megatron-LM on A100 (Narayanan et al. 2021, table 1); lines: cost model, 180 TFLOPS",
            4.0,
        )
        for key, color, marker in series.values():
            dots = marker == "o"
            axes.plot(
                sizes, [run[key] for run in runs], color=color, marker=marker, linestyle="" if dots else "-",
                zorder=3 if dots else 2,
            )  # fmt: skip
        planned = [run["plan"]["step_s"] for run in runs]
        axes.plot(sizes, planned, color=ORANGE, linestyle="--")
        axes.set(xscale="log", yscale="log", xlabel="parameters, billions", ylabel="time of a step, s")
        tidy(axes.xaxis, logarithmic=True)
        tidy(axes.yaxis, logarithmic=True)
        last = runs[-1]
        label_ends(axes, [
            ("measured", sizes[-1], last["measured_s"], INK),
            ("model, published", sizes[-1], last["published_cost_s"], BLUE),
            ("model, planner's", sizes[-1], planned[-1], ORANGE),
        ])  # fmt: skip
    words = "; ".join(
        f"{run['model']}: {number(run['measured_s'])} s measured, {number(run['published_cost_s'])} s predicted"
        for run in runs
    )
    show(figure, f"Step times. {words}.")


def draw_bert(points: Mapping[str, Mapping[float, float]]) -> None:
    """Scaling efficiency over GPUs, 8 GPUs = 100%: published, and by the cost model."""
    most = max(points["published"])
    last = {name: levels[most] for name, levels in points.items()}
    published = last["published"]
    gaps = ", ".join(f"{level / published - 1:+.0%}" for name, level in last.items() if name != "published")
    gaps = gaps.replace("-", "\N{MINUS SIGN}")
    with style():
        figure, axes = canvas(
            f"BERT on {most} GPUs keeps {published:.0f}% of the rate per GPU; the cost model is off by {gaps}",
            "BERT-Large, sequences of 128, mixed precision, A100; published by NVIDIA (data/bert_scaling.csv)",
            3.8,
        )
        ends = []
        for (name, levels), color in zip(points.items(), (INK, BLUE, ORANGE), strict=True):
            axes.plot(list(levels), list(levels.values()), color=color, marker="o")
            ends.append((name, most, last[name], color))
        every = [level for levels in points.values() for level in levels.values()]
        axes.set(xscale="log", xlabel="GPUs", ylabel="rate per GPU, % of that on 8 GPUs")
        axes.set_ylim(min(every) - 5, max(every) + 3)
        axes.set_xticks(list(points["published"]), [str(gpus) for gpus in points["published"]])
        axes.minorticks_off()
        label_ends(axes, ends)
    words = "; ".join(f"{name}: {level:.1f}%" for name, level in last.items())
    show(figure, f"Rate per GPU on {most} GPUs, 8 GPUs = 100%. {words}.")


def show_runs(runs: Sequence[Mapping[str, Any]]) -> None:
    """Prints a line per run: the published layout with its measured time, the planned one with the model's."""
    print(f"{'':>10} {'GPUs':>5} | published: tensor, pipeline, measured | planned: tensor, pipeline, zero, model")
    for run in runs:
        plan = run["plan"]
        print(
            f"{run['model']:>10} {run['gpus']:>5} | {run['tensor']:>17} {run['pipeline']:>9} {run['measured_s']:8.1f} s"
            f" | {plan['tensor']:>15} {plan['pipeline']:>9} {plan['zero']:>5} {plan['step_s']:5.1f} s"
        )
