"""Mistakes in what is added, multiplied and applied: signs, terms, factors, scales, functions, gates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ..names import small_of
from ..tree import (
    Add,
    Apply,
    Call,
    Compare,
    Div,
    Expr,
    Iverson,
    Mul,
    Neg,
    Num,
    Pow,
    Reduce,
    Ref,
    Size,
    Softmax,
    Sum,
    free_indices,
    substitute,
    transform,
    walk,
)  # fmt: skip
from .mutate import Change, code, rule
from .sites import Site, depends, is_gate, is_scale

ONE = Num(Fraction(1))
TWO = Num(Fraction(2))
ACTIVATIONS = ("sigmoid", "tanh", "relu")


def product(factors: tuple[Expr, ...]) -> Expr:
    return factors[0] if len(factors) == 1 else Mul(factors)


def total(terms: tuple[Expr, ...]) -> Expr:
    return terms[0] if len(terms) == 1 else Add(terms)


def without(items: tuple, at: int) -> tuple:
    return items[:at] + items[at + 1 :]


def factors_of(node: Expr) -> tuple[Expr, ...]:
    return node.factors if isinstance(node, Mul) else (node,)


def complement(node: Expr) -> Expr | None:
    """The `g` of `1 - g`."""
    match node:
        case Add((Num(value), Neg(g))) if value == 1:
            return g
        case Add((Neg(g), Num(value))) if value == 1:
            return g
    return None


# ── gates ──


@rule("gate swapped")
def gate_swapped(site: Site) -> Iterator[Change]:
    """`g a + (1-g) b` written as `(1-g) a + g b`, or without the gate."""
    if not isinstance(site.node, Add) or len(site.node.terms) != 2:
        return
    first, second = (factors_of(t) for t in site.node.terms)
    for one, other, turned in ((first, second, False), (second, first, True)):
        for k, factor in enumerate(other):
            gate = complement(factor)
            if gate is None or gate not in one:
                continue
            at = one.index(gate)
            swapped = [
                product((*one[:at], factor, *one[at + 1 :])),
                product((*other[:k], gate, *other[k + 1 :])),
            ]
            name = gate.name if isinstance(gate, Ref) else "g"
            text = f"The gate `{name}` is the wrong way round: `1 - {name}` and `{name}` must change places."
            yield Change(text, Add(tuple(reversed(swapped) if turned else swapped)))
            if len(one) > 1 and len(other) > 1:
                text = f"You added the two without the gate `{name}`; they must be mixed as `{name}` and `1 - {name}`."
                bare = [product(without(one, at)), product(without(other, k))]
                yield Change(text, Add(tuple(reversed(bare) if turned else bare)), "missing factor")


@rule("complement")
def gate_complement(site: Site) -> Iterator[Change]:
    """`1 - g` for `g`."""
    node = site.node
    if isinstance(node, Ref) and is_gate(site, node) and not isinstance(site.parent, Neg):
        yield Change(f"You used `1 - {node.name}` where {code(node)} belongs.", Add((ONE, Neg(node))))
    gate = complement(node)
    if isinstance(gate, Ref):
        yield Change(f"You used {code(gate)} where `1 - {gate.name}` belongs.", gate)


# ── signs, terms ──


@rule("sign")
def sign(site: Site) -> Iterator[Change]:
    match site.node:
        case Add(terms):
            for k, term in enumerate(terms):
                if isinstance(term, Neg):
                    text = f"You added {code(term.body)} in `{site.tensor}`; it must be subtracted."
                    yield Change(text, Add((*terms[:k], term.body, *terms[k + 1 :])))
                else:
                    text = f"You subtracted {code(term)} in `{site.tensor}`; it must be added."
                    yield Change(text, Add((*terms[:k], Neg(term), *terms[k + 1 :])))
        case Neg(body):
            if not isinstance(site.parent, Add):
                yield Change(f"A minus sign is missing before {code(body)} in `{site.tensor}`.", body)
        case _ if not site.parents:
            yield Change(
                f"The sign of `{site.tensor}` is wrong: yours is -1 times the right one.", Neg(site.node)
            )
        case Sum() | Mul() | Ref() if isinstance(site.parent, (Call, Softmax, Apply)):
            yield Change(f"The sign of {code(site.node)} in `{site.tensor}` is wrong.", Neg(site.node))


@rule("missing term")
def missing_term(site: Site) -> Iterator[Change]:
    if isinstance(site.node, Add) and complement(site.node) is None:
        for k, term in enumerate(site.node.terms):
            text = f"The term {code(term.body if isinstance(term, Neg) else term)} is missing from `{site.tensor}`."
            yield Change(text, total(without(site.node.terms, k)))


@rule("residual")
def residual(site: Site) -> Iterator[Change]:
    """A tensor of the result's own shape added to the result."""
    if site.parents:
        return
    left = site.equation.left
    for tensor in site.system.tensors.values():
        if tensor.name != left.name and tensor.dims == site.dims(left) and tensor.indexes is None:
            ref = Ref(tensor.name, left.indices)
            if not depends(site.node, tensor.name) or tensor.defined:
                yield Change(
                    f"You added {code(ref)} to `{left.name}`; it must not be there.", Add((site.node, ref))
                )
    for ref in {n for n in walk(site.node) if isinstance(n, Ref)}:
        if free_indices(ref) == free_indices(left) and site.dims(ref) == site.dims(left):
            yield Change(
                f"You added {code(ref)} to `{left.name}`; it must not be there.", Add((site.node, ref))
            )


