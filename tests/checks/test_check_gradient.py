"""A gradient checker is tested with planted errors: each must fail, and be called by its name."""

import numpy as np
import pytest
import torch

from coursekit import checks
from coursekit.checks import Mistake

SPOILT = {  # planted error: (spoil, part, kind, words of the sentence)
    "wrong sign": (lambda g, v: g.update(H=-g["H"]), "H", "sign", "wrong sign"),
    "x 1.001": (lambda g, v: g.update(U=g["U"] * 1.001), "U", "factor", "1.001 times"),
    "three times": (lambda g, v: g.update(I=3 * g["I"]), "I", "factor", "3 times"),
    "square transposed": (lambda g, v: g.update(H=g["H"].T), "H", "transpose", "transposed"),
    "transposed": (lambda g, v: g.update(U=g["U"].T), "U", "shape", "transpose of the right one"),
    "one element": (lambda g, v: g["U"].__setitem__((2, 3), g["U"][2, 3] * 1.01), "U", "entry", "[2,3]"),
    "one row": (lambda g, v: g["U"].__setitem__(1, g["U"][1] + v.d1), "U", "slice", "axis 0 is 1"),
    "mean": (lambda g, v: g.update(b2=g["b2"] / len(g["b2"])), "b2", "mean", "divided by 11"),
    "zero": (lambda g, v: g.update(b1=0 * g["b1"]), "b1", "zero", "zero everywhere"),
    "summed": (lambda g, v: g.update(b1=g["b1"].sum()), "b1", "shape", "single number"),
    "kept axis": (lambda g, v: g.update(b1=g["b1"][None]), "b1", "shape", "numbers are right"),
    "anything": (lambda g, v: g.update(Lx=torch.arange(len(v.e)) + 7.0), "Lx", "other", "is not right."),
    "kept batch": (lambda g, v: g.update(b1=torch.stack([g["b1"] / 2] * 2)), "b1", "shape", "Summed over its axis 0"),
    "none": (lambda g, v: g.update(b2=None), "b2", "empty", "nothing for the gradient of `b2`"),
    "nan": (lambda g, v: g["H"].__setitem__((0, 1), torch.nan), "H", "nan", "NaN"),
    "infinity": (lambda g, v: g["b1"].__setitem__(2, torch.inf), "b1", "nan", "infinity"),
    "text": (lambda g, v: g.update(H="h^T d"), "H", "type", "text"),
    "ragged": (lambda g, v: g.update(H=[[1.0], [1.0, 2.0]]), "H", "type", "array of numbers"),
    "complex": (lambda g, v: g.update(b1=g["b1"] * 1j), "b1", "type", "complex"),
    "half": (lambda g, v: g.update(U=g["U"].half()), "U", "type", "float16"),
    "whole numbers": (lambda g, v: g.update(U=g["U"].round().int()), "U", "type", "whole numbers"),
    "sigma prime missing": (
        lambda g, v: g.update(H=torch.outer(v.h_prev, v.gh)), "H", "sigma-prime", "lacks the factor"),
    "tanh prime": (lambda g, v: g.update(b1=v.gh * (1 - v.h**2)), "b1", "sigma-prime", "derivative of tanh"),
    "h for h(1-h)": (lambda g, v: g.update(b1=v.gh * v.h), "b1", "sigma-prime", "has h where"),
    "sigma prime twice": (lambda g, v: g.update(b1=v.gh * (v.h * (1 - v.h)) ** 2), "b1", "sigma-prime", "twice"),
    "inside a product": (lambda g, v: g.update(Lx=v.gh @ v.I.T), "Lx", "sigma-prime", "lacks the factor"),
    "y_hat alone": (lambda g, v: g.update(U=torch.outer(v.h, v.y_hat)), "U", "softmax", "target is not subtracted"),
    "-y alone": (lambda g, v: g.update(b2=-v.y), "b2", "softmax", "normaliser"),
    "wrong state": (lambda g, v: g.update(H=torch.outer(v.h, v.d2)), "H", "time-step", "state after the step"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILT)
def test_planted_error_fails_alone_and_is_named(name, rnn):
    spoil, part, kind, words = SPOILT[name]
    result = checks.gradients(rnn.student(spoil), rnn.loss, rnn.cases, rnn.wrt)
    assert not result.ok
    assert result.part(part).kind == kind
    assert words in result.part(part).sentence
    assert [n for n, p in result.parts.items() if not p.ok] == [part]
    with pytest.raises(checks.CheckFailed) as caught:
        result.part(part).require()
    assert str(caught.value) == result.part(part).sentence


@pytest.mark.parametrize(
    "form",
    [
        lambda t: t,
        lambda t: t.numpy(),
        lambda t: t.tolist(),
        lambda t: t.float(),
        lambda t: t.clone().requires_grad_(),
        lambda t: t.float().double(),
        lambda t: t.T.contiguous().T if t.dim() == 2 else t,
    ],
    ids=["torch", "numpy", "lists", "float32", "with graph", "through float32", "strided"],
)
def test_right_gradients_pass_in_every_form(form, rnn):
    answer = rnn.student(lambda g, v: {key: form(value) for key, value in g.items()})
    result = checks.gradients(answer, rnn.loss, rnn.cases, rnn.wrt)
    assert result.ok, result.sentence
    assert set(result.parts) == set(rnn.wrt)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("error", [1.01, 1.00001])
def test_tolerance_scales_with_the_gradient(scale, error, rnn):
    def tiny(**case):
        return scale * rnn.loss(**case)

    names = list(rnn.cases[0])

    def scaled(factor):
        inner = rnn.student(lambda g, v: {k: t * scale * factor for k, t in g.items()})
        return lambda *args: inner(**dict(zip(names, args, strict=True)))

    assert checks.gradients(scaled(1), tiny, rnn.cases, rnn.wrt).ok
    assert not checks.gradients(scaled(error), tiny, rnn.cases, rnn.wrt).ok


def test_small_entry_beside_large_ones_is_not_overlooked():
    def J(w):
        return (w * torch.tensor([1.0, 1e-6, 1.0], dtype=torch.float64)).sum()

    case = {"w": torch.ones(3, dtype=torch.float64)}
    assert checks.gradients(lambda w: [1.0, 1e-6, 1.0], J, case, ["w"]).ok
    assert checks.gradients(lambda w: [1.0, 1.1e-6, 1.0], J, case, ["w"]).kind == "entry"


BPTT = {  # wrong variant of back-propagation through time: (kind, words)
    "last step only": ({"stop": 4}, "path", "only the last step"),
    "truncated": ({"stop": 3}, "path", "last 2 steps"),
    "stops one step early": ({"stop": 2}, "path", "last 3 steps"),
    "sigma prime in the last step only": ({"usesp": False}, "sigma-prime", "every step but the last"),
    "H for its transpose": ({"HT": False}, "transpose", "`H` where its transpose belongs"),
}


@pytest.mark.parametrize("name", BPTT)
def test_wrong_backpropagation_through_time_is_named_for_every_parameter(name, rnn):
    options, kind, words = BPTT[name]
    result = checks.gradients(rnn.bptt(**options), rnn.sequence_loss, rnn.sequences, ["H", "I", "b1", "L"])
    assert {n: p.kind for n, p in result.parts.items()} == dict.fromkeys(["H", "I", "b1", "L"], kind)
    assert all(words in part.sentence for part in result.parts.values())
    assert result.sentence.count(words) == 1, "said once for all parts"


@pytest.mark.parametrize(("options", "part"), [({"hshift": 1}, "H"), ({"eshift": -1}, "I")])
def test_wrong_time_step_is_named(options, part, rnn):
    result = checks.gradients(rnn.bptt(**options), rnn.sequence_loss, rnn.sequences, ["H", "I", "b1", "L"])
    assert [n for n, p in result.parts.items() if not p.ok] == [part]
    assert result.kind == "time-step"


def test_right_backpropagation_through_time_passes(rnn):
    assert checks.gradients(rnn.bptt(), rnn.sequence_loss, rnn.sequences, ["H", "I", "b1", "L"]).ok


def test_named_mistake_of_the_question_comes_first(rnn):
    dropped = Mistake("sigma-H", "You dropped the factor h(1-h) in dH.", rnn.student(
        lambda g, v: {"H": torch.outer(v.h_prev, v.gh)}))  # fmt: skip
    other = Mistake("sign-H", "Descent needs the other sign.", rnn.student(lambda g, v: {"H": -g["H"]}))
    answer = rnn.student(SPOILT["sigma prime missing"][0])
    result = checks.gradients(answer, rnn.loss, rnn.cases, rnn.wrt, mistakes=[other, dropped])
    assert result.part("H").sentence == dropped.sentence
    assert result.mistake == "sigma-H"
    assert result.kind == "mistake"


def test_named_mistake_with_a_wrong_shape_is_recognised(rnn):
    def dense(g, v):
        g["Lx"] = torch.outer(v.y, g["Lx"])

    mistake = Mistake("dense", "Only the row of x is asked for.", rnn.student(dense))
    result = checks.gradients(rnn.student(dense), rnn.loss, rnn.cases, rnn.wrt, mistakes=[mistake])
    assert result.part("Lx").mistake == "dense"
    assert result.part("H").ok


def test_gradient_of_another_parameter_is_recognised():
    case = {"a": torch.tensor([1.0, 2.0, 5.0]), "b": torch.tensor([3.0, -1.0, 4.0])}
    result = checks.gradients(
        lambda a, b: {"a": 2 * b, "b": 2 * b}, lambda a, b: (a * a + b * b).sum(), case, ["a", "b"]
    )
    assert result.part("a").kind == "swapped"
    assert "belongs to `b`" in result.sentence


def test_mistake_that_stops_with_an_error_is_known_by_the_error(rnn):
    def untransposed(g, v):
        g["Lx"] = v.d2 @ v.I

    named = Mistake("I", "The error goes back through I transposed.", rnn.student(untransposed))
    other = Mistake("U", "Never said.", rnn.student(lambda g, v: v.d2 @ v.U.T))
    result = checks.gradients(
        rnn.student(untransposed), rnn.loss, rnn.cases, rnn.wrt, mistakes=[other, named]
    )
    assert (result.mistake, result.sentence) == ("I", named.sentence)
    twice = checks.gradients(
        rnn.student(untransposed),
        rnn.loss,
        rnn.cases,
        rnn.wrt,
        mistakes=[named, Mistake("J", "Never said.", named.wrong)],
    )
    assert twice.kind == "error", "with two that fit, neither is told"


def test_mistakes_are_run_only_for_a_wrong_answer(rnn):
    ran = []
    watched = Mistake("watched", "Wrong.", rnn.student(lambda g, v: ran.append(1)))
    assert checks.gradients(rnn.student(), rnn.loss, rnn.cases, rnn.wrt, mistakes=[watched]).ok
    assert not ran
    checks.gradients(rnn.student(SPOILT["wrong sign"][0]), rnn.loss, rnn.cases, rnn.wrt, mistakes=[watched])
    assert ran


def test_single_number_is_judged_like_a_tensor():
    case = [{"w": torch.tensor(0.7)}, {"w": torch.tensor(1.3)}, {"w": torch.tensor(-0.4)}]
    check = lambda answer: checks.gradients(answer, lambda w: w**3, case, ["w"])
    assert check(lambda w: 3 * w**2).ok
    assert check(lambda w: float(3 * w**2)).ok
    assert check(lambda w: -3 * w**2).kind == "sign"
    assert check(lambda w: w**2).kind == "factor"
    assert check(lambda w: 3 * w).sentence.startswith("The gradient of `w` is not right.")


def test_mistake_that_is_right_in_all_cases_accuses_nobody(rnn):
    same = Mistake("none", "This is never said.", rnn.student())
    result = checks.gradients(rnn.student(), rnn.loss, rnn.cases, rnn.wrt, mistakes=[same])
    assert result.ok


def test_missing_key_names_what_stands_there_instead(rnn):
    answer = rnn.student(lambda g, v: {key.replace("b1", "b_1"): value for key, value in g.items()})
    result = checks.gradients(answer, rnn.loss, rnn.cases, rnn.wrt)
    assert result.part("b1").kind == "missing"
    assert "no `b1`" in result.sentence
    assert "`b_1`" in result.sentence
    assert result.part("U").ok


def test_tuple_is_read_in_order_and_a_lone_array_stands_for_one_gradient(rnn):
    answer = rnn.student(lambda g, v: tuple(g.values()))
    assert checks.gradients(answer, rnn.loss, rnn.cases, rnn.wrt).ok
    lone = rnn.student(lambda g, v: g["H"])
    assert checks.gradients(lone, rnn.loss, rnn.cases, ["H"]).ok


def test_row_of_a_table_is_checked_against_that_row_only(rnn):
    answer = rnn.student(lambda g, v: g.update(Lx=g["Lx"].flip(0)))
    assert not checks.gradients(answer, rnn.loss, rnn.cases, rnn.wrt).part("Lx").ok


def test_worst_entry_stands_in_the_numbers_with_both_oracles(rnn):
    answer = rnn.student(lambda g, v: g["U"].__setitem__((2, 3), 5.0))
    result = checks.gradients(answer, rnn.loss, rnn.cases[0], rnn.wrt)
    assert result.columns == ("entry", "yours", "right", "by central differences")
    entry, yours, right, measured = result.rows[0]
    assert (entry, yours) == ("U[2,3]", 5.0)
    assert measured == pytest.approx(right, abs=1e-8)


def test_error_in_the_students_code_is_told_with_their_line(rnn):
    def grads_t(*args):
        table = {"U": 1}
        return table["H"]  # the student's line

    result = checks.gradients(grads_t, rnn.loss, rnn.cases, rnn.wrt)
    assert result.kind == "error"
    assert "`grads_t` stopped with KeyError: 'H'." in result.sentence
    assert 'return table["H"]' in result.block
    assert result.part("U") is result, "no part can be right where nothing was returned"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(None, "empty"), (..., "empty"), (3, "type"), (lambda *a: None, "empty"), (lambda *a: 3.0, "type")],
)
def test_answer_that_is_no_function_gets_a_sentence(answer, kind, rnn):
    assert checks.gradients(answer, rnn.loss, rnn.cases, rnn.wrt).kind == kind


