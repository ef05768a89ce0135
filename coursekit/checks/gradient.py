"""`gradients`: a student's gradients against autograd and against central differences, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from torch import Tensor

from .cases import Case, Missing, Mistaken, answers_of, cases_of
from .compare import Known, judge
from .mistakes import Mistake
from .precision import float64, on_host
from .recognise import sizes_of
from .result import Result, combine
from .student import check
from .truth import Target, Truth, disagreement, explanation, targets_of


@check
def gradients(
    answer: Callable | Mapping,
    loss: Callable[..., Tensor],
    given: Case | Sequence[Case],
    wrt: Iterable[str] | Mapping[str, str],
    *,
    takes: Sequence[str] | None = None,
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Compare `answer(*case)`, a dict of gradients, with the true gradients of `loss(**case)`.

    given     the variables by name, or a list of such cases (several, with distinct sizes, are better)
    loss      a torch function of the variables that it names; nothing of the answer stands in it
    wrt       the names of the gradients; or a dict, key of the answer -> variable (`"U"`) or row (`"L[x]"`)
    takes     the variables that the student's function takes, in order (default: all of the case)
    mistakes  named mistakes; each `wrong` is a function like the student's (hidden tests only)

    The result has one part a gradient: `gradients(...).part("H").require()`.
    """
    targets = targets_of(wrt)
    names = [target.part for target in targets]
    cases, moved = float64(cases_of(given))
    truth = [Truth(loss, case, targets) for case in on_host(cases)]
    if (problem := disagreement(truth[0])) is not None:
        return problem
    answers = answers_of(answer, mistakes, cases, takes, names)
    mistaken = Mistaken(mistakes, cases, takes, names)
    rights = {name: [t.gradients[name] for t in truth] for name in names}
    sizes = [sizes_of(case) for case in cases]

    def part(target: Target) -> Result:
        name = target.part
        for value in answers[name]:
            if isinstance(value, Missing):
                return value.result
        known = Known(
            others={other: rights[other] for other in names if other != name},
            sizes=sizes,
            mistakes=lambda: mistaken.of(name),
            suspects=lambda tensors: explanation(target, tensors, truth),
            measured=lambda number, entry: truth[number].difference(target, entry),
        )
        return judge(name, f"the gradient of `{name}`", answers[name], rights[name], known)

    parts = {target.part: part(target) for target in targets}
    count = "The gradient is" if len(parts) == 1 else f"All {len(parts)} gradients are"
    praise = f"{count} right: autograd and central differences agree with you{moved}."
    return combine(parts, praise).hinted(hint)
