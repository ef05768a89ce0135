"""Questions of a page: what the build refuses, and what each kind of answer hears, without a browser."""

import json
import re
from contextlib import suppress

import pytest
import yaml
from built import CHAPTERS, ROOT

from coursekit.book.live import answers, judging, practice
from coursekit.book.questions import QuestionError, prove
from coursekit.notation import Equations, NotationError
from coursekit.notation.functions import FUNCTIONS
from coursekit.notation.show import show
from coursekit.notation.tree import Program

WRITE = {"kind": "write", "answer": "y[b,j] = tanh(W[j,I] x[b,I] - B[j])"}
DIFFERENTIATE = {
    "kind": "differentiate", "given": "y[b,j] = tanh(W[j,I] x[b,I])\nJ = g[B,J] y[B,J]", "loss": "J", "wrt": "W",
}  # fmt: skip
COST = {
    "kind": "cost", "given": "h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K])", "count": "multiply-adds",
}  # fmt: skip
MEND = {
    "kind": "mend", "start": "m[t] = a m[t-1] + (1 + a) x[t]", "answer": "m[t] = a m[t-1] + (1 - a) x[t]",
}  # fmt: skip
COMPLETE = {"kind": "complete", "given": "z[t,j] = W[j,I] x[t,I]\ny[t,j] = …", "answer": "exp(z[t,j])"}
DERIVE = {
    "kind": "derive", "given": "z[j] = W[j,I] x[I]\nh[j] = sigmoid(z[j])\nJ = g[J] h[J]",
    "start": "dJ/dz[j] = dJ/dh[J] dh[J]/dz[j]",
    "answer": "dJ/dz[j] = dJ/dh[J] dh[J]/dz[j]\n= dJ/dh[j] h[j] (1 - h[j])\n= g[j] h[j] (1 - h[j])",
}  # fmt: skip

# question, an answer, whether it is right, words of what it hears
HEARD = [
    (WRITE, "y[c,k] = tanh(x[c,I] W[k,I] - B[k])", True, "Right"),
    (WRITE, "y[b,j] = tanh(W[j,I] x[b,I] + B[j])", False, "it must be subtracted"),
    (WRITE, "y[b,j] = tanh(W[I,j] x[b,I] - B[j])", False, "transposed"),
    (DIFFERENTIATE, "dW[j,i] = g[B,j] (1 - y[B,j]^2) x[B,i]", True, "Right"),
    (DIFFERENTIATE, "dW[j,i] = g[B,j] x[B,i]", False, "is missing"),
    (DIFFERENTIATE, "dJ/dW[j,i] = g[B,j] (1 - y[B,j]^2) x[B,i]", True, "Right"),
    (
        DIFFERENTIATE,
        r"\frac{\partial J}{\partial W_{ji}} = \sum_b g_{bj} (1 - y_{bj}^2) x_{bi}",
        True,
        "Right",
    ),
    (WRITE, r"y_{bj} = \tanh(\sum_i W_{ji} x_{bi} - B_j)", True, "Right"),
    (COST, "T*B*J*(K + J)", True, "Right"),
    (COST, "B T J K", False, "A term is missing"),
    (MEND, "m[t] = x[t] - a x[t] + a m[t-1]", True, "Right"),
    (MEND, MEND["start"], False, "On random numbers"),
    (COMPLETE, "exp(W[j,I] x[t,I])", True, "Right"),
    (COMPLETE, "exp(-z[t,j])", False, "On random numbers"),
    (
        {**WRITE, "mistakes": {"y[b,j] = W[j,I] x[b,I] - B[j]": "No function."}},
        "y[c,k] = x[c,I] W[k,I] - B[k]",
        False,
        "No function.",
    ),
    (
        {**COST, "mistakes": {"B T J K": "The state is forgotten."}},
        "K J T B",
        False,
        "The state is forgotten.",
    ),
    (DERIVE, DERIVE["answer"], True, "each line follows"),
    (DERIVE, DERIVE["start"], False, "`dJ/dh` can still be written out"),
    (DERIVE, DERIVE["start"] + "\n= dJ/dh[j] h[j]", False, "Line 2 is the first that does not hold"),
]


@pytest.mark.parametrize(("question", "text", "right", "words"), HEARD)
def test_an_answer_hears_what_it_deserves(question, text, right, words):
    verdict = judging.judge(question, text)
    assert verdict.right is right
    assert words in verdict.sentence


