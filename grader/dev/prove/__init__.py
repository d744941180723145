"""Runs the whole course on this machine's GPU and writes the evidence: `grader prove`.

`steps` does the work, one chunk after the other, each kept in a file of its own, so that they can be run one by one;
`claimed_numbers` measures what the course claims, `counts` compares the tracer with Nsight Compute, `nsight` keeps
what both of NVIDIA's profilers say; `report` writes all results; `bundle` carries it to a tree that has no GPU.
"""

from __future__ import annotations

from grader.dev.prove.run import StepResult, prove

__all__ = ["StepResult", "prove"]
