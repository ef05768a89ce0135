"""`edges`: a graph that a student writes down as its edges, with missing and extra ones named."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..judging.student import a_thing, check, listed, stop, unanswered
from ..shown.locked import Outcome
from ..shown.result import Finding, Result, formed, right, wrong

Edge = tuple[str, ...]  # (from, to) or (from, to, label)

_WRITTEN = re.compile(r"\s*([^\s:]+?)\s*(?:->|→)\s*([^\s:]+)\s*(?::\s*(\S+)\s*)?")
SHOWN = 3  # edges that one sentence names


@check
def edges(
    answer: object,
    expected: Iterable[Sequence[str]] | None = None,
    *,
    optional: Iterable[Sequence[str]] = (),
) -> Result:
    """Is this the graph? Edges are `("h0", "h1")`, `("h0", "h1", "H")` or text, `"h0 -> h1 : H"`.

    expected  the edges; nothing leaves it to the grader
    optional  edges that may be there or not

    >>> edges(["x1 -> h1", "h0 -> h1"], [("h0", "h1"), ("x1", "h1")]).ok
    True
    """
    if unanswered(answer):
        return wrong("empty", own="There are no edges here yet.")
    drawn = _read(answer)
    if not drawn:
        return wrong("empty", own="There are no edges here yet.")
    free = {_edge(edge) for edge in optional}
    if expected is None:
        return formed(f"{len(drawn)} edges were read: {_list(sorted(drawn))}.")
    result = _judge(drawn, {_edge(edge) for edge in expected} - free, free)
    outcomes = () if result.ok else (Outcome(text="\n\n".join(sorted(map("\n".join, drawn - free)))),)
    return replace(result, outcomes=outcomes)


def _judge(drawn: set[Edge], wanted: set[Edge], free: set[Edge]) -> Result:
    extra, lost = sorted(drawn - wanted - free), wanted - drawn
    if not extra and not lost:
        return right(f"All {len(wanted)} edges are right.")
    meant = {  # an edge that is not drawn -> the one that was meant for it, and what is wrong with that
        edge: kind
        for e in extra
        for edge in sorted(lost)
        if (kind := "reversed" if edge == (e[1], e[0], *e[2:]) else "label" if edge[:2] == e[:2] else "")
    }
    slips = {  # an edge too many -> what is wrong with it
        e: next((kind for edge, kind in meant.items() if set(e[:2]) == set(edge[:2])), "extra") for e in extra
    }
    absent = sorted(lost - meant.keys())
    findings = []
    for kind, one, many in (
        ("reversed", "points the wrong way.", "point the wrong way."),
        ("label", "has the wrong label.", "have the wrong label."),
        ("extra", "does not belong to the graph.", "do not belong to the graph."),
    ):
        if found := [edge for edge, slip in slips.items() if slip == kind]:
            findings.append(Finding(kind, f"{_list(found)} {_go(found, one, many)}"))
    if absent:
        count = f"{len(absent)} {_go(absent, 'edge is', 'edges are')} missing."
        findings.append(Finding("missing", count, f"{_list(absent)} {_go(absent, 'is', 'are')} missing."))
    return Result(False, tuple(findings))


def _read(answer: object) -> set[Edge]:
    if isinstance(answer, str):
        answer = [line for line in re.split(r"[\n;]", answer) if line.strip()]
    if not isinstance(answer, (set, frozenset, list, tuple)):
        stop("type", f"Answer with a set of edges, and not with {a_thing(answer)}.")
    return {_edge(edge) for edge in answer}


def _edge(edge: object) -> Edge:
    if isinstance(edge, str) and (match := _WRITTEN.fullmatch(edge)):
        return tuple(part for part in match.groups() if part)
    if (
        isinstance(edge, (tuple, list))
        and len(edge) in (2, 3)
        and all(isinstance(e, (str, int)) for e in edge)
    ):
        return tuple(str(end).strip() for end in edge if str(end).strip())
    stop("type", f'An edge is written `("h0", "h1", "H")`: from, to, parameter; this is {a_thing(edge)}.')


def _list(found: Sequence[Edge]) -> str:
    words = [f"`{e[0]} → {e[1]}`" + (f" ({e[2]})" if len(e) == 3 else "") for e in found[:SHOWN]]
    return listed([*words, f"{len(found) - SHOWN} more"] if len(found) > SHOWN else words)


def _go(found: Sequence[Edge], one: str, many: str) -> str:
    return one if len(found) == 1 else many
