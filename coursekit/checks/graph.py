"""`edges`: a graph that a student writes down as its edges, with missing and extra ones named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from .digests import has_edge, is_digest, size_of
from .mistakes import Mistake
from .result import Result, right, wrong
from .student import Stopped, a_thing, check, unanswered

Edge = tuple[str, ...]  # (from, to) or (from, to, label)

_WRITTEN = re.compile(r"\s*([^\s:]+?)\s*(?:->|→)\s*([^\s:]+)\s*(?::\s*(\S+)\s*)?")
SHOWN = 3  # edges that one sentence names


@check
def edges(
    answer: object,
    expected: Iterable[Sequence[str]] | str,
    *,
    optional: Iterable[Sequence[str]] = (),
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Is this the graph? Edges are `("h0", "h1")`, `("h0", "h1", "H")` or text, `"h0 -> h1 : H"`.

    expected  the edges, or the digest of their set: then extra edges are named and missing ones counted
    optional  edges that may be there or not
    mistakes  `wrong` is the set of edges that the mistake leads to
    """
    if unanswered(answer):
        return wrong("There are no edges here yet.", "empty")
    drawn = _read(answer)
    if not drawn:
        return wrong("There are no edges here yet.", "empty").hinted(hint)
    free = {_edge(edge) for edge in optional}
    if is_digest(expected, "edges"):
        text = str(expected)
        result = _judge(drawn, lambda edge: has_edge(edge, text), free, size_of(text), ())
    else:
        wanted = {_edge(edge) for edge in expected} - free
        result = _judge(drawn, wanted.__contains__, free, len(wanted), sorted(wanted - drawn))
    if not result.ok:
        for mistake in mistakes:
            if {_edge(edge) for edge in mistake.wrong} - free == drawn - free:  # type: ignore[attr-defined]
                return wrong(mistake.sentence, "mistake", mistake=mistake.name).hinted(hint)
    return result.hinted(hint)


def _judge(
    drawn: set[Edge], belongs: Callable[[Edge], bool], free: set[Edge], size: int, missing: Sequence[Edge]
) -> Result:
    extra = sorted(edge for edge in drawn if edge not in free and not belongs(edge))
    lacking = size - len([edge for edge in drawn if edge not in free and belongs(edge)])
    labels = {edge[2] for edge in drawn if len(edge) == 3}
    sentences = []
    kind = "extra" if extra else "missing"
    lost = lambda edge: edge not in drawn and belongs(edge)  # an edge that this one was meant to be
    backwards = [e for e in extra if lost((e[1], e[0], *e[2:]))]
    relabelled = [
        e for e in extra if len(e) == 3
        and (lost(e[:2]) or any(lost((e[0], e[1], other)) for other in labels - {e[2]}))
    ]  # fmt: skip
    strange = [e for e in extra if e not in backwards and e not in relabelled]
    if backwards:
        kind = "reversed"
        sentences.append(f"{_list(backwards)} {_go(backwards, 'points', 'point')} the wrong way.")
    if relabelled:
        kind = "label" if kind == "extra" else kind
        sentences.append(f"{_list(relabelled)} {_go(relabelled, 'has', 'have')} the wrong label.")
    if strange:
        sentences.append(f"{_list(strange)} {_go(strange, 'does', 'do')} not belong to the graph.")
    unexplained = lacking - len(backwards) - len(relabelled)
    explained = {(e[1], e[0], *e[2:]) for e in backwards} | {e[:2] for e in relabelled}
    absent = [e for e in missing if e not in explained and e[:2] not in explained]
    if absent:
        sentences.append(f"{_list(absent)} {_go(absent, 'is', 'are')} missing.")
    elif not missing and unexplained > 0:
        sentences.append(f"{unexplained} {'edge is' if unexplained == 1 else 'edges are'} missing.")
    if extra or lacking:
        return wrong(" ".join(sentences), kind)
    return right(f"All {size} edges are right.")


def _read(answer: object) -> set[Edge]:
    if isinstance(answer, str):
        answer = [line for line in re.split(r"[\n;]", answer) if line.strip()]
    if not isinstance(answer, (set, frozenset, list, tuple)):
        raise Stopped(wrong(f"Answer with a set of edges, and not with {a_thing(answer)}.", "type"))
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
    raise Stopped(
        wrong(
            f'An edge is written `("h0", "h1", "H")`: from, to, parameter; this is {a_thing(edge)}.', "type"
        )
    )


def _list(found: Sequence[Edge]) -> str:
    words = [f"`{e[0]} → {e[1]}`" + (f" ({e[2]})" if len(e) == 3 else "") for e in found[:SHOWN]]
    if len(found) > SHOWN:
        words.append(f"{len(found) - SHOWN} more")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _go(found: Sequence[Edge], one: str, many: str) -> str:
    return one if len(found) == 1 else many
