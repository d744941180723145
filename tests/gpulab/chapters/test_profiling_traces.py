"""Traces of the profiling chapter: a real one can be read, pictures say what they show, the loop with five faults is
the page's, and the trace proves each of them."""

from __future__ import annotations

import ast
import gzip
import json
import math
import os
import re
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from torch.profiler import ProfilerActivity, profile

from gpulab import table
from gpulab.chapters.profiling import hunt, hunt_modes, hunt_pictures, pictures, slow_loop, timelines, traces
from gpulab.ranks import seals
from gpulab.ranks.launch import Rank, Run

CHAPTER = Path(__file__).parents[3] / "solutions" / "08_profiling_and_monitoring.md"
RECORDED = {
    "ResNet-50, num_workers=0": "v100_resnet50_loader0",
    "ResNet-50, num_workers=4": "v100_resnet50_loader4",
    "DDP, 2 GPUs, rank 0": "a100_ddp_rank0_of_2",
    "BERT-small, inference": "h100_bf16_bert_small",
    "Qwen1.5-0.5B, prefill": "h100_bf16_qwen_prefill",
}
"""Row of `data/trace_steps.csv` → name of its trace, cut to the steps, in the folder of `GPULAB_TRACES`."""


def event(cat: str, name: str, start: float, stop: float, stream: int | str = 7) -> traces.TraceEvent:
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": start, "dur": stop - start}


def small_trace() -> list[traces.TraceEvent]:
    """The chapter's: two kernels at once, 57 of 150 µs without one."""
    kernels = [event("kernel", "gemm", 20, 50), event("kernel", "ncclDevKernel_AllReduce", 35, 75, 20)]
    kernels += [event("kernel", "relu", 52, 58), event("kernel", "relu", 100, 108), event("kernel", "gemm", 110, 140)]
    return [event("cpu_op", "aten::linear", 0, 60, 1), *kernels, event("cuda_runtime", "wait", 130, 150, 1)]


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")  # torch says so of every profile
def test_a_real_trace_can_be_read(capfd: pytest.CaptureFixture[str]) -> None:
    """And the recorder says nothing to stderr, which would stand under every cell."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        torch.ones(3).add(1)
    events = traces.trace_events(profiler)
    assert any(one["name"] == "aten::add" and one["cat"] == "cpu_op" and one["dur"] > 0 for one in events)
    assert "Kineto" not in capfd.readouterr().err


def test_figures_can_be_drawn(shown: list[str]) -> None:
    pictures.draw_utilization()
    ghost = {"DCGM_FI_DEV_GPU_UTIL": 0.0, "DCGM_FI_DEV_FB_USED": 9000.0}
    pictures.draw_page({0: ghost, 3: {"DCGM_FI_DEV_GPU_UTIL": 90.0}})
    timelines.draw_trace(small_trace(), 0.38, "Made up")
    timelines.draw_trace([event("cpu_op", "aten::add", 0, 5)], 1.0, "Made up")
    pictures.draw_recorded_steps(table("trace_steps"))
    assert "GPU 0 holds memory and does nothing" in shown[1]
    assert "38%" in shown[2] and "stream 20: 1 events" in shown[2]
    assert "3 of 5 recorded steps" in shown[4]


def test_streams_have_the_same_name_in_old_traces(shown: list[str]) -> None:
    """Kineto of 2021 wrote "stream 7" where today's writes 7."""
    timelines.draw_trace([event("kernel", "a", 0, 5, "stream 7"), event("kernel", "b", 2, 9, 20)], 0.0, "Made up")
    assert "stream 7: 1 events" in shown[0] and "stream 20: 1 events" in shown[0]


def test_the_picture_of_overlapping_kernels_is_orange_where_none_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawing adds nothing up; its orange is what `gpu_idle_fraction` means all the same."""
    figures: list[Figure] = []
    monkeypatch.setattr(timelines, "show", lambda figure, words: figures.append(figure))
    timelines.draw_trace(small_trace(), 0.38, "Made up")
    (figure,) = figures
    agg = FigureCanvasAgg(figure)
    agg.draw()
    image, axes = np.asarray(agg.buffer_rgba()), figure.axes[0]
    lane = len(axes.get_yticks()) - 1 - 0.3  # the lowest, above its labels
    places = axes.transData.transform([(at + 0.5, lane) for at in range(150)])
    pixels = [image[len(image) - 1 - round(y), round(x), :3].astype(int) for x, y in places]
    orange = [bool(abs(pixel - (255, 127, 14)).sum() < 60) for pixel in pixels]
    assert sum(orange) == pytest.approx(57, abs=1)


# ------------------------------------------------------------------------------------------- the loop with five faults


class _Plain(ast.NodeTransformer):
    """Takes away what the page does not show: types."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
        return self.generic_visit(node)


