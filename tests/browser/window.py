"""A real browser window and a real Jupyter server for it, for tests of what people see; screenshots of both.

Debian's Chromium, without a window. Where it is missing a test is skipped on a developer's machine and fails in CI.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

ROOT = Path(__file__).resolve().parents[2]
SCREENS = ROOT / "work" / "test" / "screens"
SIZE = (1280, 900)
INSTALL = "apt-get install chromium chromium-driver"


def browser() -> tuple[str, str]:
    """Paths of Chromium and its driver.

    Fails in CI and skips elsewhere when one of them is missing.
    """
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if chromium and driver:
        return chromium, driver
    missing = " and ".join(name for name, path in (("chromium", chromium), ("chromedriver", driver)) if not path)
    told = f"no {missing} on this machine: {INSTALL}"
    if os.environ.get("GPULAB_BROWSER") == "required":
        pytest.fail(f"{told}. In CI the browser tests are not skipped.", pytrace=False)
    pytest.skip(told)


class Window:
    """One browser window, with patience."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, what: str, found: Callable[[], Any], seconds: float = 40) -> Any:
        """What `found` gives, as soon as it gives something; fails with a screenshot when it never does."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if value := found():
                    return value
            except (StaleElementReferenceException, WebDriverException) as error:
                last = type(error).__name__
            else:
                last = "nothing"
            if time.monotonic() > deadline:
                self.shoot("99_failed")
                pytest.fail(f"no {what} within {seconds:g} s ({last}); see {SCREENS / '99_failed.png'}")
            time.sleep(0.1)

    def element(self, selector: str, text: str = "", seconds: float = 40) -> WebElement:
        """The first visible element with this text in it."""

        def found() -> WebElement | None:
            return next((one for one in self.all(selector) if one.is_displayed() and text in one.text), None)

        element: WebElement = self.wait(f"{selector} {text!r}", found, seconds)
        return element

    def click(self, selector: str, text: str = "", seconds: float = 40) -> None:
        def clicked() -> bool:
            self.element(selector, text, seconds).click()
            return True

        self.wait(f"{selector} {text!r} to click on", clicked, seconds)

    def keys(self, *keys: str) -> None:
        """Presses keys together, wherever the page's focus is."""
        chain = ActionChains(self.driver)
        for key in keys[:-1]:
            chain.key_down(key)
        chain.send_keys(keys[-1])
        for key in keys[:-1]:
            chain.key_up(key)
        chain.perform()

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script in the page returns, once its promise is kept."""
        return self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; const given = Array.from(arguments).slice(0, -1);"
            f"(async () => {{ {script} }})()"
            ".then(done, error => done('error: ' + error));",
            *arguments,
        )

    def shoot(self, name: str, whole_page: bool = False) -> Path:
        """A screenshot, kept for people to look at; of the whole page if asked, not only of what the window shows."""
        SCREENS.mkdir(parents=True, exist_ok=True)
        path = SCREENS / f"{name}.png"
        if whole_page:
            height = self.driver.execute_script("return document.documentElement.scrollHeight")
            self.driver.set_window_size(SIZE[0], min(int(height) + 120, 6000))
        self.driver.save_screenshot(str(path))
        if whole_page:
            self.driver.set_window_size(*SIZE)
        assert path.stat().st_size > 5000, "an empty picture"
        return path

    def complaints(self) -> list[str]:
        """What the page has logged as errors since the last look."""
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]


@contextmanager
def window(home: Path) -> Iterator[Window]:
    """A window of its own."""
    chromium, driver = browser()
    options = Options()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",  # CI runs as root; pages are our own
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--force-device-scale-factor=1",
        "--lang=en-US",
        f"--user-data-dir={home / 'profile'}",
        f"--window-size={SIZE[0]},{SIZE[1]}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(driver, log_output=str(home / "driver.log"), env={**os.environ, "HOME": str(home)})
    chrome = webdriver.Chrome(options=options, service=service)
    try:
        chrome.set_script_timeout(120)
        yield Window(chrome)
    finally:
        chrome.quit()


@dataclass(frozen=True)
class Server:
    """A running Jupyter server."""

    folder: Path
    address: str
    token: str

    def at(self, path: str) -> str:
        """An address that logs in."""
        return f"{self.address}/{path}?token={self.token}"


@contextmanager
def server(folder: Path, command: Sequence[str], variables: dict[str, str]) -> Iterator[Server]:
    """`command` with the arguments for a free port, in a process of its own, until it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    token = "for-this-test-only"
    arguments = f"--no-browser --port={port} --ServerApp.port_retries=0 --IdentityProvider.token={token}"
    arguments += " --LabApp.expose_app_in_browser=True"
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "JUPYTER"))
    }
    inherited["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{inherited['PATH']}"
    log = folder / "log.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            [part.replace("ARGUMENTS", arguments) for part in command]
            if any("ARGUMENTS" in part for part in command)
            else [*command, *arguments.split()],
            cwd=folder,
            env=inherited | {"HOME": str(folder / "home")} | variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + 90
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=5).close()
                    break
                except (urllib.error.URLError, ConnectionError, TimeoutError):
                    assert process.poll() is None, log.read_text()
                    assert time.monotonic() < deadline, log.read_text()
                    time.sleep(0.2)
            yield Server(folder, f"http://127.0.0.1:{port}", token)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)
