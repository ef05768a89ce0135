"""What every check answers: a `Result`, which a notebook shows as a panel and a terminal as text.

    checks.value(answer, digest)              # shows the panel
    checks.value(answer, digest).require()    # in a test cell: raises CheckFailed with the same sentence

A result that is wrong is also false: inside this package, test `is None` and not truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from . import panel


class CheckFailed(AssertionError):
    """A student's answer is not right yet. Its message is the sentence that the student should read."""

    def __init__(self, result: Result):
        super().__init__(result.sentence)
        self.result = result
        self.sentence = result.sentence
        self.kind = result.mistake or result.kind
        self._lines: list[str] | None = None

    def _render_traceback_(self) -> list[str]:
        """IPython shows this instead of a traceback: the student's mistake is not in our code."""
        if self._lines is None:  # IPython asks twice, and one panel is enough
            shown = panel.show(self.result)
            self._lines = [f"{type(self).__name__}: {self}"] if shown else str(self.result).splitlines()
        return self._lines


class Earned(float):
    """Points, and why they are not all: a grader that runs the test itself reads the sentence off it."""

    def __new__(cls, points: float, result: Result) -> Earned:
        earned = super().__new__(cls, points)
        earned.sentence = "" if result.ok else result.sentence
        earned.kind = "" if result.ok else result.mistake or result.kind
        return earned

    sentence: str
    kind: str


@dataclass(frozen=True)
class Result:
    """The answer of a check.

    `kind` is one word for the class report ("sign", "shape", "error", "empty", …); where a named mistake
    of the question was recognised, `mistake` is its name. `columns` and `rows` are the numbers, `block` is
    text that keeps its lines (an equation with its caret). `parts` has a result for each part that can
    earn its own points: `result.part("H").require()`. `look` finds a better sentence for the panel; it takes its time,
    so it is asked only when the result is shown.
    """

    ok: bool
    sentence: str
    kind: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    block: str = ""
    hint: str = ""
    mistake: str = ""
    parts: Mapping[str, Result] = field(default_factory=dict)
    look: Callable[[], str] | None = field(default=None, compare=False)

    def shown(self) -> str:
        """The sentence of the panel."""
        return (self.look is not None and self.look()) or self.sentence

    def require(self) -> Result:
        """This result, or CheckFailed with its sentence."""
        if not self.ok:
            raise CheckFailed(self)
        return self

    def score(self, points: float | Mapping[str, float], *, whole: bool = False) -> float:
        """The points earned, for the last line of a test cell: nbgrader takes a number there as part credit.

        `points` is shared equally by the parts, or says what each is worth; with `whole` it is all of them or
        nothing. With nothing right it raises like `require`; with some right it prints what is wrong with the
        others.
        """
        parts = {"": self} if whole or not self.parts else self.parts
        worth = points if isinstance(points, Mapping) else dict.fromkeys(parts, points / len(parts))
        earned = float(sum(worth[name] for name, part in parts.items() if part.ok))
        if not earned:
            self.require()
        if not self.ok:
            print(self)
        return Earned(earned, self)

    def hinted(self, hint: str) -> Result:
        """This result with a hint, where it is not right."""
        return self if self.ok or not hint else replace(self, hint=hint)

    def part(self, name: str) -> Result:
        """The result of one part; where the check stopped before it looked at parts, that reason."""
        if name in self.parts:
            return self.parts[name]
        if self.parts:
            raise KeyError(f"this check has no part {name!r}; its parts are {', '.join(self.parts)}")
        return self

    def __bool__(self) -> bool:
        """So that `assert checks.value(…)` means what it says."""
        return self.ok

    def __str__(self) -> str:
        return panel.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return panel.html(self)


def right(sentence: str, **more) -> Result:
    return Result(True, sentence, **{"kind": "right", **more})


def wrong(sentence: str, kind: str, **more) -> Result:
    return Result(False, sentence, kind, **more)


def combine(parts: Mapping[str, Result], praise: str) -> Result:
    """One result of several: right if all are, else the sentences of the parts that are not."""
    failed = {name: part for name, part in parts.items() if not part.ok}
    if not failed:
        return right(praise, parts=dict(parts))
    first = next(iter(failed.values()))
    groups: dict[str, list[str]] = {}
    for name, part in failed.items():
        alike = part.kind if part.kind == "other" else part.sentence.replace(f"`{name}`", "`…`", 1)
        groups.setdefault(alike, []).append(name)
    sentence = " ".join(failed[names[0]].sentence + _same(names[1:], failed) for names in groups.values())
    return Result(
        False, sentence, first.kind, first.columns,
        tuple(row for part in failed.values() for row in part.rows if part.columns == first.columns),
        "\n".join(dict.fromkeys(part.block for part in failed.values() if part.block)),
        first.hint, first.mistake, dict(parts),
    )  # fmt: skip


def _same(names: list[str], parts: Mapping[str, Result]) -> str:
    """The rest of a group of parts that went wrong alike; a sentence that names no part stands for all."""
    if not any(f"`{name}`" in parts[name].sentence for name in names):
        return ""
    words = [f"`{name}`" for name in names]
    listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f" The same goes for {listed}."
