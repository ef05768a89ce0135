"""`run` gives what `evaluate` says that a system means, for every construct and for random systems."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import CONSTRUCTS, COURSE, Case, agree, system, words
from strategies import systems


@pytest.mark.parametrize("name", COURSE)
def test_run_gives_the_plain_meaning_of_every_course_system(name):
    agree(COURSE[name])


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_run_gives_the_plain_meaning_of_every_construct(name):
    agree(CONSTRUCTS[name])


# ── random systems ───────────────────────────────────────────────────────────────────────────

ATOMS = {
    "x[b,t,i]": "bti", "x[b,t-1,i]": "bti", "x[b,t+2,i]": "bti", "u[i]": "i", "W[i,k]": "ik", "z[b,k,t]": "bkt",
    "A[t,s]": "ts", "A[s,t]": "ts", "A[t,t]": "t", "e[n[b,t],i]": "bti", "2": "", "1/3": "",
    "x[b,T-1-t,i]": "bti", "[s <= t]": "ts", "[n[b,t] == k]": "btk", "c[b,t,s]": "bts", "I": "i",
}  # fmt: skip
SHAPES = {
    "x": (2, 4, 3), "u": (3,), "W": (3, 5), "z": (2, 5, 4), "A": (4, 4), "c": (2, 4, 4), "n": words(5, 2, 4),
}  # fmt: skip


@st.composite
def expressions(draw_from, scope: str, depth: int) -> str:
    """An expression whose free indices are among `scope`."""
    fitting = [
        a for a, names in ATOMS.items() if set(names) <= set(scope) and ("e[" not in a or a[-2] == "i")
    ]
    kinds = (
        ["atom"]
        if depth == 0
        else ["add", "times", "times", "call", "sum", "sum", "softmax", "neg", "cases", "max"]
    )
    kind = draw_from(st.sampled_from(kinds))
    inner = lambda names=scope: draw_from(expressions(names, depth - 1))
    if kind == "add":
        return f"({inner()} + {inner()})"
    if kind == "neg":
        return f"(-{inner()} - {inner()})"
    if kind == "times":
        return f"{inner()} * {inner()}"
    if kind == "call":
        return f"{draw_from(st.sampled_from(['tanh', 'sigmoid', 'relu']))}({inner()})"
    if kind == "cases" and {"t", "s"} <= set(scope):
        return f"cases({inner()} if t < s, {inner()} otherwise)"
    if kind in ("sum", "max", "softmax"):
        more = [n for n in "ks" if n not in scope] if kind != "softmax" else [n for n in scope if n in "is"]
        if more:
            name = draw_from(st.sampled_from(more))
            names = scope if kind == "softmax" else scope + name
            with_it = [
                a
                for a, needs in ATOMS.items()
                if name in needs and set(needs) <= set(names) and "e[" not in a
            ]
            some = [a for a in with_it if "==" not in a and "<=" not in a and a != "I"]
            if some:
                where = ", s <= t" if name == "s" and "t" in names and draw_from(st.booleans()) else ""
                head = f"{kind}[{name}{where}]"
                return f"{head}({draw_from(st.sampled_from(some))} * {inner(names)})"
    return draw_from(st.sampled_from(fitting))


@given(st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_run_gives_the_plain_meaning_of_random_systems(data):
    first = data.draw(expressions("bti", 3))
    second = data.draw(expressions("bti", 2))
    state = data.draw(st.sampled_from(["h[b,t-1,i]", "h[b,t+1,i]", "V[i,K] h[b,t-1,K]", "h[b,t-2,i] V[i,i]"]))
    text = f"pad x, h\ny[b,t,i] = x[b,t,i] + {first}\nh[b,t,i] = tanh({state} + ({second}) y[b,t,i])"
    made = system(text, broadcast=True)
    shapes = {n: s for n, s in (SHAPES | {"V": (3, 3), "e": (5, 3)}).items() if n in made.inputs}
    agree(Case(text, shapes), broadcast=True)


LENGTHS = {"B": 2, "T": 4, "J": 3, "K": 5}


@given(st.one_of(systems(smooth=False), systems(recurrent=True, smooth=False)))
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_run_gives_the_plain_meaning_of_random_recurrences(text):
    made = system(text)
    shapes = {n: tuple(LENGTHS[d[0]] for d in made.tensors[n].dims) for n in made.inputs}
    boundary: dict = {}
    for name, sides in made.boundary.items():
        dims = made.tensors[name].dims
        boundary[name] = tuple([LENGTHS[d[0]] for n, d in enumerate(dims) if n != axis] for axis, _ in sides)
    sizes = {d: LENGTHS[d[0]] for d in made.aliases.values()}
    agree(Case(text, shapes, boundary, sizes))
