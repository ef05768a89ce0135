import subprocess
import sys

import pytest
import torch
from pretend_device import pretend_device

from coursekit.models.guards import BadInput, need_finite, need_ids, need_like, need_shape


def message(function, *args, **sizes):
    with pytest.raises(BadInput) as caught:
        function(*args, **sizes)
    return str(caught.value)


def test_free_sizes_are_returned_in_order():
    assert need_shape("x", torch.ones(2, 5, 3), "B T K", K=3) == (2, 5)
    assert need_shape("x", torch.ones(2, 5, 5), "B T T") == (2, 5)
    assert need_shape("x", torch.ones(7, 2, 5, 3), "... T K") == (5, 3)
    assert need_shape("J", torch.ones(()), "") == ()


def test_a_wrong_shape_is_named_with_what_it_has_and_needs():
    x = torch.ones(2, 5, 3)
    assert message(need_shape, "x", x, "B T K", K=4) == "x has shape (2, 5, 3); it needs (B, T, K) with K=4"
    assert message(need_shape, "x", x, "B T") == "x has shape (2, 5, 3); it needs (B, T)"
    assert message(need_shape, "A", x, "B T T") == "A has shape (2, 5, 3); it needs (B, T, T)"
    assert message(need_shape, "b", x, "3") == "b has shape (2, 5, 3); it needs (3,)"
    assert "it needs (..., J, K)" in message(need_shape, "b", torch.ones(3), "... J K")


def test_what_is_no_tensor_is_refused():
    assert "x is a list" in message(need_shape, "x", [[1.0]], "B T")


@pytest.mark.parametrize("shape", [(0, 5, 3), (2, 0, 3)])
def test_an_empty_batch_and_no_time_are_refused(shape):
    text = message(need_shape, "x", torch.ones(shape), "B T K", K=3)
    assert text == f"x is empty: its shape is {shape}; it needs (B, T, K) with K=3, no size 0"


def test_ids_out_of_range_are_named_with_their_place():
    w = torch.tensor([[0, 1], [7, 2]])
    assert message(need_ids, "w", w, "B T", 7) == (
        "w of shape (2, 2) holds 7 at [1, 0]; it needs ids from 0 to 6"
    )
    assert "holds -1 at [0, 0]" in message(need_ids, "w", w - 1, "B T", 7)
    assert need_ids("w", w, "B T", 8) == (2, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_ids_are_whole_numbers(dtype):
    assert "it needs whole numbers" in message(need_ids, "w", torch.ones(2, dtype=dtype), "T", 5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_found(bad):
    x = torch.zeros(2, 3)
    need_finite("x", x)
    x[1, 2] = bad
    assert f"holds {bad} at [1, 2]" in message(need_finite, "x", x)


def test_large_finite_numbers_pass_though_their_sum_overflows():
    need_finite("x", torch.full((4,), 3e38))


def test_two_dtypes_are_named():
    x, h = torch.ones(2), torch.ones(2, dtype=torch.float64)
    need_like("h", h, "c", h)
    text = message(need_like, "h", h, "x", x)
    assert text == "h has dtype torch.float64; it needs torch.float32, as x has"


def test_guards_look_at_shapes_alone_on_meta():
    x = torch.empty(2, 3, device="meta")
    need_finite("x", x)
    assert need_ids("w", torch.empty(2, 3, dtype=torch.long, device="meta"), "B T", 5) == (2, 3)
    assert "x has shape (2, 3)" in message(need_shape, "x", x, "B T K")


def test_guards_work_on_another_device():
    with pretend_device() as device:
        need_finite("x", device.place(torch.ones(3)))
        assert "holds 9" in message(need_ids, "w", device.place(torch.tensor([1, 9])), "T", 5)


def test_importing_the_package_imports_no_torch():
    code = "import sys, coursekit.models; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_exported_name_exists():
    from coursekit import models

    assert len(models.__all__) == len(set(models.__all__))  # no name means two things
    for name in models.__all__:
        assert getattr(models, name) is not None
    with pytest.raises(AttributeError, match="no 'nothing'"):
        models.nothing
