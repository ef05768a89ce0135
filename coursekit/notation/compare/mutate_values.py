"""Mistakes in what is added, multiplied and applied: signs, terms, factors, scales, functions, gates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

from .. import tree as T
from ..functions import ONE, TWO
from ..names import small_of
from .mutate import Change, code, rule
from .sites import Site, is_gate, is_scale

ACTIVATIONS = ("sigmoid", "tanh", "relu")
RECTIFIERS = ("relu", "gelu", "silu", "softplus")


def product(factors: tuple[T.Expr, ...]) -> T.Expr:
    return factors[0] if len(factors) == 1 else T.Mul(factors)


def total(terms: tuple[T.Expr, ...]) -> T.Expr:
    return terms[0] if len(terms) == 1 else T.Add(terms)


def without(items: tuple[T.N, ...], at: int) -> tuple[T.N, ...]:
    return items[:at] + items[at + 1 :]


def factors_of(node: T.Expr) -> tuple[T.Expr, ...]:
    return node.factors if isinstance(node, T.Mul) else (node,)


def complement(node: T.Expr) -> T.Expr | None:
    """The `g` of `1 - g`."""
    match node:
        case T.Add((T.Num(value), T.Neg(g))) if value == 1:
            return g
        case T.Add((T.Neg(g), T.Num(value))) if value == 1:
            return g
    return None


# ── gates ──


@rule("gate swapped", T.Add)
def gate_swapped(site: Site) -> Iterator[Change]:
    """`g a + (1-g) b` written as `(1-g) a + g b`, or without the gate."""
    if len(site.node.terms) != 2:
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
            name = gate.name if isinstance(gate, T.Ref) else "g"
            text = f"The gate `{name}` is the wrong way round: `1 - {name}` and `{name}` must change places."
            yield text, T.Add(tuple(reversed(swapped) if turned else swapped))
            if len(one) > 1 and len(other) > 1:
                text = f"You added the two without the gate `{name}`; they must be mixed as `{name}` and `1 - {name}`."
                bare = [product(without(one, at)), product(without(other, k))]
                yield text, T.Add(tuple(reversed(bare) if turned else bare)), "missing factor"


@rule("complement", T.Ref, T.Add)
def gate_complement(site: Site) -> Iterator[Change]:
    """`1 - g` for `g`."""
    node = site.node
    if isinstance(node, T.Ref) and is_gate(site, node) and not isinstance(site.parent, T.Neg):
        for name in (node.name, *alike(site, node)):
            if is_gate(site, other := replace(node, name=name)):
                yield f"You used `1 - {name}` where {code(node)} belongs.", T.Add((ONE, T.Neg(other)))
    gate = complement(node)
    if isinstance(gate, T.Ref):
        yield f"You used {code(gate)} where `1 - {gate.name}` belongs.", gate


@rule("gate misplaced", T.Add)
def gate_misplaced(site: Site) -> Iterator[Change]:
    """`g a + b` for `a + g b`."""
    terms = site.node.terms
    for k, m in permutations(range(len(terms)), 2):
        for gate, outside, bare in _taken_out(site, terms[k]):
            if outside not in factors_of(terms[m]):
                moved = list(terms)
                moved[k], moved[m] = bare, T.Mul((outside, *factors_of(terms[m])))
                text = f"The gate {code(gate)} is on the wrong term of `{site.tensor}`: it must multiply "
                yield f"{text}{code(bare)}, not {code(terms[m])}.", T.Add(tuple(moved))


@rule("operation", T.Add, T.Mul)
def added_or_multiplied(site: Site) -> Iterator[Change]:
    """A sum for a product entry by entry, and the other way round."""
    parts = [p for p in T.children(site.node) if not is_scale(p)]
    if len(parts) != 2 or complement(site.node) is not None or isinstance(site.parent, (T.Sum, T.Neg)):
        return
    one, other = map(code, parts)
    if isinstance(site.node, T.Mul):
        yield f"You added {one} and {other} in `{site.tensor}`; they must be multiplied.", T.Add(tuple(parts))
    else:
        yield f"You multiplied {one} and {other} in `{site.tensor}`; they must be added.", T.Mul(tuple(parts))


@rule("operation", T.Mul, T.Div)
def multiplied_or_divided(site: Site) -> Iterator[Change]:
    """A factor below a fraction that belongs above it, and the other way round; two of three factors added."""
    if isinstance(site.node, T.Div):
        text = f"You multiplied by {code(site.node.below)} in `{site.tensor}`; you must divide by it."
        yield text, T.Mul((site.node.above, site.node.below))
        return
    factors = site.node.factors
    for k, factor in enumerate(factors if not any(map(is_scale, factors)) else ()):
        text = f"You divided by {code(factor)} in `{site.tensor}`; you must multiply by it."
        yield text, T.Div(product(without(factors, k)), factor)
    for one, other in combinations(factors, 2) if len(factors) == 3 else ():
        rest = product(tuple(f for f in factors if f is not one and f is not other))
        text = f"You added {code(one)} and {code(other)} in `{site.tensor}`; they must be multiplied."
        yield text, T.Mul((rest, T.Add((one, other))))


def _taken_out(site: Site, term: T.Expr) -> Iterator[tuple[T.Expr, T.Expr, T.Expr]]:
    """The gates of a term, each as it stands there, as it stands outside the term's sum, and the term without it."""
    factors = factors_of(term)
    for n, gate in enumerate(factors if len(factors) > 1 else ()):
        if gates(site, gate):
            yield gate, gate, product(without(factors, n))
    if isinstance(term, T.Sum) and isinstance(term.body, T.Mul) and len(term.indices) == 1:
        (i,), inner = term.indices, term.body.factors
        for n, gate in enumerate(inner):
            for j in left_like(site, i) if gates(site, gate) else ():
                yield gate, T.substitute(gate, {i: j}), replace(term, body=product(without(inner, n)))