def test_stub_is_told_that_it_is_not_written_yet(rnn):
    def grads_t(*args):
        raise NotImplementedError

    assert "not written yet" in checks.gradients(grads_t, rnn.loss, rnn.cases, rnn.wrt).sentence


def test_student_who_changes_the_inputs_in_place_is_told_so_and_does_no_harm(rnn):
    def spoiler(g, v):
        v.H.zero_()

    assert checks.gradients(rnn.student(spoiler), rnn.loss, rnn.cases, rnn.wrt).kind == "changed"
    assert checks.gradients(rnn.student(), rnn.loss, rnn.cases, rnn.wrt).ok, "the cases are as they were"


def test_loss_that_cuts_its_graph_is_not_blamed_on_the_student(rnn):
    def cut(x, target, h_prev, L, H, I, b1, U, b2):
        return rnn.loss(x, target, h_prev, L, H, I, b1, U.detach(), b2) + 0 * U.sum()

    result = checks.gradients(rnn.student(), cut, rnn.cases, rnn.wrt)
    assert result.kind == "oracle"
    assert "`U`" in result.sentence


def test_loss_that_is_no_number_is_the_authors_error(rnn):
    with pytest.raises(ValueError, match="one number"):
        checks.gradients(rnn.student(), lambda U: U, rnn.cases, rnn.wrt)


