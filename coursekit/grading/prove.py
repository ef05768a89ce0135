"""`coursekit prove`: every question of an assignment against every answer that its author wrote down.

The solution earns all points and the untouched release none; each named mistake loses points and hears its own
sentence; each other right form earns all; and the visible check agrees with the hidden test on every one of them.
Answers that nobody wrote down are tried too: small changes of the solution, which the hidden test must reject unless
the author lists them as equal, and its answer in other forms, which are right.
"""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..authoring.corners import FORMS, narrow, text_forms
from ..authoring.course import Course
from ..authoring.fences import inside_markers, without_markers
from ..authoring.mutants import mutants
from ..authoring.release import instructor_notebook, settings
from ..authoring.source import Question, read
from ..authoring.visible import left_to_the_grader
from ..files import write
from .assignment import master
from .confine.limits import Limits
from .facts import Master, MasterCell
from .run.outcome import IN_CANDIDATE, Cell, Task, TestOutcome
from .run.warm import Warm

TOGETHER = 16  # answers that are tried in one task
LIMITS = Limits(cell_cpu=60, cell_wall=240, notebook_wall=1800, restarts=20)
EVERYTHING = "everything"  # an author lists this as equal where a test takes too long for mutants
PROBED = "the arguments"  # the id of the cell that shows what the probe wrote down
PROBE = """
from coursekit.authoring.corners import recorded
seen_arguments = {{}}
{name} = recorded({name}, seen_arguments)
"""
FORMED = """
from coursekit.authoring.corners import in_form
{name} = in_form({name}, {form!r}, {returns!r})
"""
WHOLE = "whole "  # before the kind of a notebook that is graded whole
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
    heard: int = 0  # mistakes whose own sentence it says
    later: bool = False  # few answers are possible: the visible check looks at the form alone
    accepted: int = 0
    mutants: int = 0
    rejected: int = 0  # mutants that lose points
    complaints: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """The proof as data: what was tried and what came of it."""
        asked = self.question
        counts = ["caught", "named", "seen", "heard", "later", "accepted", "mutants", "rejected"]
        return {
            "assignment": self.assignment, "question": asked.id, "points": asked.points, "gradient": self.gradient,
            "solved": round(self.solved, 6), "blank": round(self.blank, 6),
            "mistakes": len(asked.mistakes), "right": len(asked.right),
        } | {name: getattr(self, name) for name in counts} | {"ok": not self.complaints}  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One answer: the solution, the stub, a mistake, a right form, a mutant, or a probe of the test's inputs."""

    kind: str
    name: str
    answer: str


def prove(course: Course, names: list[str], warm: Warm) -> Iterator[Proof]:
    """The proofs of every question, assignment by assignment; while one is finished the next has begun."""
    begun: dict[str, _Assignment] = {}

    def tasks() -> Iterator[Task]:
        for name in names:
            begun[name] = _Assignment(course, name)
            yield from begun[name].tasks

    next_ones = list(names)
    for outcome in warm.grade(tasks()):
        assignment, _, what = outcome.id.partition("/")
        begun[assignment].judge(what, outcome.tests)
        while next_ones and next_ones[0] in begun and not begun[next_ones[0]].left:
            yield from begun[next_ones.pop(0)].proofs.values()


class _Assignment:
    """The proofs of its questions, and the tasks that they wait for."""

    def __init__(self, course: Course, name: str) -> None:
        source = read(course.source(name))
        made = master(name, instructor_notebook(source, course), settings())
        bare = master(name, instructor_notebook(source, course, named=False), settings())
        self.proofs = {q.id: _begin(name, q, made) for q in source.questions if q.tests}
        questions = [p.question for p in self.proofs.values()]
        self.trials = {q.id: _trials(q, made) for q in questions}
        self.tasks = [_whole(made, kind, questions) for kind in ("solution", "blank")]
        for q in questions:
            firsts = range(0, len(self.trials[q.id]), TOGETHER)
            self.tasks += [_task(made, bare, q, self.trials[q.id], first) for first in firsts]
        self.left = len(self.tasks)

    def judge(self, what: str, tests: Iterable[TestOutcome]) -> None:
        self.left -= 1
        if what.startswith(WHOLE):
            whole = Trial(what.removeprefix(WHOLE), "", "")
            for proof in self.proofs.values():
                _judge(proof, whole, {test.id: test for test in tests})
            return
        by_trial: dict[int, dict[str, TestOutcome]] = defaultdict(dict)
        for test in tests:
            number, _, of = test.id.partition(" ")
            by_trial[int(number)][of] = test
        for at, found in by_trial.items():
            _judge(self.proofs[what], self.trials[what][at], found)


