"""Mistakes in what is added, multiplied and applied: signs, terms, factors, scales, functions, gates."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

from .. import tree as T
from ..functions import ONE, TWO, times
from ..names import small_of
from .mutate import Change, rule
from .sites import Site, bare, complement, factors_of, is_scale, put_at, those, total, unfolded, without

ACTIVATIONS = ("sigmoid", "tanh", "relu")
RECTIFIERS = ("relu", "gelu", "silu", "softplus")
WAVES = ("sin", "cos")


# ── gates ──


@rule("gate swapped", T.Add)
def gate_swapped(site: Site) -> Iterator[Change]:
    """`g a + (1-g) b` written as `(1-g) a + g b`, or without the gate."""
    for turn in (1, -1) if len(site.node.terms) == 2 else ():
        one, other = map(factors_of, site.node.terms[::turn])
        mixed: Callable[..., T.Expr] = lambda *sides, turn=turn: T.Add(
            tuple(times(*s) for s in sides)[::turn]
        )
        for k, factor in enumerate(other):
            gate = complement(factor)
            if gate is None or gate not in one:
                continue
            at = one.index(gate)
            name = gate.name if isinstance(gate, T.Ref) else "g"
            text = "The gate `{0}` is the wrong way round: `1 - {0}` and `{0}` must change places."
            yield text, mixed(put_at(one, at, factor), put_at(other, k, gate)), name
            if len(one) > 1 and len(other) > 1:
                text = "You added the two without the gate `{0}`; they must be mixed as `{0}` and `1 - {0}`."
                yield f"missing factor| {text}", mixed(without(one, at), without(other, k)), name


@rule("complement", T.Ref, T.Add)
def gate_complement(site: Site) -> Iterator[Change]:
    """`1 - g` for `g`."""
    node = site.node
    if isinstance(node, T.Ref) and site.is_gate(node) and not isinstance(site.parent, T.Neg):
        for name in (node.name, *site.alike(node)):
            if site.is_gate(other := replace(node, name=name)):
                yield "You used `1 - {0}` where {right} belongs.", T.Add((ONE, T.Neg(other))), name
    gate = complement(node)
    if isinstance(gate, T.Ref):
        yield "You used {new} where `1 - {0}` belongs.", gate, gate.name


@rule("gate misplaced", T.Add)
def gate_misplaced(site: Site) -> Iterator[Change]:
    """`g a + b` for `a + g b`."""
    text = "The gate {0} is on the wrong term of {t}: it must multiply {1}, not {2}."
    terms = site.node.terms
    for k, m in permutations(range(len(terms)), 2):
        for gate, outside, alone in _taken_out(site, terms[k]):
            if outside not in factors_of(terms[m]):
                moved = put_at(terms, k, alone)
                both = T.Mul((outside, *factors_of(terms[m])))
                yield text, T.Add(put_at(moved, m, both)), gate, alone, terms[m]


def _taken_out(site: Site, term: T.Expr) -> Iterator[tuple[T.Expr, T.Expr, T.Expr]]:
    """The gates of a term, each as it stands there, as it stands outside the term's sum, and the term without it."""
    factors = factors_of(term)
    for n, gate in enumerate(factors if len(factors) > 1 else ()):
        if site.gates(gate):
            yield gate, gate, times(*without(factors, n))
    if isinstance(term, T.Sum) and isinstance(term.body, T.Mul) and len(term.indices) == 1:
        (i,), inner = term.indices, term.body.factors
        for n, gate in enumerate(inner):
            for j in site.left_like(i) if site.gates(gate) else ():
                yield gate, T.substitute(gate, {i: j}), replace(term, body=times(*without(inner, n)))


