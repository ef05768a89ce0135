"""Questions without end, made from the language itself: the same for the same seed, level and number.

A small system is put together by chance. What is asked is its gradient, what it costs, or to find the mistake that one
of the diagnosis' own mutations planted in it. So the right answer, and the verdict, come from the language too.
"""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from ...notation import Equations, NotationError
from ...notation.compare.mutate import mutations
from ...notation.show import show
from ...notation.tree import Program

LEVELS = 4
_DATA = ("x", "v", "s")
_SQUASH = ("tanh", "sigmoid", "relu", "exp")


def question(seed: int, level: int, number: int) -> dict[str, Any]:
    """A question for `judging`, with its `statement`; `shown` is the system it is about."""
    chance = Random(f"{seed} {level} {number}")
    kind, make = list(ASKED.items())[number % len(ASKED)]
    while (made := make(chance, level)) is None:
        pass  # this system had no mistake to plant
    return {"kind": kind, **made}


def system(chance: Random, level: int) -> list[str]:
    """The lines of a small system: a product; a function of it; a second layer or a softmax; a recurrence."""
    batch = chance.choice(("b,", ""))
    matrix, given, bias, made = chance.choice(
        (("W", "x", "B", "y"), ("U", "v", "c", "z"), ("A", "s", "d", "u"))
    )
    turned = chance.random() < 0.5
    step = "t," if level >= 3 else ""
    product = f"{matrix}[{'K,j' if turned else 'j,K'}] {given}[{batch}{step}K]"
    inner = product
    if level >= 4:
        inner = f"V[j,I] {made}[{batch}t-1,I] + {product}"
    if level >= 2 or chance.random() < 0.5:
        inner += f" {chance.choice('+-')} {bias}[j]"
    if level == 1 and chance.random() < 0.4:
        inner = f"{product} {given}2[{batch}j]"
    function = chance.choice(_SQUASH[:2] if level >= 4 else _SQUASH)
    lines = [
        f"{made}[{batch}{step}j] = {function}({inner})" if level >= 2 else f"{made}[{batch}{step}j] = {inner}"
    ]
    if level >= 3 and chance.random() < 0.6:
        score = f"P[i,J] {made}[{batch}{step}J]"
        lines.append(f"q[{batch}{step}i] = " + (f"softmax[i]({score})" if chance.random() < 0.5 else score))
    return lines


def _differentiate(chance: Random, level: int) -> dict[str, Any] | None:
    lines = system(chance, level)
    name, _, rest = lines[-1].partition("[")
    indices = rest.partition("]")[0].upper()
    text = "\n".join([*lines, f"J = g[{indices}] {name}[{indices}]"])
    given = Equations(text)
    names = [n for n in given.inputs if n != "g" and len(given.system.tensors[n].dims) > 0]
    wrt = chance.choice(names)
    asked = f"Write the gradient of `J` by `{wrt}`, called `d{wrt}`. You may use every tensor above."
    return {"statement": asked, "given": text, "loss": "J", "wrt": wrt, "shown": text}


def _cost(chance: Random, level: int) -> dict[str, Any] | None:
    text = "\n".join(system(chance, level))
    weights = [n for n in Equations(text).inputs if n.rstrip("2") not in _DATA]
    count = chance.choice(("multiply-adds", "multiply-adds", "parameters"))
    of = f"do {', '.join(f'`{n}`' for n in weights)} hold" if count == "parameters" else "does it take"
    asked = f"How many {count} {of}? Write a polynomial in the sizes, such as `B T J (J + K)`."
    return {"statement": asked, "given": text, "count": count, "parameters": weights, "shown": text}


def _mend(chance: Random, level: int) -> dict[str, Any] | None:
    """One mutation that can still be read, and that is another system."""
    text = "\n".join(system(chance, level))
    right = Equations(text)
    found = []
    for mutation in mutations(right.system):
        shown = show(Program(mutation.program.equations))
        with suppress(NotationError):
            if set(Equations(shown).inputs) <= set(right.inputs):
                found.append((mutation.kind, shown))
    if not found:
        return None
    # A kind first, so that the many places for one kind do not drown the others.
    kind = chance.choice(sorted({k for k, _ in found}))
    start = chance.choice([s for k, s in found if k == kind])
    asked = "The text below was meant to say what stands above. It has one mistake: mend it."
    return {"statement": asked, "answer": text, "start": start, "shown": text, "planted": kind}


ASKED: dict[str, Callable[[Random, int], dict[str, Any] | None]] = {
    "differentiate": _differentiate,
    "cost": _cost,
    "mend": _mend,
}