# ── factors and scales ──


@rule("missing factor")
def missing_factor(site: Site) -> Iterator[Change]:
    node = site.node
    if isinstance(node, Mul) and not isinstance(site.parent, Sum):
        for k, factor in enumerate(node.factors):
            if not is_scale(factor):
                text = f"The factor {code(factor)} is missing from `{site.tensor}`."
                yield Change(text, product(without(node.factors, k)))
    if isinstance(node, Sum) and isinstance(node.body, Mul):
        for k, factor in enumerate(node.body.factors):
            if is_scale(factor):
                continue
            rest = product(without(node.body.factors, k))
            kept = tuple(i for i in node.indices if i in free_indices(rest))
            text = f"The factor {code(factor)} is missing from `{site.tensor}`."
            yield Change(text, replace(node, indices=kept, body=rest) if kept else rest)
            if kept == node.indices and set(kept) <= free_indices(factor):
                sizes = product(tuple(Size(site.ranges[i]) for i in kept))
                text = (
                    f"You took the plain mean over {indices(kept)}; the weights {code(factor)} are missing."
                )
                yield Change(text, Div(replace(node, body=rest), sizes))
    if isinstance(node, Div) and not is_scale(node.below):
        yield Change(f"In `{site.tensor}` the division by {code(node.below)} is missing.", node.above)


@rule("hard choice")
def hard_choice(site: Site) -> Iterator[Change]:
    """The entry of the largest weight alone, instead of the mean that a softmax weighs."""
    node = site.node
    if not isinstance(node, Sum) or not isinstance(node.body, Mul):
        return
    for k, weight in enumerate(node.body.factors):
        definition = site.definition(weight.name) if isinstance(weight, Ref) else None
        if definition is None or not isinstance(definition.right, Softmax):
            continue
        over = tuple(i for i in node.indices if i in free_indices(weight))
        others = {i: i + "'" for i in over}
        largest = Reduce("max", tuple(others.values()), substitute(weight, others))
        chosen = Iverson(Compare(weight, "==", largest))
        body = product((*node.body.factors[:k], chosen, *node.body.factors[k + 1 :]))
        text = f"You took the entry with the largest weight alone; the sum must be weighed by {code(weight)}."
        yield Change(text, replace(node, body=body))


