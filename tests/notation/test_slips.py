"""What a student is told: of slips that no rule was written for, and of right answers in another style."""

import pytest
from slips import CHAINS, COUNTS, GROWTHS, OTHER, RIGHT, SAME

from coursekit.notation import Derivation, Equations
from coursekit.notation.formulas.closed_form import ClosedForm
from coursekit.notation.formulas.growth import Growth

both_engines = pytest.mark.usefixtures("engine")


def compared(reference, answer):
    """As a check does: the answer is read with the reference's signature."""
    known = Equations(reference)
    return known.compare(Equations(answer, signature=known.signature))


@both_engines
@pytest.mark.parametrize(
    ("model", "wrong", "kind"), [s[1:] for s in SAME + OTHER], ids=[s[0] for s in SAME + OTHER]
)
def test_a_slip_is_told_as_what_it_is(model, wrong, kind):
    found = compared(model, wrong)
    assert not found.equal
    assert found.kind == kind, found.message


@both_engines
@pytest.mark.parametrize(("model", "answer"), RIGHT)
def test_a_right_answer_in_another_style_is_accepted(model, answer):
    assert compared(model, answer).equal


@both_engines
def test_the_sentence_names_all_places_of_one_slip():
    model = "p[k] = exp(z[k]/tau) / sum[l](exp(z[l]/tau))"
    assert compared(model, model.replace("/tau", " tau")).message.startswith("You multiplied by `tau` in `p`")


@both_engines
def test_a_state_may_be_read_outside_two_axes_at_once():
    model = "h[u,v,j] = tanh(A[j,I] h[u-1,v-1,I] + B[j,K] x[u,v,K])"
    assert compared(model, "h[a,b,j] = tanh(A[j,M] h[a-1,b-1,M] + B[j,K] x[a,b,K])").equal
    assert compared(model, model.replace("u-1,v-1", "u,v-1")).kind == "shifted index"


@both_engines
def test_a_kink_is_seen_from_both_sides():
    """The largest over many places is above zero in nearly every draw, and so is what it is added to."""
    model = "y[o] = max[t](relu(W[o,I] x[t,I] + b[o]))"
    wrong = "y[o] = max[t](relu(W[o,I] x[t,I]) + b[o])"
    assert compared(model, wrong).kind == "misplaced"


@both_engines
def test_a_letter_may_have_a_size_in_each_equation_that_the_answer_does_not_name():
    window = "centered D\npad L\n"
    model = f"{window}r[x,j] = W[D,I,j] L[x+D,I]\ng[x,j] = V[D,I,j] L[x+D,I]\nz[x,j] = sigmoid(g[x,j]) tanh(r[x,j])"
    right = f"{window}a[x,j] = tanh(W[D,I,j] L[x+D,I])\nb[x,j] = sigmoid(V[D,I,j] L[x+D,I])\nz[x,j] = a[x,j] b[x,j]"
    assert compared(model, right).equal
    assert not compared(model, right.replace("x+D", "x-D")).equal


@pytest.mark.parametrize("engine", ["torch", "python"])
@pytest.mark.parametrize(("system", "text", "verdicts"), [c[1:] for c in CHAINS], ids=[c[0] for c in CHAINS])
def test_the_first_wrong_line_of_a_chain_is_named(system, text, verdicts, engine):
    assert [step.verdict for step in Derivation(system, engine=engine).check(text)] == verdicts


@pytest.mark.parametrize(("right", "symbols", "answer", "equal"), COUNTS)
def test_a_count_is_judged_however_it_is_spelt(right, symbols, answer, equal):
    found = ClosedForm(right, symbols.split()).compare(answer)
    assert found.equal == equal
    numbers = found.message.partition("expected ")[2].rstrip(".").split(", got ")
    assert equal or len(numbers) < 2 or numbers[0] != numbers[1]


@pytest.mark.parametrize(("right", "given", "answer", "equal"), GROWTHS)
def test_a_growth_is_judged_however_it_is_spelt(right, given, answer, equal):
    assert Growth(right, given, symbols=["V", "D", "d", "n", "T", "L", "w"]).compare(answer).equal == equal
