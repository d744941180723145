"""Which notebook host or system this is, and what that means. Only the standard library is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Host:
    """A service that runs notebooks in a browser."""

    name: str
    variable: str
    """An environment variable that is set there and nowhere else."""
    gpu: str
    """Where its users choose a GPU."""


HOSTS = (
    Host("Google Colab", "COLAB_RELEASE_TAG", 'In the menu: "Runtime", "Change runtime type", then a GPU.'),
    Host("Kaggle", "KAGGLE_KERNEL_RUN_TYPE", 'On the right: "Session options", "Accelerator", then a GPU.'),
    Host("Binder", "BINDER_LAUNCH_HOST", "Binder has none: use another host for the points that need one."),
    Host("JupyterHub", "JUPYTERHUB_USER", '"File", "Hub Control Panel" shows the servers that you may start.'),
)


def this_host(environment: Mapping[str, str] = os.environ) -> Host | None:
    """The host that set these variables; None on an ordinary machine."""
    return next((host for host in HOSTS if host.variable in environment), None)


def needs_unix(what: str) -> None:
    """Stops what only Linux and macOS can do.

    Args:
        what: the subject of the message, in the plural.

    Raises:
        OSError: this is Windows; one line says what to do.
    """
    if sys.platform == "win32":
        raise OSError(f"{what} need Linux or macOS. On Windows, open the course in WSL 2.")
