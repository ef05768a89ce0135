"""The candidate's side of a counted call: tensors without numbers, each of whose operators is asked of the examiner.

Nothing here is trusted: it is for the convenience of an honest function, which notices little of it.
"""

import contextlib
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._C import _functorch
from torch.utils._pytree import tree_map_only

from coursekit.checks.judging.counting import Watch

from .. import wire
from .kept import BY_HAND, DTYPE_NAMES, DTYPES, FACTORIES, FORMATS, Refused, tensors_of

_DROPPED = {"device", "layout", "pin_memory", "non_blocking"}
_RANDOM = ("rand", "normal", "multinomial", "bernoulli", "dropout", "poisson", "exponential", "uniform")
TRACED = "traced"
# Where each of torch's tracers passes by: they can write down ahead what autograd does.
_TRACERS = (
    (torch.fx.Graph, "__init__"),
    (torch._C, "_create_graph_by_tracing"),
    (torch._C, "_jit_script_compile"),
)
_asks = Tensor.requires_grad.__get__  # type: ignore[attr-defined]
_lines: list["Line"] = []


def _no(sentence: str) -> Any:
    def method(*_: Any, **__: Any) -> Any:
        raise Refused(sentence)

    return method


class Lent(Tensor):
    """A tensor whose numbers are with the examiner."""

    key: int

    @staticmethod
    def __new__(cls, key: int, shape: Any, stride: Any, offset: int, dtype: str) -> "Lent":
        kind, here = DTYPES[dtype], torch.device("cpu")
        made = Tensor._make_wrapper_subclass(
            cls, shape, strides=stride, storage_offset=offset, dtype=kind, device=here
        )
        made.key = key  # here: `torch.Tensor(3, 4)` makes one of these, and Python would call __init__ with 3
        return made

    def __init__(self, *_: Any):
        pass

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return line().operator(func, args, kwargs or {})

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"tensor(kept by the grader, shape={tuple(self.shape)}, dtype={self.dtype})"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def tolist(self) -> Any:
        return self._numbers().tolist()

    def numpy(self, *_: Any, **__: Any) -> Any:
        return self._numbers().numpy()

    def _numbers(self) -> Tensor:
        flat = self.reshape(-1)
        with line().apart():
            plain = torch.tensor([flat[at].item() for at in range(len(flat))], dtype=self.dtype)
            return plain.reshape(tuple(self.shape))

    requires_grad_ = _no(BY_HAND)
    backward = _no(BY_HAND)
    requires_grad = property(lambda self: _asks(self), _no(BY_HAND))


def line() -> "Line":
    if not _lines:
        raise Refused("this tensor belongs to an earlier call, which is over")
    return _lines[-1]


@contextlib.contextmanager
def counted(peer: Any) -> Iterator[None]:
    """While a function computes with lent tensors: what it makes anew is made at the examiner's, too."""
    _lines.append(Line(peer))
    made, torch.tensor = torch.tensor, _tensor_maker(torch.tensor)
    try:
        with _lines[-1]:
            yield
    finally:
        torch.tensor = made
        _lines.pop()


def _tensor_maker(made: Any) -> Any:
    """`torch.tensor([x, y])` of lent numbers, which torch would read one by one."""

    def nested(value: Any) -> Tensor:
        if isinstance(value, (list, tuple)):
            return torch.stack([nested(item) for item in value])
        return value if isinstance(value, Tensor) else made(value)

    def tensor(data: Any, *args: Any, **kwargs: Any) -> Tensor:
        if any(isinstance(t, Lent) for t in tensors_of(data)):
            return nested(data).to(kwargs.get("dtype") or nested(data).dtype)
        plain: Tensor = made(data, *args, **kwargs)
        return plain

    return tensor


