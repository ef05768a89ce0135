"""What stands in an equation card: the display, and the tabs' texts, in MyST; the same for a page that answers live."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from ..notation import Equations, NotationError
from ..notation.latex import index, latex, page_name
from ..notation.parse.lexer import canonical
from ..notation.polynomial import Monomial, Polynomial
from ..notation.system import Tensor
from ..notation.tree import Directive, Program


@dataclass(frozen=True)
class Table:
    """Rows of cells; a formula in a cell stands as {math}`…`."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass(frozen=True)
class Options:
    """A card's options, every name known to be there."""

    parameters: tuple[str, ...]
    of: str
    wrt: tuple[str, ...] | None

    @classmethod
    def read(cls, equations: Equations, given: Mapping[str, Any]) -> "Options":
        system = equations.system
        edges = {f"{name}_0" for name in system.boundary}
        asked = {option: tuple(map(canonical, given.get(option, ()))) for option in ("parameters", "wrt")}
        of = canonical(given["gradient"]) if "gradient" in given else equations.outputs[-1]
        known = ", ".join(system.tensors)
        for option, names, kind, there in (
            ("parameters", asked["parameters"], "input", set(system.inputs)),
            ("gradient", (of,), "computed tensor", set(system.outputs)),
            ("wrt", asked["wrt"], "tensor", set(system.tensors) | edges),
        ):
            for name in names:
                if name not in there:
                    raise NotationError(f"{option}: there is no {kind} `{name}`; the tensors are {known}")
        parameters = asked["parameters"] or tuple(p for p in system.parameters if p in system.tensors)
        return cls(parameters, of, asked["wrt"] or parameters or None)


# ── the display ──────────────────────────────────────────────────────────────────────────────


def display(equations: Equations) -> str:
    """The equations alone; what the text says about them stands below, in words."""
    return latex(Program(equations.program.equations), page=True)


def words(equations: Equations) -> str:
    """The text's statements about its tensors, as one quiet line; shapes have a tab of their own."""
    statements = (s for s in equations.program.statements if isinstance(s, Directive) and s.word != "shape")
    said = "; ".join(map(_statement, statements))
    return said and f"{said}."


def _statement(node: Directive) -> str:
    if node.word == "size":
        return f"{_math(index(node.names[0]))} takes {node.values[0]} values"
    if not node.names:
        return "every tensor is zero outside its range"
    listed = _several([(index if node.word == "centered" else page_name)(n) for n in node.names])
    if node.word == "pad":
        return f"zero outside its range: {listed}"
    if node.word == "centered":
        return f"centred at 0: {listed}"
    return f"{node.word}: {listed}"


# ── the tabs ─────────────────────────────────────────────────────────────────────────────────


def shapes(equations: Equations, options: Options) -> Table:
    """One row for the tensors of one kind and one shape: what is given, the parameters, what is computed."""
    rows: dict[tuple[str, str], list[str]] = {}
    system = equations.system
    for tensor in system.tensors.values():
        rows.setdefault((_role(tensor, options), _shape(tensor.dims)), []).append(page_name(tensor.name))
        if tensor.name in system.boundary and tensor.name not in system.padded:
            for name, shape, role in _edges(equations, tensor):
                rows.setdefault((role, shape), []).append(name)
    order = {"given": 0, "parameter": 1, "computed": 2}
    listed = sorted(rows.items(), key=lambda row: order[re.split(r"\W", row[0][0])[0]])
    return Table(
        ("tensor", "shape", "what it is"),
        [
            (_several(names), _math(shape), role + "s" * (role == "parameter" and len(names) > 1))
            for (role, shape), names in listed
        ],
    )


def _role(tensor: Tensor, options: Options) -> str:
    if tensor.defined:
        return "computed"
    if tensor.name in options.parameters:
        return "parameter"
    if tensor.indexes:
        return f"given: whole numbers, from 0 to {_math(page_name(tensor.indexes) + '-1')}"
    return "given"


def _edges(equations: Equations, tensor: Tensor) -> Iterator[tuple[str, str, str]]:
    """The values outside a recurrence's range, which are given: their name, shape and role."""
    name, edges = page_name(tensor.name), equations.system.boundary[tensor.name]
    for axis, steps in edges:
        dims = [d for k, d in enumerate(tensor.dims) if k != axis]
        if abs(steps) > 1:
            dims.insert(axis, str(abs(steps)))
        size = page_name(tensor.dims[axis])
        edge, side = ("0", "before the first") if steps < 0 else (size, "after the last")
        if len(edges) > 1:  # h_{0,·} and h_{·,0} are two
            edge = ",".join(edge if k == axis else r"\cdot" for k in range(len(tensor.dims)))
        many = "step" if abs(steps) == 1 else "steps"
        # A name with an index of its own needs braces: {h_1}_0.
        base = f"{{{name}}}" if "_" in name else name
        yield f"{base}_{{{edge}}}", _shape(dims), f"given: {_math(name)} {side} {many} of {_math(size)}"


