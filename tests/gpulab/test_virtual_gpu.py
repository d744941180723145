"""The simulated GPU: where tensors lie, what waits for what, and that every clock of Python's is its own."""

from __future__ import annotations

import datetime
import statistics
import threading
import time
import timeit
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.benchmark import Timer

from gpulab import device, measure, synchronize, virtual_gpu
from gpulab.backend import Backend, use
from gpulab.check.services import Undeclared

COPY_S, LAUNCH_S, HOST_S = 5e-3, 1e-6, 1e-4


class Plain:
    """A machine on which every kernel and transfer takes 5 ms, and other work 0.1 ms."""

    def __init__(self) -> None:
        self.now, self.free, self.seen = 0.0, 0.0, []  # type: ignore[var-annotated]
        self.events: dict[int, float] = {}

    def run(self, operations: list[list[Any]]) -> float:
        value = 0.0
        for name, *rest in operations:
            self.seen.append([name, *rest])
            if name in ("copy", "touch", "matmul", "h2d", "d2h"):
                self.now += LAUNCH_S
                self.free = max(self.now, self.free) + COPY_S
                if name in ("h2d", "d2h") and not (rest[2] and rest[3]):
                    self.now = self.free
            elif name in ("wait", "sync event"):
                self.now = max(self.now, self.free)
            elif name == "record":
                self.events[rest[0]] = max(self.now, self.free)
            elif name == "elapsed":
                value = 1e3 * (self.events[rest[1]] - self.events[rest[0]])
            elif name in ("done", "idle"):
                value = float(self.free <= self.now)
            elif name == "sleep":
                self.now += rest[0]
            elif name == "clock":
                self.now += 1e-8
                value = self.now
            else:
                self.now += HOST_S
        return value

    def names(self) -> list[str]:
        return [one[0] for one in self.seen if one[0] not in ("clock", "free")]


@pytest.fixture
def machine() -> Iterator[Plain]:
    plain = Plain()
    with virtual_gpu.running(plain):
        yield plain


def test_tensors_lie_where_they_are_made_and_moved(machine: Plain) -> None:
    here = torch.ones(8, device=device())
    assert (device().type, here.is_cuda, here.device.type) == ("cuda", True, "cuda")
    places = {
        "view": here[2:].view(-1), "clone": here.clone(), "sum": here + 1, "like": torch.empty_like(here),
        "tensor": torch.tensor([1.0], device="cuda"), "to": torch.ones(2).to("cuda"), "cuda": torch.ones(2).cuda(),
        "product": torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda"),
    }  # fmt: skip
    assert [name for name, one in places.items() if not one.is_cuda] == []
    home = {"cpu": here.cpu(), "to": here.to("cpu", torch.float64), "like": torch.zeros_like(here, device="cpu")}
    assert [name for name, one in home.items() if one.is_cuda] == []
    with torch.device("cuda"):
        assert torch.zeros(3).is_cuda


def test_values_are_real(machine: Plain) -> None:
    left = torch.arange(6.0, device="cuda").reshape(2, 3)
    product = (left @ left.T).cpu()
    np.testing.assert_array_equal(product.numpy(), [[5, 14], [14, 50]])
    assert left.sum().item() == 15
    with pytest.raises(TypeError, match=r"Tensor\.cpu"):
        left.numpy()


def test_random_numbers_are_drawn_on_it(machine: Plain) -> None:
    first, second = (
        torch.randn(3, device="cuda", generator=torch.Generator(device="cuda").manual_seed(7)) for _ in range(2)
    )
    assert first.is_cuda and torch.equal(first, second)


def test_two_places_do_not_mix(machine: Plain) -> None:
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(3, device="cuda") + torch.ones(3)


