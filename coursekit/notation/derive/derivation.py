"""A derivation checked line by line: does each line say the same as the line before it?

>>> steps = Derivation("z[t,j] = H[M,j] h[t-1,M] + x[t,j]\\nh[t,j] = sigmoid(z[t,j])\\nJ = g[T,J] h[T,J]").check('''
...     dJ/dz[t,j] = dJ/dh[t,j] dh[t,j]/dz[t,j]
...                = dJ/dh[t,j] h[t,j] (1 - h[t,j])
... ''')
>>> [step.verdict for step in steps]
['right', 'right']

A line is compared with the one before it as an answer is with its reference (`compare`), so a wrong one is told which
mistake in the line before makes it. What a derivative means is said in `given`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ..check.checker import suggestion
from ..compare.comparison import Comparison, close, compare
from ..compare.draws import draw
from ..compare.draws import engine as the_engine
from ..equations import Equations
from ..errors import NotationError
from ..functions import ZERO
from ..latex import latex
from ..names import halves
from ..parse.lexer import canonical
from ..show import show
from ..system import System
from ..tree import Add, Equation, Expr, Mul, Program, Ref, free_indices, index, references
from .given import DIRECT, Given
from .reader import Chain, Member, Reader

_SHOWN = "this line"  # what a line is called in a sentence
_DRAWS, _NEAR = 3, 1e-9
_UNNAMED = (None, "different", "shape", "size", "unknown tensor", "missing tensor", "not finite")
_DISTRIBUTION = re.compile(r"^[ \t]*distribution[ \t]+(.+)$", re.M)
_SENTENCES = {
    "definition": "",
    "right": "This follows from the line before.",
    "follows": "This follows from the line before, but that line is wrong.",
    "right again": "This is right again, but it does not follow from the line before, which is wrong.",
    "repeated": "This is the line before again.",
}


@dataclass(frozen=True)
class Step:
    """A line of a derivation and what is to be said of it. `line` counts the lines of the text from 1.

    `verdict` is one of
    - `right`: it follows from the line before, and nothing before it was wrong;
    - `definition`: it says what a new name stands for;
    - `wrong`: it does not follow from the line before; `kind` is the mistake, where it is known (see `compare`);
    - `follows`: it follows from the line before, but that is wrong;
    - `right again`: it is right, but does not follow from the line before, which is wrong;
    - `repeated`: it is the line before;
    - `unreadable`: it cannot be read.

    `of` is what its chain derives, `reads` are the tensors and derivatives in it, as the language writes them. `latex`
    is the line as it was read. `hidden` says that the sentence tells of what is right, not only of what was written.
    `share` is its part of the whole: all lines that count have the same, and one that is wrong or unreadable none.
    `values` is what a wrong line comes to on one draw.
    """

    line: int
    text: str
    verdict: str
    sentence: str
    latex: str = ""
    of: str = ""
    reads: frozenset[str] = frozenset()
    kind: str | None = None
    hidden: bool = False
    share: float = 0.0
    values: tuple[float, ...] = ()

    @property
    def good(self) -> bool:
        return self.verdict in ("right", "follows", "right again")


class Derivation:
    """Derivations about a system. `distributions` are inputs that sum to one over their last index, such as targets;
    a line `distribution y` of the system's text says the same. `engine` is that of `compare`."""

    def __init__(
        self,
        system: str | Program | System | Equations = "",
        distributions: Sequence[str] = (),
        engine: str | None = None,
    ) -> None:
        if isinstance(system, str):
            said = _DISTRIBUTION.findall(system)
            distributions = [*distributions, *(n for row in said for n in row.split(","))]
            system = _DISTRIBUTION.sub("", system)
        empty = isinstance(system, str) and not system.strip()
        self.system = None if empty else getattr(system, "system", None) or Equations(system).system  # type: ignore[arg-type]
        self.distributions = [canonical(d) for d in distributions]
        self.engine = engine

    def check(self, text: str, known: str = "") -> list[Step]:
        """What is to be said of each line after the first of its chain.

        `known` is a derivation that is right: a wrong line that the line before does not explain may be a mistake in
        one of its lines."""
        given = Given(self.system, self.distributions)
        reader = Reader(given)
        read, hints = list(reader.read(text)), list(reader.read(known))
        found: list[Step] = []
        for chain in read:
            same = (other for other in hints if other.members[0].body == chain.members[0].body)
            right = [m for other in same for m in other.members[1:] if m.body is not None]
            found += _Judge(given, chain, right, self.engine).steps()
        counted = sum(s.verdict not in ("definition", "repeated") for s in found)
        return [replace(s, share=1 / counted) if s.good else s for s in found]