def test_device_without_float64_is_left_and_that_is_said(rnn, monkeypatch):
    real = torch.zeros

    def zeros(*args, dtype=None, **kwargs):
        if dtype == torch.float64:
            raise TypeError("this device has no float64")
        return real(*args, dtype=dtype, **kwargs)

    case = {k: v.float() if isinstance(v, torch.Tensor) else v for k, v in rnn.cases[0].items()}
    monkeypatch.setattr("coursekit.checks.judging.cases.torch.zeros", zeros)
    result = checks.gradients(rnn.student(), rnn.loss, case, rnn.wrt)
    assert result.ok
    assert "need float64" in result.sentence


def test_student_gets_float64_even_from_float32_cases(rnn):
    seen = []
    case = {k: v.float() if isinstance(v, torch.Tensor) else v for k, v in rnn.cases[0].items()}
    result = checks.gradients(rnn.student(lambda g, v: seen.append(v.H.dtype)), rnn.loss, case, rnn.wrt)
    assert result.ok
    assert seen == [torch.float64]


def test_numpy_cases_reach_a_numpy_student():
    case = {"w": np.arange(3.0), "x": np.ones(3)}
    seen = []

    def grad(w, x):
        seen.append(type(w))
        return 2 * np.sum(w * x) * x

    assert checks.gradients(grad, lambda w, x: (w * x).sum() ** 2, case, ["w"]).ok
    assert seen == [np.ndarray]


