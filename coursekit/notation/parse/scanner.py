"""What stands at a place of a text: its brackets, and a name's sub- and superscripts and primes."""

import bisect
import re
from dataclasses import replace
from functools import cache

from lark import Token

from .. import functions
from ..errors import NotationError
from ..names import ACCENTS, Group, Name
from . import symbols as S
from .tokens import as_, opening

MAX_DEPTH = 40
MAX_SCRIPTS = 8

COMMAND = re.compile(r"\\([A-Za-z]+\*?|.|\n)")
_SWITCH = re.compile(
    r"\{(\s*\\(?:bf|rm|it|sf|tt|cal))(?![A-Za-z])"
)  # {\bf h}: as long as \bf{ h}, and the same
_ROUND = re.compile(r"\s*(?:\(([^()]*)\)|\[([^\[\]]*)\]|\\langle\b(.*)\\rangle)\s*", re.DOTALL)
_ITEM = re.compile(r"[A-Za-z0-9_']+([+-][A-Za-z0-9]+)*")
_DEFINED = re.compile(r"(?m)^[^\S\n]*([A-Za-z]\w*)\s*(?:\[[^\]\n]*\]\s*)?:?=(?!=)")
_ENTRY = re.compile(  # softmax(z)_i = …
    r"(?m)^[^\S\n]*(?:\\(?:mathrm|text|operatorname)\s*\{)?([A-Za-z]+)\}?\s*(?:\([^()\n]*\)\s*_|_[^\n(]*\([^()\n]*\)\s*=(?!=))"
)
_SOME = re.compile(r"<|>(?!=)|[≤≠]|!=|\\(?:neq?|leq?|lt|gt)\b")  # but `t >= 1`: all of them
KIND = {
    "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "=": "EQ", "(": "LPAR", ")": "RPAR", "[": "LSQ",
    "]": "RSQ", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ";": "SEMI", "^": "CARET", "**": "CARET",
    "|": "BAR", "||": "NORM", "...": "DOTS", "<=": "CMP", ">=": "CMP", "==": "CMP", "!=": "CMP", "<": "CMP",
    ">": "CMP", "⊙": "ODOT", "//": "FLOOR", "..": "DOTS", ".": "AT", ".*": "ODOT", "·": "DOT", "@": "AT",
}  # fmt: skip
KEYWORDS = {
    "if": "IF", "otherwise": "OTHERWISE", "else": "OTHERWISE", "and": "AND", "in": "IN", "cases": "CASES",
}  # fmt: skip


_compiled = cache(re.compile)


class Scanner:
    """A text, how far it is read, and the tokens found; `latex_reader.LatexReader` finds them."""

    def __init__(self, text: str) -> None:
        self.text = _SWITCH.sub(r"\1{", text)
        self.pos = 0
        self.latex = "\\" in text
        self.end = len(text)
        # words that are tensors here, whatever they mean elsewhere
        words = [(w, w.split("_")[0]) for w in _DEFINED.findall(text)]
        self.defined = {first if first in functions.DEFINED else w for w, first in words}
        self.defined |= {w for w in _ENTRY.findall(text) if w in S.REDUCERS}
        self.lines = [0] + [m.end() for m in re.finditer("\n", text)]
        self.out: list[Token] = []
        self.depth = 0
        self.floors = 0  # open `\\lfloor`: a fraction in it is rounded down
        self.cases = 0  # open `cases`: `\\\\` separates the branches
        self.under = False  # below a sum: `s: w_s = v`
        self.display = 0  # open `aligned`: only `\\\\` ends a line

    def place(self, at: int) -> tuple[int, int]:
        line = bisect.bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def error(self, message: str, at: int, width: int = 1) -> NotationError:
        line, column = self.place(at)
        return NotationError(message, self.text, line, column, width)

    @property
    def last(self) -> str:
        return self.out[-1].type if self.out else ""

    def ahead(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        return _compiled(pattern).match(self.text, self.pos, self.end)

    def emit(self, kind: str, value: object, start: int, stop: int | None = None) -> None:
        line, column = self.place(start)
        width = max(1, (self.pos if stop is None else stop) - start)
        self.out.append(Token(kind, value, start, line, column, line, column + width, start + width))

    def option(self, option: re.Match[str]) -> None:
        """`softmax(S, dim=-1)`: over the last axis, as it is anyway."""
        start = opening([*self.out, as_("RPAR", self.out[-1])]) if self.out else 0
        if not (start and self.out[start - 1] in functions.SOFT and option[1] == "-1"):
            message = "an axis is told by its index: `sum[i](x[t,i])`, `softmax[i](x[t,i])`"
            raise self.error(message, option.start(), len(option[0]))
        self.pos = option.end()

    def norm(self) -> int:
        """How far back the norm stands that a subscript belongs to: `||W||_F`, `||W||^2_F`; 0 where there is none."""
        last = [t.type for t in self.out[-3:]]
        return -3 if last == ["NORM", "CARET", "NUMBER"] else -1 if last[-1:] == ["NORM"] else 0

    def bracketed_name(self) -> bool:
        """Does a name stand alone in brackets that are no function's?"""
        if [t.type for t in self.out[-3:]] != ["LPAR", "NAME", "RPAR"]:
            return False
        return len(self.out) == 3 or not (self.leads(-4) or self.calls(self.out[-4], self.out[-3]))

    def leads(self, at: int) -> bool:
        """Does a line begin with this token?"""
        return [t.type for t in self.out[:at][-1:]] in ([], ["NEWLINE"])

    def calls(self, head: Token, bracket: Token) -> bool:
        """Does a bracket belong to what stands before it: `softmax(x)`, `G(x)`, but not `W (x)`?"""
        if head.type == "NAME":
            return head.end_pos == bracket.start_pos and head.value.text not in self.defined
        return head.type in ("FUNC", "REDUCER", "RSQ")

    def operand(self) -> bool:
        """Does a number, a name or a bracket end just here, so that a sign may follow it?"""
        return self.last in ("NAME", "NUMBER", "RPAR", "RSQ", "RBRACE")

    def operator(self, symbol: str, start: int, length: int | None = None) -> None:
        if method := re.compile(r"\.([a-z]+)\(\s*\)").match(self.text, start, self.end):
            message = f"`{method[0]}` is Python; the function comes first: `{method[1]}[i](x[i])`"
            raise self.error(message, start, len(method[0]))
        self.pos = start + (len(symbol) if length is None else length)
        kind = KIND[symbol]
        if kind == "SLASH" and self.floors:
            kind = "FLOOR"
        if kind == "LSQ" and not self.after_name():
            kind = "LGRP"
        if kind == "CARET" and (one := self.ahead(r"\s*1/(\d+)")):
            part = one.group(1)
            hint = f"`^1/{part}` can be a root, written `^(1/{part})`, or a part of the whole"
            raise self.error(f"{hint}, written `/{part}`", start, one.end() - start)
        if (kind == "CARET" or self.text.startswith(".T", start)) and self.peek_transpose():
            return
        self.emit(kind, symbol, start)

    def after_name(self) -> bool:
        """Is the token before a name (or a reducer, or the bracket after a name's round brackets)?"""
        if self.last != "RPAR":
            return self.last in ("NAME", "REDUCER", "BIGOP")
        start = opening(self.out)
        inside = self.text[self.pos : self.close(self.pos - 1)] if self.text[self.pos - 1] == "[" else ""
        called = start > 0 and self.out[start - 1].type == "NAME"
        return called and not re.search(r"[(\[]|\bf\{?1", inside)  # M(i)[1 - w(i)]

    def peek_transpose(self) -> bool:
        """The ⊤ after a bracket, `(a - b)^\\top` or `x[t].T`, is marked; it means nothing for a tensor's entry."""
        sign = re.compile(r"\s*(\{\s*(\\top|T)\s*\}|\\top\b|⊤|T(?![A-Za-z0-9_\[(]))")
        if not self.out or self.out[-1].type not in ("RSQ", "RPAR", "RGRP", "RBRACE"):
            return False
        if found := sign.match(self.text, self.pos, self.end):
            self.pos = found.end()
            self.wrap("turned")
        return bool(found)

    def wrap(self, function: str) -> None:
        """Apply a function to what has just been read up to its closing bracket: `(a - b)`, `softmax(s)`."""
        start = opening(self.out)
        before, bracket = self.out[start - 1] if start else None, self.out[start]
        if before is not None and before.type != "RSQ":
            close = before.end_pos == bracket.start_pos and function == "turned"
            held = bracket.type == "LSQ" or (close and self.places(self.out[start + 1 : -1]))
            entry = before.type == "NAME" and held  # h[t].T, h(t)^T
            start -= entry or self.calls(before, bracket)
        near = self.out[start]
        self.out[start:start] = [as_("FUNC", near, function), as_("LPAR", near, "(")]
        self.out.append(as_("RPAR", self.out[-1], ")"))

    def places(self, inside: list[Token]) -> bool:
        """Are these indices, `b,t-1`: letters that are no tensors?"""
        names = [t.value for t in inside if t.type == "NAME"]
        letters = all(n.plain and len(n.base) == 1 and n.base not in self.defined for n in names)
        return letters and all(t.type in ("NAME", "NUMBER", "PLUS", "MINUS", "COMMA") for t in inside)

    def for_all(self, start: int) -> None:
        """`for all t` says nothing that the left side does not; `for all t < s` does."""
        quad = self.ahead(r"(?m).*?(\\q?quad|$)")
        self.pos = quad.end() if quad else self.end
        if _SOME.search(self.text, start, self.pos):
            raise self.error("what is it for the others? Write `a if t > 0 else b`", start, self.pos - start)

    def keyword(self, word: str, start: int) -> None:
        kind = KEYWORDS[word]
        self.emit(kind, word, start)
        if kind == "IN":
            self.shape(start)

    def follows(self, *openers: str) -> bool:
        return self.text[self.pos : self.pos + 1] in openers and self.pos < self.end

    def opens(self) -> bool:
        """Does a bracket come next?"""
        return self.ahead(r"\s*(\\left|\\[bB]igg?l?)?\s*[(\[]") is not None

    def scripts(self, name: Name) -> Name:
        if self.pos >= self.end or self.text[self.pos] not in " '′_^.":
            return name
        subs, sups, primes = list(name.subs), list(name.sups), name.primes
        transposed, opaque = name.transposed, name.opaque
        start = self.pos
        while self.pos < self.end:
            if len(subs) + len(sups) + primes > MAX_SCRIPTS:
                message = f"a name has at most {MAX_SCRIPTS} sub- and superscripts"
                raise self.error(message, start, self.pos - start)
            char = self.text[self.pos]
            if char == " " and self.ahead(r" +_"):
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
            elif char == "." and self.ahead(r"\.(\\text|\\mathrm|grad\b)"):
                subs.append(self.group(sup=False))
            elif char == "." and self.ahead(r"\.T\b"):
                transposed, self.pos = True, self.pos + 2
            else:
                break
        name = replace(name, sups=tuple(sups), subs=tuple(subs), primes=primes)
        return replace(name, transposed=transposed, opaque=opaque)

    def superscript(self) -> Group | None:
        """The superscript at `pos` if it may belong to the name or be an index; None if it can only be a power."""
        if not self.ahead(r"\^\s*(\{|\(|\\|[A-Za-z0-9⊤′*])"):
            return None
        try:
            group = self.group(sup=True)
        except NotationError:
            return None
        return group if group.name_like and group.items else None

    def group(self, sup: bool) -> Group:
        """Read `_x`, `_{…}`, `^{…}`, `^(t)` at `pos`."""
        opener = self.pos
        self.pos += 1
        while self.follows(" "):
            self.pos += 1
        begin, round_ = self.pos, False
        if self.follows("{", "("):
            stop = self.close(self.pos)
            round_ = sup and self.text[self.pos] == "("
            begin, self.pos = self.pos + 1, stop + 1
        elif self.follows("\\") or (self.pos < self.end and self.text[self.pos] in S.LETTERS):
            self.one_argument()
            stop = self.pos
        elif match := self.ahead(r"[A-Za-z0-9]+|\*|(?<=[_^])\+"):
            joined = self.latex and self.ahead(r"[A-Za-z]{2,}_")
            stop = self.pos = self.pos + 1 if joined else match.end()  # s_is_j, as LaTeX reads it
        else:
            what = "superscript" if sup else "subscript"
            raise self.error(f"a {what} is missing after `{self.text[opener]}`", opener)
        raw = self.text[begin:stop].strip()
        if inner := _ROUND.fullmatch(self.text[begin:stop]):
            begin, stop = (begin + at for at in inner.span(inner.lastindex or 0))
            raw, round_ = self.text[begin:stop].strip(), True
        parts = split_commas(raw)
        items = tuple(i for i in map(flatten_script, parts) if i)
        if re.search(r"\\sim\b|∼|~", raw):
            raise self.error(S.REFUSED["sim"], opener)
        upright = re.search(r"\\(text|mathrm|textrm|operatorname)\b", raw) is not None and "," not in raw
        return Group(items, round_, (begin, stop), all(_ITEM.fullmatch(item) for item in items), upright)

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

    def one_argument(self) -> None:
        """Past the text of a command with its own argument (`\\text{in}`), or of one letter."""
        start = self.pos
        if self.text[self.pos] in S.LETTERS:
            self.pos += 1
            return
        match = self.ahead(COMMAND)
        if match is None:
            raise self.error("a name is missing after `\\`", start)
        self.pos = match.end()
        if match.group(1) in S.WRAPPERS or match.group(1) in ACCENTS:
            while self.follows(" "):
                self.pos += 1
            if self.follows("{"):
                self.pos = self.close(self.pos) + 1

    def argument(self) -> tuple[int, int]:
        """The extent of a command's next argument, `pos` left after it: `{…}` or a single token."""
        while self.follows(" ", "\n", "\t"):
            self.pos += 1
        if self.pos >= self.end:
            raise self.error("an argument is missing here: `\\sqrt{x}`, `\\frac{a}{b}`", max(0, self.end - 1))
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
        match = self.ahead(r"\s*(\\mathbb\s*(\{R\}|R)|R(?!\w)|ℝ)(\s*\^\s*)?")
        if match is None:
            return  # a set; `lexer` and `bound` know what may stand there
        self.pos = match.end()
        if not match.group(3):
            return self.emit("SHAPE", (), start, self.pos)
        begin, stop = self.argument()
        dims = re.split(r"\\times|×|\*|,|(?<![A-Za-z])x(?![A-Za-z])", self.text[begin:stop])
        names = tuple(flatten_script(d.replace("|", "")) for d in dims)
        if not all(re.fullmatch(r"[A-Za-z0-9_']+", n) for n in names):
            raise self.error("a shape is a list of sizes: `R^{n x m}`", begin, stop - begin)
        self.emit("SHAPE", names, begin, stop)


def split_commas(text: str) -> list[str]:
    """The parts between the commas that stand in no brackets."""
    parts, level = [""], 0
    for char in re.sub(r"\\(?:mid|vert)\b", "|", text):
        level += (char in "{([") - (char in "})]")
        if char in ",|" and level == 0:  # u_{j|i}
            parts.append("")
        else:
            parts[-1] += char
    return parts


def flatten_script(text: str) -> str:
    """A sub- or superscript's item as bare letters: `\\text{in}` -> `in`, `\\ell+1` -> `l+1`, `G_1` -> `G1`."""

    def command(match: re.Match[str]) -> str:
        name = match.group(1)
        dropped = name in S.WRAPPERS or name in S.SPACES or name in ACCENTS
        return "" if dropped else {"ell": "l", "Delta": "d", "top": "T"}.get(name, name)

    text = "".join("\\" + S.LETTERS[c] + " " if c in S.LETTERS and S.LETTERS[c] != "-" else c for c in text)
    text = re.sub(r"\\([A-Za-z]+\*?|.)", command, text)
    text = re.sub(r"[\s{}_]", "", text).replace("−", "-").replace("*", "star")
    return {"+": "plus", "-": "minus"}.get(text, text)
