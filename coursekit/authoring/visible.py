"""What students see of a test, made from what the author wrote once.

Of a test that names `SOLUTION`, as in `checks.big_o(growth, SOLUTION, symbols=["V"], mistakes=MISTAKES)`, the student's
check is made: with the digest of a number or a formula, and with nothing where all answers could be tried; of one that
names `MISTAKES` alone, the same check without them. `boxes` runs each named mistake through the visible check and locks
its sentence with what came out.
"""

import ast
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from itertools import islice, zip_longest
from types import MappingProxyType
from typing import Any

from .. import checks
from ..checks.asked.notebook import run_cell
from ..checks.shown.locked import SLIP, Outcome, digest, lock
from ..checks.shown.result import PLAIN
from ..notation.formulas.closed_form import ClosedForm
from .fences import BEGIN_HIDDEN, END_HIDDEN, outside_markers, without_markers
from .mutants import equation_slips, formula_slips, slips
from .source import Question, Source, _valued

SLIPS = 160  # of one question: each is tried once
EQUATIONS = "checks.equations("
FEW = ("choice", "ordering", "edges", "big_o")  # checks whose few answers could all be tried
Locked = tuple[str, str, tuple[Outcome, ...]]  # the mistake, its sentence, what the visible check sees of it


def complete(text: str, question: Question, name: str, points: float) -> str:
    """A test that names SOLUTION or MISTAKES as a visible check and a hidden test; any other as it is."""
    shown, mark, written = text.partition(BEGIN_HIDDEN)
    if "SOLUTION" not in shown and "MISTAKES" not in shown:
        return text
    tree, rows = ast.parse(shown), shown.splitlines()
    last: Any = tree.body[-1]
    above, asked = rows[: last.lineno - 1], "\n".join(rows[last.lineno - 1 :])
    scored = isinstance(last.value, ast.Call) and getattr(last.value.func, "attr", "") == "score"
    call = last.value.func.value if scored else last.value
    seen = _hidden_away(tree, question, name) if "SOLUTION" in shown else None
    visible = ast.unparse(_Seen(seen).visit(call))
    if mark:  # the author wrote a hidden test of its own
        return "\n".join([*above, visible, mark + written])
    planted = [("", "", without_markers(question.solution))]
    known = f"SOLUTION = checks.planted({question.id!r}, {planted!r}, globals())[0].wrong"
    hidden = asked if scored else f"{asked}.score({points:g})"
    return "\n".join([*above, visible, BEGIN_HIDDEN, known, hidden, END_HIDDEN])


class _Seen(ast.NodeTransformer):
    """The call as a student runs it: digests for the solution, and no mistakes."""

    def __init__(self, instead: Any):
        self.instead = ast.parse(repr(instead), mode="eval").body

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.instead if node.id == "SOLUTION" else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        kept = [k for k in node.keywords if k.arg != "mistakes"]
        return self.generic_visit(ast.Call(node.func, node.args, kept))


def _hidden_away(tree: ast.Module, question: Question, name: str) -> Any:
    """The answer as the notebook may hold it."""
    checks = _calls_of_checks(tree)
    scope: dict[str, Any] = {"math": math}
    exec(without_markers(question.solution), scope)
    values = scope[question.id]
    kind = next((k for k in (*FEW, "closed_form", "value") if k in checks), "")
    options = {k.arg: _value(k.value, tree) for k in checks[kind].keywords if k.arg in _OPTIONS}

    def one(value: Any, part: str) -> str | None:
        salt = f"{name}/{question.id}{part}"
        if kind in FEW:
            return None
        if kind == "closed_form":
            return digest(ClosedForm(value, options["symbols"]), salt=salt)
        within = options.get("within", 1e-6)
        reach = within * abs(value) if options.get("relative", True) and value else within
        try:
            return digest(float(value), within=reach, salt=salt)
        except ValueError:  # it would be found by trying: then it is left to the grader
            return None

    if not isinstance(values, Mapping):
        return one(values, "")
    kept = {key: one(value, f".{key}") for key, value in values.items()}
    return dict.fromkeys(kept) if None in kept.values() else kept  # which of them is left out would tell


_OPTIONS = ("symbols", "within", "relative")


def _calls_of_checks(tree: ast.Module) -> dict[str, ast.Call]:
    """`checks.NAME(…)` by its name."""
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name("checks"), name)):
                found[name] = node
    return found


def _value(node: ast.expr, tree: ast.Module) -> Any:
    """A literal, or a name that the cell gives a literal."""
    given = [statement for statement in tree.body if isinstance(statement, ast.Assign)]
    named = {getattr(statement.targets[0], "id", ""): statement.value for statement in given}
    return ast.literal_eval(named.get(getattr(node, "id", ""), node))


def left_to_the_grader(text: str) -> bool:
    """Does the visible check only look at the form?"""
    calls = _calls_of_checks(ast.parse(outside_markers(text))).values()
    given = [a for call in calls for arg in call.args for a in (arg, *getattr(arg, "values", ()))]
    return any(isinstance(arg, ast.Constant) and arg.value is None for arg in given)


