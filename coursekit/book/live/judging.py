"""A reader's answer to a question of a page, judged: right or wrong, and the mistake by its name.

`write`, `mend`    equations that must say what `answer` says
`complete`         what stands for the … in `given`, so that it says what it says with `answer`
`differentiate`    equations for the gradient of `loss` by `wrt`, through the equations `given`
`cost`             a formula in sizes: the `count` of what `given` does, as `cost` has it
`derive`           a chain of lines about the system `given`, each following from the one before

`mistakes` are wrong answers, each with the sentence that whoever gives it hears in place of ours.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from ...notation import Equations, NotationError
from ...notation.derive.derivation import Derivation, Step
from ...notation.formulas.closed_form import ClosedForm
from ...notation.latex import latex
from ...notation.meaning.reach import finals
from ...notation.show import show
from ...notation.tree import Program
from .. import card_tabs

BLANK = "…"
COUNTS = {
    "parameters": "parameters",
    "multiply-adds": "multiply_adds",
    "other products": "elementwise",
    "function values": "functions",
}


@dataclass(frozen=True)
class Verdict:
    """`read` is the answer as it was read, typeset; `mistake` the kind of mistake, where it is known."""

    right: bool
    sentence: str
    read: str = ""
    mistake: str | None = None
    steps: tuple[dict[str, Any], ...] = ()  # of a derivation: what is to be said of each line


def judge(question: Mapping[str, Any], text: str) -> Verdict:
    """What is to be said of an answer. NotationError: it cannot be read, with the place in `text`."""
    if not text.strip():
        raise NotationError("there is nothing to judge yet: write your answer first")
    return JUDGES[question["kind"]](question, text)


def read(question: Mapping[str, Any], text: str) -> str:
    """The answer as it is read, typeset; NotationError as for `judge`."""
    if question["kind"] == "cost":
        return latex(ClosedForm(text, symbols(question)).tree)
    return card_tabs.display(_task(json.dumps(question))[1](text))


@lru_cache(16)
def _task(asked: str) -> tuple[Equations, Callable[[str], Equations], tuple[str, ...]]:
    """The right equations of a question, how an answer to it is read, and the tensors that count."""
    question = json.loads(asked)
    if question["kind"] == "complete":
        fill = partial(_filled, question)
        right = fill(question["answer"])
        return right, fill, finals(right.system)
    if question["kind"] == "differentiate":
        right, names = gradient(question)
        known = {**Equations(question["given"]).signature, **right.signature}
        return right, partial(_equations, known, names[0], question["loss"]), tuple(names)
    right = Equations(question["answer"])
    return right, partial(_equations, right.signature, right.outputs[-1], ""), finals(right.system)


# A slope of J as one says it, on the left of an answer that calls it `dW`.
_SLOPE = (
    r"\bd{0}\s*/\s*d(?=\w)|\\frac\s*\{{\\partial\s*{0}\}}\s*\{{\\partial\s+((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}"
)


def _equations(known: Mapping[str, Any], name: str, loss: str, text: str) -> Equations:
    """An answer that defines `name`, read with what is known of its tensors."""
    if "=" not in text:
        left = f"{name}[{','.join(known[name])}]" if known[name] else name
        raise NotationError(f"this is no equation yet; say what it is: `{left} = …`", text, 1, 1)
    if loss:
        text = re.sub(_SLOPE.format(loss), lambda found: f"d{found[1] or ''}", text)
    return Equations(text, signature=known)


def _filled(question: Mapping[str, Any], text: str) -> Equations:
    """What is given, with `text` for its blank; an error's place is one in `text`."""
    start, _, end = question["given"].partition(BLANK)
    try:
        return Equations(start + text.strip() + end)
    except NotationError as error:
        line, column = start.count("\n") + 1, len(start.rpartition("\n")[2])
        inside = error.line == line and error.column > column
        raise NotationError(error.message, text, int(inside), error.column - column, error.width) from None


