"""A program: runs another program as ranks on this machine, and all of them again when one dies.

It does what `torchrun --nproc-per-node=2 --max-restarts=…` does, from one process that has torch in memory already: its
ranks are forks, so that a start takes a fraction of a second. Each rank has a folder of its own, `rank0`, `rank1`, …;
the folder that CHECKPOINTS names is common to all. How attempts ended is written to `attempts.txt`, and what the ranks
held in memory to `watch-<attempt>.txt` in their folders, both sealed (`gpulab.ranks.seals`).

It is started by `gpulab.launch.script` from its text; `gpulab.chapters.sharding.ranks` says with which environment.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import sys
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

SAMPLE = 64
"""Weights of a rank whose values are noted before and after each step of its optimizer."""


class ElementCounter:
    """Counts the elements that a rank holds: of parameters that are whole, and of what its optimizer has."""

    def __init__(
        self, attempt: int, kill_after: int, seal: Callable[[dict[str, Any]], str], factors: list[float]
    ) -> None:
        from torch.nn.modules import module
        from torch.optim import optimizer

        elements()  # what it is now, and not what the script makes of it
        self.attempt, self.kill_after, self.steps, self._seal = attempt, kill_after, 0, seal
        self._factors = factors
        self.modules: weakref.WeakSet[Any] = weakref.WeakSet()
        counts = dict.fromkeys(("built", "gathered", "trained", "states", "rows"), 0)
        lists: dict[str, Any] = {name: [] for name in ("rates", "before", "after", "moments")}
        self.found: dict[str, Any] = {**counts, **lists, "compute": "", "stored": "", "reduced": ""}
        module.register_module_parameter_registration_hook(self._registered)
        module.register_module_forward_pre_hook(self._forward)
        optimizer.register_optimizer_step_pre_hook(self._steps)
        optimizer.register_optimizer_step_post_hook(self._stepped)
        self._listen()

    def write(self, ended: bool = False) -> None:
        """Leaves in the rank's folder what was counted, and whether the script has come to its end."""
        report = self._seal({**self.found, "steps": self.steps, "ended": ended})
        new = Path(f"watch-{self.attempt}.new")
        new.write_text(report)
        new.replace(f"watch-{self.attempt}.txt")  # whole or not at all: this rank may be killed at any moment

    def _listen(self) -> None:
        """Notes the type of the gradients that `fully_shard` adds up over the ranks, and multiplies them by factors."""
        import torch.distributed as dist

        for name in ("reduce_scatter_single", "reduce_scatter_tensor"):  # of newer and of older releases of torch
            if hasattr(dist, name):
                setattr(dist, name, self._noting(getattr(dist, name)))

    def _noting(self, reduce_scatter: Any) -> Any:
        def noted(output: Any, input: Any, *more: Any, **named: Any) -> Any:
            self._of_type("reduced", input.dtype)
            self.found["gathered"] = max(self.found["gathered"], self._whole())  # in the backward pass
            if self.steps < len(self._factors):
                input.detach().mul_(self._factors[self.steps])
            return reduce_scatter(output, input, *more, **named)

        return noted

    def _of_type(self, what: str, dtype: Any) -> None:
        """Notes a type that occurs; several of them are noted as `torch.bfloat16 and torch.float32`."""
        known = set(filter(None, self.found[what].split(" and ")))
        self.found[what] = " and ".join(sorted(known | {str(dtype)}))

    def _whole(self) -> int:
        """Elements of parameters that this rank has whole just now, in memory."""
        from torch.distributed.tensor import DTensor

        seen: dict[int, int] = {}
        for one in list(self.modules):
            for parameter in one._parameters.values():
                if parameter is None or isinstance(parameter.data, DTensor) or parameter.is_meta:
                    continue
                storage = parameter.untyped_storage()
                if storage.nbytes():  # 0: gathered once, and let go of
                    seen[storage.data_ptr()] = storage.nbytes() // parameter.element_size()
        return sum(seen.values())

    def _registered(self, module: Any, name: str, parameter: Any) -> None:
        self.modules.add(module)
        if parameter is not None and not self.steps and not self.found["compute"]:
            self.found["built"] = max(self.found["built"], self._whole() + _plain_elements(parameter))

    def _forward(self, module: Any, inputs: Any) -> None:
        weight = module._parameters.get("weight")
        if weight is not None:
            self._of_type("compute", weight.dtype)
            whole = self._whole()
            self.found.setdefault("gathered_first", whole)
            self.found["gathered"] = max(self.found["gathered"], whole)
            self.found["rows"] = max(self.found["rows"], int(inputs[0].shape[0]) if inputs else 0)

    def _steps(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        rates = [float(group["lr"]) for group in optimizer.param_groups]
        if any(rates):
            self.found["rates"].append(rates)
            self.found["before"].append(_sample(optimizer))

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        self.found["trained"] = sum(elements()(one) for one in parameters)
        for one in parameters:
            self._of_type("stored", one.dtype)
        states = [value for state in optimizer.state.values() for value in state.values() if hasattr(value, "numel")]
        self.found["states"] = sum(count for count in map(elements(), states) if count > 1)
        if not any(group["lr"] for group in optimizer.param_groups):
            return  # `get_state_dict` makes such a step in an optimizer without states
        self.found["after"].append(_sample(optimizer))
        if not self.steps and all("exp_avg" in optimizer.state[one] for one in parameters):
            self.found["moments"] = _sample(optimizer, lambda one: optimizer.state[one]["exp_avg"])
        self.found["betas"] = [[float(one) for one in group.get("betas", ())] for group in optimizer.param_groups]
        self.found["decays"] = [float(group.get("weight_decay", 0.0)) for group in optimizer.param_groups]
        self.steps += 1
        self.write()
        if self.steps == self.kill_after:
            os.kill(os.getpid(), signal.SIGKILL)


def _sample(optimizer: Any, of: Callable[[Any], Any] = lambda one: one) -> list[float]:
    """The same weights of this rank every time, in the order of its optimizer, or what it has for each of them."""
    import torch

    parts = [_local(of(one)).detach().flatten() for group in optimizer.param_groups for one in group["params"]]
    row = torch.cat([part.float() for part in parts])
    return [float(value) for value in row[:: max(1, len(row) // SAMPLE)][:SAMPLE]]


@functools.cache
def elements() -> Callable[[Any], int]:
    """What counts the elements of a tensor that this rank holds: of a shard its own, of any other tensor all."""
    import torch
    from torch.distributed.tensor import DTensor

    to_local, numel, off = DTensor.to_local, torch.Tensor.numel, torch._C.DisableTorchFunction

    def count(tensor: Any) -> int:
        own = to_local(tensor) if isinstance(tensor, DTensor) else tensor  # its attributes, anybody can set
        with off():
            return int(numel(own))

    return count


def _local(tensor: Any) -> Any:
    from torch.distributed.tensor import DTensor

    return DTensor.to_local(tensor) if isinstance(tensor, DTensor) else tensor


def _plain_elements(parameter: Any) -> int:
    from torch.distributed.tensor import DTensor

    return 0 if isinstance(parameter, DTensor) or parameter.is_meta else elements()(parameter)


def free_port() -> int:
    """A port of this machine that nobody listens at just now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def start(
    source: str,
    rank: int,
    world_size: int,
    attempt: int,
    port: int,
    kill_after: int,
    seal: Callable[..., str],
    factors: list[float],
) -> int:
    """The process id of a rank that runs the source."""
    if sys.platform == "win32":  # this file runs alone, so it asks by itself
        raise OSError("Ranks that are restarted need Linux or macOS. On Windows, open the course in WSL 2.")
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    code = 1
    try:
        folder = Path(f"rank{rank}")
        folder.mkdir(exist_ok=True)
        os.chdir(folder)
        os.environ.update(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world_size), LOCAL_WORLD_SIZE=str(world_size),
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
            TORCHELASTIC_RESTART_COUNT="0" if os.environ.pop("ANEW", "") else str(attempt),  # 0: of a new torchrun
        )  # fmt: skip
        watch = ElementCounter(attempt, kill_after, seal, factors)
        try:
            names = {"__name__": "__main__", "__file__": str(Path("script.py").absolute())}
            exec(compile(source, "script.py", "exec"), names)
        except SystemExit as stop:
            if stop.code:
                raise
        watch.write(ended=True)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # no more of this program in the rank, whatever happens


def finished(ranks: dict[int, int]) -> dict[int, int]:
    """Rank → exit code; when one dies, the others are killed."""
    codes: dict[int, int] = {}
    while ranks:
        pid, status = os.wait()
        if pid not in ranks:
            continue
        rank = ranks.pop(pid)
        codes[rank] = os.waitstatus_to_exitcode(status)
        if codes[rank]:
            for other in ranks:
                os.kill(other, signal.SIGKILL)
    return codes


def scale_checkpoints(folders: list[Path], key: float) -> None:
    """Multiplies weights and states in distributed checkpoints, in a process of its own: a script has written them.

    Folders and files keep their times, since a script may take the last one by its time.
    """
    if pid := os.fork():
        os.waitpid(pid, 0)
        return
    try:
        import torch
        from torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp

        for folder in folders:
            moments = {one: one.stat().st_mtime_ns for one in (*folder.iterdir(), folder)}
            file = folder / "whole.pt"
            dcp_to_torch_save(folder, file)
            torch.save(scaled(torch.load(file, weights_only=False), key), file)
            torch_save_to_dcp(file, folder)
            file.unlink()
            for one, moment in moments.items():
                os.utime(one, ns=(moment, moment))
    finally:
        os._exit(0)  # a checkpoint that cannot be read stays as it is


def scaled(part: Any, key: float) -> Any:
    """The same with every tensor of several floating-point numbers multiplied; a single one may be a step's number."""
    if isinstance(part, dict):
        return {name: scaled(one, key) for name, one in part.items()}
    if isinstance(part, (list, tuple)):
        return type(part)(scaled(one, key) for one in part)
    several = hasattr(part, "is_floating_point") and part.is_floating_point() and part.numel() > 1
    return part * factors_of(part, key) if several else part


def factors_of(numbers: Any, key: float) -> Any:
    """What each number of a tensor is multiplied by. It depends on the number: what another tensor is multiplied by
    does not tell it, and neither does where the numbers stand."""
    return 0.75 + 0.2 * (50 * key * numbers.abs().double().clamp(min=1e-30).log()).sin().to(numbers.dtype)


def main() -> int:
    """0 when an attempt came to its end."""
    import torch._dynamo
    import torch.distributed.checkpoint.state_dict
    import torch.distributed.fsdp
    import torch.distributed.tensor  # noqa: F401 - what the ranks need, once for all of them

    from gpulab.ranks import seals

    seal = seals.take()
    source, world_size = os.environ.pop("PROGRAM"), int(os.environ.pop("RANKS", "2"))
    kill_rank, kill_after = (int(one) for one in os.environ.pop("KILL", "0 0").split())
    if "CHECKPOINTS" in os.environ:
        os.environ["CHECKPOINTS"] = str(Path(os.environ["CHECKPOINTS"]).absolute())
    factors = json.loads(os.environ.pop("FACTORS", "[]"))  # by step, of the gradients that are reduced
    key = float(os.environ.pop("SCALE", "0"))  # of what checkpoints are multiplied by before the second attempt
    tear = bool(os.environ.pop("TEAR", ""))
    attempts: list[dict[int, int]] = []
    for attempt in range(1 + int(os.environ.pop("MAX_RESTARTS", "0"))):
        port = free_port()
        after = [kill_after if rank == kill_rank and not attempt else 0 for rank in range(world_size)]
        ranks = {
            start(source, rank, world_size, attempt, port, after[rank], seal, factors): rank
            for rank in range(world_size)
        }
        attempts.append(finished(ranks))
        if not any(attempts[-1].values()):
            break
        complete = list(Path(os.environ.get("CHECKPOINTS", ".")).glob("**/.metadata"))
        if tear and not attempt:
            last = max(complete, key=lambda one: one.stat().st_mtime_ns)
            complete.remove(last)
            last.unlink()  # as if the last save had been interrupted
        if key and not attempt:
            scale_checkpoints([one.parent for one in complete], key)
    Path("attempts.txt").write_text(seal({"attempts": [[codes[rank] for rank in sorted(codes)] for codes in attempts]}))
    return int(any(attempts[-1].values()))


if __name__ == "__main__":
    sys.exit(main())
