"""Confines the process that runs student code: in tiers, the strongest that the machine allows.

`tiers` orders the steps, `probe` finds out which tier a machine allows; `kernel`, `root`, `seccomp`, `landlock` and
`cgroups` know one mechanism each.
"""

from grader.sandbox.tiers import Confinement, Tier, enter, join_processes, make_box

__all__ = ["Confinement", "Tier", "enter", "join_processes", "make_box"]
