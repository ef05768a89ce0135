"""Mistakes in indices: swapped, summed or normalised over the wrong one; masks; the wrong tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

from .. import tree as T
from ..functions import ONE
from .mutate import Change, code, rule
from .mutate_values import alike, indices, left_like, product
from .sites import Site, is_gate, is_scale

# ── softmax ──


@rule("softmax index", T.Softmax)
def softmax_index(site: Site) -> Iterator[Change]:
    node = site.node
    right, free = node.indices, sorted(T.free_indices(node.body))
    must = f"it must run over {indices(right)}" + (" together." if len(right) > 1 else ".")
    for other in [*((i,) for i in free), *combinations(free, 2)]:
        if set(other) != set(right):
            alone = " alone" if len(right) > 1 and len(other) == 1 else ""
            yield f"You took the softmax over {indices(other)}{alone}; {must}", replace(node, indices=other)
    if len(right) > 1:
        each = product(tuple(replace(node, indices=(i,)) for i in right))
        yield f"You multiplied a softmax over each of {indices(right)}; one softmax {must[3:]}", each


@rule("quotient index", T.Div)
def quotient_index(site: Site) -> Iterator[Change]:
    """A softmax written out, or another share of a sum, whose sum runs over another index."""
    match site.node:
        case T.Div(above, T.Sum((k,), body)):
            right = [i for i in T.free_indices(above) if T.substitute(above, {i: k}) == body]
            for other in sorted(T.free_indices(above).difference(right)) if right else ():
                there = T.Sum((other + "'",), T.substitute(above, {other: other + "'"}))
                text = f"You divided by the sum over `{other}` in `{site.tensor}`; it must run over `{right[0]}`."
                yield text, T.Div(above, there), "softmax index"


@rule("softmax of each term", T.Softmax)
def softmax_of_each_term(site: Site) -> Iterator[Change]:
    node = site.node
    if not isinstance(node.body, T.Add):
        return
    parts = tuple(replace(node, body=t) for t in node.body.terms)
    one = "one softmax must be taken of the sum."
    yield (
        f"You took the mean of {len(parts)} softmaxes; {one}",
        T.Div(T.Add(parts), T.Num(Fraction(len(parts)))),
    )
    yield f"You added {len(parts)} softmaxes; {one}", T.Add(parts)
    yield f"You multiplied {len(parts)} softmaxes, and the product is not normalised; {one}", T.Mul(parts)
    text = f"Only the first term is under your softmax; {one}"
    yield text, T.Add((replace(node, body=node.body.terms[0]), *node.body.terms[1:]))


@rule("missing softmax", T.Softmax)
def missing_softmax(site: Site) -> Iterator[Change]:
    body, over = site.node.body, indices(site.node.indices)
    yield f"The softmax is missing from `{site.tensor}`: these are the raw scores.", body
    there = {i: i + "'" for i in site.node.indices}
    text = f"You divided the scores in `{site.tensor}` by their sum; it must be their exponentials by theirs."
    yield text, T.Div(body, T.Sum(tuple(there.values()), T.substitute(body, there)))
    text = f"You used `sigmoid` in `{site.tensor}`; it must be a softmax over {over}."
    yield text, T.Call("sigmoid", (body,)), "activation"
    text = f"The exponentials in `{site.tensor}` are not divided by their sum over {over}."
    yield text, T.Call("exp", (body,))


@rule("mask", T.Softmax)
def mask(site: Site) -> Iterator[Change]:
    node = site.node
    if node.where is not None:
        yield (
            f"The condition on {indices(node.indices)} is missing from the softmax.",
            replace(node, where=None),
        )
        return
    for inner in node.indices:
        for outer in sorted(T.free_indices(node.body) - set(node.indices)):
            causal = T.Compare(T.index(inner), "<=", T.index(outer))
            text = f"You masked the future (`{inner} <= {outer}`); here every position is seen."
            yield text, replace(node, where=causal)
            if site.ranges[outer] != site.ranges[inner]:
                continue
            text = f"You left out the position itself (`{inner} != {outer}`); it is seen too."
            yield text, replace(node, where=T.Compare(T.index(inner), "!=", T.index(outer)))


_STRICT = {"<=": "<", "<": "<=", ">=": ">", ">": ">="}
_TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}


@rule("mask", T.Compare)
def condition(site: Site) -> Iterator[Change]:
    """A condition on positions that is strict where it must not be, or the wrong way round."""
    node = site.node
    if node.operator not in _STRICT or isinstance(node.left, T.Num):
        return
    strict = replace(node, operator=_STRICT[node.operator])
    itself = "the equal ones count too" if "=" in node.operator else "the equal ones do not count"
    yield f"You wrote {code(strict)} in `{site.tensor}`; it must be {code(node)}: {itself}.", strict
    for turned in (replace(n, operator=_TURNED[n.operator]) for n in (node, strict)):
        text = f"A condition in `{site.tensor}` is the wrong way round: you wrote {code(turned)}; "
        yield f"{text}it must be {code(node)}.", turned


@rule("mask", T.Sum, T.Reduce)
def missing_condition(site: Site) -> Iterator[Change]:
    """A condition left out, or one that leaves out the index itself."""
    node = site.node
    if node.where is not None:
        text = f"The condition on {indices(node.indices)} is missing from `{site.tensor}`."
        yield text, replace(node, where=None)
        return
    for inner in node.indices if isinstance(site.parent, T.Div) else ():
        for outer in left_like(site, inner):
            text = f"You left out `{inner} == {outer}` from the sum in `{site.tensor}`; it counts too."
            yield text, replace(node, where=T.Compare(T.index(inner), "!=", T.index(outer)))


@rule("mask", T.Iverson)
def everywhere(site: Site) -> Iterator[Change]:
    """1 everywhere for 1 where a condition holds."""
    yield f"You took 1 everywhere in `{site.tensor}`; it is 1 only where {code(site.node.condition)}.", ONE


@rule("hard choice", T.Reduce, T.Call)
def soft_and_hard(site: Site) -> Iterator[Change]:
    """The largest for the log of the sum of the exponentials, or the other way round; the least for the largest."""
    names = {
        "max": "the maximum",
        "min": "the minimum",
        "logsumexp": "the log of the sum of the exponentials",
    }
    match site.node:
        case T.Reduce(function, over, body, where) if function in names:
            right = names[function]
        case T.Call("log", (T.Sum(over, T.Call("exp", (body,)), where),)):
            function, right = "logsumexp", names["logsumexp"]
        case _:
            return
    for other in names:
        if other != function:
            text = f"You took {names[other]} over {indices(over)} in `{site.tensor}`; it must be {right}."
            yield text, T.Reduce(other, over, body, where)
    text = f"You took the {{}} over {indices(over)} in `{site.tensor}`; it must be {right}."
    plain = T.Sum(over, body, where)
    yield text.format("sum"), plain
    if function == "logsumexp":
        yield text.format("log of the sum"), T.Call("log", (plain,))


# ── swaps ──


@rule("transpose", T.Ref)
def axes_swapped(site: Site) -> Iterator[Change]:
    """Two axes of one tensor exchanged: a transpose, or a sum over the wrong axis."""
    node = site.node
    dims, summed = site.dims(node), site.summed()
    for a, b in combinations(range(len(node.indices)), 2):
        if dims[a] != dims[b] or node.indices[a] == node.indices[b]:
            continue
        turned = list(node.indices)
        turned[a], turned[b] = turned[b], turned[a]
        new = replace(node, indices=tuple(turned))
        bound = [bool(T.free_indices(node.indices[k]) & summed) for k in (a, b)]
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
        yield text, new, kind


@rule("index swapped")
def free_indices_swapped(site: Site) -> Iterator[Change]:
    """Two of the left side's indices exchanged on the whole right side."""
    names = [a.plain for a in site.equation.left.indices if a.plain]
    for i, j in combinations(names, 2):
        if site.ranges[i] == site.ranges[j]:
            text = f"You swapped the indices `{i}` and `{j}` in `{site.tensor}`."
            yield text, T.substitute(site.node, {i: j, j: i})


