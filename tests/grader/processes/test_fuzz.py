"""Bytes, frames and notebooks that nobody wrote on purpose are understood or refused, and nothing else happens.

`FUZZ_EXAMPLES=20000 pytest tests/grader/processes/test_fuzz.py` looks longer, at other examples every time.
"""

from __future__ import annotations

import copy
import functools
import json
import math
import os
import socket
import struct
import time
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from minikey import RIGHT, make_key, notebook

from grader.gradebook.composition import compose
from grader.judging.outputs import KeptOutputs
from grader.model.results import CellResult, SubmissionResult, Verdict
from grader.model.submission import parse
from grader.processes import wire
from grader.processes.channel import Channel, Closed

pytestmark = pytest.mark.long

MORE = os.environ.get("FUZZ_EXAMPLES")
fuzz = settings(
    max_examples=int(MORE or 80),
    derandomize=not MORE,
    database=None,
    deadline=None,  # two cores shared by a test run say nothing about a single example
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)

# ------------------------------------------------------------------------------------------ values, there and back

text = st.text(st.characters(codec=None), max_size=20)  # with halves of surrogate pairs
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**300), max_value=2**300)
    | st.floats()
    | st.complex_numbers()
    | text
    | st.binary(max_size=20)
)
array_types = (hnp.scalar_dtypes() | hnp.byte_string_dtypes(max_len=4) | hnp.unicode_string_dtypes(max_len=4)).filter(
    lambda dtype: dtype.itemsize > 0
)
arrays = hnp.arrays(array_types, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
tensors = hnp.arrays(
    st.sampled_from(["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "?", "c8", "c16"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
).map(lambda array: torch.from_numpy(array.copy()))
halves = tensors.map(lambda tensor: tensor.real.to(torch.bfloat16))
strided = st.tuples(arrays | tensors, st.integers(1, 5)).map(
    lambda pair: pair[0].swapaxes(0, -1)[:: pair[1]] if pair[0].ndim else pair[0]
)
leaves = scalars | arrays | tensors | halves | strided
keys = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text | st.tuples(st.integers(), text)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(keys, max_size=4)
    ),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Equal in type and value; NaN is NaN, and -0.0 is not 0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return len(one) == len(other) and all(map(same, one, other)) and all(map(same, one.values(), other.values()))
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and bits(one) == bits(other)
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or struct.pack("d", one) == struct.pack("d", other)
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    return bool(one == other)


def bits(tensor: torch.Tensor) -> bytes:
    """A tensor's elements as bytes, in order."""
    flat = tensor.reshape(-1).clone(memory_format=torch.contiguous_format)
    return bytes(flat.view(torch.uint8).numpy()) if flat.numel() else b""


@fuzz
@given(values)
def test_every_plain_value_survives_a_frame(value: Any) -> None:
    """Through encoding, a socket and decoding, with types, shapes, signs and halves of surrogate pairs."""
    ours, theirs = (Channel(end) for end in socket.socketpair())
    try:
        buffers: list[wire.Buffer] = []
        ours.send({"value": wire.encode(value, buffers)}, buffers, seconds=5)
        header, received = theirs.receive(time.monotonic() + 5)
    finally:
        ours.close()
        theirs.close()
    assert same(wire.decode(header["value"], received), value)


# -------------------------------------------------------------------------------------------------- garbage on the wire

words = st.sampled_from(
    ["O", "V8", "<f8", "|S0", "<U0", "f8,f8", "(9,9)f8", "<M8[D]", "<m8[0Y]", "load", "float32", "cpu", "cuda", "meta"]
)
json_leaves = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**30), max_value=10**30)
    | st.integers(min_value=-2, max_value=9)
    | st.floats()
    | st.text(max_size=8)
    | words
    | st.sampled_from(["0x1f", "nan", "-inf", "0x1p-1074", "0x1p99999", "zz", "1_0"])
)
tags = st.sampled_from([*"ifcbtsdnTD", "x", ""])
shapes = st.lists(st.integers(0, 4), max_size=3)
forms = st.recursive(
    json_leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(tags, inner, max_size=2)
        | st.tuples(
            st.sampled_from("nT"), words | inner, st.lists(st.integers(0, 4), max_size=3), st.booleans() | inner
        ).map(lambda parts: {parts[0]: list(parts[1:])})
        | st.tuples(st.sampled_from("sdt"), st.lists(st.lists(inner, max_size=2) | inner, max_size=4)).map(
            lambda parts: {parts[0]: parts[1]}
        )
    ),
    max_leaves=20,
)
buffers = st.lists(st.binary(max_size=64).map(bytearray), max_size=4)


