"""Serves this machine's GPU metrics to Prometheus: `python -m gpulab.exporter`, for machines without NVIDIA's DCGM.

    python -m gpulab.exporter               http://127.0.0.1:9401/metrics, until Ctrl-C
    python -m gpulab.exporter --once        prints the page and ends

The numbers come from NVML, as those of nvidia-smi do; the text is made by `prometheus_client`. Without a driver the
page says that there are no GPUs, and the command says why. What a training knows about itself is that training's
business.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

ADDRESS, PORT = "127.0.0.1", 9401
LABELS = ("gpu", "uuid", "name")


@dataclass(frozen=True)
class GpuMetric:
    """One number that a GPU can be asked for."""

    name: str
    """As in the page; a counter's without its `_total`."""
    words: str
    ask: Callable[[Any, Any], float]
    """From NVML and a GPU's handle to the value in the unit that the name says."""
    counter: bool = False


def _memory(nvml: Any, handle: Any) -> Any:
    """Memory as nvidia-smi counts it, without what the driver keeps for itself; old drivers cannot tell them apart."""
    try:
        return nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    except nvml.NVMLError:
        return nvml.nvmlDeviceGetMemoryInfo(handle)


METRICS = (
    GpuMetric(
        "gpulab_gpu_utilization_ratio",
        "Share of the last moments in which at least one kernel ran.",
        lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
    ),
    GpuMetric(
        "gpulab_gpu_memory_used_bytes",
        "Memory that processes hold.",
        lambda nvml, handle: float(_memory(nvml, handle).used),
    ),
    GpuMetric(
        "gpulab_gpu_memory_total_bytes",
        "Memory that there is.",
        lambda nvml, handle: float(_memory(nvml, handle).total),
    ),
    GpuMetric(
        "gpulab_gpu_power_watts",
        "Power drawn now.",
        lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
    ),
    GpuMetric(
        "gpulab_gpu_power_limit_watts",
        "Power that it may draw.",
        lambda nvml, handle: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1e3,
    ),
    GpuMetric(
        "gpulab_gpu_energy_joules",
        "Energy used since the driver was loaded.",
        lambda nvml, handle: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3,
        counter=True,
    ),
    GpuMetric(
        "gpulab_gpu_temperature_celsius",
        "Temperature of the chip.",
        lambda nvml, handle: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
    ),
    GpuMetric(
        "gpulab_gpu_sm_clock_hertz",
        "Clock of the SMs.",
        lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6,
    ),
    GpuMetric(
        "gpulab_gpu_processes",
        "Processes that compute on it, as far as this machine may see them.",
        lambda nvml, handle: float(len(nvml.nvmlDeviceGetComputeRunningProcesses(handle))),
    ),
)


class Gpus(Collector):
    """Asks NVML anew at every visit. A metric that a GPU does not have is left out for it.

    Args:
        nvml: the module `pynvml`, or something that answers like it.
    """

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._turn = threading.Lock()

    def collect(self) -> Iterator[Metric]:
        """The families of the page."""
        with self._turn, _session(self._nvml) as handles:
            yield GaugeMetricFamily("gpulab_gpus", "GPUs that the driver knows; 0 without a driver.", len(handles))
            known = [(_labels(self._nvml, gpu, handle), handle) for gpu, handle in handles]
            for figure in METRICS:
                kind = CounterMetricFamily if figure.counter else GaugeMetricFamily
                family = kind(figure.name, figure.words, labels=LABELS)
                for labels, handle in known:
                    with contextlib.suppress(self._nvml.NVMLError):
                        family.add_metric(labels, figure.ask(self._nvml, handle))
                if family.samples:
                    yield family


@contextlib.contextmanager
def _session(nvml: Any) -> Iterator[list[tuple[int, Any]]]:
    """Numbers and handles of the GPUs while NVML is open; none where there is no driver, or it answers no more."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        yield []
        return
    try:
        yield list(_handles(nvml))
    finally:
        with contextlib.suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


def _handles(nvml: Any) -> Iterator[tuple[int, Any]]:
    """The GPUs that answer: one that has fallen off the bus must not take the others' metrics with it."""
    count = 0
    with contextlib.suppress(nvml.NVMLError):
        count = nvml.nvmlDeviceGetCount()
    for gpu in range(count):
        with contextlib.suppress(nvml.NVMLError):
            handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
            nvml.nvmlDeviceGetUUID(handle)
            nvml.nvmlDeviceGetName(handle)
            yield gpu, handle


def missing(nvml: Any = None) -> str:
    """Why there are no metrics, and what to do; empty when there are some."""
    nvml = nvml or importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return f'No NVIDIA driver answers ({error}): the page has no GPUs. "grader doctor" says what to do.'
    with contextlib.suppress(nvml.NVMLError):
        nvml.nvmlShutdown()
    with _session(nvml) as handles:
        return "" if handles else 'The driver answers, but shows no GPU: the page has none. "nvidia-smi" says more.'


def _labels(nvml: Any, gpu: int, handle: Any) -> tuple[str, str, str]:
    return str(gpu), _text(nvml.nvmlDeviceGetUUID(handle)), _text(nvml.nvmlDeviceGetName(handle))


def _text(value: str | bytes) -> str:
    """Older bindings answer in bytes."""
    return value.decode() if isinstance(value, bytes) else value


def registry(nvml: Any = None) -> CollectorRegistry:
    """What the server serves.

    Args:
        nvml: as for `Gpus`; `pynvml` when left out.
    """
    found = CollectorRegistry()
    found.register(Gpus(nvml or importlib.import_module("pynvml")))
    return found


def page(nvml: Any = None) -> str:
    """The page as it is now."""
    return generate_latest(registry(nvml)).decode("utf-8")


def _port(text: str) -> int:
    """A port's number, from what somebody typed."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 0 to 65535 is wanted")
    return int(text)


def _remedy(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "This machine has no such address: leave --address out, or give one of its own."
    if error.errno == errno.EACCES:
        return "Ports below 1024 belong to root: choose another with --port."
    return f"Is another exporter running? Choose another port with --port; {PORT} is ours, 9400 DCGM's."


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpulab.exporter", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--address", default=ADDRESS, help="to listen on; 0.0.0.0 for the whole network (default: %(default)s)"
    )
    parser.add_argument("--port", type=_port, default=PORT, help="to listen on, 0 for any (default: %(default)s)")
    parser.add_argument("--once", action="store_true", help="print the page and end")
    chosen = parser.parse_args(arguments)
    if trouble := missing():
        print(trouble, file=sys.stderr)
    if chosen.once:
        print(page(), end="")
        return 0
    try:
        server, thread = start_http_server(chosen.port, addr=chosen.address, registry=registry())
    except OSError as error:
        print(f"Cannot listen on {chosen.address}:{chosen.port}: {error.strerror}. {_remedy(error)}", file=sys.stderr)
        return 2
    print(f"http://{chosen.address}:{server.server_port}/metrics, until Ctrl-C", flush=True)
    try:
        thread.join()
    except KeyboardInterrupt:
        server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
