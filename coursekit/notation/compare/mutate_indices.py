"""Mistakes in indices: swapped, summed or normalised over the wrong one; masks; the wrong tensor."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

from .. import tree as T
from ..functions import ONE, times
from .mutate import Change, rule
from .sites import Site, in_order, is_scale, put_at, those

# ── softmax ──


@rule("softmax index", T.Softmax)
def softmax_index(site: Site) -> Iterator[Change]:
    node, right, free = site.node, site.node.indices, sorted(T.free_indices(site.node.body))
    together = " together" if len(right) > 1 else ""
    for other in [*((i,) for i in free), *combinations(free, 2)]:
        if set(other) != set(right):
            alone = " alone" if together and len(other) == 1 else ""
            text = f"You took the softmax over {{1}}{alone}; it must run over {{0}}{together}."
            yield text, replace(node, indices=other), right, other
    if together:
        each = times(*(replace(node, indices=(i,)) for i in right))
        yield (
            "You multiplied a softmax over each of {0}; one softmax must run over {0} together.",
            each,
            right,
        )


@rule("quotient index", T.Div, kind="softmax index")
def quotient_index(site: Site) -> Iterator[Change]:
    """A softmax written out, or another share of a sum, whose sum runs over another index."""
    match site.node:
        case T.Div(above, T.Sum((k,), body)):
            right = [i for i in T.free_indices(above) if T.substitute(above, {i: k}) == body]
            for other in sorted(T.free_indices(above).difference(right)) if right else ():
                there = T.Sum((other + "'",), T.substitute(above, {other: other + "'"}))
                text = "You divided by the sum over `{0}` in {t}; it must run over `{1}`."
                yield text, T.Div(above, there), other, right[0]


@rule("softmax of each term", T.Softmax)
def softmax_of_each_term(site: Site) -> Iterator[Change]:
    node, one = site.node, "one softmax must be taken of the sum."
    if isinstance(node.body, T.Add):
        parts = tuple(replace(node, body=t) for t in node.body.terms)
        count = T.Num(Fraction(len(parts)))
        yield f"You took the mean of {len(parts)} softmaxes; {one}", T.Div(T.Add(parts), count)
        yield f"You added {len(parts)} softmaxes; {one}", T.Add(parts)
        text = f"You multiplied {len(parts)} softmaxes, and the product is not normalised; {one}"
        yield text, T.Mul(parts)
        yield f"Only the first term is under your softmax; {one}", T.Add((parts[0], *node.body.terms[1:]))


@rule("missing softmax", T.Softmax)
def missing_softmax(site: Site) -> Iterator[Change]:
    body, over = site.node.body, site.node.indices
    yield "The softmax is missing from {t}: these are the raw scores.", body
    there = {i: i + "'" for i in over}
    text = "You divided the scores in {t} by their sum; it must be their exponentials by theirs."
    yield text, T.Div(body, T.Sum(tuple(there.values()), T.substitute(body, there)))
    text = "activation| You used `sigmoid` in {t}; it must be a softmax over {0}."
    yield text, T.Call("sigmoid", (body,)), over
    text = "The exponentials in {t} are not divided by their sum over {0}."
    yield text, T.Call("exp", (body,)), over


@rule("mask", T.Softmax)
def mask(site: Site) -> Iterator[Change]:
    node = site.node
    if node.where is not None:
        text = "The condition on {0} is missing from the softmax."
        yield text, replace(node, where=None), node.indices
        return
    for inner in node.indices:
        for outer in sorted(T.free_indices(node.body) - set(node.indices)):
            text = "You masked the future (`{0} <= {1}`); here every position is seen."
            yield text, replace(node, where=T.Compare(T.index(inner), "<=", T.index(outer))), inner, outer
            if site.ranges[outer] == site.ranges[inner]:
                text = "You left out the position itself (`{0} != {1}`); it is seen too."
                yield text, replace(node, where=T.Compare(T.index(inner), "!=", T.index(outer))), inner, outer


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
    yield f"You wrote {{new}} in {{t}}; it must be {{right}}: {itself}.", strict
    for turned in (replace(n, operator=_TURNED[n.operator]) for n in (node, strict)):
        yield "A condition in {t} is the wrong way round: you wrote {new}; it must be {right}.", turned


@rule("mask", T.Sum, T.Reduce)
def missing_condition(site: Site) -> Iterator[Change]:
    """A condition left out, or one that leaves out the index itself."""
    node = site.node
    if node.where is not None:
        yield "The condition on {0} is missing from {t}.", replace(node, where=None), node.indices
        return
    for inner in node.indices if isinstance(site.parent, T.Div) else ():
        for outer in site.left_like(inner):
            text = "You left out `{0} == {1}` from the sum in {t}; it counts too."
            others = T.Compare(T.index(inner), "!=", T.index(outer))
            yield text, replace(node, where=others), inner, outer


@rule("mask", T.Iverson)
def everywhere(site: Site) -> Iterator[Change]:
    """1 everywhere for 1 where a condition holds."""
    yield "You took 1 everywhere in {t}; it is 1 only where {0}.", ONE, site.node.condition


_EXTREMES = {
    "max": "the maximum", "min": "the minimum", "logsumexp": "the log of the sum of the exponentials",
}  # fmt: skip


@rule("hard choice", T.Reduce, T.Call, says="You took {0} {3} {1} in {t}; it must be {2}.")
def soft_and_hard(site: Site) -> Iterator[Change]:
    """The largest for the log of the sum of the exponentials, or the other way round; the least, the mean or the sum
    for the largest."""
    found: dict[str, T.Expr]
    match site.node:
        case T.Call("max" | "min" as function, over):
            way, other = "of", "min" if function == "max" else "max"
            found = {_EXTREMES[other]: replace(site.node, function=other)}
            found["the mean"] = T.Div(T.Add(over), T.Num(Fraction(len(over))))
            found["the sum"] = T.Add(over)
        case T.Reduce("max" | "min" | "logsumexp" as function, over, body, where) | T.Call(
            "log" as function, (T.Sum(over, T.Call("exp", (body,)), where),)
        ):
            way, function = "over", "logsumexp" if function == "log" else function
            others = (word for word in _EXTREMES if word != function)
            found = {_EXTREMES[word]: T.Reduce(word, over, body, where) for word in others}
            found["the sum"] = plain = T.Sum(over, body, where)
            if function == "logsumexp":
                found["the log of the sum"] = T.Call("log", (plain,))
                found["the sum of the exponentials"] = T.Sum(over, T.Call("exp", (body,)), where)
        case _:
            return
    for words, node in found.items():
        yield node, words, over, _EXTREMES[function], way


# ── swaps ──


@rule("transpose", T.Ref)
def axes_swapped(site: Site) -> Iterator[Change]:
    """Two axes of one tensor exchanged: a transpose, or a sum over the wrong axis."""
    node = site.node
    dims, summed = site.dims(node), site.summed()
    for a, b in combinations(range(len(node.indices)), 2):
        if dims[a] == dims[b] and node.indices[a] != node.indices[b]:
            turned = put_at(put_at(node.indices, a, node.indices[b]), b, node.indices[a])
            bound = [bool(T.free_indices(node.indices[k]) & summed) for k in (a, b)]
            if not any(bound):
                text = "index swapped| You swapped two indices: you wrote {new}; it must be {right}."
            elif all(bound) or not site.system.tensors[node.name].defined:
                text = "`{0}` is transposed: you wrote {new}; it must be {right}."
            else:
                text = "sum index| You summed over the wrong index of `{0}`: you wrote {new}; it must be {right}."
            yield text, replace(node, indices=turned), node.name


@rule("index swapped", says="You swapped the indices `{0}` and `{1}` in {t}.")
def free_indices_swapped(site: Site) -> Iterator[Change]:
    """Two of the left side's indices exchanged on the whole right side."""
    names = [a.plain for a in site.equation.left.indices if a.plain]
    for i, j in combinations(names, 2):
        if site.ranges[i] == site.ranges[j]:
            yield T.substitute(site.node, {i: j, j: i}), i, j


