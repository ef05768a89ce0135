"""Equations against a torch oracle, which shows no answer, and against the reference."""

import pytest
import torch

from coursekit import checks
from coursekit.checks import CheckFailed, Mistake
from coursekit.notation import Equations

RNN = "h[b,t,j] = sigmoid(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K] - B[j])"


def case(b, T, J, K, seed):
    g = torch.Generator().manual_seed(seed)
    r = lambda *shape: torch.randn(*shape, generator=g, dtype=torch.float64)
    return {"W": r(J, J), "U": r(J, K), "B": r(J), "x": r(b, T, K), "h0": r(b, J)}


CASES = [case(2, 5, 4, 3, 0), case(3, 4, 2, 5, 1)]


def oracle(W, U, B, x, h0):
    cell = torch.nn.RNNCell(U.shape[1], U.shape[0], dtype=torch.float64)  # for its shapes' sake only
    states, h = [], h0
    for t in range(x.shape[1]):
        h = torch.sigmoid(torch.nn.functional.linear(x[:, t], U, -B) + h @ W.mT)
        states.append(h)
    assert cell.weight_ih.shape == U.shape
    return torch.stack(states, 1)


def check(answer, **more):
    return checks.equations(answer, oracle=oracle, given=CASES, outputs=["h"], boundary={"h": "h0"}, **more)


RIGHT = pytest.mark.parametrize(
    "answer",
    [
        RNN,
        "h[b,t,k] = sigmoid(U[k,C] x[b,t,C] + W[k,A] h[b,t-1,A] - B[k])",
        "a[b,t,j] = U[j,K] x[b,t,K] - B[j]\nh[b,t,j] = sigmoid(W[j,I] h[b,t-1,I] + a[b,t,j])",
        "h[b,t,j] = 1/(1 + exp(B[j] - W[j,I] h[b,t-1,I] - U[j,K] x[b,t,K]))",
        r"h[b,t,j] = \sigma(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K] - B[j])",
    ],
    ids=["plain", "renamed", "in two steps", "rewritten", "LaTeX"],
)


@RIGHT
def test_right_equations_pass_in_every_form(answer):
    result = check(answer)
    assert result.ok, result


@pytest.mark.parametrize(
    "answer",
    [RNN.replace("- B", "+ B"), RNN.replace("sigmoid", "tanh"), RNN.replace("W[j,I]", "W[I,j]"),
     RNN.replace(" - B[j]", ""), RNN.replace("h[b,t-1,I]", "h[b,t-2,I]")],
    ids=["+B", "tanh", "transposed", "no bias", "two steps back"],
)  # fmt: skip
def test_wrong_equations_fail(answer):
    result = check(answer)
    assert not result.ok
    assert result.kind not in ("empty", "type")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (None, "empty", "no answer"), ("  ", "empty", "no answer"), (3, "type", "as text"),
        ("h[b,t,j] = sigmoid(W[j,I h[b,t-1,I])", "notation", "never closed"),
        (RNN.replace("W[", "Q["), "extra", "`Q` is not a tensor of this question"),
        (RNN.replace("h[", "g["), "missing", "`h` is asked for"),
        (RNN.replace("W[j,I]", "U[j,I]"), "notation", ""),
    ],
)  # fmt: skip
def test_equations_that_cannot_be_run_get_a_sentence(answer, kind, words):
    result = check(answer)
    assert (result.ok, result.kind) == (False, kind)
    assert words in result.sentence


def test_unreadable_equation_shows_its_line_and_a_caret():
    result = check("a[b,t,j] = U[j,K] x[b,t,K]\nh[b,t,j] = sigmoid(a[b,t,j]")
    assert "Line 2" in result.sentence
    assert "^" in result.block
    assert "h[b,t,j] = sigmoid(a[b,t,j]" in result.block


def test_named_wrong_equations_get_their_sentence():
    plus = Mistake("bias", "The course subtracts its biases.", RNN.replace("- B", "+ B"))
    odd = Mistake("odd", "Never said.", "h[b,t,j] = Z[j]")
    result = check("h[b,t,a] = sigmoid(B[a] + U[a,K] x[b,t,K] + W[a,I] h[b,t-1,I])", mistakes=[odd, plus])
    assert (result.sentence, result.mistake) == (plus.sentence, "bias")


def test_several_outputs_are_parts():
    both = lambda W, U, B, x, h0: {"a": torch.einsum("jk,btk->btj", U, x), "s": x.sum(-1)}
    answer = "a[b,t,j] = U[j,K] x[b,t,K]\ns[b,t] = 2 x[b,t,K]"
    result = checks.equations(answer, oracle=both, given=CASES)
    assert result.part("a").ok
    assert result.part("s").kind == "factor"


