"""`choice` and `ordering`: labels that a student picks, or puts in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from .digests import is_digest, label, same_choice, same_order, size_of
from .mistakes import Mistake
from .result import Result, combine, right, wrong
from .student import a_thing, check, unanswered


@check
def choice(
    answer: object,
    expected: object,
    *,
    options: Iterable[str] = (),
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Is this the right option, or the right set of options?

    expected  a label, a set of labels, or the digest of either
    options   the labels there are: another one gets a sentence of its own. Where the expected set is known
              each option is a part, right if it was rightly picked or rightly left
    mistakes  why a wrong option tempts; `wrong` is its label, or the whole set
    """
    if unanswered(answer):
        return wrong("You have not chosen yet.", "empty")
    many = isinstance(expected, (set, frozenset, list, tuple))
    chosen = _labels(answer, many or is_digest(expected, "choice"), options)
    if chosen is None:
        return wrong(f"Answer with the label of an option, and not with {a_thing(answer)}.", "type")
    if not chosen:
        return wrong("You have not chosen yet.", "empty")
    known = {label(option) for option in options}
    strange = sorted(chosen - known) if known else []
    if strange:
        listed = ", ".join(f"`{option}`" for option in options)
        return wrong(f"`{strange[0]}` is not one of the options {listed}.", "type")
    if is_digest(expected, "choice"):
        result = right("Right.") if same_choice(chosen, expected) else wrong("Not yet.", "other")  # type: ignore[arg-type]
    else:
        result = _against(chosen, {label(e) for e in expected} if many else {label(expected)}, known)  # type: ignore[attr-defined]
    if not result.ok:
        for mistake in mistakes:
            tempting = _labels(mistake.wrong, True, options) or set()
            # One tempting label among several: that it was picked is the mistake, unless it is right to pick it.
            one = many and len(tempting) == 1 and tempting <= chosen - {label(e) for e in expected}  # type: ignore[attr-defined]
            if tempting == chosen or one:
                return wrong(mistake.sentence, "mistake", mistake=mistake.name, parts=result.parts, hint=hint)
    return result.hinted(hint)


def _against(chosen: set[str], expected: set[str], options: set[str]) -> Result:
    parts = {
        option: right("Right.") if (option in chosen) == (option in expected) else wrong(
            f"`{option}` should {'not ' if option in chosen else ''}be chosen.",
            "extra" if option in chosen else "missing",
        )
        for option in sorted(options | expected | chosen)
    }  # fmt: skip
    if len(expected) == 1:
        return right("Right.") if chosen == expected else wrong("That is not the right option.", "other")
    return combine(parts, "Right: exactly these.")


def _labels(answer: object, many: bool, options: Iterable[str]) -> set[str] | None:
    """The labels that were picked; "a, c" is two of them unless it is itself an option, and so are "a and c" and "ac"
    where these are options."""
    if isinstance(answer, str):
        whole, known = label(answer), {label(option) for option in options}
        if not many or whole in known:
            return {whole}
        pieces = {label(piece) for piece in answer.replace(";", ",").split(",") if piece.strip()}
        finer = {piece for piece in re.split(r"[\s,;&]+", whole) if piece not in ("", "and")}
        return next((found for found in (pieces, finer, set(whole)) if found and found <= known), pieces)
    if isinstance(answer, (set, frozenset, list, tuple)):
        return {label(item) for item in answer} if all(isinstance(i, (str, int)) for i in answer) else None
    return {label(answer)} if isinstance(answer, int) and not isinstance(answer, bool) else None


@check
def ordering(
    answer: object,
    expected: object = None,
    *,
    items: Iterable[str] = (),
    before: Iterable[tuple[str, str]] = (),
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Are the items in the right order?

    expected  the labels in order, or the digest of that; or give `before`, pairs (a, b) where a must come
              before b, if several orders are right
    items     the labels there are, each to be used once
    """
    if unanswered(answer):
        return wrong("There is no order here yet.", "empty")
    if isinstance(answer, str):
        answer = [piece for piece in answer.replace(";", ",").split(",") if piece.strip()]
    if not isinstance(answer, (list, tuple)) or not all(isinstance(item, (str, int)) for item in answer):
        return wrong(f"Answer with a list of labels in order, and not with {a_thing(answer)}.", "type")
    given = [label(item) for item in answer]
    if not given:
        return wrong("There is no order here yet.", "empty")
    hidden = is_digest(expected, "order")
    wanted = [] if hidden or expected is None else [label(item) for item in expected]  # type: ignore[attr-defined]
    pairs = [(label(a), label(b)) for a, b in before] or list(pairwise(wanted))
    known = [label(i) for i in items] or wanted or list(dict.fromkeys(e for pair in pairs for e in pair))
    if (problem := _used_once(given, known, size_of(expected) if hidden else len(known))) is not None:  # type: ignore[arg-type]
        return problem
    if hidden:
        result = right("Right order.") if same_order(given, expected) else wrong("Not in order yet.", "order")  # type: ignore[arg-type]
    else:
        place = {item: n for n, item in enumerate(given)}
        broken = next(((a, b) for a, b in pairs if place[a] > place[b]), None)
        result = right("Right order.") if broken is None else wrong(
            f"Not in order yet: `{broken[0]}` must come before `{broken[1]}`.", "order"
        )  # fmt: skip
    if not result.ok:
        for mistake in mistakes:
            if [label(item) for item in mistake.wrong] == given:  # type: ignore[attr-defined]
                return wrong(mistake.sentence, "mistake", mistake=mistake.name, hint=hint)
    return result.hinted(hint)


def _used_once(given: list[str], known: list[str], count: int) -> Result | None:
    strange = [item for item in given if known and item not in known]
    if strange:
        return wrong(f"`{strange[0]}` is not one of the items to order.", "extra")
    twice = [item for item, n in Counter(given).items() if n > 1]
    if twice:
        return wrong(f"`{twice[0]}` stands in your order more than once.", "extra")
    absent = [item for item in known if item not in given]
    if absent:
        return wrong(f"`{absent[0]}` is missing from your order.", "missing")
    if len(given) != count:
        return wrong(f"There are {count} items to order, and your list has {len(given)}.", "missing")
    return None
