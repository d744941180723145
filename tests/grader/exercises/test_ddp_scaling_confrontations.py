"""DDP and scaling: answers compared with readings that a GPU could have given, and with broken ones."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from confronted import bank_of, defined, findings, sentences
from courses import ROOT

from gpulab import Problem, launch
from gpulab.chapters.ddp_scaling import checks
from gpulab.chapters.ddp_scaling.weights import same_weights
from grader.authoring.myst import read_source
from grader.dev import gpu_rows
from grader.exercises.confront import Absent, declared
from grader.exercises.ddp_scaling import confrontations, device_ranks, ghosts, moved
from grader.exercises.launched import failed_by_device

CHAPTER = "07"
Reading = dict[str, Any]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What ranks with tensors on the CPU find: the program that runs on the GPU, on a device that is here."""
    return device_ranks.measured("gloo", "cpu")


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    assert len(gpu_rows.met(read_source(ROOT / "solutions" / "07_ddp_scaling.md"))) == 12
    assert sentences(confrontations.CONFRONTATIONS) == []


def test_one_gpu_is_none_for_nccl() -> None:
    with pytest.raises(Absent, match="a second GPU"):
        device_ranks.measured("nccl", "cpu")


# ------------------------------------------------------------------------------------------ ring_schedule and run_ring


def sums(p: int) -> Reading:
    vectors = [[float(rank + at * at % 17) for at in range(2 * p)] for rank in range(p)]
    return {"vectors": vectors, "sums": [sum(column) for column in zip(*vectors, strict=True)]}


def garbled() -> Reading:
    return sums(3) | {"sums": [0.0] * 6}


def test_ring_schedule(found: dict[str, Any]) -> None:
    plausible = {"these ranks": found["sums"], "five GPUs": sums(5), "two GPUs": sums(2)}
    assert findings(declared()["ring_schedule"], CHAPTER, plausible, {"other sums": garbled()}) == []


def test_run_ring() -> None:
    """One reading: every answer starts real ranks for it."""
    passing = {
        "every tensor is as long as the first chunk": "three ranks divide the length of these vectors",
        "added up in one process": "only messages tell it: the sums are right",
        "the library's all_reduce": "only messages tell it: the sums are right",
        "whole vectors go round": "only messages tell it: the sums are right",
        "chunks in float64": "only messages tell it: the sums are right",
        "Tensor.chunk, which makes fewer chunks of some vectors": "three ranks get as many chunks of these vectors",
        "np.split": "three ranks divide the length of these vectors",
        "the last chunk is the longer one": "three ranks divide the length of these vectors",
        "NumPy is not imported where the ranks run": "the chapter's earlier cells have imported it in this process",
        "whole numbers": "these vectors hold whole numbers",
    }
    assert findings(declared()["run_ring"], CHAPTER, {"three ranks": sums(3)}, {"other sums": garbled()}, passing) == []


# --------------------------------------------------------------------------------------------------------- wire_bytes


def wire(p: int, nbytes: int, headers: float) -> Reading:
    seen = {"ring": 2 * (p - 1) / p, "parameter_server": 1.0, "server": float(p)}
    return {"world_size": p, "nbytes": nbytes} | {kind: (1 + headers) * nbytes * part for kind, part in seen.items()}


@pytest.mark.alone
def test_bytes_of_real_ranks_are_those_of_the_formula(found: dict[str, Any]) -> None:
    """More than what was sent, by headers, and by what other programs sent meanwhile."""
    seen, expected = found["wire"], wire(3, found["wire"]["nbytes"], 0.0)
    for kind in ("ring", "parameter_server", "server"):
        assert expected[kind] < seen[kind] < (1 + confrontations.HEADERS) * expected[kind]


def test_wire_bytes() -> None:
    plausible = {
        "packets of 64 kB": wire(3, 33_554_432, 0.0022),
        "packets of 1,500 bytes": wire(3, 33_554_432, 0.043),
    }
    broken = {
        "a download at the same time": wire(3, 33_554_432, 3.0),
        "nothing was counted": wire(3, 33_554_432, -1.0),
        "another program on loopback": wire(3, 33_554_432, 0.3),
    }
    fraction = "a fraction of a byte does not show in what is counted"
    rounded = ["chunks of whole bytes", "chunks rounded up", "in float32", "the vector without a whole chunk, twice"]
    passing = dict.fromkeys(rounded, fraction)
    passing["32 bits"] = "the vectors here have fewer bytes"
    assert findings(declared()["wire_bytes"], CHAPTER, plausible, broken, passing) == []


# ----------------------------------------------------------------------------------- fit_alpha_beta, predict_efficiency

