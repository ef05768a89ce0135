"""The words of a formula: numbers, names, signs; LaTeX and plain text alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import NotationError

_LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
)
GREEK = dict(zip("αβγδεζηθκλμνξπρστφχψω", _LETTERS.split(), strict=True))
SUPERSCRIPTS = {"²": 2, "³": 3, "⁴": 4}
_SIGNS = {"^": "**", "·": "*", "×": "*", "⋅": "*", "−": "-"}
_COMMANDS = {
    "cdot": "*", "times": "*", "ast": "*", "frac": "frac", "dfrac": "frac", "tfrac": "frac", "lceil": "⌈",
    "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋", "lvert": "|", "rvert": "|", "vert": "|", "mid": "|",
}  # fmt: skip
_SPACING = re.compile(r"\\(?:left|right|bigl?|bigr?|Bigl?|Bigr?|displaystyle)(?![a-zA-Z])|\\[,;:! ]|~|\$")
_UPRIGHT = re.compile(r"\\(?:mathrm|mathit|text|operatorname)\s*\{\s*([A-Za-z]\w*)\s*\}")
_TOKEN = re.compile(
    r"(?P<number>\d+(?:\.\d*)?|\.\d+)"
    r"|(?P<command>\\[a-zA-Z]+)(?:_\s*(?P<base>\d+|\{\s*\d+\s*\}))?"
    r"|(?P<name>[ΘΩ𝒪]|[A-Za-zα-ω][A-Za-zα-ω0-9]*(?:_(?:\{[\w,\s\\]*\}|\w+))?)"
    r"|(?P<sign>\*\*|[-+*/^(){}\[\],|·×−√⋅²³⁴⌈⌉⌊⌋])"
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # number, name, frac, or the sign itself; "end" at the end
    text: str
    column: int
    spaced: bool  # white space stands before it


def spelling(name: str) -> str:
    """One spelling for a name: `D_{h}` is `D_h`, `τ` is `tau`."""
    name = re.sub(r"[{}\s\\]", "", name)
    return "".join(GREEK.get(c, c) for c in name)


def without_spacing(text: str) -> str:
    """The text with LaTeX's spacing blanked out, every other character in its column."""
    blank = _SPACING.sub(lambda m: " " * len(m.group()), text)
    blank = _UPRIGHT.sub(lambda m: " " * (m.start(1) - m.start()) + m[1] + " ", blank)
    return blank.replace("\\|", " |").replace("\\{", " {").replace("\\}", " }")


def tokens(body: str) -> Iterator[Token]:
    position = 0
    while True:
        start = position
        while position < len(body) and body[position].isspace():
            position += 1
        if position == len(body):
            break
        spaced = position > start
        match = _TOKEN.match(body, position)
        if match is None:
            raise NotationError(f"`{body[position]}` has no meaning in a formula", body, 1, position + 1)
        if match["number"]:
            yield Token("number", match["number"], position, spaced)
        elif match["command"]:
            yield _command(match, position, spaced)
        elif match["name"]:
            yield Token("name", match["name"], position, spaced)
        else:
            yield Token(_SIGNS.get(match["sign"], match["sign"]), match["sign"], position, spaced)
        position = match.end()
    yield Token("end", "", len(body), False)


def _command(match: re.Match, position: int, spaced: bool) -> Token:
    word = match["command"][1:]
    if word in _COMMANDS:
        return Token(_COMMANDS[word], match.group(), position, spaced)
    name = word + ("_" + match["base"].strip("{ }") if match["base"] else "")
    return Token("name", name, position, spaced)