def left_like(site: Site, index: str) -> list[str]:
    """The indices of the left side that run over what an index runs over."""
    names = [a.plain for a in site.equation.left.indices if a.plain]
    return [name for name in names if site.ranges[name] == site.ranges[index]]


def gates(site: Site, factor: T.Expr) -> bool:
    gate = complement(factor) or factor
    return isinstance(gate, T.Ref) and is_gate(site, gate)


# ── signs, terms ──


@rule("sign", object)
def sign(site: Site) -> Iterator[Change]:
    match site.node:
        case T.Add(terms):
            for k, term in enumerate(terms):
                if isinstance(term, T.Neg):
                    text = f"You added {code(term.body)} in `{site.tensor}`; it must be subtracted."
                    yield text, T.Add((*terms[:k], term.body, *terms[k + 1 :]))
                else:
                    text = f"You subtracted {code(term)} in `{site.tensor}`; it must be added."
                    yield text, T.Add((*terms[:k], T.Neg(term), *terms[k + 1 :]))
        case T.Neg(body):
            if not isinstance(site.parent, T.Add):
                yield f"A minus sign is missing before {code(body)} in `{site.tensor}`.", body
        case _ if not site.parents:
            yield f"The sign of `{site.tensor}` is wrong: yours is -1 times the right one.", T.Neg(site.node)
        case T.Sum() | T.Mul() | T.Ref() if isinstance(site.parent, (T.Call, T.Softmax, T.Apply)):
            yield f"The sign of {code(site.node)} in `{site.tensor}` is wrong.", T.Neg(site.node)


@rule("missing term", T.Add)
def missing_term(site: Site) -> Iterator[Change]:
    if complement(site.node) is None:
        for k, term in enumerate(site.node.terms):
            text = f"The term {code(term.body if isinstance(term, T.Neg) else term)} is missing from `{site.tensor}`."
            yield text, total(without(site.node.terms, k))


@rule("residual")
def residual(site: Site) -> Iterator[Change]:
    """A tensor of the result's own shape added to the result."""
    left, read = site.equation.left, list(T.references(site.node))
    names = {ref.name for ref in read}
    others = [t for t in site.system.tensors.values() if t.name != left.name and t.indexes is None]
    plain = [T.Ref(t.name, left.indices) for t in others if t.defined or t.name not in names]
    here = [ref for ref in read if T.free_indices(ref) == T.free_indices(left)]
    for ref in (ref for ref in (*plain, *here) if site.dims(ref) == site.dims(left)):
        yield f"You added {code(ref)} to `{left.name}`; it must not be there.", T.Add((site.node, ref))


# ── factors and scales ──


