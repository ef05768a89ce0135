"""Mistakes in indices: swapped, summed or normalised over the wrong one; masks; the wrong tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

from ..tree import (
    Add,
    Call,
    Compare,
    Div,
    Flatten,
    Mul,
    Num,
    Ref,
    Size,
    Softmax,
    Sum,
    free_indices,
    index,
    references,
    substitute,
    transform,
)  # fmt: skip
from .mutate import Change, code, rule
from .mutate_values import indices, product
from .sites import Site, is_gate, is_scale

# ── softmax ──


@rule("softmax index")
def softmax_index(site: Site) -> Iterator[Change]:
    node = site.node
    if not isinstance(node, Softmax):
        return
    right, free = node.indices, sorted(free_indices(node.body))
    must = f"it must run over {indices(right)}" + (" together." if len(right) > 1 else ".")
    for other in [*((i,) for i in free), *combinations(free, 2)]:
        if set(other) != set(right):
            alone = " alone" if len(right) > 1 and len(other) == 1 else ""
            yield Change(
                f"You took the softmax over {indices(other)}{alone}; {must}", replace(node, indices=other)
            )
    if len(right) > 1:
        each = product(tuple(replace(node, indices=(i,)) for i in right))
        yield Change(f"You multiplied a softmax over each of {indices(right)}; one softmax {must[3:]}", each)


@rule("softmax of each term")
def softmax_of_each_term(site: Site) -> Iterator[Change]:
    node = site.node
    if not isinstance(node, Softmax) or not isinstance(node.body, Add):
        return
    parts = tuple(replace(node, body=t) for t in node.body.terms)
    one = "one softmax must be taken of the sum."
    yield Change(
        f"You took the mean of {len(parts)} softmaxes; {one}", Div(Add(parts), Num(Fraction(len(parts))))
    )
    yield Change(f"You added {len(parts)} softmaxes; {one}", Add(parts))
    yield Change(
        f"You multiplied {len(parts)} softmaxes, and the product is not normalised; {one}", Mul(parts)
    )
    text = f"Only the first term is under your softmax; {one}"
    yield Change(text, Add((replace(node, body=node.body.terms[0]), *node.body.terms[1:])))


@rule("missing softmax")
def missing_softmax(site: Site) -> Iterator[Change]:
    node = site.node
    if isinstance(node, Softmax):
        yield Change(f"The softmax is missing from `{site.tensor}`: these are the raw scores.", node.body)
        text = f"You used `sigmoid` in `{site.tensor}`; it must be a softmax over {indices(node.indices)}."
        yield Change(text, Call("sigmoid", (node.body,)), "activation")
        text = (
            f"The exponentials in `{site.tensor}` are not divided by their sum over {indices(node.indices)}."
        )
        yield Change(text, Call("exp", (node.body,)))


@rule("mask")
def mask(site: Site) -> Iterator[Change]:
    node = site.node
    if not isinstance(node, Softmax):
        return
    if node.where is not None:
        yield Change(
            f"The condition on {indices(node.indices)} is missing from the softmax.",
            replace(node, where=None),
        )
        return
    for inner in node.indices:
        for outer in sorted(free_indices(node.body) - set(node.indices)):
            if site.ranges[outer] != site.ranges[inner]:
                continue
            causal = Compare(index(inner), "<=", index(outer))
            text = f"You masked the future (`{inner} <= {outer}`); here every position is seen."
            yield Change(text, replace(node, where=causal))
            text = f"You left out the position itself (`{inner} != {outer}`); it is seen too."
            yield Change(text, replace(node, where=Compare(index(inner), "!=", index(outer))))


# ── swaps ──


@rule("transpose")
def axes_swapped(site: Site) -> Iterator[Change]:
    """Two axes of one tensor exchanged: a transpose, or a sum over the wrong axis."""
    node = site.node
    if not isinstance(node, Ref):
        return
    dims, summed = site.dims(node), site.summed()
    for a, b in combinations(range(len(node.indices)), 2):
        if dims[a] != dims[b] or node.indices[a] == node.indices[b]:
            continue
        turned = list(node.indices)
        turned[a], turned[b] = turned[b], turned[a]
        new = replace(node, indices=tuple(turned))
        bound = [bool(free_indices(node.indices[k]) & summed) for k in (a, b)]
        if not any(bound):
            kind, text = (
                "index swapped",
                f"You swapped two indices: you wrote {code(new)}; it must be {code(node)}.",
            )
        elif all(bound) or not site.system.tensors[node.name].defined:
            kind, text = (
                "transpose",
                f"`{node.name}` is transposed: you wrote {code(new)}; it must be {code(node)}.",
            )
        else:
            kind = "sum index"
            text = f"You summed over the wrong index of `{node.name}`: you wrote {code(new)}; it must be {code(node)}."
        yield Change(text, new, kind)


@rule("index swapped")
def free_indices_swapped(site: Site) -> Iterator[Change]:
    """Two of the left side's indices exchanged on the whole right side."""
    if site.parents:
        return
    names = [a.plain for a in site.equation.left.indices if a.plain]
    for i, j in combinations(names, 2):
        if site.ranges[i] == site.ranges[j]:
            text = f"You swapped the indices `{i}` and `{j}` in `{site.tensor}`."
            yield Change(text, substitute(site.node, {i: j, j: i}))


