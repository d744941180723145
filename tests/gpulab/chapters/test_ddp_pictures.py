"""DDP and scaling: every figure can be drawn, and its description says what is in it."""

from gpulab import table
from gpulab.chapters.ddp_scaling import diagrams, pictures


def ring(world_size, rank):
    return [((rank - step) % world_size, (rank - step - 1) % world_size) for step in range(2 * (world_size - 1))]


def efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
    return step_s / (step_s + (1 - overlap) * communication)


def test_a_ring_collects_and_then_hands_on():
    moments = diagrams.contributions(ring, 3)
    assert [sum(len(chunk) == 3 for chunks in ranks for chunk in chunks) for ranks in moments] == [0, 0, 3, 6, 9]


def test_an_unfinished_ring_is_called_so(shown):
    diagrams.draw_ring(ring)
    diagrams.draw_ring(lambda world_size, rank: ring(world_size, rank)[: world_size - 1])
    assert "every rank ends with every sum" in shown[0] and "something is missing" in shown[1]


def test_diagrams_name_their_figures(shown):
    diagrams.draw_traffic(8)
    assert "each sends to the next only" in shown[0]


def test_processes_stand_under_their_parents_and_marked_ones_are_marked(shown):
    rows = [
        {"pid": 9, "ppid": 4, "user": "ada", "gpu_bytes": 2 * 10**9, "name": "rank"},
        {"pid": 1, "ppid": 0, "user": "root", "gpu_bytes": 0, "name": "init"},
        {"pid": 4, "ppid": 1, "user": "ada", "gpu_bytes": 0, "name": "torchrun"},
        {"pid": 7, "ppid": 3, "user": "ada", "gpu_bytes": 10**9, "name": "lost"},
    ]
    diagrams.draw_processes(rows, [7], title="One ghost")
    (words,) = shown
    assert [words.index(name) for name in ("init", "torchrun", "rank", "lost")] == sorted(
        words.index(name) for name in ("init", "torchrun", "rank", "lost")
    )
    assert words.count("marked") == 1 and "lost of ada, parent 3, 1 GB, marked" in words


def test_curves_tell_their_ends(shown):
    rows = [row | {"speedup": 1 / row["gpus"]} for row in table("dp_vs_ddp")]
    pictures.draw_scaling(rows)
    pictures.draw_busiest(lambda kind, p, n: {"ring": 2 * (p - 1) / p, "server": p}.get(kind, 1) * n)
    pictures.draw_fit((4096, 2**20), (1e-4, 1e-3), 2, 5e-5, 8e-10, "a CPU")
    models = [row for row in table("ring_models") if row["efficiency_512"]]
    pictures.draw_efficiency(efficiency, models, 8 / 25e9, 0.4)
    assert "0.06 times the speed of one" in shown[0]
    assert "the server sends 1,024 GB, a worker in a ring 2" in shown[1]
    assert "α = 50 µs, β = 0.8 ns per byte" in shown[2]
    assert "ResNet-101: 90% at 1024, published 90% at 512" in shown[3]


def test_timelines_of_buckets_name_their_ends(shown):
    layers = [{"forward_ms": 1.0, "backward_ms": 2.0, "nbytes": 10**6}] * 3
    pictures.draw_buckets(layers, 1.0, 1.0, 2 * 10**6)
    assert "Waiting until the end: 10 ms" in shown[0]
