"""How many multiply-adds torch really does: products of tensors that are summed, and outer products.

torch's own counter gives 0 for `W @ v`, `dot`, `outer`, `(U * v).sum()` and attention on a CPU. This one
counts them. Entrywise work (gates, activations) is counted apart, as it is in the course.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

aten = torch.ops.aten
_counting: list[object] = []  # the counters at work


def is_counting() -> bool:
    """Whoever runs a call elsewhere must then have its operators executed here."""
    return bool(_counting)


class Watch(TorchDispatchMode):
    """A dispatch mode that torch's compiler need not know of.

    Without this, entering the first mode of a session imports the compiler, which takes two seconds.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


@dataclass(frozen=True)
class Count:
    """`multiply_adds` of contractions and outer products, and the same `by` operator; `entrywise` products.

    `entries` are all the real numbers that were computed, by whatever operator: a product can be had from squares or
    logarithms, but not without computing entries. What is only moved, chosen or copied is not among them.
    `escapes` are the ways by which numbers left torch, where no one can count: `numpy`, `tolist`, …
    """

    multiply_adds: int
    entrywise: int
    entries: int
    by: dict[str, int]
    escapes: tuple[str, ...]
    value: object = field(repr=False)


def count(function: Callable[..., object], *args: object, **kwargs: object) -> Count:
    """Run `function(*args)` and count the multiply-adds that it does, backward passes included.

    (While this looks on, torch takes none of its fused fast paths for attention: their work is seen too.)
    """
    watch, door = _Counting(), _Door()
    _counting.append(watch)
    try:
        with door, watch:
            value = function(*args, **kwargs)
    finally:
        _counting.pop()
    by = dict(watch.by.most_common())
    escapes = tuple(dict.fromkeys(door.escapes))
    return Count(sum(by.values()), watch.entrywise, watch.entries, by, escapes, value)


class _Door(TorchFunctionMode):
    """Sees real numbers leave torch. Whole numbers may: a token's index is no arithmetic."""

    _WAYS = ("numpy", "tolist", "item", "__array__", "__float__", "__dlpack__")

    def __init__(self) -> None:
        super().__init__()
        self.escapes: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in self._WAYS and args and isinstance(args[0], Tensor) and args[0].is_floating_point():
            self.escapes.append(name)
        return func(*args, **(kwargs or {}))