def test_pinned_memory_is_known_as_such(machine: Plain) -> None:
    host, there = torch.zeros(8, pin_memory=True), torch.zeros(8, device="cuda")
    one = torch.zeros(1)
    assert host.is_pinned() and host[1:].is_pinned() and torch.zeros(8).pin_memory().is_pinned()
    assert not torch.zeros(8).is_pinned() and not host.clone().is_pinned()
    machine.seen.clear()
    there.copy_(host, non_blocking=True)
    host.copy_(there)
    there.copy_(torch.zeros(8))
    there.copy_(one.expand(8))
    one.expand(8).to("cuda")
    time.perf_counter()  # a question; with it goes what was not told yet
    transfers = [one[:5] for one in machine.seen if one[0] in ("h2d", "d2h")]
    assert transfers == [
        ["h2d", 0, 32, True, True], ["d2h", 0, 32, True, False], ["h2d", 0, 32, False, False],
        ["h2d", 0, 4, False, False], ["h2d", 0, 4, False, False],
    ]  # fmt: skip


def test_a_product_tells_its_flops_type_equal_elements_and_tf32(machine: Plain) -> None:
    left, equal = torch.arange(24.0, device="cuda").view(4, 6), torch.ones(4, 4, device="cuda")
    square = left[:, :4].contiguous()
    before = torch.backends.cuda.matmul.fp32_precision
    machine.seen.clear()
    left @ left.T
    torch.bmm(left[None, :, :4], left[None, :, 2:])
    torch.nn.functional.linear(square.half(), equal.T.half())
    with torch.inference_mode():
        torch.einsum("ij,jk->ik", square, torch.zeros_like(equal))
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        square @ equal
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
    time.perf_counter()
    products = [one[2:6] for one in machine.seen if one[0] == "matmul"]
    assert products == [
        [192, "other", False, False], [128, "float32", False, False], [128, "float16", True, False],
        [128, "float32", True, False], [128, "float32", True, True],
    ]  # fmt: skip


def test_factors_that_are_no_random_data_are_told(machine: Plain) -> None:
    """One number among zeros, two values, numbers in order or repeated; few numbers at random are random data."""
    place = device()
    one = torch.zeros(96, 96, device=place)
    one[0, 0] = 1
    in_order = torch.arange(96 * 96.0, device=place).reshape(96, 96)
    orderly = [one, torch.eye(96, device=place), in_order, -in_order, in_order % 2, in_order.to(torch.bfloat16)]
    normal = torch.randn(96, 96, device=place)
    orderly += [normal[:1].repeat(96, 1), normal * (in_order % 8 == 0), normal[:1].repeat(96, 1).bfloat16()]
    drawn = [normal, torch.relu(normal), torch.randint(0, 3, (96, 96), device=place).float(), normal.bfloat16()]
    for left in (*orderly, *drawn):
        left @ left
        left @ left[:, :2]
    time.perf_counter()  # which the machine hears of with all that went before
    told = [one[4] for one in machine.seen if one[0] == "matmul"]
    assert told == [True] * 2 * len(orderly) + [False] * 2 * len(drawn)


def test_a_launch_returns_at_once_and_synchronize_waits(machine: Plain) -> None:
    source = torch.ones(8, device="cuda")
    target = torch.empty_like(source)
    synchronize()
    start = time.perf_counter()
    target.copy_(source)
    launched = time.perf_counter() - start
    synchronize()
    assert (launched, time.perf_counter() - start) == (
        pytest.approx(LAUNCH_S, rel=0.1),
        pytest.approx(COPY_S, rel=0.01),
    )


def test_every_clock_shows_the_same_time(machine: Plain) -> None:
    work = torch.ones(8, device="cuda")
    other = torch.empty_like(work)
    clocks = [time.perf_counter, time.monotonic, time.time, time.process_time, timeit.default_timer]
    clocks += [lambda: time.perf_counter_ns() / 1e9, lambda: datetime.datetime.now().timestamp()]
    found = []
    for clock in clocks:
        synchronize()
        start = clock()
        other.copy_(work)
        synchronize()
        found.append(clock() - start)
    assert found == [pytest.approx(COPY_S, rel=0.01)] * len(clocks)


