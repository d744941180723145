"""DDP and scaling: figures of what ranks have measured say what they show."""

from __future__ import annotations

import pytest

from gpulab.chapters.ddp_scaling import ranks_pictures


def test_pictures_say_what_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(ranks_pictures, "show", lambda figure, description: told.append(description))
    monkeypatch.setattr("gpulab.figures.shapes.show", lambda figure, description: told.append(description))

    def shard(n: int, world_size: int, rank: int, epoch: int = 0) -> list[int]:
        return [(index + epoch) % n for index in range(rank, -(-n // world_size) * world_size, world_size)]

    ranks_pictures.draw_shards(shard, 5, 2)
    buckets = [{"mbytes": 8.4, "ready_ms": ready, "done_ms": done} for ready, done in ((10, 20), (20, 45), (40, 60))]
    ranks_pictures.draw_backward(buckets)
    rates = {"1 rank": [1900.0, 2000.0, 2100.0], "weak": [3000.0, 4000.0], "strong": [1000.0, 1000.0]}
    ranks_pictures.draw_throughputs(rates, 2, "CPU")
    assert "epoch 1: rank 0 [1, 3, 0], rank 1 [2, 4, 1]" in told[0]
    assert "All-reduces done when the last gradient is ready: 1 of 3" in told[1]
    assert "1 rank: 2,000 images/s; weak: 3,500 images/s" in told[2]
