"""`big_o` and `closed_form`: formulas in the sizes of a problem, that a student types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..notation.errors import NotationError
from ..notation.formulas.closed_form import ClosedForm
from ..notation.formulas.growth import Growth
from .digests import is_digest, same_formula, same_growth
from .mistakes import Mistake
from .result import Result, right, wrong
from .student import check
from .written import unreadable, written


@check
def big_o(
    answer: object,
    expected: object,
    *,
    symbols: Sequence[str],
    given: str = "",
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Does the answer grow as it should?

    expected  the growth as text; or what the language counted, `equations.cost().multiply_adds`; or the digest of
              a `Growth` with the same symbols and conditions
    symbols   the sizes that may stand in the answer
    given     side conditions that the question states: "V >= d, V >= D"
    mistakes  `wrong` is another growth as text
    """
    growth = written(answer, lambda text: Growth(text, given, symbols), "the growth")
    if is_digest(expected, "growth"):
        if same_growth(growth, str(expected)):
            return right(f"{growth} is right.")
        return wrong(f"{growth} is not the right growth.", "other").hinted(hint)
    compared = Growth(str(expected), given, symbols).compare(growth)
    if compared.equal:
        return right(f"{growth} is right.")
    for mistake in mistakes:
        if Growth(str(mistake.wrong), given, symbols).compare(growth).equal:
            return wrong(mistake.sentence, "mistake", mistake=mistake.name).hinted(hint)
    return wrong(compared.message, compared.verdict).hinted(hint)


@check
def closed_form(
    answer: object,
    expected: object = None,
    *,
    symbols: Sequence[str],
    oracle: Callable[..., float] | None = None,
    at: Sequence[Mapping[str, int]] = (),
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Is the formula equal to the right one, for all sizes?

    expected  the formula as text, or the digest of a `ClosedForm` with the same symbols
    oracle    instead of it, something that counts: `oracle(J=4, K=3)` must be the formula's value at each of
              the sizes `at` (a torch module's parameters, the counted work of a function)
    mistakes  `wrong` is another formula as text
    """
    form = written(answer, lambda text: ClosedForm(text, symbols), "the formula")
    if oracle is not None:
        return _counted(form, oracle, at).hinted(hint)
    if is_digest(expected, "formula"):
        try:
            same = same_formula(form, str(expected))
        except NotationError as error:
            return unreadable(error, "other").hinted(hint)
        return right(f"{form} is right.") if same else wrong(f"{form} is not right.", "other").hinted(hint)
    compared = ClosedForm(str(expected), symbols).compare(form)
    if compared.equal:
        return right(f"{form} is right.")
    for mistake in mistakes:
        if ClosedForm(str(mistake.wrong), symbols).equals(form):
            return wrong(mistake.sentence, "mistake", mistake=mistake.name).hinted(hint)
    return wrong(compared.message, compared.kind or "different").hinted(hint)


def _counted(form: ClosedForm, oracle: Callable[..., float], at: Sequence[Mapping[str, int]]) -> Result:
    if not at:
        raise ValueError("an oracle needs sizes to be asked at: at=[dict(J=4, K=3), …]")
    rows = []
    for sizes in at:
        try:
            yours = form.value(**sizes)
        except NotationError as error:
            return unreadable(error, "other")
        counted = float(oracle(**sizes))
        if abs(yours - counted) > 1e-9 * max(1.0, abs(counted)):
            rows.append((", ".join(f"{n} = {s}" for n, s in sizes.items()), yours, counted))
    if not rows:
        return right(f"{form} is right: it agrees with the count at {len(at)} sizes.")
    where, yours, counted = rows[0]
    return wrong(
        f"{form} is not right: with {where} it gives {yours:.10g}, and counting gives {counted:.10g}.",
        "other", columns=("sizes", "yours", "counted"), rows=tuple(rows),
    )  # fmt: skip