def test_a_derivation_is_judged_line_by_line():
    verdict = judging.judge(DERIVE, DERIVE["start"] + "\n= dJ/dh[j] h[j]\n= dJ/dh[j] h[j]^2 / h[j]")
    assert [(s["line"], s["good"]) for s in verdict.steps] == [(1, True), (2, False), (3, True)]
    assert "The factor `1 - h[j]` is missing" in verdict.steps[1]["sentence"]
    assert verdict.mistake == "missing factor"


def test_a_derivative_is_called_as_the_reader_writes_it():
    given = "h[t,j] = H[j,K] h[t-1,K] + x[t,j]\nJ = g[T,J] h[T,J]"
    lines = "dJ/dh[t,j] = g[t,j] + dJ/dh[t+1,K] dh[t+1,K]/dh[t,j]\n= g[t,j] + dJ/dh[t+1,K] H[j,K]"
    verdict = judging.judge({"kind": "derive", "given": given, "answer": lines}, lines)
    assert "`dh/dh`" in verdict.steps[1]["sentence"]
    assert "|" not in verdict.steps[1]["sentence"]


def test_an_answer_without_its_left_side_is_told_how_to_begin():
    with pytest.raises(NotationError, match=r"this is no equation yet; say what it is: `dW\[j,i\] = …`"):
        judging.judge(DIFFERENTIATE, "g[B,j] (1 - y[B,j]^2) x[B,i]")


def test_an_error_in_a_blank_has_its_place_in_what_was_typed():
    with pytest.raises(NotationError) as raised:
        judging.judge(COMPLETE, "exp(z[t,j")
    assert (raised.value.line, raised.value.column) == (1, 6)
    with pytest.raises(NotationError) as raised:
        judging.judge({**COMPLETE, "given": "y[t,j] = …\nz[t] = y[t,k]", "answer": "x[t,j]"}, "x[t,j]")
    assert raised.value.line == 0, "the place is not in the reader's text"


REFUSED = [
    ("a text", "one of write, mend"),
    ({"kind": "guess"}, "one of write, mend"),
    ({"kind": "write"}, "`answer` is missing"),
    ({**WRITE, "anser": "y = x"}, "`anser` is not known"),
    ({"kind": "write", "answer": "y[b] = x[b,"}, "is never closed"),
    ({**WRITE, "wrong": {"y[b,j] = tanh(x[b,I] W[j,I] - B[j])": ""}}, "is judged right"),
    (
        {**WRITE, "wrong": {"y[b,j] = tanh(W[j,I] x[b,I] + B[j])": "the moon"}},
        "must hear “the moon”, and hears",
    ),
    ({**MEND, "start": MEND["answer"]}, "is judged right"),
    ({**COST, "count": "apples"}, "`count` is one of parameters, multiply-adds"),
    ({**DERIVE, "answer": DERIVE["answer"] + "\n= g[j]"}, "its own answer is judged wrong"),
    ({"kind": "choose", "options": [["a", True, "b"]]}, "at least one right and one wrong"),
    ({"kind": "order", "lines": ["a", "b", "a"]}, "at least three, all different"),
]


@pytest.mark.parametrize(("question", "words"), REFUSED)
def test_a_question_that_cannot_be_asked_is_refused(question, words):
    with pytest.raises((QuestionError, NotationError), match=words):
        prove(question)


def asked_in(chapter):
    """Every question of a chapter's text: its name and its facts."""
    for block in (ROOT / f"{chapter}.md").read_text().split("\n```{question} ")[1:]:
        text = block.split("\n```\n")[0]
        yield text.split("\n")[0], yaml.safe_load(text.partition("\n---\n")[2])


ASKED = {chapter: list(asked_in(chapter)) for chapter in CHAPTERS}
FACTS = {name: facts for questions in ASKED.values() for name, facts in questions}


def test_the_chapters_questions_are_all_different_and_of_every_kind():
    assert len(FACTS) == sum(map(len, ASKED.values()))
    assert {facts["kind"] for facts in FACTS.values()} == {*judging.JUDGES, "choose", "order"}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_asks_at_least_four_questions_of_several_kinds_each_with_two_hints(chapter):
    assert len(ASKED[chapter]) >= 4
    assert len({facts["kind"] for _, facts in ASKED[chapter]}) >= 4
    assert [name for name, facts in ASKED[chapter] if len(facts.get("hints", ())) < 2] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_answers_of_a_chapter_are_right_and_their_mistakes_hear_their_sentences(chapter):
    for name, facts in ASKED[chapter]:
        prove(facts)
        named = [*(facts.get("wrong") or {}).values(), *(facts.get("mistakes") or {}).values()]
        assert all(named), f"{name}: a mistake without words"
        assert named or facts["kind"] in ("choose", "order") or name in UNNAMED, name


