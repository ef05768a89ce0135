"""A question that is done by hand refuses who lets a program do it, however the program was reached."""

import importlib
import sys

import pytest
import torch

from coursekit import checks
from coursekit.checks.judging.by_hand import looking

CASES = [
    {
        "w": torch.linspace(0.1, 1, n, dtype=torch.float64),
        "x": torch.linspace(-1, 1.2, n, dtype=torch.float64),
    }
    for n in (5, 7)
]


def loss(w, x):
    return torch.tanh((w * x).sum()) ** 2


def formula(w, x):
    h = torch.tanh((w * x).sum())
    return 2 * h * (1 - h * h) * x


def by_autograd(w, x):
    w = w.clone().requires_grad_()
    return torch.autograd.grad(loss(w, x), w)[0]


def by_backward(w, x):
    with torch.enable_grad():
        w = w.clone().requires_grad_()
        loss(w, x).backward()
    return w.grad


def by_importlib(w, x):
    w = w.clone().requires_grad_()
    return importlib.import_module("torch.autograd").grad(loss(w, x), w)[0]


def by_modules(w, x):
    w = w.clone().requires_grad_()
    return getattr(sys.modules["torch.autograd"], "gr" + "ad")(loss(w, x), w)[0]


def by_func(w, x):
    return torch.func.grad(loss)(w, x)


def by_functional(w, x):
    return torch.autograd.functional.jacobian(lambda v: loss(v, x), w)


def by_differences(w, x, step=1e-5):
    ends = [[float(loss(w + s * step * e, x)) for e in torch.eye(len(w), dtype=w.dtype)] for s in (1, -1)]
    return (torch.tensor(ends[0]).double() - torch.tensor(ends[1]).double()) / (2 * step)


def by_differences_64(w, x):
    one = torch.eye(len(w), dtype=w.dtype)
    return torch.stack([(loss(w + 1e-5 * e, x) - loss(w - 1e-5 * e, x)) / 2e-5 for e in one])


def by_the_course(w, x):
    from coursekit.notation.equations import Equations

    back = Equations("J = tanh(w[I] x[I])^2").grad("J", "w")
    return back.run({"w": w, "x": x})["dw"]


@pytest.mark.parametrize(
    "answer",
    [
        by_autograd,
        by_backward,
        by_importlib,
        by_modules,
        by_func,
        by_functional,
        by_differences_64,
        by_the_course,
    ],
)
def test_who_lets_a_program_do_it_is_refused(answer):
    result = checks.gradients(answer, loss, CASES, ["w"])
    assert (result.ok, result.kind) == (False, "by hand"), result
    assert "by hand" in result.sentence or "formula itself" in result.sentence


@pytest.mark.parametrize(
    "answer",
    [
        formula,
        lambda w, x: formula(w, x).float(),
        lambda w, x: formula(w.float(), x.float()),
        lambda w, x: formula(w.float(), x.float()).double(),
        lambda w, x: formula(w, x).numpy(),
        lambda w, x: formula(w, x).tolist(),
        lambda w, x: torch.no_grad()(formula)(w, x),
    ],
)
def test_who_writes_the_formula_is_not(answer):
    assert checks.gradients(answer, loss, CASES, ["w"]).ok


def test_a_question_may_allow_it():
    assert checks.gradients(by_autograd, loss, CASES, ["w"], by_hand=False).ok
    assert checks.function(by_autograd, formula, CASES).ok
    assert checks.function(by_autograd, formula, CASES, by_hand=True).kind == "by hand"


def test_the_look_ends_with_the_call():
    before = sys.getprofile()
    seen = set()
    with looking(seen), pytest.raises(ZeroDivisionError):
        1 / 0
    assert sys.getprofile() is before
    by_autograd(**CASES[0])
    assert seen == set()
