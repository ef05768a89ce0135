"""`function`: what a student's function returns against a trusted torch function, on the same inputs."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import Tensor

from ..diagnosis.compare import judge_all
from ..diagnosis.instead import Instead
from ..judging.by_hand import by_hand_alone
from ..judging.cases import Case, Missing, cases_of, collect, split
from ..judging.precision import float64, on_host
from ..judging.student import check, name_of
from ..shown.result import Result, combine


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
    """
    cases, moved = float64(cases_of(given))
    rights = _rights(oracle, on_host(cases), takes, returns)
    with by_hand_alone(answer) if by_hand else nullcontext():
        answers = collect(answer, cases, takes, returns)
    nouns = {part: f"`{part}`" if len(returns) > 1 else f"what {name_of(answer)} returns" for part in returns}

    def again(case: Case) -> dict[str, Tensor]:
        return {part: values[0] for part, values in _rights(oracle, [case], takes, returns).items()}

    parts = judge_all(nouns, answers, rights, cases, Instead(cases, again))
    result = combine(parts, f"Right: {name_of(answer)} returns what it should in every case{moved}.")
    if len(returns) == 1:
        result = replace(result, parts={}, look=parts[returns[0]].look)
    return result


def _rights(
    oracle: Callable[..., object], cases: Sequence[Case], takes: Sequence[str] | None, returns: Sequence[str]
) -> dict[str, list[Tensor]]:
    table: dict[str, list[Tensor]] = {part: [] for part in returns}
    for case in cases:
        with torch.no_grad():
            values = split(oracle(*(case[name] for name in (takes or case))), returns, "the oracle")
        for part in returns:
            if isinstance(values[part], Missing):
                raise ValueError(f"the oracle returns no {part!r}")
            table[part].append(torch.as_tensor(values[part]).detach().double())
    return table
