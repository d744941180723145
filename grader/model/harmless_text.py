"""Text of other people's so that a terminal shows it: what could drive the terminal is written as an escape."""

from __future__ import annotations

import unicodedata


def printable(name: str, kept: str = "") -> str:
    """The name with everything that could disturb a terminal or a table written as an escape.

    Args:
        name: of a person, a file, or whatever else came from outside.
        kept: characters that stay as they are although they would be written as escapes.
    """
    return "".join(
        char if char in kept or _harmless(char) else char.encode("unicode_escape", "backslashreplace").decode()
        for char in name
    )


def printable_text(text: str) -> str:
    """The same for text of several lines."""
    return printable(text, kept="\n\t")


def _harmless(char: str) -> bool:
    if char in "\u200c\u200d":  # joiners: Persian and Indic names need them
        return True
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
