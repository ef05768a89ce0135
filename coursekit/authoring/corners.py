"""What a hidden test calls a function with, and what that leaves out.

An argument that is always the same may as well be a constant in the answer. `recorded` writes down what a function is
called with, in the student's process; `narrow` says what no call tried.
"""

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..notation.equations import Equations
from ..notation.errors import NotationError
from ..notation.tree import Ref, walk

_BATCH = re.compile(r'""".*\(B,')
_SIZES = re.compile(r"\blen\(|\.shape|\.size\(")


def recorded(function: Callable[..., Any], seen: dict[str, list[Any]]) -> Callable[..., Any]:
    """`function`, which notes each call's arguments in `seen`: for each a key, a shape and a few facts."""
    takes = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = takes.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments.items()
        plain = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in given}
        for name, value in plain.items():
            repeats = len(set(value)) < len(value) if _words(value) else None
            facts = [repr(value)[:2000], _shape(value), _zero(value), repeats]
            inside = {n: value in other for n, other in plain.items() if _words(other) and type(value) is int}
            seen.setdefault(name, []).append([*facts, inside])
        return function(*args, **kwargs)

    return call


def _shape(value: Any) -> list[int] | None:
    if not isinstance(value, (list, tuple)):
        return None
    return [len(value), *((_shape(value[0]) or []) if value else [])]


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _zero(value: Any) -> bool:
    numbers = (isinstance(n, float) and n == 0 for n in _flat(value))
    return next(numbers, False) and all(numbers)  # of a large tensor mostly the first says no


def _words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(type(item) is int for item in value)


def narrow(seen: dict[str, list[Any]], solution: str) -> Iterator[str]:
    """What the calls leave out, a few words each."""
    every = [call for calls in seen.values() for call in calls]
    if _BATCH.search(solution) and not any(1 in (shape or ()) for _, shape, *_ in every):
        yield "no batch is ever of one"
    nodes = list(ast.walk(ast.parse(solution)))
    below = [n.right for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    # What is divided by depends on the numbers, and not on sizes alone.
    divides = not all(isinstance(n, ast.Constant) or _SIZES.search(ast.unparse(n)) for n in below)
    if divides and not any(zero for _, _, zero, *_ in every):
        yield "no argument is ever zero"
    places = [n.slice for n in nodes if isinstance(n, ast.Subscript)]
    equal = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
    places += [n for n in nodes if isinstance(n, ast.Compare) and isinstance(n.ops[0], equal)]
    # The names that are used as an index or held against another value.
    looked_for = {n.id for place in places for n in ast.walk(place) if isinstance(n, ast.Name)}
    for name, calls in seen.items():
        values, shapes, _, repeats, inside = zip(*calls, strict=True)
        if len(set(values)) == 1:
            yield f"{name} is always the same"
        elif any(shapes) and len({str(shape) for shape in shapes}) == 1:
            yield f"{name} has always the same shape"
        if len(found := {r for r in repeats if r is not None}) == 1:
            yield f"{name} has {'always' if True in found else 'never'} the same twice"
        for other in sorted(set().union(*inside) if name in looked_for else ()):
            if len(found := {lists[other] for lists in inside if other in lists}) == 1:
                yield f"{name} is {'always' if True in found else 'never'} in {other}"


_TENSORS: dict[str, Callable[[Any], Any]] = {
    "float32": lambda x: x.float(),
    "NumPy": lambda x: x.detach().cpu().numpy(),
    "lists": lambda x: x.tolist(),
    "a view": lambda x: x[None].expand(2, *x.shape)[1] if x.dim() else x,
}
FORMS = (*_TENSORS, "the other order", "a tuple", "a dict", "own parameter names")


def in_form(function: Callable[..., Any], form: str, returns: Sequence[str] = ()) -> Callable[..., Any]:
    """`function`, which gives back the same answer in another form that a student may choose as well.

    `returns` names what stands in a tuple, where the question does."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        if form == "a tuple" and isinstance(value, dict):
            return tuple(value.values())
        if form == "a dict" and isinstance(value, tuple) and len(value) == len(returns):
            return dict(zip(returns, value, strict=True))
        return _formed(value, form)

    if form != "own parameter names":
        return call
    parameters = inspect.signature(function).parameters.values()
    own = [f"my_{p.name}" + ("" if p.default is p.empty else f"={p.default!r}") for p in parameters]
    names = ", ".join(f"my_{p.name}" for p in parameters)
    made: Callable[..., Any] = eval(f"lambda {', '.join(own)}: call({names})", {"call": call})
    made.__name__ = function.__name__
    return made


def text_forms(text: str) -> Iterator[tuple[str, str]]:
    """Equations as another student would write the same ones: what is other about them, and their text."""
    try:
        equations = Equations(text)
    except NotationError:
        return
    yield "LaTeX", equations.latex()
    # `W_hG[j,I]` as it stands on paper, `W^{hG}_{j,I}`.
    paper = re.sub(r"\b(softmax|sum)\[([^\]]*)\]", lambda m: f"{_BOUND[m[1]]}_{{{m[2]}}}", text)
    scripts = lambda m: m[1] + m[3] + (f"^{{{m[2]}}}" if m[2] else "") + f"_{{{m[4]}}}"
    while (inner := _INDEXED.sub(scripts, paper)) != paper:  # a lookup stands in another's brackets
        paper = inner
    yield "LaTeX with subscripts", paper
    kept = [row for row in text.splitlines() if not row.strip().startswith(("pad ", "centered "))]
    if len(kept) < len(text.splitlines()):
        yield "left-out lines", "\n".join(kept)
    yield "own letters", _relettered(text, equations)


_BOUND = {"softmax": r"\operatorname{softmax}", "sum": r"\sum"}
_INDEXED = re.compile(r"\b([A-Za-z]\w*?)(?:_([A-Za-z0-9]+))?('?)\[([^\[\]]*)\]")


def _relettered(text: str, equations: Equations) -> str:
    """Every index with another name: `t` is `tz`, and so is the size of its axis."""
    refs = [n for n in walk(equations.program) if isinstance(n, Ref)]
    letters = {plain for ref in refs for index in ref.indices if (plain := index.plain)}
    letters |= {letter.swapcase() for letter in letters}
    told, depth = "", 0
    for match in re.finditer(r"[A-Za-z]\w*|.", text, re.DOTALL):
        depth += {"[": 1, "]": -1}.get(match[0], 0)
        row = text[: match.start()].rpartition("\n")[2]
        index = depth > 0 or match[0][0].isupper() or row.startswith("centered")
        other = index and match[0] in letters and text[match.end() :][:1] not in ("[", "'", "(")
        told += match[0] + "z" * other
    return told


def _formed(value: Any, form: str) -> Any:
    if isinstance(value, dict):
        named = {key: _formed(item, form) for key, item in value.items()}
        return dict(reversed(named.items())) if form == "the other order" else named
    if isinstance(value, tuple):
        return tuple(_formed(item, form) for item in value)
    if not (hasattr(value, "detach") and value.is_floating_point()):
        return value
    return _TENSORS.get(form, lambda x: x)(value)
