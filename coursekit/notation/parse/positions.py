"""Lines about single positions: where they are counted from, and where a recurrence starts.

    h[-1,j] = h0[j]                     the state before the first step
    h[t,j] = tanh(W[j,I] h[t-1,I])

becomes one equation in which `h[t-1,I]` is `h0[I]` where t is 0. With the line `positions from 1` every position of
the text is one more than here: `h[0,j]` is then what stands before the first.
"""

from dataclasses import replace
from fractions import Fraction

from .. import tree as T
from ..errors import NotationError
from ..indices import put
from ..show import show
from ..tree import free_indices, named, references, transform, walk
from .build import add, apart, multiply

Start = tuple[int, T.Affine, T.Equation]  # axis, position, the equation that says what stands there


def positions(statements: list[T.Statement], source: str) -> list[T.Statement]:
    """The statements counted from 0, each recurrence's start within its equation."""
    lines = [s for s in statements if isinstance(s, T.Directive) and s.word == "positions"]
    told = lines[0].values[0] if lines else None
    statements = [s for s in statements if s not in lines]
    if told == "1":
        statements = [_from_zero(s) if isinstance(s, T.Equation) else s for s in statements]
    statements = _gathered(statements)
    mains = [e.left for e in statements if isinstance(e, T.Equation) and _fixed(e) is None]
    ranks = {left.name: len(left.indices) for left in mains}
    starts: dict[str, list[Start]] = {}
    rest: list[T.Statement] = []
    for statement in statements:
        place = _fixed(statement) if isinstance(statement, T.Equation) else None
        if place is None or not isinstance(statement, T.Equation) or statement.left.name not in ranks:
            rest.append(statement)
            continue
        left, rank = statement.left, ranks[statement.left.name]
        if len(left.indices) != rank:
            message = f"`{left.name}` has {rank} indices in its other equation, you wrote {len(left.indices)}"
            raise NotationError(message, source, left.span.line, left.span.column, left.span.width)
        first = place[1] == T.Affine(()) and _begins(statement, statements)
        if told is None and not (first or place[1].const < 0):
            raise _doubt(statement, place, source)
        starts.setdefault(statement.left.name, []).append((*place, statement))
    if not starts:
        return statements
    out = [_started(s, starts) if isinstance(s, T.Equation) else s for s in rest]
    zero = {name for name, found in starts.items() if all(_zero(s) for s in found)}
    return [T.Directive("pad", (name,)) for name in sorted(zero)] + out


def _gathered(statements: list[T.Statement]) -> list[T.Statement]:
    """Several lines of one tensor, where nothing else defines it, as one: `y[m,0] = …` and `y[m,1] = …` by a case for
    each entry; `y[2*i] = a[i]` and `y[2*i+1] = b[i]` laid end to end where a tensor tells how far i runs, and else by
    finding the i of each entry."""
    lines: dict[str, list[T.Equation]] = {}
    for equation in (s for s in statements if isinstance(s, T.Equation)):
        lines.setdefault(equation.left.name, []).append(equation)
    used = {i for s in statements for n in walk(s) for i in named(n)}
    for own in lines.values():
        found = [_strided(e) or (*(_fixed(e) or (-1, T.Affine(()))), "") for e in own]
        (axis, at, index), ranks = found[0], {len(e.left.indices) for e in own}
        alike = {(axis, replace(at, const=0), index)} == {(a, replace(p, const=0), i) for a, p, i in found}
        order = sorted(zip((p.const for _, p, _ in found), own, strict=True), key=lambda pair: pair[0])
        whole = [k for k, _ in order] == list(range(at.terms[0][0] if index else len(own)))
        if len(own) < 2 or len(ranks) > 1 or not alike or not whole or (at.terms and not index):
            continue
        first, pool = own[0], ("c" if index else "ij") + "kmnpqr"
        letter = next(i for i in (*pool, *(f"i{k}" for k in range(len(used) + 1))) if i not in used)
        used.add(letter)
        left, part = moved(first.left, axis, T.index(letter)), letter + "'" * bool(index)
        values = [_at(e, left) for _, e in order]
        tests = (T.Compare(T.index(part), "==", T.Affine((), k)) for k in range(len(values)))
        branches = tuple(zip(values, tests, strict=True))
        size = [T.Directive("size", (part,), (str(len(own)),))]
        body: T.Expr = T.Cases(branches[:-1], values[-1], span=first.right.span)
        if index and any(index in free_indices(r) for v in values for r in references(v)):
            body = T.Flatten(letter, (index, part), body, span=first.span)
        elif index:
            places = (T.Compare(T.index(letter), "==", e.left.indices[axis]) for _, e in order)
            terms = [multiply([v, T.Iverson(test)]) for v, test in zip(values, places, strict=True)]
            body, size = T.Sum((index,), add(terms, first.span), span=first.span), []
        others = [id(e) for e in own[1:]]
        one = replace(first, left=left, right=body)
        statements = [*size, *(one if s is first else s for s in statements if id(s) not in others)]
    return statements


def _strided(equation: T.Equation) -> tuple[int, T.Affine, str] | None:
    """The axis, the place and the index of `y[2*i+1]`."""
    for axis, at in enumerate(equation.left.indices):
        match at.terms:
            case ((factor, str() as index),) if factor > 1:
                return axis, at, index
    return None


def moved(ref: T.Ref, axis: int, at: T.Affine) -> T.Ref:
    """The reference with another index in one place."""
    return replace(ref, indices=(*ref.indices[:axis], at, *ref.indices[axis + 1 :]))


