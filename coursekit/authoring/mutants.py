"""Answers with one small thing changed: mutants of a solution, and slips that students make.

The syntax tree is changed at one place; a formula or an equation in quotation marks in its own language. Whatever a
hidden test does not reject of the mutants must be equal to the solution, and the author has to say so. A slip has a
sentence: release tries each on the visible check and locks its sentence with what came out. So whoever makes the slip
hears it, although the notebook has only properties or the digest of the answer; nobody else can read it.
"""

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import NamedTuple

from ..checks.diagnosis import nearby
from ..notation.compare.mutate import mutations
from ..notation.equations import Equations
from ..notation.errors import NotationError
from ..notation.show import show
from .fences import regions, without_markers

TEN = 10  # smaller numbers are changed by one, others doubled: beside large ones a one is lost in rounding
FEW, MANY = 12, 60  # changes of one system that are tried as mutants, which cost most, and as slips
_TURNED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_PLACES = {"device", "dtype"}  # arguments that say where a number lives, and not which one it is
Slip = tuple[str, str]  # the sentence, and the text of the answer

AXIS = "An operation runs along the wrong axis."
OFF = "Something is off by one."
FACTOR, TERM = "A factor is missing.", "A term is missing."
_SIGN = "A sign is wrong."
_TURN = "A matrix is transposed that must not be, or is not where it must be."
_TWICE = "A factor stands there twice, or a power is wrong."
_BORDER = "A comparison counts its border in, or leaves it out, where the question does the opposite."
_DIVIDED = "You divide where you must multiply."
_ONE = "It is one number where several belong."
_LEFT_OUT = "A function is left out."
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
# What is done to the whole of a formula, and the sentence.
_AROUND = (
    ("-({})", _SIGN), ("1/({})", "It is upside down."),
    *((around, "A constant factor is wrong.") for around in ("2*({})", "({})/2", "3*({})", "4*({})", "2*({})/3")),
    *((around, OFF) for around in ("({}) + 1", "({}) - 1", "({}) + 2", "({}) - 2")),
    ("({})*{name}", "There is a factor too many."), ("({})/{name}", FACTOR),
    ("({}) + {name}", "There is a term too many."), ("({}) - {name}", TERM),
    ("({})**2", _TWICE), ("({})*{name}**2", "There are factors too many."),
    ("log({})", "There is a logarithm too many."),
)  # fmt: skip
# What an operation of `x` and `y` is changed to, the sentence, and whether it is a mutant. A number one larger than a
# whole `x` is `x1`, one smaller `x0`; a matrix turned over is `xT`.
_OPERANDS: dict[type[ast.operator], tuple[tuple[str, str, bool], ...]] = {
    ast.Add: (
        ("x - y", _SIGN, True), ("x", TERM, True), ("y", TERM, True),
        ("x * y", "There is a product where a sum belongs.", False),
    ),
    ast.Sub: (("x + y", _SIGN, True), ("x", TERM, True), ("y - x", _SIGN, False)),
    ast.Mult: (
        ("x1 * y", "A coefficient is wrong.", False), ("x0 * y", "A coefficient is wrong.", False),
        ("x", FACTOR, True), ("y", FACTOR, True), ("x + y", "There is a sum where a product belongs.", False),
        ("x / y", _DIVIDED, False), ("y / x", _DIVIDED, False), ("x * y * y", _TWICE, False),
        ("2 * (x * y)", "A constant factor is wrong.", False),
    ),
    ast.Div: (
        ("x", "A division is missing.", True), ("x * y", "You multiply where you must divide.", False),
        ("y / x", "It is upside down.", False),
    ),
    ast.Pow: (
        ("x", "A power or a root is missing.", True), ("x ** y1", "A power is wrong.", False),
        ("x ** y0", "A power is wrong.", False), ("x * y", _TWICE, False),
    ),
    # Without one side of it the shapes seldom fit.
    ast.MatMult: (("y @ x", _TURN, False), ("xT @ y", _TURN, False), ("x @ yT", _TURN, False)),
}  # fmt: skip


class Change(NamedTuple):
    """What stands in a node's place. As a slip it has a sentence; what many students write is a slip alone."""

    new: ast.AST
    said: str = ""
    mutant: bool = True
    label: str = ""


def mutants(solution: str) -> dict[str, str]:
    """Each mutant's text by what was changed, as in `norm <= n -> norm < n`; a second change of the same words is
    numbered."""
    tree = ast.parse(solution)
    open_rows = _open(solution)
    computed: set[int] = set()  # nodes of a value that is reckoned, and not written down
    if not any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in tree.body):
        for statement in tree.body:
            try:
                ast.literal_eval(statement.value)  # type: ignore[attr-defined]
            except (AttributeError, ValueError):
                computed |= set(map(id, ast.walk(statement)))
    found: dict[str, str] = {}
    for node, change, text in _changed_at(tree, _mutants):
        if getattr(node, "lineno", 0) not in open_rows:
            continue
        if id(node) in computed and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue  # of a value it does not matter how it was computed
        new = "nothing" if isinstance(change.new, ast.Pass) else ast.unparse(change.new)
        label = change.label or f"{ast.unparse(node)} -> {new}"
        again = sum(name == label or name.startswith(f"{label} (") for name in found)
        found[f"{label} ({again + 1})" if again else label] = text
    return found


