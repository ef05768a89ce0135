"""Gradients as a student with a typical mistake would compute them: autograd, with one rule bent.

The backward pass of the trusted loss is run again, and one of its rules is replaced: the sigmoid's derivative
is left out, a softmax forgets its target, a matrix is not transposed, a path through time is cut. If the
student's gradient is exactly that, the mistake is known, and no formula of the answer was needed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..judging.counting import Watch

aten = torch.ops.aten

# A rule gets the number of this call of its operator, in backward order, and the operator's arguments.
# It returns the bent gradient, or None to leave this call alone.
Rule = Callable[[int, tuple[Any, ...]], "Tensor | None"]
Operator = Callable[..., Tensor]
Formulas = Sequence[tuple[str, Callable[..., Tensor]]]  # what each says, and the gradient that it makes
Sites = Sequence[tuple[Any, ...]]  # the arguments of each call of an operator


class Bend(NamedTuple):
    kind: str
    says: str  # goes on after "The gradient of `H` "
    rules: Mapping[object, Rule]  # by operator


class Record(Watch):
    """The operators of a computation in order, each with its arguments; a rule may give another result."""

    def __init__(self, rules: Mapping[object, Rule] = MappingProxyType({})):
        super().__init__()  # type: ignore[no-untyped-call]
        self.rules, self.seen = rules, Counter[object]()
        self.calls: list[tuple[object, tuple[Any, ...]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((func, args))
        changed = self.rules[func](self.seen[func], args) if func in self.rules else None
        self.seen[func] += 1
        return func(*args, **(kwargs or {})) if changed is None else changed


def bends(calls: Sequence[tuple[object, tuple[Any, ...]]], named: Mapping[str, Tensor]) -> Iterator[Bend]:
    """Every rule that can be bent in a backward pass of these calls; `named` are all tensors of the case."""

    def sites(operator: object) -> list[tuple[Any, ...]]:
        return [args for func, args in calls if func is operator]

    owners = {tensor.data_ptr(): name for name, tensor in named.items() if tensor.numel()}
    for operator, rules, right in _DERIVATIVES:
        yield from _activation(operator, sites(operator), rules, right, named)
    for operator, bent in _SOFTMAXES:
        for says, rule in bent if sites(operator) else ():
            yield Bend("softmax", says, {operator: _where(lambda n: True, rule)})
    for operator, place in ((aten.mm.default, 1), (aten.mm.default, 0), (aten.mv.default, 0)):
        yield from _products(operator, place, sites(operator), owners)
        for activation, _, right in _DERIVATIVES if sites(operator) else ():
            if sites(activation):
                yield _late(activation, right, operator, place)
    states = [args[1] for func, args in calls if func in _ACTIVATIONS]
    yield from _shifted(sites(aten.mm.default), states, owners, named)


_ACTIVATIONS = (aten.sigmoid_backward.default, aten.tanh_backward.default)

_SIGMOID = (
    ("lacks the factor {right},", lambda g, h: g),
    ("has 1-h², the derivative of tanh, where {right}, belongs", lambda g, h: g * (1 - h * h)),
    ("has h where {right}, belongs", lambda g, h: g * h),
    ("has 1-h where {right}, belongs", lambda g, h: g * (1 - h)),
    ("has the factor {right}, twice", lambda g, h: g * (h * (1 - h)) ** 2),
    ("applies the sigmoid once more to h before {right}, is taken",
     lambda g, h: g * torch.sigmoid(h) * (1 - torch.sigmoid(h))),
)  # fmt: skip
_TANH = (
    ("lacks the factor {right},", lambda g, h: g),
    ("has h(1-h), the sigmoid's derivative, where {right}, belongs", lambda g, h: g * h * (1 - h)),
    ("has 1-h where {right}, belongs", lambda g, h: g * (1 - h)),
    ("has the factor {right}, twice", lambda g, h: g * (1 - h * h) ** 2),
)


def _activation(
    operator: Operator, sites: Sites, rules: Formulas, right: str, named: Mapping[str, Tensor]
) -> Iterator[Bend]:
    """The derivative of an activation changed: in every step, in the last one, in all but the last; taken
    from a neighbouring step; or the path cut, so that nothing from before some step arrives."""
    count = len(sites)
    wheres: tuple[tuple[Callable[[int], bool], str], ...] = (
        (lambda n: True, ""),
        (lambda n: n == 0, " in the last step (the one nearest the loss)"),
        (lambda n: n > 0, " in every step but the last (the one nearest the loss)"),
    )
    for where, place in wheres[: 3 if count > 1 else count]:
        for says, rule in rules:
            sentence = (says.format(right=right) + place).rstrip(",") + "."
            yield Bend("sigma-prime", sentence, {operator: _where(where, rule)})
    states = [args[1] for args in sites]
    # The state before the first step is no activation: it is given with the case, under some name.
    starts = [v.detach() for v in named.values() if states and v.shape == states[-1].shape]
    lines = [(1, "before", [*states, start]) for start in starts] or [(1, "before", states)]
    for shift, side, line in [*lines, (-1, "after", states)]:
        if len(line) > 1:
            says = f"takes {right}, from the step {side} the right one."
            yield Bend("time-step", says, {operator: _neighbour(operator, line, shift)})
    for kept in range(1, count):
        reach = "the last step" if kept == 1 else f"the last {kept} steps"
        says = f"counts only {reach}: the paths through earlier ones are dropped."
        cut = _where(lambda n, kept=kept: n >= kept, lambda g, h: torch.zeros_like(g))  # type: ignore[misc]
        yield Bend("path", says, {operator: cut})


def _where(holds: Callable[[int], bool], rule: Callable[..., Tensor]) -> Rule:
    return lambda n, args: rule(*args) if holds(n) else None


def _neighbour(operator: Operator, states: Sequence[Tensor], shift: int) -> Rule:
    """The activation's derivative at the value that it had `shift` steps earlier."""

    def rule(n: int, args: tuple[Tensor, ...]) -> Tensor | None:
        there = 0 <= n + shift < len(states) and states[n + shift].shape == args[1].shape
        return operator(args[0], states[n + shift]) if there else None

    return rule


