"""Meaning: indices, ranks, dimensions and order, before anything runs.

    check(parse(text)) -> system.System

Here are the rules that concern one equation or one name; `ranges` finds the dimensions, `order` the blocks.
The equations in `System.blocks` are the program's, with a left side such as `h[b,t+1,j]` moved back to
`h[b,t,j]`, sizes called by their dimension's name, and a recurrence's index named alike throughout.
"""

import difflib
import re

from .. import tree as T
from ..errors import NotationError
from ..indices import put
from ..names import capital_of, small_of
from ..system import System
from ..tree import free_indices, references, walk
from .order import blocks
from .ranges import Ranges, error


def check(program: T.Program, broadcast: bool = False) -> System:
    """The checked system. With `broadcast`, an index may be free on the left alone (`dx[i] = 1`)."""
    equations = [normal(e, program.source) for e in program.equations]
    if not equations:
        raise NotationError("there is no equation here", program.source, 1, 1)
    ranks(equations, program)
    for equation in equations:
        indices(equation, program.source, broadcast)
    declared_inputs(equations, program)
    defined = {e.left.name for e in equations}
    used = {r.name for e in equations for r in references(e)}
    pad_all = any(isinstance(s, T.Directive) and s.word == "pad" and not s.names for s in program.statements)
    padded = frozenset(used if pad_all else _said(program, "pad"))
    _unknown_names(used, equations, program)
    found = Ranges(equations, padded, defined, program)
    final, per_equation = found.rename_sizes(equations)
    ordered, ranges = blocks(final, per_equation, program.source)
    return System(
        program=program,
        tensors=found.tensors,
        blocks=ordered,
        ranges=ranges,
        derived=found.derived,
        aliases=found.aliases,
        centered=frozenset(_said(program, "centered")),
        padded=padded,
        boundary=found.boundary,
        parameters=tuple(_said(program, "parameters")),
        joined=found.joined,
    )


# ── one equation ─────────────────────────────────────────────────────────────────────────────


def normal(equation: T.Equation, source: str) -> T.Equation:
    """The equation with a left side of plain, distinct indices: `h[t+1] = f(h[t])` is `h[t] = f(h[t-1])`."""
    left = equation.left
    names: list[str] = []
    for affine in left.indices:
        if not affine.terms:
            message = f"`{left.name}` is defined here at one place only; leave this line out: its start is "
            message += f'its boundary, which `run` is given apart, as boundary={{"{left.name}": …}}'
            raise error(message, source, _place(affine, left))
        name = T.Affine(affine.terms).plain  # of `t` and `t+1`
        if name is None:
            message = "an index on the left must be a plain name; for every second entry write `y[i,0] = …`, "
            message += "`y[i,1] = …`, and lay them end to end: `z[C] = concat[i,k](y[i,k])`"
            raise error(message, source, _place(affine, left))
        if name in names:
            raise error(f"`{name}` stands twice on the left", source, _place(affine, left))
        names.append(name)
    for affine, name in zip(left.indices, names, strict=True):
        if affine.const:
            equation = put(equation, {name: T.index(name, -affine.const)})
    return equation


def _place(affine: T.Affine, ref: T.Ref) -> T.Span:
    return affine.span if affine.span.line else ref.span


def indices(equation: T.Equation, source: str, broadcast: bool) -> None:
    """Each index free on both sides or on neither; each sum and softmax over an index that occurs in it."""
    left = [a.plain for a in equation.left.indices if a.plain]
    for node in walk(equation.right):
        if isinstance(node, (T.Sum, T.Softmax, T.Reduce)):
            _bound(node, left, source)
    free = free_indices(equation.right)
    place = lambda name: ((span := where(equation.right, name)).line, span.column, name)
    for name in sorted(free - set(left), key=place):
        message = f"`{name}` is free on the right but not on the left; put it there, or sum over it: `sum[{name}](…)`"
        if capital_of(name) == name:  # only a softmax leaves a capital unsummed
            small = small_of(name)
            message = f"a softmax keeps its index, so `{name}` is free: write it small, `{small}`, here and on the left"
        raise error(message, source, where(equation.right, name))
    for node in walk(equation.right):
        if isinstance(node, T.Call) and node.function == "transpose":
            message = "a transpose needs shapes: declare them, `W in R^{n x m}`, or write indices"
            raise error(f"{message}: `W[J,i] x[J]`", source, node.span)
    for affine in equation.left.indices:
        own = affine.plain
        if own is not None and own not in free and not broadcast:
            message = f"`{own}` is free on the left but not on the right"
            for function in (n for n in walk(equation.right) if isinstance(n, T.Apply)):
                vector = f"if `{function.function}` gives a vector, write `{capital_of(own)}` on the left"
                raise error(f"{message}; {vector}", source, _place(affine, equation.left))
            raise error(message, source, _place(affine, equation.left))


