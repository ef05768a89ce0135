"""Wrong answers that no author wrote down: a solution with one small thing changed.

The syntax tree is changed at one place; a formula or an equation in quotation marks in its own language. Whatever the
hidden test does not reject must be equal to the solution, and the author has to say so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial

from ..notation.compare.mutate import mutations
from ..notation.equations import Equations
from ..notation.errors import NotationError
from ..notation.show import show
from .fences import regions

TEN = 10  # smaller numbers are changed by one, others doubled: beside large ones a one is lost in rounding
EQUATIONS = 12  # mutants of one system: they cost most, and the language's own tests try them all
_TURNED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_PLACES = {"device", "dtype"}  # arguments that say where a number lives, and not which one it is


def mutants(solution: str) -> dict[str, str]:
    """Each mutant's text by what was changed, as in `norm <= n -> norm < n`; a second change of the same words is
    numbered."""
    tree = ast.parse(solution)
    open_rows = {number for number, (_, inside) in enumerate(regions(solution), start=1) if inside}
    defines = any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in tree.body)
    values = [] if defines else [s for s in tree.body if not _literal(s)]
    computed = {id(node) for statement in values for node in ast.walk(statement)}
    found: dict[str, str] = {}
    for node, new, text in changed_at(tree, _changes):
        if getattr(node, "lineno", 0) not in open_rows:
            continue
        if id(node) in computed and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue  # of a value it does not matter how it was computed
        label = getattr(new, "said", "") or f"{_words(node)} -> {_words(new)}"
        again = sum(name == label or name.startswith(f"{label} (") for name in found)
        found[f"{label} ({again + 1})" if again else label] = text
    return found


def changed_at(
    tree: ast.AST, changes: Callable[[ast.AST], Iterator[ast.AST]]
) -> Iterator[tuple[ast.AST, ast.AST, str]]:
    """Each node that can be changed, what stands in its place, and the whole text then."""
    for parent in list(ast.walk(tree)):
        for put, node in _places(parent):
            for new in changes(node):
                put(new)
                text = ast.unparse(ast.fix_missing_locations(tree))
                put(node)
                yield node, new, text


def _literal(statement: ast.stmt) -> bool:
    try:
        ast.literal_eval(statement.value)  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
    return True


def _places(parent: ast.AST) -> Iterator[tuple[Callable[[ast.AST], None], ast.AST]]:
    """Each child, with the function that puts another in its place."""
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.operand, ast.Constant):
        return
    for name, value in ast.iter_fields(parent):
        if isinstance(value, list):
            for at, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield partial(value.__setitem__, at), child
        elif isinstance(value, ast.AST):
            yield partial(setattr, parent, name), value


def _words(node: ast.AST) -> str:
    return "nothing" if isinstance(node, ast.Pass) else ast.unparse(node)


def _changes(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901 - a case for each kind of node
    match node:
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1 if value < TEN else 2 * value)
            if 0 < value < TEN:
                yield ast.Constant(value - 1)
        case ast.Constant(float(value)):
            yield ast.Constant(2 * value or 1.0)
        case ast.Constant(str(value)):
            for said, text in _texts(value):
                changed = ast.Constant(text)
                changed.said = said  # type: ignore[attr-defined]
                yield changed
        case ast.If(_, body, orelse):
            yield from (ast.If(ast.Constant(value), body, orelse) for value in (True, False))
        case ast.AugAssign(target, op, value):
            yield ast.Assign([target], value, lineno=node.lineno)
            yield ast.Pass()
            if isinstance(op, (ast.Add, ast.Sub)):
                yield ast.AugAssign(target, _opposite(op), value)
        case ast.Expr(ast.Call()):
            yield ast.Pass()
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):  # an index from the end
            yield ast.UnaryOp(ast.USub(), ast.Constant(value + 1))
        case ast.Compare(left, [op], right) if type(op) in _TURNED:
            yield ast.Compare(left, [_TURNED[type(op)]()], right)
        case ast.BinOp(left, op, right):
            yield from _operands(left, op, right)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            yield operand
        case ast.IfExp(_, body, orelse):
            yield from (body, orelse)
        case ast.BoolOp(_, values):
            yield from values
        case ast.Subscript(value, ast.Slice()) | ast.Attribute(value, "T" | "mT"):
            yield value
        case ast.Call():
            yield from _calls(node)


def _operands(left: ast.expr, op: ast.operator, right: ast.expr) -> Iterator[ast.AST]:
    if not isinstance(op, ast.MatMult):  # without one side of it the shapes seldom fit
        yield left
    if isinstance(op, (ast.Add, ast.Mult)):
        yield right
    if isinstance(op, (ast.Add, ast.Sub)):
        yield ast.BinOp(left, _opposite(op), right)


def _opposite(op: ast.operator) -> ast.operator:
    return ast.Sub() if isinstance(op, ast.Add) else ast.Add()


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    for at, keyword in enumerate(node.keywords):
        if keyword.arg not in _PLACES:
            yield ast.Call(node.func, node.args, [*node.keywords[:at], *node.keywords[at + 1 :]])
    if len(node.args) > 1 and not any(isinstance(a, ast.Starred) for a in node.args):
        yield ast.Call(node.func, node.args[:-1], node.keywords)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("max", "min") and isinstance(node.func, ast.Name):
        yield ast.Call(ast.Name("min" if name == "max" else "max"), node.args, node.keywords)
        if len(node.args) == 1 and node.keywords:  # the last of equals for the first
            turned = ast.parse("list(x)[::-1]", mode="eval").body
            turned.value.args = node.args  # type: ignore[attr-defined]
            yield ast.Call(node.func, [turned], node.keywords)
    if name == "sorted" and node.args:
        yield node.args[0]
    if name in ("argmax", "argmin"):
        yield _last(node)


def _last(node: ast.Call) -> ast.expr:
    """`argmax` that takes the last of equals."""
    owner = getattr(getattr(node.func, "value", None), "id", "")
    method = isinstance(node.func, ast.Attribute) and owner not in ("torch", "np")
    rest = list(node.args) if method else list(node.args[1:])
    values = ast.unparse(node.func.value if method else node.args[0])  # type: ignore[attr-defined]
    dims = [ast.unparse(a) for a in rest] + [ast.unparse(k.value) for k in node.keywords if k.arg == "dim"]
    name = ast.unparse(node.func).rpartition(".")[2]
    at = dims[0] if dims else "-1"
    flipped = f"({values}).shape[{at}] - 1 - ({values}).flip({at}).{name}({dims[0] if dims else ''})"
    return ast.parse(flipped, mode="eval").body


def _texts(text: str) -> Iterator[tuple[str, str]]:
    """A formula or a system of equations with one thing changed, and what; nothing for other text."""
    if "=" in text or "[" in text:
        try:
            changes = mutations(Equations(text).system)
            found = {show(m.program): f"{show(m.old)} -> {show(m.new)}" for m in changes}
        except NotationError:
            return
        step = max(1, len(found) // EQUATIONS)
        yield from [(said, changed) for changed, said in found.items()][::step][:EQUATIONS]
    elif re.search(r"[-+*/^]", text):
        try:
            formula = ast.parse(text.replace("^", "**"), mode="eval")
        except SyntaxError:
            return
        for _, _, changed in changed_at(formula, _changes):
            yield f"{text} -> {changed}", changed
