"""What a student is told: of slips that no rule was written for, and of right answers in another style."""

import pytest
from slips import OTHER, RIGHT, SAME

from coursekit.notation import Equations

pytestmark = pytest.mark.usefixtures("engine")


def compared(reference, answer):
    """As a check does: the answer is read with the reference's signature."""
    known = Equations(reference)
    return known.compare(Equations(answer, signature=known.signature))


@pytest.mark.parametrize(
    ("model", "wrong", "kind"), [s[1:] for s in SAME + OTHER], ids=[s[0] for s in SAME + OTHER]
)
def test_a_slip_is_told_as_what_it_is(model, wrong, kind):
    found = compared(model, wrong)
    assert not found.equal
    assert found.kind == kind, found.message


@pytest.mark.parametrize(("model", "answer"), RIGHT)
def test_a_right_answer_in_another_style_is_accepted(model, answer):
    assert compared(model, answer).equal


def test_the_sentence_names_all_places_of_one_slip():
    model = "p[k] = exp(z[k]/tau) / sum[l](exp(z[l]/tau))"
    assert compared(model, model.replace("/tau", " tau")).message.startswith("You multiplied by `tau` in `p`")


def test_a_state_may_be_read_outside_two_axes_at_once():
    model = "h[u,v,j] = tanh(A[j,I] h[u-1,v-1,I] + B[j,K] x[u,v,K])"
    assert compared(model, "h[a,b,j] = tanh(A[j,M] h[a-1,b-1,M] + B[j,K] x[a,b,K])").equal
    assert compared(model, model.replace("u-1,v-1", "u,v-1")).kind == "shifted index"