def indices(names: tuple[str, ...]) -> str:
    quoted = [f"`{n}`" for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


@rule("scale")
def scale(site: Site) -> Iterator[Change]:
    """A factor made of sizes: left out, squared, or of another size."""
    node = site.node
    if not is_scale(node) or not any(isinstance(n, Size) for n in walk(node)):
        return
    if site.parent is None or is_scale(site.parent):
        return
    below = isinstance(site.parent, Div) and site.path[-1][0] == "below"

    def shown(scale: Expr) -> str:
        return code(site.spoken(Div(ONE, scale) if below else scale))

    if below or isinstance(site.parent, (Mul, Div)):
        yield Change(f"The factor {shown(node)} is missing from `{site.tensor}`.", ONE)
    squared = _root_taken(node) or Pow(node, TWO)
    yield Change(f"You scaled by {shown(squared)}; it must be {shown(node)}.", squared)
    own = {site.system.aliases.get(n.name, n.name) for n in walk(node) if isinstance(n, Size)}
    here = set(site.ranges.values())
    elsewhere = {d for ranges in site.system.ranges.values() for d in ranges.values()} - here
    elsewhere = {
        d for d in elsewhere if not {d, small_of(d)} & set(site.ranges)
    }  # here its name means another
    for dim in [*sorted(here - own), *sorted(elsewhere - own)]:
        other = _with_size(node, dim)
        yield Change(f"You scaled by {shown(other)}; it must be {shown(node)}.", other)


def _root_taken(node: Expr) -> Expr | None:
    """The scale with its roots left out: `1/I` for `1/sqrt(I)`."""
    bare = transform(node, lambda n: n.args[0] if isinstance(n, Call) and n.function == "sqrt" else n)
    return bare if bare != node else None


def _with_size(node: Expr, dim: str) -> Expr:
    return transform(node, lambda n: Size(dim) if isinstance(n, Size) else n)


@rule("scale")
def extra_scale(site: Site) -> Iterator[Change]:
    """Scores divided by the root of a size, or by the size, where nothing divides them."""
    if not isinstance(site.node, Softmax) or any(
        is_scale(n) for n in walk(site.node.body) if isinstance(n, (Div, Pow))
    ):
        return
    dims = {site.ranges[i] for n in walk(site.node.body) if isinstance(n, Sum) for i in n.indices}
    for dim in sorted(dims):
        for divisor in (Call("sqrt", (Size(dim),)), Size(dim)):
            shown = code(site.spoken(divisor))
            text = f"You divided what stands under the softmax by {shown}; nothing divides it here."
            yield Change(text, replace(site.node, body=Div(site.node.body, divisor)))


@rule("constant factor")
def constant_factor(site: Site) -> Iterator[Change]:
    whole = not site.parents
    term = (
        isinstance(site.parent, Add)
        and not isinstance(site.node, (Num, Neg))
        and complement(site.parent) is None
    )
    if whole or term:
        name = f"`{site.tensor}`" if whole else f"The term {code(site.node)} of `{site.tensor}`"
        yield Change(f"{name} is twice what it must be.", Mul((TWO, site.node)))
        yield Change(f"{name} is half of what it must be.", Div(site.node, TWO))


@rule("extra factor")
def extra_factor(site: Site) -> Iterator[Change]:
    """A gate that multiplies where it has no business."""
    node = site.node
    if not isinstance(node, Ref) or site.path[-1:] == (("ref",),) or isinstance(site.parent, Ref):
        return
    for tensor in site.system.tensors.values():
        gate = Ref(tensor.name, tuple(replace(a, const=0) for a in node.indices))
        fits = tensor.dims == site.dims(node) and tensor.name != node.name and is_gate(site, gate)
        if fits and gate not in factors_of(site.parent or ONE):
            text = (
                f"You multiplied {code(node)} by {code(gate)} in `{site.tensor}`; it must stand without it."
            )
            yield Change(text, Mul((gate, node)))


# ── functions ──


@rule("activation")
def activation(site: Site) -> Iterator[Change]:
    if not isinstance(site.node, Call) or site.node.function not in ACTIVATIONS:
        return
    right = site.node.function
    for other in ACTIVATIONS:
        if other != right:
            text = f"You used `{other}` in `{site.tensor}`; it must be `{right}`."
            yield Change(text, replace(site.node, function=other))
    yield Change(f"The function `{right}` is missing from `{site.tensor}`.", site.node.args[0])


@rule("extra activation")
def extra_activation(site: Site) -> Iterator[Change]:
    if site.parents or isinstance(site.node, (Call, Softmax)):
        return
    for function in ACTIVATIONS:
        text = f"You applied `{function}` to `{site.tensor}`; no function belongs there."
        yield Change(text, Call(function, (site.node,)), "activation")


@rule("reset after product")
def reset_after_product(site: Site) -> Iterator[Change]:
    """`g[j] (W[j,I] h[I])` for `W[j,I] (g[I] h[I])`; also where `g h` has a name of its own."""
    node = site.node
    if not isinstance(node, Sum) or len(node.indices) != 1 or not isinstance(node.body, Mul):
        return
    (i,) = node.indices
    free = [a.plain for a in site.equation.left.indices if a.plain and site.ranges[a.plain] == site.ranges[i]]
    for k, factor in enumerate(node.body.factors):
        for gate, rest in _gated(site, factor):
            others = without(node.body.factors, k)
            if i not in free_indices(gate) or len(others) + (rest is not None) < 2:
                continue  # nothing else for the matrix to multiply
            body = product((*others[:k], *((rest,) if rest is not None else ()), *others[k:]))
            for j in free:
                if i in free_indices(body) and j in free_indices(body):
                    moved = substitute(gate, {i: j})
                    text = f"You multiplied by {code(moved)} after the matrix product; the gate belongs inside it, "
                    yield Change(
                        text + f"on what the matrix multiplies: {code(gate)}.",
                        Mul((moved, replace(node, body=body))),
                    )


def _gated(site: Site, factor: Expr) -> Iterator[tuple[Ref, Expr | None]]:
    """The gates in a factor, each with what it multiplies."""
    if not isinstance(factor, Ref):
        return
    if is_gate(site, factor):
        yield factor, None
    definition = site.definition(factor.name)
    if definition is None or not isinstance(definition.right, Mul) or definition.left.name == site.tensor:
        return
    names = {
        a.plain: b.plain
        for a, b in zip(definition.left.indices, factor.indices, strict=True)
        if a.plain is not None and b.plain is not None
    }
    if len(names) != len(factor.indices):
        return
    parts = substitute(definition.right, names).factors  # type: ignore[arg-type]
    for k, gate in enumerate(parts):
        if isinstance(gate, Ref) and is_gate(site, gate):
            yield gate, product(without(parts, k))