@rule("wrong tensor")
def wrong_tensor(site: Site) -> Iterator[Change]:
    """Another tensor of the same shape in a tensor's place."""
    node = site.node
    if not isinstance(node, Ref):
        return
    for other in _alike(site, node):
        new = replace(node, name=other)
        yield Change(f"You used {code(new)} in `{site.tensor}` where {code(node)} belongs.", new)
        plain = replace(new, indices=tuple(replace(a, const=0) for a in node.indices))
        if plain != new:
            yield Change(f"You used {code(plain)} in `{site.tensor}` where {code(node)} belongs.", plain)


@rule("wrong tensor")
def wrong_tensor_throughout(site: Site) -> Iterator[Change]:
    """One tensor used for another in the whole equation, or the two exchanged."""
    if site.parents:
        return
    refs = list(references(site.node))
    for ref in {r.name: r for r in refs}.values():
        for other in _alike(site, ref):
            text = f"You used `{other}` in `{site.tensor}` where `{ref.name}` belongs."
            yield Change(text, _renamed(site.node, {ref.name: other}))
            if ref.name < other and any(r.name == other for r in refs):
                swapped = _renamed(site.node, {ref.name: other, other: ref.name})
                if _sorted(swapped) != _sorted(site.node):  # in a product of the two nothing has changed
                    text = f"You swapped `{ref.name}` and `{other}` in `{site.tensor}`."
                    yield Change(text, swapped, "tensors swapped")


def _alike(site: Site, ref: Ref) -> list[str]:
    own = site.system.tensors[ref.name]
    found = site.system.tensors.values()
    return [t.name for t in found if t.name != ref.name and t.dims == own.dims and t.indexes == own.indexes]


def _renamed(node, names: dict[str, str]):
    return transform(node, lambda n: replace(n, name=names.get(n.name, n.name)) if isinstance(n, Ref) else n)


def _sorted(node):
    """The expression with factors and terms in a fixed order."""

    def sort(n):
        if isinstance(n, Mul):
            return replace(n, factors=tuple(sorted(n.factors, key=repr)))
        return replace(n, terms=tuple(sorted(n.terms, key=repr))) if isinstance(n, Add) else n

    return transform(node, sort)


@rule("interleaved")
def interleaved(site: Site) -> Iterator[Change]:
    """The heads laid end to end entry by entry, instead of one head after another."""
    node = site.node
    if isinstance(node, Flatten):
        for order in permutations(node.indices):
            text = f"You laid {code(node.body)} end to end with `{order[-1]}` running fastest; "
            text += f"`{node.indices[-1]}` must run fastest, and `{node.indices[0]}` slowest."
            if order != node.indices:
                yield Change(text, replace(node, indices=order))


# ── sums ──


@rule("sum scope")
def sum_scope(site: Site) -> Iterator[Change]:
    """`(sum a)(sum b)` for `sum (a b)`."""
    node = site.node
    if not isinstance(node, Sum) or not isinstance(node.body, Mul):
        return
    parts = tuple(f for f in node.body.factors if not is_scale(f))
    if len(parts) < 2 or not all(set(node.indices) & free_indices(p) for p in parts):
        return
    split = product(tuple(_summed(f, node) for f in node.body.factors))
    yield Change(
        f"The sum over {indices(node.indices)} must cover the whole product; you summed each factor alone.",
        split,
    )


def _summed(factor, node: Sum):
    own = tuple(i for i in node.indices if i in free_indices(factor))
    return replace(node, indices=own, body=factor) if own else factor


@rule("mean for sum")
def mean_for_sum(site: Site) -> Iterator[Change]:
    node = site.node
    if not isinstance(node, Sum) or node.where is not None:
        return
    sizes = product(tuple(Size(site.ranges[i]) for i in node.indices))
    yield Change(f"You took the mean over {indices(node.indices)}; it must be the sum.", Div(node, sizes))


@rule("averaged")
def averaged(site: Site) -> Iterator[Change]:
    """A gate averaged over an axis before it is used."""
    node = site.node
    if not isinstance(node, Ref) or not is_gate(site, node) or not site.parents:
        return
    name = node.indices[-1].plain if node.indices else None
    if name is None or name in site.summed():
        return
    yield Change(_each_its_own(node, name), _mean(site, node, name))


@rule("averaged")
def averaged_throughout(site: Site) -> Iterator[Change]:
    """The same gate averaged wherever the equation reads it."""
    if site.parents:
        return
    gates = [r for r in references(site.node) if is_gate(site, r)]
    for gate in {r for r in gates if gates.count(r) > 1 and r.indices}:
        if (name := gate.indices[-1].plain) is not None:
            swap = lambda n, gate=gate, name=name: _mean(site, gate, name) if n == gate else n
            yield Change(_each_its_own(gate, name), transform(site.node, swap))


def _mean(site: Site, ref: Ref, name: str) -> Div:
    other = name + "'"
    return Div(Sum((other,), substitute(ref, {name: other})), Size(site.ranges[name]))


def _each_its_own(ref: Ref, name: str) -> str:
    return f"You averaged `{ref.name}` over `{name}`; each `{name}` has its own gate."