_USED = "You used {new} in {t} where {right} belongs."


@rule("wrong tensor", T.Ref, says=_USED)
def wrong_tensor(site: Site) -> Iterator[T.Ref]:
    """Another tensor of the same shape in a tensor's place, at the same step or now."""
    for other in site.alike(site.node):
        yield replace(site.node, name=other)
        yield T.Ref(other, tuple(replace(a, const=0) for a in site.node.indices))


@rule("other tensor", T.Ref, kind="wrong tensor", says=_USED)
def tensor_of_another_shape(site: Site) -> Iterator[T.Expr]:
    """A tensor of other axes in a tensor's place, another value of the equation, or 1."""
    node, free, whole = site.node, in_order(site.node), site.equation.right
    if any(node in T.references(n) for n in T.walk(whole) if isinstance(n, T.Affine)):
        return
    if isinstance(site.parent, (T.Add, T.Neg)):
        yield ONE
    for ref in dict.fromkeys(T.references(whole)):
        if ref.name == node.name and ref != node and in_order(ref) == free:
            yield ref
    for call in (n for n in T.walk(whole) if isinstance(n, T.Call)):
        if node not in T.references(call) and in_order(call) == free:
            yield call
    for tensor in site.system.tensors.values():
        if tensor.name != node.name and tensor.indexes is None and tensor.dims != site.dims(node):
            names = [next((i for i in free if site.ranges[i] == dim), None) for dim in tensor.dims]
            if names and None not in names and len({*names}) == len(names):
                yield T.Ref(tensor.name, tuple(T.index(i) for i in names if i))


