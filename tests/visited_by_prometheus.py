"""Lets a real Prometheus visit pages: serves them on loopback, starts the server, asks what it has read, stops it.

Whether a page is valid is the server's word here.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMAND = "prometheus"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PATIENCE_S = 20.0
"""A server on a busy machine takes some seconds until its first visit."""

_ADDED = ("__name__", "job", "instance")
"""Labels that are the server's, not the page's."""

_CONFIGURATION = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: page
    static_configs: [{{targets: [{targets}]}}]
"""


@dataclass(frozen=True)
class Visit:
    """What a server has made of a page; `str` tells it in a few lines."""

    up: bool
    """Whether it could read the page."""
    values: dict[tuple[str, frozenset[tuple[str, str]]], float] = field(default_factory=dict)
    """Time series (name and labels, without those that the server adds) → value."""
    error: str = ""
    """Why it could not."""
    answer: list[str] = field(default_factory=list)
    """To the question: a line for each time series of this page."""
    skipped: bool = False
    """There is no server on this machine."""

    def __str__(self) -> str:
        if self.skipped:
            return f"There is no {COMMAND} on this machine, so nobody came. (Debian and Ubuntu: apt install prometheus)"
        if not self.up:
            return f"Prometheus came, and could not read the page. It kept nothing of it: up = 0.\n  {self.error}"
        lines = [f"Prometheus came and kept {len(self.values)} time series:"]
        for (name, labels), value in list(self.values.items())[:8]:
            inside = ", ".join(f"{key}={text!r}" for key, text in sorted(labels))
            lines.append(f"  {name} {{{inside}}} → {value!r}" if inside else f"  {name} → {value!r}")
        return "\n".join(lines)


def installed() -> bool:
    """Whether this machine has a Prometheus."""
    return shutil.which(COMMAND) is not None


def page_of_lines(lines: int, wrong: int) -> str:
    """A page of that many lines; in line number `wrong`, counted from 0, a quote is not escaped."""
    rows = (f'demo_value{{line="{at}"}} {at}' for at in range(lines))
    return "".join(row.replace(f'"{wrong}"', f'"{wrong}" here"') + "\n" for row in rows)


def visits(*pages: str, question: str = "") -> list[Visit]:
    """What one Prometheus keeps of each of these pages, and what it then answers to a question.

    It takes about 6 s, whatever is asked: a server that starts looks for its targets after 5.

    Args:
        pages: texts to be visited, each at a port of its own.
        question: in PromQL; of the answer, each visit gets what comes from its page.

    Raises:
        RuntimeError: the server does not start, does not come by in time, or does not understand the question.
    """
    if not installed():
        return [Visit(up=False, skipped=True) for _ in pages]
    with _visiting(pages) as (port, up):
        answers = _answers(port, question) if question else {}
        seen = [_visit(port, target, came) for target, came in up.items()]
        return [replace(one, answer=answers.get(target, [])) for one, target in zip(seen, up, strict=True)]


@contextlib.contextmanager
def serving(page: str) -> Iterator[int]:
    """Serves the page at `/metrics` on a free port of 127.0.0.1 meanwhile; gives the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = page.encode("utf-8")
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: Any) -> None:
            """Nothing: a notebook is no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def _visiting(pages: Sequence[str]) -> Iterator[tuple[int, dict[str, bool]]]:
    """Runs a server meanwhile that has visited these pages: its port, and page by page whether it could read it."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpulab-prometheus-")))
        targets = [f"127.0.0.1:{stack.enter_context(serving(page))}" for page in pages]
        quoted = ", ".join(f'"{target}"' for target in targets)
        (folder / "prometheus.yml").write_text(_CONFIGURATION.format(targets=quoted), encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]  # free now; a server that finds it taken ends at once, and we say so
        command = [COMMAND, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
        command += [f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=1h", "--log.level=warn"]
        log = folder / "log"
        with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, cwd=folder) as server:
            try:
                yield port, _came(server, port, targets, log)
            finally:
                server.terminate()
                try:
                    server.wait(10)
                except subprocess.TimeoutExpired:
                    server.kill()


def _came(server: subprocess.Popen[bytes], port: int, targets: Sequence[str], log: Path) -> dict[str, bool]:
    """Waits until the server has visited all pages."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and server.poll() is None:
        time.sleep(0.1)
        try:
            found = _ask(port, "query", query='up{job="page"}')["result"]
        except (OSError, ValueError):
            continue  # not listening yet, or listening and not ready
        if len(found) == len(targets):
            up = {one["metric"]["instance"]: float(one["value"][1]) == 1 for one in found}
            return {target: up[target] for target in targets}
    told = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
    ended = "did not come by in time" if server.poll() is None else f"ended with {server.poll()}"
    raise RuntimeError(f"{COMMAND} {ended}. Its last words: {' | '.join(told) or 'none'}")


def _visit(port: int, target: str, up: bool) -> Visit:
    if not up:
        known = _ask(port, "targets")["activeTargets"]
        return Visit(up=False, error=next(one["lastError"] for one in known if one["labels"]["instance"] == target))
    kept = {}
    for one in _ask(port, "query", query=f'{{instance="{target}",__name__!~"up|scrape_.*"}}')["result"]:
        labels = {key: text for key, text in one["metric"].items() if key not in _ADDED}
        kept[one["metric"]["__name__"], frozenset(labels.items())] = float(one["value"][1])
    return Visit(up=True, values=kept)


def _answers(port: int, question: str) -> dict[str, list[str]]:
    """Of the answer to a question a line for each time series, by target, without the labels that the server adds."""
    try:
        found = _ask(port, "query", query=question)["result"]
    except urllib.error.HTTPError as error:
        told = json.load(error).get("error", error.reason)
        raise RuntimeError(f"{COMMAND} does not understand {question!r}: {told}") from None
    answers: dict[str, list[str]] = {}
    for one in found:
        labels = {key: text for key, text in sorted(one["metric"].items()) if key not in _ADDED}
        line = " ".join(f"{key}={text!r}" for key, text in labels.items())
        answers.setdefault(one["metric"].get("instance", ""), []).append(f"{line} → {one['value'][1]}")
    return answers


def _ask(port: int, what: str, **parameters: str) -> Any:
    """The server's answer. No proxy of this machine's has a say in it."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    address = f"http://127.0.0.1:{port}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
    with opener.open(address, timeout=2) as answer:
        return json.load(answer)["data"]
