"""The results of a small class, for tests of what is shown of them."""

from __future__ import annotations

import io
from dataclasses import replace

from recorded_class import judged
from rich.console import Console

from gpulab.check.outcomes import Mismatch
from grader.model.results import Verdict
from grader.report import class_table

NEEDS_GPU = judged("bandwidth_gpu", Verdict.NEEDS_GPU, message="Runs on a GPU only: 3 points pending.")
PARTIAL = replace(
    judged("KINDS_test", Verdict.PARTIAL, 1.75, "KINDS: 7 of 8 right.\n  'b': you said 'x'. No."),
    mismatches=(Mismatch("'b'", "'x'", "'y'", "No."),),
)
EVIL = "<script>alert(1)</script>"


def fault(text, *mismatches, grade_id="double_test"):
    return replace(judged(grade_id, Verdict.FAILED, message=text), mismatches=mismatches)


def added(number):
    """The fault of an answer that adds 2."""
    text = f"double({number}): you returned {number + 2}, expected {2 * number}. You added 2."
    mismatch = Mismatch(f"double({number})", str(number + 2), str(2 * number), "You added 2.")
    return fault(text, mismatch)


def printed(results, width):
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(class_table.table(results))
    return text.getvalue()
