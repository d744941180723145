"""Plain values survive the wire; everything else is refused on one side or the other."""

from __future__ import annotations

import io
import math
import socket
import struct
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch

from gpulab import History, Problem
from grader.processes import wire
from grader.processes.channel import MAX_BUFFERS, Channel, Closed


def there_and_back(value: object) -> object:
    buffers: list = []
    form = wire.encode(value, buffers)
    return wire.decode(form, [bytearray(buffer) for buffer in buffers])


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -1, 2**53, -(2**200), 0.1, -0.0, 1e308, "", "ä\n\0", b"\0\xff", [], [1, [2, []]], (), (1, "a"),
        {}, {"a": 1, 2: None, (1, 2): {3}}, {1, "a"}, 1 + 2j, range(3), {"k": 1}.keys(),
    ],
)  # fmt: skip
def test_plain_values_come_back_equal(value: object) -> None:
    result = there_and_back(value)
    expected = list(value) if isinstance(value, (range, type({}.keys()))) else value
    assert result == expected
    assert type(result) is type(expected)


def test_floats_that_are_not_numbers_come_back() -> None:
    assert math.isnan(there_and_back(math.nan))
    assert there_and_back(-math.inf) == -math.inf
    assert math.copysign(1, there_and_back(-0.0)) == -1


def test_fractions_and_decimal_numbers_come_back_as_ints_and_floats() -> None:
    found = there_and_back([Fraction(1, 4), Fraction(8, 2), {Decimal("0.1"): Decimal("4.0")}])
    assert found == [0.25, 4, {0.1: 4}]
    assert list(map(type, found)) == [float, int, dict]
    for kind in (Fraction, Decimal):
        with pytest.raises(wire.NotPlain, match="a value of type Mine"):
            wire.encode(type("Mine", (kind,), {})(1), [])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (4, 5)])
def test_arrays_come_back_with_type_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype=dtype)
    result = there_and_back(array)
    assert result.dtype == array.dtype
    assert result.shape == shape
    np.testing.assert_array_equal(result, array)


def test_transposed_and_sliced_arrays_come_back() -> None:
    array = np.arange(24).reshape(4, 6).T[::2, ::-1]
    np.testing.assert_array_equal(there_and_back(array), array)


