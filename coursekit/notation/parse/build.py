"""Building expressions so that equal meanings have one form: flat sums and products, signed constants."""

from dataclasses import replace
from fractions import Fraction

from .. import tree as T
from ..functions import DEFINED, SOFT
from ..indices import each
from ..tree import free_indices, mapped, substitute, walk

MARK = "matrix"  # Call(MARK, (ref,)): a name that may have axes which are not written


def add(terms: list[T.Expr], span: T.Span) -> T.Expr:
    flat = [t for term in terms for t in (term.terms if isinstance(term, T.Add) else (term,))]
    return flat[0] if len(flat) == 1 else T.Add(tuple(flat), span=span)


def multiply(factors: list[T.Expr], span: T.Span = T.NOWHERE) -> T.Expr:
    flat = [f for factor in factors for f in (factor.factors if isinstance(factor, T.Mul) else (factor,))]
    tests = [f for f in flat if isinstance(f, T.Iverson)]
    if tests and any(infinite(f) for f in flat):  # 0 times infinity is no number: where it fails it is 0
        rest = multiply([f for f in flat if f not in tests], span)
        condition = both([c for t in tests for c in each(t.condition)])
        return T.Cases(((rest, condition),), T.Num(Fraction(0)), span=span)
    return flat[0] if len(flat) == 1 else T.Mul(tuple(flat), span=span)


def both(tests: list[T.Compare]) -> T.Condition:
    return tests[0] if len(tests) == 1 else T.And(tuple(tests))


def reduction(
    word: str, indices: tuple[str, ...], body: T.Expr, where: T.Condition | None, span: T.Span
) -> T.Expr:
    """What uses up indices, by its word."""
    if word in SOFT:
        return replace(SOFT[word](indices, body, where), span=span)
    if word == "concat":
        return T.Flatten("", indices, body, span=span)
    if word in DEFINED:
        return DEFINED[word](indices, body, where)
    if word == "sum":
        return T.Sum(indices, body, where, span=span)
    return T.Reduce(word, indices, body, where, span=span)


def infinite(node: T.Expr) -> bool:
    """Is this `-log(0)`, as infinity is written, or its negative?"""
    inner = node.body if isinstance(node, T.Neg) else node
    return isinstance(inner, T.Call) and inner.function == "log" and inner.args == (T.Num(Fraction(0)),)


def divide(above: T.Expr, below: T.Expr, span: T.Span) -> T.Expr:
    if isinstance(above, T.Num) and isinstance(below, T.Num) and below.value != 0:
        return T.Num(above.value / below.value, span=span)
    return T.Div(above, below, span=span)


def negate(value: T.Expr, span: T.Span | None = None) -> T.Expr:
    where = span or value.span
    if isinstance(value, T.Neg) and infinite(value):
        return value.body
    if isinstance(value, T.Num) and value.value != 0:
        return T.Num(-value.value, span=where)
    return T.Neg(value, span=where)


def reuses(node: T.Expr, free: set[str]) -> bool:
    """Is an index bound whose letter is free around it, or one letter bound twice?"""
    bound = [i for n in walk(node) if isinstance(n, (T.Sum, T.Reduce)) for i in n.indices]
    return not free.isdisjoint(bound) or len(set(bound)) < len(bound)


def apart(node: T.N, taken: set[str]) -> T.N:
    """Bound indices renamed where their letter is free around them: in `x[i]/sum[i](x[i])` there are two i."""
    if isinstance(node, (T.Sum, T.Reduce)):
        names: dict[str, str] = {}
        for name in node.indices:
            new = name
            while new in taken or (new != name and new in free_indices(node.body)):
                new += "'"
            if new != name:
                names[name] = new
        node = substitute(node, names) if names else node
        taken = taken | set(node.indices)
    return mapped(node, lambda below: apart(below, taken))
