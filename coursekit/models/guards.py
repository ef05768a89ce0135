"""Input guards: one sentence that names the tensor, the shape it has and the shape it needs.

    B, T = need_shape("x", x, "B T K", K=self.inputs)      # the sizes that were not given, in order
    V, d, D = need_shapes("L V d, H D D, I d D", L, H, I)  # several, whose sizes must agree
    V, d, D = need_tensors("L V d, H D D, I d D", L, H, I)  # and which are finite, of one dtype, on one device
    B, T = need_ids("w", w, "B T", below=V)                # whole numbers, 0 <= w < V
    need_finite("x", x)                                    # no NaN, no infinity
    need_like("h", h, "x", x)                              # one dtype, one device

A pattern is one word per axis: a name whose size is given (`K=3`) or free (`B`), or a number. `...`
in front stands for any leading axes. Every size must be at least 1: an empty batch or T=0 is refused.
Values are looked at only where there are values (a tensor on the `meta` device has none).
"""

from collections.abc import Collection

import torch
from torch import Tensor


class BadInput(ValueError):
    """A model was given something it cannot work with; the message says what, and what it needs."""


def need(fits: bool, sentence: str) -> None:
    """Refuse arguments that make no sense together."""
    if not fits:
        raise BadInput(sentence)


def need_one_of(name: str, value: object, choices: Collection[str]) -> None:
    need(value in choices, f"{name} is {value!r}; it needs to be one of {', '.join(choices)}")


def need_shape(name: str, tensor: Tensor, pattern: str, **sizes: int) -> tuple[int, ...]:
    """Check `tensor` against `pattern`; return the sizes of its free names, in the pattern's order.

    >>> need_shape("x", torch.zeros(2, 5, 3), "B T K", K=3)
    (2, 5)
    """
    words = pattern.split()
    leading = words[:1] == ["..."]
    axes = words[1:] if leading else words
    if not isinstance(tensor, Tensor):
        kind = type(tensor).__name__
        raise BadInput(f"{name} is a {kind}; it needs to be a torch tensor of shape {_needed(words, sizes)}")
    has = tuple(tensor.shape)
    compared = has[len(has) - len(axes) :] if leading else has
    found: dict[str, int] = {}
    fits = len(compared) == len(axes)
    for word, size in zip(axes, compared, strict=False):
        wanted = int(word) if word.isdigit() else sizes.get(word, found.setdefault(word, size))
        fits = fits and size == wanted
    if not fits:
        raise BadInput(f"{name} has shape {has}; it needs {_needed(words, sizes)}")
    if 0 in has:
        raise BadInput(f"{name} is empty: its shape is {has}; it needs {_needed(words, sizes)}, no size 0")
    return tuple(size for word, size in found.items() if word not in sizes)


def need_shapes(patterns: str, *tensors: Tensor, **sizes: int) -> tuple[int, ...]:
    """`need_shape` for each "name pattern"; a size that one tensor has found is given for those after it."""
    known = dict(sizes)
    for text, tensor in zip(patterns.split(", "), tensors, strict=True):
        name, _, pattern = text.partition(" ")
        free = [word for word in dict.fromkeys(pattern.split()) if word != "..." and word not in known]
        known |= zip(free, need_shape(name, tensor, pattern, **known), strict=True)
    return tuple(size for name, size in known.items() if name not in sizes)


def need_tensors(patterns: str, *tensors: Tensor, **sizes: int) -> tuple[int, ...]:
    """As `need_shapes`, for tensors of finite numbers that have the dtype and the device of the first."""
    names = [text.partition(" ")[0] for text in patterns.split(", ")]
    found = need_shapes(patterns, *tensors, **sizes)
    for name, tensor in zip(names, tensors, strict=True):
        need_like(name, tensor, names[0], tensors[0])
        need_finite(name, tensor)
    return found


def need_ids(name: str, tensor: Tensor, pattern: str, below: int, **sizes: int) -> tuple[int, ...]:
    """As `need_shape`, for a tensor of whole numbers `0 <= id < below` (words, classes, positions)."""
    free = need_shape(name, tensor, pattern, **sizes)
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise BadInput(f"{name} has dtype {tensor.dtype}; it needs whole numbers (torch.long)")
    if not tensor.is_meta:
        low, high = (int(value) for value in torch.aminmax(tensor))
        if low < 0 or high >= below:
            bad = low if low < 0 else high
            where = (tensor == bad).nonzero()[0].tolist()
            raise BadInput(
                f"{name} of shape {tuple(tensor.shape)} holds {bad} at {where}; "
                f"it needs ids from 0 to {below - 1}"
            )
    return free


def need_finite(name: str, tensor: Tensor) -> None:
    """Refuse NaN and infinity, and say where the first one stands."""
    if tensor.is_meta or not tensor.is_floating_point():
        return
    # A sum that is finite proves that every entry is; only a sum that is not needs a closer look.
    if bool(torch.isfinite(tensor.detach().sum())):
        return
    bad = ~torch.isfinite(tensor.detach())
    if bool(bad.any()):
        where = bad.nonzero()[0].tolist()
        value = float(tensor.detach()[tuple(where)])
        raise BadInput(
            f"{name} of shape {tuple(tensor.shape)} holds {value} at {where}; it needs finite numbers"
        )


def need_like(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Both tensors must have one dtype and stand on one device."""
    for what in ("dtype", "device"):
        has, needs = getattr(tensor, what), getattr(other, what)
        need(has == needs, f"{name} has {what} {has}; it needs {needs}, as {other_name} has")


def _needed(words: list[str], sizes: dict[str, int]) -> str:
    shape = ", ".join(words) + ("," if len(words) == 1 else "")
    known = ", ".join(f"{word}={sizes[word]}" for word in dict.fromkeys(words) if word in sizes)
    return f"({shape})" + (f" with {known}" if known else "")