def test_numpy_scalars_stay_numpy_scalars() -> None:
    result = there_and_back(np.float32(0.1))
    assert isinstance(result, np.float32)
    assert result == np.float32(0.1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_tensors_come_back_with_type_and_shape(dtype: torch.dtype) -> None:
    tensor = torch.arange(6).reshape(2, 3).to(dtype).T
    result = there_and_back(tensor)
    assert result.dtype == dtype
    assert torch.equal(result, tensor)


def test_a_transposed_tensor_keeps_its_order_in_memory() -> None:
    """A view that a student's function must treat with care is still one in the student's process."""
    tensor = torch.arange(24).reshape(2, 3, 4)
    for view in (tensor, tensor.permute(2, 0, 1), tensor.transpose(0, 2), tensor[:, :1], tensor[..., ::2]):
        result = there_and_back(view)
        assert torch.equal(result, view)
        dense = view.is_contiguous() or len(view.untyped_storage()) == view.nbytes
        assert result.stride() == (view.stride() if dense else view.contiguous().stride())


def test_a_transposed_array_keeps_its_order_in_memory() -> None:
    array = np.arange(24).reshape(2, 3, 4)
    for view in (array, array.transpose(2, 0, 1), array.T, np.asfortranarray(array), np.array(5)):
        result = there_and_back(view)
        assert np.array_equal(result, view)
        assert result.strides == view.strides
    for view in (array[..., ::-1], array[:, ::2], np.broadcast_to(np.arange(3), (2, 3))):
        result = there_and_back(view)
        assert np.array_equal(result, view)
        assert result.flags.c_contiguous


def test_subclasses_travel_as_the_plain_type() -> None:
    """An object that equals everything arrives as the number that it pretends to be."""

    class Sly(float):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = float.__hash__

    assert type(there_and_back(Sly(3))) is float
    assert there_and_back(Sly(3)) != 4


def test_a_problem_comes_back_equal_and_can_be_trained() -> None:
    problem = Problem("cnn", samples=8, batch_size=4, lr=0.25, seed=3, device="cpu", loss_weight=2.0**-20)
    result = there_and_back((problem, {"deep": [problem]}))
    assert result == (problem, {"deep": [problem]})
    assert type(result[0]) is Problem
    assert torch.equal(result[0].model().head.weight, problem.model().head.weight)


def test_a_history_comes_back_with_its_arrays() -> None:
    weights = {"a": np.ones((2, 3), np.float32), "b": torch.ones(2, dtype=torch.bfloat16)}
    result = there_and_back(History([1.5, math.inf], [65536.0], 1, 0.5, weights))
    assert type(result) is History
    assert (result.losses, result.scales, result.skipped, result.accuracy) == ([1.5, math.inf], [65536.0], 1, 0.5)
    assert result.weights["a"].dtype == np.float32
    np.testing.assert_array_equal(result.weights["a"], weights["a"])
    assert torch.equal(result.weights["b"], weights["b"])


def test_a_history_of_rubbish_arrives_as_that_rubbish() -> None:
    """What a student puts into it is for a test to judge, as long as it is plain."""
    result = there_and_back(History(None, "none", [1], {2}, ()))  # type: ignore[arg-type]
    assert (result.losses, result.scales, result.skipped, result.accuracy, result.weights) == (
        None,
        "none",
        [1],
        {2},
        (),
    )


def test_a_subclass_of_a_record_travels_as_the_record() -> None:
    class Sly(Problem):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = Problem.__hash__

    assert type(there_and_back(Sly(device="cpu"))) is Problem
    assert there_and_back(Sly(device="cpu")) != Problem(seed=1, device="cpu")


def test_a_history_that_holds_a_model_or_itself_is_refused() -> None:
    with pytest.raises(wire.NotPlain, match="Linear"):
        wire.encode(History([], [], 0, 0.0, {"model": torch.nn.Linear(1, 1)}), [])
    ring = History([], [], 0, 0.0, {})
    ring.weights["me"] = ring
    with pytest.raises(wire.NotPlain, match="hold itself"):
        wire.encode(ring, [])


def fields_of(problem: Problem, **changed: object) -> list:
    return [[name, changed.get(name, getattr(problem, name))] for name in Problem.__dataclass_fields__]


@pytest.mark.parametrize(
    "form",
    [
        {"P": fields_of(Problem(device="cpu"), network="os.system")},
        {"P": fields_of(Problem(device="cpu"), samples=-1)},
        {"P": fields_of(Problem(device="cpu"), samples=True)},
        {"P": fields_of(Problem(device="cpu"), lr={"f": "nan"})},
        {"P": fields_of(Problem(device="cpu"), device="meta")},
        {"P": fields_of(Problem(device="cpu"))[1:]},
        {"P": [*fields_of(Problem(device="cpu")), ["__class__", 1]]},
        {"P": [[{"b": 0}, 1]]}, {"P": 3}, {"P": [[[], 1]]}, {"H": []}, {"H": [["losses", []]]}, {"H": None},
    ],
)  # fmt: skip
def test_forged_records_are_refused(form: object) -> None:
    with pytest.raises(wire.WireError):
        wire.decode(form, [])


@pytest.mark.parametrize(
    "value",
    [object(), lambda: 1, int, np.array([object()]), torch.eye(2).to_sparse(), (x for x in [1]), open, ...],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(wire.NotPlain):
        wire.encode({"deep": [value]}, [])


def test_a_list_that_holds_itself_is_refused() -> None:
    ring: list = []
    ring.append(ring)
    with pytest.raises(wire.NotPlain, match="hold itself"):
        wire.encode(ring, [])


@pytest.mark.parametrize(
    "form",
    [
        {"x": 1}, {}, {"a": 1, "b": 2}, {"n": ["O", [1], [0], False]}, {"n": ["<f8", [-1], [0], False]},
        {"n": ["<f8", [2], [0], False]}, {"n": ["<f8", [1], [1], False]}, {"n": ["<f8", [1], [0, 1], False]},
        {"T": ["save", [1], [0], "cpu"]}, {"T": ["float32", [10**9], [0], "cpu"]}, {"T": ["float32", [0], [1], "cpu"]},
        {"T": ["float32", [0, 0], [0, "1"], "cpu"]}, {"D": "load"}, {"i": "zz"}, {"f": []},
        {"d": [[[1], 2]]}, {"s": [[1]]}, {"b": 5}, {"n": ["V8", [1], [0], False]}, {"n": [3]}, {"c": ["1"]},
    ],
)  # fmt: skip
def test_forged_forms_are_refused(form: object) -> None:
    """Nothing that arrives can raise anything but a WireError, or make an object of another kind."""
    with pytest.raises(wire.WireError):
        wire.decode(form, [])


def test_more_buffers_than_values_are_refused() -> None:
    with pytest.raises(wire.WireError):
        wire.decode(1, [bytearray(1)])


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    ours.close()
    theirs.close()


def soon() -> float:
    return time.monotonic() + 5


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (struct.pack("<I", 2**31), "header over"),
        (struct.pack("<I", 3) + b"abc", "not a frame"),
        (struct.pack("<I", 2) + b"[]", "not a frame"),
        (struct.pack("<I", 19) + b'{"h": {}, "n": [-1]', "not a frame"),
        (struct.pack("<I", 20) + b'{"h": {}, "n": [-1]}', "larger than"),
        (struct.pack("<I", 28) + b'{"h": {}, "n": [99999999999]}'[:28], "not a frame"),
        (struct.pack("<I", 29) + b'{"h": {}, "n": [99999999999]}', "larger than"),
    ],
)
def test_forged_frames_are_refused(pair, data: bytes, words: str) -> None:
    channel, theirs = pair
    theirs.sendall(data)
    with pytest.raises(wire.WireError, match=words):
        channel.receive(soon())


def test_half_a_frame_runs_into_the_deadline(pair) -> None:
    channel, theirs = pair
    theirs.sendall(b"\x10\0\0\0{")
    with pytest.raises(TimeoutError):
        channel.receive(time.monotonic() + 0.1)


def test_a_closed_connection_is_told(pair) -> None:
    channel, theirs = pair
    theirs.close()
    with pytest.raises(Closed):
        channel.receive(soon())


def test_a_list_of_many_numpy_numbers_is_refused_by_the_sender(pair: tuple[Channel, socket.socket]) -> None:
    """The receiver would take it for no frame, and the student's process for crashed."""
    out: list[wire.Buffer] = []
    form = wire.encode([np.float64(0)] * (MAX_BUFFERS + 1), out)
    with pytest.raises(wire.NotPlain, match="return one array"):
        pair[0].send({"value": form}, out, seconds=5)


def test_a_view_of_bytes_comes_back_as_bytes() -> None:
    assert there_and_back(memoryview(b"abc")) == b"abc"
    assert there_and_back([bytearray(b"x"), memoryview(b"")]) == [b"x", b""]


def test_what_holds_bytes_is_refused_with_how_to_get_them() -> None:
    with pytest.raises(wire.NotPlain, match=r"BytesIO; getvalue\(\) gives its bytes"):
        wire.encode(io.BytesIO(b"abc"), [])