def slips(solution: str) -> Iterator[Slip]:
    """The slips in the code of an answer, the likeliest kinds first; none where a slip might never end."""
    tree = ast.parse(solution)
    if any(isinstance(node, ast.While) for node in ast.walk(tree)):
        return
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    taken = {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
    seen, open_rows = {ast.unparse(ast.parse(without_markers(solution)))}, _open(solution)
    for changes in (_slips, partial(_named, names=stored | taken, taken=taken)):
        for node, change, text in _changed_at(tree, changes):
            if getattr(node, "lineno", 0) in open_rows and text not in seen:
                seen.add(text)
                yield change.said, text


def equation_slips(text: str) -> Iterator[Slip]:
    """The slips in a system of equations, spread over all of it, as the language's own comparison names them."""
    right = Equations(text)
    found = {show(change.program): change for change in mutations(right.system)}
    for wrong in [*found][:: len(found) // MANY + 1]:
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
    for changes in (_slips, partial(_named, names=set(symbols), taken=set()), partial(_stepped, symbols)):
        yield from ((change.said, text) for _, change, text in _changed_at(tree, changes))


def _open(solution: str) -> set[int]:
    """The rows that a student writes."""
    return {number for number, (_, inside) in enumerate(regions(solution), start=1) if inside}


def _changed_at(
    tree: ast.AST, changes: Callable[[ast.AST], Iterator[Change]]
) -> Iterator[tuple[ast.AST, Change, str]]:
    """Each node that can be changed, what stands in its place, and the whole text then."""
    for parent in list(ast.walk(tree)):
        for put, node in _places(parent):
            for change in changes(node):
                put(change.new)
                text = ast.unparse(ast.fix_missing_locations(tree))
                put(node)
                yield node, change, text


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


def _mutants(node: ast.AST) -> Iterator[Change]:
    return (change for change in _changes(node) if change.mutant)


def _slips(node: ast.AST) -> Iterator[Change]:
    return (change._replace(new=deepcopy(change.new)) for change in _changes(node) if change.said)


def _slip(new: ast.AST, said: str) -> Change:
    return Change(new, said, mutant=False)


def _changes(node: ast.AST) -> Iterator[Change]:  # noqa: C901 - a case for each kind of node
    match node:
        case ast.Constant(bool(value)):
            yield Change(ast.Constant(not value))
        case ast.Constant(int(value)):
            yield Change(ast.Constant(value + 1 if value < TEN else 2 * value), OFF * (value < TEN))
            if value < TEN:
                yield Change(ast.Constant(value - 1), OFF, mutant=value > 0)
        case ast.Constant(float(value)):
            yield Change(ast.Constant(2 * value or 1.0))
        case ast.Constant(str(value)):
            yield from (Change(ast.Constant(text), label=label) for label, text in _texts(value))
        case ast.If(_, body, orelse):
            yield from (Change(ast.If(ast.Constant(value), body, orelse)) for value in (True, False))
        case ast.AugAssign(target, op, value):
            assigned = ast.Assign([target], value, lineno=node.lineno)
            yield Change(assigned, "Something is overwritten that must add up.")
            yield Change(ast.Pass())
            if isinstance(op, (ast.Add, ast.Sub)):
                opposite = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
                yield Change(ast.AugAssign(target, opposite, value), _SIGN)
        case ast.Expr(ast.Call()):
            yield Change(ast.Pass())
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):  # an index from the end
            yield Change(ast.UnaryOp(ast.USub(), ast.Constant(value + 1)))
            yield _slip(ast.Constant(0 if value == 1 else value), AXIS)
        case ast.Compare(left, [op], right) if type(op) in _TURNED:
            said = "" if isinstance(op, (ast.Eq, ast.NotEq)) else _BORDER
            yield Change(ast.Compare(left, [_TURNED[type(op)]()], right), said)
        case ast.BinOp():
            yield from _operands(node)
        case ast.UnaryOp(ast.USub() | ast.Not() as op, operand):
            yield Change(operand, _SIGN if isinstance(op, ast.USub) else "")
        case ast.IfExp(_, body, orelse):
            yield from map(Change, (body, orelse))
        case ast.BoolOp(_, values):
            yield from map(Change, values)
        case ast.Subscript(value, ast.Slice()) | ast.Attribute(value, "T" | "mT"):
            yield Change(value)
        case ast.Return(value) if value is not None and not isinstance(value, (ast.Tuple, ast.Dict)):
            for name in ("sum", "mean"):
                yield _slip(ast.Return(ast.Call(ast.Attribute(value, name), [], [])), _ONE)
            yield _slip(ast.Return(ast.UnaryOp(ast.USub(), value)), _SIGN)
        case ast.Call():
            yield from _calls(node)


def _operands(node: ast.BinOp) -> Iterator[Change]:
    sides = {"x": node.left, "y": node.right}
    parts: dict[str, ast.expr] = dict(sides)
    for name, side in sides.items():
        parts[f"{name}T"] = side.value if isinstance(side, ast.Attribute) else ast.Attribute(side, "T")
        if isinstance(side, ast.Constant) and isinstance(side.value, int):
            parts |= {f"{name}1": ast.Constant(side.value + 1), f"{name}0": ast.Constant(side.value - 1)}
    step = isinstance(node.right, ast.Constant) and isinstance(node.op, (ast.Add, ast.Sub))  # as in `t - 1`
    for text, said, mutant in _OPERANDS.get(type(node.op), (("x", "", True),)):
        new = ast.parse(text, mode="eval").body
        if all(name.id in parts for name in ast.walk(new) if isinstance(name, ast.Name)):
            yield Change(_Filled(parts).visit(new), OFF if step and mutant else said, mutant)


class _Filled(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.parts[node.id]


def _calls(node: ast.Call) -> Iterator[Change]:  # noqa: C901 - a case for each function
    method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")

    def called(*args: ast.expr) -> ast.Call:
        return ast.Call(node.func, list(args), node.keywords)

    for at, keyword in enumerate(node.keywords):
        without = [*node.keywords[:at], *node.keywords[at + 1 :]]
        if keyword.arg not in _PLACES:
            yield Change(ast.Call(node.func, node.args, without))
        for axis in (0, 1, 2) if keyword.arg == "dim" else ():
            other = ast.Call(node.func, node.args, [*without, ast.keyword("dim", ast.Constant(axis))])
            yield _slip(other, AXIS)
    if len(node.args) > 1 and not any(isinstance(a, ast.Starred) for a in node.args):
        yield Change(called(*node.args[:-1]))
    if name in ("max", "min") and not method:
        yield Change(ast.Call(ast.Name("min" if name == "max" else "max"), node.args, node.keywords))
        if len(node.args) == 1 and node.keywords:  # the last of equals for the first
            turned = ast.parse("list(x)[::-1]", mode="eval").body
            turned.value.args = node.args  # type: ignore[attr-defined]
            yield Change(called(turned))
    if name == "sorted" and node.args:
        yield Change(node.args[0])
    if name in ("argmax", "argmin"):
        yield Change(_last(node))
    others, said = _CALLED.get(name, ((), ""))
    for instead in others:
        function = ast.Attribute(node.func.value, instead) if method else ast.Name(instead)  # type: ignore[attr-defined]
        yield _slip(ast.Call(function, node.args, node.keywords), said)
    reduces = method and name in ("sum", "mean", "softmax", "flip")
    if reduces and node.args and isinstance(node.args[-1], (ast.Constant, ast.UnaryOp)):
        yield from (_slip(called(*node.args[:-1], ast.Constant(axis)), AXIS) for axis in (0, 1, 2))
    if len(node.args) == 1 and name in ("tanh", "sigmoid", "log", "exp", "sqrt", "reversed"):
        wrong_way = "You go through a sequence in the wrong direction."
        yield _slip(node.args[0], wrong_way if name == "reversed" else _LEFT_OUT)
    if len(node.args) > 1:
        first, second, *rest = node.args
        said = _TURN if name == "outer" else "Two arguments are exchanged."
        yield _slip(called(second, first, *rest), said)


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


def _named(node: ast.AST, names: set[str], taken: set[str]) -> Iterator[Change]:
    """One name for another: only those of the question's own arguments may be told."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for other in sorted(names - {node.id}):
            told = f"You use `{other}` where `{node.id}` belongs."
            said = told if {node.id, other} <= taken else "One quantity stands where another belongs."
            yield _slip(ast.Name(other, ast.Load()), said)


def _stepped(symbols: list[str], node: ast.AST) -> Iterator[Change]:
    """A size one larger or smaller where it stands."""
    if isinstance(node, ast.Name) and node.id in symbols:
        for step in (ast.Add(), ast.Sub()):
            yield _slip(ast.BinOp(deepcopy(node), step, ast.Constant(1)), OFF)


def _texts(text: str) -> Iterator[tuple[str, str]]:
    """A formula or a system of equations with one thing changed: what, and the text; nothing for other text."""
    if "=" in text or "[" in text:
        try:
            changes = mutations(Equations(text).system)
            found = {show(m.program): f"{show(m.old)} -> {show(m.new)}" for m in changes}
        except NotationError:
            return
        step = max(1, len(found) // FEW)
        yield from [(said, changed) for changed, said in found.items()][::step][:FEW]
    elif re.search(r"[-+*/^]", text):
        try:
            formula = ast.parse(text.replace("^", "**"), mode="eval")
        except SyntaxError:
            return
        for _, _, changed in _changed_at(formula, _mutants):
            yield f"{text} -> {changed}", changed