@fuzz
@given(forms, buffers)
def test_any_form_is_a_value_or_refused(form: Any, body: list[bytearray]) -> None:
    """What is understood is plain: it can be sent on, and is no larger than what came."""
    size = sum(map(len, body)) + len(json.dumps(form))
    try:
        value = wire.decode(form, body)
    except wire.WireError:
        return
    out: list[wire.Buffer] = []
    wire.encode(value, out)
    assert sum(memoryview(buffer).nbytes for buffer in out) <= size


def receive(data: bytes, max_bytes: int = 1000) -> Any:
    """What a reader makes of these bytes, after which the other side hangs up."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    try:
        theirs.settimeout(5)
        theirs.sendall(data)
        theirs.close()
        return channel.receive(time.monotonic() + 5, max_bytes)
    finally:
        channel.close()


headers = st.fixed_dictionaries({"h": forms | st.dictionaries(st.text(max_size=4), forms, max_size=3), "n": forms})
frames = st.tuples(headers | forms, st.binary(max_size=40), st.integers(-3, 3)).map(
    lambda parts: _frame(json.dumps(parts[0]).encode(), parts[2]) + parts[1]
)


def _frame(header: bytes, wrong: int) -> bytes:
    return struct.pack("<I", max(0, len(header) + wrong)) + header


@fuzz
@given(frames | st.binary(max_size=60), st.data())
def test_any_bytes_are_a_frame_or_refused(data: bytes, draw: st.DataObject) -> None:
    """A reader gets a header and buffers within its limits, or one of two exceptions, and never waits."""
    if data and draw.draw(st.booleans()):
        place = draw.draw(st.integers(0, len(data) - 1))
        data = data[:place] + bytes([draw.draw(st.integers(0, 255))]) + data[place + 1 :]
    started = time.monotonic()
    try:
        header, body = receive(data)
    except (wire.WireError, Closed):
        pass
    else:
        assert isinstance(header, dict)
        assert sum(map(len, body)) <= 1000
    assert time.monotonic() - started < 4  # the deadline was 5 s: nothing ran into it


@pytest.mark.parametrize("depth", [90, 400, 900, 5_000, 100_000])
def test_nesting_is_refused_at_every_depth(depth: int) -> None:
    """JSON's own limit is where the stack happens to end: whatever passes it must not fail later."""
    nested = b"[" * depth + b"]" * depth
    with pytest.raises(wire.WireError):
        header, body = receive(_frame(b'{"h": {"value": ' + nested + b'}, "n": []}', 0))
        wire.decode(header["value"], body)


# ------------------------------------------------------------------------------------------------------- notebooks

KEY = make_key()
IDS = st.sampled_from([*(cell.id for cell in KEY.cells), "", "x", "../x", "a b", "x" * 70])
junk = st.recursive(
    json_leaves | st.text(st.characters(codec=None), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
sources = (
    st.sampled_from(
        [*RIGHT.values(), *(cell.source for cell in KEY.cells), "def double(x", "\0", "%%bash\nls", "x = \\d"]
    )
    | st.text(st.characters(codec=None), max_size=30)
    | st.lists(st.text(max_size=5) | junk, max_size=3)
)
grading = st.fixed_dictionaries(
    {}, optional={"grade_id": IDS | junk, "grade": junk, "points": junk, "solution": junk, "locked": junk}
)
cells = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "markdown", "raw"])},
    optional={
        "id": IDS | junk,
        "source": sources | junk,
        "metadata": st.fixed_dictionaries({"nbgrader": grading | junk}) | junk,
        "outputs": junk,
    },
)
places = st.integers(0, 30)
fields = st.sampled_from(["id", "source", "cell_type", "metadata"])
changes = st.lists(
    st.tuples(st.just("drop"), places, st.none())
    | st.tuples(st.just("copy"), places, places)
    | st.tuples(st.just("move"), places, places)
    | st.tuples(st.just("add"), places, cells | junk)
    | st.tuples(
        st.just("set"), places, st.tuples(st.sampled_from(["id", "source", "cell_type", "metadata"]), junk | IDS)
    )
    | st.tuples(st.just("source"), places, sources)
    | st.tuples(st.just("grade_id"), places, IDS | junk),
    max_size=6,
)


