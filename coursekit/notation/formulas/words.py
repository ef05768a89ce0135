"""The words of a formula: those that the reader of equations finds, but every superscript is a power."""

from __future__ import annotations

import re

from lark import Token

from ..errors import NotationError
from ..names import Name
from ..parse.latex_reader import LatexReader
from ..parse.lexer import canonical
from ..parse.signature import key
from ..parse.symbols import LETTERS
from ..parse.tokens import as_

_CORNERS = {"lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋"}
_SIGNS = frozenset("+-*/^(){}[],|.…=\\~$²³⁴") | LETTERS.keys()
_KINDS = {
    "LPAR": "(", "RPAR": ")", "LBRACE": "{", "RBRACE": "}", "LSQ": "[", "LGRP": "[", "RSQ": "]", "STAR": "*",
    "DOT": "*", "SLASH": "/", "PLUS": "+", "MINUS": "-", "CARET": "**", "COMMA": ",", "BAR": "|",
    "NUMBER": "number", "NAME": "name", "FUNC": "name", "SQRT": "name", "FRAC": "frac", "FLOOR": "//", "DOTS": "...",
    "BIGOP": "sum", "REDUCER": "sum", "UPTO": "to", "EQ": "=", "_EQ": "=",
}  # fmt: skip


class Words(LatexReader):
    """Tokens whose kind is `number`, `name`, `frac`, the sign itself, or `end`."""

    def words(self) -> list[Token]:
        found = [as_(_KINDS.get(t.type, t.type), t) for t in self.tokens()]
        self.emit("end", "", self.end, self.end)
        return [*found, self.out[-1]]

    def one(self) -> None:
        char = self.text[self.pos]
        if char in "√⌈⌉⌊⌋":
            self.pos += 1
            self.emit(char, char, self.pos - 1)
        elif not (char.isascii() and char.isalnum()) and not char.isspace() and char not in _SIGNS:
            raise self.error(f"`{char}` has no meaning in a formula", self.pos)
        else:
            super().one()

    def command(self) -> None:
        sign = re.compile(r"\\([lr](?:ceil|floor)|binom)\b").match(self.text, self.pos, self.end)
        if sign is None:
            return super().command()
        self.pos = sign.end()
        kind = _CORNERS.get(sign[1], sign[1])
        return self.emit(kind, kind, sign.start())

    def operator(self, symbol: str, start: int, length: int | None = None) -> None:
        super().operator(symbol, start, length)
        if symbol == "||":  # two bars side by side, |T||d|; but \| is one
            bars = 1 if self.text[start] == "\\" else 2
            self.out[-1:] = [as_("BAR", self.out[-1], "|")] * bars
        elif self.out[-1].type not in _KINDS:
            raise self.error(f"`{symbol}` has no meaning in a formula", start)

    def word(self, word: str, start: int, text_word: bool = False) -> None:
        if word == "sum" and self.follows("_"):
            self.reducer(word, start, big=False)
        else:
            self.finish(Name(word), start)

    def finish(self, name: Name, start: int) -> None:
        self.emit("NAME", self.scripts(name), start)

    def reducer(self, word: str, start: int, big: bool) -> None:
        if word == "sum":
            super().reducer(word, start, big)
        else:
            self.finish(Name(word), start)

    def peek_transpose(self) -> bool:
        return False

    def scripts(self, name: Name) -> Name:
        """Subscripts only; that of a logarithm is its base, `\\log_2 T`."""
        base = re.compile(r"_\{?\s*(\d+)\s*\}?").match(self.text, self.pos, self.end)
        if name.base == "log" and base:
            self.pos = base.end()
            return Name(f"log{base[1]}")
        subs = []
        while self.follows("_"):
            subs.append(self.group(sup=False))
        return Name(name.base, name.accents, subs=(*name.subs, *subs))


def spelling(symbol: str) -> str:
    """One spelling for a symbol that a question declares: `D_{h}` is `D_h`, `τ` is `tau`."""
    try:
        return canonical(symbol)
    except NotationError:
        return symbol


def alike(name: Name, symbols: dict[str, str]) -> str | None:
    """The symbol that a name means as a page prints it: `\\lambda` is `lam`, `\\hat y` is `yhat`."""
    found = [s for s in symbols if key(s) == key(name.text)]
    return found[0] if len(found) == 1 else None