def costs(equations: Equations, options: Options) -> Table:
    cost = equations.cost(options.parameters)
    rows: list[tuple[str, str, str]] = []
    for word, count, none in (
        ("parameters", options.parameters and cost.parameters, "none are named here"),
        ("multiply-adds", cost.multiply_adds, "none: no product of matrices"),
        ("other products", cost.elementwise, ""),
        ("function values", cost.functions, ""),
    ):
        if count:
            rows.append((word, _math(polynomial(count)), _order(count)))
        elif none:
            rows.append((word, none, ""))
    most: Callable[[Sequence[str]], str] = lambda all_of: (
        all_of[0] if len(all_of) == 1 else rf"\max({', '.join(all_of)})"
    )
    try:
        exact, order = ([polynomial(p) for p in depth.of] for depth in (cost.depth, cost.depth.big_o))
        told = (_math(most(exact)), _math(f"O({most(order)})"))
        rows.append(("parallel time", *(told if any(cost.depth.of) else ("none: all entries at once", ""))))
    except NotationError:
        rows.append(("parallel time", "no polynomial in the sizes", ""))
    return Table(("price", "exactly", "order"), rows)


def gradient(equations: Equations, options: Options) -> tuple[str, str]:
    """What it is the gradient of, in words, and the backward pass typeset; nothing typeset where there is none."""
    try:
        back = equations.grad(options.of, options.wrt)
    except NotationError as refusal:
        return f"There is no gradient to show. {refusal.message.rstrip('.')}.", ""
    target = _math(page_name(options.of))
    seeds = [_math(page_name(n)) for n in back.inputs if n not in equations.system.tensors]
    if seeds:
        start = f"{seeds[0]} is given: the gradient of the loss by {target}, which comes from what follows."
    else:
        start = f"The gradient of {target}, from the end to the start."
    return start, display(back)


def code(equations: Equations) -> str:
    """The equations as a PyTorch function; or, where the language cannot write one, how to run them."""
    try:
        return equations.code().rstrip()
    except NotationError:
        given = ", ".join(f'"{name}": {name}' for name in equations.inputs)
        edges = ", ".join(f'"{name}": {name}0' for name in equations.system.boundary)
        boundary = f", boundary={{{edges}}}" if edges else ""
        return f'Equations("""\n{equations}\n""").run({{{given}}}{boundary})'


# ── writing ──────────────────────────────────────────────────────────────────────────────────


def polynomial(p: Polynomial) -> str:
    """Common factors first: `3 B T J \\, (J + K)`."""
    if not p.terms:
        return "0"
    common = dict(p.terms[0][0])
    for monomial, _ in p.terms:
        powers = dict(monomial)
        common = {n: min(e, powers[n]) for n, e in common.items() if n in powers}
    number = Fraction(gcd(*(c.numerator for _, c in p.terms)), lcm(*(c.denominator for _, c in p.terms)))
    inside = ""
    for monomial, coefficient in p.terms:
        rest = tuple((n, e - common.get(n, 0)) for n, e in monomial if e > common.get(n, 0))
        part = _monomial(rest, abs(coefficient / number))
        inside += ("-" if coefficient < 0 else "+" if inside else "") + part
    outside = _monomial(tuple(sorted(common.items())), number)
    if len(p.terms) == 1:
        return outside if p.terms[0][1] > 0 else "-" + outside
    return inside if outside == "1" else rf"{outside} \, ({inside})"


def _monomial(monomial: Monomial, number: Fraction) -> str:
    letters = r" \, ".join(page_name(n) + (f"^{{{e}}}" if e > 1 else "") for n, e in monomial)
    if number == 1 and letters:
        return letters
    spelt = (
        str(number) if number.denominator == 1 else rf"\tfrac{{{number.numerator}}}{{{number.denominator}}}"
    )
    return rf"{spelt} \, {letters}" if letters else spelt


def _order(p: Polynomial) -> str:
    return _math(f"O({polynomial(p.big_o)})")


def _shape(dims: Sequence[str]) -> str:
    return r" \times ".join(d if d.isdigit() else page_name(d) for d in dims) or r"\text{one number}"


def _several(names: Sequence[str]) -> str:
    return " ".join(_math(name + ",") for name in names[:-1]) + " " + _math(names[-1])


def _math(text: str) -> str:
    return f"{{math}}`{text}`"