UNNAMED = {"rewriting-derive"}  # each step is a regrouping: a wrong one is named by the line itself


# ── nothing here is graded elsewhere ─────────────────────────────────────────────────────────


def normal_form(text):
    """The equations as a set, every name and index called after the order in which it comes."""
    equations = Equations(text)
    lines = []
    for equation in equations.program.equations:
        names = {}
        shown = show(Program((equation,)))
        lines.append(re.sub(r"[A-Za-z_]\w*", lambda m, n=names: _called(m[0], n), shown))
    return frozenset(lines)


def _called(word, names):
    if word in FUNCTIONS or word in ("sum", "softmax"):
        return word
    return names.setdefault(word.lower() if len(word) == 1 else word, f"n{len(names)}")


def graded():
    """Of every graded answer that is equations its normal form, and of every problem its words."""
    forms, words = {}, []
    for path in sorted((ROOT / "solutions").glob("*/*.md")):
        text = path.read_text()
        words += [_words(part) for part in re.findall(r"\*\*Problem \d+\*\*(.*?)\n```", text, re.DOTALL)]
        for block in re.findall(r"^```\{(?:answer|test)\}.*?\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            for found in re.findall(r'"""(.*?)"""|"([^"\n]*=[^"\n]*)"', block, re.DOTALL):
                with suppress(NotationError):
                    forms[normal_form("".join(found))] = "".join(found)
    return forms, words


def _words(text):
    return set(re.findall(r"[a-z]{3,}", text.lower()))


def asked_for(facts):
    """What an answer to the question says, in equations; of a question about a cost what is counted."""
    if facts["kind"] == "complete":
        return facts["given"].replace(judging.BLANK, facts["answer"])
    return facts["given"] if facts["kind"] == "cost" else judging.shown(facts)


def test_no_question_of_a_chapter_repeats_a_graded_one():
    forms, words = graded()
    assert len(forms) > 20
    assert len(words) > 100
    renamed = "u[a,n] = c[a,Q] M[Q,n] + d[n]"  # a graded layer in other letters must be found
    assert normal_form(renamed) in forms
    for chapter in CHAPTERS:
        text = (ROOT / f"{chapter}.md").read_text()
        for name, facts in ASKED[chapter]:
            own = _words(text.split(f"{{question}} {name}\n")[1].split("\n---\n")[0])
            assert max(len(own & other) / len(own | other) for other in words) < 0.5, name
            if facts["kind"] in judging.JUDGES and facts["kind"] != "derive":
                assert normal_form(asked_for(facts)) not in forms, name


# ── practice ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("level", range(1, practice.LEVELS + 1))
def test_every_question_made_by_chance_has_an_answer_that_is_right_and_a_mistake_that_is_one(level):
    named = []
    for number in range(9):
        question = practice.question(11, level, number)
        assert judging.judge(question, judging.shown(question)).right
        if question["kind"] == "mend":
            verdict = judging.judge(question, question["start"])
            assert not verdict.right
            named.append(verdict.mistake == question["planted"])
    assert sum(named) >= 2, "the planted mistake is called by its name"


def test_the_same_seed_gives_the_same_ten_questions():
    ten = [practice.question(5, 2, n) for n in range(10)]
    assert ten == [practice.question(5, 2, n) for n in range(10)]
    assert ten != [practice.question(6, 2, n) for n in range(10)]
    assert {q["kind"] for q in ten} == set(practice.ASKED)


# ── numbers ──────────────────────────────────────────────────────────────────────────────────


def test_the_numbers_of_the_page_are_what_torch_computes():
    import torch

    text = "e[t,i] = L[w[t],i]\nh[t,j] = tanh(W[j,I] h[t-1,I] + V[j,K] e[t,K])"
    told = json.loads(answers.answer(json.dumps({"kind": "numbers", "text": text, "seed": 3})))
    shown = {row[0][7:-1]: json.loads(row[1]) for row in told["blocks"][0]["table"][1:]}
    inputs = {
        n: torch.tensor(shown[n], dtype=torch.long if n == "w" else torch.float64)
        for n in ("L", "w", "W", "V")
    }
    made = Equations(text).run(inputs, boundary={"h": torch.zeros(len(shown["W"]), dtype=torch.float64)})
    assert torch.allclose(made["h"], torch.tensor(shown["h"], dtype=torch.float64), atol=2e-3)


def test_a_size_that_is_too_large_for_the_page_is_refused():
    told = json.loads(
        answers.answer(json.dumps({"kind": "numbers", "text": "y[i] = x[i]", "sizes": {"I": 40}}))
    )
    assert told["error"]["message"] == "the size I is 40; in the page a size is from 1 to 9"