def _log_softmax_right(g: Tensor, out: Tensor, dim: int) -> Tensor:
    return g - out.exp() * g.sum(dim, keepdim=True)


def _jacobian_again(g: Tensor, out: Tensor, dim: int, *_: object) -> Tensor:
    p, r = out.exp(), _log_softmax_right(g, out, dim)
    return p * (r - (p * r).sum(dim, keepdim=True))


_LOG_SOFTMAX = (
    ("has ŷ where ŷ-y belongs: the target is not subtracted.",
     lambda g, out, dim, *_: -out.exp() * g.sum(dim, keepdim=True)),
    ("has -y where ŷ-y belongs: the softmax's normaliser is left out.", lambda g, out, dim, *_: g),
    ("goes through the softmax's Jacobian a second time: ŷ-y already contains it.", _jacobian_again),
    ("has a factor ŷ(1-ŷ) beside ŷ-y, which already contains the softmax's derivative.",
     lambda g, out, dim, *_: _log_softmax_right(g, out, dim) * out.exp() * (1 - out.exp())),
)  # fmt: skip
_SOFTMAX = (
    ("treats the softmax as if its normaliser were a constant.", lambda g, out, dim, *_: g * out),
    ("uses only the diagonal p(1-p) of the softmax's Jacobian.", lambda g, out, dim, *_: g * out * (1 - out)),
    ("leaves out the derivative of the softmax.", lambda g, out, dim, *_: g),
)


