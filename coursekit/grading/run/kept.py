"""Tensors that stay with the examiner while the student's function computes with them.

Where a test counts operations, the candidate gets handles in place of numbers. Each operator comes here by name, is
looked up in a fixed table, has its size checked, and is executed and counted here: nothing in the student's process
could miscount it, and no source of a test goes there.

What a hidden input went into is hidden as well, by its storage. What nothing hidden touched (a mask, an index of the
student's own) may be read freely.

A tensor with a history keeps that on its own side. `backward()` on the copy asks the other side for the rows of the
Jacobian, one for each entry, so that no number of the test's goes over; only where no argument asks for a gradient, and
so the student's own parameters are all that could be meant, the gradient itself is sent.
"""

import json
from functools import cache
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils._pytree import tree_map_only

from .. import wire

aten = torch.ops.aten
# Entries of one tensor, of all that a call makes; operators.
LARGEST, ALL, OPERATORS = 1 << 22, 1 << 24, 200_000
WORK = 1 << 33  # multiply-adds of one operator: what a product of two of the largest matrices takes
UPLOAD, LEAST_UPLOAD = 4, 256  # numbers of one's own: so many times the inputs, and at least so many
BY_HAND = "autograd is switched off for this question: write the gradient by hand"
READS = "the numbers stay with the grader while the work is counted, and this line asks for one of them"
TOO_MUCH = "this takes far more work than the question needs"

_ORDINARY = """abs neg exp expm1 log log1p log2 log10 sqrt rsqrt reciprocal sigmoid tanh relu gelu silu softplus elu
leaky_relu erf sin cos square sign floor ceil round clamp clamp_min clamp_max add sub rsub mul div pow maximum minimum
where lerp addcmul addcdiv remainder floor_divide fmod atan2 xlogy log_sigmoid_forward hardtanh eq ne lt le gt ge
logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor isnan isinf isfinite
nan_to_num
sum mean prod cumsum cumprod logcumsumexp max min amax amin argmax argmin any all var std var_mean
logsumexp _softmax _log_softmax _safe_softmax norm linalg_vector_norm count_nonzero sort topk argsort
native_layer_norm nll_loss_forward nansum
mm bmm addmm baddbmm addbmm mv addmv dot vdot addr outer linear convolution
view _unsafe_view _reshape_alias reshape t transpose permute unsqueeze squeeze expand select slice narrow
unbind split split_with_sizes chunk diagonal unfold as_strided alias detach clone contiguous stack cat repeat flip roll
tril triu diag_embed movedim gather index index_select index_put _unsafe_index take constant_pad_nd im2col embedding
scatter scatter_add index_add index_copy index_fill masked_fill _to_copy copy fill zero lift_fresh select_scatter
slice_scatter is_same_size"""
_FACTORIES = """zeros ones full eye arange linspace scalar_tensor zeros_like ones_like full_like new_zeros new_ones
new_full empty empty_like new_empty new_empty_strided empty_strided tril_indices triu_indices"""
# Their answer, or its shape, depends on the numbers.
_TELLING_NAMES = """_local_scalar_dense equal nonzero masked_select unique_consecutive _unique2 bincount
repeat_interleave is_nonzero allclose"""
FACTORIES, _TELLING = frozenset(_FACTORIES.split()), frozenset(_TELLING_NAMES.split())
_MASKED = "a mask as an index (use `torch.where` or `masked_fill`)"
_WAYS = {
    "_local_scalar_dense": "`.item()`, `float(x)`, `if x > 0` or `torch.tensor([x])`",
    "nonzero": "`nonzero` or a mask as an index",
    "index": _MASKED,
    "index_put_": _MASKED,
    "equal": "`torch.equal`",
}
_NEVER_IN_PLACE = {"t_", "transpose_", "unsqueeze_", "squeeze_", "as_strided_", "detach_"}


def _table() -> dict[str, Any]:
    """The operators on tensors by full name, made once: no attribute is ever looked up by a name from outside."""
    names = {*_ORDINARY.split(), *FACTORIES, *_TELLING}
    names |= {f"{name}_" for name in names}
    found = {}
    for name in names - _NEVER_IN_PLACE:
        packet = getattr(aten, name, None)
        for overload in packet.overloads() if packet is not None else ():
            func = getattr(packet, overload)
            # The scripts' own, of plain numbers and lists, are no tensor's: `5 % 0` there ends a process.
            tensors = name in FACTORIES or any("Tensor" in str(a.type) for a in func._schema.arguments)
            if tensors and not any(word in overload for word in ("out", "Dimname", "generator")):
                found[f"{name}.{overload}"] = func
    return found


