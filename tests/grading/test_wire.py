"""The wire format: what goes in comes out, and nothing else comes out of any bytes."""

from __future__ import annotations

import collections
import math
import struct
from collections import Counter, OrderedDict, deque, namedtuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coursekit.grading import wire
from coursekit.grading.wire import Malformed, NotPlain, decode, encode

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
) | st.complex_numbers(allow_nan=False)
hashable = st.recursive(
    scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(values)
def test_plain_data_comes_back_equal_and_of_the_same_type(value):
    back = decode(encode(value))
    assert back == value
    assert repr(type(back)) == repr(type(value))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats() | st.integers(), min_size=10, max_size=40))
def test_packed_lists_keep_every_number_and_its_type(numbers):
    back = decode(encode(numbers))
    assert [type(n) for n in back] == [type(n) for n in numbers]
    assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(back, numbers, strict=True))


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=60)
    | st.builds(lambda v, i, b: _spoil(encode(v), i, b), values, st.integers(), st.integers())
)
def test_any_bytes_give_plain_data_or_malformed(data):
    try:
        value = decode(data)
    except Malformed:
        return
    encode(value)  # whatever came out is plain


def _spoil(data: bytes, at: int, byte: int) -> bytes:
    spoiled = bytearray(data)
    spoiled[at % len(spoiled)] = byte % 256
    return bytes(spoiled)


@pytest.mark.parametrize(
    "value",
    [
        Counter("aab"),
        OrderedDict(b=1, a=2),
        deque([1, 2]),
        range(2, 9, 3),
        slice(1, None, -1),
        ...,
        bytearray(b"x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_standard_containers_cross(value):
    back = decode(encode(value))
    assert type(back) is type(value)
    assert back == value


def test_a_named_tuple_keeps_its_fields():
    point = namedtuple("Point", "x y")(1, [2])
    back = decode(encode(point))
    assert (back.x, back.y, back) == (1, [2], (1, [2]))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool", "complex128", "uint16", "U3", "S2"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_arrays_cross_exactly(dtype, shape):
    array = (np.arange(24)[: math.prod(shape)].reshape(shape)).astype(dtype)
    back = decode(encode(array))
    assert (back.dtype, back.shape, back.tolist()) == (array.dtype, array.shape, array.tolist())
    assert back.flags.writeable


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_tensors_cross_exactly(dtype, shape):
    tensor = torch.arange(math.prod(shape)).reshape(shape).to(dtype)
    for sent in (tensor, tensor.mT if tensor.ndim > 1 else tensor):  # also one that is not contiguous
        back = decode(encode(sent))
        assert back.dtype is sent.dtype
        assert back.shape == sent.shape
        assert torch.equal(back, sent)


def test_a_tensor_keeps_its_gradient_and_that_it_asks_for_one():
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.full((2,), 3.0)
    back = decode(encode(weight))
    assert isinstance(back, torch.nn.Parameter)
    assert back.requires_grad
    assert back.grad.tolist() == [3.0, 3.0]


def test_numpy_scalars_keep_their_type():
    back = decode(encode(np.float32(0.1)))
    assert type(back) is np.float32
    assert back == np.float32(0.1)


class Sneaky(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "value",
    [Sneaky(1), [Sneaky(1)], {1: object()}, np.array([object()]), print, torch.ones(2).to_sparse(), type],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(NotPlain):
        encode(value)


def test_subclasses_of_plain_types_are_refused():
    class Loose(list):
        pass

    class Odd(torch.Tensor):
        pass

    for value in (Loose(), torch.ones(1).as_subclass(Odd), collections.UserDict()):
        with pytest.raises(NotPlain):
            encode(value)


def test_a_value_that_contains_itself_is_refused():
    loop: list = []
    loop.append(loop)
    with pytest.raises(NotPlain, match="contains itself"):
        encode(loop)


def test_a_value_over_the_limit_is_refused_before_it_is_built():
    with pytest.raises(NotPlain, match="larger"):
        encode(torch.zeros(1).expand(10**12))
    with pytest.raises(NotPlain, match="larger"):
        wire.Encoder(limit=1000).encode(["x" * 100] * 100)


@pytest.mark.parametrize("size", [1 << 20, 1 << 39, -1, 2])
def test_a_tensor_whose_shape_does_not_fit_its_bytes_is_malformed(size):
    honest = encode(torch.zeros(3))
    at = honest.index(b"i" + struct.pack("<q", 3))
    lie = honest[: at + 1] + struct.pack("<q", size) + honest[at + 9 :]
    with pytest.raises(Malformed):
        decode(lie)


@pytest.mark.parametrize("tag", [b"l", b"t", b"d", b"S", b"P", b"s", b"b", b"I"])
def test_a_count_beyond_the_end_is_malformed(tag):
    with pytest.raises(Malformed):
        decode(tag + struct.pack("<Q", 1 << 60))


def test_deep_nesting_is_malformed_not_a_crash():
    deep = (b"l" + struct.pack("<Q", 1)) * 100_000 + b"N"
    with pytest.raises(Malformed):
        decode(deep)


def test_an_array_of_objects_cannot_be_smuggled_in():
    honest = encode(np.zeros(1))
    with pytest.raises(Malformed):
        decode(honest.replace(b"<f8", b"|O8"))


def test_hooks_see_what_is_not_plain():
    sent = wire.Encoder(other=lambda value: ("thing", value.__name__)).encode([1, print])
    back = wire.Decoder(sent, hook=lambda kind, data: (kind, data)).decode()
    assert back == [1, ("thing", "print")]
    with pytest.raises(Malformed):
        decode(sent)
