"""The named mistakes of a question: wrong answers that students give, each with the sentence it deserves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..shown.locked import Named, alike
from ..shown.result import Result

_matching: list[Result] = []  # the wrong results whose mistakes are tried


def matching() -> bool:
    """Whether this check is one of a named mistake, asked what its answer comes to: nobody reads why it is wrong."""
    return bool(_matching)


@dataclass(frozen=True)
class Mistake:
    """`wrong` is what a student with this mistake would have handed in: a function with the signature of
    the question's (it may return only the parts that the mistake touches), a number, a label, an equation; or, as a
    frozenset, the names of the parts that are wrong with it, where it would take too long to run.

    A mistake contains a formula close to the answer: it belongs to hidden tests, never to visible ones.
    """

    name: str
    sentence: str
    wrong: object


def recognised(result: Result, mistakes: Sequence[Mistake], again: Callable[[object], Result]) -> Result:
    """The result with the sentence of the mistake that comes to the same; `again` is the check of another answer."""
    if result.ok or result.mistake:
        return result
    wrongs = [(m, m.wrong) for m in mistakes]
    failed = {name for name, part in result.parts.items() if not part.ok}
    for m, names in wrongs if failed else ():
        if isinstance(names, frozenset):
            for name in sorted(names - result.parts.keys()):
                known = ", ".join(map(repr, result.parts))
                raise ValueError(
                    f"the mistake {m.name!r} names {name!r}, which is no part here; they are {known}"
                )
            if names == failed:
                return result.telling([Named(m.name, m.sentence, ("",))])
    _matching.append(result)
    try:
        tried = [(m.name, m.sentence, again(wrong).outcomes) for m, wrong in wrongs if result.outcomes]
    finally:
        _matching.pop()
    return result.telling(alike(result.outcomes, tried))


class Planted(Mistake):
    """A mistake kept as the text of the whole answer cell; it is run only when an answer is wrong."""

    def __init__(self, name: str, sentence: str, source: str, answer: str, namespace: dict[str, object]):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "sentence", sentence)
        object.__setattr__(self, "_made", (source, answer, namespace))

    @property
    def wrong(self) -> object:
        source, answer, namespace = self._made  # type: ignore[attr-defined]
        scope = dict(namespace)  # what the answer's cell defines must not reach the other tests
        exec(compile(source, f"<mistake {self.name}>", "exec"), scope)
        return scope[answer]


def planted(
    answer: str, sources: Sequence[tuple[str, str, str]], namespace: dict[str, object]
) -> list[Mistake]:
    """Mistakes from (name, sentence, text of the answer cell); `answer` is the name that the cell defines."""
    return [Planted(name, sentence, text, answer, namespace) for name, sentence, text in sources]
