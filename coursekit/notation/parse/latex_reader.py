"""Characters to tokens, those of LaTeX to the tokens of the ASCII forms: `\\frac`, `\\sum_…^…`, accents, cases."""

import re
from dataclasses import replace

from lark import Token

from .. import functions
from ..errors import NotationError
from ..names import ACCENTS, GREEK, Name
from . import symbols as S
from .scanner import COMMAND, KEYWORDS, MAX_DEPTH, Scanner
from .tokens import as_

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?|\.\d+")
_REMAINDER = re.compile(r"%\s*(\d|[A-Za-z]\b)")
_OPTION = re.compile(r",\s*(?:dim|axis)\s*=\s*(-?\d+)\s*(?=\))")
_STOP = re.compile(r"\.\s*($|\n|\$|\\\\|\\end|\\\]|\\q?quad)")
_BRANCH = r"(\s|\\q?quad|\\text\{|\\mathrm\{|\\[,;: ])*(if|for|when|where|otherwise|else)\b"
_SLICE = re.compile(r":(?=\s*[,\]])")
MAX_DIGITS = 300
_ALL = re.compile(r"\s*(all|each|every|any)\b")
_INDEXED = r"\[[^\]]*\]\s*(\\left)?\s*\(|_(\{[^}]*\}|[A-Za-z]+)\s*(\\left)?\s*[\w\\(]"  # [i](…, _{i} …
_JOINED = re.compile(r"_([A-Za-z]{3,})\b(?!_)")
_ARG = re.compile(r"\s*(?:\\,)?\s*\\?(max|min)(?![A-Za-z])")
_OFTEN_NAMES = ("mean", "var", "std", "norm")  # words that are often a tensor's name
_ENTRIES = r"\[\s*[a-z]\d?'?(\s*[-+]\s*\d+)?(\s*,\s*[a-z]\d?'?(\s*[-+]\s*\d+)?)*\s*\]"  # sigma[t-1,i]
_OPERATOR = re.compile(
    r"\.\.\.?|\.\*|\.(?=[ \t]*[A-Za-z\\(\[])|<=|>=|==|!=|\|\||\*\*|//|[-+*/=<>()\[\]{},;^|@]"
)
_OVER = re.compile(r"\s+over\s+([A-Za-z]\w*(?:\s*,\s*[A-Za-z]\w*)*)\s+of\b")