@rule("operation", T.Add, T.Mul)
def added_or_multiplied(site: Site) -> Iterator[Change]:
    """A sum for a product entry by entry, and the other way round."""
    parts = tuple(p for p in T.children(site.node) if not is_scale(p))
    if len(parts) != 2 or complement(site.node) is not None or isinstance(site.parent, (T.Sum, T.Neg)):
        return
    if isinstance(site.node, T.Mul):
        yield "You added {0} and {1} in {t}; they must be multiplied.", T.Add(parts), *parts
    else:
        yield "You multiplied {0} and {1} in {t}; they must be added.", T.Mul(parts), *parts


@rule("operation", T.Mul, T.Div)
def multiplied_or_divided(site: Site) -> Iterator[Change]:
    """A factor below a fraction that belongs above it, and the other way round; two of three factors added."""
    if isinstance(site.node, T.Div):
        above, below = site.node.above, site.node.below
        yield "You multiplied by {0} in {t}; you must divide by it.", T.Mul((above, below)), below
        return
    factors = site.node.factors
    for k, factor in enumerate(factors if not any(map(is_scale, factors)) else ()):
        text = "You divided by {0} in {t}; you must multiply by it."
        yield text, T.Div(times(*without(factors, k)), factor), factor
    for one, other in combinations(factors, 2) if len(factors) == 3 else ():
        rest = times(*(f for f in factors if f is not one and f is not other))
        text = "You added {0} and {1} in {t}; they must be multiplied."
        yield text, T.Mul((rest, T.Add((one, other)))), one, other


# ── signs, terms ──


@rule("sign", object)
def sign(site: Site) -> Iterator[Change]:
    if not site.parents and not isinstance(site.node, T.Neg):
        yield "The sign of {t} is wrong: yours is -1 times the right one.", T.Neg(site.node)
    match site.node:
        case T.Add(terms):
            for k, term in enumerate(terms):
                said = ("added", "subtracted") if isinstance(term, T.Neg) else ("subtracted", "added")
                other = term.body if isinstance(term, T.Neg) else T.Neg(term)
                yield "You {0} {2} in {t}; it must be {1}.", T.Add(put_at(terms, k, other)), *said, bare(term)
        case T.Neg(body):
            if not isinstance(site.parent, T.Add):
                yield "A minus sign is missing before {new} in {t}.", body
        case T.Sum() | T.Mul() | T.Ref() if isinstance(site.parent, (T.Call, T.Softmax, T.Apply)):
            yield "The sign of {right} in {t} is wrong.", T.Neg(site.node)


@rule("missing term", T.Add, says="The term {0} is missing from {t}.")
def missing_term(site: Site) -> Iterator[Change]:
    for k, term in enumerate(site.node.terms if complement(site.node) is None else ()):
        yield total(*without(site.node.terms, k)), bare(term)


# ── factors and scales ──


@rule("missing factor", T.Mul, T.Sum, T.Div)
def missing_factor(site: Site) -> Iterator[Change]:
    node, text = site.node, "The factor {0} is missing from {t}."
    whole = node.body if isinstance(node, T.Sum) else None if isinstance(site.parent, T.Sum) else node
    factors = whole.factors if isinstance(whole, T.Mul) else ()
    for k, factor in enumerate(factors):
        if is_scale(factor):
            continue
        rest = times(*without(factors, k))
        if not isinstance(node, T.Sum):
            yield text, rest, factor
            continue
        kept = those(node.indices, rest)
        summed = replace(node, indices=kept, body=rest) if kept else rest
        yield text, summed, factor
        if kept != node.indices and node.where is None:
            lost = (i for i in node.indices if i not in kept)
            yield text, T.Mul((*site.sizes(lost), summed)), factor
        if kept and kept == node.indices and set(kept) <= T.free_indices(factor):
            mean = "You took the plain mean over {1}; the weights {0} are missing."
            yield mean, T.Div(replace(node, body=rest), times(*site.sizes(kept))), factor, kept
    if isinstance(node, T.Div) and not is_scale(node.below):
        yield "In {t} the division by {0} is missing.", node.above, node.below
        if not is_scale(node.above):
            yield text, T.Div(ONE, node.below), node.above


