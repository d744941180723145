"""Pages from templates: every value is escaped, and nothing in a page can drive the terminal that shows its source."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader import __version__
from grader.report.class_statistics import points

TEMPLATES = Path(__file__).with_name("templates")
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
"""Control characters → Unicode's pictures of them."""
CONTROLS |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
CONTROLS |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
# Some terminals take the second row of control characters for escapes; the others turn the direction of text around.


FOUND = re.compile("[" + "".join(re.escape(chr(code)) for code in CONTROLS) + "]")


def shown(page: str) -> str:
    """The page with symbols for control characters: what a student printed may drive the terminal that shows it."""
    whole = page.encode("utf-8", "replace").decode()
    return FOUND.sub(lambda found: chr(CONTROLS[ord(found[0])]), whole)  # `translate` takes ten times as long


def rendered(template: str, **values: Any) -> str:
    """The page that a template makes of these values, with the time and the version as `made` and `version`."""
    made = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    return shown(_environment().get_template(template).render(**values, version=__version__, made=made))


@cache
def _environment() -> Environment:
    # Escaping is on for every value: names and messages are other people's words.
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["points"] = points
    return environment