def test_events_timers_and_the_course_agree(machine: Plain) -> None:
    source = torch.ones(8, device="cuda")
    target = torch.empty_like(source)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    target.copy_(source)
    end.record()
    with pytest.raises(RuntimeError, match="must be completed"):
        begin.elapsed_time(end)
    end.synchronize()
    repeated = timeit.repeat(lambda: (target.copy_(source), synchronize()), number=2, repeat=3)
    found = [
        begin.elapsed_time(end) / 1e3,
        measure(target.copy_, source, runs=5).median_ms / 1e3,
        Timer("b.copy_(a)", globals={"a": source, "b": target}).blocked_autorange(min_run_time=0.1).median,
        statistics.median(repeated) / 2,
    ]
    assert found == [pytest.approx(COPY_S, rel=0.01)] * 4


def test_sleep_takes_simulated_time_only(machine: Plain) -> None:
    start = time.perf_counter()
    time.sleep(3600)
    assert time.perf_counter() - start == pytest.approx(3600)


def test_everything_is_as_before_afterwards() -> None:
    names = [(time, name) for name in ("perf_counter", "sleep", "time_ns")]
    names += [(torch.cuda, name) for name in ("is_available", "synchronize", "Event")]
    names += [(timeit, "default_timer"), (datetime, "datetime"), (torch.accelerator, "synchronize")]
    before = [getattr(module, name) for module, name in names]
    with pytest.raises(ZeroDivisionError), virtual_gpu.running(Plain()):
        assert all(getattr(module, name) is not one for (module, name), one in zip(names, before, strict=True))
        raise ZeroDivisionError
    assert [getattr(module, name) for module, name in names] == before
    assert not torch.ones(3).is_cuda
    assert timeit.Timer.__init__.__defaults__[2] is time.perf_counter  # type: ignore[index]


def test_a_clock_imported_by_name_before_is_simulated_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process, a notebook's cells have run long before the test's."""
    import __main__

    monkeypatch.setattr(__main__, "stopwatch", time.perf_counter, raising=False)
    with virtual_gpu.running(Plain()):
        start = __main__.stopwatch()
        time.sleep(3600)
        assert __main__.stopwatch() - start == pytest.approx(3600)
    assert __main__.stopwatch is time.perf_counter


def test_running_is_a_need() -> None:
    needs = Backend(services=frozenset({"counting"}))
    with use(needs), pytest.raises(Undeclared, match="virtual_gpu"), virtual_gpu.running(Plain()):
        pass


def test_other_threads_keep_the_real_clock() -> None:
    """A kernel's own threads sleep in loops: on the virtual clock that would take no time, and make hours pass."""
    spins: list[float] = []
    stop = threading.Event()

    def poll() -> None:
        while not stop.is_set():
            time.sleep(0.01)
            spins.append(time.perf_counter())

    poller = threading.Thread(target=poll)
    before = time.perf_counter()
    with virtual_gpu.running(Plain()):
        poller.start()
        start = time.perf_counter()
        while len(spins) < 3:
            stop.wait(0.001)
        elapsed = time.perf_counter() - start
    stop.set()
    poller.join()
    assert elapsed < 0.01
    assert spins[0] >= before


def test_what_is_waited_for_last_is_told_too() -> None:
    machine = Plain()
    with virtual_gpu.running(machine):
        torch.zeros(8, device="cuda").clone()
        synchronize()
    assert machine.names()[-2:] == ["copy", "wait"]


def test_a_long_run_of_waits_looks_at_no_clock(machine: Plain) -> None:
    value = torch.zeros(8, device="cuda")
    begin = time.perf_counter()
    machine.seen.clear()
    for _ in range(700):
        value.clone()
        synchronize()
    end = time.perf_counter()
    assert [one[0] for one in machine.seen].count("clock") == 1
    assert end - begin > 700 * COPY_S
