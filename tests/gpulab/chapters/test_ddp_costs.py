"""DDP and scaling: gloo's times and the published runs."""

import pytest

from gpulab import table


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


def test_one_overlap_explains_all_published_figures():
    """The chapter says so: from ResNet-101's figure the others follow within three points."""
    rows = {row["model"]: row for row in table("ring_models") if row["efficiency_512"]}

    def predicted(row, overlap):
        return efficiency(row["batch"] / row["images_per_s"], 4 * row["parameters"], 512, 0.0, 8 / 25e9, overlap)

    overlap = min((one / 1000 for one in range(1001)), key=lambda one: abs(predicted(rows["ResNet-101"], one) - 0.9))
    assert 0.2 < overlap < 0.8 and len(rows) == 3
    for row in rows.values():
        assert predicted(row, overlap) == pytest.approx(row["efficiency_512"], abs=0.03)
