"""The JavaScript that a system is written as: it computes, in Node, what `run` does."""

from functools import partial

import pytest
import torch
from draws import draw, plain, sizes_of
from hypothesis import HealthCheck, given, settings
from in_node import Call, answers
from running import CONSTRUCTS, COURSE, lists
from strategies import systems
from systems import SYSTEMS
from test_code import CARDS, MODELS, opaque
from test_code import CONSTRUCTS as WRITTEN

from coursekit.notation import Equations, NotationError
from coursekit.notation.functions import FUNCTIONS, REDUCERS
from coursekit.notation.meaning.sizes import infer_sizes, sides
from coursekit.notation.tree import Apply, Directive, walk

NEAR = 1e-12


def known_sizes(system, inputs, boundary, sizes):
    """Every size, as `run` infers it."""
    edges = {n: sides(system, n, v) for n, v in boundary.items() if n in system.boundary}
    shape = lambda v: tuple(v.shape) if isinstance(v, torch.Tensor) else None
    shapes = {n: tuple(v.shape) for n, v in inputs.items()}
    return infer_sizes(system, shapes, {n: [shape(v) for v in e] for n, e in edges.items()}, sizes)


def call(equations, inputs, boundary=None, sizes=None, functions=""):
    system = equations.system
    boundary = {n: v for n, v in (boundary or {}).items() if n not in system.padded}
    return Call(equations, inputs, boundary, known_sizes(system, inputs, boundary, sizes or {}), functions)


OPAQUE = """(...args) => {
  const mean = args.reduce((s, a) => s + Math.sin(a.reduce((u, v) => u + v, 0) / a.length), 0);
  return Float64Array.from({ length: LENGTH }, (_, k) => Math.tanh(mean * (k + 1)));
}"""


def functions_of(equations, sizes):
    """The opaque functions of `test_code`, in JavaScript."""
    found = {}
    for equation in (e for b in equations.system.blocks for e in b.equations):
        ranges = equations.system.ranges[equation]
        for node in (n for n in walk(equation.right) if isinstance(n, Apply)):
            length = torch.Size([sizes[ranges[i]] for i in node.out]).numel()
            found[node.function] = OPAQUE.replace("LENGTH", str(length))
    return ", ".join(f"{name}: {text}" for name, text in found.items())


def drawn(text):
    """A call on random tensors, and what `run` gives for it."""
    equations = Equations(text)
    system, sizes = equations.system, sizes_of(equations.system)
    inputs, boundary = draw(system)
    inputs = {n: v.detach() for n, v in inputs.items()}
    boundary = {n: plain(v) for n, v in boundary.items() if n not in system.padded}
    told = (
        {d for name in system.inputs for d in system.tensors[name].dims}
        | set(system.joined)
        | set(system.derived)
    )
    sized = (s for s in system.program.statements if isinstance(s, Directive) and s.word == "size")
    told |= {system.dimension(n) for s in sized for n in s.names}
    told |= {d for n in boundary for d in system.tensors[n].dims}
    rest = {d: sizes.get(d, 3) for r in system.ranges.values() for d in r.values() if d not in told}
    made = call(equations, inputs, boundary, rest)
    made.functions = functions_of(equations, made.sizes)
    values = equations.run(inputs, boundary, rest, opaque(equations, made.sizes))
    if any(v.isnan().any() for v in values.values()):  # then the meaning itself says where
        given, edges = ({n: lists(v) for n, v in some.items()} for some in (inputs, boundary))
        plainly = equations.evaluate(given, edges, rest)
        values = {n: torch.tensor(v, dtype=torch.float64) for n, v in plainly.items()}
    return made, values


def prepared(case):
    inputs, boundary = case.drawn()
    equations = Equations(case.text)
    run = equations.run(inputs, boundary, case.sizes)
    return call(equations, inputs, boundary, case.sizes), run


def of_function(name):
    x, two = torch.linspace(-9, 9, 37, dtype=torch.float64), ", z[i]" if name in ("min", "max") else ""
    given = {"x": x.exp() if name in ("log", "sqrt") else x, **({"z": x.flip(0)} if two else {})}
    equations = Equations(f"y[i] = {name}(x[i]{two})")
    return call(equations, given), equations.run(given)


def of_reducer(name):
    given = {"x": torch.randn(4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))}
    equations = Equations(f"y[i] = {name}[j](x[i,j])\nz[i] = {name}[j < i](x[i,j])")
    return call(equations, given), equations.run(given)


def backwards(text):
    first, values = drawn(text)
    back = first.equations.grad("J")
    known = {n: {**first.inputs, **values}[n] for n in back.inputs}
    edges = {n: v for n, v in first.boundary.items() if n in back.system.boundary}
    return call(back, known, edges), back.run(known, edges)


CASES = {f"running {name}": partial(prepared, case) for name, case in {**COURSE, **CONSTRUCTS}.items()}
CASES |= {f"function {name}": partial(of_function, name) for name in FUNCTIONS}
CASES |= {f"reducer {name}": partial(of_reducer, name) for name in REDUCERS}
TEXTS = {**SYSTEMS, **MODELS, **CARDS, **{t: t for t in WRITTEN}}
CASES |= {f"system {name}": partial(drawn, text) for name, text in TEXTS.items()}
CASES |= {f"gradient {name}": partial(backwards, text) for name, text in SYSTEMS.items()}
AT_ONCE = 30  # a Node process for so many


