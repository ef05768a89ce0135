"""`function`: what a student's function returns against a trusted torch function, on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from .cases import Case, Missing, Mistaken, answers_of, cases_of, split
from .compare import Known, judge
from .mistakes import Mistake
from .precision import float64, on_host
from .recognise import sizes_of
from .result import Result, combine
from .student import check, name_of


@check
def function(
    answer: Callable,
    oracle: Callable,
    given: Case | Sequence[Case],
    *,
    returns: Sequence[str] = ("result",),
    takes: Sequence[str] | None = None,
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Compare `answer(*case)` with `oracle(*case)`; `returns` names the values that both return.

    The oracle is a torch module or function that is not the answer written out (`torch.nn.GRUCell`), or,
    in a hidden test, the solution. One part a returned value.
    """
    cases, moved = float64(cases_of(given))
    rights = _rights(oracle, on_host(cases), takes, returns)
    answers = answers_of(answer, mistakes, cases, takes, returns)
    mistaken = Mistaken(mistakes, cases, takes, returns)
    sizes = [sizes_of(case) for case in cases]
    parts = {}
    for part in returns:
        absent = next((value for value in answers[part] if isinstance(value, Missing)), None)
        if absent is not None:
            parts[part] = absent.result
            continue
        noun = f"`{part}`" if len(returns) > 1 else f"what {name_of(answer)} returns"
        others = {other: rights[other] for other in returns if other != part}
        parts[part] = judge(
            part, noun, answers[part], rights[part], Known(others, sizes, partial(mistaken.of, part))
        )
    result = combine(parts, f"Right: {name_of(answer)} returns what it should in every case{moved}.")
    if len(returns) == 1:
        result = replace(result, parts={})
    return result.hinted(hint)


def _rights(oracle: Callable, cases, takes, returns: Sequence[str]) -> dict[str, list[Tensor]]:
    table: dict[str, list[Tensor]] = {part: [] for part in returns}
    for case in cases:
        with torch.no_grad():
            values = split(oracle(*(case[name] for name in (takes or case))), returns, "the oracle")
        for part in returns:
            if isinstance(values[part], Missing):
                raise ValueError(f"the oracle returns no {part!r}")
            table[part].append(torch.as_tensor(values[part]).detach().double())
    return table