@rule("missing factor", T.Pow)
def missing_power(site: Site) -> Iterator[Change]:
    if isinstance(site.node.exponent, T.Num) and site.node.exponent.value > 1:
        yield "You wrote {new} in {t}; it must be {right}: the power is missing.", site.node.base
        value, text = site.node.exponent.value, "You wrote {new} in {t}; it must be {right}."
        for power in (value + 1, value - 1) if value > 2 else (value + 1,):
            yield text, replace(site.node, exponent=T.Num(power))
        yield text, T.Call("abs", (site.node.base,))


@rule(
    "hard choice",
    T.Sum,
    says="You took the entry with the largest weight alone; the sum must be weighed by {0}.",
)
def hard_choice(site: Site) -> Iterator[Change]:
    """The entry of the largest weight alone, instead of the mean that a softmax weighs."""
    node = site.node
    for k, weight in enumerate(node.body.factors if isinstance(node.body, T.Mul) else ()):
        definition = site.system.definitions.get(weight.name) if isinstance(weight, T.Ref) else None
        if definition is not None and isinstance(definition.right, T.Softmax):
            others = {i: i + "'" for i in those(node.indices, weight)}
            largest = T.Reduce("max", tuple(others.values()), T.substitute(weight, others))
            chosen = T.Iverson(T.Compare(weight, "==", largest))
            yield replace(node, body=times(*put_at(node.body.factors, k, chosen))), weight


@rule("scale", object)
def scale(site: Site) -> Iterator[Change]:
    """A factor made of sizes: left out, without one of them, squared, or of another size."""
    node: T.Expr = site.node
    own = {site.system.aliases.get(n.name, n.name) for n in T.walk(node) if isinstance(n, T.Size)}
    if site.parent is None or not own or not is_scale(node) or is_scale(site.parent):
        return
    below = isinstance(site.parent, T.Div) and site.parent.below is node

    def spoken(scale: T.Expr) -> T.Expr:
        return site.spoken(T.Div(ONE, scale) if below else scale)

    right, text = spoken(node), "You scaled by {0}; it must be {1}."
    if below or isinstance(site.parent, (T.Mul, T.Div)):
        yield "The factor {0} is missing from {t}.", ONE, right
    fewer = [
        T.transform(node, lambda n, m=m, k=k: times(*without(m.factors, k)) if n == m else n)
        for m in T.walk(node)
        if isinstance(m, T.Mul)
        for k in range(len(m.factors))
    ]
    bare = T.transform(node, lambda n: n.args[0] if isinstance(n, T.Call) and n.function == "sqrt" else n)
    squared = bare if bare != node else T.Pow(node, TWO)  # `1/I` for `1/sqrt(I)`
    for other in (*fewer, squared):
        yield text, other, spoken(other), right
    yield text, T.Div(ONE, node), site.spoken(node if below else T.Div(ONE, node)), right
    here = set(site.ranges.values())
    elsewhere = {d for ranges in site.system.ranges.values() for d in ranges.values()} - here
    elsewhere -= {d for d in elsewhere if {d, small_of(d)} & set(site.ranges)}  # where it means another
    sizes: list[T.Expr] = [*map(T.Size, [*sorted(here - own), *sorted(elsewhere - own)]), TWO]
    if len(own) == 1:  # sqrt(H I) for sqrt(I)
        sizes += [T.Mul((T.Size(dim), T.Size(*own))) for dim in sorted(here - own)]
    for size in [*sizes, *(T.Add((T.Size(dim), T.Num(Fraction(-1)))) for dim in sorted(own))]:
        other = T.transform(node, lambda n, size=size: size if isinstance(n, T.Size) else n)
        yield text, other, spoken(other), right


