"""What the hidden tests need and no student may have: references, checkers, and what a speed is measured against.

One package per topic, named like `gpulab.chapters.<topic>`. Hidden parts of test cells import from here; visible parts
import `gpulab` only (lint checks it). None of this is in a student's process, memory, sandbox, bundle or notebook: the
fork server never imports it, because a fork inherits `sys.modules`. Judges import it after their fork, and so does the
process that runs the reference of a speedup, which alone sees this folder in its sandbox.
"""
