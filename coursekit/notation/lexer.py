"""The reader of characters: ASCII and LaTeX become one stream of tokens for one grammar.

Each token keeps its place in the text as it was typed, so that a caret can stand under it. A name is read
whole, with its accents, sub- and superscripts and primes (`names.Name`); `\\frac`, `\\underset`, `\\sum_…^…`
become the tokens of the bracketed ASCII forms.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from lark import Token

from .errors import NotationError
from .names import GREEK, Group, Name
from .symbols import (
    ACCENTS,
    DROPPED_WITH_ARGUMENT,
    ENVIRONMENTS,
    FUNCTIONS,
    LETTERS,
    OPERATORS,
    REDUCERS,
    REFUSED,
    SPACES,
    WRAPPERS,
)

MAX_TEXT = 20_000
MAX_DEPTH = 40

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?|\.\d+")
_COMMAND = re.compile(r"\\([A-Za-z]+\*?|.|\n)")
_OPERATOR = re.compile(r"\.\.\.|<=|>=|==|!=|\|\||\*\*|[-+*/=<>()\[\]{},;^|]")
_ITEM = re.compile(r"[A-Za-z0-9_']+([+-][A-Za-z0-9]+)*")
_KIND = {
    "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "=": "EQ", "(": "LPAR", ")": "RPAR", "[": "LSQ",
    "]": "RSQ", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ";": "SEMI", "^": "CARET", "**": "CARET",
    "|": "BAR", "||": "NORM", "...": "DOTS", "<=": "CMP", ">=": "CMP", "==": "CMP", "!=": "CMP", "<": "CMP",
    ">": "CMP",
}  # fmt: skip
_KEYWORDS = {"if": "IF", "otherwise": "OTHERWISE", "else": "OTHERWISE", "and": "AND", "in": "IN", "cases": "CASES"}


def lex(text: str) -> list[Token]:
    """The tokens of a text. Raises NotationError for what is no part of the language."""
    if len(text) > MAX_TEXT:
        raise NotationError(f"the text has {len(text)} characters; at most {MAX_TEXT} are read")
    return Lexer(text).tokens()


class Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.end = len(text)
        self.lines = [0] + [m.end() for m in re.finditer("\n", text)]
        self.out: list[Token] = []
        self.depth = 0
        self.cases = 0

    # ── places and errors ────────────────────────────────────────────────────────────────────

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

    # ── the loop ─────────────────────────────────────────────────────────────────────────────

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
            if not self.cases:
                self.emit("NEWLINE", "\n", start)
        elif char in " \t\r\f\v&$~\u00a0":
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
        elif char == "." and not self.text[self.pos + 1 : self.end].split("\n")[0].strip("$ \\[]"):
            self.pos += 1  # the full stop of a sentence
        else:
            raise self.error(f"`{char}` is no part of the language", start)

    def operator(self, symbol: str, start: int, length: int | None = None) -> None:
        self.pos = start + (len(symbol) if length is None else length)
        kind = _KIND[symbol]
        if kind == "LSQ" and not self.after_name():
            kind = "LGRP"
        if kind == "CARET":
            if self.peek_transpose():
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
        match = re.compile(r"\s*(\{\s*(\\top|T)\s*\}|\\top\b|⊤|T(?![A-Za-z0-9_\[(]))").match(self.text, self.pos, self.end)
        if match:
            self.pos = match.end()
        return bool(match)

    # ── names ────────────────────────────────────────────────────────────────────────────────

    def word(self, word: str, start: int, text_word: bool = False) -> None:
        """A word that begins at `start` has been read up to `pos`: finish it and emit it."""
        if word in _KEYWORDS and not self.follows("_", "^", "[", "'"):
            return self.keyword(word, start)
        self.finish(Name(word, text_word=text_word), start)

    def keyword(self, word: str, start: int) -> None:
        kind = _KEYWORDS[word]
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
        return re.compile(r"\s*(\\left|\\[bB]igg?l?)?\s*[(\[]").match(self.text, self.pos, self.end) is not None

    def scripts(self, name: Name) -> Name:
        subs, sups, primes = list(name.subs), list(name.sups), name.primes
        transposed, opaque = name.transposed, name.opaque
        while self.pos < self.end:
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
            elif char == "." and re.compile(r"\.(\\text|\\mathrm|[A-Za-z])").match(self.text, self.pos, self.end):
                subs.append(self.group(sup=False))
            else:
                break
        return Name(name.base, name.accents, tuple(sups), tuple(subs), primes, transposed, opaque, name.text_word)

    def superscript(self) -> Group | None:
        """The superscript at `pos` if it belongs to the name; None if it is a power."""
        rest = re.compile(r"\^\s*\{?\s*\d+\s*\}?").match(self.text, self.pos, self.end)
        if rest:
            bracket = self.text[rest.end() : rest.end() + 1] == "["
            return self.group(sup=True) if bracket else None
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
        for item in items:
            if not _ITEM.fullmatch(item):
                if re.search(r"\\sim|∼|~", raw):
                    raise self.error(REFUSED["sim"], opener)
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
        match = _COMMAND.match(self.text, self.pos, self.end)
        if match is None:
            raise self.error("a name is missing after `\\`", start)
        self.pos = match.end()
        if match.group(1) in WRAPPERS or match.group(1) in ACCENTS:
            while self.follows(" "):
                self.pos += 1
            if self.follows("{"):
                self.pos = self.close(self.pos) + 1
        return self.text[start : self.pos]

    # ── commands ─────────────────────────────────────────────────────────────────────────────

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

    def braced(self) -> None:
        """Emit `{` tokens of the next argument `}`."""
        start, stop = self.argument()
        after = self.pos
        self.emit("LBRACE", "{", max(0, start - 1), start)
        self.pos = start
        self.scan(stop)
        self.pos = after
        self.emit("RBRACE", "}", stop, stop + 1)

    def command(self) -> None:
        start = self.pos
        if self.text[start] in LETTERS:
            name, self.pos = LETTERS[self.text[start]], start + 1
        else:
            match = _COMMAND.match(self.text, start, self.end)
            if match is None:
                raise self.error("a command is missing after `\\`", start)
            name, self.pos = match.group(1), match.end()
        if name == "\\":
            self.newline(start)
        elif name in "()[]" or name in SPACES or name == "\n":
            if name in "quad qquad":
                self.skip_number()
            if name in ("left", "right") and self.follows("."):
                self.pos += 1
        elif name == "-":
            self.operator("-", start, 1)
        elif name in OPERATORS:
            self.operator(OPERATORS[name], start, self.pos - start)
        elif name in DROPPED_WITH_ARGUMENT:
            self.argument()
        elif name in ("begin", "end"):
            self.environment(name, start)
        elif name in ("frac", "dfrac", "tfrac"):
            self.fraction(start)
        elif name == "sqrt":
            self.emit("SQRT", "sqrt", start)
            if self.opens() and not self.follows("{"):
                self.out[-1] = Token.new_borrow_pos("FUNC", "sqrt", self.out[-1])
            else:
                self.braced()
        elif name in ("sum", "prod"):
            self.reducer(name, start, big=True)
        elif name in ("underset", "overset"):
            self.underset(start)
        elif name in WRAPPERS:
            self.wrapped(start)
        elif name in ACCENTS:
            self.accent(ACCENTS[name], start)
        elif name == "ell":
            self.finish(Name("l"), start)
        elif name == "Delta" and (word := re.compile(r"\s*([A-Za-z])(?![A-Za-z])").match(self.text, self.pos, self.end)):
            self.pos = word.end()
            self.finish(Name("d" + word.group(1)), start)
        elif name in GREEK or name in FUNCTIONS or name in REDUCERS:
            self.finish(Name(name), start)
        elif name == "in":
            self.keyword("in", start)
        elif name == "forall":
            quad = re.compile(r".*?\\q?quad").match(self.text, self.pos, self.end)
            if quad is None:
                raise self.error("`for all` says nothing that the left side does not: leave it out", start)
            self.pos = quad.end()
        elif name in REFUSED:
            raise self.error(REFUSED[name], start, self.pos - start)
        else:
            raise self.error(f"the command `\\{name}` is not known", start, self.pos - start)

    def newline(self, start: int) -> None:
        if self.cases:
            self.emit("COMMA", ",", start)
        else:
            self.emit("NEWLINE", "\\\\", start)

    def skip_number(self) -> None:
        """Leave out an equation's number: `\\quad (7)` at the end of a line."""
        number = re.compile(r"\s*\(\d+\)\s*(?=\$|\n|\\\\|\\end|\Z)").match(self.text, self.pos, self.end)
        if number:
            self.pos = number.end()

    def environment(self, which: str, start: int) -> None:
        begin, stop = self.argument()
        name = self.text[begin:stop]
        if name == "cases":
            if which == "begin":
                self.cases += 1
                self.emit("CASES", "cases", start)
                self.emit("LPAR", "(", start)
            else:
                self.cases -= 1
                if self.out and self.out[-1].type == "COMMA":
                    self.out.pop()
                self.emit("RPAR", ")", start)
        elif name in ENVIRONMENTS:
            if name == "array" and which == "begin":
                self.argument()
            if self.out and self.out[-1].type != "NEWLINE":
                self.emit("NEWLINE", "", start)
        elif name.endswith("matrix"):
            raise self.error(REFUSED["matrix"], start, self.pos - start)
        else:
            raise self.error(f"the environment `{name}` is not known", start, self.pos - start)

    def fraction(self, start: int) -> None:
        saved = self.pos
        above = self.text[slice(*self.argument())].strip()
        below = self.text[slice(*self.argument())].strip()
        partial = re.compile(r"(\\partial\b|∂)\s*")
        over, under = partial.match(above), partial.match(below)
        if over and under:
            upper = name_of(above[over.end() :].strip() or "J", self, start)
            lower = name_of(below[under.end() :].strip(), self, start)
            name = Name(
                f"d{upper.base}_d{lower.base}",
                upper.accents + lower.accents,
                upper.sups + lower.sups,
                upper.subs + lower.subs,
                upper.primes + lower.primes,
            )
            return self.emit("NAME", name, start)
        self.pos = saved
        self.emit("FRAC", "frac", start)
        self.braced()
        self.braced()

    def underset(self, start: int) -> None:
        sub = self.argument()
        head = self.argument()
        word = plain_words(self.text[slice(*head)])
        if word in REFUSED:
            raise self.error(REFUSED[word], start, self.pos - start)
        if word not in REDUCERS:
            raise self.error(f"`{word}` takes no index below it", start, self.pos - start)
        after = self.pos
        self.emit("BIGOP" if word in ("sum", "prod") else "REDUCER", REDUCERS[word], start)
        self.bracketed(sub, None)
        self.pos = after

    def bracketed(self, sub: tuple[int, int], sup: tuple[int, int] | None) -> None:
        self.emit("LSQ", "[", sub[0], sub[0] + 1)
        self.pos = sub[0]
        self.scan(sub[1])
        if sup is not None:
            self.emit("UPTO", "to", sup[0], sup[0] + 1)
            self.pos = sup[0]
            self.scan(sup[1])
        self.emit("RSQ", "]", sub[1], sub[1] + 1)

    def reducer(self, word: str, start: int, big: bool) -> None:
        """`sum[i]`, `\\sum_{i=1}^n`, `softmax_{w}`, `max[t]`; a `max` or `min` without an index is a function."""
        stop = self.pos
        sub = sup = None
        while True:
            match = re.compile(r"\s*(\\(no)?limits\s*)?([_^])").match(self.text, self.pos, self.end)
            if match is None:
                break
            self.pos = match.end()
            if match.group(3) == "_":
                letters = re.compile(r"[A-Za-z0-9]+").match(self.text, self.pos, self.end)
                if letters and word != "sum":
                    sub, self.pos = letters.span(), letters.end()
                else:
                    sub = self.script_argument()
            elif sub is not None:
                sup = self.script_argument()
            else:
                self.pos = match.start(3)
                break
        after = self.pos
        if sub is None and word in FUNCTIONS and not self.follows("["):
            return self.emit("FUNC", word, start, stop)
        self.emit("BIGOP" if big else "REDUCER", word, start, stop)
        if sub is not None:
            self.bracketed(sub, sup)
            self.pos = after

    def script_argument(self) -> tuple[int, int]:
        """`{…}` or one symbol with its own subscript: the `t_2` of `\\sum_t`, `w_t` in braces."""
        return self.argument()

    def wrapped(self, start: int) -> None:
        begin, stop = self.argument()
        inside = self.text[begin:stop]
        words = inside.strip()
        fresh = not self.out or self.out[-1].type == "NEWLINE"
        if fresh and (inside != inside.rstrip() or words.endswith(":")):
            return  # a label before the equation: \text{Attention }
        plain = words.rstrip(": .,")
        if plain in _KEYWORDS:
            return self.keyword(plain, start)
        if plain in ("for", "where", "when", "for all"):
            return self.keyword("if", start)
        if not plain:
            return
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", plain):
            return self.word(plain, start, text_word=True)
        if re.fullmatch(r"1", plain):
            return self.emit("NUMBER", "1", start)
        if " " in plain:
            raise self.error(f"`{plain}` is prose; write it as a condition on indices", start, self.pos - start)
        self.finish(name_of(inside, self, begin), start)

    def accent(self, accent: str, start: int) -> None:
        begin, stop = self.argument()
        inner = name_of(self.text[begin:stop], self, begin)
        self.finish(
            Name(inner.base, (*inner.accents, accent), inner.sups, inner.subs, inner.primes), start
        )

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