def _bound(node: T.Sum | T.Softmax | T.Reduce, left: list[str], source: str) -> None:
    if not node.indices:
        raise error("over which index is this softmax? Write `softmax[w](…)`", source, node.span)
    inside = free_indices(node.body)
    word = {T.Sum: "sum", T.Softmax: "softmax"}.get(type(node), getattr(node, "function", ""))
    for name in node.indices:
        if name not in inside:
            raise error(f"this {word} runs over `{name}`, which does not occur inside it", source, node.span)
        if name in left and not isinstance(node, T.Softmax):
            message = f"`{name}` is used up by this {word}, so it cannot be free on the left"
            raise error(message, source, node.span)


def where(node: object, name: str) -> T.Span:
    """The first place where an index stands free."""
    for n in walk(node):
        if isinstance(n, T.Affine) and name in free_indices(n) and n.span.line:
            return n.span
    spans = (r.span for r in references(node) if name in free_indices(r))
    return next(spans, getattr(node, "span", T.Span()))


# ── all equations ────────────────────────────────────────────────────────────────────────────


def ranks(equations: list[T.Equation], program: T.Program) -> None:
    """One definition and one number of indices for each name."""
    source = program.source
    first: dict[str, T.Ref] = {}
    for equation in equations:
        name = equation.left.name
        if name in first:
            raise error(f"`{name}` is defined twice", source, equation.left.span)
        first[name] = equation.left
    for equation in equations:
        for ref in references(equation.right):
            wanted = first.setdefault(ref.name, ref)
            if len(ref.indices) != len(wanted.indices):
                plural = "index" if len(wanted.indices) == 1 else "indices"
                where = f" in line {wanted.span.line}" if wanted.span.line not in (0, ref.span.line) else ""
                has = f"`{ref.name}` has {len(wanted.indices)} {plural}{where}"
                raise error(f"{has}, you wrote {len(ref.indices)}", source, ref.span)


def _said(program: T.Program, word: str) -> dict[str, T.Span]:
    """The names that a directive lists, each with its first place."""
    spans: dict[str, T.Span] = {}
    for statement in program.statements:
        if isinstance(statement, T.Directive) and statement.word == word:
            spans |= {name: statement.span for name in statement.names if name not in spans}
    return spans


def _unknown_names(used: set[str], equations: list[T.Equation], program: T.Program) -> None:
    """A directive about a name that occurs nowhere is a slip of the pen (Φ may list more than is used)."""
    index = {n for e in equations for a in walk(e) if isinstance(a, T.Affine) for n in free_indices(a)}
    for word, kind, pool in (("pad", "tensor", used), ("centered", "index", index)):
        for name, span in _said(program, word).items():
            if name not in pool:
                message = f"`{word} {name}`: there is no {kind} `{name}`{suggestion(name, pool)}"
                raise error(message, program.source, span)


def declared_inputs(equations: list[T.Equation], program: T.Program) -> None:
    """Where the program lists its inputs, a tensor that is neither defined nor listed is refused."""
    if not (listed := _said(program, "inputs")):
        return
    allowed = {e.left.name for e in equations} | {*listed, *_said(program, "parameters")}
    for equation in equations:
        for ref in references(equation.right):
            if ref.name not in allowed:
                message = f"`{ref.name}` is neither defined nor an input{suggestion(ref.name, allowed)}"
                raise error(message, program.source, ref.span)


def suggestion(name: str, pool: set[str]) -> str:
    close = [n for n in sorted(pool) if re.sub("[_']", "", n).lower() == re.sub("[_']", "", name).lower()]
    close += difflib.get_close_matches(name, sorted(pool), 1, 0.5)
    return f"; did you mean `{close[0]}`?" if close else ""
