"""`choice`, `ordering` and `edges`: labels that a student picks, puts in order, or joins to a graph."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ..judging.student import a_thing, check, listed, stop, unanswered
from ..shown.locked import Outcome
from ..shown.result import Finding, Result, combine, formed, right, wrong


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
    known = {label(option) for option in options}
    chosen = set() if unanswered(answer) else _labels(answer, many or expected is None, known)
    if not chosen:
        stop("empty", "You have not chosen yet.")
    for strange in sorted(chosen - known) if known else ():
        stop("type", f"`{strange}` is not one of the options {_spoken(list(options))}.")
    if expected is None:
        return formed(f"You chose {_spoken(sorted(chosen))}.")
    wanted = {label(e) for e in expected} if many else {label(expected)}  # type: ignore[attr-defined]
    if len(wanted) == 1:
        outcome = Outcome(text="\n".join(sorted(chosen)))
        other = wrong("other", own="That is not the right option.", outcomes=(outcome,))
        return right("Right.") if chosen == wanted else other
    parts = {
        option: right("Right.") if (option in chosen) == (option in wanted) else wrong(
            "extra" if option in chosen else "missing", own="Not exactly the right options are chosen.",
            whole=f"`{option}` should {'not ' if option in chosen else ''}be chosen.",
            outcomes=(Outcome(text="chosen" if option in chosen else "left"),),
        )
        for option in sorted(known | wanted | chosen)
    }  # fmt: skip
    return combine(parts, "Right: exactly these.")


def _spoken(labels: Sequence[str]) -> str:
    return listed([f"`{item}`" for item in labels])


def _labels(answer: object, many: bool, known: set[str]) -> set[str]:
    """The labels that were picked; "a, c" is two of them unless it is itself an option, and so are "a and c" and "ac"
    where these are options."""
    if isinstance(answer, str):
        whole = label(answer)
        if not many or whole in known:
            return {whole}
        pieces = {label(piece) for piece in answer.replace(";", ",").split(",") if piece.strip()}
        finer = {piece for piece in re.split(r"[\s,;&]+", whole) if piece not in ("", "and")}
        return next((found for found in (pieces, finer, set(whole)) if found and found <= known), pieces)
    items = [answer] if isinstance(answer, int) and not isinstance(answer, bool) else answer
    if isinstance(items, (set, frozenset, list, tuple)) and all(isinstance(i, (str, int)) for i in items):
        return {label(item) for item in items}
    stop("type", f"Answer with the label of an option, and not with {a_thing(answer)}.")


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

    >>> ordering("scores, softmax", items=["softmax", "scores"], before=[("scores", "softmax")]).ok
    True
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
    for item, times in Counter(given).items():
        if known and item not in known:
            stop("extra", f"`{item}` is not one of the items to order.")
        if times > 1:
            stop("extra", f"`{item}` stands in your order more than once.")
    for item in (item for item in known if item not in given):
        stop("missing", f"`{item}` is missing from your order.")
    if expected is None and not pairs:
        return formed(f"Your order was read: {_spoken(given)}.")
    place = {item: n for n, item in enumerate(given)}
    broken = next(((a, b) for a, b in pairs if place[a] > place[b]), None)
    if broken is None:
        return right("Right order.")
    whole = f"Not in order yet: `{broken[0]}` must come before `{broken[1]}`."
    outcome = Outcome(text="\n".join(given))
    return wrong("order", own="Not in order yet.", whole=whole, outcomes=(outcome,))


def label(value: object) -> str:
    """A label as it is compared: without its blanks and its case."""
    return " ".join(str(value).split()).casefold()


Edge = tuple[str, ...]  # (from, to) or (from, to, label)

_WRITTEN = re.compile(r"\s*([^\s:]+?)\s*(?:->|→)\s*([^\s:]+)\s*(?::\s*(\S+)\s*)?")
SHOWN = 3  # edges that one sentence names


@check
def edges(
    answer: object, expected: Iterable[Sequence[str]] | None = None, *, optional: Iterable[Sequence[str]] = ()
) -> Result:
    """Is this the graph? Edges are `("h0", "h1")`, `("h0", "h1", "H")` or text, `"h0 -> h1 : H"`.

    expected  the edges; nothing leaves it to the grader
    optional  edges that may be there or not

    >>> edges(["x1 -> h1", "h0 -> h1"], [("h0", "h1"), ("x1", "h1")]).ok
    True
    """
    if isinstance(answer, str):
        answer = [line for line in re.split(r"[\n;]", answer) if line.strip()]
    if unanswered(answer) or answer in ([], (), set()):
        stop("empty", "There are no edges here yet.")
    if not isinstance(answer, (set, frozenset, list, tuple)):
        stop("type", f"Answer with a set of edges, and not with {a_thing(answer)}.")
    drawn, free = {_edge(edge) for edge in answer}, {_edge(edge) for edge in optional}
    if expected is None:
        return formed(f"{len(drawn)} edges were read: {_drawn(sorted(drawn))}.")
    wanted = {_edge(edge) for edge in expected} - free
    extra, lost = sorted(drawn - wanted - free), wanted - drawn
    if not extra and not lost:
        return right(f"All {len(wanted)} edges are right.")
    meant = {  # an edge that is not drawn -> what is wrong with the one that was meant for it
        edge: kind
        for e in extra
        for edge in sorted(lost)
        if (kind := "reversed" if edge == (e[1], e[0], *e[2:]) else "label" if edge[:2] == e[:2] else "")
    }
    slips = {  # an edge too many -> what is wrong with it
        e: next((kind for edge, kind in meant.items() if set(e[:2]) == set(edge[:2])), "extra") for e in extra
    }
    findings = []
    for kind, one, many in _SLIPS:
        if found := [edge for edge in extra if slips[edge] == kind]:
            findings.append(Finding(kind, f"{_drawn(found)} {one if len(found) == 1 else many}"))
    if absent := sorted(lost - meant.keys()):
        go = "is" if len(absent) == 1 else "are"
        count = f"{len(absent)} edge{'s' * (len(absent) > 1)} {go} missing."
        findings.append(Finding("missing", count, f"{_drawn(absent)} {go} missing."))
    outcome = Outcome(text="\n\n".join(sorted(map("\n".join, drawn - free))))
    return Result(False, tuple(findings), outcomes=(outcome,))


_SLIPS = (
    ("reversed", "points the wrong way.", "point the wrong way."),
    ("label", "has the wrong label.", "have the wrong label."),
    ("extra", "does not belong to the graph.", "do not belong to the graph."),
)


def _edge(edge: object) -> Edge:
    if isinstance(edge, str) and (match := _WRITTEN.fullmatch(edge)):
        return tuple(part for part in match.groups() if part)
    pair = isinstance(edge, (tuple, list)) and len(edge) in (2, 3)
    if pair and all(isinstance(e, (str, int)) for e in edge):  # type: ignore[attr-defined]
        return tuple(str(end).strip() for end in edge if str(end).strip())  # type: ignore[attr-defined]
    stop("type", f'An edge is written `("h0", "h1", "H")`: from, to, parameter; this is {a_thing(edge)}.')


def _drawn(found: Sequence[Edge]) -> str:
    words = [f"`{e[0]} → {e[1]}`" + (f" ({e[2]})" if len(e) == 3 else "") for e in found[:SHOWN]]
    return listed([*words, f"{len(found) - SHOWN} more"] if len(found) > SHOWN else words)