class _Judge:
    """Compares each member of a chain with the one before it; `known` are lines that are right."""

    def __init__(self, given: Given, chain: Chain, known: list[Member], engine: str | None) -> None:
        self.given, self.chain, self.known, self.engine = given, chain, known, engine
        self.members, head = chain.members, chain.members[0]
        bodies = [m.body for m in self.members if m.body is not None]
        self.where = given.inside(bodies, set(chain.indices))
        names = {r.name for node in (*given.base, *given.defined, *bodies[:1]) for r in references(node)}
        for member in self.members:
            member.error = member.error or self._complaint(member.body, names)
        self.values: list[dict[int, list[float]]] = []
        try:
            self.values = [] if head.error else self._values()
        except NotationError:  # some line makes no sense, or is not finite: then each is looked at by itself
            for member in (m for m in self.members if not m.error):
                try:
                    given.checked([self._equation(member)])
                except NotationError as error:
                    member.error = error.message

    def _equation(self, member: Member, name: str = _SHOWN) -> Equation:
        assert member.body is not None
        right = Mul((*self.where, member.body)) if self.where else member.body
        return Equation(Ref(name, tuple(map(index, self.chain.indices))), right)

    def _complaint(self, body: Expr | None, names: set[str]) -> str:
        """Why a line that can be read can still not be compared."""
        assert body is not None
        for name in (r.name for r in references(body)):
            if name not in names and not halves(name):
                return f"there is no tensor `{name}` in what is given{suggestion(name, names)}"
        if extra := sorted(free_indices(body) - set(self.chain.indices)):
            words = " and ".join(f"`{i}`" for i in extra)
            verb, them = ("is", "it") if len(extra) == 1 else ("are", "them")
            return f"{words} {verb} free here, but not in what is derived: sum over {them}"
        return ""

    def _values(self) -> list[dict[int, list[float]]]:
        """For each draw the entries of every line."""
        lines = {n: self._equation(m, f"line {n}") for n, m in enumerate(self.members) if not m.error}
        for n, line in lines.items():  # with the first one's sizes, if it says none itself
            lines[n] = replace(line, right=Add((line.right, Mul((ZERO, lines[0].left))))) if n else line
        system = self.given.checked(lines.values())
        count = _DRAWS if self.chain.indices else 4 * _DRAWS  # one number a draw could agree by luck
        made = [draw(system, n, 0, None, the_engine(self.engine)).values for n in range(count)]
        return [{n: values[f"line {n}"].flat for n in lines} for values in made]

    def steps(self) -> Iterator[Step]:
        before, sound = 0, True
        if self.members[0].error:
            yield self._step(0, "unreadable")
            return
        for number in range(1, len(self.members)):
            step = self._judge(before, number, sound)
            if step.verdict != "unreadable":
                before = number
                sound = step.verdict in ("right", "right again", "definition") or (
                    sound and step.verdict == "repeated"
                )
            yield step

    def _judge(self, before: int, number: int, sound: bool) -> Step:
        if self.members[number].error:
            return self._step(number, "unreadable")
        if number == 1 and self.chain.defines:
            return self._step(number, "definition")
        if self.members[number].body == self.members[before].body:
            return self._step(number, "repeated")
        if self._same(before, number):
            return self._step(number, "right" if sound else "follows")
        if sound and (meaning := self._directly(before, number)):
            return self._step(number, "right", f"This follows from the line before, with {meaning}.")
        if not sound and self._same(0, number):
            return self._step(number, "right again")
        found, hidden = self._explained(self.members[before], self.members[number])
        said = re.sub(
            r"(\w+)\|\d+\|(\w+)", r"d\1/d\2", found.message
        )  # a derivative, by the name it has for a reader
        message = f"This does not follow from the line before. {said}"
        values = tuple(self.values[0][number]) if self.values else ()
        return replace(self._step(number, "wrong", message), kind=found.kind, hidden=hidden, values=values)

    def _explained(self, before: Member, member: Member) -> tuple[Comparison, bool]:
        """The mistake by which the line before becomes this one, as it stands or with its derivatives worked out; else
        that by which a known line does. Also whether more is told by it than the line before says."""
        assert before.body is not None
        first = self._compared(before, member)
        others = list(self.known)
        for body in (before.body, self.given.directly(before.body)) if first.kind in _UNNAMED else ():
            direct = Member(before.line, body)
            with suppress(NotationError):
                self.given.checked([self._equation(direct)])  # which makes its derivatives
                others.append(Member(before.line, self.given.inlined(body)))
        for other in others if first.kind in _UNNAMED else ():
            if other.body != before.body and (found := self._compared(other, member)).kind not in _UNNAMED:
                return found, True
        return first, False

    def _directly(self, before: int, number: int) -> str:
        """Whether the line follows with its Jacobians taken directly, as a chain rule over steps means them; if so, the
        line is kept with that meaning, and the answer is how to say it."""
        member = self.members[number]
        assert member.body is not None
        direct = Member(member.line, self.given.directly(member.body))
        if direct.body == member.body:
            return ""
        try:
            if not self._compared(self.members[before], direct, diagnose=False).equal:
                return ""
            self.members[number] = direct
            self.values = self._values()
        except NotationError:
            self.members[number] = member
            return ""
        names = dict.fromkeys(show(r) for r in references(direct.body) if r.name.endswith(DIRECT))
        words, their = " and ".join(f"`{n}`" for n in names), "its" if len(names) == 1 else "their"
        return f"{words} taken directly: by {their} own equation alone"

    def _same(self, one: int, other: int) -> bool:
        if not self.values:
            return self._compared(self.members[one], self.members[other], diagnose=False).equal
        return all(close(values[one], values[other], _NEAR) for values in self.values)

    def _compared(self, one: Member, other: Member, diagnose: bool = True) -> Comparison:
        lines = [self._equation(one), self._equation(other)]
        reference, answer = (self.given.checked([line], [x.right for x in lines]) for line in lines)
        options = {"diagnose": diagnose, "outputs": (_SHOWN,), "engine": self.engine}
        return compare(reference, answer, _DRAWS, **options)  # type: ignore[arg-type]

    def _step(self, number: int, verdict: str, sentence: str = "") -> Step:
        member, head = self.members[number], self.members[0].body
        said = sentence or _SENTENCES.get(verdict, member.error)
        reads = frozenset(show(r) if halves(r.name) else r.name for r in references(member.body or ZERO))
        shown = "" if member.body is None else latex(member.body, page=True)
        of = "" if head is None else show(head)
        return Step(member.line.number, member.line.text, verdict, said, shown, of, reads)
