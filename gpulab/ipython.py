"""The IPython shell of this process, which a notebook's kernel has."""

from __future__ import annotations

import sys
from typing import Any


def shell() -> Any:
    """The shell that runs this process's cells; None where there is none. IPython is not imported for it."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython() if get_ipython is not None else None