def speaking(text: str, key: str, hints: list[str]) -> str:
    """The test whose visible check opens the sentences kept under `key`, and has hints to show."""
    shown, mark, hidden = text.partition(BEGIN_HIDDEN)
    last = ast.parse(shown).body[-1:]
    if not last or not isinstance(last[0], ast.Expr) or not isinstance(last[0].value, ast.Call):
        return text
    more = f".named({key!r})" if key else ""
    more += f".hinted({hints!r})" if hints else ""
    call = shown.rstrip()
    return f"{call}{more}{shown[len(call) :]}{mark}{hidden}"


def made_from(source: Source) -> str:
    """A digest of all that the boxes depend on."""
    told = [(q.id, [(m.name, m.sentence, m.answer) for m in q.mistakes]) for q in source.questions]
    cells = [cell.source for cell in source.notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps([told, cells]).encode()).hexdigest()


def boxes(source: Source, kept: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The locked sentences of every visible check, by the grade_id of its test; "" has what they were made from.

    Of those that are `kept` from before, a test's are made anew only where its named mistakes come to something else
    than what is noted under "#" and its id.
    """
    import torch  # noqa: PLC0415  it takes seconds, and whoever only grades needs no boxes

    owner = {test: q for q in source.questions for test in q.tests}
    scope: dict[str, Any] = {"checks": checks}
    found = {"": made_from(source)}
    before, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are small: more threads only wait for one another
    try:
        for cell in source.notebook.cells:
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            if cell.cell_type == "code" and grade_id in owner:
                question = owner[grade_id]
                points = cell.metadata["nbgrader"]["points"]
                text = outside_markers(complete(cell.source, question, source.name, points))
                told = [(m.name, m.sentence, _told(text, m.answer, scope)) for m in question.mistakes]
                tried = [(name, sentence, getattr(one, "outcomes", ())) for name, sentence, one in told]
                salt = f"{source.name}/{question.id}"  # the digest's own: one hash serves both
                noted = repr((lock(tried, salt), text, question.solution))
                found[f"#{grade_id}"] = mark = hashlib.sha256(noted.encode()).hexdigest()[:16]
                if kept.get(f"#{grade_id}") == mark:
                    found[grade_id] = kept[grade_id]
                else:
                    if "everything" not in question.equal and "checks.operations(" not in text:
                        tried += _slips(text, cell.source.partition(BEGIN_HIDDEN)[0], question, tried, scope)
                    found[grade_id] = lock(tried, salt)
                with redirect_stdout(StringIO()):
                    run_cell(text, scope)
            elif cell.cell_type == "code":
                with redirect_stdout(StringIO()):
                    exec(without_markers(cell.source), scope)
    finally:
        torch.set_default_dtype(before)
        torch.set_num_threads(threads)
    return found


def _slips(
    text: str, asked: str, question: Question, known: list[Locked], scope: dict[str, Any]
) -> list[Locked]:
    """Slips that no author wrote down, of which the check could say no more than that something is not right."""
    found: list[Locked] = []
    taken = {outcome for _, _, outcomes in known for outcome in outcomes}
    for sentence, answer in islice(_likely(asked, question, scope), SLIPS):
        told = _told(text, answer, scope)
        outcomes = getattr(told, "outcomes", ())
        if outcomes and told.kind in PLAIN and not taken & set(outcomes):
            found.append((f"{SLIP}{sentence}", sentence, outcomes))
            taken |= set(outcomes)
    return found


def _likely(asked: str, question: Question, scope: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What each slip is called, and the answer cell with it."""
    if re.search(rf"^def {question.id}\(", question.solution, re.MULTILINE):
        yield from slips(question.solution)
        return
    right = dict(scope)
    exec(without_markers(question.solution), right)
    if EQUATIONS in asked and isinstance(right[question.id], str):
        for sentence, slip in equation_slips(right[question.id]):
            yield sentence, _valued(question, slip)
    elif "checks.closed_form(" in asked:
        value, named = right[question.id], re.findall(r"symbols ?= ?\[(.*?)\]", asked)
        symbols = [name.strip(" '\"") for name in ",".join(named).split(",") if name.strip()]
        entries = value if isinstance(value, Mapping) else {"": value}
        each = [formula_slips(formula, [*dict.fromkeys(symbols)]) for formula in entries.values()]
        for row in zip_longest(*each, fillvalue=("", "")):  # of each entry the likeliest ones
            for key, (said, slip) in zip(entries, row, strict=True):
                if said:
                    yield said, _valued(question, {key: slip} if key else slip)


def _told(text: str, answer: str, scope: dict[str, Any]) -> Any:
    """What the visible check says to an answer."""
    own = dict(scope)
    try:
        exec(without_markers(answer), own)
        with redirect_stdout(StringIO()):
            return run_cell(text, own)
    except Exception:  # noqa: BLE001  an answer that stops before the check is told by its error
        return None