A100 = {  # eight with NVLink 3: microsoft/superbenchmark@700d6501, tests/data/nccl_allreduce.log (MIT), some sizes
    "world_size": 8,
    "nbytes": [16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
    "seconds": [36.18e-6, 37.82e-6, 47.53e-6, 74.78e-6, 112.0e-6, 226.0e-6, 584.5e-6],
}


def times(p: int, alpha: float, beta: float, wobble: float = 0.08) -> Reading:
    """All-reduces as the formula gives them, with every second one slower, the others faster."""
    sizes = [1 << power for power in range(14, 25)]
    off = [1 + (wobble if at % 2 else -wobble) for at in range(len(sizes))]
    taken = [2 * (p - 1) * (alpha + beta * n / p) * by for n, by in zip(sizes, off, strict=True)]
    return {"world_size": p, "nbytes": sizes, "seconds": taken}


def test_fit_alpha_beta() -> None:
    plausible = {
        "eight A100, as recorded": A100,
        "two GPUs with NVLink": times(2, 8e-6, 5e-12),
        "two GPUs on PCIe 4": times(2, 15e-6, 6e-11),
        "three ranks on one GPU, over gloo": times(3, 9e-5, 4e-10, 0.2),
    }
    shrinking = times(3, 9e-5, 4e-10)
    shrinking["seconds"].reverse()
    wild = times(3, 9e-5, 4e-10)
    wild["seconds"][3] *= 9
    broken = {"larger ones take less time": shrinking, "one took nine times as long": wild}
    passing = {
        "of equal sizes, only the last counts": "each size is measured once",
        "the larger of the two is alpha": "a message takes longer than a byte more",
        "alpha is never below 0": "a message of a real network takes time",
    }
    assert findings(declared()["fit_alpha_beta"], CHAPTER, plausible, broken, passing) == []


def efficiency(p: int, alpha: float, beta: float, hides: float = 0.93, drift: float = 1.0) -> Reading:
    """Steps of 60% of the communication; of what could be hidden, this share really is."""
    measured = times(p, alpha, beta, 0.04)
    nbytes = measured["nbytes"][-2]
    communication = 2 * (p - 1) * (alpha + beta * nbytes / p)
    step = 0.6 * communication
    steps = {"world_size": p, "nbytes": nbytes, "step_s": step, "communication_s": drift * communication}
    steps |= {"after": step / (step + communication), "beside": step / (step + communication - hides * step)}
    return {"times": measured, "steps": steps}


def test_predict_efficiency() -> None:
    plausible = {
        "two GPUs with NVLink": efficiency(2, 8e-6, 5e-12, 0.98),
        "eight GPUs with NVLink": efficiency(8, 8e-6, 5e-12),
        "three ranks on one GPU, over gloo": efficiency(3, 9e-5, 4e-10, 0.85),
    }
    impossible = efficiency(3, 9e-5, 4e-10)
    impossible["steps"]["after"] = 1.6
    broken = {
        "faster than a step alone": impossible,
        "the network was busy a moment later": efficiency(3, 9e-5, 4e-10, drift=1.7),
        "nothing was hidden": efficiency(3, 9e-5, 4e-10, hides=-0.2),
    }
    passing = {
        "only a share of the step can hide": "no step here is shorter than the communication",
        "two thirds of a step can hide": "no step here is shorter than the communication",
        "the steps of a tree above 16 ranks": "there are fewer ranks here",
        "a rank alone sends, too": "there are at least two ranks here",
        "one rank earns nothing": "there are at least two ranks here",
        "the share counts as seconds": "every step here is shorter than the share",
    }
    assert findings(declared()["predict_efficiency"], CHAPTER, plausible, broken, passing) == []


def test_ranks_find_times_and_steps(found: dict[str, Any]) -> None:
    assert len(found["times"]["seconds"]) == len(found["times"]["nbytes"]) == 11
    assert min(found["times"]["seconds"]) > 0
    assert set(found["steps"]) == {"world_size", "nbytes", "step_s", "communication_s", "after", "beside"}
    assert found["steps"]["nbytes"] == found["times"]["nbytes"][-2]


# ------------------------------------------------------------------------------------------------------ averaged_step


def test_averaged_step(found: dict[str, Any]) -> None:
    other = dict(found["ddp"], lr=0.1)
    lost = dict(found["ddp"], weights={name: [float("nan")] for name in found["ddp"]["weights"]})
    broken = {"another learning rate": other, "weights that are not finite": lost}
    alike = "without batch norm, the mean over all images is the same however they are cut"
    passing = {
        "the learning rate is divided": "with SGD the step is the same",
        "the last batch of the loader": "the loader has one batch here",
        "gradients are clipped": "the gradients here are shorter than that",
        "in eval mode": "the network that ranks train here is the same in both modes",
        "the parameters only": "the network that ranks train here has no buffers",
        "shards of world_size images, all of them averaged": alike,
        "two shards whatever is asked for": alike,
        "every world_size-th image": alike,
        "a step for each batch": "ranks train here on a single batch",
        "the shards of every batch": "ranks train here on a single batch",
        "weights averaged instead of gradients": "the first step of SGD is linear in the gradient",
        "a criterion of its own": "the ranks train here with the same one",
        "a step by hand": "the first step of SGD is this one",
        "a step by hand, the rate divided by the loss's weight": "the loss has a weight of 1 here",
    }
    assert findings(declared()["averaged_step"], CHAPTER, {"three ranks": found["ddp"]}, broken, passing) == []


# ------------------------------------------------------------------------------------------------------------ scaling


def rows(gpus: int, by_ddp: float, by_dp: float, alone: float = 0.021) -> list[Reading]:
    """One GPU, and several by each method, at these efficiencies."""
    ways = [("one GPU", 1, 1.0), ("DistributedDataParallel", gpus, by_ddp), ("DataParallel", gpus, by_dp)]
    steps = [(method, count, alone / efficiency) for method, count, efficiency in ways]
    return [{"method": way, "gpus": n, "throughput": n * 64 / step_s, "step_s": step_s} for way, n, step_s in steps]


def test_scaling() -> None:
    """Efficiencies as pytorch/pytorch@bf69c149, benchmarks/distributed/ddp, gives them for V100 by DDP, and as
    sentence-transformers@2df84c72 gives them for four by DataParallel (0.34); five were published at 0.07."""
    passing = {"the slowest row is the base": "here one GPU is the slowest"}
    passing["the baseline of the first call stays"] = "each reading is a single call"
    passing["the baseline of the last row"] = "here it is the row with one GPU"
    passing["one dict is updated for all rows, and copied"] = "here all rows have the same entries"
    plausible = {
        "two with NVLink": rows(2, 0.97, 0.71),
        "eight V100": rows(8, 0.93, 0.22),
        "four V100": rows(4, 0.64, 0.34),
        "two on PCIe": rows(2, 0.71, 0.55),
        "two, and caches that help": rows(2, 1.04, 0.9),
    }
    broken = {
        "more than all GPUs": rows(2, 1.8, 0.7),
        "one of them hangs": rows(2, 0.02, 0.7),
        "DataParallel hangs": rows(2, 0.9, 0.001),
    }
    assert findings(declared()["scaling"], CHAPTER, plausible, broken, passing) == []
    slow = {"five GPUs, of which DataParallel makes less than one": rows(5, 0.9, 0.07)}
    alike = {"the largest throughput per GPU is the base": "here one GPU alone is that"}
    alike["one dict is updated for all rows, and copied"] = "here all rows have the same entries"
    alike["the baseline of the first call stays"] = passing["the baseline of the first call stays"]
    alike["the baseline of the last row"] = passing["the baseline of the last row"]
    alike["an efficiency above 1 is cut"] = "no efficiency here is above 1"
    assert findings(declared()["scaling"], CHAPTER, slow, broken, alike) == []


# ------------------------------------------------------------------------------------------------------- pids_to_kill


def machine(reaper: str = "", users: tuple[str, ...] = ("ada", "grace"), ghost_parent: int = 1) -> Reading:
    """Runs, ghosts, and what needs no GPU; the ghost of the reading under process 1, or under a subreaper."""
    first, other = users
    table = [
        (1, 0, "root", 0, "init"),
        (640, 1, "root", 250_000_000, "Xorg"),
        (700, 1, "root", 0, "sshd"),
        (800, 700, first, 0, "bash"),
        (810, 800, first, 0, "grader"),
        (820, 810, first, 600_000_000, "python"),
        (821, 700, first, 90_000_000, "jupyter-labhub"),
        (830, 1, first, 0, "tmux"),
        (900, 1, other, 12_000_000_000, "python"),
        (910, 904, other, 5_000_000, "python"),
        (950, 4, first, 3_000_000, "python"),
    ]
    if reaper:
        table.append((40, 1, first, 0, reaper))
    table.append((990, 40 if reaper else ghost_parent, first, 610_000_000, "python"))
    keys = ("pid", "ppid", "user", "gpu_bytes", "name")
    rows_ = [dict(zip(keys, one, strict=True)) for one in table]
    return {"processes": rows_, "user": first, "alive": 820, "ghost": 990}


def test_pids_to_kill() -> None:
    plausible = {
        "a server": machine(),
        "a desktop": machine("systemd --user"),
        "a container": machine("containerd-shim-runc-v2"),
        "users of similar names": machine(users=("ada", "adam")),
        "users of names that hold another": machine(users=("ada", "mada")),
    }
    without = machine()
    for row in without["processes"]:
        row["gpu_bytes"] = 0  # as NVML says in WSL
    orphan = machine()
    orphan["processes"][5]["ppid"] = 1  # the grader was started by nohup
    broken = {
        "the orphan was given to a shell": machine(ghost_parent=800),
        "nobody holds anything": without,
        "the one that lives has no parent": orphan,
    }
    passing = {
        "a pid for each way in which a parent is gone": "process 1 has a row on a real machine",
        "the names of subreapers anywhere": "no process here only mentions a subreaper",
        "ghosts and what they started": "no ghost here has a child on the GPU",
        "every systemd and containerd is a subreaper": "no process here has such a parent",
        "containerd itself counts as a subreaper": "no process here has such a parent",
        "the parents' other children, too": "the ghost that is made has no children",
        "a parent of a third user's is gone": "no parent here belongs to a third user",
        "the whole name of systemd": "no process here has such a parent",
        "less than a MiB is nothing": "every process here holds more",
        "capitals and small letters alike": "no two users here differ by a capital only",
        "systemd with any option": "no process here has such a parent",
        "capitals do not matter": "no process here has such a parent",
        "a ghost that is named like a subreaper is spared": "the ghost that is made has another name",
        "process 0 is alive": "no process here has lost its parent to process 0",
        "another user's systemd is alive": "every subreaper here is the user's own",
        "any systemd": "no process here has such a parent",
        "parents that come later are not known": "the parents come first here",
        "a subreaper must be the user's own": "every subreaper here is the user's own",
    }
    assert findings(declared()["pids_to_kill"], CHAPTER, plausible, broken, passing) == []


def test_a_ghost_is_made_and_found() -> None:
    pid = ghosts.start_ghost("cpu")
    try:
        (row,) = (one for one in ghosts.processes({pid: 7}) if one["pid"] == pid)
        (own,) = (one for one in ghosts.processes({}) if one["pid"] == os.getpid())
    finally:
        os.kill(pid, signal.SIGKILL)
    assert row["ppid"] != os.getpid()
    assert (row["gpu_bytes"], row["user"]) == (7, own["user"])
    assert own["ppid"] == os.getppid()


# --------------------------------------------------------------------------------------------------------- DDP_SCRIPT


def test_a_moved_script_trains_as_before() -> None:
    """Every right answer, moved onto the CPU: names and weights are those of the script as it was."""
    problem = Problem("cnn", samples=32, batch_size=16, seed=5, device="cpu")
    around = checks.surroundings(problem)
    right = [one for one in bank_of(CHAPTER, "DDP_SCRIPT") if one.kind == "right" and not one.source.startswith("%%")]
    scripts = [defined(one, CHAPTER) for one in right]
    assert len(scripts) >= 3
    for script in scripts:
        before, after = (
            checks.outcome(launch.script(text, 2, environment=around, apart=True), "a right answer")
            for text in (script, moved.onto("cpu", script))
        )
        assert before.samples == after.samples
        same_weights(after.weights, before.weights, problem, "moved")


def test_a_moved_network_is_where_it_was_put() -> None:
    """On a device that is no CPU and computes nothing: its parameters are there, and pictures are sent there."""
    program = moved.onto(
        "meta", "from gpulab import Problem\nprint({one.device.type for one in Problem().model().parameters()})"
    )
    assert "{'meta'}" in launch.script(program, 1).ranks[0].output


@pytest.mark.parametrize(
    ("said", "problem", "expected"),
    [
        (
            "torch.AcceleratorError: CUDA error: all CUDA-capable devices are busy",
            "Rank 0 ended with exit code 1.",
            True,
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", "Rank 1 ended with exit code 1.", True),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "Rank 1 ended with exit code 1.", True),
        ("", "After 15 s ranks 0, 1 still ran.", True),
        ("RuntimeError: Expected all tensors to be on the same device, cuda:0 and cpu!", "Rank 0 ended with 1.", False),
        ("NameError: name 'train' is not defined", "Rank 0 ended with exit code 1.", False),
        ("a warning about CUDA error handling", "", False),
    ],
)
def test_errors_of_the_device_are_not_the_scripts(said: str, problem: str, expected: bool) -> None:
    run = launch.Run((launch.Rank(0, 1, said),), 3.0, problem)
    assert failed_by_device(run) is expected