@RIGHT
def test_right_equations_agree_with_the_reference(answer):
    assert checks.equations(answer, RNN).ok


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(RNN.replace("- B", "+ B"), "sign"), (RNN.replace("W[j,I]", "W[I,j]"), "transpose"),
     (RNN.replace("sigmoid", "tanh"), "activation"), (RNN.replace(" - B[j]", ""), "missing term"),
     ("h[b,t,j] = sigmoid(W[j,I h[b,t-1,I])", "notation"), (RNN.replace("h[", "g["), "missing tensor")],
)  # fmt: skip
def test_wrong_equations_hear_how_they_differ_from_the_reference(answer, kind):
    result = checks.equations(answer, RNN)
    assert (result.ok, result.kind) == (False, kind)


def test_named_mistake_comes_before_the_languages_own_diagnosis():
    plus = Mistake("bias", "The course subtracts its biases.", RNN.replace("- B", "+ B"))
    odd = Mistake("odd", "Never said.", "h[b,t,j] = Z[j]")
    result = checks.equations(RNN.replace("- B", "+ B"), RNN, mistakes=[odd, plus])
    assert (result.sentence, result.mistake) == (plus.sentence, "bias")
    assert checks.equations(RNN.replace("sigmoid", "tanh"), RNN, mistakes=[odd, plus]).mistake == ""


def test_named_mistake_that_makes_no_sense_is_known_by_its_words():
    undefined = "h[b,t,j] = G[b,t,j] q"
    mistake = Mistake("undefined", "`q` has no indices here.", undefined + " + W[j,")
    result = checks.equations(" h[b,t,j]  = G[b,t,j] q + W[j,", RNN, mistakes=[mistake], hint="Close it.")
    assert (result.mistake, result.hints) == ("undefined", ("Close it.",))


def test_check_without_anything_to_compare_with_is_the_authors_error():
    with pytest.raises(ValueError, match="oracle or a reference"):
        checks.equations(RNN)


def test_under_an_oracle_an_answer_takes_over_what_the_reference_pads():
    reference = "pad x\ny[t] = x[t-1] + x[t]"
    case = {"x": torch.arange(1.0, 6.0, dtype=torch.float64)}
    oracle = lambda x: torch.nn.functional.pad(x, (1, 0))[:-1] + x
    answer = "y[t] = x[t] + x[t-1]"
    assert checks.equations(answer, reference, oracle=oracle, given=case, outputs=["y"]).ok
    assert not checks.equations(answer, oracle=oracle, given=case, outputs=["y"]).ok


def test_a_mistake_that_cannot_run_on_the_sizes_is_named():
    case = {"x": torch.ones(3, dtype=torch.float64), "W": torch.ones(2, 3, dtype=torch.float64)}
    oracle = lambda x, W: W @ x
    turned = Mistake("turned", "You multiplied by W transposed.", "y[j] = W[I,j] x[I]")
    result = checks.equations(
        "y[j] = W[I,j] x[I]", oracle=oracle, given=case, outputs=["y"], mistakes=[turned]
    )
    assert (result.mistake, result.sentence) == ("turned", "You multiplied by W transposed.")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (RNN.replace("x[b,t,K]", "x[b,t-1,K]"),
         "`x` is read outside its range, at t-1, where this question gives no value (`pad x` says that it is zero)."),
        (RNN.replace("h[b,t-1,I]", "h[b,t-2,I]"),
         "`h` is read 2 steps outside its range, and this question gives 1 step there, `h0`."),
        ("h_{b,t,j} = sigmoid(B_j)", "`b` is free on the left but not on the right."),
        (RNN.replace("U[j,K] x[b,t,K]", "U[j,I] x[b,t,I]"),
         "`J` is 4 in `W` (first axis) but 3 in `U` (second axis); `W[j,I]` with `h[b,t,j]` and `h[b,t-1,I]` with "
         "`U[j,I]` make them one."),
    ],
)  # fmt: skip
def test_what_is_read_or_written_in_a_wrong_place_is_told_to_the_student(answer, sentence):
    result = check(answer)
    assert result.sentence == sentence


def test_a_sentence_keeps_the_case_of_the_name_that_it_begins_with():
    case = {"e": torch.ones(9, 4).double(), "w": torch.tensor([8, 2, 3]), "x": torch.eye(9).double()[:3]}
    oracle = lambda e, w, x: e[w]
    turned = checks.equations("E[t,i] = e[i,w[t]]", oracle=oracle, given=case, outputs=["E"])
    assert turned.sentence == "`e` is looked up at 8, but its second axis runs from 0 to 3 (`W` is 4)."
    one_hot = checks.equations("E[t,i] = e[x[t],i]", oracle=oracle, given=case, outputs=["E"])
    assert one_hot.sentence.startswith("`x` ")


def test_a_slip_with_the_quotes_stays_in_its_line():
    slip = check("h[b,t,j] = \frac{1}{2} B[j]")
    assert slip.sentence.startswith("Python has read the `\\f` of `\\frac` as one character")