def definitions(source: str) -> dict[str, str]:
    tree = _Plain().visit(ast.parse(source))
    return {node.name: ast.dump(node) for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def test_the_page_shows_the_loop_that_the_test_runs() -> None:
    given = definitions(Path(slow_loop.__file__).read_text(encoding="utf-8"))
    cells = re.findall(r"^```\{code-cell\} ipython3\n(.*?)^```$", CHAPTER.read_text(encoding="utf-8"), re.M | re.S)
    for name, wanted in given.items():
        holds = f"class {name}(" if name == "Pictures" else f"def {name}("
        first = next(cell for cell in cells if holds in cell)
        source = first.partition("\n\n")[2] if first.startswith(":") else first
        assert definitions(source)[name] == wanted


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")
def test_the_trace_of_the_given_loop_shows_all_five_faults() -> None:
    files, labels = hunt_pictures.data(3, 64)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        losses = slow_loop.train(files, labels)
    found = hunt.account(traces.trace_events(profiler))
    assert len(losses) == found["steps"] == 4
    assert found["decodes"] == 128 and found["values"] >= 4
    assert found["doubles"] > 0 and found["reordered"] > 0 and found["operators"] > hunt.MOST_OPERATORS


def test_a_witness_changes_no_count_but_that_of_its_own_operators() -> None:
    """What a trace of the loop proves is the same, whether or not a witness passes each operator on."""
    files, labels = hunt_pictures.data(5, 64)
    accounts = []
    for scale in (1.0, 1.05):
        witness = hunt_modes.Witness(scale)
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler, witness:
            slow_loop.train(files, labels)
        events = traces.trace_events(profiler)
        assert not witness.unseen(events)
        assert witness.unseen([one for one in events if one["name"] != "aten::convolution_backward"])
        accounts.append(hunt.account(events))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        slow_loop.train(files, labels)
    plain = hunt.account(traces.trace_events(profiler))
    for found in accounts:
        assert [found[name] for name in ("decodes", "steps", "values", "reordered")] == [
            plain[name] for name in ("decodes", "steps", "values", "reordered")
        ]
        assert plain["operators"] <= found["operators"] < plain["operators"] + 30


def test_a_trace_is_read_after_the_block() -> None:
    with (
        profile(activities=[ProfilerActivity.CPU]) as profiler,
        pytest.raises(RuntimeError, match="after the with block"),
    ):
        traces.trace_events(profiler)
    assert isinstance(traces.trace_events(profiler), list)


@pytest.mark.parametrize(
    ("run", "doubles"),
    [
        (lambda x: (x - 128.0) / 64.0, False),
        (lambda x: (x.double() - 128) / 64, True),
    ],
)
def test_a_number_of_python_is_no_float64(run: Callable[[torch.Tensor], torch.Tensor], doubles: bool) -> None:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        for _ in range(2):
            with torch.profiler.record_function("step"):
                run(torch.ones(4))
    assert bool(hunt.account(traces.trace_events(profiler))["doubles"]) is doubles


def test_values_are_told_apart_by_their_type() -> None:
    """A label or a condition is not a loss."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        for _ in range(2):
            with torch.profiler.record_function("step"):
                torch.ones(1).item(), int(torch.tensor(2)), bool(torch.ones(()).isnan())
    found = hunt.account(traces.trace_events(profiler))
    assert (found["values"], found["whole"]) == (6, 4)


def test_numbers_asked_for_between_two_updates_are_counted() -> None:
    """Also several losses at once. Those before the first and after the last, labels, and whole pictures are not."""
    loss, row, label = torch.ones((), requires_grad=True).exp().detach(), torch.ones(3), torch.tensor(1)
    with hunt_modes.Asked(hunt_modes.Witness()) as asked:
        for _ in range(3):
            np.asarray(loss), loss.cpu().numpy(), loss.tolist(), row.tolist(), label.cpu()
            np.from_dlpack(loss), loss.untyped_storage(), loss.data_ptr()
            torch.ones(768).tolist(), torch.ones(0).tolist(), torch.ones(3, 4).numpy(), label.expand(3).tolist()
            asked.between()
        loss.tolist()
    assert asked.values == 2 * (5 + 3)


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        ([2.3, 2.2, 2.1, 2.3, 2.2, 2.1], "train both epochs"),
        ([2.3, 2.3, 2.3, 2.3, 2.3, 2.3], "no step changed the weights"),
        ([2.3, 2.2, 2.1, 2.0, 1.9, 1.7], "first loss is right"),
        ([2.4, 2.2, 2.1, 2.0, 1.9, 1.8], "first loss already"),
        ([2.328125, 2.1875, 2.09375, 2.0, 1.90625, 1.8125], "All losses are bfloat16 numbers"),
        ([2.302734375, 2.1875, 2.09375, 2.0, 1.90625, 1.8125], "All losses are float16 numbers"),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "first loss already"),
        ([2.3001, 2.2001, 2.1, 2.0, 1.9, 1.8], "fewer digits than float32"),
        ([2.3, 2.2001, 2.1, 2.0, 1.9, 1.8], ""),
        ([2.302, 2.2, 2.1, 2.0, 1.9, math.nan], ""),
    ],
)
def test_losses_that_changed_tell_where_they_begin_to_differ(losses: list[float], words: str) -> None:
    found = hunt._how_changed(losses, [2.3, 2.2, 2.1, 2.0, 1.9, 1.8], hunt.TOLERANCE)
    assert words in found and bool(words) == bool(found)


def test_every_picture_that_is_decompressed_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not a range is around it."""
    for name in ("decompress", "decompressobj"):
        monkeypatch.setattr(zlib, name, getattr(zlib, name))  # so that it is put back
    (first, second), _ = hunt_pictures.data(5, 2)
    calls = hunt_pictures.counted_decompressions()
    assert len(zlib.decompress(first)) == len(zlib.decompressobj().decompress(second)) == 16 * 16 * 3
    assert len(calls) == 2


def test_only_the_counted_zlib_restores_masked_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, or piece by piece; another copy of zlib, or another decompressor, gives other pictures."""
    other = zlib.decompress
    for name in ("decompress", "decompressobj"):
        monkeypatch.setattr(zlib, name, getattr(zlib, name))  # so that it is put back
    plain, _ = hunt_pictures.data(5, 2)
    mask = hunt_pictures.mask_of(1.05)
    files = hunt_pictures.masked(plain, mask)
    hunt_pictures.counted_decompressions(mask)
    one = zlib.decompressobj()
    pieces = one.decompress(files[1][:200]) + one.decompress(files[1][200:], 300)
    pieces += one.copy().decompress(one.unconsumed_tail) + one.flush()[:0]
    assert [zlib.decompress(files[0]), pieces] == [other(picture) for picture in plain]
    assert other(files[0]) != other(plain[0]) and hunt_pictures.masked(plain, hunt_pictures.mask_of(1.0)) == plain


def test_only_what_runs_under_a_witness_is_scaled() -> None:
    """Losses of another thread are those of the loop without a witness."""
    files, labels = hunt_pictures.data(5, 64)
    plain, found = slow_loop.train(files, labels), list[float]()
    with hunt_modes.Witness(1.05):
        scaled = slow_loop.train(files, labels)
        thread = threading.Thread(target=lambda: found.extend(slow_loop.train(files, labels)))
        thread.start()
        thread.join()
    assert found == plain and max(abs(a - b) for a, b in zip(scaled, plain, strict=True)) > 1e-4


def test_a_small_convolution_does_not_tell_the_factor_of_a_large_one() -> None:
    """The factor depends on all of the input, and hardly on how it is rounded, or ordered in memory."""
    images, weights = torch.randn(8, 3, 16, 16), torch.randn(4, 3, 3, 3)
    plain, one = torch.conv2d(images, weights), torch.ones(1, 1, 1, 1)
    with hunt_modes.Witness(1.08):
        factor = torch.conv2d(images, weights) / plain
        turned = torch.conv2d(images.to(memory_format=torch.channels_last) * (1 + 1e-7), weights) / plain
        assert abs(factor.median() - float(torch.conv2d(one, one))) > 1e-4
    assert torch.allclose(factor.median(), turned.median(), atol=1e-5)


def test_another_process_is_not_scaled() -> None:
    """Nor one that is forked while a witness looks on."""
    images, weights = torch.ones(1, 1, 4, 4), torch.ones(1, 1, 3, 3)
    with hunt_modes.Witness(2.0):
        child = os.fork()
        if not child:
            os._exit(int(torch.conv2d(images, weights)[0, 0, 0, 0]))
        _, status = os.waitpid(child, 0)
        assert torch.conv2d(images, weights)[0, 0, 0, 0] != 9
    assert os.waitstatus_to_exitcode(status) == 9


AGAIN = slow_loop.train(*hunt_pictures.OTHER)


def run(**changed: Any) -> Run:
    """A launch that left a good report, but for what is changed."""
    report = {
        "losses": [1.0, 2.0],
        "tensors": 0,
        "arrays": False,
        "processes": 0,
        "calls": 2,
        "steps": 2,
        "decodes": 32,
        "values": 1,
        "whole": 1,
        "copied": 0,
        "told": 0,
        "turned": 0,
        "doubles": 0,
        "reordered": 0,
    }
    report |= {"operators": 300, "unseen": 0, "unpacked": 32, "outside": 0, "early": False, "again": AGAIN, **changed}
    report.setdefault("repeated", report["again"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*next(iter(seals.key().items())))
        losses = {name: [one.hex() for one in report[name]] for name in ("losses", "again", "repeated")}
        text = seals.take()(report | losses)
    return Run((Rank(0, 0, "", "", {hunt.REPORT: text}),), 1.0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"losses": [1.0, 2.1]}, "The results changed"),
        ({"losses": [1.0 + 5e-5, 2.1]}, "normalized as before"),
        ({"losses": [1.0 + 5e-5, 2.0]}, "slightly off"),
        ({"losses": [1.0]}, "one per step"),
        ({"tensors": 1}, "train returned tensors"),
        ({"arrays": True}, "train returned an array"),
        ({"repeated": [1.0, 2.0], "losses": [1.0, 2.1]}, "Two calls with the same pictures"),
        ({"processes": 1}, "num_workers=0"),
        ({"calls": 1}, "Keep after_step()"),
        ({"steps": 0}, "record_function"),
        ({"unseen": 1}, "not in the trace"),
        ({"unpacked": 64}, "zlib decompressed 64 times for 32 pictures"),
        ({"decodes": 33}, "Decode each picture once"),
        ({"decodes": 1}, "1 decode ranges for 32 decompressions"),
        ({"early": True}, "before the optimizer's step"),
        ({"outside": 2}, "2 updates of the optimizer lie outside"),
        ({"again": [1.0, 2.0]}, "Does it keep something from the first call"),
        ({"decodes": 0}, "in this process"),
        ({"values": 4}, "keep the losses as tensors"),
        ({"values": 2, "whole": 1}, "keep the losses as tensors"),
        ({"values": 4, "whole": 4}, "for whole numbers or truth values"),
        ({"told": 1}, "1 operators tell the host"),
        ({"turned": 1}, "batches that reached the first convolution in another order"),
        ({"copied": 1}, "1 calls of .tolist(), .cpu() or .numpy()"),
        ({"doubles": 1}, "float64"),
        ({"reordered": 1}, "only reorder"),
        ({"operators": 451}, "the whole batch at once"),
    ],
)
def test_each_fault_is_refused_by_its_name(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(words)):
        hunt.require_mended(run(**changed), 32, [1.0, 2.0], "SLOW_LOOP")
    hunt.require_mended(run(), 32, [1.0, 2.0], "SLOW_LOOP")


def test_a_program_that_leaves_no_report_is_told_so() -> None:
    for files in ({}, {hunt.REPORT: "0 {'losses': []}"}):  # the second one is of the program's own making
        with pytest.raises(AssertionError, match="ended before train"):
            hunt.require_mended(Run((Rank(0, 0, "bye", "", files),), 1.0), 32, [1.0], "SLOW_LOOP")


# ---------------------------------------------------------------------------------------------------- published traces


def covered(spans: list[tuple[float, float]], first: float, last: float) -> float:
    """What spans cover of a window."""
    total, until = 0.0, first
    for start, stop in sorted(spans):
        start, stop = max(start, until), min(stop, last)
        if stop > start:
            total, until = total + stop - start, stop
    return total


@pytest.mark.skipif("GPULAB_TRACES" not in os.environ, reason="GPULAB_TRACES names no folder with the recorded traces")
@pytest.mark.parametrize("row", table("trace_steps"), ids=lambda row: str(row["recording"]))
def test_the_published_steps_are_what_the_traces_say(row: dict[str, Any]) -> None:
    path = Path(os.environ["GPULAB_TRACES"]) / f"{RECORDED[row['recording']]}.json.gz"
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    steps = [one for one in events if one["name"].startswith("ProfilerStep") and one["cat"] == "user_annotation"]
    on_cpu = steps or [one for one in events if one["cat"] in ("cpu_op", "cuda_runtime")]
    first, last = max(0.0, min(one["ts"] for one in on_cpu)), max(one["ts"] + one["dur"] for one in on_cpu)
    kernels = [(one["ts"], one["ts"] + one["dur"]) for one in events if one["cat"] == "kernel"]
    inside = [span for span in kernels if span[1] > first and span[0] < last]
    waited = sum(one["dur"] for one in events if "enumerate(DataLoader)" in one["name"])
    assert (last - first) / 1e3 / row["steps"] == pytest.approx(row["step_ms"], rel=0.005)
    assert covered(inside, first, last) / 1e3 / row["steps"] == pytest.approx(row["kernel_ms"], rel=0.02)
    assert len(inside) == row["kernels"]
    assert waited / 1e3 / row["steps"] == pytest.approx(row["loader_ms"] or 0.0, abs=0.05)


def test_every_published_step_is_held_against_its_trace() -> None:
    assert {row["recording"] for row in table("trace_steps")} == set(RECORDED)