def _begin(assignment: str, question: Question, made: Master) -> Proof:
    """A proof before any answer was tried: is enough written down to prove the question with?"""
    gradient = any(GRADIENT in made.by_id[test].source for test in question.tests)
    later = any(left_to_the_grader(made.by_id[test].source) for test in question.tests)
    proof = Proof(assignment, question, gradient, later=later)
    fewest = GRADIENT_MISTAKES if gradient else MISTAKES
    if len(question.mistakes) < fewest:
        proof.complaints.append(f"it names {len(question.mistakes)} mistakes; at least {fewest} are needed")
    if len(question.right) < RIGHT_FORMS:
        proof.complaints.append(f"it has {len(question.right)} other right forms; {RIGHT_FORMS} are needed")
    return proof


def _trials(question: Question, made: Master) -> list[Trial]:
    found = [Trial("mistake", m.name, m.answer) for m in question.mistakes]
    found += [Trial("right", r.name, r.answer) for r in question.right]
    if EVERYTHING in question.equal:
        return found
    found += [Trial("mutant", name, text) for name, text in mutants(question.solution).items()]
    if re.search(rf"^def {question.id}\(", question.solution, re.MULTILINE):
        found.append(Trial("probe", "", question.solution + PROBE.format(name=question.id)))
        tests = "".join(made.by_id[test].source for test in question.tests)
        names = re.search(r"returns=(\[[^\]]*\])", tests)
        returns = ast.literal_eval(names[1]) if names else []
        for form in FORMS:
            text = FORMED.format(name=question.id, form=form, returns=returns)
            found.append(Trial("form", form, question.solution + text))
    elif not any("checks.derivation(" in made.by_id[test].source for test in question.tests):
        found += [Trial("form", form, text) for form, text in _written(question.solution)]
    return [t for t in found if t.kind != "form" or t.name not in question.equal]


def _written(solution: str) -> Iterator[tuple[str, str]]:
    """A solution whose answer is equations, with these written in other ways."""
    tree = ast.parse(without_markers(solution))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "=" in node.value:
            text = node.value
            for form, node.value in text_forms(text):
                yield form, ast.unparse(tree)
            node.value = text


def _whole(made: Master, kind: str, asked: list[Question]) -> Task:
    """The solution and the untouched release are graded whole, as a class hands them in."""
    tests = {test for question in asked for test in question.tests}
    cells = []
    for cell in made.cells:
        if cell.role == "test" and cell.grade_id in tests:
            if kind == "solution":
                cells.append(Cell(_visible(cell.released), "test", VISIBLE + cell.grade_id))
            cells.append(cell.as_task())
        elif cell.role in ("solution", "given"):
            cells.append(cell.as_task(cell.released if kind == "blank" else without_markers(cell.source)))
    return Task(f"{made.name}/{WHOLE}{kind}", tuple(cells))


def _task(made: Master, bare: Master, question: Question, trials: list[Trial], first: int) -> Task:
    """The notebook up to a question, solved; then one answer after the other, each with its tests."""
    cells: list[Cell] = []
    for cell in made.cells:
        if cell.grade_id == question.id:
            break
        if cell.role == "test":
            cells.append(Cell(_definitions(cell.released), "given", cell.grade_id))
        elif cell.role in ("solution", "given"):
            cells.append(cell.as_task(without_markers(cell.source)))
    for number, trial in enumerate(trials[first : first + TOGETHER], start=first):
        # Only names that the reference binds may come over from the answer's process.
        reference = trial.answer if trial.kind == "probe" else made.by_id[question.id].source
        cells.append(Cell(without_markers(trial.answer), "solution", question.id, reference=reference))
        # The visible check and the hidden test are run each by itself: each must judge the answer rightly.
        promised = trial.kind in ("mistake", "right", "form")
        for test in (made.by_id[name] for name in question.tests):
            if promised:
                cells.append(Cell(_visible(test.released), "test", f"{number} {VISIBLE}{test.grade_id}"))
            hidden = _hidden((made if promised else bare).by_id[test.grade_id])
            cells.append(Cell(hidden, "test", f"{number} {test.grade_id}", test.points))
        if trial.kind == "probe":
            cells.append(Cell("print(seen_arguments)", "test", f"{number} {PROBED}"))
    return Task(f"{made.name}/{question.id}", tuple(cells), LIMITS)


