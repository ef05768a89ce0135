"""`function` and `gradients`: what a student's function returns against a trusted one, in float64."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import Tensor

from ..diagnosis.instead import Instead
from ..diagnosis.recognise import Measured, Suspects, judge
from ..diagnosis.truth import Truth, agreed, explanation, targets_of
from ..judging.by_hand import by_hand_alone, measured
from ..judging.cases import Case, collect, float64, on_host, split
from ..judging.outcome import matching
from ..judging.student import Stopped, check, name_of, stop
from ..shown.result import Result


@check
def function(
    answer: Callable[..., object],
    oracle: Callable[..., object],
    given: Case | Sequence[Case],
    *,
    returns: Sequence[str] = ("result",),
    takes: Sequence[str] | None = None,
    by_hand: bool = False,
) -> Result:
    """Compare `answer(*case)` with `oracle(*case)`; `returns` names the values that both return.

    The oracle is a torch module or function that is not the answer written out (`torch.nn.GRUCell`), or,
    in a hidden test, the solution. One part a returned value. With `by_hand` autograd and the course's own models
    are refused.

    >>> function(lambda x: x + x, lambda x: 2 * x, {"x": 0.3}).ok
    True
    """

    def right(case: Case) -> dict[str, Tensor]:
        with torch.no_grad():
            values = split(oracle(*(case[name] for name in (takes or case))), returns, "the oracle")
        for part in returns:
            if isinstance(values[part], Stopped):
                raise ValueError(f"the oracle returns no {part!r}")
        return {part: torch.as_tensor(value).detach().double() for part, value in values.items()}

    cases, moved = float64(given)
    rights = [right(case) for case in on_host(cases)]
    with by_hand_alone(answer) if by_hand else nullcontext():
        answers = collect(answer, cases, takes, returns)
    nouns = {part: f"`{part}`" if len(returns) > 1 else f"what {name_of(answer)} returns" for part in returns}
    praise = f"Right: {name_of(answer)} returns what it should in every case{moved}."
    result = judge(nouns, answers, rights, cases, Instead(cases, right), praise)
    if len(returns) == 1:
        result = replace(result, parts={}, look=result.parts[returns[0]].look)
    return result


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
    """Compare `answer(*case)`, a dict of gradients, with the true gradients of `loss(**case)`: by autograd, which is
    held against central differences.

    given     the variables by name, or a list of such cases (several, with distinct sizes, are better)
    loss      a torch function of the variables that it names; nothing of the answer stands in it
    wrt       the names of the gradients; or a dict, key of the answer -> variable (`"U"`) or row (`"L[x]"`)
    takes     the variables that the student's function takes, in order (default: all of the case)
    by_hand   autograd, the course's own models and finite differences are refused

    The result has one part a gradient: `gradients(...).part("H").require()`.
    """
    targets = {target.part: target for target in targets_of(wrt)}
    cases, moved = float64(given)
    truth = [Truth(loss, case, [*targets.values()]) for case in on_host(cases)]
    if not matching():  # the loss is the same, and was looked at
        agreed(truth[0])
    with by_hand_alone(answer) if by_hand else nullcontext():
        answers = collect(answer, cases, takes, [*targets])
    rights = [one.gradients for one in truth]

    def known(part: str) -> tuple[Suspects, Measured]:
        return (
            lambda tensors: explanation(part, tensors, truth),
            lambda number, entry: truth[number].difference(targets[part], entry),
        )

    instead = Instead(cases, lambda case: Truth(loss, case, [*targets.values()]).gradients)
    nouns = {part: f"the gradient of `{part}`" for part in targets}
    count = "The gradient is" if len(targets) == 1 else f"All {len(targets)} gradients are"
    praise = f"{count} right: autograd and central differences agree with you{moved}."
    result = judge(nouns, answers, rights, cases, instead, praise, known)
    if result.ok and by_hand and measured(answers, rights):
        own = "The numbers have the small errors of finite differences; this question asks for the formula itself."
        stop("by hand", own)
    return result