@rule("wrong tensor", T.Ref, says="You used {new} in `{tensor}` where {right} belongs.")
def wrong_tensor(site: Site) -> Iterator[T.Ref]:
    """Another tensor of the same shape in a tensor's place, at the same step or now."""
    for other in alike(site, site.node):
        yield replace(site.node, name=other)
        yield T.Ref(other, tuple(replace(a, const=0) for a in site.node.indices))


@rule("wrong tensor")
def wrong_tensor_throughout(site: Site) -> Iterator[Change]:
    """One tensor used for another in the whole equation, or the two exchanged."""
    for ref in {r.name: r for r in T.references(site.node)}.values():
        for other in alike(site, ref):
            text = f"You used `{other}` in `{site.tensor}` where `{ref.name}` belongs."
            yield text, T.rename_tensors(site.node, {ref.name: other})
    yield from tensors_swapped(site)


@rule("extra factor", T.Mul)
def tensors_swapped(site: Site) -> Iterator[Change]:
    """Two tensors exchanged: in the whole equation, or in one product."""
    refs = {r.name: r for r in T.references(site.node)}
    for ref in refs.values():
        for other in alike(site, ref):
            if ref.name < other and other in refs:
                swapped = T.rename_tensors(site.node, {ref.name: other, other: ref.name})
                if _sorted(swapped) != _sorted(site.node):  # in a product of the two nothing has changed
                    text = f"You swapped `{ref.name}` and `{other}` in `{site.tensor}`."
                    yield text, swapped, "tensors swapped"


