"""Profiling and monitoring: answers compared with readings that a GPU could have given, and with broken ones."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from confronted import findings, sentences
from courses import ROOT
from made_up_nvml import Library

from gpulab import launch, table
from gpulab.chapters.profiling import hunt
from grader.authoring.myst import read_source
from grader.dev import gpu_rows
from grader.exercises import device_events
from grader.exercises.confront import Absent, declared
from grader.exercises.profiling import built_steps, confrontations

CHAPTER = "08"
Event = dict[str, Any]


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    assert len(gpu_rows.met(read_source(ROOT / "solutions" / "08_profiling_and_monitoring.md"))) == 8
    assert sentences(confrontations.CONFRONTATIONS) == []


# ----------------------------------------------------------------------------------- parse_metrics and render_metrics


def below_zero() -> dict[str, Any]:
    page = confrontations.take_figures(Library())
    page["samples"][3]["value"] = -1.0
    return page


def of_another_visit() -> dict[str, Any]:
    page = confrontations.take_figures(Library())
    page["page"] = page["page"].replace("412.337", "398.1")
    return page


def test_parse_metrics() -> None:
    plain = "the exporter's labels hold no comma, brace, or backslash"
    passing = {
        "a label's value has at least one character": "no label of the exporter is empty",
        "only metrics with a TYPE": "the exporter writes a TYPE for each metric",
        "the label gpu must be the first": "DCGM's exporter writes it first",
        "no value is below zero": "no metric that is read here is below zero",
        "infinity is never below zero": "no metric that is read here is infinite",
        "names without digits": "no metric that is read here has a digit in its name",
        "a later label that ends in gpu wins": "no other label of a page ends in gpu",
        "with prometheus_client, which adds _total to a counter's name": "its counters end in _total already",
        "labels split at commas inside quotes": plain,
        "split at commas, pieces without = thrown away": plain,
        "split at commas, so that both GPUs are found": plain,
        "any backslash before a quote escapes it": plain,
        "the labels end at the first brace": plain,
        "names in small letters": "the exporter's names have no others",
        "takes the time stamp": "the exporter writes no time stamps",
        "a line without the label belongs to the GPU of the line before": "every line of the exporter has the label",
        "one space at most after a comma": "the exporter writes none",
        'only "# " begins a comment': "the exporter's comments have this space",
        "lines without the label gpu are GPU 0": "every line of the exporter has the label",
        'looks for gpu=" anywhere': "no other label of the exporter ends in gpu",
        "asks the judge's package for it, which is in no student's process": "the package is there in this process",
        "labels end at the next quote, which findall recovers from": plain,
        "a quote with a backslash before it begins a value, too": plain,
        "splits at every quote": plain,
        "GPU counts as gpu": "no label of the exporter is called GPU",
        "the labels begin at the last brace": plain,
        "a # anywhere makes a comment": "no label of the exporter holds a #",
        "one dict for all calls": "every page here has the same GPUs and metrics",
        "a GPU has one digit": "no machine here has ten GPUs",
        "the first two lines are skipped": "every page here begins with comments",
        "the first line is skipped": "every page here begins with comments",
        "no comma after the last label": "the exporter writes none",
    }
    plausible = {
        "two GPUs": confrontations.take_figures(Library()),
        "one that answers, one that is lost": confrontations.take_figures(Library(lost=0)),
    }
    broken = {
        "power below zero": below_zero(),
        "a page of another moment": of_another_visit(),
        "nothing": {"samples": []},
    }
    assert findings(declared()["parse_metrics"], CHAPTER, plausible, broken, passing) == []


def test_render_metrics() -> None:
    plain = "NVML's texts are of one line, and have no backslash"
    passing = {
        "groups are kept from call to call": "each reading is a single call",
        "labels as JSON": "no label here holds a tab",
        "letters beyond ASCII as numbers": "every label here is ASCII",
        "labels without spaces at their ends": "no label here begins or ends with a space",
        "counters end in _total": "those of the exporter do",
        "labels as JSON in ASCII": "every label here is ASCII",
        "the words of HELP as they are": "the exporter's HELP texts have no newline",
        "infinity in a word": "no metric that is read here is infinite",
        "no HELP without words": "every HELP of the exporter has words",
        "braces around nothing": "a reader takes empty braces; another assertion of the test does not",
        "only quotes are escaped": plain,
        "newlines first, then backslashes": plain,
        "newlines stay as they are": plain,
        "quotes escaped in HELP as well": "the exporter's HELP texts have no quotes",
        "infinity is never below zero": "no metric that is read here is infinite",
        "HELP in one line": "the exporter's HELP texts have no newline",
        "no TYPE for an untyped metric": "every metric of the exporter has a type",
        "no labels without text": "every label here has a text",
        "the labels of a metric's first sample for all of them": "all samples of a metric have the same labels here",
        "newlines in labels become spaces": plain,
        "backslashes in labels become slashes": plain,
    }
    plausible = {
        "two GPUs": confrontations.take_figures(Library()),
        "one that answers, one that is lost": confrontations.take_figures(Library(lost=0)),
    }
    broken = {"power below zero": below_zero(), "nothing": {"samples": []}}
    assert findings(declared()["render_metrics"], CHAPTER, plausible, broken, passing) == []


def test_without_a_driver_there_are_no_figures() -> None:
    with pytest.raises(Absent, match="NVML"):
        confrontations.take_figures(Library(driver=False))


# ---------------------------------------------------------------------------------- gpu_idle_fraction and top_kernels


def event(cat: str, name: str, ms: float, lasts_ms: float, tid: Any = 7) -> Event:
    start = 4_686_884_156_189.728 + 1e3 * ms
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": start, "dur": 1e3 * lasts_ms}


MARKS: list[Event] = [{"ph": "M", "name": name, "pid": 0, "tid": 0} for name in ("process_name", "process_labels")]
SPIN = "at::cuda::(anonymous namespace)::spin_kernel(long)"


def idle(clock_ghz: float, stream: str = "") -> dict[str, Any]:
    """The trace of a GPU with this clock; old profilers called streams "stream 7"."""
    outer, inner, last = (cycles / clock_ghz / 1e6 for cycles in (20e6, 5e6, 8e6))
    long, short = (f"{stream}{one}" if stream else one for one in (7, 13))
    after = 5.5 + outer
    found = [event("user_annotation", "input", 0, 4.1, 1), event("cuda_runtime", "cudaLaunchKernel", 4.3, 0.02, 1)]
    found += [event("kernel", SPIN, 5, outer, long), event("kernel", SPIN, 5.1, inner, short)]
    found += [event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", after, 1.3, long)]
    found += [event("kernel", SPIN, after + 1.5, last, long)]
    found += [event("user_annotation", "output", after + 2 + last, 3.1, 1), *MARKS]
    random.Random(3).shuffle(found)
    return {"events": found, "busy_ms": outer + last + 0.01}


def test_gpu_idle_fraction() -> None:
    passing = {
        "events of 0 µs are left out of the window": "no event of 0 µs begins or ends this trace",
        "the word kernel in cat is enough": "no other category of a trace contains that word",
        "without a kernel nothing is idle": "this trace has kernels",
        "the first kernel of none": "this trace has kernels",
        "a function that calls itself for each kernel": "this trace has fewer kernels than calls may be nested",
        "the kernels of one process": "all kernels here have the pid of the first event",
        "no kernel has mem in its name": "none of these kernels has",
        "kernels of NCCL's are left out": "one GPU runs no kernel of NCCL's",
        "of kernels that begin together only one counts": "measured kernels never begin at the same moment",
        "setting memory is a kernel": "this trace sets no memory",
        "a kernel is what is called a kernel": "the names of these kernels hold that word",
        "the window ends when the last event to start does": "the last kernel to start is the last to end here",
        "a kernel that starts while another runs adds nothing": "one stream: no kernels overlap",
        "marks stretch the window at both ends": "the marks here have no ts",
        "marks of cat kernel are kernels if they have a dur": "no mark of a real trace has a dur",
        "copies are no part of the window": "a CPU range is the last event here",
        "only the CPU's events make the window": "CPU ranges are the first and the last event here",
    }
    plausible = {
        "an H100 at 1.98 GHz": idle(1.98),
        "a T4 at 0.66 GHz": idle(0.66),  # ericsson-ccd's page of a busy T4 in cncf/k8s-ai-conformance
        "an RTX 5090 at 2.9 GHz": idle(2.9),
        "a V100, with an old profiler": idle(1.5, "stream "),
    }
    lost, slow = idle(1.98), idle(1.98)
    lost["events"] = [one for one in lost["events"] if one["tid"] != 7 or one["cat"] != "kernel"]
    slow["busy_ms"] *= 1.5
    broken = {"kernels are missing from the trace": lost, "events disagree with the trace": slow}
    assert findings(declared()["gpu_idle_fraction"], CHAPTER, plausible, broken, passing) == []


def kernels(scale: float, names: tuple[str, ...]) -> dict[str, Any]:
    """A trace in which the third kernel runs six times, so that it has the largest total."""
    found, totals = [], {}
    for at, name in enumerate(names):
        times, us = (6, 23.0) if at == 2 else (1 + at % 2, 61.5 - 7 * at)
        totals[name] = times * us * scale
        found += [event("kernel", name, at + number, us * scale / 1e3) for number in range(times)]
        found += [event("cpu_op", f"aten::op{at}", at, 0.9, 1), event("cuda_runtime", "cudaLaunchKernel", at, 0.01, 1)]
    found += [event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 20, 1.9), *MARKS]
    random.Random(5).shuffle(found)
    return {"events": found, "totals_us": totals}


V100 = (  # pytorch/kineto@041e7ce9, tb_plugin/samples/resnet50_num_workers_0
    "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
    "void cudnn::winograd_nonfused::winogradWgradData4x4<float, float>(…)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(…)",
    "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(…)",
)
H100 = (  # TraceLens@171dd747, tests/traces/h100
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long>(…)",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1",
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>(…)",
)


def test_top_kernels() -> None:
    passing = {
        "sums in float32": "its digits are within the tolerance of these totals",
        "the kernels of process 0": "all kernels here have this pid",
        "names without spaces at their ends": "no name here begins or ends with a space",
        "rounded to three decimals for sorting": "no two totals are that close",
        "a cat that begins with kernel": "no other category of a trace begins so",
        "equal totals in the order in which they came": "measured totals are never equal",
        "capitals and small letters alike": "measured totals are never equal",
        "equal totals from Z to A": "measured totals are never equal",
        "short names first": "measured totals are never equal",
        "totals are the keys of a dict": "measured totals are never equal",
        "kernels of 0 µs are left out": "every measured kernel takes time",
        "one stream only": "one stream here",
        "names, totals, and counts": "names and totals are compared by themselves",
        "all that are as large as the n-th": "measured totals are never equal",
        "rounded for sorting": "no two totals here are within a µs",
        "cut to whole numbers for sorting": "no two totals here are within a µs",
        "a total for each stream": "one stream here",
        "marks are kernels of no duration": "no trace of a real GPU has such marks",
        "every category with kernel in its name": "no other category of a trace contains that word",
        "rounded to two decimals": "a hundredth of a µs is within the tolerance of these totals",
        "cut by the total alone, names sorted afterwards": "measured totals are never equal",
        "whatever has a dur is an event": "no mark of a real trace has a dur",
        "kernels of NCCL's are left out": "one GPU runs no kernel of NCCL's",
    }
    plausible = {"a V100": kernels(1.0, V100), "an H100": kernels(0.04, H100), "a T4": kernels(5.0, V100)}
    other = kernels(1.0, V100)
    other["totals_us"] = {name: 1.3 * us for name, us in other["totals_us"].items()}
    broken = {"other totals": other, "other names": kernels(1.0, V100) | {"totals_us": {"gemm": 1.0}}}
    assert findings(declared()["top_kernels"], CHAPTER, plausible, broken, passing) == []


def test_a_profiler_that_sees_no_device_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *_: None)
    monkeypatch.setattr(device_events, "profile", lambda activities: torch.profiler.profile(activities=activities[:1]))
    with pytest.raises(Absent, match="kernels nor copies"):
        device_events.traced(lambda: torch.ones(3).sum())


def test_events_of_a_real_trace_keep_what_readings_need() -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        torch.ones(30, 30).sum()
    events = device_events.timed(device_events.trace_events(profiler))
    assert [one["ts"] for one in events] == sorted(one["ts"] for one in events)
    assert {"aten::ones", "aten::sum"} <= {one["name"] for one in events}
    assert all(tuple(one) == device_events.KEYS and None not in one.values() for one in events)


# ------------------------------------------------------------------------------------------------ bottleneck and mfu


def steps(tflops: float, gbs: float, launch_us: float = 9.0) -> list[dict[str, Any]]:
    """The four steps on a GPU with these measured rates, where a launch under the profiler takes so long."""
    product_ms = 2 * built_steps.SQUARE**3 / tflops / 1e9
    skinny_ms = 2 * built_steps.LONG**2 / (0.85 * gbs) / 1e6  # a product with few columns reads at 85% of a copy's rate
    products, skinny = (max(1, int(built_steps.STEP_MS / ms)) for ms in (product_ms, skinny_ms))
    flops, nbytes = 2.0 * built_steps.SQUARE**3, 6.0 * built_steps.SQUARE**2
    moved = 2.0 * built_steps.LONG * (built_steps.LONG + 2 * built_steps.NARROW)
    made = {
        "input": (20.1 + product_ms + 0.1, 20.1, product_ms, flops, nbytes),
        "launch": (built_steps.TINY * launch_us / 1e3, 0.01, built_steps.TINY * 1.6e-3, 400.0, 3200.0),
        "compute": (products * product_ms + 0.2, 0.01, products * product_ms, products * flops, products * nbytes),
        "memory": (skinny * skinny_ms + 0.2, 0.01, skinny * skinny_ms, skinny * 1.07e9, skinny * moved),
    }
    keys = ("step_ms", "input_ms", "kernel_ms", "flops", "nbytes")
    both = {"peak_tflops": tflops, "bandwidth_gbs": gbs, "communication_ms": 0.0}
    return [{"made": name, **dict(zip(keys, one, strict=True)), **both} for name, one in made.items()]


def test_bottleneck() -> None:
    plausible = {
        "an H200": steps(
            680, 4000, 6.0
        ),  # mli/transformers-benchmarks and te42kyfo/gpu-benches: 70 to 85% of the datasheet
        "an H100 PCIe": steps(480, 1700),
        "an A100": steps(250, 1400),
        "an L4": steps(55, 250),
        "a T4": steps(24, 240, 15.0),
        "an RTX 5090": steps(210, 1500, 7.0),
        "a laptop's RTX 4060": steps(60, 230, 12.0),
        "a B200": steps(1500, 6500, 5.0),
    }
    swift, odd = steps(680, 4000, 2.0), steps(680, 4000)
    odd[2]["kernel_ms"] = 4.0  # something else had the GPU
    broken = {
        "launches are as fast as kernels": swift,
        "no part is clearly the largest": steps(680, 4000, 3.4),
        "kernels that are not in the trace": odd,
    }
    passing = {
        "kernels count with the times at the roof": "kernels that are limited reach most of the roof here",
        "tenths of the step": "the parts of this step differ by more",
        "the first part above a third of the step": "in these steps only one part is that long",
        "communication is subtracted from the kernels": "one GPU has no communication",
        "a part must be more than half of the step": "the largest part of this step is more than half of it",
        "launch whenever no part is more than half": "the largest part of this step is more than half of it",
        "memory on the ridge itself": "measured steps are far from the ridge",
        "GB of 2**30 bytes": "measured steps are far from the ridge",
        "whole FLOPs per byte": "measured steps are far from the ridge",
        "communication is not subtracted": "one GPU has no gradients to wait for",
        "communication is a part of the rest": "one GPU has no gradients to wait for",
        "the ridge of one GPU for all": "measured steps are far from the ridge",
        "a TFLOP of 2**10 GFLOPs": "measured steps are far from the ridge",
        "communication is never the answer": "one GPU has no gradients to wait for",
        "waiting for data and for gradients is one part": "one GPU has no gradients to wait for",
    }
    assert findings(declared()["bottleneck"], CHAPTER, plausible, broken, passing) == []


def products(gpu: str, dtype: str, share: float) -> dict[str, Any]:
    row = next(row for row in table("gpus") if row["gpu"] == gpu)
    flops = 8.0 * built_steps.SQUARE**3
    return {
        "gpu": row,
        "dtype": dtype,
        "step_ms": flops / (share * float(row[f"{dtype}_tflops"]) * 1e9),
        "flops": flops,
    }  # type: ignore[arg-type]


def test_mfu() -> None:
    """With shares of the peak as stas00/ml-engineering@744d01e1 and others measured them."""
    plausible = {
        "an H100": products("H100", "bfloat16", 0.80),
        "an A100": products("A100 80GB", "bfloat16", 0.86),
        "a T4": products("T4", "float16", 0.38),
        "an RTX 4090": products("RTX 4090", "bfloat16", 0.97),
        "a V100": products("V100", "float16", 0.72),
        "a throttled L40S": products("L40S", "bfloat16", 0.5),
    }
    broken = {
        "above the peak": products("H100", "bfloat16", 1.4),
        "another job had it": products("H100", "bfloat16", 0.02),
    }
    passing = {"no share above 1": "no product is faster than the peak of its own type"}
    assert findings(declared()["mfu"], CHAPTER, plausible, broken, passing) == []


@pytest.mark.parametrize(
    ("device", "row"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", "RTX 4060 Laptop"),
    ],
)
def test_a_card_has_its_row(device: str, row: str) -> None:
    assert built_steps.row_of(device)["gpu"] == row


@pytest.mark.parametrize("device", ["NVIDIA Unknown", "NVIDIA GeForce RTX 3080 Ti", "NVIDIA GeForce RTX 4070 SUPER"])
def test_a_card_without_a_row_is_absent(device: str) -> None:
    """It is not taken for the card with the same number, whose peak is another."""
    with pytest.raises(Absent, match=f"no row for {device}"):
        built_steps.row_of(device)


# ---------------------------------------------------------------------------------------------------------- SLOW_LOOP

LOOP = """
def train(files, labels, device="cpu", after_step=lambda: None):
    raise SystemExit(f"it trains on {device}")
"""


def test_the_loop_is_told_where_to_train() -> None:
    for more, where in (({}, "cpu"), ({"SLOW_LOOP_DEVICE": "cuda"}, "cuda")):
        run = launch.script(hunt.PROFILED, 1, environment=hunt.around(LOOP, 3, 64, **more))
        assert f"it trains on {where}" in run.ranks[0].output
