"""`gradients`: a student's gradients against autograd and against central differences, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext

from torch import Tensor

from ..diagnosis.compare import Measured, Suspects, judge_all
from ..diagnosis.instead import Instead
from ..diagnosis.truth import Truth, agreed, explanation, targets_of
from ..judging.by_hand import by_hand_alone, measured
from ..judging.cases import Case, cases_of, collect
from ..judging.mistakes import matching
from ..judging.precision import float64, on_host
from ..judging.student import check, stop
from ..shown.result import Result, combine


@check
def gradients(
    answer: Callable[..., object] | Mapping[str, object],
    loss: Callable[..., Tensor],
    given: Case | Sequence[Case],
    wrt: Iterable[str] | Mapping[str, str],
    *,
    takes: Sequence[str] | None = None,
    by_hand: bool = True,
) -> Result:
    """Compare `answer(*case)`, a dict of gradients, with the true gradients of `loss(**case)`.

    given     the variables by name, or a list of such cases (several, with distinct sizes, are better)
    loss      a torch function of the variables that it names; nothing of the answer stands in it
    wrt       the names of the gradients; or a dict, key of the answer -> variable (`"U"`) or row (`"L[x]"`)
    takes     the variables that the student's function takes, in order (default: all of the case)
    by_hand   autograd, the course's own models and finite differences are refused

    The result has one part a gradient: `gradients(...).part("H").require()`.
    """
    targets = targets_of(wrt)
    names = [target.part for target in targets]
    cases, moved = float64(cases_of(given))
    truth = [Truth(loss, case, targets) for case in on_host(cases)]
    if not matching():  # the loss is the same, and was looked at
        agreed(truth[0])
    with by_hand_alone(answer) if by_hand else nullcontext():
        answers = collect(answer, cases, takes, names)
    rights = {name: [t.gradients[name] for t in truth] for name in names}
    by_name = {target.part: target for target in targets}

    def known(name: str) -> tuple[Suspects, Measured]:
        target = by_name[name]
        return (
            lambda tensors: explanation(target, tensors, truth),
            lambda number, entry: truth[number].difference(target, entry),
        )

    instead = Instead(cases, lambda case: Truth(loss, case, targets).gradients)
    nouns = {name: f"the gradient of `{name}`" for name in names}
    parts = judge_all(nouns, answers, rights, cases, instead, known)
    count = "The gradient is" if len(parts) == 1 else f"All {len(parts)} gradients are"
    praise = f"{count} right: autograd and central differences agree with you{moved}."
    result = combine(parts, praise)
    if result.ok and by_hand and all(measured(answers[name], rights[name]) for name in names):
        own = "The numbers have the small errors of finite differences; this question asks for the formula itself."
        stop("by hand", own)
    return result
