"""DDP and scaling: gloo's times and the published runs."""

import pytest

from gpulab import table
from gpulab.chapters.ddp_scaling import costs


def efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
    return step_s / (step_s + communication - min(overlap * communication, step_s))


def test_published_all_reduces_are_plausible():
    """A larger vector takes longer, and no cluster is faster than its links: 520 GB/s of bus bandwidth at most."""
    rows = table("nccl_allreduce")
    for gpus in (8, 16, 32, 64):
        own = [row for row in rows if row["gpus"] == gpus]
        assert [row["us"] for row in own] == sorted(row["us"] for row in own)
        assert all(2 * (gpus - 1) / gpus * row["bytes"] / row["us"] / 1e3 < 520 and row["source"] for row in own)


def test_every_named_run_has_a_base():
    rows = table("scaling_named_gpus")
    for run in {row["run"] for row in rows}:
        assert any(row["run"] == run and row["method"] == "one GPU" for row in rows)


def test_throughput_is_what_the_published_seconds_say():
    for row in table("dp_vs_ddp"):
        done = {"epochs/h": 3600, "images/s": 60_000}.get(row["unit"])
        if done:
            assert row["throughput"] == pytest.approx(done / row["seconds"], rel=1e-3)
        else:
            assert row["seconds"] is None
        assert row["source"] and 2019 <= row["date"] <= 2026


def test_every_run_has_a_base():
    rows = table("dp_vs_ddp")
    for run in {row["run"] for row in rows}:
        assert any(row["run"] == run and row["gpus"] == 1 for row in rows)


def test_every_figure_of_a_model_names_its_source():
    for row in table("ring_models"):
        assert row["rate_source"]
        assert bool(row["efficiency_512"]) == bool(row["efficiency_source"])


def test_an_overlap_gives_the_published_efficiency():
    resnet = next(model for model in costs.models() if model.name == "ResNet-101")
    beta = costs.seconds_per_byte(25)
    overlap = costs.overlap_for(efficiency, resnet, 0.0, beta)
    assert efficiency(resnet.step_s, resnet.nbytes, 512, 0.0, beta, overlap) == pytest.approx(0.9, rel=1e-6)


def test_one_overlap_explains_all_published_figures():
    """The chapter says so: from ResNet-101's figure the others follow within three points."""
    models = [model for model in costs.models() if model.published is not None]
    beta = costs.seconds_per_byte(25)
    overlap = costs.overlap_for(efficiency, models[1], 0.0, beta)
    for model in models:
        predicted = efficiency(model.step_s, model.nbytes, 512, 0.0, beta, overlap)
        assert predicted == pytest.approx(model.published, abs=0.03)


def test_nothing_published_nothing_explained():
    model = next(model for model in costs.models() if model.published is None)
    with pytest.raises(ValueError, match=model.name):
        costs.overlap_for(efficiency, model, 0.0, 1e-9)