@rule("extra scale", T.Div, kind="scale", says="You divided by {0} in {t}; it must be {1}.")
def divided_by_a_size(site: Site) -> Iterator[Change]:
    """`1/T` for `1/n`, where n is a number of the system."""
    if not is_scale(site.node.below):
        sums = [n.indices for n in T.walk(site.equation.right) if isinstance(n, T.Sum)]
        for over in dict.fromkeys(o for i in sums for k in range(len(i), 0, -1) for o in combinations(i, k)):
            sizes = times(*site.sizes(over))
            yield replace(site.node, below=sizes), site.spoken(sizes), site.node.below


@rule("scale", T.Softmax, says="You divided what stands under the softmax by {0}; nothing divides it here.")
def extra_scale(site: Site) -> Iterator[Change]:
    """Scores divided by the root of a size, or by the size, where nothing divides them."""
    nodes = list(T.walk(site.node.body))
    if any(is_scale(n) for n in nodes if isinstance(n, (T.Div, T.Pow))):
        return
    dims = {site.ranges[i] for n in nodes if isinstance(n, T.Sum) for i in n.indices}
    for dim in sorted(dims):
        for divisor in (T.Call("sqrt", (T.Size(dim),)), T.Size(dim)):
            yield replace(site.node, body=T.Div(site.node.body, divisor)), site.spoken(divisor)


@rule("constant factor", object)
def constant_factor(site: Site) -> Iterator[Change]:
    node, parent = site.node, site.parent
    term = isinstance(parent, T.Add) and not isinstance(node, (T.Num, T.Neg)) and complement(parent) is None
    value = not isinstance(node, (T.Compare, T.And)) and not is_scale(node)
    if not site.parents or term or (value and isinstance(parent, (T.Softmax, T.Call))):
        name = "{t}" if not site.parents else "The term {right} of {t}" if term else "{right} in {t}"
        yield f"{name} is twice what it must be.", T.Mul((TWO, node))
        yield f"{name} is half of what it must be.", T.Div(node, TWO)


@rule("extra factor", T.Add, says="You multiplied {0} by {1} too in {t}.")
def extra_number(site: Site) -> Iterator[Change]:
    """`(1 - m) g` for `g`, where a number m is given."""
    terms = site.node.terms
    read = [r for e in site.system.ranges for r in T.references(e.right)]
    numbers = dict.fromkeys(r for r in read if not r.indices and not site.system.tensors[r.name].defined)
    for k, term in enumerate(terms if complement(site.node) is None else ()):
        others = [n for n in numbers if n not in T.references(term)]
        for factor in (f for number in others for f in (number, T.Add((ONE, T.Neg(number))))):
            yield T.Add(put_at(terms, k, T.Mul((factor, term)))), bare(term), factor


@rule("extra factor", T.Ref, says="You multiplied {right} by {0} in {t}; it must stand without it.")
def extra_factor(site: Site) -> Iterator[Change]:
    """A gate that multiplies where it has no business."""
    node = site.node
    for tensor in site.system.tensors.values():
        gate = T.Ref(tensor.name, tuple(replace(a, const=0) for a in node.indices))
        fits = tensor.dims == site.dims(node) and tensor.name != node.name and site.is_gate(gate)
        if fits and gate not in factors_of(site.parent or ONE):
            yield T.Mul((gate, node)), gate


# ── functions ──


@rule("activation", T.Call)
def activation(site: Site) -> Iterator[Change]:
    node, right = site.node, site.node.function
    kinds = ((*ACTIVATIONS, *RECTIFIERS) if right in RECTIFIERS else ACTIVATIONS, WAVES)
    for other in next((kin for kin in kinds if right in kin), ()):
        if other != right:
            yield "You used `{0}` in {t}; it must be `{1}`.", replace(node, function=other), other, right
    if right in ("exp", "log"):
        two = T.Pow(TWO, node.args[0]) if right == "exp" else T.Div(node, T.Call("log", (TWO,)))
        yield "You took {new} in {t}; its base must be e, as that of `{0}`.", two, right
    if len(node.args) == 1 and not is_scale(node):
        yield "The function `{0}` is missing from {t}.", node.args[0], right


