# ruff: noqa: E501  (a line of these tables is an equation, or a sentence)
"""Mutations: every mistake is rejected by the comparison and named, for every system of the course."""

import subprocess
import sys

import pytest
from systems import SYSTEMS

from coursekit.notation.check.checker import check
from coursekit.notation.compare.comparison import compare
from coursekit.notation.compare.mutate import mutations
from coursekit.notation.errors import NotationError
from coursekit.notation.parse.parser import parse

# Mutants that say the same as the reference. A loss that is a sum of -log of probabilities, or an entropy, is
# positive, and relu leaves it as it is.
POSITIVE_LOSSES = {
    "rnn_lm_all_losses", "rnn_lm_one_loss", "rnn_lm_step", "blank_lm", "captioning",
    "skip_gram", "focus_loss", "near_loss",
}  # fmt: skip


def equivalent(name, mutation):
    return name in POSITIVE_LOSSES and "`relu` to `J`" in mutation.sentence


def mutants(name, stride=1, start=0):
    """The well-formed mutants of a system; those that the check refuses are refused in a student's answer too."""
    reference = check(parse(SYSTEMS[name]))
    for mutation in list(mutations(reference))[start::stride]:
        try:
            yield reference, mutation, check(mutation.program)
        except NotationError:
            continue


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_mutants_compare_different(name):
    """A fifth of all mistakes, spread over the rules: each is told from its reference, but for those proved to
    say the same."""
    seen = 0
    for reference, mutation, mutant in mutants(name, stride=5, start=len(name) % 5):
        found = compare(reference, mutant, draws=2, diagnose=False)
        assert found.equal == equivalent(name, mutation), (mutation.kind, mutation.sentence)
        seen += 1
    assert seen >= 3


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "name", ["ugrnn", "captioning", "self_attention", "rnn_2d", "language_cnn", "merged_attention"]
)
def test_mutants_are_named(name):
    """A mutant's own kind is told, or that of another rule that makes the same mistake."""
    kinds = []
    for reference, mutation, mutant in mutants(name, stride=9, start=2):
        if not equivalent(name, mutation):
            kinds.append((mutation.kind, compare(reference, mutant, draws=1).kind))
    assert len(kinds) >= 4
    assert all(told not in (None, "different") for _, told in kinds), kinds
    assert sum(own == told for own, told in kinds) >= 0.8 * len(kinds), kinds


GRU = """
G1[b,t,j] = sigmoid(Wh1[j,I] h[b,t-1,I] + Wx1[j,K] x[b,t,K] - B1[j])
G2[b,t,j] = sigmoid(Wh2[j,I] h[b,t-1,I] + Wx2[j,K] x[b,t,K] - B2[j])
R[b,t,j] = tanh(WhR[j,I] G1[b,t,I] h[b,t-1,I] + WxR[j,K] x[b,t,K] - BR[j])
h[b,t,j] = (1 - G2[b,t,j]) h[b,t-1,j] + G2[b,t,j] R[b,t,j]
"""
ATTENTION = """
Q[k,t,i] = WQ[k,i,J] L[t,J]
Key[k,t,i] = WK[k,i,J] L[t,J]
alpha[k,t1,t2] = softmax[t2](1/sqrt(I) Q[k,t1,I] Key[k,t2,I])
H[k,t,i] = alpha[k,t,T2] V[k,T2,i]
"""


def sentences(text, tensor, kind):
    found = mutations(check(parse(text)))
    return [m.sentence for m in found if m.tensor == tensor and m.kind == kind]


@pytest.mark.parametrize(
    ("text", "tensor", "kind", "sentence"),
    [
        (GRU, "G1", "sign", "You added `B1[j]` in `G1`; it must be subtracted."),
        (GRU, "h", "gate swapped", "The gate `G2` is the wrong way round: `1 - G2` and `G2` must change places."),
        (GRU, "R", "activation", "You used `sigmoid` in `R`; it must be `tanh`."),
        (GRU, "R", "missing factor", "The factor `G1[b,t,I]` is missing from `R`."),
        (GRU, "R", "missing term", "The term `WxR[j,K] x[b,t,K]` is missing from `R`."),
        (GRU, "h", "wrong tensor", "You used `G1[b,t,j]` in `h` where `G2[b,t,j]` belongs."),
        (GRU, "G1", "transpose", "`Wh1` is transposed: you wrote `Wh1[I,j]`; it must be `Wh1[j,I]`."),
        (GRU, "R", "shifted index", "You read `x[b,t-1,K]` in `R`; it must be `x[b,t,K]`: the index is shifted."),
        (ATTENTION, "alpha", "softmax index", "You took the softmax over `t1`; it must run over `t2`."),
        (ATTENTION, "alpha", "scale", "You scaled by `1/I`; it must be `1/sqrt(I)`."),
        (ATTENTION, "alpha", "mask", "You masked the future (`t2 <= t1`); here every position is seen."),
        (ATTENTION, "alpha", "index swapped", "You swapped the indices `t1` and `t2` in `alpha`."),
        (ATTENTION, "H", "mean for sum", "You took the mean over `T2`; it must be the sum."),
        ("y[t,i] = sum[d](W[d,i] x[2*t+d])", "y", "stride", "The stride is wrong: you read `x[t+d]`; it must be `x[2*t+d]`."),
        ("y[t,i] = sum[d](W[d,i] x[2*t+d])", "y", "flipped window", "The window is flipped: you read `x[2*t-d]`; it must be `x[2*t+d]`."),
    ],
)  # fmt: skip
def test_sentences_tell_the_student_what_they_did(text, tensor, kind, sentence):
    assert sentence in sentences(text, tensor, kind)


def test_no_mutant_is_the_reference_itself_and_none_comes_twice():
    reference = check(parse(GRU))
    found = list(mutations(reference))
    assert all(m.new != m.old for m in found)
    assert len({(m.old, m.new) for m in found}) == len(found)
    assert len({m.kind for m in found}) >= 12


def test_mutations_can_be_limited_to_some_equations():
    assert {m.tensor for m in mutations(check(parse(GRU)), ("R",))} == {"R"}


def test_mutate_and_drawing_import_neither_torch_nor_numpy():
    code = (
        "import sys, coursekit.notation.compare.mutate, coursekit.notation.compare.mutate_windows, coursekit.notation.formulas.growth, "
        "coursekit.notation.formulas.closed_form, coursekit.notation.draw.drawing; "
        "sys.exit(any(m in sys.modules for m in ('torch', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
