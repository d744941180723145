"""Where packages come from on this machine: what `make` tells uv of pip's settings, for tests that install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def settings(folder: Path) -> dict[str, str]:
    """Variables for uv, by the words of the Makefile: UV_DEFAULT_INDEX and SSL_CERT_FILE, as far as they are set.

    Args:
        folder: to work in.
    """
    rules = folder / "index.mk"
    rules.write_text(f"include {ROOT / 'Makefile'}\nVENV := {sys.prefix}\nshow:\n\t@$(SETTINGS); env\n")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--silent", f"--file={rules}", "show"]
    done = subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, timeout=60, check=True)
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return {name: told[name] for name in ("UV_DEFAULT_INDEX", "SSL_CERT_FILE") if name in told}
