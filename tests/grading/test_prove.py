"""Every question of every assignment is proved: what its author promised of each answer is what the grader does."""

import json
import re
from pathlib import Path

import pytest

from coursekit.authoring.course import Course
from coursekit.authoring.source import Question, read
from coursekit.grading import Limits, Warm
from coursekit.grading.prove import Proof, prove, write_results

COURSE = Course(Path(__file__).resolve().parents[2])
RESULTS = COURSE.root / "benchmarks" / "proved.json"


@pytest.fixture(scope="session")  # so that the assignments may be proved by several workers
def slow_warm():
    with Warm(jobs=1, limits=Limits(cell_cpu=60, cell_wall=240)) as warm:
        yield warm


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", COURSE.assignments())
def test_every_question_is_proved(name, slow_warm):
    proofs = list(prove(COURSE, [name], slow_warm))
    assert [f"{p.question.id}: {c}" for p in proofs for c in p.complaints] == []
    for proof in proofs:
        assert proof.solved == pytest.approx(proof.question.points)
        assert proof.caught == proof.named == len(proof.question.mistakes)
        assert proof.later or proof.seen == len(proof.question.mistakes)
    # The sentences are locked, and the mistake is the key: none falls silent that was heard before.
    kept = {row["question"]: row for row in json.loads(RESULTS.read_text()) if row["assignment"] == name}
    assert {p.question.id: p.heard for p in proofs} == {id: row["heard"] for id, row in kept.items()}
    for proof in proofs:
        assert proof.accepted == len(proof.question.right)
        assert proof.mutants - proof.rejected <= len(proof.question.equal)


def test_the_kept_results_are_those_of_the_questions_as_they_are_now():
    """`coursekit prove --json benchmarks/proved.json` writes the table that the book shows."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    now = [
        (name, q.id, q.points, len(q.mistakes), len(q.right))
        for name in COURSE.assignments()
        for q in read(COURSE.solutions / name / f"{name}.md").questions
        if q.tests
    ]
    keys = ("assignment", "question", "points", "mistakes", "right")
    assert [tuple(row[k] for k in keys) for row in kept] == now
    for row in kept:
        assert row["ok"]
        assert row["caught"] == row["named"] == row["mistakes"]
        assert row.get("later") or row["seen"] == row["mistakes"]
        assert (row["solved"], row["blank"], row["accepted"]) == (row["points"], 0, row["right"])
    told = [row for row in kept if not row["later"]]
    assert sum(row["heard"] for row in told) >= 0.95 * sum(row["mistakes"] for row in told)


def test_results_of_one_assignment_leave_those_of_the_others(tmp_path):
    first, second = COURSE.assignments()[:2]
    path = tmp_path / "proved.json"
    write_results(path, [Proof(second, Question("a", 1, "")), Proof(first, Question("b", 1, ""))], COURSE)
    write_results(path, [Proof(first, Question("c", 1, ""))], COURSE)
    assert [(r["assignment"], r["question"]) for r in json.loads(path.read_text())] == [
        (first, "c"),
        (second, "a"),
    ]


def test_a_question_that_proves_nothing_is_found(tmp_path, slow_warm):
    """A planted fault: the hidden test accepts anything, so the mistake loses nothing and the stub earns a point."""
    folder = tmp_path / "solutions" / "loose"
    folder.mkdir(parents=True)
    (tmp_path / "_config.yml").write_text("html: {baseurl: https://book.example}\n")
    (folder / "loose.md").write_text(LOOSE)
    (proof,) = prove(Course(tmp_path), ["loose"], slow_warm)
    assert "the untouched stub earns 1" in proof.complaints
    assert "the mistake 'half' loses nothing" in proof.complaints
    assert "the visible check lets the mistake 'half' pass" in proof.complaints
    assert "it names 2 mistakes; at least 4 are needed" in proof.complaints
    assert "it has 0 other right forms; 3 are needed" in proof.complaints
    assert any(c.startswith("the mistake 'third' was told") for c in proof.complaints)
    assert "the hidden test lets this change of the solution pass: 2 * x -> x" in proof.complaints
    assert "in the hidden test x is always the same" in proof.complaints


def test_a_change_that_the_author_lists_as_equal_must_be_equal(tmp_path, slow_warm):
    folder = tmp_path / "solutions" / "loose"
    folder.mkdir(parents=True)
    (tmp_path / "_config.yml").write_text("html: {baseurl: https://book.example}\n")
    listed = '```{forms}\nequal: {"2 * x -> x": it is not}\n```\n'
    strict = (
        LOOSE.replace("    three = double(3) == 1\n", "    three = double(3) != 6 or double(4) != 8\n")
        + listed
    )
    (folder / "loose.md").write_text(strict)
    (proof,) = prove(Course(tmp_path), ["loose"], slow_warm)
    assert "it is not equal, the hidden test rejects it: 2 * x -> x" in proof.complaints
    assert not any("lets this change" in c for c in proof.complaints)


def test_a_gradient_question_needs_six_mistakes(tmp_path, slow_warm):
    folder = tmp_path / "solutions" / "loose"
    folder.mkdir(parents=True)
    (tmp_path / "_config.yml").write_text("html: {baseurl: https://book.example}\n")
    marked = "# checks.gradients(double, …)\nassert callable(double)"
    (folder / "loose.md").write_text(LOOSE.replace("assert callable(double)", marked))
    (proof,) = prove(Course(tmp_path), ["loose"], slow_warm)
    assert proof.gradient
    assert "it names 2 mistakes; at least 6 are needed" in proof.complaints


def test_the_question_that_the_guide_for_authors_writes_down_is_a_good_one(tmp_path, slow_warm):
    guide = (COURSE.root / "book" / "guides" / "authors.md").read_text(encoding="utf-8")
    question = "\n".join(re.findall(r"````md\n(.*?)````", guide, re.DOTALL)[:3])
    given = "```{given} torch\nimport torch\n```\n\n"
    folder = tmp_path / "solutions" / "guide"
    folder.mkdir(parents=True)
    (tmp_path / "_config.yml").write_text("html: {baseurl: https://book.example}\n")
    (folder / "guide.md").write_text(given + question)
    (proof,) = prove(Course(tmp_path), ["guide"], slow_warm)
    assert proof.solved == proof.question.points == 4
    assert (proof.caught, proof.seen, proof.named, proof.accepted) == (1, 1, 1, 1)
    assert proof.complaints == [
        "it names 1 mistakes; at least 4 are needed",
        "it has 1 other right forms; 3 are needed",
    ]


LOOSE = """\
```{answer} double
def double(x):
    ### SOLUTION
    return 2 * x
```
```{test} 1
assert callable(double)
### HIDDEN TESTS
try:
    three = double(3) == 1
except NotImplementedError:
    three = False
assert not three, "that is a third"
```
```{forms}
mistakes:
- half: You halved it.
  change: 2 * x -> x / 2
- third: You divided by three.
  change: 2 * x -> x / 3
```
"""
