"""`python -m gpulab.doctor`: what the chapters need and what this machine has, as plain lines. Exits with 1 on an ✗."""

from __future__ import annotations

import sys

from gpulab.doctor import looks

MARKS = {"good": "✓", "fair": "–", "bad": "✗"}


def main() -> None:
    """Prints one line per thing looked at, and below it what to do."""
    rows = looks.examine(looks.of_chapters())
    width = max(len(row.what) for row in rows)
    for row in rows:
        print(f"{MARKS[row.state]} {row.what:{width}}  {row.found}")
        if row.remedy:
            print(f"{'':{width + 3}} {row.remedy}")
    if any(row.state == "bad" for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
