"""Mistakes of scope: what stands inside and outside brackets, functions, sums and a softmax."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from .. import tree as T
from ..functions import ONE
from .mutate import Change, code, rule
from .mutate_values import complement, factors_of, gates, indices, product, total, without
from .sites import Site, is_scale

# ── functions ──


@rule("misplaced", T.Add, T.Mul, T.Call)
def inside_or_outside(site: Site) -> Iterator[Change]:
    """`sqrt(v) + e` for `sqrt(v + e)`, `tanh(g c)` for `g tanh(c)`, and the other way round."""
    node = site.node
    for kind, joined, verb in ((T.Add, total, "be added to"), (T.Mul, product, "multiply")):
        if kind is T.Mul and any(
            c.function in ("relu", "abs") for c in (node, *T.children(node)) if isinstance(c, T.Call)
        ):
            continue  # a positive factor may stand on either side of these

        def own(part: T.Expr, call: T.Call, kind: type = kind) -> str:
            root = kind is T.Add and call.function == "sqrt"
            return "epsilon" if root else "gate misplaced" if gates(site, part) else "misplaced"

        if isinstance(node, T.Call) and len(node.args) == 1 and isinstance(node.args[0], kind):
            parts = tuple(T.children(node.args[0]))
            for k, part in enumerate(parts):
                new = kind((replace(node, args=(joined(without(parts, k)),)), part))
                where = "outside the root" if node.function == "sqrt" else f"outside `{node.function}`"
                text = f"You put {code(part)} {where} in `{site.tensor}`; it belongs inside."
                yield text, new, own(part, node)
        elif isinstance(node, kind):
            parts = tuple(T.children(node))
            for n, k in permutations(range(len(parts)), 2):
                part, call = parts[n], parts[k]
                if isinstance(call, T.Call) and len(call.args) == 1:
                    body = call.args[0]
                    inner = tuple(T.children(body)) if isinstance(body, kind) else (body,)
                    inside = replace(call, args=(kind((part, *inner)),))
                    rest = tuple(inside if p is call else p for p in without(parts, n))
                    text = f"In `{site.tensor}` {code(part)} must {verb} {code(call)}; you put it inside."
                    yield text, joined(rest), own(part, call)


@rule("function scope", T.Sum, T.Call, T.Pow)
def function_scope(site: Site) -> Iterator[Change]:
    """`f(sum a)` for `sum f(a)`, and the other way round."""
    node = site.node
    if isinstance(node, T.Sum):
        for k, factor in enumerate(factors_of(node.body)):
            if (inner := _argument(factor)) is not None and set(node.indices) & T.free_indices(factor):
                factors = factors_of(node.body)
                summed = replace(node, body=product((*factors[:k], inner, *factors[k + 1 :])))
                text = f"In `{site.tensor}` the sum over {indices(node.indices)} is taken of {code(factor)}; "
                yield (
                    f"{text}you took {_word(factor)} of the sum.",
                    _with_argument(factor, summed),
                    "sum scope",
                )
    elif isinstance(inner := _argument(node), T.Sum):
        text = f"In `{site.tensor}` {_word(node)} is taken of the sum over {indices(inner.indices)}; "
        new = replace(inner, body=_with_argument(node, inner.body))
        yield f"{text}you summed {_word(node)} of each.", new, "sum scope"


def _argument(node: T.Expr) -> T.Expr | None:
    """What a function of one argument, or a power, is taken of."""
    match node:
        case T.Call(_, (inner,)) | T.Pow(inner, T.Num()):
            return inner
    return None


def _with_argument(node: T.Expr, new: T.Expr) -> T.Expr:
    return replace(node, args=(new,)) if isinstance(node, T.Call) else T.Pow(new, node.exponent)  # type: ignore[union-attr]


def _word(node: T.Expr) -> str:
    return f"`{node.function}`" if isinstance(node, T.Call) else "the power"


@rule("function scope", T.Div)
def function_of_the_mean(site: Site) -> Iterator[Change]:
    """`f(mean a)` for `mean f(a)`."""
    match site.node:
        case T.Div(T.Sum(over, body) as whole, below) if (
            is_scale(below) and (inner := _argument(body)) is not None
        ):
            mean = T.Div(replace(whole, body=inner), below)
            text = f"In `{site.tensor}` the mean over {indices(over)} is taken of {code(body)}; you took {_word(body)} "
            yield f"{text}of the mean.", _with_argument(body, mean), "sum scope"


@rule("function scope", T.Call)
def function_of_each_term(site: Site) -> Iterator[Change]:
    """`f(a) + f(b)` for `f(a + b)`."""
    match site.node:
        case T.Call(function, (T.Add(terms) as inner,)) if complement(inner) is None and not is_scale(inner):
            cuts: list[list[tuple[T.Expr, ...]]] = [[(term,) for term in terms]]
            cuts += [[terms[:k], terms[k:]] for k in range(1, len(terms))]
            for groups in cuts:
                each = T.Add(tuple(replace(site.node, args=(total(group),)) for group in groups))
                text = (
                    f"You took `{function}` of each term in `{site.tensor}`; it must be taken of their sum."
                )
                yield text, each


# ── a softmax ──


@rule("misplaced", T.Softmax)
def scaled_afterwards(site: Site) -> Iterator[Change]:
    """`softmax(s)/c` for `softmax(s/c)`."""
    if (found := _scaled(site.node.body)) is not None:
        scale, rest = found
        text = (
            f"You scaled by {code(site.spoken(scale))} after the softmax; the scores under it must be scaled."
        )
        yield text, T.Mul((scale, replace(site.node, body=rest)))


def _scaled(node: T.Expr) -> tuple[T.Expr, T.Expr] | None:
    """The scale of an expression, also within its sum, and the rest."""
    match node:
        case T.Div(above, below) if is_scale(below):
            return T.Div(ONE, below), above
        case T.Mul((first, *rest)) if is_scale(first):
            return first, product(tuple(rest))
        case T.Sum(_, body) if (inner := _scaled(body)) is not None:
            return inner[0], replace(node, body=inner[1])
    return None


@rule("mask", T.Softmax)
def masked_elsewhere(site: Site) -> Iterator[Change]:
    """A mask on the weights, or a factor 0 on the scores, for one that leaves positions out."""
    node = site.node
    if node.where is None:
        return
    seen, whole = T.Iverson(node.where), replace(node, where=None)
    text = f"You set weights to zero after the softmax of `{site.tensor}`; what is not {code(node.where)} must be left "
    yield f"{text}out before it, so that the others sum to one.", T.Mul((seen, whole))
    text = f"You set scores to zero under the softmax of `{site.tensor}`, where they still count as `exp(0)`; what is "
    yield f"{text}not {code(node.where)} must be left out.", replace(whole, body=T.Mul((seen, node.body)))


# ── brackets ──


@rule("brackets", T.Mul, T.Div)
def brackets_left_out(site: Site) -> Iterator[Change]:
    """`a b + c` for `a (b + c)`, `a/b + c` for `a/(b + c)`."""
    turned = (
        T.Neg if isinstance(site.parent, T.Neg) else lambda term: term
    )  # `- a (b + c)` becomes `- a b + c`
    match site.node:
        case T.Mul((*others, T.Add(terms) as bracket)):
            new = T.Add((T.Mul((*others, terms[0])), *map(turned, terms[1:])))
        case T.Mul((T.Add(terms) as bracket, *others)):
            new = T.Add((terms[0], *map(turned, terms[1:-1]), turned(T.Mul((terms[-1], *others)))))
        case T.Div(above, T.Add(terms) as bracket):
            new = T.Add((T.Div(above, terms[0]), *map(turned, terms[1:])))
        case T.Div(T.Add(terms) as bracket, below):
            new = T.Add((terms[0], *map(turned, terms[1:-1]), turned(T.Div(terms[-1], below))))
        case _:
            return
    yield f"Brackets around {code(bracket)} are missing in `{site.tensor}`.", new


@rule("brackets", T.Mul)
def one_term_multiplied(site: Site) -> Iterator[Change]:
    """`a c + b` for `(a + b) c`."""
    factors = site.node.factors
    for n, bracket in enumerate(factors):
        if not isinstance(bracket, T.Add) or complement(bracket) is not None:
            continue
        others = without(factors, n)
        for k, term in enumerate(bracket.terms):
            new = T.Add((*bracket.terms[:k], T.Mul((*others, term)), *bracket.terms[k + 1 :]))
            text = f"You multiplied {code(term)} alone by {code(product(others))} in `{site.tensor}`; "
            yield f"{text}it must multiply {code(bracket)}.", new


@rule("brackets", T.Add)
def other_term_multiplied(site: Site) -> Iterator[Change]:
    """`a (x + b)` for `a x + b`, and `(x + b)/c` for `x/c + b`."""
    terms = site.node.terms
    for k, m in permutations(range(len(terms)), 2):
        above, below = (terms[k].above, terms[k].below) if isinstance(terms[k], T.Div) else (terms[k], None)
        factors = factors_of(above)
        changed: list[tuple[str, str, T.Expr]]
        changed = [(code(f), "multiplied", T.Mul((f, terms[m]))) for f in factors if len(factors) > 1]
        changed += [(code(below), "divided", T.Div(terms[m], below))] if below is not None else []
        for by, verb, new in changed:
            text = f"You {verb} {code(terms[m])} by {by} too in `{site.tensor}`; it must stand outside the brackets."
            yield text, T.Add((*terms[:m], new, *terms[m + 1 :])), "extra factor"