def gradient(question: Mapping[str, Any]) -> tuple[Equations, list[str]]:
    """The equations of the gradient that is asked for, and the names of what counts in them."""
    wanted = [question["wrt"]] if isinstance(question["wrt"], str) else list(question["wrt"])
    return Equations(question["given"]).grad(question["loss"], wanted), [f"d{name}" for name in wanted]


def _compared(question: Mapping[str, Any], text: str) -> Verdict:
    right, reading, outputs = _task(json.dumps(question))
    answer = reading(text)
    tex = card_tabs.display(answer)
    if right.compare(answer, outputs=outputs, diagnose=False):
        return Verdict(True, "Right. It says the same as the book’s.", tex)
    for wrong, sentence in question.get("mistakes", {}).items():
        if reading(wrong).compare(answer, outputs=outputs, diagnose=False):
            return Verdict(False, sentence, tex)
    found = right.compare(answer, outputs=outputs)
    return Verdict(False, found.message, tex, found.kind)


def _cost(question: Mapping[str, Any], text: str) -> Verdict:
    right = ClosedForm(counted(question), symbols(question))
    answer = ClosedForm(text, right.symbols)
    found = right.compare(answer)
    known = (said for wrong, said in question.get("mistakes", {}).items() if answer.equals(wrong))
    sentence = "Right, to the last one." if found.equal else next(known, found.message)
    return Verdict(found.equal, sentence, latex(answer.tree), found.kind)


_DERIVATIVE = re.compile(r"\bd\w+(?:\[[^]]*\])?\s*/\s*d\w+")


def _derive(question: Mapping[str, Any], text: str) -> Verdict:
    """Right where every line follows, and the last one has no derivative left that the book's could do without."""
    steps = Derivation(question["given"]).check(text, question["answer"])
    told = tuple(_told(step) for step in steps)
    first = next((step for step in steps if not _holds(step)), None)
    if first is not None:
        return Verdict(False, f"Line {first.line} is the first that does not hold.", "", first.kind, told)
    last, reach = steps[-1].text if steps else "", question.get("reach", "")
    left = _derivatives(last or text) - _derivatives(question["answer"])
    if steps and not left and (not reach or re.search(rf"\b{re.escape(reach)}\b", last)):
        return Verdict(True, "Right: each line follows from the one before.", "", None, told)
    until = f" until `{reach}` stands there" if reach else ""
    more = f": `{min(left)}` can still be written out" if left else until
    return Verdict(False, f"So far so good. Go on{more}.", "", None, told)


def _derivatives(text: str) -> set[str]:
    """The derivatives in the last line of a derivation, by what is differentiated by what."""
    last = text.strip().rpartition("\n")[2].rpartition("=")[2]
    return {re.sub(r"\[[^]]*\]|\s", "", found[0]) for found in _DERIVATIVE.finditer(last)}


def _holds(step: Step) -> bool:
    return step.good or step.verdict in ("definition", "repeated")


def _told(step: Step) -> dict[str, Any]:
    told = {name: getattr(step, name) for name in ("line", "text", "sentence", "latex")}
    return {**told, "good": _holds(step)}


def counted(question: Mapping[str, Any]) -> str:
    """The polynomial that is asked for, as text."""
    costs = Equations(question["given"]).cost(question.get("parameters"))
    return str(getattr(costs, COUNTS[question["count"]]))


def symbols(question: Mapping[str, Any]) -> list[str]:
    """The sizes that an answer may speak of."""
    system = Equations(question["given"]).system
    return sorted({d for t in system.tensors.values() for d in t.dims})


def shown(question: Mapping[str, Any]) -> str:
    """The right answer as a text that would be judged right."""
    if question["kind"] == "differentiate":
        return show(Program(gradient(question)[0].program.equations))
    return counted(question) if question["kind"] == "cost" else question["answer"]


JUDGES: dict[str, Callable[[Mapping[str, Any], str], Verdict]] = {
    **dict.fromkeys(("write", "mend", "complete", "differentiate"), _compared),
    "cost": _cost,
    "derive": _derive,
}
