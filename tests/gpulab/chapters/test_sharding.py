"""Chapter 11's agent and the reading of what its ranks leave."""

from __future__ import annotations

import pytest

from gpulab import launch
from gpulab.chapters.sharding import pictures, ranks
from gpulab.ranks import seals
from gpulab.ranks.launch import Rank, Run

CONFIG = {"steps": 4}
STEPS = """
import json, os
import torch

weight = torch.nn.Linear(2, 2, bias=False)
optimizer = torch.optim.SGD(weight.parameters(), lr=0.1)
life = os.environ["TORCHELASTIC_RESTART_COUNT"]
for step in range(json.loads(os.environ["CONFIG"])["steps"]):
    weight(torch.ones(3, 2)).sum().backward()
    optimizer.step()
if os.environ["RANK"] == "0":
    torch.save({"life": torch.tensor(float(life))}, os.environ["WEIGHTS"])
"""


def ran(**more: str) -> Run:
    return launch.script(ranks.AGENT, 1, environment=ranks.around(STEPS, CONFIG, **more), apart=True)


def sealed(**report: object) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*next(iter(seals.key().items())))
        return seals.take()(report)


def left(files: dict[str, object], problem: str = "", output: str = "") -> Run:
    return Run((Rank(0, 0, output, left=files),), 1.0, problem)


def test_the_agent_counts_what_each_rank_holds() -> None:
    """Two ranks, one attempt: steps, rows and elements of both."""
    made = ranks.outcome(ran(), "a run")
    assert made.attempts == [[0, 0]]
    counted = [{name: one[name] for name in ("steps", "rows", "trained", "gathered")} for one in made.watched[0]]
    assert counted == [{"steps": 4, "rows": 3, "trained": 4, "gathered": 4}] * 2
    assert made.watched[0][0]["betas"] == [[]]  # of SGD


def test_the_agent_notes_every_type() -> None:
    """Of all layers and all shards, and not of the last or the first alone."""
    other = "weight = torch.nn.Linear(2, 2, bias=False)\nother = torch.nn.Linear(2, 2, bias=False).bfloat16()"
    program = STEPS.replace("weight = torch.nn.Linear(2, 2, bias=False)", other)
    program = program.replace("SGD(weight.parameters()", "SGD([weight.weight, other.weight]")
    program = program.replace("    weight(", "    other(torch.ones(3, 2).bfloat16()).sum().backward()\n    weight(")
    around = ranks.around(program, CONFIG)
    held = ranks.outcome(launch.script(ranks.AGENT, 1, environment=around, apart=True), "a run").watched[0][0]
    assert [held[name] for name in ("compute", "stored")] == ["torch.bfloat16 and torch.float32"] * 2


def test_a_killed_rank_starts_all_of_them_again() -> None:
    """The first attempt ends with the signal, the second one runs to its end."""
    made = ranks.outcome(ran(KILL="1 2", MAX_RESTARTS="1"), "a run")
    assert [max(map(abs, codes)) for codes in made.attempts] == [9, 0]
    assert (made.watched[0][1]["steps"], made.watched[1][1]["steps"]) == (2, 4)
    assert float(made.weights["life"]) == 1.0


SAVES = STEPS.replace(
    "    optimizer.step()\n",
    """    optimizer.step()
    place = os.path.join(os.environ["CHECKPOINTS"], str(step + 1))
    if os.environ["RANK"] == "0" and not os.path.exists(place):
        os.makedirs(place)
        open(place + "/.metadata", "w").close()
""",
)


GLOO = (
    "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:545] Read error [127.0.0.1]:6045: Connection reset by peer."
)
TRACEBACK = """Traceback (most recent call last):
  File "/tmp/a/script.py", line 199, in run
    exec(compile(source, "script.py", "exec"), names)
  File "script.py", line 12, in <module>
  File "/tmp/a/script.py", line 71, in reduce
RuntimeError: {}
"""


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (TRACEBACK.format("it is broken"), "exit code 1. RuntimeError: it is broken (line 12)"),
        (
            TRACEBACK.format(GLOO),
            "exit code 1. The connection to another rank broke: that rank has ended. (line 12) A rank is gone",
        ),
        (f"ValueError: mine\n{TRACEBACK.format(GLOO)}", "exit code 1. ValueError: mine"),
        ("Fatal Python error: Aborted\n\nThread 0x01 (most recent call first):\n  <no Python frame>", "exit code 1."),
    ],
)
def test_the_scripts_own_error_and_line_are_told(output: str, words: str) -> None:
    with pytest.raises(AssertionError) as told:
        ranks.outcome(Run((Rank(0, 1, output),), 1.0, "Rank 0 ended with exit code 1."), "run")
    assert str(told.value).partition("/pytorch")[0].startswith(f"run: Rank 0 ended with {words}")
    assert ("A rank is gone" in str(told.value)) == ("A rank is gone" in words)


