"""Characters to tokens: numbers, signs, and names with their sub- and superscripts and primes."""

from __future__ import annotations

import bisect
import re

from lark import Token

from ..errors import NotationError
from ..names import Group, Name
from .slips import UNSEEN, escaped, stranger
from .symbols import (
    ACCENTS,
    FUNCTIONS,
    LETTERS,
    REDUCERS,
    REFUSED,
    SPACES,
    WRAPPERS,
)

MAX_DEPTH = 40
MAX_SCRIPTS = 8

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?|\.\d+")
COMMAND = re.compile(r"\\([A-Za-z]+\*?|.|\n)")
_OPERATOR = re.compile(r"\.\.\.|<=|>=|==|!=|\|\||\*\*|[-+*/=<>()\[\]{},;^|]")
_ITEM = re.compile(r"[A-Za-z0-9_']+([+-][A-Za-z0-9]+)*")
KIND = {
    "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "=": "EQ", "(": "LPAR", ")": "RPAR", "[": "LSQ",
    "]": "RSQ", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ";": "SEMI", "^": "CARET", "**": "CARET",
    "|": "BAR", "||": "NORM", "...": "DOTS", "<=": "CMP", ">=": "CMP", "==": "CMP", "!=": "CMP", "<": "CMP",
    ">": "CMP",
}  # fmt: skip
KEYWORDS = {
    "if": "IF",
    "otherwise": "OTHERWISE",
    "else": "OTHERWISE",
    "and": "AND",
    "in": "IN",
    "cases": "CASES",
}


class Scanner:
    """Reads ASCII; `latex_reader.LatexReader` adds the commands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.end = len(text)
        self.lines = [0] + [m.end() for m in re.finditer("\n", text)]
        self.out: list[Token] = []
        self.depth = 0
        self.cases = 0  # open `cases`: `\\\\` separates the branches
        self.display = 0  # open `aligned`: only `\\\\` ends a line

    def place(self, at: int) -> tuple[int, int]:
        line = bisect.bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def error(self, message: str, at: int, width: int = 1) -> NotationError:
        line, column = self.place(at)
        return NotationError(message, self.text, line, column, width)

    def emit(self, kind: str, value: object, start: int, stop: int | None = None) -> None:
        line, column = self.place(start)
        width = max(1, (self.pos if stop is None else stop) - start)
        self.out.append(Token(kind, value, start, line, column, line, column + width, start + width))  # type: ignore[arg-type]

    def tokens(self) -> list[Token]:
        self.scan(self.end)
        return self.out

    def scan(self, end: int) -> None:
        """Read tokens up to `end` (the text's end, or that of a braced argument)."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"brackets are nested more than {MAX_DEPTH} deep", self.pos)
        outer, self.end = self.end, end
        while self.pos < self.end:
            self.one()
        self.end = outer
        self.depth -= 1

    def one(self) -> None:
        start, char = self.pos, self.text[self.pos]
        if char == "\n":
            self.pos += 1
            if not self.cases and not self.display:
                self.emit("NEWLINE", "\n", start)
        elif slip := escaped(self.text, start, self.end):
            raise self.error(slip[0], start, slip[1])
        elif char.isspace() or char in "&$~" or char in UNSEEN:
            self.pos += 1
        elif char in "#%":
            newline = self.text.find("\n", self.pos, self.end)
            self.pos = self.end if newline < 0 else newline
        elif char == "\\" or char in LETTERS:
            self.command()
        elif number := _NUMBER.match(self.text, self.pos, self.end):
            self.pos = number.end()
            self.emit("NUMBER", number.group(), start)
        elif word := _WORD.match(self.text, self.pos, self.end):
            self.pos = word.end()
            self.word(word.group(), start)
        elif operator := _OPERATOR.match(self.text, self.pos, self.end):
            self.operator(operator.group(), start)
        elif char == "." and re.compile(r"\.\s*($|\n|\$|\\\\|\\end|\\\]|\\quad)").match(
            self.text, self.pos, self.end
        ):
            self.pos += 1  # the full stop of a sentence
        elif char == "_" and [t.type for t in self.out[-3:]] == ["LPAR", "NAME", "RPAR"]:
            name = self.out[-2].value  # (∂J/∂z)_k: the subscript is the name's
            start = self.out[-3].start_pos or 0
            del self.out[-3:]
            self.finish(name, start)
        elif char == "_":
            raise self.error("a subscript must follow a name", start)
        elif self.text.startswith(":=", start):
            self.pos += 1
        else:
            raise self.error(stranger(char), start)

    def operator(self, symbol: str, start: int, length: int | None = None) -> None:
        self.pos = start + (len(symbol) if length is None else length)
        kind = KIND[symbol]
        if kind == "LSQ" and not self.after_name():
            kind = "LGRP"
        if kind == "CARET" and self.peek_transpose():
            return
        self.emit(kind, symbol, start)

    def after_name(self) -> bool:
        """Is the token before a name (or a reducer, or the bracket after a name's round brackets)?"""
        if not self.out:
            return False
        last = self.out[-1]
        if last.type in ("NAME", "REDUCER", "BIGOP"):
            return True
        if last.type != "RPAR":
            return False
        level = 0
        for k in range(len(self.out) - 1, -1, -1):
            level += {"RPAR": 1, "LPAR": -1}.get(self.out[k].type, 0)
            if level == 0:
                return k > 0 and self.out[k - 1].type == "NAME"
        return False

    def peek_transpose(self) -> bool:
        """Swallow the ⊤ of `e[w,I]^\\top`: in index notation it means nothing."""
        if not self.out or self.out[-1].type not in ("RSQ", "RPAR", "RGRP"):
            return False
        match = re.compile(r"\s*(\{\s*(\\top|T)\s*\}|\\top\b|⊤|T(?![A-Za-z0-9_\[(]))").match(
            self.text, self.pos, self.end
        )
        if match:
            self.pos = match.end()
        return bool(match)

    def word(self, word: str, start: int, text_word: bool = False) -> None:
        """A word that begins at `start` has been read up to `pos`: finish it and emit it."""
        if word in KEYWORDS and not self.follows("_", "^", "[", "'"):
            return self.keyword(word, start)
        self.finish(Name(word, text_word=text_word), start)

    def keyword(self, word: str, start: int) -> None:
        kind = KEYWORDS[word]
        self.emit(kind, word, start)
        if kind == "IN":
            self.shape(start)

    def follows(self, *openers: str) -> bool:
        return self.text[self.pos : self.pos + 1] in openers and self.pos < self.end

    def finish(self, name: Name, start: int) -> None:
        """Read sub- and superscripts, primes and `.grad`, then emit the name or what it turns out to be."""
        head = name.plain and name.base in REDUCERS
        if head:
            return self.reducer(REDUCERS[name.base], start, big=False)
        if name.plain and name.base in REFUSED:
            raise self.error(REFUSED[name.base], start, self.pos - start)
        name = self.scripts(name)
        if name.plain and name.base in FUNCTIONS and (name.base != "sigma" or self.opens()):
            return self.emit("FUNC", FUNCTIONS[name.base], start)
        self.emit("NAME", name, start)

    def opens(self) -> bool:
        """Does a bracket come next?"""
        return (
            re.compile(r"\s*(\\left|\\[bB]igg?l?)?\s*[(\[]").match(self.text, self.pos, self.end) is not None
        )

    def scripts(self, name: Name) -> Name:
        subs, sups, primes = list(name.subs), list(name.sups), name.primes
        transposed, opaque = name.transposed, name.opaque
        start = self.pos
        while self.pos < self.end:
            if len(subs) + len(sups) + primes > MAX_SCRIPTS:
                raise self.error(
                    f"a name has at most {MAX_SCRIPTS} sub- and superscripts", start, self.pos - start
                )
            char = self.text[self.pos]
            if char == " " and re.compile(r" +_").match(self.text, self.pos, self.end):
                self.pos += 1
            elif char in "'′":
                primes += 1
                self.pos += 1
            elif char == "_":
                group = self.group(sup=False)
                if group.items == ("Phi",):
                    opaque = True
                elif group.items:
                    subs.append(group)
            elif char == "^":
                saved = self.pos
                group_or_none = self.superscript()
                if group_or_none is None:
                    self.pos = saved
                    break
                if group_or_none.items == ("T",) and not self.follows("["):
                    transposed = True
                elif group_or_none.items == ("prime",):
                    primes += 1
                else:
                    sups.append(group_or_none)
            elif char == "." and re.compile(r"\.(\\text|\\mathrm|[A-Za-z])").match(
                self.text, self.pos, self.end
            ):
                subs.append(self.group(sup=False))
            else:
                break
        return Name(
            name.base, name.accents, tuple(sups), tuple(subs), primes, transposed, opaque, name.text_word
        )

    def superscript(self) -> Group | None:
        """The superscript at `pos` if it belongs to the name; None if it is a power."""
        if re.compile(r"\^\s*\{?\s*\d+\s*\}?").match(self.text, self.pos, self.end):
            named = re.compile(r"\^\s*\{?\s*\d+\s*\}?(_(\{[^}]*\}|\w+))?\[").match(
                self.text, self.pos, self.end
            )
            return self.group(sup=True) if named else None
        if not re.compile(r"\^\s*(\{|\(|\\|[A-Za-z⊤′*])").match(self.text, self.pos, self.end):
            return None
        try:
            return self.group(sup=True)
        except NotationError:
            return None

    def group(self, sup: bool) -> Group:
        """Read `_x`, `_{…}`, `^{…}`, `^(t)` at `pos`."""
        opener = self.pos
        self.pos += 1
        while self.follows(" "):
            self.pos += 1
        if self.follows("{", "(") and (sup or self.text[self.pos] == "{"):
            stop = self.close(self.pos)
            round_ = self.text[self.pos] == "("
            raw, self.pos = self.text[self.pos + 1 : stop], stop + 1
        elif self.follows("\\") or (self.pos < self.end and self.text[self.pos] in LETTERS):
            raw, round_ = self.one_argument(), False
        elif match := re.compile(r"[A-Za-z0-9]+|\*").match(self.text, self.pos, self.end):
            raw, round_, self.pos = match.group(), False, match.end()
        else:
            what = "superscript" if sup else "subscript"
            raise self.error(f"a {what} is missing after `{self.text[opener]}`", opener)
        raw = raw.strip()
        if raw.startswith("(") and raw.endswith(")"):
            raw, round_ = raw[1:-1], True
        items = tuple(i for i in (flatten_script(part) for part in raw.split(",")) if i)
        if re.search(r"\\sim\b|∼|~", raw):
            raise self.error(REFUSED["sim"], opener)
        if not all(_ITEM.fullmatch(item) for item in items):
            raise self.error(f"`{raw}` cannot be read as part of a name", opener, len(raw) + 1)
        return Group(items, round_)

    def close(self, at: int) -> int:
        """Where the bracket that opens at `at` closes."""
        opener = self.text[at]
        closer = {"{": "}", "(": ")", "[": "]"}[opener]
        level = 0
        for k in range(at, self.end):
            if self.text[k] == opener and self.text[k - 1] != "\\":
                level += 1
            elif self.text[k] == closer and self.text[k - 1] != "\\":
                level -= 1
                if level == 0:
                    return k
        raise self.error(f"`{opener}` is never closed: `{closer}` is missing", at)

    def one_argument(self) -> str:
        """The text of a command with its own argument (`\\text{in}`), or of one letter."""
        start = self.pos
        if self.text[self.pos] in LETTERS:
            self.pos += 1
            return self.text[start : self.pos]
        match = COMMAND.match(self.text, self.pos, self.end)
        if match is None:
            raise self.error("a name is missing after `\\`", start)
        self.pos = match.end()
        if match.group(1) in WRAPPERS or match.group(1) in ACCENTS:
            while self.follows(" "):
                self.pos += 1
            if self.follows("{"):
                self.pos = self.close(self.pos) + 1
        return self.text[start : self.pos]

    def argument(self) -> tuple[int, int]:
        """The extent of a command's next argument, `pos` left after it: `{…}` or a single token."""
        while self.follows(" ", "\n", "\t"):
            self.pos += 1
        if self.pos >= self.end:
            raise self.error("an argument is missing here", max(0, self.end - 1))
        if self.text[self.pos] == "{":
            stop = self.close(self.pos)
            inner = (self.pos + 1, stop)
            self.pos = stop + 1
            return inner
        start = self.pos
        if self.text[start] == "\\":
            self.one_argument()
        else:
            self.pos += 1
        return start, self.pos

    def shape(self, start: int) -> None:
        """After `in`: `R^{V x d}` becomes one SHAPE token, the tuple of its dimensions."""
        match = re.compile(r"\s*(\\mathbb\s*(\{R\}|R)|R|ℝ)\s*\^\s*").match(self.text, self.pos, self.end)
        if match is None:
            raise self.error("after `in` comes a shape: `W in R^{n x m}`", start, 2)
        self.pos = match.end()
        begin, stop = self.argument()
        dims = re.split(r"\\times|×|\*|,|(?<![A-Za-z])x(?![A-Za-z])", self.text[begin:stop])
        names = tuple(flatten_script(d.replace("|", "")) for d in dims)
        if not all(re.fullmatch(r"[A-Za-z0-9_']+", n) for n in names):
            raise self.error("a shape is a list of sizes: `R^{n x m}`", begin, stop - begin)
        self.emit("SHAPE", names, begin, stop)

    def command(self) -> None:
        raise NotImplementedError

    def reducer(self, word: str, start: int, big: bool) -> None:
        raise NotImplementedError


def flatten_script(text: str) -> str:
    """A sub- or superscript's item as bare letters: `\\text{in}` -> `in`, `\\ell+1` -> `l+1`, `G_1` -> `G1`."""

    def command(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in WRAPPERS or name in SPACES:
            return ""
        if name in ACCENTS:
            return ""
        if name == "top":
            return "T"
        return {"ell": "l", "Delta": "d", "star": "star"}.get(name, name)

    text = "".join("\\" + LETTERS[c] + " " if c in LETTERS and LETTERS[c] != "-" else c for c in text)
    text = re.sub(r"\\([A-Za-z]+\*?|.)", command, text)
    return re.sub(r"[\s{}_]", "", text).replace("−", "-").replace("*", "star")