@rule("other shape", T.Ref, kind="wrong tensor", says=_USED)
def tensor_of_another_size(site: Site) -> Iterator[T.Ref]:
    """A tensor of as many axes, but of other sizes."""
    own = site.dims(site.node)
    for tensor in site.system.tensors.values():
        if tensor.dims != own and len(tensor.dims) == len(own):
            yield replace(site.node, name=tensor.name)


@rule("wrong tensor")
def wrong_tensor_throughout(site: Site) -> Iterator[Change]:
    """One tensor used for another in the whole equation, or the two exchanged."""
    for ref in {r.name: r for r in T.references(site.node)}.values():
        for other in site.alike(ref):
            text = "You used `{0}` in {t} where `{1}` belongs."
            yield text, T.rename_tensors(site.node, {ref.name: other}), other, ref.name
    yield from tensors_swapped(site)


@rule("extra factor", T.Mul)
def tensors_swapped(site: Site) -> Iterator[Change]:
    """Two tensors exchanged: in the whole equation, or in one product."""
    refs = {r.name: r for r in T.references(site.node)}
    for name, ref in refs.items():
        for other in site.alike(ref):
            if name < other and other in refs:
                swapped = T.rename_tensors(site.node, {name: other, other: name})
                if T.transform(swapped, _sorted) != T.transform(
                    site.node, _sorted
                ):  # in a b nothing has changed
                    yield "tensors swapped| You swapped `{0}` and `{1}` in {t}.", swapped, name, other


def _sorted(node: T.N) -> T.N:
    return type(node)(tuple(sorted(T.children(node), key=repr))) if isinstance(node, (T.Add, T.Mul)) else node


@rule("interleaved", T.Flatten)
def interleaved(site: Site) -> Iterator[Change]:
    """The heads laid end to end entry by entry, instead of one head after another."""
    node = site.node
    text = "You laid {0} end to end with `{1}` running fastest; `{2}` must run fastest, and `{3}` slowest."
    for order in permutations(node.indices):
        if order != node.indices:
            new = replace(node, indices=order)
            yield text, new, node.body, order[-1], node.indices[-1], node.indices[0]


# ── sums ──


@rule("sum scope", T.Sum, says="The sum over {0} must cover the whole product; you summed each factor alone.")
def sum_scope(site: Site) -> Iterator[Change]:
    """`(sum a)(sum b)` for `sum (a b)`."""
    node = site.node
    factors = node.body.factors if isinstance(node.body, T.Mul) else ()
    own = [those(node.indices, f) for f in factors]
    parts = [o for f, o in zip(factors, own, strict=True) if not is_scale(f)]
    if len(parts) > 1 and all(parts):
        each = (replace(node, indices=o, body=f) if o else f for f, o in zip(factors, own, strict=True))
        yield T.Mul(tuple(each)), node.indices


@rule("diagonal", T.Sum, kind="missing sum")
def diagonal(site: Site) -> Iterator[Change]:
    """An index of the left side in place of a summed one."""
    for i in site.node.indices if site.node.where is None else ():
        kept = tuple(k for k in site.node.indices if k != i)
        for j in site.left_like(i):
            body = T.substitute(site.node.body, {i: j})
            text = "The sum over `{0}` is missing from {t}: you read it at `{1}` alone."
            yield text, replace(site.node, indices=kept, body=body) if kept else body, i, j


@rule("mean for sum", T.Sum, says="You took the mean over {0}; it must be the sum.")
def mean_for_sum(site: Site) -> Iterator[Change]:
    node = site.node
    for over in dict.fromkeys([node.indices, *((i,) for i in node.indices)]) if node.where is None else ():
        yield T.Div(node, times(*site.sizes(over))), over


@rule("averaged", T.Ref, says="You averaged `{0}` over `{1}`; each `{1}` has its own gate.")
def averaged(site: Site) -> Iterator[Change]:
    """A gate averaged over an axis before it is used."""
    node = site.node
    name = node.indices[-1].plain if node.indices else None
    if name is not None and site.is_gate(node) and site.parents and name not in site.summed():
        other = name + "'"
        mean = T.Div(T.Sum((other,), T.substitute(node, {name: other})), T.Size(site.ranges[name]))
        yield mean, node.name, name