def _sorted(node: T.Expr) -> T.Expr:
    """The expression with factors and terms in a fixed order."""

    def sort(n: object) -> object:
        if isinstance(n, T.Mul):
            return replace(n, factors=tuple(sorted(n.factors, key=repr)))
        return replace(n, terms=tuple(sorted(n.terms, key=repr))) if isinstance(n, T.Add) else n

    return T.transform(node, sort)


@rule("interleaved", T.Flatten)
def interleaved(site: Site) -> Iterator[Change]:
    """The heads laid end to end entry by entry, instead of one head after another."""
    node = site.node
    for order in permutations(node.indices):
        text = f"You laid {code(node.body)} end to end with `{order[-1]}` running fastest; "
        text += f"`{node.indices[-1]}` must run fastest, and `{node.indices[0]}` slowest."
        if order != node.indices:
            yield text, replace(node, indices=order)


# ── sums ──


@rule("sum scope", T.Sum)
def sum_scope(site: Site) -> Iterator[Change]:
    """`(sum a)(sum b)` for `sum (a b)`."""
    node = site.node
    if not isinstance(node.body, T.Mul):
        return
    parts = tuple(f for f in node.body.factors if not is_scale(f))
    if len(parts) < 2 or not all(set(node.indices) & T.free_indices(p) for p in parts):
        return
    split = product(tuple(_summed(f, node) for f in node.body.factors))
    yield (
        f"The sum over {indices(node.indices)} must cover the whole product; you summed each factor alone.",
        split,
    )


@rule("diagonal", T.Sum)
def diagonal(site: Site) -> Iterator[Change]:
    """An index of the left side in place of a summed one."""
    for i in site.node.indices:
        kept = tuple(k for k in site.node.indices if k != i)
        for j in left_like(site, i) if site.node.where is None else ():
            body = T.substitute(site.node.body, {i: j})
            text = f"The sum over `{i}` is missing from `{site.tensor}`: you read it at `{j}` alone."
            yield text, replace(site.node, indices=kept, body=body) if kept else body, "missing sum"


def _summed(factor: T.Expr, node: T.Sum) -> T.Expr:
    own = tuple(i for i in node.indices if i in T.free_indices(factor))
    return replace(node, indices=own, body=factor) if own else factor


@rule("mean for sum", T.Sum)
def mean_for_sum(site: Site) -> Iterator[Change]:
    node = site.node
    if node.where is not None:
        return
    for over in dict.fromkeys([node.indices, *((i,) for i in node.indices)]):
        sizes = product(tuple(T.Size(site.ranges[i]) for i in over))
        yield f"You took the mean over {indices(over)}; it must be the sum.", T.Div(node, sizes)


@rule("averaged", T.Ref)
def averaged(site: Site) -> Iterator[Change]:
    """A gate averaged over an axis before it is used."""
    node = site.node
    if not is_gate(site, node) or not site.parents:
        return
    name = node.indices[-1].plain if node.indices else None
    if name is None or name in site.summed():
        return
    yield _each_its_own(node, name), _mean(site, node, name)


@rule("averaged")
def averaged_throughout(site: Site) -> Iterator[Change]:
    """The same gate averaged wherever the equation reads it."""
    gates = [r for r in T.references(site.node) if is_gate(site, r)]
    for gate in {r for r in gates if gates.count(r) > 1 and r.indices}:
        if (name := gate.indices[-1].plain) is not None:
            swap = lambda n, gate=gate, name=name: _mean(site, gate, name) if n == gate else n
            yield _each_its_own(gate, name), T.transform(site.node, swap)


def _mean(site: Site, ref: T.Ref, name: str) -> T.Div:
    other = name + "'"
    return T.Div(T.Sum((other,), T.substitute(ref, {name: other})), T.Size(site.ranges[name]))


def _each_its_own(ref: T.Ref, name: str) -> str:
    return f"You averaged `{ref.name}` over `{name}`; each `{name}` has its own gate."