def changed(data: dict[str, Any], steps: list[tuple[str, int, Any]]) -> dict[str, Any]:
    """The notebook after some changes."""
    found: list[Any] = data["cells"]
    for what, place, value in steps:
        index = place % max(1, len(found))
        if what == "add":
            found.insert(index, value)
        elif not found:
            continue
        elif what == "drop":
            found.pop(index)
        elif what == "copy":
            found.insert(value % len(found), copy.deepcopy(found[index]))
        elif what == "move":
            found.insert(value % len(found), found.pop(index))
        elif isinstance(found[index], dict):
            if what == "set":
                found[index][value[0]] = value[1]
            elif what == "source":
                found[index]["source"] = value
            else:
                found[index]["metadata"] = {"nbgrader": {"grade_id": value}}
    return data


@functools.cache
def blank_result() -> SubmissionResult:
    """A result with a verdict for every test."""
    return SubmissionResult(
        "s", KEY.name, tuple(CellResult(cell.grade_id, Verdict.FAILED, 0.0, cell.points, "no") for cell in KEY.tests)
    )


def check(data: bytes) -> None:
    """It is refused in one printable line, or every test is in it once and a valid notebook can be made of it."""
    try:
        submission = parse(data, KEY)
    except ValueError as refusal:
        assert str(refusal).isprintable()
        assert len(str(refusal)) < 300
        return
    tests = [step.key.grade_id for step in submission.steps if step.action == "test" and step.key]
    assert sorted(tests) == sorted(cell.grade_id for cell in KEY.tests)
    assert len({step.id for step in submission.steps}) == len(submission.steps)
    assert all(repair.isprintable() and len(repair) < 300 for repair in submission.repairs)
    composed = compose(submission, KEY, blank_result())
    nbformat.validate(composed)
    nbformat.writes(composed).encode()


@fuzz
@given(st.booleans(), changes)
def test_any_notebook_is_mended_or_refused(answered: bool, steps: list[tuple[str, int, Any]]) -> None:
    check(json.dumps(changed(notebook(KEY, RIGHT if answered else {}), steps)).encode())


@fuzz
@given(junk | st.fixed_dictionaries({"cells": st.lists(cells | junk, max_size=5) | junk}))
def test_any_json_is_mended_or_refused(data: Any) -> None:
    check(json.dumps(data).encode())


@fuzz
@given(st.binary(max_size=60), places, places)
def test_any_bytes_are_mended_or_refused(noise: bytes, start: int, length: int) -> None:
    """A notebook that was cut, overwritten or extended anywhere."""
    whole = json.dumps(notebook(KEY, RIGHT)).encode()
    at = start * len(whole) // 31
    check(whole[:at] + noise + whole[at + length :])
    check(whole[:at])
    check(noise)


# --------------------------------------------------------------------------------------------------------- outputs

mimes = st.sampled_from(["text/plain", "image/png", "application/json", "application/x+json", "x", "", "a/b c"])
claimed = st.fixed_dictionaries(
    {"output_type": st.sampled_from(["stream", "error", "display_data", "execute_result", "clear"]) | junk},
    optional={
        "name": st.sampled_from(["stdout", "stderr"]) | junk,
        "text": text | junk,
        "ename": text | junk,
        "evalue": text | junk,
        "traceback": st.lists(text | junk, max_size=3) | junk,
        "data": st.dictionaries(
            st.sampled_from(["text/plain", "image/png", "application/json", "application/x+json", "x", "", "a/b c"])
            | text,
            text | junk,
            max_size=3,
        )
        | junk,
        "metadata": junk
        | st.dictionaries(mimes, st.dictionaries(st.sampled_from(["alt", "width"]), text | junk) | junk),
    },
)


@fuzz
@given(st.lists(claimed | junk, max_size=8), st.integers(0, 60), st.integers(0, 60))
def test_any_outputs_are_stored_or_dropped(claims: list[Any], text_room: int, room: int) -> None:
    """What a student's process claims to have put out makes a valid notebook of bounded size, whatever it claims."""
    kept = KeptOutputs(text_room, room)
    for claim in claims:
        kept.add(claim)
    found = kept.finish()
    data = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", id="x")])
    data.cells[0].outputs = [nbformat.from_dict(copy.deepcopy(one)) for one in found]
    nbformat.validate(data)
    nbformat.writes(data).encode()
    result = SubmissionResult("s", "c", outputs={"x": tuple(found)})
    assert SubmissionResult.from_json(result.to_json().encode().decode()) == result
    printed = sum(len(one["text"]) for one in found if one["output_type"] == "stream")
    assert printed <= min(text_room, room) + len("\n[999999 more characters of output were cut]\n")