class Line(Watch):
    """The way of one counted call's operators to the examiner."""

    def __init__(self, peer: Any):
        super().__init__()  # type: ignore[no-untyped-call]
        self.peer, self.off = peer, False
        self.write = json.JSONEncoder(default=_named, check_circular=False).encode
        self.read = json.JSONDecoder(object_hook=lambda found: Lent(*found["$k"])).decode

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        """What is done meanwhile is this process's own affair."""
        before, self.off = self.off, True
        try:
            yield
        finally:
            self.off = before

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.off:
            return func(*args, **kwargs)
        name = func._overloadpacket.__name__
        found = tensors_of((args, kwargs))
        if any(isinstance(t, Lent) for t in found) or (name in FACTORIES and not found):
            return self.operator(func, args, kwargs)
        if name in ("lift_fresh", "lift"):
            return self.constant(args[0])
        out = func(*args, **kwargs)
        if isinstance(out, Tensor) and any(word in name for word in _RANDOM) and not name.endswith("_"):
            return self.constant(out)
        return out

    def operator(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        packet = func._overloadpacket.__name__
        if packet == "_fused_sdp_choice":
            return 0  # attention, written out
        if packet == "_has_same_storage_numel":
            return True
        tracked = torch.is_grad_enabled() and any(map(_asks, tensors_of(args)))
        if kwargs.get("requires_grad") or "backward" in packet or tracked or _differentiating():
            raise Refused(BY_HAND)
        if _views_in_place(func):
            # `v @ M` ends in `squeeze_`: a new view there, the same one here.
            fresh = self.ask(f"{packet.rstrip('_')}.{func._overloadname}", list(args), kwargs)
            with torch._C._DisableTorchDispatch():
                func(*args, **kwargs)
            args[0].key = fresh.key
            return args[0]
        outside = args and isinstance(args[0], Tensor) and not isinstance(args[0], Lent)
        if outside and func._schema.is_mutable:
            raise Refused(f"`{packet}` writes into a tensor made outside the function: make it inside")
        kwargs = {name: value for name, value in kwargs.items() if name not in _DROPPED and value is not None}
        reply = self.ask(f"{packet}.{func._overloadname}", self._lifted(args), kwargs)
        return args[0] if reply == "same" else reply

    def constant(self, tensor: Tensor) -> Any:
        with self.apart():
            return self._ask("constant", tensor.detach())

    def ask(self, *question: Any) -> Any:
        with self.apart():
            return self._ask("operator", self.write(question))

    def _ask(self, op: str, question: Any) -> Any:
        status, data = self.read(self.peer.request(op, question))
        if status == "ok":
            return data
        if status == "refused":
            raise Refused(data)
        kinds = {"IndexError": IndexError, "ValueError": ValueError, "TypeError": TypeError}
        raise kinds.get(data[0], RuntimeError)(data[1])

    def _lifted(self, value: Any) -> Any:
        """The student's own tensors among the arguments go over as constants."""
        if all(isinstance(t, Lent) for t in tensors_of(value)):
            return value
        return tree_map_only(Tensor, lambda t: t if isinstance(t, Lent) else self.constant(t), value)


@cache  # torch makes the list of tags anew each time
def _views_in_place(func: Any) -> bool:
    return torch.Tag.inplace_view in func.tags


def _named(value: Any) -> Any:
    if isinstance(value, Lent):
        return {"$k": value.key}
    if isinstance(value, torch.dtype):
        return {"$d": DTYPE_NAMES[value]}
    for name, form in FORMATS.items():
        if value is form:
            return {"$m": name}
    raise wire.NotPlain(f"a value of type {type(value).__name__} cannot go into torch here")


def notice_tracers(seen: set[str]) -> None:
    for owner, name in _TRACERS:
        setattr(owner, name, _noticed(getattr(owner, name), seen))


def _noticed(function: Any, seen: set[str]) -> Any:
    def noticed(*args: Any, **kwargs: Any) -> Any:
        seen.add(TRACED)
        return function(*args, **kwargs)

    return noticed


def _differentiating() -> bool:
    if torch.autograd.forward_ad._current_level >= 0:
        return True
    kinds = (_functorch.TransformType.Grad, _functorch.TransformType.Jvp)
    return any(layer.key() in kinds for layer in _functorch.get_interpreter_stack() or [])