def _fixed(equation: T.Equation) -> tuple[int, T.Affine] | None:
    """The axis and the position of a left side that stands at one place: `h[-1,j]`, `b[T-1,i]`."""
    indices = enumerate(equation.left.indices)
    places = [(k, a) for k, a in indices if all(isinstance(atom, T.SizeOf) for _, atom in a.terms)]
    return places[0] if len(places) == 1 else None


def _begins(start: T.Equation, statements: list[T.Statement]) -> bool:
    """Does a start read what is given at 0, `x[0]`, so that positions begin there?"""
    defined = {s.left.name for s in statements if isinstance(s, T.Equation)}
    return any(T.Affine(()) in r.indices for r in references(start.right) if r.name not in defined)


def _outside(at: T.Affine) -> bool:
    """Before the first position, or after the last?"""
    return at.const >= 0 if at.terms else at.const < 0


def _zero(start: Start) -> bool:
    right = start[2].right
    return _outside(start[1]) and isinstance(right, T.Num) and right.value == 0


def _doubt(equation: T.Equation, place: tuple[int, T.Affine], source: str) -> NotationError:
    (axis, at), left = place, equation.left
    before = show(moved(left, axis, replace(at, const=at.const - 1)))
    message = f"`{show(left)}` can be the first entry of `{left.name}`, which its other equation then leaves alone, or "
    message += f"what stands before it, written `{before}`: write a line `positions from 0` for the one, "
    message += "`positions from 1` for the other"
    if at.terms:
        message = (
            f"`{show(left)}` can be the last entry of `{left.name}`, where positions begin at 1, or what "
        )
        message += (
            "stands after it, where they begin at 0: write a line `positions from 1` or `positions from 0` "
        )
        message += "before it"
    repairs = tuple(f"positions from {base}\n{source}" for base in (0, 1))
    span = left.span
    return NotationError(message, source, span.line, span.column, span.width, repairs)


def matters(node: T.Expr, name: str) -> bool:
    """Would this be another value if positions were counted from 1, because of what is done with this index?"""

    tests = (n for n in walk(node) if isinstance(n, T.Compare) and n.operator in ("==", "!="))
    labels = [n for test in tests if isinstance(test.left, T.Ref) for n in (test, test.right)]  # [y[n] == k]

    def uses(below: object) -> bool:
        affines = [a for a in walk(below) if isinstance(a, T.Affine)]
        return any(name in (i for _, i in a.terms) for a in affines)

    found = (n for n in walk(node) if isinstance(n, (T.Ref, T.Position, T.Compare)) and uses(n))
    return any(_from_zero(n) != n for n in found if not any(n is label for label in labels))


def _from_zero(node: T.N) -> T.N:
    """An equation or a part with every position one less: `x[1]` is x[0], `t` as a number is t + 1."""

    def inner(node: object) -> object:
        if isinstance(node, T.Ref):
            return replace(node, indices=tuple(map(entry, node.indices)))
        if isinstance(node, T.Position):
            more = number(node.affine).const - node.affine.const
            return T.Add((node, T.Num(Fraction(more), span=node.span)), span=node.span) if more else node
        if isinstance(node, T.Add):
            return add(list(node.terms), node.span)
        if isinstance(node, T.Compare):
            left, right = (number(s) if isinstance(s, T.Affine) else s for s in (node.left, node.right))
            if isinstance(left, T.Affine) and isinstance(right, T.Affine):
                left, right = replace(left, const=0), replace(right, const=right.const - left.const)
            return replace(node, left=left, right=right)
        return node

    def number(affine: T.Affine) -> T.Affine:
        return replace(affine, const=affine.const + sum(c for c, a in affine.terms if isinstance(a, str)))

    def entry(affine: T.Affine) -> T.Affine:
        if any(isinstance(a, T.Lookup) for _, a in affine.terms):
            return affine
        return replace(number(affine), const=number(affine).const - 1)

    return transform(node, inner)


def _started(equation: T.Equation, starts: dict[str, list[Start]]) -> T.Equation:
    """The equation with each read before the first step told by the start, and its own first entries in place."""

    def told(node: object) -> object:
        if not isinstance(node, T.Ref) or node.name not in starts:
            return node
        branches: list[tuple[T.Expr, T.Condition]] = []
        for axis, at, start in starts[node.name]:
            if len(node.indices) != len(start.left.indices):
                continue  # `check` will tell
            affine = node.indices[axis]
            if _outside(at) and not _zero((axis, at, start)) and affine.terms and affine.plain is None:
                here, there = replace(affine, const=0), replace(at, const=at.const - affine.const)
                branches.append((_at(start, node), T.Compare(here, "==", there)))
        return T.Cases(tuple(branches), node, span=node.span) if branches else node

    left, right = equation.left, transform(equation.right, told)
    rank = len(left.indices)
    first = (s for s in starts.get(left.name, ()) if not _outside(s[1]) and len(s[2].left.indices) == rank)
    own = tuple((_at(start, left), T.Compare(left.indices[axis], "==", at)) for axis, at, start in first)
    return replace(equation, right=T.Cases(own, right, span=right.span) if own else right)


def _at(start: T.Equation, ref: T.Ref) -> T.Expr:
    """The value of a start where its tensor is read: its indices replaced by those of the read."""
    place = {own: at for a, at in zip(start.left.indices, ref.indices, strict=True) if (own := a.plain)}
    return put(apart(start.right, {i for at in place.values() for i in free_indices(at)}), place)
