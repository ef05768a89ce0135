"""The text of a derivation in its parts: chains, their lines, and the derivatives that stand in them.

    dJ/dh[t-1,k] = sum[j](dJ/dz[t,j] dz[t,j]/dh[t-1,k])
                 = g[t,J] H[k,J]

A line that begins with `=` goes on with the chain above it; any other begins a chain, or, after a sign or inside
brackets, goes on with the line above it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import NotationError


@dataclass
class Line:
    """One member of a chain: its text, and the number of the line that it begins on."""

    text: str
    number: int


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
