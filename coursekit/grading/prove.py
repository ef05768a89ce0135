"""`coursekit prove`: every question of an assignment against every answer that its author wrote down.

The solution must earn all points and the untouched release none; each named mistake must lose points and
hear its own sentence; each other right form must earn all. The visible check must agree with the hidden test on
every one of these answers, so that no tolerance, and nothing else, lets a student leave with a mistake that
costs points later.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..authoring.course import Course
from ..authoring.release import instructor_notebook
from ..authoring.source import Question, Source, read, without_markers
from .assignment import Master, master
from .outcome import Cell, Outcome, Task
from .warm import Warm

VISIBLE = "visible "  # before the id of a test's visible part
TINY = 1e-6  # points are shared among parts in floating point
GRADIENT = "checks.gradients("  # what marks a question about gradients
MISTAKES, GRADIENT_MISTAKES, RIGHT_FORMS = 4, 6, 3  # the fewest that a question may be proved with


@dataclass
class Proof:
    """What was found about one question."""

    assignment: str
    question: Question
    gradient: bool = False
    solved: float = 0.0
    blank: float = 0.0
    caught: int = 0
    named: int = 0
    seen: int = 0  # mistakes that the visible check already sees
    accepted: int = 0
    complaints: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.complaints

    def plain(self) -> dict:
        """The proof as data: what was tried and what came of it."""
        return {
            "assignment": self.assignment, "question": self.question.id, "points": self.question.points,
            "gradient": self.gradient, "solved": round(self.solved, 6), "blank": round(self.blank, 6),
            "mistakes": len(self.question.mistakes), "caught": self.caught, "named": self.named, "seen": self.seen,
            "right": len(self.question.right), "accepted": self.accepted, "ok": self.ok,
        }  # fmt: skip


def prove(course: Course, names: list[str], warm: Warm) -> Iterator[Proof]:
    """The proofs of every question, assignment by assignment."""
    from traitlets.config import Config

    for name in names:
        source = read(course.solutions / name / f"{name}.md")
        made = master(name, instructor_notebook(source, course), Config())
        yield from _prove(source, made, warm)


def _prove(source: Source, made: Master, warm: Warm) -> Iterator[Proof]:
    proofs = {q.id: _begin(source.name, q, made) for q in source.questions if q.tests}
    questions = [p.question for p in proofs.values()]
    # The solution and the untouched release are graded whole, as a class hands them in.
    tasks = [_task(made, "solution", 0, {q.id: q.solution for q in questions}, questions)]
    tasks.append(_task(made, "blank", 0, {q.id: made.by_id[q.id].released for q in questions}, questions))
    for q in questions:
        tasks += [_task(made, "mistake", n, {q.id: m.answer}, [q]) for n, m in enumerate(q.mistakes)]
        tasks += [_task(made, "right", n, {q.id: r.answer}, [q]) for n, r in enumerate(q.right)]
    for outcome in warm.grade(tasks):
        kind, number, *asked = outcome.id.split("\0")
        for name in asked:
            _judge(proofs[name], kind, int(number), outcome)
    yield from proofs.values()


def _begin(assignment: str, question: Question, made: Master) -> Proof:
    """A proof before any answer was tried: is enough written down to prove the question with?"""
    gradient = any(GRADIENT in made.by_id[test].source for test in question.tests)
    proof = Proof(assignment, question, gradient)
    fewest = GRADIENT_MISTAKES if gradient else MISTAKES
    if len(question.mistakes) < fewest:
        proof.complaints.append(f"it names {len(question.mistakes)} mistakes; at least {fewest} are needed")
    if len(question.right) < RIGHT_FORMS:
        proof.complaints.append(f"it has {len(question.right)} other right forms; {RIGHT_FORMS} are needed")
    return proof


def _task(made: Master, kind: str, number: int, answers: dict[str, str], asked: list[Question]) -> Task:
    """The notebook with these answers, its solutions elsewhere; only the questions asked are tested."""
    tests = {test for question in asked for test in question.tests}
    cells = []
    for cell in made.cells:
        if cell.role == "solution":
            text = answers.get(cell.grade_id, cell.source)
            cells.append(Cell(without_markers(text), "solution", cell.grade_id, reference=cell.source))
        elif cell.role == "test" and cell.grade_id in tests:
            if kind != "blank":
                cells.append(Cell(_visible(cell.released), "test", VISIBLE + cell.grade_id))
            cells.append(Cell(cell.source, "test", cell.grade_id, cell.points))
        elif cell.role == "test":
            cells.append(Cell(_definitions(cell.released), "given", cell.grade_id))
        elif cell.role == "given":
            cells.append(Cell(cell.source, "given", cell.grade_id or cell.cell_id))
    return Task("\0".join([kind, str(number), *(question.id for question in asked)]), tuple(cells))


def _visible(source: str) -> str:
    """What the student sees of a test, as a test: the last check must be content."""
    body = ast.parse(source).body
    if not (body and isinstance(body[-1], ast.Expr)):
        return source
    rows = source.splitlines()
    above, shown = rows[: body[-1].lineno - 1], rows[body[-1].lineno - 1 :]
    return "\n".join([*above, "_shown = (", *shown, ")", "if _shown is not None:", "    _shown.require()"])


def _definitions(source: str) -> str:
    """The cell without its checks: later tests may use its functions."""
    tree = ast.parse(source)
    kept = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign)
    return ast.unparse(ast.Module([node for node in tree.body if isinstance(node, kept)], []))


def _judge(proof: Proof, kind: str, number: int, outcome: Outcome) -> None:
    tests = [t for t in outcome.tests if t.id in proof.question.tests]
    points, most = sum(t.score for t in tests), proof.question.points
    said = " ".join(t.sentence for t in tests)
    seen = [VISIBLE + name for name in proof.question.tests]
    unhappy = [t for t in outcome.tests if t.id in seen and t.status != "passed"]
    if kind in ("solution", "right"):
        for test in unhappy:
            proof.complaints.append(f"the visible check of a right answer ({kind} {number}): {test.sentence}")
    if kind == "solution":
        proof.solved = points
        if abs(points - most) > TINY:
            proof.complaints.append(f"the solution earns {points:g} of {most:g}: {said}")
    elif kind == "blank":
        proof.blank = points
        if points:
            proof.complaints.append(f"the untouched stub earns {points:g}")
    elif kind == "right":
        name = proof.question.right[number].name
        proof.accepted += abs(points - most) <= TINY
        if abs(points - most) > TINY:
            proof.complaints.append(f"the right form {name!r} earns {points:g} of {most:g}: {said}")
    else:
        mistake = proof.question.mistakes[number]
        proof.caught += points < most - TINY
        proof.named += mistake.sentence in said
        proof.seen += bool(unhappy)
        if not unhappy:
            proof.complaints.append(f"the visible check lets the mistake {mistake.name!r} pass")
        if points >= most - TINY:
            proof.complaints.append(f"the mistake {mistake.name!r} loses nothing")
        elif mistake.sentence not in said:
            proof.complaints.append(f"the mistake {mistake.name!r} was told: {said}")


def write_results(path: Path, proofs: Iterable[Proof], course: Course) -> None:
    """Keep the results as JSON; assignments that were not proved this time keep the rows they had."""
    proved = list(proofs)
    fresh = {proof.assignment for proof in proved}
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    rows = [row for row in before if row["assignment"] not in fresh] + [proof.plain() for proof in proved]
    order = {name: n for n, name in enumerate(course.assignments())}
    kept = sorted(
        (row for row in rows if row["assignment"] in order), key=lambda row: order[row["assignment"]]
    )
    partial = path.with_suffix(".partial")
    partial.write_text("[\n" + ",\n".join(json.dumps(row) for row in kept) + "\n]\n", encoding="utf-8")
    partial.replace(path)