def test_noise_of_the_student_does_not_leave_the_check(rnn, capsys, recwarn):
    def noisy(g, v):
        import sys
        import warnings

        warnings.warn("loud", stacklevel=1)
        print("to stderr", file=sys.stderr)

    assert checks.gradients(rnn.student(noisy), rnn.loss, rnn.cases, rnn.wrt).ok
    assert capsys.readouterr().err == ""
    assert not recwarn.list


def test_check_never_imports_the_compiler():
    """Entering a dispatch mode the usual way would import it, which takes two seconds in a notebook."""
    import subprocess
    import sys

    code = (
        "import sys, torch\nfrom coursekit import checks\n"
        "x = torch.randn(3, dtype=torch.float64)\n"
        "r = checks.gradients(lambda x: x, lambda x: torch.sigmoid(x).sum(), {'x': x}, ['x'])\n"
        "assert not r.ok and r.kind == 'other', r\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_wrong_entry_that_differs_from_case_to_case_is_named_for_the_case_that_is_shown():
    cases = [{"z": torch.arange(4.0, dtype=torch.float64), "k": 3}, {"z": torch.ones(5).double(), "k": 0}]
    loss = lambda z, k: torch.logsumexp(z, 0) - z[k]

    def grad(z, k, sign=1):
        found = torch.softmax(z, 0)
        found[k] += sign
        return found

    result = checks.gradients(grad, loss, cases, ["z"])
    assert result.rows[0][0] == "z[3]"
    assert result.sentence == (
        "The gradient of `z` is right but for one entry, another one in each case (here [3])."
    )
    same = checks.gradients(grad, loss, [cases[0], {**cases[1], "k": 3}], ["z"])
    assert same.sentence == "The gradient of `z` is right but for the entry [3]."


def test_a_power_of_a_number_of_the_question_is_named():
    loss = lambda w, h, T: h * w**T
    cases = [{"w": 0.7, "h": torch.tensor(0.4), "T": 6}, {"w": -1.6, "h": torch.tensor(2.0), "T": 3}]
    result = checks.gradients(lambda w, h, T: w, loss, cases, ["h"])
    assert result.sentence == "The gradient of `h` has the factor `w` not often enough, here by 5."
    assert "`w`" not in result.own
