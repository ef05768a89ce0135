"""The text of a derivation: chains, their lines, and the derivatives in them, read with all that is known of the names.

    dJ/dh[t-1,k] = sum[j](dJ/dz[t,j] dz[t,j]/dh[t-1,k])
                 = g[t,J] H[k,J]

A line that begins with `=` goes on with the chain above it; any other begins a chain, or, after a sign or inside
brackets, goes on with the line above it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..compare.sites import in_order
from ..errors import NotationError
from ..names import halves
from ..parse.lexer import canonical
from ..parse.parser import parse
from ..show import show
from ..tree import Equation, Expr, Ref, free_indices, rename_tensors, walk
from .given import Given

_LINE, _WORD = "Lineq", "Dq"  # what a line and a derivative are called while they are read
_NEW = re.compile(r"(.+?)(?:\[(.*)\]|_(?:\{[^{}]*\}|\w))")


@dataclass
class Line:
    """One member of a chain: its text, and the number of the line that it begins on."""

    text: str
    number: int


@dataclass
class Member:
    """A line as it was read, or why it was not."""

    line: Line
    body: Expr | None
    error: str = ""


@dataclass
class Chain:
    members: list[Member]
    indices: tuple[str, ...]  # the free ones of its first member
    defines: bool  # its second member says what the first, a new name, means


class Reader:
    def __init__(self, given: Given) -> None:
        self.given = given
        self.source = "" if given.system is None else show(given.system.program)
        self.ranks = dict(given.ranks)  # and those of the names that the derivation gives
        self.words: dict[str, str] = {}  # a derivative's name -> its word

    def read(self, text: str) -> Iterator[Chain]:
        for lines in chains(text):
            known = set(self.ranks)
            head, rest = self._head(lines[0], lines[1]), lines[1:]
            indices = () if head.body is None else in_order(head.body)
            members = [head]
            new = isinstance(head.body, Ref) and not halves(head.body.name) and head.body.name not in known
            if new:
                members.append(self._member(rest.pop(0), indices, head))
            yield Chain([*members, *(self._member(line, indices) for line in rest)], indices, new)

    def _head(self, line: Line, following: Line) -> Member:
        """The first member. The subscript of a new name is its indices where they are those of what it stands for."""
        head, found = self._member(line, ()), _NEW.fullmatch(line.text)
        name = canonical(found[1]) if found and re.fullmatch(r"[\\\w^{}']+", found[1]) else ""
        if not found or not name or name in self.ranks:
            return head
        body = self._member(following, ()).body
        wanted = free_indices(body) if body is not None else set()
        self.ranks[name] = len(wanted) if found[2] is None else found[2].count(",") + 1
        other = self._member(line, ())
        same = isinstance(other.body, Ref) and {a.plain for a in other.body.indices} == wanted
        if found[2] is None and not (wanted and same):
            del self.ranks[name]
            return head
        return other

    def _member(self, line: Line, indices: tuple[str, ...], defined: Member | None = None) -> Member:
        left = defined.line.text if defined else _LINE + (f"[{','.join(indices)}]" if indices else "")
        try:
            written = f"{left} = {derivatives(line.text, self._derivative)}"
            names = {word: name for name, word in self.words.items()}
            equation = rename_tensors(self._parsed(written), names)
        except NotationError as error:
            return Member(line, None, error.message)
        if defined:
            self.ranks[equation.left.name] = len(equation.left.indices)
            self.source += f"\n{written}"
            self.given.defined.append(equation)
        return Member(line, equation.right)

    def _parsed(self, line: str) -> Equation:
        ranks = {word: self.given.rank(name) for name, word in self.words.items()}
        return parse(f"{self.source}\n{line}", {**self.ranks, **ranks}).equations[-1]

    def _derivative(self, above: str, below: str) -> str | None:
        """What stands for a derivative while its line is read; None where `da/db` is a quotient of two tensors."""
        begun = [re.match(r"\w+'*", text) for text in (above, below)]
        if all(name and f"d{name[0]}" in self.ranks for name in begun):
            return None
        entry = self.given.derivative(self._entry(above), self._entry(below))
        word = self.words.setdefault(entry.name, f"{_WORD}{len(self.words)}")
        return show(replace(entry, name=word))

    def _entry(self, text: str) -> Ref:
        if re.fullmatch(r"\w+'*", text) and canonical(text) in self.given.ranks:
            return Ref(canonical(text))
        body = self._parsed(f"{_LINE} = {text}").right
        found = next((n for n in walk(body) if isinstance(n, Ref)), None)
        if found is None:
            raise NotationError(f"`{text}` is no entry of a tensor, so it has no derivative")
        return found


_FRAME = re.compile(
    r"\\(begin|end)\{(aligned|align\*?|equation\*?)\}|\$\$|\\\[|\\\]|&|\\\\\s*$|^\s*#.*|\s#.*|[\s,.;]+$"
)


def chains(text: str) -> list[list[Line]]:
    """The members of each chain."""
    found: list[list[Line]] = []
    depth = 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = _FRAME.sub(" ", _FRAME.sub(" ", raw)).strip()
        if not line:
            continue
        goes_on = bool(found) and (depth > 0 or line[0] in "+-*/" or found[-1][-1].text[-1:] in (*"+-*/",))
        parts, depth = _split(line, depth)
        if goes_on:
            found[-1][-1].text += " " + parts.pop(0)
        elif parts[0]:
            found.append([])
        elif found:
            parts.pop(0)
        else:
            message = "the derivation begins with `=`: what is derived stands before it"
            raise NotationError(message, text, number, 1)
        found[-1] += [Line(part, number) for part in parts]
    for chain in found:
        empty = next((member for member in chain if not member.text), None)
        if empty or len(chain) == 1:
            message = (
                "something is missing beside `=`" if empty else "this line has no `=`: nothing is derived"
            )
            raise NotationError(message, text, (empty or chain[0]).number, 1)
    return found


def _split(text: str, depth: int) -> tuple[list[str], int]:
    """The text at each `=` that stands in no brackets, and how many brackets are open at its end."""
    parts = [""]
    for token in re.findall(r"[<>!:=]?=+|.", text):
        depth += (token in "([{") - (token in ")]}")
        if token in ("=", ":=") and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts], depth


_IN = r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"  # what braces hold, other braces too
_ENTRY = (
    rf"((?:\\(?:hat|tilde|bar|mathbf|boldsymbol|text|mathrm)\s*{_IN}|\\[A-Za-z]+(?:\s+[A-Za-z])?|[A-Za-z]+\d*)"
    rf"(?:[_^](?:{_IN}|\([^()]*\)|\\[A-Za-z]+|\w+)|\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|')*)"
)
_D = r"(?:\\partial\b|∂|d)\s*"
_DERIVATIVE = re.compile(
    rf"\\[dt]?frac\s*\{{\s*{_D}{_ENTRY}\s*\}}\s*\{{\s*{_D}{_ENTRY}\s*\}}"
    rf"|(?<![A-Za-z0-9_\\'])\{{?{_D}{_ENTRY}\}}?\s*/\s*\{{?{_D}{_ENTRY}\}}?"
)


def derivatives(text: str, put: Callable[[str, str], str | None]) -> str:
    """The text with `put(above, below)` in place of each derivative, where it gives something."""

    def found(match: re.Match[str]) -> str:
        above, below = (part for part in match.groups() if part is not None)
        word = put(above, below)
        return match[0] if word is None else f"{word} "

    return _DERIVATIVE.sub(found, text)