class LatexReader(Scanner):
    """The reader of both spellings; a text may mix them."""

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
            if self.text[self.pos] == " ":
                self.pos += 1
            else:
                self.one()
        self.end = outer
        self.depth -= 1

    def one(self) -> None:
        start, char = self.pos, self.text[self.pos]
        if char == "\n":
            self.pos += 1
            if not self.cases and not self.display:
                self.emit("NEWLINE", "\n", start)
        elif char in "\a\b\f\v\t\r" and (slip := S.escaped(self.text, start, self.end)):
            raise self.error(slip[0], start, slip[1])
        elif char.isspace() or char in "$~" or char in S.UNSEEN or (char == "&" and not self.cases):
            self.pos += 1
        elif char == "%" and self.ahead(_REMAINDER) and self.operand():
            hint = "`%` begins a comment, as in LaTeX; for a remainder give each its own place: `y[t,0] = x[2*t]` and "
            raise self.error(hint + "`y[t,1] = x[2*t+1]` on two lines", start)
        elif char in "#%":
            newline = self.text.find("\n", self.pos, self.end)
            self.pos = self.end if newline < 0 else newline
        elif char == "\\" or char in S.LETTERS:
            self.command()
        elif char in "0123456789." and (number := self.ahead(_NUMBER)):
            self.pos = number.end()
            digits, _, exponent = number.group().lower().partition("e")
            if len(digits) > MAX_DIGITS or len(exponent) > 4 or abs(int(exponent or 0)) > MAX_DIGITS:
                raise self.error(f"a number has at most {MAX_DIGITS} digits", start, self.pos - start)
            self.emit("NUMBER", number.group(), start)
        elif char in "tnjmF" and (package := self.ahead(S.PACKAGES)):
            self.pos = package.end()
        elif word := self.ahead(_WORD):
            self.pos = word.end()
            self.word(word.group(), start)
        elif char == "." and self.ahead(_STOP):
            self.pos += 1  # the full stop of a sentence
        elif char in "²³⁴":
            self.pos += 1
            self.emit("CARET", "^", start)
            self.emit("NUMBER", str("  ²³⁴".index(char)), start)
        elif char == "," and (option := self.ahead(_OPTION)):
            self.option(option)
        elif char == "{" and (name := self.whole_name()):
            self.finish(name, start)
        elif operator := self.ahead(_OPERATOR):
            self.operator(operator.group(), start)
        elif char == "&" and self.cases:
            self.pos += 1
            if self.last == "COMMA":
                self.out.pop()
            if not self.ahead(_BRANCH):
                self.emit("IF", "if", start)
        elif char == "_" and (at := self.norm()):
            order = "".join(self.group(sup=False).items)
            if order not in ("F", "2", "1", "inf", "infty"):
                hint = "a norm is the root of the squares; write another as a sum: "
                raise self.error(hint + "`sum[i](abs(x[i])^3)^(1/3)`", start, self.pos - start)
            sign = f"||{order[:3]}" if order in ("1", "inf", "infty") else "||"
            self.out[at] = as_("NORM", self.out[at], sign)
        elif char == "_" and self.bracketed_name():
            name = self.out[-2].value  # (∂J/∂z)_k: the subscript is the name's
            start = self.out[-3].start_pos or 0
            del self.out[-3:]
            self.finish(name, start)
        elif char == "_" and self.last in ("RPAR", "RSQ", "RBRACE"):
            group = self.group(sup=False)  # (W x)_i: an entry of what stands in the brackets
            if group.items == ("plus",):  # [x]_+: its positive part
                return self.wrap("relu")
            after = self.pos
            self.emit("LENTRY", "_", start, start + 1)
            self.pos = group.place[0]
            self.scan(group.place[1])
            self.pos = after
            self.emit("RENTRY", "}", after - 1, after)
        elif char == "_":
            raise self.error("a subscript must follow a name: `h_t`, `h_{t-1}`", start)
        elif self.text.startswith(":=", start):
            self.pos += 1
        elif char == ":" and self.last == "NAME" and self.leads(-1):
            self.pos += 1  # a label before the equation: `LSTM: …`
            self.out.pop()
        elif self.ahead(_SLICE) and self.last in ("LSQ", "COMMA"):
            self.pos += 1
            self.emit("SLICE", ":", start)
        elif char == ":" and self.under:
            self.pos += 1
            self.emit("COMMA", ",", start)
        else:
            raise self.error(S.stranger(char), start)

    def word(self, word: str, start: int, text_word: bool = False) -> None:
        """A word that begins at `start` has been read up to `pos`: finish it and emit it."""
        if word in KEYWORDS and not self.follows("_", "^", "[", "'"):
            return self.keyword(word, start)
        if word in ("for", "when") and self.operand() and self.follows(" "):
            every = self.ahead(_ALL)
            return self.for_all(start) if every else self.keyword("if", start)
        self.finish(Name(word, text_word=text_word), start)

    def finish(self, name: Name, start: int) -> None:
        """Read sub- and superscripts, primes and `.grad`, then emit the name or what it turns out to be."""
        often = S.REDUCERS.get(name.base) in _OFTEN_NAMES
        own = name.base in self.defined or (often and not self.ahead(_INDEXED) and not self.follows("("))
        whole = start == 0 and self.pos == self.end  # the name of a tensor, and no text
        tensor = S.FUNCTIONS.get(name.base) in functions.SAID and self.follows("[")  # power[t]
        tensor |= name.base == "sigma" and self.ahead(_ENTRIES) is not None
        own = own or whole or tensor
        if found := self.ahead(_JOINED):  # leaky_relu, log_softmax
            joined = (name.base + found.group(1)).lower()
            if joined in S.FUNCTIONS or joined in S.REDUCERS:
                name, self.pos = replace(name, base=joined), found.end()
        if name.plain and name.base in S.ABSENT and not own and not self.follows("[", "_", "^"):
            raise self.error(f"`{name.base}` is no function of this language; {S.ABSENT[name.base]}", start)
        if not own and len(name.base) > 2 and name.base.lower() in S.FUNCTIONS and self.opens():
            name = replace(name, base=S.FUNCTIONS[name.base.lower()])  # Softplus, Tanh
        if name.plain and name.base in S.REDUCERS and not own:
            return self.reducer(S.REDUCERS[name.base], start, big=False)
        if name.plain and name.base in ("where", "with") and self.operand() and not self.opens():
            return self.emit("QUAD", "", start)
        if name.plain and name.base == "where":
            raise self.error(S.REFUSED[name.base], start, self.pos - start)
        if name.plain and name.base == "arg" and (head := self.ahead(_ARG)):
            self.pos = head.end()
            return self.reducer(S.REDUCERS["arg" + head[1]], start, big=False)
        name = self.scripts(name)
        told = name.base not in ("sigma", "tr", "Tr", "trace", "diag")
        if name.base in S.FUNCTIONS and not own and not name.accents and (told or self.opens()):
            function = S.FUNCTIONS[name.base]
            marks = [f"^{g.items[0]}" for g in name.sups] + [f"_{g.items[0]}" for g in name.subs]
            if name.base == "sigma" and marks == ["^2"] and not name.primes:
                hint = "`sigma^2(…)` is the square of a function, `sigmoid(…)^2`, or "
                raise self.error(hint + "`sigma^2 * (…)`, a product", start, self.pos - start)
            if name.plain:
                return self.emit("FUNC", function, start)
            mark = "'" if name.primes else (marks or ["-"])[0]
            alone = len(marks) + name.primes == 1 and (mark == "'" or mark[1:].isdigit())
            if alone and (mark[0] != "_" or function == "log"):
                return self.emit("FUNC", function + mark, start)
        if name.plain and name.base in ("log2", "log10") and not own and not self.follows("["):
            return self.emit("FUNC", f"log_{name.base[3:]}", start)
        if name.plain and name.base == "inf":
            return self.emit("NUMBER", "inf", start)
        self.emit("NAME", name, start)

    def command(self) -> None:
        start = self.pos
        if self.text[start] in S.LETTERS:
            name, self.pos = S.LETTERS[self.text[start]], start + 1
        else:
            match = COMMAND.match(self.text, start, self.end)
            if match is None:
                raise self.error("a command is missing after `\\`", start)
            name, self.pos = match.group(1), match.end()
        if name == "\\":
            self.emit("COMMA" if self.cases else "NEWLINE", "\\\\", start)
        elif name in "()[]" or name in S.SPACES or name == "\n":
            if name in ("left", "right") and self.follows("."):
                self.pos += 1
        elif name in ("quad", "qquad"):
            if number := self.ahead(r"\s*\(\d+\)\s*(?=\$|\n|\\\\|\\end|\Z)"):  # an equation's: `\quad (7)`
                self.pos = number.end()
            if not self.cases:
                self.emit("QUAD", "", start)
        elif name in ("lfloor", "rfloor"):
            self.floors += 1 if name == "lfloor" else -1
            self.operator("(" if name == "lfloor" else ")", start, self.pos - start)
        elif name == "infty":
            self.emit("NUMBER", "inf", start)
        elif name == "-":
            self.operator("-", start, 1)
        elif name in S.OPERATORS:
            self.operator(S.OPERATORS[name], start, self.pos - start)
        elif name in S.DROPPED_WITH_ARGUMENT:
            self.argument()
        elif name in ("begin", "end"):
            self.environment(name, start)
        elif name in ("frac", "dfrac", "tfrac"):
            self.fraction(start)
        elif name == "sqrt":
            if self.follows("["):
                return self.root(start)
            self.emit("SQRT", "sqrt", start)
            if self.opens() and not self.follows("{"):
                self.out[-1] = Token.new_borrow_pos("FUNC", "sqrt", self.out[-1])
            else:
                self.braced()
        elif name in ("sum", "prod"):
            self.reducer(name, start, big=True)
        elif name in ("underset", "overset"):
            self.underset(start)
        elif name == "mathbb" and self.ahead(r"\s*\{?E\}?\s*[_\[(]"):
            raise self.error(S.REFUSED["expectation"], start, self.pos - start)
        elif name in S.WRAPPERS:
            self.wrapped(start)
        elif name in ACCENTS:
            self.accent(ACCENTS[name], start)
        elif name == "ell":
            self.finish(Name("l"), start)
        elif name == "Delta" and (word := self.ahead(r"\s*([A-Za-z])(?![A-Za-z])")):
            self.pos = word.end()
            self.finish(Name("d" + word.group(1)), start)
        elif name in GREEK or name in S.FUNCTIONS or name in S.REDUCERS or name == "arg":
            self.finish(Name(name), start)
        elif name in ("in", "land", "wedge"):
            self.keyword("in" if name == "in" else "and", start)
        elif name == "forall" and self.under:
            pass  # \\sum_{\\forall j}
        elif name == "forall":
            self.for_all(start)
        elif name in S.REFUSED:
            raise self.error(S.REFUSED[name], start, self.pos - start)
        else:
            raise self.error(S.unknown_command(name), start, self.pos - start)

    def braced(self) -> None:
        """Emit `{` tokens of the next argument `}`."""
        start, stop = self.argument()
        after = self.pos
        self.emit("LBRACE", "{", max(0, start - 1), start)
        self.pos = start
        self.scan(stop)
        self.pos = after
        self.emit("RBRACE", "}", stop, stop + 1)

    def root(self, start: int) -> None:
        """`\\sqrt[n]{x}`, written `x^{1/n}`."""
        index = self.pos + 1, self.close(self.pos)
        self.pos = index[1] + 1
        self.braced()
        after = self.pos
        for kind, sign in (("CARET", "^"), ("LBRACE", "{"), ("NUMBER", "1"), ("SLASH", "/"), ("LBRACE", "{")):
            self.emit(kind, sign, start, after)
        self.pos = index[0]
        self.scan(index[1])
        self.pos = after
        for _ in "}}":
            self.emit("RBRACE", "}", start, after)

    def environment(self, which: str, start: int) -> None:
        begin, stop = self.argument()
        name = self.text[begin:stop]
        if name == "cases":
            if which == "begin":
                self.cases += 1
                if self.last != "FUNC" or self.out[-1] not in ("min", "max"):
                    self.emit("CASES", "cases", start)
                self.emit("LPAR", "(", start)
            else:
                self.cases = max(0, self.cases - 1)
                if self.last == "COMMA":
                    self.out.pop()
                self.emit("RPAR", ")", start)
        elif name in S.ENVIRONMENTS:
            self.display = max(0, self.display + (1 if which == "begin" else -1))
            if name == "array" and which == "begin":
                self.argument()
            if self.last != "NEWLINE":
                self.emit("NEWLINE", "", start)
        elif name.endswith("matrix"):
            raise self.error(S.REFUSED["matrix"], start, self.pos - start)
        else:
            raise self.error(f"the environment `{name}` is not known", start, self.pos - start)

    def fraction(self, start: int) -> None:
        saved = self.pos
        above, below = self.argument(), self.argument()
        partial = re.compile(r"\s*(\\partial\b|∂)\s*")
        over = partial.match(self.text, *above)
        under = partial.match(self.text, *below)
        if over and under:
            alone = not self.text[over.end() : above[1]].strip()
            upper = Name("J") if alone else name_of(self, over.end(), above[1])
            lower = name_of(self, under.end(), below[1])
            dressed = ("accents", "sups", "subs", "primes")
            parts = [getattr(upper, part) + getattr(lower, part) for part in dressed]
            name = Name(f"d{upper.base}_d{lower.base}", *parts)
            return self.emit("NAME", name, start)
        self.pos = saved
        self.emit("FRAC", "frac", start)
        self.braced()
        self.braced()

    def underset(self, start: int) -> None:
        sub = self.argument()
        head = self.argument()
        # \\operatorname{argmin} -> argmin
        word = re.sub(r"\\[A-Za-z]+\*?\s*(?=\{)|[{}\\\s]", "", self.text[slice(*head)])
        if word in S.REFUSED:
            raise self.error(S.REFUSED[word], start, self.pos - start)
        if word not in S.REDUCERS:
            raise self.error(f"`{word}` takes no index below it", start, self.pos - start)
        after = self.pos
        self.emit("BIGOP" if word in ("sum", "prod") else "REDUCER", S.REDUCERS[word], start)
        self.bracketed(sub, None)
        self.pos = after

    def bracketed(self, sub: tuple[int, int], sup: tuple[int, int] | None) -> None:
        self.emit("LSQ", "_", sub[0], sub[0] + 1)
        begin, self.pos, self.under = len(self.out), sub[0], True
        self.scan(sub[1])
        self.under = False
        bars = [k for k in range(begin, len(self.out)) if self.out[k].type == "BAR"]
        if len(bars) == 1:  # s | w_s = v
            self.out[bars[0]] = Token.new_borrow_pos("COMMA", ",", self.out[bars[0]])
        if sup is not None:
            self.emit("UPTO", "to", sup[0], sup[0] + 1)
            self.pos = sup[0]
            self.scan(sup[1])
        self.emit("RSQ", "]", sub[1], sub[1] + 1)

    def reducer(self, word: str, start: int, big: bool) -> None:
        """`sum[i]`, `\\sum_{i=1}^n`, `softmax_{w}`, `max[t]`; a `max` or `min` without an index is a function."""
        stop = self.pos
        sub = sup = None
        if said := self.ahead(_OVER):  # sum over i of …
            sub, self.pos = said.span(1), said.end()
        while True:
            match = self.ahead(r"\s*(\\(no)?limits\s*)?([_^])")
            if match is None:
                break
            self.pos = match.end()
            if match.group(3) == "_":
                letters = self.ahead(r"[A-Za-z0-9]+'*")
                if letters and not big:
                    sub, self.pos = letters.span(), letters.end()
                else:
                    sub = self.argument()
            elif sub is not None:
                sup = self.argument()
            else:
                self.pos = match.start(3)
                break
        after = self.pos
        if word == "argmin" and sub and not re.fullmatch(r"[a-z]'?", self.text[slice(*sub)].strip()):
            raise self.error(S.REFUSED[word], start, self.pos - start)
        if sub is None and word in S.FUNCTIONS and not self.follows("["):
            return self.emit("FUNC", word, start, stop)
        self.emit("BIGOP" if big else "REDUCER", word, start, stop)
        if sub is not None:
            self.bracketed(sub, sup)
            self.pos = after

    def wrapped(self, start: int) -> None:
        begin, stop = self.argument()
        inside = self.text[begin:stop]
        words = inside.strip()
        fresh = not self.out or self.out[-1].type == "NEWLINE"
        if fresh and (inside != inside.rstrip() or words.endswith(":")):
            return  # a label before the equation: \text{Attention }
        plain = words.rstrip(": .,")
        if plain in ("where", "with", "and where") and not self.cases:
            return self.emit("QUAD", "", start)
        if plain in ("for", "where", "when", "for all"):
            return self.keyword("if", start)
        if not plain:
            return
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", plain):
            return self.word(plain, start, text_word=True)
        if plain == "1":
            self.emit("NUMBER", "1", start)
            self.pos += self.follows("_")  # what is asked may stand below it
            return
        if " " in plain:
            message = f"`{plain}` is prose; write it as a condition on indices"
            raise self.error(message, start, self.pos - start)
        self.finish(name_of(self, begin, stop), start)

    def whole_name(self) -> Name | None:
        stop = self.close(self.pos)
        if stop - self.pos > 60 or self.text[stop + 1 : stop + 2] not in ("^", "_", "'"):
            return None
        try:
            name = name_of(self, self.pos + 1, stop)
        except NotationError:
            return None
        self.pos = stop + 1
        return name

    def accent(self, accent: str, start: int) -> None:
        begin, stop = self.argument()
        inner = name_of(self, begin, stop)
        self.finish(Name(inner.base, (*inner.accents, accent), inner.sups, inner.subs, inner.primes), start)


def name_of(reader: Scanner, begin: int, stop: int) -> Name:
    """The single name that stands between two places."""
    inner = LatexReader(reader.text) if stop - begin < 200 else None
    if inner is not None:
        inner.pos = begin
        inner.scan(stop)
        if len(inner.out) == 1 and isinstance(inner.out[0].value, Name):
            return inner.out[0].value
    raise reader.error(f"`{reader.text[begin:stop].strip()}` is not a name", begin, max(1, stop - begin))
