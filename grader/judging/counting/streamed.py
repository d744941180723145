"""Has simulated streams work where the exercise cannot write: the judge's side of `stream_transcript`.

The student's process gets other inputs of the same shapes, and writes down what it asks the streams to do. Another
process, which has run nothing of the student's, does it on the test's own inputs (`stream_replay`). Its timeline is the
test's, and its result must be the answer: what the host has computed from inputs that it knows is another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from grader.judging.counting.counted import other_values
from grader.judging.judge_client import BadValue, Link, ProcessEnded
from grader.processes import wire
from grader.processes.channel import Channel

NOT_STREAMED = (
    "`{name}` returned the right values, but not from its streams: copy each batch to the device with PyTorch, call "
    "work on it there, copy that result back, and return what came back."
)


@dataclass
class StreamedCalls:
    """The calls of one test cell whose timeline is looked at."""

    link: Link
    channel: Channel
    """To the process that does the work again."""
    seed: int
    _calls: int = field(default=0, init=False)

    def call(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What `Link.call` gives while a test looks at the timeline.

        Raises:
            StudentError, BadValue, TooSlow, ProcessEnded: see `Link.call`.
        """
        self._calls += 1
        draw = np.random.default_rng([self.seed % 2**63, self._calls])
        others = _others(arguments, draw), _others(named, draw)
        _, steps, result = self.link.ask_for(name, *others, "timeline transcript", 3)
        # Only now: when the steps are written down, that process has not seen the test's inputs yet.
        value, operations = self.link.ask_for(name, arguments, named, "timeline", 2)
        if result is None:
            self.link.unearned = NOT_STREAMED.format(name=name)
        else:
            streamed, timeline = self._carried_out(name, steps, result, arguments, named)
            if _equal(streamed, value):
                operations = timeline
            else:
                self.link.unearned = NOT_STREAMED.format(name=name)
        assert self.link.launches is not None
        self.link.launches += [one for one in operations if isinstance(one, dict)]
        return value

    def _carried_out(
        self, name: str, steps: list[Any], result: Any, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        out: list[wire.Buffer] = []
        form = wire.encode((steps, result, arguments, named), out)
        answer, buffers = self.link.ask({"op": "replay", "replay": form, "kind": "streams"}, out, self.channel)
        if "refused" in answer:
            raise BadValue(f"`{name}`: {str(answer['refused'])[:500]}")
        found = self.link.decode(answer.get("value"), buffers)
        if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[1], list):
            raise ProcessEnded("what its streams do could not be done again")
        return found


def _others(value: Any, draw: np.random.Generator) -> Any:
    """The argument with other values in its tensors."""
    if isinstance(value, (list, tuple)):
        return type(value)(_others(one, draw) for one in value)
    if isinstance(value, dict):
        return {key: _others(one, draw) for key, one in value.items()}
    return other_values(value, draw)


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are alike to the bit; NaN is like NaN."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_equal, one, other))
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return False
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one.nan_to_num(), other.nan_to_num())
