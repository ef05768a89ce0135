"""Reading what a student returned as a float64 tensor, and telling whether it is close enough."""

import contextlib
from collections.abc import Sequence

import numpy
import torch
from torch import Tensor

from ..shown.result import wrong
from .student import Stopped, a_thing, stop, unanswered

RELATIVE = 1e-6  # of the entry itself
FLOOR = 1e-9  # of the largest entry: what summing in another order may cost
SINGLE = 2e-5  # of the largest entry, for an answer in float32


def read(value: object, like: Tensor, what: str) -> Tensor:
    """The student's value as a float64 tensor where `like` lives, or Stopped with a sentence."""
    if unanswered(value):
        stop("empty", f"There is nothing for {what} yet.")
    tensor = _tensor(value, like, what)
    if tensor.is_complex():
        stop("type", f"The numbers of {what} are complex; real ones are needed.")
    if tensor.shape != like.shape:
        has, more = f"The shape of {what} is {tuple(tensor.shape)}", _reason(tensor, like)
        whole = f"{has}; it must be {tuple(like.shape)}.{more}"
        raise Stopped(wrong("shape", own=f"{has}, and that is not right.{more}", whole=whole))
    odd = (~torch.isfinite(tensor) & (tensor != like)).nonzero()  # a masked score is -inf
    for entry in odd.tolist()[:1]:
        kind = "a NaN" if tensor[tuple(entry)].isnan() else "an infinity"
        stop("nan", f"There is {kind} in {what}{at(entry)}; every entry must be a finite number.")
    return tensor


def _tensor(value: object, like: Tensor, what: str) -> Tensor:
    if isinstance(value, (str, bytes, dict, set, bool)) or callable(value):
        stop("type", f"An array is needed for {what}, and this is {a_thing(value)}.")
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        with contextlib.suppress(Exception):
            value = torch.stack([torch.as_tensor(item) for item in value])
    if isinstance(value, (int, float, list, tuple)):  # written in Python's floats, which are float64
        with contextlib.suppress(Exception):
            value = numpy.asarray(value, dtype=numpy.float64)
    with contextlib.suppress(Exception):
        tensor = value.detach() if isinstance(value, Tensor) else torch.as_tensor(value)
        return tensor.to(device=like.device, dtype=tensor.dtype if tensor.is_complex() else like.dtype)
    stop("type", f"The value for {what} cannot be read as an array of numbers: it is {a_thing(value)}.")


def _reason(tensor: Tensor, like: Tensor) -> str:
    if tensor.dim() == 2 and tensor.shape[::-1] == like.shape:
        transposed = close(tensor.t(), like)
        return " It is the transpose of the right one." if transposed else " Is it transposed?"
    if tensor.numel() == like.numel() and close(tensor.reshape(like.shape), like):
        return " The numbers are right: take away the axes of size 1, or reshape it."
    if tensor.dim() == like.dim() + 1:
        for axis in range(tensor.dim()):
            if close(tensor.sum(axis), like):
                return f" Summed over its axis {axis} it would be right."
    return " Was it summed to a single number?" if tensor.dim() == 0 else ""


def close(answer: Tensor, right: Tensor, dtype: object = None) -> bool:
    """Every entry agrees, measured against the scale of the right tensor itself.

    An entry may be off by 1e-6 of itself. An error that looks like rounding (most entries are off, none by
    more than float32 loses) is forgiven: it comes from a float32 step on the way, not from the formula.
    """
    if answer.shape != right.shape:
        return False
    if right.numel() == 0:
        return True
    if (beyond := torch.isinf(right)).any():  # by these nothing else can be measured
        same = bool((answer[beyond] == right[beyond]).all())
        return same and close(answer[~beyond], right[~beyond], dtype)
    error, scale = (answer - right).abs(), right.abs().max()
    if bool((error <= RELATIVE * right.abs() + FLOOR * scale).all()):
        return True
    if not bool(torch.isfinite(error).all()) or scale == 0:
        return bool((error <= 1e-15).all())
    if dtype == torch.float32:
        return bool((error <= SINGLE * scale).all())
    rounded = bool((error > 1e-12 * scale).to(right.dtype).mean() > 0.5)
    return rounded and bool((error <= RELATIVE / 4 * scale).all())


def dtype_of(value: object) -> object:
    """The torch dtype a value was computed in, as far as it can be told."""
    return getattr(torch, str(getattr(value, "dtype", "float64")).removeprefix("torch."), None)


def low_precision(dtype: object) -> str:
    """Why a value of this dtype cannot be right, or nothing."""
    if dtype in (torch.float16, torch.bfloat16):
        return f"It was computed in {str(dtype).removeprefix('torch.')}, which is too coarse: use float64."
    if isinstance(dtype, torch.dtype) and not dtype.is_floating_point and not dtype.is_complex:
        return f"It holds whole numbers ({str(dtype).removeprefix('torch.')}): compute in floating point."
    return ""


def worst(answer: Tensor, right: Tensor) -> tuple[int, ...]:
    """The entry that is furthest off."""
    return unflatten(int((answer - right).abs().argmax()), right.shape)


def unflatten(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(int, numpy.unravel_index(flat, tuple(shape))))


def at(entry: Sequence[int]) -> str:
    return f" at [{','.join(map(str, entry))}]" if entry else ""