class _Counting(Watch):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.by: Counter[str] = Counter()
        self.entrywise = self.entries = 0
        # A product that is summed later is a contraction: storage of the product -> (itself, its size).
        self.products: dict[int, tuple[Tensor, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet = func._overloadpacket
        rule = _RULES.get(packet)
        if rule is None and packet not in (aten.mul, aten.mul_) and packet not in _SUMS:
            with self:
                whole = func.decompose(*args, **kwargs)
            if whole is not NotImplemented:
                return whole
        out = func(*args, **kwargs)
        if packet.__name__.rstrip("_") not in _MOVED and not func.is_view:
            outputs = out if isinstance(out, (tuple, list)) else (out,)
            self.entries += sum(t.numel() for t in outputs if isinstance(t, Tensor) and t.is_floating_point())
        if rule is not None:
            self._add(packet, rule(args, out))
        elif packet in (aten.mul, aten.mul_):
            self._product(packet, args, out)
        elif packet in _SUMS:
            self._sum(packet, args[0])
        return out

    def _add(self, packet: Any, number: int) -> None:
        self.by[packet.__name__.lstrip("_")] += number

    def _product(self, packet: Any, args: Sequence[Any], out: Tensor) -> None:
        left, right = args[0], args[1]
        if not isinstance(right, Tensor) or not out.is_floating_point():
            return
        sizes = _distinct(left), _distinct(right)
        if out.numel() > max(sizes) or out.dim() == 0:  # an outer product, or one step of a loop of them
            self._add(packet, out.numel())
        elif min(sizes) > 1:
            self.entrywise += out.numel()
            self.products[_storage(out)] = (out, out.numel())

    def _sum(self, packet: Any, summed: object) -> None:
        if isinstance(summed, Tensor) and (found := self.products.pop(_storage(summed), None)):
            self.entrywise -= found[1]
            self._add(packet, found[1])


def _distinct(tensor: Tensor) -> int:
    """How many numbers a tensor holds: an expanded axis repeats the same ones."""
    axes = zip(tensor.shape, tensor.stride(), strict=True)
    return prod(size for size, stride in axes if stride or size == 1)


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _matrices(first: int) -> Callable[[Any, Any], int]:
    """(…, m, k) × (k, n) or (…, k, n): m·k·n a matrix; `first` is the place of the left one."""
    return lambda args, out: args[first].numel() * args[first + 1].shape[-1]


def _attentions() -> Iterator[tuple[str, Callable[[Any, Any], int]]]:
    """torch's own rules, two for each multiply-add. It has none for a CPU, which does the same work.

    The way back computes the scores once more: five products where the way forward has two.
    """
    for end in ("", "_backward"):
        flops = flop_registry[getattr(aten, f"_scaled_dot_product_flash_attention{end}")]
        for kind in ("flash_attention_for_cpu", "flash_attention", "efficient_attention", "cudnn_attention"):
            yield f"_scaled_dot_product_{kind}{end}", lambda args, out, f=flops: f(*args, out_val=out) // 2  # type: ignore[misc]


def _convolution(args: tuple[Tensor, Tensor, *tuple[Any, ...]], out: Tensor) -> int:
    source, weight, transposed = args[0], args[1], args[6]
    return (source if transposed else out).numel() * prod(weight.shape[1:])


def _convolution_backward(args: tuple[Tensor, Tensor, Tensor, *tuple[Any, ...]], out: object) -> int:
    grad, source, weight, transposed, wanted = args[0], args[1], args[2], args[7], args[10]
    return (source if transposed else grad).numel() * prod(weight.shape[1:]) * int(sum(wanted[:2]))


def _recurrent(args: tuple[Tensor, Tensor, Tensor, *tuple[Any, ...]], out: object) -> int:
    source, to_gates, from_state = args[:3]
    return source.shape[:-1].numel() * (to_gates.numel() + from_state.numel())


def _trilinear(args: tuple[Tensor, Tensor, Tensor, *tuple[Any, ...]], out: object) -> int:
    shapes = []
    for tensor, axes in zip(args[:3], args[3:6], strict=True):
        for axis in sorted(axes):
            tensor = tensor.unsqueeze(axis)
        shapes.append(tensor.shape)
    return int(torch.broadcast_shapes(*shapes).numel())


# What makes no number that was not there: copies, choices, constants.
_MOVES = """
    clone copy _to_copy contiguous cat stack index _unsafe_index index_select index_put gather take embedding
    scatter select_scatter slice_scatter constant_pad_nd im2col repeat flip roll tril triu diag_embed where
    masked_fill fill zero zeros ones full eye arange linspace scalar_tensor zeros_like ones_like full_like
    new_zeros new_ones new_full empty empty_like new_empty new_empty_strided empty_strided lift_fresh detach max
    min amax amin sort topk"""
_MOVED = frozenset(_MOVES.split())
_SUMS = (aten.sum, aten.mean, aten.cumsum, aten.nansum)

_RULES: dict[Any, Callable[[Any, Any], int]] = {
    aten.mm: _matrices(0), aten.bmm: _matrices(0), aten.addmm: _matrices(1), aten.baddbmm: _matrices(1),
    aten.addbmm: _matrices(1),
    aten.mv: lambda args, out: args[0].numel(),
    aten.addmv: lambda args, out: args[1].numel(),
    aten.dot: lambda args, out: args[0].numel(),
    aten.vdot: lambda args, out: args[0].numel(),
    aten.addr: lambda args, out: out.numel(),
    aten.convolution: _convolution, aten.convolution_backward: _convolution_backward,
    aten._trilinear: _trilinear,
    aten.mkldnn_rnn_layer: _recurrent,
    **{getattr(aten, name): rule for name, rule in _attentions() if hasattr(aten, name)},
}  # fmt: skip
