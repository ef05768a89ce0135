"""Simplification keeps the value and gives the short form."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import systems

from coursekit.notation.check.checker import check
from coursekit.notation.grad.gradient import Pen
from coursekit.notation.grad.simplify import Scope, simplify
from coursekit.notation.meaning.evaluate import evaluate
from coursekit.notation.parse.parser import parse
from coursekit.notation.show import show
from coursekit.notation.system import System
from coursekit.notation.tree import Program, substitute


def simplified(system: System) -> System:
    """The same system with every right side simplified."""
    equations = {}
    for equation in (e for b in system.blocks for e in b.equations):
        scope = Scope({}, dict(system.tensors))
        own = {n: scope.fresh(n, d) for n, d in system.ranges[equation].items()}
        left = substitute(equation.left, own)
        right = simplify(scope.apart(substitute(equation.right, own)), scope)
        pen = Pen(scope.dims, {}, system.tensors)
        new = pen.equation(left.name, [a.plain for a in left.indices], right)
        equations[equation] = (new, pen.ranges)
    blocks = tuple(replace(b, equations=tuple(equations[e][0] for e in b.equations)) for b in system.blocks)
    program = Program(tuple(new for new, _ in equations.values()))
    return replace(system, program=program, blocks=blocks, ranges=dict(equations.values()))


def right(text: str) -> str:
    """The simplified right side of one equation, printed."""
    program = simplified(check(parse(text))).program
    return show(program.equations[0]).partition(" = ")[2]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("y[i] = 1 * a[i] * 1 + 0 * b[i]", "a[i]"),
        ("y[i] = -(-a[i])", "a[i]"),
        ("y[i] = a[i] + 2 a[i] - b[i] + b[i]", "3 a[i]"),
        ("y[i] = (a[i] (b[i] c[i])) a[i]", "a[i]^2 b[i] c[i]"),
        ("y[i] = a[i] b[i] / a[i]", "b[i]"),
        ("y[i] = a[i] (1 - b[i]/a[i])", "a[i] - b[i]"),
        ("y[i] = a[i] (1 - a[i])", "a[i] (1 - a[i])"),
        ("y[i] = -a[i] + b[i]", "b[i] - a[i]"),
        ("y[i] = a[i] + sum[k]([k == i] a[k])", "2 a[i]"),
        ("y[i] = sum[k]([i == k] W[k,J] x[J]) + W[i,K]", "W[i,J] x[J] + W[i,K]"),
        ("y[i] = a[i] (W[i,K] x[K])", "a[i] W[i,K] x[K]"),
        ("y[i] = W[i,K] x[K] + W[i,J] x[J]", "2 W[i,K] x[K]"),
        ("y[i] = 2 (a[i] + b[i])", "2 a[i] + 2 b[i]"),
        ("y[i] = a[i]^2 / a[i]^3", "1/a[i]"),
    ],
)
def test_short_form(text, short):
    assert right(text) == short


def test_a_sum_over_what_does_not_depend_on_it_is_a_size():
    assert right("y[i] = sum[k](a[i] + c[i,k])") == "a[i] K + c[i,K]"


def test_a_picked_word_is_picked_once_only():
    """[v == w] is one for a single v; elsewhere, what is read at w is read at v."""
    assert right("y[t,v] = [v == w[t]] p[t,w[t]] e[w[t],v]") == "[v == w[t]] p[t,v] e[v,v]"


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(systems(smooth=False))
def test_simplified_systems_have_the_same_values(text):
    system = check(parse(text))
    sizes = dict(zip("BTJK", (2, 3, 2, 3), strict=True))
    chance = random.Random(0)

    def fill(dims):
        if not dims:
            return chance.uniform(-1, 1)
        return [fill(dims[1:]) for _ in range(sizes[dims[0][0]])]

    inputs = {n: fill(system.tensors[n].dims) for n in system.inputs}
    before, after = (evaluate(s, inputs, sizes=_unfixed(s, sizes)) for s in (system, simplified(system)))
    for name, value in before.items():
        assert _distance(value, after[name]) < 1e-9


def _unfixed(system: System, sizes: dict[str, int]) -> dict[str, int]:
    fixed = {d for n in system.inputs for d in system.tensors[n].dims}
    used = {d for r in system.ranges.values() for d in r.values()}
    return {d: sizes[d[0]] for d in used - fixed}


def _distance(a, b) -> float:
    if isinstance(a, list):
        return max((_distance(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    return abs(a - b) / max(1.0, abs(a))
