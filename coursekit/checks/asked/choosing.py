"""`choice` and `ordering`: labels that a student picks, or puts in order."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from ..judging.digests import label
from ..judging.student import a_thing, check, listed, stop, unanswered
from ..shown.locked import Outcome
from ..shown.result import Result, combine, formed, right, wrong


@check
def choice(answer: object, expected: object = None, *, options: Iterable[str] = ()) -> Result:
    """Is this the right option, or the right set of options?

    expected  a label or a set of labels; nothing leaves it to the grader, as in a notebook whose few options could
              all be tried
    options   the labels there are: another one gets a sentence of its own. Where the expected set is known
              each option is a part, right if it was rightly picked or rightly left

    >>> choice("b", "b", options="abc").ok, choice("a", "b", options="abc").ok
    (True, False)
    """
    many = isinstance(expected, (set, frozenset, list, tuple))
    chosen = set() if unanswered(answer) else _labels(answer, many or expected is None, options)
    if chosen is None:
        stop("type", f"Answer with the label of an option, and not with {a_thing(answer)}.")
    if not chosen:
        stop("empty", "You have not chosen yet.")
    known = {label(option) for option in options}
    for strange in sorted(chosen - known) if known else ():
        stop("type", f"`{strange}` is not one of the options {_spoken(list(options))}.")
    if expected is None:
        return formed(f"You chose {_spoken(sorted(chosen))}.")
    result = _against(chosen, {label(e) for e in expected} if many else {label(expected)}, known)  # type: ignore[attr-defined]
    if result.ok or result.outcomes:
        return result
    return replace(result, outcomes=(Outcome(text="\n".join(sorted(chosen))),))


def _spoken(labels: Sequence[str]) -> str:
    return listed([f"`{item}`" for item in labels])


def _against(chosen: set[str], expected: set[str], options: set[str]) -> Result:
    parts = {
        option: right("Right.") if (option in chosen) == (option in expected) else wrong(
            "extra" if option in chosen else "missing", own="Not exactly the right options are chosen.",
            whole=f"`{option}` should {'not ' if option in chosen else ''}be chosen.",
            outcomes=(Outcome(text="chosen" if option in chosen else "left"),),
        )
        for option in sorted(options | expected | chosen)
    }  # fmt: skip
    if len(expected) == 1:
        return right("Right.") if chosen == expected else wrong("other", own="That is not the right option.")
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
) -> Result:
    """Are the items in the right order?

    expected  the labels in order; or give `before`, pairs (a, b) where a must come before b, if several orders are
              right; neither leaves it to the grader
    items     the labels there are, each to be used once
    """
    if isinstance(answer, str):
        answer = [piece for piece in answer.replace(";", ",").split(",") if piece.strip()]
    if unanswered(answer) or answer in ([], ()):
        stop("empty", "There is no order here yet.")
    if not isinstance(answer, (list, tuple)) or not all(isinstance(item, (str, int)) for item in answer):
        stop("type", f"Answer with a list of labels in order, and not with {a_thing(answer)}.")
    given = [label(item) for item in answer]
    wanted = [] if expected is None else [label(item) for item in expected]  # type: ignore[attr-defined]
    pairs = [(label(a), label(b)) for a, b in before] or list(pairwise(wanted))
    known = [label(i) for i in items] or wanted or list(dict.fromkeys(e for pair in pairs for e in pair))
    _used_once(given, known)
    if expected is None and not pairs:
        return formed(f"Your order was read: {_spoken(given)}.")
    place = {item: n for n, item in enumerate(given)}
    broken = next(((a, b) for a, b in pairs if place[a] > place[b]), None)
    if broken is None:
        return right("Right order.")
    whole = f"Not in order yet: `{broken[0]}` must come before `{broken[1]}`."
    outcome = Outcome(text="\n".join(given))
    return wrong("order", own="Not in order yet.", whole=whole, outcomes=(outcome,))


def _used_once(given: list[str], known: list[str]) -> None:
    for item, times in Counter(given).items():
        if known and item not in known:
            stop("extra", f"`{item}` is not one of the items to order.")
        if times > 1:
            stop("extra", f"`{item}` stands in your order more than once.")
    for item in known:
        if item not in given:
            stop("missing", f"`{item}` is missing from your order.")