TABLE = _table()
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool,
)}  # fmt: skip
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
FORMATS = {"contiguous": torch.contiguous_format, "preserve": torch.preserve_format}


class Refused(RuntimeError):
    """What the rules of a counted question do not allow; the sentence says what to do instead."""


class Failed(Exception):
    """What torch said about an operator, as far as it may be told."""


class Kept:
    """A tensor of the table on its way out: its key, and what can be known of it without its numbers."""

    def __init__(self, key: int, tensor: Tensor):
        dtype = DTYPE_NAMES[tensor.dtype]
        self.data = key, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), dtype


_write = json.JSONEncoder(default=lambda value: {"$k": value.data}, check_circular=False).encode


class Keeper:
    """The tensors of one counted call."""

    def __init__(self, first: int):
        self.table: dict[int, Tensor] = {}
        self.next = first  # no key is given twice: what a function kept from an earlier call is gone
        self.hidden: set[int] = set()
        self.storages: list[Any] = []  # held, so that no address comes again
        self.made = self.operators = self.uploaded = 0
        self.upload = LEAST_UPLOAD
        self.over = ""
        # A gradient of 1 was begun from a result: so a backward pass that was written down begins.
        self.seeded = False
        self.read = json.JSONDecoder(object_hook=self._object).decode

    def lend(self, value: Any) -> Any:
        """The value with every tensor of real numbers in it kept here; all else goes as it is."""

        def lend(tensor: Tensor) -> Any:
            if not tensor.is_floating_point():
                return tensor
            self.upload += UPLOAD * tensor.numel()
            return self.keep(tensor.detach().clone(), hidden=True)

        return tree_map_only(Tensor, lend, value)

    def keep(self, tensor: Tensor, hidden: bool) -> Kept:
        if tensor.dtype not in DTYPE_NAMES:
            raise Refused(f"numbers of type {tensor.dtype} are not counted here")
        key, self.next = self.next, self.next + 1
        self.table[key] = tensor
        storage = tensor.untyped_storage()
        self.storages.append(storage)
        if hidden:
            self.hidden.add(storage._cdata)
        return Kept(key, tensor)

    def find(self, key: Any) -> Tensor:
        if type(key) is not int or key not in self.table:
            raise wire.Malformed("a tensor that is not of this call")
        return self.table[key]

    # what the candidate asks

    def constant(self, tensor: Any) -> str:
        """A tensor of the student's own comes in."""
        if not isinstance(tensor, Tensor):
            raise wire.Malformed("a constant that is no tensor")
        self.uploaded += tensor.numel()
        if self.uploaded > self.upload:
            return _write(["refused", "too many numbers of your own go into this computation"])
        return self._reply(lambda: self.keep(tensor.detach().clone(), hidden=False))

    def operator(self, question: Any) -> str:
        """One operator, asked for as JSON: its name, its arguments, its named arguments."""
        try:
            name, args, kwargs = self.read(question)
            if (type(name), type(args), type(kwargs)) != (str, list, dict):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise wire.Malformed("a malformed question about a tensor") from None
        with torch._C.DisableTorchFunction():  # nobody looks on but the counter
            return self._reply(lambda: self._do(name, args, kwargs))

    def _reply(self, work: Any) -> str:
        try:
            return _write(["ok", work()])
        except Refused as error:
            return _write(["refused", str(error)])
        except Failed as error:
            return _write(["failed", list(error.args)])

    def _object(self, found: dict[str, Any]) -> Any:
        """Of JSON's objects three mean something: a handle, a dtype, a memory format; others name arguments."""
        if len(found) == 1:
            ((kind, data),) = found.items()
            if kind == "$k":
                return self.find(data)
            if kind in ("$d", "$m"):
                return (DTYPES if kind == "$d" else FORMATS)[data]
        return found

    def _do(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        packet = name.partition(".")[0]
        if self.over:
            raise Refused(self.over)
        if name not in TABLE:
            words = f"`{packet}` is not among the operators of this question"
            raise Refused(BY_HAND if "backward" in packet else words)
        packet, name, args = _tamed(packet, name, args)
        func, tensors = TABLE[name], tensors_of((args, kwargs))
        hidden = any(map(self._is_hidden, tensors))
        masks = [t for t in tensors[1:] if t.dtype in (torch.bool, torch.uint8)]
        by_mask = packet in ("index", "_unsafe_index") and any(map(self._is_hidden, masks))
        # It can end a process.
        if kwargs.get("rounding_mode") == "trunc" and not any(t.is_floating_point() for t in tensors):
            raise Refused("`rounding_mode='trunc'` of integers is not counted here (use `//`)")
        if hidden and (packet in _TELLING or by_mask):
            raise Refused(f"{READS}, by {_WAYS.get(packet, f'`{packet}`')}: stay with torch's tensors")
        given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        if any(isinstance(given.get(at), int) for at in _enumerated(func)):
            raise Refused("a type of numbers is named, and not numbered")
        self.seeded |= hidden and packet in ("ones_like", "full_like") and tensors[0].dim() == 0
        self._afford(func, args, kwargs, tensors)
        try:
            out = func(*args, **kwargs)
        except Exception as error:  # noqa: BLE001
            raise self._failure(func, args, kwargs, error, hidden) from None
        if hidden and func._schema.is_mutable:
            for spec, value in zip(func._schema.arguments, args, strict=False):
                if spec.alias_info is not None and spec.alias_info.is_write and isinstance(value, Tensor):
                    self.hidden.add(value.untyped_storage()._cdata)
        return self._answer(out, args, hidden, func.is_view)

    def _is_hidden(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self.hidden

    def _answer(self, out: Any, args: Any, hidden: bool, view: bool) -> Any:
        if isinstance(out, Tensor):
            if args and out is args[0]:
                return "same"
            self.made += 0 if view else out.numel()
            return self.keep(out, hidden)
        if isinstance(out, (tuple, list)):
            return [self._answer(item, (), hidden, view) for item in out]
        if hidden:
            raise Refused(READS)
        return out if isinstance(out, (bool, int, float, str, type(None))) else str(out)

    def _afford(self, func: Any, args: list[Any], kwargs: dict[str, Any], tensors: list[Tensor]) -> None:
        """The size of what comes out, before it is made: a bound that costs nothing, else torch's own word for it."""
        self.operators += 1
        if any(t.numel() > LARGEST for t in tensors):  # an expanded one: little memory, and years of work
            self.over = TOO_MUCH
        elif not func.is_view:
            # By plain numbers among the arguments a result can be larger than what went in.
            numbers = [abs(n) for n in leaves_of((args, kwargs)) if type(n) in (int, float) and n == n]
            bound = prod(max(1, t.numel()) for t in tensors) * prod(min(max(1.0, n), 1e18) for n in numbers)
            if bound > LARGEST:
                apart = _meta(kwargs) if tensors else {**kwargs, "device": "meta"}
                try:
                    size: float = sum(t.numel() for t in tensors_of(func(*map(_meta, args), **apart)))
                except NotImplementedError:
                    size = bound
                except Exception:  # noqa: BLE001 - it will fail on the numbers as well, and say so
                    size = 0
                # Of all operators this one alone can take years for a small result.
                work = size * args[1].numel() if func is aten.convolution.default else 0
                if size > LARGEST or work > WORK:
                    self.over = TOO_MUCH
        if self.made > ALL or self.operators > OPERATORS:
            self.over = TOO_MUCH
        if self.over:
            raise Refused(self.over)

    def _failure(self, func: Any, args: Any, kwargs: Any, error: Exception, hidden: bool) -> Exception:
        """What torch says about shapes may be told; what it says about numbers may not, and ends the call."""
        told = Failed(type(error).__name__, str(error).split("\n")[0][:500])
        if not hidden:
            return told
        try:
            func(*map(_zeroed, args), **_zeroed(kwargs))
        except Exception as same:  # noqa: BLE001
            # The shapes alone are wrong: torch's own words, which a named mistake may have to match.
            if (type(same), str(same)) == (type(error), str(error)):
                return told
        self.over = "an operation failed on the numbers (an index out of range?): nothing more is computed"
        return Failed("IndexError", self.over)


def _tamed(packet: str, name: str, args: list[Any]) -> tuple[str, str, list[Any]]:
    """The same question where an operator would give what lies in this process's memory."""
    if packet == "_reshape_alias":  # it believes any size: this one looks whether there is so much
        return packet, "as_strided.default", [*args, *(t.storage_offset() for t in tensors_of(args[:1]))]
    if packet in FACTORIES and "empty" in packet:
        packet = packet.replace("empty_strided", "empty").replace("empty", "zeros")
        return packet, f"{packet}.default", args[: 2 if packet.startswith("new") else 1]
    return packet, name, args


@cache
def _enumerated(func: Any) -> set[int | str]:
    """The arguments, by place and by name, that are torch's own enumerations: it would believe any number."""
    found: set[int | str] = set()
    for at, spec in enumerate(func._schema.arguments):
        if any(kind in str(spec.real_type) for kind in ("ScalarType", "Layout", "MemoryFormat")):
            found |= {at, spec.name}
    return found


def tensors_of(value: Any) -> list[Tensor]:
    return [leaf for leaf in leaves_of(value) if isinstance(leaf, Tensor)]


def leaves_of(value: Any) -> list[Any]:
    """What stands in lists and dicts, as operators are given them; torch's own walk knows more kinds, and takes a
    third of an operator's time."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves_of(item)]
    return leaves_of([*value.values()]) if isinstance(value, dict) else [value]


def _meta(value: Any) -> Any:
    """The same without numbers."""
    return tree_map_only(Tensor, lambda t: t.new_empty(t.shape, device="meta"), value)


def _zeroed(value: Any) -> Any:
    """The same with nothing but zeros."""

    def zeros(t: Tensor) -> Tensor:
        span = 1 + sum((size - 1) * step for size, step in zip(t.shape, t.stride(), strict=True))
        return t.new_zeros(max(1, span)).as_strided(t.shape, t.stride())

    return tree_map_only(Tensor, zeros, value)


# histories

ENTRIES = 4096  # of a result whose gradient is asked for: each is a backward pass of its own
AT_ONCE = 1 << 22  # numbers in one answer


def rows(tensor: torch.Tensor, leaves: list[torch.Tensor], first: int, last: int) -> list[Any]:
    """For each leaf, the derivatives of these entries of the tensor."""
    found = [
        torch.autograd.grad(entry, leaves, retain_graph=True, allow_unused=True)
        for entry in tensor.reshape(-1)[first:last]
    ]
    return [None if column[0] is None else torch.stack(column) for column in zip(*found, strict=True)]


class _Elsewhere(torch.autograd.Function):
    """y = f(x) was computed elsewhere. Its derivatives dy/dx come from there; (dL/dy) · dy/dx is computed here, since
    dL/dy may hold what the test expects."""

    @staticmethod
    def forward(ctx: Any, peer: Any, key: int, value: torch.Tensor, *inputs: torch.Tensor) -> torch.Tensor:
        ctx.peer, ctx.key = peer, key
        ctx.forms = [(tensor.shape, tensor.dtype) for tensor in inputs]
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        peer, flat = ctx.peer, grad.reshape(-1)
        if not ctx.forms:
            peer.request("vjp", (ctx.key, grad.contiguous()))
            return (None, None, None)
        if len(flat) > ENTRIES:
            raise peer.refuse("the test goes back through a value whose history stays with the student")
        step = max(1, AT_ONCE // max(1, sum(shape.numel() for shape, _ in ctx.forms)))
        totals: list[Any] = [None] * len(ctx.forms)
        for first in range(0, len(flat), step):
            weights = flat[first : first + step]
            found = peer.request("rows", (ctx.key, first, first + len(weights)))
            if type(found) is not list or len(found) != len(ctx.forms):
                raise peer.misbehaved("gradients of the wrong number")
            for at, (row, (shape, dtype)) in enumerate(zip(found, ctx.forms, strict=True)):
                if row is None:
                    continue
                if (row.shape, row.dtype) != ((len(weights), *shape), dtype):
                    raise peer.misbehaved("a gradient of the wrong shape")
                part = torch.tensordot(weights.to(dtype), row.detach(), 1)
                totals[at] = part if totals[at] is None else totals[at] + part
        return (None, None, None, *totals)


def attached(peer: Any, key: int, value: torch.Tensor, inputs: list[torch.Tensor]) -> torch.Tensor:
    """`value` as a function of `inputs`, whatever the gradient mode: the other side knew it had a history."""
    with torch.enable_grad():
        made: torch.Tensor = _Elsewhere.apply(peer, key, value.requires_grad_(), *inputs)  # type: ignore[no-untyped-call]
        return made