def far(found, expected):
    """The largest difference, relative where numbers are above one."""
    expected = expected.detach().reshape(-1).double()
    assert found.shape == expected.shape
    same = (found == expected) | (found.isnan() & expected.isnan())
    gap = torch.where(same, 0.0, (found - expected).abs() / expected.abs().clamp(min=1.0))
    return float(gap.nan_to_num(torch.inf).max())


def wrong(found, expected):
    """What is wrong with an answer of Node; nothing where it agrees."""
    if "error" in found or set(found) != set(expected):
        return found.get("error", list(found))
    return {n: gap for n, value in expected.items() if (gap := far(found[n], value)) > NEAR}


@pytest.mark.parametrize("first", range(0, len(CASES), AT_ONCE))
def test_javascript_agrees_with_run(first):
    names = list(CASES)[first : first + AT_ONCE]
    made = [CASES[name]() for name in names]
    found = answers([case for case, _ in made])
    told = {n: wrong(f, values) for n, f, (_, values) in zip(names, found, made, strict=True)}
    assert {n: w for n, w in told.items() if w} == {}


def test_a_wrong_number_would_be_seen():
    x = {"x": torch.ones(2, dtype=torch.float64)}
    case = call(Equations("y[i] = 2 x[i]"), x)
    (found,) = answers([case])
    assert not wrong(found, Equations("y[i] = 2 x[i]").run(x))
    assert wrong(found, Equations("y[i] = 2.00000000001 x[i]").run(x))


# ── what is refused, and where ───────────────────────────────────────────────────────────────

T = lambda *values: torch.tensor(values, dtype=torch.float64)
REFUSED = {
    "a size that is missing": (Call(Equations("y[t,i] = x[t,i]"), {"x": T(1, 2)}, sizes={"T": 2}), "give sizes.I"),
    "an input that is missing": (Call(Equations("y[t] = x[t]"), {}, sizes={"T": 2}), "x must be a flat array of 2"),
    "an input that is too short": (Call(Equations("y[t] = x[t]"), {"x": T(1)}, sizes={"T": 2}), "not of 1"),
    "a word outside the table": (
        Call(Equations("y[b,i] = e[w[b],i]"), {"e": T(1, 2, 3), "w": torch.tensor([0, 3])}, sizes={"W": 3, "I": 1}),
        "e is read at 3, but that axis runs from 0 to 2",
    ),
    "half a word": (
        Call(Equations("y[b,i] = e[w[b],i]"), {"e": T(1, 2, 3), "w": T(0.5)}, sizes={"W": 3, "I": 1}),
        "e is read at 0.5",
    ),
    "a window that is too long": (
        Call(Equations("y[t] = W[D] x[t+D]"), {"x": T(1, 2, 3), "W": T(1, 2)}, sizes={"T": 3}),
        "x is read from 0 to 3, but that axis runs from 0 to 2",
    ),
    "a place that is not there": (Call(Equations("y[i] = x[i] + z[3]"), {"x": T(1), "z": T(1, 2, 3)}), "z is read"),
    "a boundary of rows at a corner": (
        Call(Equations("h[i,j] = x[i,j] + h[i-1,j-1]"), {"x": T(1)}, {"h": (T(1), T(1))}, sizes={"I": 1, "J": 1}),
        "must be one number",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def refusals():
    return dict(zip(REFUSED, answers([c for c, _ in REFUSED.values()]), strict=True))


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(name, refusals):
    assert REFUSED[name][1] in refusals[name].get("error", "")


def test_a_word_outside_under_a_condition_is_not_looked_at():
    equations = Equations("y[b] = cases(e[w[b]] if m[b] > 0, 0 otherwise)")
    given = {"e": T(5, 6), "w": torch.tensor([1, 9, 9]), "m": T(1, -1, 1)}
    (made,) = answers([Call(equations, given, sizes={"W": 2, "B": 3})])
    assert made["y"][:2].tolist() == [6, 0]
    assert made["y"][2].isnan()


def test_only_what_the_outputs_need_is_computed():
    equations = Equations("a[t] = 2 x[t]\nb[t] = 3 a[t]\nc[t] = 4 x[t]")
    (made,) = answers([Call(equations, {"x": T(1, 2)}, outputs=["b"])])
    assert made["b"].tolist() == [6, 12]
    assert set(made) == {"a", "b"}


def test_a_name_that_is_no_name_of_javascript_is_refused():
    for name in ("1x", "a-b", "while", "f(){}; alert(1); function g", "λ"):
        with pytest.raises(NotationError, match="name of a JavaScript function"):
            Equations("y[t] = x[t]").javascript(name)


def test_words_of_javascript_can_name_tensors():
    text = "class[t] = var[t] new + this[t]\nmodel1[t] = class[t] room"
    given = {"var": T(1, 2), "new": T(3), "this": T(4, 5), "room": T(2)}
    (made,) = answers([Call(Equations(text), given, sizes={"T": 2})])
    assert made["model1"].tolist() == [14, 22]


@given(systems(smooth=False), systems(recurrent=True))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_systems_agree_with_run(plain_text, recurrent):
    both = [drawn(plain_text), drawn(recurrent)]
    for (_, expected), made in zip(both, answers([c for c, _ in both]), strict=True):
        assert not wrong(made, expected)
