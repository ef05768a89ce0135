"""Gradients as a student with a typical mistake would compute them: autograd, with one rule bent.

The backward pass of the trusted loss is run again, and one of its rules is replaced: the sigmoid's derivative
is left out, a softmax forgets its target, a matrix is not transposed, a path through time is cut. If the
student's gradient is exactly that, the mistake is known, and no formula of the answer was needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten

# What a rule gets: which occurrence of its operator this is (in backward order), and the operator's arguments.
# It returns the bent gradient, or None to leave this occurrence alone.
Rule = Callable[[int, tuple], "Tensor | None"]


@dataclass(frozen=True)
class Bend:
    kind: str
    says: str  # goes on after "The gradient of `H` "
    operator: object
    rule: Rule


class _Bent(TorchDispatchMode):
    def __init__(self, bend: Bend):
        super().__init__()
        self.bend, self.seen = bend, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is self.bend.operator:
            self.seen += 1
            changed = self.bend.rule(self.seen - 1, args)
            if changed is not None:
                return changed
        return func(*args, **(kwargs or {}))


class _Record(TorchDispatchMode):
    """The operators of a backward pass in order, each with its arguments."""

    def __init__(self):
        super().__init__()
        self.calls: list[tuple[object, tuple]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((func, args))
        return func(*args, **(kwargs or {}))


class Backward:
    """The backward pass of one case, to be run with a bent rule as often as needed."""

    def __init__(self, value: Tensor, leaves: Mapping[str, Tensor]):
        self.value, self.leaves = value.reshape(()), leaves
        self._bends: list[Bend] | None = None
        self._cache: dict[int, dict[str, Tensor]] = {}

    def gradients(self, mode: AbstractContextManager) -> dict[str, Tensor]:
        with mode:
            found = torch.autograd.grad(
                self.value, list(self.leaves.values()), retain_graph=True, allow_unused=True
            )
        return {
            name: torch.zeros_like(leaf) if g is None else g
            for (name, leaf), g in zip(self.leaves.items(), found, strict=True)
        }

    def bends(self) -> list[Bend]:
        """Every rule that can be bent in this pass."""
        if self._bends is None:
            record = _Record()
            self.gradients(record)
            owners = {leaf.data_ptr(): name for name, leaf in self.leaves.items() if leaf.numel()}
            self._bends = list(_bends(record.calls, owners))
        return self._bends

    def bent(self, number: int, bend: Bend) -> dict[str, Tensor]:
        if number not in self._cache:
            try:
                self._cache[number] = self.gradients(_Bent(bend))
            except RuntimeError:  # a matrix that is not square cannot be left untransposed
                self._cache[number] = {}
        return self._cache[number]


def _bends(calls: Sequence[tuple[object, tuple]], owners: Mapping[int, str]) -> Iterator[Bend]:
    def sites(operator) -> list[tuple]:
        return [args for func, args in calls if func is operator]

    sigmoids, tanhs = sites(aten.sigmoid_backward.default), sites(aten.tanh_backward.default)
    yield from _activation(
        aten.sigmoid_backward.default, sigmoids, _SIGMOID, "h(1-h), the sigmoid's derivative"
    )
    yield from _activation(aten.tanh_backward.default, tanhs, _TANH, "1-h², the derivative of tanh")
    for operator in (aten._log_softmax_backward_data.default, aten._softmax_backward_data.default):
        if sites(operator):
            rules = _LOG_SOFTMAX if operator is aten._log_softmax_backward_data.default else _SOFTMAX
            for says, rule in rules:
                yield Bend(
                    "softmax", says, operator, lambda n, args, rule=rule: rule(args[0], args[1], args[2])
                )
    for operator in (aten.mm.default, aten.mv.default):
        yield from _products(operator, sites(operator), owners)
    states = [args[1] for func, args in calls if func in _ACTIVATIONS]
    yield from _shifted(sites(aten.mm.default), states, owners)


_ACTIVATIONS = (aten.sigmoid_backward.default, aten.tanh_backward.default)

_SIGMOID = (
    ("lacks the factor {right}", lambda g, h: g),
    ("has 1-h², the derivative of tanh, where {right}, belongs", lambda g, h: g * (1 - h * h)),
    ("has h where {right}, belongs", lambda g, h: g * h),
    ("has 1-h where {right}, belongs", lambda g, h: g * (1 - h)),
    ("has the factor {right}, twice", lambda g, h: g * (h * (1 - h)) ** 2),
    ("applies the sigmoid once more to h before {right}, is taken",
     lambda g, h: g * torch.sigmoid(h) * (1 - torch.sigmoid(h))),
)  # fmt: skip
_TANH = (
    ("lacks the factor {right}", lambda g, h: g),
    ("has h(1-h), the sigmoid's derivative, where {right}, belongs", lambda g, h: g * h * (1 - h)),
    ("has 1-h where {right}, belongs", lambda g, h: g * (1 - h)),
    ("has the factor {right}, twice", lambda g, h: g * (1 - h * h) ** 2),
)


def _activation(operator, sites: Sequence[tuple], rules, right: str) -> Iterator[Bend]:
    """The derivative of an activation changed: in every step, in the last one, in all but the last; taken from
    a neighbouring step; or the path cut so that nothing from before some step arrives."""
    count = len(sites)
    wheres = [(lambda n: True, "")]
    if count > 1:
        wheres += [
            (lambda n: n == 0, " in the last step (the one nearest the loss)"),
            (lambda n: n > 0, " in every step but the last (the one nearest the loss)"),
        ]
    for where, place in wheres if count else ():
        for says, rule in rules:
            yield Bend(
                "sigma-prime", says.format(right=right) + place + ".", operator,
                lambda n, args, rule=rule, where=where: rule(args[0], args[1]) if where(n) else None,
            )  # fmt: skip
    states = [args[1] for args in sites]
    for shift, words in ((1, "before"), (-1, "after")):
        if count > 1:
            yield Bend(
                "time-step", f"takes {right}, from the step {words} the right one.", operator,
                lambda n, args, shift=shift: _from(states, n, shift, args, operator),
            )  # fmt: skip
    for kept in range(1, count):
        reach = "the last step" if kept == 1 else f"the last {kept} steps"
        yield Bend(
            "path", f"counts only {reach}: the paths through earlier ones are dropped.", operator,
            lambda n, args, kept=kept: torch.zeros_like(args[0]) if n >= kept else None,
        )  # fmt: skip


def _from(states: Sequence[Tensor], n: int, shift: int, args: tuple, operator) -> Tensor | None:
    if not 0 <= n + shift < len(states) or states[n + shift].shape != args[1].shape:
        return None
    return operator(args[0], states[n + shift])


def _log_softmax_right(g: Tensor, out: Tensor, dim: int) -> Tensor:
    return g - out.exp() * g.sum(dim, keepdim=True)


def _jacobian_again(g: Tensor, out: Tensor, dim: int) -> Tensor:
    p, r = out.exp(), _log_softmax_right(g, out, dim)
    return p * (r - (p * r).sum(dim, keepdim=True))


_LOG_SOFTMAX = (
    ("has ŷ where ŷ-y belongs: the target is not subtracted.",
     lambda g, out, dim: -out.exp() * g.sum(dim, keepdim=True)),
    ("has -y where ŷ-y belongs: the softmax's normaliser is left out.", lambda g, out, dim: g),
    ("goes through the softmax's Jacobian a second time: ŷ-y already contains it.", _jacobian_again),
    ("has a factor ŷ(1-ŷ) beside ŷ-y, which already contains the softmax's derivative.",
     lambda g, out, dim: _log_softmax_right(g, out, dim) * out.exp() * (1 - out.exp())),
)  # fmt: skip
_SOFTMAX = (
    ("treats the softmax as if its normaliser were a constant.", lambda g, out, dim: g * out),
    ("uses only the diagonal p(1-p) of the softmax's Jacobian.", lambda g, out, dim: g * out * (1 - out)),
    ("leaves out the derivative of the softmax.", lambda g, out, dim: g),
)


def _products(operator, sites: Sequence[tuple], owners: Mapping[int, str]) -> Iterator[Bend]:
    """The product with a square matrix on the way back: not transposed, or forgotten."""
    place, other = (1, 0) if operator is aten.mm.default else (0, 1)
    for name in dict.fromkeys(owners.get(args[place].data_ptr(), "") for args in sites):
        if not name:
            continue

        def is_it(args, name=name):
            return owners.get(args[place].data_ptr()) == name and args[place].shape[0] == args[place].shape[1]

        if not any(is_it(args) for args in sites):
            continue
        yield Bend(
            "transpose", f"multiplies by `{name}` where its transpose belongs.", operator,
            lambda n, args, is_it=is_it: _untransposed(operator, args, place) if is_it(args) else None,
        )  # fmt: skip
        yield Bend(
            "path", f"forgets the product with `{name}` on the way back.", operator,
            lambda n, args, is_it=is_it: args[other].clone() if is_it(args) else None,
        )  # fmt: skip


def _untransposed(operator, args: tuple, place: int) -> Tensor:
    changed = list(args)
    changed[place] = args[place].t()
    return operator(*changed)


def _shifted(sites: Sequence[tuple], states: Sequence[Tensor], owners: Mapping[int, str]) -> Iterator[Bend]:
    """A weight's gradient is (what went in)ᵀ(error): what went in taken from a neighbouring step.

    Sites of one weight are those with one shape of input; `states` are the activations' outputs, last first.
    """
    weights = [n for n, args in enumerate(sites) if args[1].data_ptr() not in owners]
    # One weight's sites: its input and its error have the same sizes in every step.
    for shape, width in dict.fromkeys((tuple(sites[n][0].shape), sites[n][1].shape[1]) for n in weights):
        order = [n for n in weights if sites[n][0].shape == shape and sites[n][1].shape[1] == width]
        mine = [sites[n][0] for n in order]
        after = [s.reshape(shape) for s in states if s.numel() == mine[0].numel() and shape[1] == 1]
        sources: list[tuple[str, list[Tensor | None]]] = [
            (
                "uses the state after the step where the state before it belongs.",
                [*after, *mine][: len(mine)],
            ),
            ("uses the input of the step before the right one.", [*mine[1:], None]),
            ("uses the input of the step after the right one.", [None, *mine[:-1]]),
        ]
        for says, source in sources:
            if not any(s is not None and s is not m for s, m in zip(source, mine, strict=False)):
                continue
            table = dict(zip(order, source, strict=False))
            yield Bend(
                "time-step", says, aten.mm.default,
                lambda n, args, table=table: table[n] @ args[1] if table.get(n) is not None else None,
            )  # fmt: skip
