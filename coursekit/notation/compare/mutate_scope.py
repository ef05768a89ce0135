"""Mistakes of scope: what stands inside and outside brackets, functions, sums and a softmax."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from .. import tree as T
from ..functions import ONE, times
from .mutate import Change, rule
from .sites import Site, complement, factors_of, is_scale, put_at, total, without

# ── functions ──


@rule("misplaced", T.Add, T.Mul, T.Call)
def inside_or_outside(site: Site) -> Iterator[Change]:
    """`sqrt(v) + e` for `sqrt(v + e)`, `tanh(g c)` for `g tanh(c)`, and the other way round."""
    node = site.node
    for kind, joined, verb in ((T.Add, total, "be added to"), (T.Mul, times, "multiply")):
        whole = node.args[0] if _taken(node) else node
        parts = tuple(T.children(whole)) if isinstance(whole, kind) else ()
        for n, part in enumerate(parts):
            for k, call in [(n, node)] if whole is not node else enumerate(parts):
                # a positive factor may stand on either side of these
                if not _taken(call) or (kind is T.Mul and call.function in ("relu", "abs")):
                    continue
                own = "gate misplaced| " if site.gates(part) else ""
                own = "epsilon| " if kind is T.Add and call.function == "sqrt" else own
                if whole is not node:
                    outside = kind((replace(node, args=(joined(*without(parts, n)),)), part))
                    where = "the root" if node.function == "sqrt" else f"`{node.function}`"
                    yield own + "You put {0} outside {1} in {t}; it belongs inside.", outside, part, where
                elif k != n:
                    body = call.args[0]
                    inner = tuple(T.children(body)) if isinstance(body, kind) else (body,)
                    inside = replace(call, args=(kind((part, *inner)),))
                    text = f"{own}In {{t}} {{0}} must {verb} {{1}}; you put it inside."
                    yield text, joined(*without(put_at(parts, k, inside), n)), part, call


def _taken(node: T.Expr) -> bool:
    return isinstance(node, T.Call) and len(node.args) == 1


@rule("function scope", T.Sum, T.Call, T.Pow, kind="sum scope")
def function_scope(site: Site) -> Iterator[Change]:
    """`f(sum a)` for `sum f(a)`, and the other way round."""
    node = site.node
    if isinstance(node, T.Sum):
        factors = factors_of(node.body)
        for k, factor in enumerate(factors):
            if (inner := _argument(factor)) is not None and set(node.indices) & T.free_indices(factor):
                summed = replace(node, body=times(*put_at(factors, k, inner)))
                text = "In {t} the sum over {0} is taken of {1}; you took {2} of the sum."
                yield text, _of(factor, summed), node.indices, factor, _word(factor)
    elif isinstance(inner := _gathered(_argument(node)), T.Sum):
        text = "In {t} {0} is taken of the sum over {1}; you summed {0} of each."
        yield text, replace(inner, body=_of(node, inner.body)), _word(node), inner.indices


def _gathered(node: T.Expr | None) -> T.Expr | None:
    """A sum with the number or the sign before it taken inside."""
    match node:
        case T.Neg(body) if isinstance(inner := _gathered(body), T.Sum):
            return replace(inner, body=T.Neg(inner.body))
        case T.Mul((*scales, T.Sum(_, body) as inner)) if all(map(is_scale, scales)):
            return replace(inner, body=T.Mul((*scales, body)))
        case T.Div(T.Sum(_, body) as inner, below) if is_scale(below):
            return replace(inner, body=T.Div(body, below))
    return node


def _argument(node: T.Expr) -> T.Expr | None:
    """What a function of one argument, or a power, is taken of."""
    match node:
        case T.Call(_, (inner,)) | T.Pow(inner, T.Num()):
            return inner
    return None


def _of(node: T.Expr, new: T.Expr) -> T.Expr:
    """The function or power of something else."""
    return replace(node, args=(new,)) if isinstance(node, T.Call) else T.Pow(new, node.exponent)  # type: ignore[union-attr]


def _word(node: T.Expr) -> str:
    return f"`{node.function}`" if isinstance(node, T.Call) else "the power"


@rule("function scope", T.Div, kind="sum scope")
def function_of_the_mean(site: Site) -> Iterator[Change]:
    match site.node:
        case T.Div(T.Sum(over, body) as whole, below) if is_scale(below) and (inner := _argument(body)):
            mean = T.Div(replace(whole, body=inner), below)
            text = "In {t} the mean over {0} is taken of {1}; you took {2} of the mean."
            yield text, _of(body, mean), over, body, _word(body)


@rule("function scope", T.Call, says="You took `{0}` of each term in {t}; it must be taken of their sum.")
def function_of_each_term(site: Site) -> Iterator[Change]:
    match site.node:
        case T.Call(function, (T.Add(terms) as inner,)) if complement(inner) is None and not is_scale(inner):
            cuts: list[list[tuple[T.Expr, ...]]] = [[(term,) for term in terms]]
            cuts += [[terms[:k], terms[k:]] for k in range(1, len(terms))]
            for groups in cuts:
                yield T.Add(tuple(replace(site.node, args=(total(*group),)) for group in groups)), function


# ── a softmax ──


@rule("misplaced", T.Softmax, says="You scaled by {0} after the softmax; the scores under it must be scaled.")
def scaled_afterwards(site: Site) -> Iterator[Change]:
    if (found := _scaled(site.node.body)) is not None:
        scale, rest = found
        yield T.Mul((scale, replace(site.node, body=rest))), site.spoken(scale)


def _scaled(node: T.Expr) -> tuple[T.Expr, T.Expr] | None:
    """The scale of an expression, also within its sum, and the rest."""
    match node:
        case T.Div(above, below) if is_scale(below):
            return T.Div(ONE, below), above
        case T.Mul((first, *rest)) if is_scale(first):
            return first, times(*rest)
        case T.Sum(_, body) if (inner := _scaled(body)) is not None:
            return inner[0], replace(node, body=inner[1])
    return None


@rule("mask", T.Softmax)
def masked_elsewhere(site: Site) -> Iterator[Change]:
    """A mask on the weights, or a factor 0 on the scores, for one that leaves positions out."""
    if (where := site.node.where) is not None:
        seen, whole = T.Iverson(where), replace(site.node, where=None)
        text = "You set weights to zero after the softmax of {t}; what is not {0} must be left out before it, so that "
        yield f"{text}the others sum to one.", T.Mul((seen, whole)), where
        text = "You set scores to zero under the softmax of {t}, where they still count as `exp(0)`; what is not {0} "
        yield f"{text}must be left out.", replace(whole, body=T.Mul((seen, whole.body))), where


# ── brackets ──


@rule("brackets", T.Mul, T.Div, says="Brackets around {0} are missing in {t}.")
def brackets_left_out(site: Site) -> Iterator[Change]:
    """`a b + c` for `a (b + c)`, `a/b + c` for `a/(b + c)`; where the whole is subtracted, `- a b + c`."""
    first: T.Expr
    match site.node:
        case T.Mul((*others, T.Add(terms) as bracket)):
            first, last = T.Mul((*others, terms[0])), terms[1:]
        case T.Div(above, T.Add(terms) as bracket):
            first, last = T.Div(above, terms[0]), terms[1:]
        case T.Mul((T.Add(terms) as bracket, *others)):
            first, last = terms[0], (*terms[1:-1], T.Mul((terms[-1], *others)))
        case T.Div(T.Add(terms) as bracket, below):
            first, last = terms[0], (*terms[1:-1], T.Div(terms[-1], below))
        case _:
            return
    yield T.Add((first, *(map(T.Neg, last) if isinstance(site.parent, T.Neg) else last))), bracket


@rule("brackets", T.Mul, says="You multiplied {0} alone by {1} in {t}; it must multiply {2}.")
def one_term_multiplied(site: Site) -> Iterator[Change]:
    """`a c + b` for `(a + b) c`."""
    for n, bracket in enumerate(site.node.factors):
        others = without(site.node.factors, n)
        terms = bracket.terms if isinstance(bracket, T.Add) and complement(bracket) is None else ()
        for k, term in enumerate(terms):
            yield T.Add(put_at(terms, k, T.Mul((*others, term)))), term, times(*others), bracket


@rule("brackets", T.Add, kind="extra factor")
def other_term_multiplied(site: Site) -> Iterator[Change]:
    """`a (x + b)` for `a x + b`, and `(x + b)/c` for `x/c + b`."""
    terms = site.node.terms
    text = "You {0} {1} by {2} too in {t}; it must stand outside the brackets."
    for k, m in permutations(range(len(terms)), 2):
        below = terms[k].below if isinstance(terms[k], T.Div) else None
        factors = factors_of(terms[k] if below is None else terms[k].above)
        for factor in factors if len(factors) > 1 else ():
            yield text, T.Add(put_at(terms, m, T.Mul((factor, terms[m])))), "multiplied", terms[m], factor
        if below is not None:
            yield text, T.Add(put_at(terms, m, T.Div(terms[m], below))), "divided", terms[m], below
