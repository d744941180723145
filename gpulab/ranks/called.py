"""One rank of `launch.ranks`: reads the function and its arguments, calls the function, and leaves result and report.

The report says what the rank has sent (`messages`). It is sealed with a key that is taken before anything of the
student's is unpickled, so neither the function nor another rank can leave a report of its own in its place.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from gpulab.ranks import messages, packing, seals

GIVEN, RETURNED, REPORT = "in", "out", "sent"
"""The endings of the files of a rank: the pickled function with its arguments, its pickled result, and its report."""
PERTURB = "GPULAB_PERTURB"
"""In the environment of a rank: what it adds to what it sends."""
SCALE = "GPULAB_SCALE"
"""Likewise: the key of what the numbers that it is given are multiplied by (`packing.multiplied`)."""
PROGRAM = "from gpulab.ranks import called\ncalled.run()\n"
"""What a rank runs. `ranks.processes` knows the line in which it calls the function."""


def run() -> None:
    """Runs the function of this rank in a gloo group with the others."""
    import cloudpickle
    import torch
    import torch.distributed as dist

    seal, dumps = seals.take(), json.dumps  # as they are before a function runs, which may replace them
    perturb, scale = (float(os.environ.pop(name, plain)) for name, plain in ((PERTURB, "0"), (SCALE, "1")))
    torch.set_num_threads(1)
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    folder = Path.cwd()
    packed = (folder / f"{rank}.{GIVEN}").read_bytes()
    (folder / f"{rank}.{GIVEN}").unlink()
    dist.init_process_group("gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=world_size)
    dist.barrier()  # from here on, no rank finds what another one is given
    numbers = messages.numbers_in(packed)  # before anything in there runs
    (function, given), scaled = packing.loads(packed, scale)
    sent = messages.count(perturb)
    result = function(rank, world_size, *given)
    (folder / f"{rank}.{RETURNED}").write_bytes(cloudpickle.dumps(result))
    (folder / f"{rank}.{REPORT}").write_text(
        seal({"sent": dumps({**sent, "given": numbers, "scaled": scaled})}), encoding="utf-8"
    )
    dist.barrier()
    dist.destroy_process_group()
