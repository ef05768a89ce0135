"""Slips that no author wrote down: an answer with one small thing changed as students do, and what that is called.

Release tries each on the visible check and locks its sentence with what came out. So whoever makes the slip hears it,
although the notebook has only properties or the digest of the answer; nobody else can read it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial

from ..checks.diagnosis import nearby
from ..notation.compare.mutate import mutations
from ..notation.equations import Equations
from ..notation.show import show
from .fences import regions, without_markers
from .mutants import changed_at

EQUATIONS = 60  # changes of one system that are tried
Slip = tuple[str, str]  # the sentence, and the text of the answer

AXIS = "An operation runs along the wrong axis."
OFF = "Something is off by one."
FACTOR, TERM = "A factor is missing.", "A term is missing."
_SIGN = "A sign is wrong."
_TURNED = "A matrix is transposed that must not be, or is not where it must be."
_TWICE = "A factor stands there twice, or a power is wrong."
_BORDER = "A comparison counts its border in, or leaves it out, where the question does the opposite."
# A function, what students call in its place, and the sentence.
_CALLED: dict[str, tuple[tuple[str, ...], str]] = {
    "log": (("log2", "log10"), "The logarithm has another base: the natural one is meant."),
    "log_softmax": (("softmax",), "There is no logarithm where one belongs."),
    "mean": (("sum", "amax"), "A mean belongs where you took something else."),
    "sum": (("mean", "amax", "prod"), "A sum belongs where you took something else."),
    "tanh": (("sigmoid", "relu"), "This is another activation than the question has."),
    "sigmoid": (("tanh", "relu"), "This is another activation than the question has."),
    "softmax": (("log_softmax",), "There is a logarithm too many."),
    "argmax": (("argmin",), "You took the smallest where the largest belongs."),
    "max": (("min",), "You took the smallest where the largest belongs."),
    "min": (("max",), "You took the largest where the smallest belongs."),
    "sqrt": (("abs", "square"), "A square root is missing."),
    "triu": (("tril",), "You took the other triangle of the matrix."),
    "clamp": (("abs",), "A bound is missing."),
}


def slips(solution: str) -> Iterator[Slip]:
    """The slips in the code of an answer, the likeliest kinds first; none where a slip might never end."""
    tree = ast.parse(solution)
    if any(isinstance(node, ast.While) for node in ast.walk(tree)):
        return
    rows = {number for number, (_, inside) in enumerate(regions(solution), start=1) if inside}
    plain = ast.unparse(ast.parse(without_markers(solution)))
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    taken = {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
    seen = {plain}
    for changes in (_changes, lambda node: _named(node, stored | taken, taken)):
        for node, new, text in changed_at(tree, changes):
            if getattr(node, "lineno", 0) in rows and text not in seen:
                seen.add(text)
                yield new.said, text  # type: ignore[attr-defined]


def equation_slips(text: str) -> Iterator[Slip]:
    """The slips in a system of equations, spread over all of it, as the language's own comparison names them."""
    right = Equations(text)
    found = {show(change.program): change for change in mutations(right.system)}
    for wrong in [*found][:: len(found) // EQUATIONS + 1]:
        with suppress(Exception):  # what cannot be compared has no name
            compared = right.compare(Equations(wrong))
            if compared.sentence and compared.kind not in nearby.UNTOLD:
                yield compared.sentence, wrong


def formula_slips(formula: str, symbols: list[str]) -> Iterator[Slip]:
    """The slips in a formula of sizes: something done to the whole of it, or to one of its pieces."""
    for around, said in _AROUND:
        for name in symbols if "{name}" in around else [""]:
            yield said, around.format(formula, name=name)
    try:
        tree = ast.parse(formula.replace("^", "**"), mode="eval")
    except SyntaxError:
        return
    for changes in (_changes, partial(_named, names=set(symbols), taken=set()), partial(_stepped, symbols)):
        yield from ((new.said, text) for _, new, text in changed_at(tree, changes))  # type: ignore[attr-defined]


def _stepped(symbols: list[str], node: ast.AST) -> Iterator[ast.AST]:
    """A size one larger or smaller where it stands."""
    if isinstance(node, ast.Name) and node.id in symbols:
        for step in (ast.Add(), ast.Sub()):
            yield _said(ast.BinOp(deepcopy(node), step, ast.Constant(1)), OFF)


_AROUND = (
    ("-({})", _SIGN), ("1/({})", "It is upside down."),
    *((around, "A constant factor is wrong.") for around in ("2*({})", "({})/2", "3*({})", "4*({})", "2*({})/3")),
    *((around, OFF) for around in ("({}) + 1", "({}) - 1", "({}) + 2", "({}) - 2")),
    ("({})*{name}", "There is a factor too many."), ("({})/{name}", FACTOR),
    ("({}) + {name}", "There is a term too many."), ("({}) - {name}", TERM),
    ("({})**2", _TWICE), ("({})*{name}**2", "There are factors too many."),
    ("log({})", "There is a logarithm too many."),
)  # fmt: skip


def _said(node: ast.AST, sentence: str) -> ast.AST:
    node.said = sentence  # type: ignore[attr-defined]
    return node


def _changes(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901 - a case for each kind of node
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            other = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
            small = isinstance(right, ast.Constant)  # as in `t - 1`
            yield _said(ast.BinOp(left, other, right), OFF if small else _SIGN)
            yield _said(deepcopy(left), OFF if small else TERM)
            if isinstance(op, ast.Add):
                yield _said(deepcopy(right), OFF if small else TERM)
                yield _said(ast.BinOp(left, ast.Mult(), right), "There is a product where a sum belongs.")
            else:
                yield _said(ast.BinOp(right, op, left), _SIGN)
        case ast.BinOp(left, ast.Mult(), right):
            if isinstance(left, ast.Constant) and isinstance(left.value, int):
                for number in (left.value + 1, left.value - 1):
                    yield _said(ast.BinOp(ast.Constant(number), ast.Mult(), right), "A coefficient is wrong.")
            yield from (_said(deepcopy(side), FACTOR) for side in (left, right))
            yield _said(ast.BinOp(left, ast.Add(), right), "There is a sum where a product belongs.")
            for top, below in ((left, right), (right, left)):
                yield _said(ast.BinOp(top, ast.Div(), below), "You divide where you must multiply.")
            yield _said(ast.BinOp(node, ast.Mult(), right), _TWICE)
            yield _said(ast.BinOp(ast.Constant(2), ast.Mult(), node), "A constant factor is wrong.")
        case ast.BinOp(left, ast.Div(), right):
            yield _said(deepcopy(left), "A division is missing.")
            yield _said(ast.BinOp(left, ast.Mult(), right), "You multiply where you must divide.")
            yield _said(ast.BinOp(right, ast.Div(), left), "It is upside down.")
        case ast.BinOp(left, ast.Pow(), right):
            yield _said(deepcopy(left), "A power or a root is missing.")
            if isinstance(right, ast.Constant) and isinstance(right.value, int):
                for power in (right.value + 1, right.value - 1):
                    yield _said(ast.BinOp(left, ast.Pow(), ast.Constant(power)), "A power is wrong.")
            yield _said(ast.BinOp(left, ast.Mult(), right), _TWICE)
        case ast.BinOp(left, ast.MatMult(), right):
            yield _said(ast.BinOp(right, ast.MatMult(), left), _TURNED)
            for side in (left, right):
                turned = side.value if isinstance(side, ast.Attribute) else ast.Attribute(side, "T")
                pair = (turned, right) if side is left else (left, turned)
                yield _said(ast.BinOp(pair[0], ast.MatMult(), pair[1]), _TURNED)
        case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield _said(deepcopy(operand), _SIGN)
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
            yield _said(ast.Constant(0 if value == 1 else value), AXIS)
        case ast.Constant(int(value)) if not isinstance(value, bool) and value < 10:
            yield from (_said(ast.Constant(other), OFF) for other in (value + 1, value - 1))
        case ast.AugAssign(target, op, value):
            yield _said(
                ast.Assign([target], value, lineno=node.lineno), "Something is overwritten that must add up."
            )
            if isinstance(op, (ast.Add, ast.Sub)):
                other = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
                yield _said(ast.AugAssign(target, other, value), _SIGN)
        case ast.Compare(left, [op], right) if type(op) in _BORDERS:
            yield _said(ast.Compare(left, [_BORDERS[type(op)]()], right), _BORDER)
        case ast.Return(value) if value is not None and not isinstance(value, (ast.Tuple, ast.Dict)):
            for name, said in (
                ("sum", "It is one number where several belong."),
                ("mean", "It is one number where several belong."),
            ):
                yield _said(ast.Return(ast.Call(ast.Attribute(value, name), [], [])), said)
            yield _said(ast.Return(ast.UnaryOp(ast.USub(), value)), _SIGN)
        case ast.Call():
            yield from _calls(node)


_BORDERS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    others, said = _CALLED.get(name, ((), ""))
    for other in others:
        function = (
            ast.Attribute(node.func.value, other) if isinstance(node.func, ast.Attribute) else ast.Name(other)
        )
        yield _said(ast.Call(function, node.args, node.keywords), said)
    for at, keyword in enumerate(node.keywords):
        if keyword.arg == "dim":
            for axis in (0, 1, 2):
                axes = [*node.keywords[:at], ast.keyword("dim", ast.Constant(axis)), *node.keywords[at + 1 :]]
                yield _said(ast.Call(node.func, node.args, axes), AXIS)
    if (
        name in ("sum", "mean", "softmax", "flip")
        and method
        and node.args
        and isinstance(node.args[-1], (ast.Constant, ast.UnaryOp))
    ):
        for axis in (0, 1, 2):
            yield _said(ast.Call(node.func, [*node.args[:-1], ast.Constant(axis)], node.keywords), AXIS)
    if len(node.args) == 1 and name in ("tanh", "sigmoid", "log", "exp", "sqrt", "reversed"):
        said = (
            "You go through a sequence in the wrong direction."
            if name == "reversed"
            else "A function is left out."
        )
        yield _said(deepcopy(node.args[0]), said)
    if len(node.args) > 1:
        first, second, *rest = node.args
        said = _TURNED if name == "outer" else "Two arguments are exchanged."
        yield _said(ast.Call(node.func, [second, first, *rest], node.keywords), said)


def _named(node: ast.AST, names: set[str], taken: set[str]) -> Iterator[ast.AST]:
    """One name for another: only those of the question's own arguments may be told."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for other in sorted(names - {node.id}):
            told = {node.id, other} <= taken
            said = (
                f"You use `{other}` where `{node.id}` belongs."
                if told
                else "One quantity stands where another belongs."
            )
            yield _said(ast.Name(other, ast.Load()), said)