def plain_words(text: str) -> str:
    """`\\operatorname{argmin}` -> `argmin`."""
    return re.sub(r"\\[A-Za-z]+\*?\s*(?=\{)|[{}\\\s]", "", text)


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


def name_of(text: str, lexer: Lexer, at: int) -> Name:
    """The single name that a short text is."""
    tokens = Lexer(text).tokens() if len(text) < 200 else []
    if len(tokens) == 1 and isinstance(tokens[0].value, Name):
        return tokens[0].value
    raise lexer.error(f"`{text}` is not a name", at, max(1, len(text)))


def statements(tokens: list[Token]) -> Iterator[list[Token]]:
    """Split the tokens at line ends. Inside brackets a line goes on; so does one that begins with `=`."""
    current: list[Token] = []
    depth = 0
    for k, token in enumerate(tokens):
        if token.type == "NEWLINE":
            following = next((t for t in tokens[k + 1 :] if t.type != "NEWLINE"), None)
            goes_on = following is not None and (following.type == "EQ" or (depth > 0 and not _defines(tokens, k)))
            if current and not goes_on:
                yield current
                current, depth = [], 0
            continue
        depth += {"LPAR": 1, "LSQ": 1, "LGRP": 1, "LBRACE": 1}.get(token.type, 0)
        depth -= {"RPAR": 1, "RSQ": 1, "RGRP": 1, "RBRACE": 1}.get(token.type, 0)
        current.append(token)
    if current:
        yield current


def _defines(tokens: list[Token], newline: int) -> bool:
    """Does the line after this one hold an `=`, so that it is a statement of its own?"""
    seen = False
    for token in tokens[newline + 1 :]:
        if token.type == "NEWLINE" and seen:
            return False
        seen = seen or token.type != "NEWLINE"
        if token.type == "EQ":
            return True
    return False