def _visible(source: str) -> str:
    """What the student sees of a test, as a test: the last check must be content."""
    body = ast.parse(source).body
    if not (body and isinstance(body[-1], ast.Expr)):
        return source
    rows = source.splitlines()
    above, shown = rows[: body[-1].lineno - 1], rows[body[-1].lineno - 1 :]
    return "\n".join([*above, "_shown = (", *shown, ")", "if _shown is not None:", "    _shown.require()"])


def _hidden(test: MasterCell) -> str:
    """The hidden part of a test alone, with what it needs of the visible one."""
    hidden = inside_markers(test.source)
    mark = "# coursekit: in-candidate\n" if IN_CANDIDATE.search(test.source) else ""
    return mark + _definitions(test.released) + "\n" + hidden if hidden.strip() else test.source


def _definitions(source: str) -> str:
    """The cell without its checks: later tests may use its functions."""
    tree = ast.parse(source)
    kept = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign)
    return ast.unparse(ast.Module([node for node in tree.body if isinstance(node, kept)], []))


def _judge(proof: Proof, trial: Trial, outcomes: dict[str, TestOutcome]) -> None:
    """Hold what an answer got against what it should have got."""
    question, complain = proof.question, proof.complaints.append
    tests = [outcomes[name] for name in question.tests]
    visible = [outcomes[VISIBLE + name] for name in question.tests if VISIBLE + name in outcomes]
    unhappy = [t for t in visible if t.status != "passed"]
    points, most = sum(t.score for t in tests), question.points
    full = points >= most - TINY
    said = " ".join(t.sentence for t in tests)
    if trial.kind in ("solution", "right", "form"):
        for test in unhappy:
            complain(f"the visible check of a right answer ({trial.kind} {trial.name!r}): {test.sentence}")
    if trial.kind == "solution":
        proof.solved = points
        if not full:
            complain(f"the solution earns {points:g} of {most:g}: {said}")
    elif trial.kind == "blank":
        proof.blank = points
        if points:
            complain(f"the untouched stub earns {points:g}")
    elif trial.kind in ("right", "form"):
        proof.accepted += full and trial.kind == "right"
        if not full:
            complain(f"the right form {trial.name!r} earns {points:g} of {most:g}: {said}")
    elif trial.kind == "mutant":
        for piece in _leaked(said, trial.answer, without_markers(question.solution)):
            complain(f"a student's page would hold {piece!r} of the right answer, after {trial.name}: {said}")
        proof.mutants += 1
        proof.rejected += not full
        if full and trial.name not in question.equal:
            complain(f"the hidden test lets this change of the solution pass: {trial.name}")
        elif not full and trial.name in question.equal:
            complain(f"it is not equal, the hidden test rejects it: {trial.name}")
    elif trial.kind == "probe":
        printed = "".join(str(o.data) for o in outcomes[PROBED].outputs if o.kind == "stdout")
        if not printed:
            complain(f"the inputs of its hidden test could not be read: {outcomes[PROBED].sentence}")
        for left_out in narrow(ast.literal_eval(printed.strip() or "{}"), question.solution):
            if left_out not in question.equal:
                complain(f"in the hidden test {left_out}")
    else:
        (sentence,) = (m.sentence for m in question.mistakes if m.name == trial.name)
        proof.caught += not full
        proof.named += sentence in said
        proof.seen += bool(unhappy)
        proof.heard += any(sentence in test.sentence for test in unhappy)
        if not unhappy and not proof.later:
            complain(f"the visible check lets the mistake {trial.name!r} pass")
        if full:
            complain(f"the mistake {trial.name!r} loses nothing")
        elif sentence not in said:
            complain(f"the mistake {trial.name!r} was told: {said}")


def _leaked(said: str, answer: str, solution: str) -> list[str]:
    """The formulas, words and numbers in a sentence that stand in the solution and not in the answer."""
    pieces = re.findall(r"`([^`]+)`", said) + re.findall(r"(?<![\w.\[])\d+\.\d+|(?<![\w.\[,])\d{3,}", said)
    mine, right = ("".join(text.split()) for text in (answer, solution))
    bare = ["".join(piece.split()) for piece in pieces]
    return [piece for piece in bare if len(piece) > 1 and piece in right and piece not in mine]


def write_results(path: Path, proofs: Iterable[Proof], course: Course) -> None:
    """Keep the results as JSON; assignments that were not proved this time keep the rows they had."""
    proved = list(proofs)
    fresh = {proof.assignment for proof in proved}
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    rows = [row for row in before if row["assignment"] not in fresh] + [proof.plain() for proof in proved]
    kept = [json.dumps(row) for name in course.assignments() for row in rows if row["assignment"] == name]
    write(path, "[\n" + ",\n".join(kept) + "\n]\n")