@rule("missing factor", T.Mul, T.Sum, T.Div)
def missing_factor(site: Site) -> Iterator[Change]:
    node = site.node
    whole = node.body if isinstance(node, T.Sum) else None if isinstance(site.parent, T.Sum) else node
    factors = whole.factors if isinstance(whole, T.Mul) else ()
    for k, factor in enumerate(factors):
        if not is_scale(factor):
            rest = product(without(factors, k))
            kept = _those(node.indices, rest) if isinstance(node, T.Sum) else ()
            text = f"The factor {code(factor)} is missing from `{site.tensor}`."
            yield text, replace(node, indices=kept, body=rest) if kept else rest
            if kept and kept == node.indices and set(kept) <= T.free_indices(factor):
                sizes = product(tuple(T.Size(site.ranges[i]) for i in kept))
                text = f"You took the plain mean over {indices(kept)}; the weights "
                yield f"{text}{code(factor)} are missing.", T.Div(replace(node, body=rest), sizes)
    if isinstance(node, T.Div) and not is_scale(node.below):
        yield f"In `{site.tensor}` the division by {code(node.below)} is missing.", node.above


def _those(names: tuple[str, ...], node: T.Expr) -> tuple[str, ...]:
    """The indices that a node depends on."""
    return tuple(i for i in names if i in T.free_indices(node))


@rule("missing factor", T.Pow)
def missing_power(site: Site) -> Iterator[Change]:
    if isinstance(site.node.exponent, T.Num) and site.node.exponent.value > 1:
        for new, why in ((site.node.base, ": the power is missing"), (T.Call("abs", (site.node.base,)), "")):
            yield f"You wrote {code(new)} in `{site.tensor}`; it must be {code(site.node)}{why}.", new


@rule("hard choice", T.Sum)
def hard_choice(site: Site) -> Iterator[Change]:
    """The entry of the largest weight alone, instead of the mean that a softmax weighs."""
    node = site.node
    if not isinstance(node.body, T.Mul):
        return
    for k, weight in enumerate(node.body.factors):
        definition = site.definition(weight.name) if isinstance(weight, T.Ref) else None
        if definition is None or not isinstance(definition.right, T.Softmax):
            continue
        others = {i: i + "'" for i in _those(node.indices, weight)}
        largest = T.Reduce("max", tuple(others.values()), T.substitute(weight, others))
        chosen = T.Iverson(T.Compare(weight, "==", largest))
        body = product((*node.body.factors[:k], chosen, *node.body.factors[k + 1 :]))
        text = f"You took the entry with the largest weight alone; the sum must be weighed by {code(weight)}."
        yield text, replace(node, body=body)


def alike(site: Site, ref: T.Ref) -> list[str]:
    """The other tensors of the same shape."""
    own = site.system.tensors[ref.name]
    found = site.system.tensors.values()
    return [t.name for t in found if t.name != ref.name and t.dims == own.dims and t.indexes == own.indexes]