_DERIVATIVES = (
    (aten.sigmoid_backward.default, _SIGMOID, "h(1-h), the sigmoid's derivative"),
    (aten.tanh_backward.default, _TANH, "1-h², the derivative of tanh"),
)
_SOFTMAXES = (
    (aten._log_softmax_backward_data.default, _LOG_SOFTMAX),
    (aten._softmax_backward_data.default, _SOFTMAX),
)


def _products(operator: Operator, place: int, sites: Sites, owners: Mapping[int, str]) -> Iterator[Bend]:
    """The product with a square matrix on the way back: not transposed, or forgotten.

    `place` is the matrix's among the arguments: last where the vectors are rows, first where they are columns.
    """
    for name in dict.fromkeys(
        owners[m.data_ptr()]
        for m in (args[place] for args in sites)
        if m.shape[0] == m.shape[1] and m.data_ptr() in owners
    ):
        turned = lambda *args: operator(*(m.t() if k == place else m for k, m in enumerate(args)))
        for kind, says, rule in (
            ("transpose", f"multiplies by `{name}` where its transpose belongs.", turned),
            (
                "path",
                f"forgets the product with `{name}` on the way back.",
                lambda *args: args[1 - place].clone(),
            ),
        ):
            mine = lambda n, args, name=name, rule=rule: (
                rule(*args) if owners.get(args[place].data_ptr()) == name else None
            )
            yield Bend(kind, says, {operator: mine})


def _late(activation: Operator, right: str, operator: Operator, place: int) -> Bend:
    """The activation's derivative taken entry by entry after the product on the way back, and not before it."""
    kept: list[Tensor] = []

    def skip(n: int, args: tuple[Tensor, ...]) -> Tensor:
        kept[:] = [activation(torch.ones_like(args[1]), args[1]).reshape(-1)]
        return args[0].clone()

    def after(n: int, args: tuple[Tensor, ...]) -> Tensor | None:
        matrix = args[place]
        if not kept or matrix.shape[0] != matrix.shape[1] or len(kept[0]) != len(matrix):
            return None
        out = operator(*args)
        return out * kept[0].reshape(out.shape) if out.numel() == len(kept[0]) else None

    says = f"takes {right}, after the product with the matrix; it belongs before it."
    return Bend("order", says, {activation: skip, operator: after})


def _shifted(
    sites: Sites, states: Sequence[Tensor], owners: Mapping[int, str], named: Mapping[str, Tensor]
) -> Iterator[Bend]:
    """A weight's gradient is (what went in)ᵀ(error): what went in is taken from a neighbouring step, or is
    another vector of the case. `states` are the outputs of the activations, the last first."""
    weights = [n for n, args in enumerate(sites) if args[1].data_ptr() not in owners]
    # One weight's sites: its input and its error have the same sizes in every step.
    sizes = {n: (tuple(sites[n][0].shape), sites[n][1].shape[1]) for n in weights}
    for shape, width in dict.fromkeys(sizes.values()):
        order = [n for n in weights if sizes[n] == (shape, width)]
        mine = [sites[n][0] for n in order]

        def fitting(
            vectors: Mapping[Any, Tensor], shape: tuple[int, ...] = shape
        ) -> dict[Any, Tensor | None]:
            like = {
                n: v.detach() for n, v in vectors.items() if v.is_floating_point() and (*v.shape, 1) == shape
            }
            return {n: v.reshape(shape) for n, v in like.items()}

        after = fitting(dict(enumerate(states))).values()
        sources = [
            ("uses the state after the step where the state before it belongs.", [*after, *mine]),
            ("uses the input of the step before the right one.", [*mine[1:], None]),
            ("uses the input of the step after the right one.", [None, *mine[:-1]]),
        ]
        for name, vector in fitting(named).items():
            sources.append((f"uses `{name}` where another vector belongs.", [vector] * len(mine)))
        for says, source in sources:
            at = dict(zip(order, source, strict=False))
            other = lambda n, args, at=at: None if (vector := at.get(n)) is None else vector @ args[1]
            yield Bend("time-step", says, {aten.mm.default: other})