def test_equations_that_are_no_text_are_called_by_their_kind():
    assert check(Equations(RNN)).sentence == "Write the equations as text, in quotes; this is an Equations."


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("h[t,J] = CELL(h[t-1,J])", "`CELL` takes 2 arguments, `h` and `x`, and you gave it 1."),
        ("h[t,J] = CELL(h[t-1,J], x[t,K], x[t,K])", "`CELL` takes 2 arguments, `h` and `x`, and you gave it 3."),
        ("h[t,J] = LSTM(h[t-1,J], x[t,K])", "`LSTM` is not a function of this question; it gives `CELL`."),
        ("h[t,J] = CELL(x[t,K], h[t-1,J])", "`CELL` cannot use what you gave it: "),
    ],
)  # fmt: skip
def test_a_function_that_is_used_in_a_wrong_way_gets_a_sentence(answer, sentence):
    def cell(h, x):
        if len(h) == len(x):
            raise ValueError("the state is wider than the input")
        return torch.tanh(h + x.sum())

    def oracle(x, h0):
        h = [h0]
        for row in x:
            h.append(cell(h[-1], row))
        return torch.stack(h[1:])

    def wide(h, x):
        return cell(h, x) if len(h) > len(x) else cell(h, h)

    case = {"x": torch.ones(4, 2).double(), "h0": torch.ones(3).double()}
    common = {
        "oracle": oracle,
        "given": case,
        "outputs": ["h"],
        "boundary": {"h": "h0"},
        "functions": {"CELL": wide},
    }
    assert checks.equations("h[t,J] = CELL(h[t-1,J], x[t,K])", **common).ok
    result = checks.equations(answer + "\ny[t] = x[t,K]", **common)
    assert sentence in result.sentence


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (RNN.replace("- B", "+ B"), "You added B[j] in h; it must be subtracted."),
        (RNN.replace("sigmoid", "tanh"), "You used tanh in h; it must be sigmoid."),
        (RNN.replace("W[j,I]", "W[I,j]"), "W is transposed: you wrote W[I,j]; it must be W[j,I]."),
        (RNN.replace("h[b,t-1,I]", "h[b,t+1,I]"), "You read h[b,t+1,I] in h; it must be h[b,t-1,I]"),
        (RNN.replace("- B[j])", ") - B[j]"), "You put -B[j] outside sigmoid in h; it belongs inside."),
        (RNN.replace("W[j,I]", "W[I,j]").replace("- B[j])", ") - B[j]"), "h is not right"),
    ],
    ids=["+B", "tanh", "transposed", "t+1", "outside", "two changes away"],
)  # fmt: skip
def test_panel_says_what_one_change_would_mend(answer, sentence):
    result = check(answer)
    assert sentence in str(result)
    assert result.sentence.startswith("`h` is not right")


def test_a_change_is_looked_for_only_where_no_mistake_has_a_name():
    wrong = RNN.replace("- B", "+ B")
    assert check(wrong, mistakes=[Mistake("plus", "It is subtracted.", wrong)]).look is None
    assert check(wrong, mistakes=[Mistake("odd", "Never said.", "h[b,t,j] = Z[j]")]).look is not None
    assert check(RNN).look is None


def test_a_grade_knows_what_the_panel_knew():
    wrong = check(RNN.replace("- B", "+ B"), mistakes=[Mistake("odd", "Never said.", "h[b,t,j] = Z[j]")])
    with pytest.raises(CheckFailed) as caught:
        wrong.require()
    assert caught.value.sentence.startswith("You added `B[j]` in `h`")
    assert caught.value.own == "A sign is wrong in `h`."


def test_tensors_of_the_question_that_are_never_read_are_told():
    result = check(RNN.replace(" - B[j]", " - 1/2"))
    assert "h is not right, and B is never read" in str(result)


def test_a_look_that_finds_nothing_certain_says_nothing():
    case = {"W": torch.ones(3, 3).double() + torch.eye(3), "x": torch.arange(3.0).double()}
    common = {"oracle": lambda W, x: W @ x, "given": case, "outputs": ["y"]}
    for answer in ("y[j] = W[j,I] x[I] + x[j]", "y[j] = 1/3 W[j,I] x[I] + x[j]"):
        result = checks.equations(answer, **common)
        assert str(result).startswith("✗ y is not right"), result


def test_what_is_wrong_because_of_another_tensor_is_told_so():
    given = {"x": torch.randn(5, 3, generator=torch.Generator().manual_seed(1)), "h0": torch.ones(3)}

    def chain(x, h0):
        gates, states = [], [h0]
        for row in x:
            gates.append(torch.sigmoid(row + states[-1]))
            states.append(gates[-1] * states[-1] + torch.tanh(row))
        return {"G": torch.stack(gates), "h": torch.stack(states[1:])}

    made = lambda text: checks.equations(text, oracle=chain, given=given, boundary={"h": "h0"})
    mixing = "h[t,j] = G[t,j] h[t-1,j] + tanh(x[t,j])"
    assert made(f"G[t,j] = sigmoid(x[t,j] + h[t-1,j])\n{mixing}").ok
    result = made(f"G[t,j] = 1 / (2 + exp(x[t,j]) h[t-1,j])\n{mixing}")
    assert result.looked().sentence == "`G` is not right. `h` is wrong because of that."