def indices(names: tuple[str, ...]) -> str:
    quoted = [f"`{n}`" for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


@rule("scale", object)
def scale(site: Site) -> Iterator[Change]:
    """A factor made of sizes: left out, squared, or of another size."""
    node = site.node
    if not is_scale(node) or not any(isinstance(n, T.Size) for n in T.walk(node)):
        return
    if site.parent is None or is_scale(site.parent):
        return
    below = isinstance(site.parent, T.Div) and site.parent.below is node

    def shown(scale: T.Expr) -> str:
        return code(site.spoken(T.Div(ONE, scale) if below else scale))

    if below or isinstance(site.parent, (T.Mul, T.Div)):
        yield f"The factor {shown(node)} is missing from `{site.tensor}`.", ONE
    for k in range(len(node.factors)) if isinstance(node, T.Mul) else ():
        part = product(without(node.factors, k))
        yield f"You scaled by {shown(part)}; it must be {shown(node)}.", part
    squared = _root_taken(node) or T.Pow(node, TWO)
    yield f"You scaled by {shown(squared)}; it must be {shown(node)}.", squared
    turned = code(site.spoken(node if below else T.Div(ONE, node)))
    yield f"You scaled by {turned}; it must be {shown(node)}.", T.Div(ONE, node)
    own = {site.system.aliases.get(n.name, n.name) for n in T.walk(node) if isinstance(n, T.Size)}
    here = set(site.ranges.values())
    elsewhere = {d for ranges in site.system.ranges.values() for d in ranges.values()} - here
    elsewhere = {
        d for d in elsewhere if not {d, small_of(d)} & set(site.ranges)
    }  # not where it means another
    sizes: list[T.Expr] = [*map(T.Size, [*sorted(here - own), *sorted(elsewhere - own)]), TWO]
    if len(own) == 1:  # sqrt(H I) for sqrt(I)
        sizes += [T.Mul((T.Size(dim), T.Size(*own))) for dim in sorted(here - own)]
    for size in [*sizes, *(T.Add((T.Size(dim), T.Num(Fraction(-1)))) for dim in sorted(own))]:
        other = _with_size(node, size)
        yield f"You scaled by {shown(other)}; it must be {shown(node)}.", other


def _root_taken(node: T.Expr) -> T.Expr | None:
    """The scale with its roots left out: `1/I` for `1/sqrt(I)`."""
    bare = T.transform(node, lambda n: n.args[0] if isinstance(n, T.Call) and n.function == "sqrt" else n)
    return bare if bare != node else None


def _with_size(node: T.Expr, size: T.Expr) -> T.Expr:
    return T.transform(node, lambda n: size if isinstance(n, T.Size) else n)


@rule("scale", T.Softmax)
def extra_scale(site: Site) -> Iterator[Change]:
    """Scores divided by the root of a size, or by the size, where nothing divides them."""
    if any(is_scale(n) for n in T.walk(site.node.body) if isinstance(n, (T.Div, T.Pow))):
        return
    dims = {site.ranges[i] for n in T.walk(site.node.body) if isinstance(n, T.Sum) for i in n.indices}
    for dim in sorted(dims):
        for divisor in (T.Call("sqrt", (T.Size(dim),)), T.Size(dim)):
            shown = code(site.spoken(divisor))
            text = f"You divided what stands under the softmax by {shown}; nothing divides it here."
            yield text, replace(site.node, body=T.Div(site.node.body, divisor))


@rule("constant factor", object)
def constant_factor(site: Site) -> Iterator[Change]:
    whole = not site.parents
    term = (
        isinstance(site.parent, T.Add)
        and not isinstance(site.node, (T.Num, T.Neg))
        and complement(site.parent) is None
    )
    value = not isinstance(site.node, (T.Compare, T.And)) and not is_scale(site.node)
    inner = value and isinstance(site.parent, (T.Softmax, T.Call))
    if whole or term or inner:
        name = (
            f"The term {code(site.node)} of `{site.tensor}`"
            if term
            else f"{code(site.node)} in `{site.tensor}`"
        )
        name = f"`{site.tensor}`" if whole else name
        yield f"{name} is twice what it must be.", T.Mul((TWO, site.node))
        yield f"{name} is half of what it must be.", T.Div(site.node, TWO)


@rule("extra factor", T.Add)
def extra_number(site: Site) -> Iterator[Change]:
    """`(1 - m) g` for `g`, where a number m is given."""
    terms = site.node.terms
    read = [r for e in site.system.ranges for r in T.references(e.right)]
    numbers = dict.fromkeys(r for r in read if not r.indices and not site.system.tensors[r.name].defined)
    for k, term in enumerate(terms if complement(site.node) is None else ()):
        others = [n for n in numbers if n not in T.references(term)]
        for factor in (f for number in others for f in (number, T.Add((ONE, T.Neg(number))))):
            text = f"You multiplied {code(term.body if isinstance(term, T.Neg) else term)} by {code(factor)} too in "
            yield f"{text}`{site.tensor}`.", T.Add((*terms[:k], T.Mul((factor, term)), *terms[k + 1 :]))


@rule("extra factor", T.Ref)
def extra_factor(site: Site) -> Iterator[Change]:
    """A gate that multiplies where it has no business."""
    node = site.node
    for tensor in site.system.tensors.values():
        gate = T.Ref(tensor.name, tuple(replace(a, const=0) for a in node.indices))
        fits = tensor.dims == site.dims(node) and tensor.name != node.name and is_gate(site, gate)
        if fits and gate not in factors_of(site.parent or ONE):
            text = (
                f"You multiplied {code(node)} by {code(gate)} in `{site.tensor}`; it must stand without it."
            )
            yield text, T.Mul((gate, node))


# ── functions ──


@rule("activation", T.Call)
def activation(site: Site) -> Iterator[Change]:
    right = site.node.function
    for other in (
        (*ACTIVATIONS, *RECTIFIERS) if right in RECTIFIERS else ACTIVATIONS if right in ACTIVATIONS else ()
    ):
        if other != right:
            text = f"You used `{other}` in `{site.tensor}`; it must be `{right}`."
            yield text, replace(site.node, function=other)
    if right in ("exp", "log"):
        two = T.Pow(TWO, site.node.args[0]) if right == "exp" else T.Div(site.node, T.Call("log", (TWO,)))
        yield f"You took {code(two)} in `{site.tensor}`; its base must be e, as that of `{right}`.", two
    if len(site.node.args) == 1 and not is_scale(site.node):
        yield f"The function `{right}` is missing from `{site.tensor}`.", site.node.args[0]


@rule("activation", T.Add, T.Mul)
def slope(site: Site) -> Iterator[Change]:
    """The slope of a sigmoid, `h (1 - h)`, for that of a hyperbolic tangent, `1 - h^2`, or the other way round."""
    text = f"You used the slope of `{{}}` in `{site.tensor}`; it must be that of `{{}}`: {{}}."
    match site.node:
        case T.Add((T.Num(one), T.Neg(T.Pow(h, T.Num(two))))) if one == 1 and two == 2:
            yield text.format("sigmoid", "tanh", code(site.node)), T.Mul((h, T.Add((ONE, T.Neg(h)))))
        case T.Mul(factors):
            for k, factor in enumerate(factors):
                gate, rest = complement(factor), without(factors, k)
                if gate is not None and gate in rest:
                    tanh = T.Add((ONE, T.Neg(T.Pow(gate, TWO))))
                    others = product((tanh, *without(rest, rest.index(gate))))
                    yield text.format("tanh", "sigmoid", code(T.Mul((gate, factor)))), others


@rule("extra activation")
def missing_throughout(site: Site) -> Iterator[Change]:
    """A function that is left out wherever it stands."""
    calls = [n.function for n in T.walk(site.node) if isinstance(n, T.Call) and len(n.args) == 1]
    for function in {f for f in calls if calls.count(f) > 1}:
        bare = lambda n, f=function: n.args[0] if isinstance(n, T.Call) and n.function == f else n
        text = f"The function `{function}` is missing from `{site.tensor}`, wherever it must stand."
        yield text, T.transform(site.node, bare), "activation"
    if isinstance(site.node, T.Call) and site.node.function == "sigmoid":
        text = f"You took `1 - {site.tensor}` for `{site.tensor}`."
        yield text, T.Add((ONE, T.Neg(site.node))), "complement"


@rule("extra activation", object)
def extra_activation(site: Site) -> Iterator[Change]:
    """A function of a whole right side, or of what stands under a softmax."""
    inside = isinstance(site.parent, T.Softmax) and site.node is site.parent.body
    if (site.parents and not inside) or isinstance(site.node, (T.Call, T.Softmax)):
        return
    for function in ACTIVATIONS:
        where = f"what stands under the softmax of `{site.tensor}`" if inside else f"`{site.tensor}`"
        text = f"You applied `{function}` to {where}; no function belongs there."
        yield text, T.Call(function, (site.node,)), "activation"


@rule("reset after product", T.Sum)
def reset_after_product(site: Site) -> Iterator[Change]:
    """`g[j] (W[j,I] h[I])` for `W[j,I] (g[I] h[I])`; also where `g h` has a name of its own."""
    node = site.node
    if len(node.indices) != 1 or not isinstance(node.body, T.Mul):
        return
    (i,) = node.indices
    for k, factor in enumerate(node.body.factors):
        for gate, rest in _gated(site, factor):
            others = without(node.body.factors, k)
            if i not in T.free_indices(gate) or len(others) + (rest is not None) < 2:
                continue  # nothing else for the matrix to multiply
            body = product((*others[:k], *((rest,) if rest is not None else ()), *others[k:]))
            for j in left_like(site, i):
                if i in T.free_indices(body) and j in T.free_indices(body):
                    moved = T.substitute(gate, {i: j})
                    text = f"You multiplied by {code(moved)} after the matrix product; the gate belongs inside it, "
                    yield (
                        text + f"on what the matrix multiplies: {code(gate)}.",
                        T.Mul((moved, replace(node, body=body))),
                    )


def _gated(site: Site, factor: T.Expr) -> Iterator[tuple[T.Ref, T.Expr | None]]:
    """The gates in a factor, each with what it multiplies."""
    if not isinstance(factor, T.Ref):
        return
    if is_gate(site, factor):
        yield factor, None
    definition = site.definition(factor.name)
    if definition is None or not isinstance(definition.right, T.Mul) or definition.left.name == site.tensor:
        return
    names = {
        a.plain: b.plain
        for a, b in zip(definition.left.indices, factor.indices, strict=True)
        if a.plain is not None and b.plain is not None
    }
    if len(names) != len(factor.indices):
        return
    parts = T.substitute(definition.right, names).factors
    for k, gate in enumerate(parts):
        if isinstance(gate, T.Ref) and is_gate(site, gate):
            yield gate, product(without(parts, k))