@rule("activation", T.Add, T.Mul, says="You used the slope of `{0}` in {t}; it must be that of `{1}`: {2}.")
def slope(site: Site) -> Iterator[Change]:
    """The slope of a sigmoid, `h (1 - h)`, for that of a hyperbolic tangent, `1 - h^2`, or the other way round."""
    match site.node:
        case T.Add((T.Num(one), T.Neg(T.Pow(h, T.Num(two))))) if one == 1 and two == 2:
            yield T.Mul((h, T.Add((ONE, T.Neg(h))))), "sigmoid", "tanh", site.node
        case T.Mul(factors):
            for k, factor in enumerate(factors):
                gate, rest = complement(factor), without(factors, k)
                if gate is not None and gate in rest:
                    tanh = T.Add((ONE, T.Neg(T.Pow(gate, TWO))))
                    others = times(tanh, *without(rest, rest.index(gate)))
                    yield others, "tanh", "sigmoid", T.Mul((gate, factor))


@rule("extra activation")
def missing_throughout(site: Site) -> Iterator[Change]:
    """A function that is left out wherever it stands."""
    calls = [n.function for n in T.walk(site.node) if isinstance(n, T.Call) and len(n.args) == 1]
    for function in {f for f in calls if calls.count(f) > 1}:
        left_out = lambda n, f=function: n.args[0] if isinstance(n, T.Call) and n.function == f else n
        text = "activation| The function `{0}` is missing from {t}, wherever it must stand."
        yield text, T.transform(site.node, left_out), function
    if isinstance(site.node, T.Call) and site.node.function == "sigmoid":
        yield "complement| You took `1 - {0}` for {t}.", T.Add((ONE, T.Neg(site.node))), site.tensor


@rule(
    "extra activation", object, kind="activation", says="You applied `{0}` to {1}; no function belongs there."
)
def extra_activation(site: Site) -> Iterator[Change]:
    """A function of a whole right side, or of what stands under a softmax."""
    inside = isinstance(site.parent, T.Softmax) and site.node is site.parent.body
    if (inside or not site.parents) and not isinstance(site.node, (T.Call, T.Softmax)):
        where = f"what stands under the softmax of `{site.tensor}`" if inside else f"`{site.tensor}`"
        for function in ACTIVATIONS:
            yield T.Call(function, (site.node,)), function, where


@rule(
    "reset after product",
    T.Sum,
    says="You multiplied by {0} after the matrix product; the gate belongs inside it, on what the matrix multiplies: "
    "{1}.",
)
def reset_after_product(site: Site) -> Iterator[Change]:
    """`g[j] (W[j,I] h[I])` for `W[j,I] (g[I] h[I])`; also where `g h` has a name of its own."""
    node = site.node
    if len(node.indices) != 1 or not isinstance(node.body, T.Mul):
        return
    (i,) = node.indices
    for k, factor in enumerate(node.body.factors):
        others = without(node.body.factors, k)
        for gate, rest in _gated(site, factor):
            if i not in T.free_indices(gate) or len(others) + len(rest) < 2:
                continue  # nothing else for the matrix to multiply
            body = times(*others[:k], *rest, *others[k:])
            for j in site.left_like(i):
                if {i, j} <= T.free_indices(body):
                    moved = T.substitute(gate, {i: j})
                    yield T.Mul((moved, replace(node, body=body))), moved, gate


def _gated(site: Site, factor: T.Expr) -> Iterator[tuple[T.Ref, tuple[T.Expr, ...]]]:
    """The gates in a factor, each with what it multiplies."""
    if not isinstance(factor, T.Ref):
        return
    if site.is_gate(factor):
        yield factor, ()
    definition = site.system.definitions.get(factor.name)
    if definition and factor.name != site.tensor and all(a.plain for a in factor.indices):
        match unfolded(factor, definition):
            case T.Mul(parts):
                for k, gate in enumerate(parts):
                    if isinstance(gate, T.Ref) and site.is_gate(gate):
                        yield gate, (times(*without(parts, k)),)