def test_the_last_save_before_a_restart_can_be_left_incomplete() -> None:
    """As if the ranks had died while they saved: the last folder has no table of contents, those before it have."""
    more = {"CHECKPOINTS": "common", "KILL": "0 3", "MAX_RESTARTS": "1", "TEAR": "yes"}
    run = launch.script(ranks.AGENT, 1, environment=ranks.around(SAVES, CONFIG, **more), apart=True)
    complete = {name.split("/")[1] for name in ranks.outcome(run, "a run").files if name.endswith(".metadata")}
    assert complete == {"1", "3", "4"}  # 2 was the last one when rank 0 died in step 3


def test_without_restarts_the_run_fails() -> None:
    """No attempt came to its end, and the message says so."""
    with pytest.raises(AssertionError, match="a run: Rank 0 ended with exit code 1"):
        ranks.outcome(ran(KILL="1 2"), "a run")


TWO = sealed(attempts=[[0, 0]])
FORGED = str.maketrans("01", "10")
WATCHED = {"rank0/watch-0.txt": sealed(ended=True), "rank1/watch-0.txt": "{'ended': True}"}
OTHER_BETAS = {
    "rank0/watch-0.txt": sealed(ended=True, betas=[[0.9, 0.999], []]),
    "rank1/watch-0.txt": sealed(ended=True, betas=[[0.9, 0.999], [0.9, 0.95]]),
}


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (left({"attempts.txt": TWO}), "no rank wrote the file"),
        (left({"attempts.txt": TWO, "rank0/weights.pt": {}, "rank1/weights.pt": {}}), "only rank 0 saves"),
        (left({"attempts.txt": TWO, "rank0/weights.pt": {"w": "<DTensor>"}}), "full_state_dict"),
        (left({"attempts.txt": TWO, "rank0/weights.pt": {}}), "rank 0 ended before the end of the script"),
        (left({"attempts.txt": TWO, "rank0/weights.pt": {}, **WATCHED}), "rank 1 ended before the end of the script"),
        (
            left({"attempts.txt": TWO, "rank0/weights.pt": {}, **OTHER_BETAS}),
            r"rank 1 has betas \[0.9, 0.95\]",
        ),
        (left({"attempts.txt": TWO.translate(FORGED), "rank0/weights.pt": {}}), "disturbed the process"),
        (left({}, "Rank 0 ended with exit code 1.", "KeyError: 'CONFIG'"), "CONFIG is a variable of the environment"),
        (left({}, "It failed.", "KeyError: 'x'\nExtension modules: numpy"), "It failed. KeyError: 'x'$"),
        (
            left({}, "It failed.", '  File "script.py", line 3, in <module>\n    {}["x"]\nKeyError: \'x\''),
            r"It failed. KeyError: 'x' \(line 3\)$",
        ),
        (left({}, "It failed.", "RuntimeError: … must have the same dtype"), "for the blocks too"),
        (left({"common/r0/4/__0_0.distcp": "", "common/r1/4/__1_0.distcp": ""}, "It failed."), "a folder of its own"),
        (left({"common/4/__0_0.distcp": "", "common/4/__1_0.distcp": ""}, "It failed."), "It failed.$"),
    ],
)
def test_what_is_missing_is_named(run: Run, words: str) -> None:
    """The message says what the ranks did not leave, or what may have gone wrong."""
    with pytest.raises(AssertionError, match=words):
        ranks.outcome(run, "a run")


def test_memory_adds_up_over_time() -> None:
    """Allocations and releases in µs and bytes become ms and MB in use."""
    times, levels = pictures.memory_curve([(1000.0, 2_000_000), (3000.0, 1_000_000), (4000.0, -2_000_000)])
    assert (times, levels) == ([0.0, 2.0, 3.0], [2.0, 3.0, 1.0])
