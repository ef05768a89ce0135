"""Formulas that a student types for a size or a cost: `2*h**2 + h*c`, `n^2(h^2+hc)`, `\\frac{J}{2}`.

`read(text, symbols)` gives a tree of the language's own nodes in which a `Size` is a symbol. Only declared
symbols are known, so `hc` is `h*c` exactly when `h` and `c` are declared and `hc` is not. What could
be read in two ways (`J/2I`, `log T d`) is refused with the repair. Nothing is ever evaluated as code.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise
from math import factorial

from lark import Token

from ..errors import NotationError
from ..names import Name
from ..parse.build import multiply
from ..parse.latex_reader import LatexReader
from ..parse.lexer import canonical, key
from ..parse.symbols import LETTERS
from ..parse.tokens import as_, refuse
from ..tree import Add, And, Call, Compare, Div, Expr, Mul, Neg, Num, Pow, Size, Span, Sum, walk

MAX_LENGTH = 1000
MAX_DEPTH = 40
FUNCTIONS = ("sqrt", "log", "log2", "log10", "exp", "abs", "ceil", "floor")
MANY = ("max", "min", "binom")
_SHUTS = {"(": ")", "{": "}", "[": "]", "⌈": "⌉", "⌊": "⌋"}
_BEGINS = ("number", "name", "frac", "√", "|", "(", "{", "[", "⌈", "⌊", "binom", "sum")  # a factor
_SYNONYMS = {"ln": "log", "lg": "log2", "logtwo": "log2", "root": "sqrt", "int": "floor", "ceiling": "ceil"}
_SYNONYMS |= dict.fromkeys(("comb", "choose"), "binom")
_BOUNDS = ("O", "Theta", "Omega")
_WORDS = {"x": "*", "times": "*", "plus": "+", "minus": "-", "over": "/"}
_POWERS = {"squared": 2, "cubed": 3}
_ONE = Num(Fraction(1))


def read(text: str, symbols: Iterable[str] | None = None, growth: bool = False) -> Expr:
    """The formula's tree. With `symbols=None` every name is a symbol and is never split. An `O( … )` around the whole
    says nothing that the question has not said; in a `growth` it may stand around any part."""
    if not isinstance(text, str):
        raise NotationError(f"a formula is a text such as '2*h**2', not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise NotationError(f"the formula has {len(text)} characters; at most {MAX_LENGTH} are read")
    return _Reader(text, None if symbols is None else tuple(symbols), growth).whole()


def symbols_of(node: Expr) -> tuple[str, ...]:
    """The symbols of a formula, in order of first writing."""
    bound = {i for n in walk(node) if isinstance(n, Sum) for i in n.indices}
    return tuple(dict.fromkeys(n.name for n in walk(node) if isinstance(n, Size) and n.name not in bound))


def placed(symbols: Sequence[str]) -> Callable[[object], tuple[int, str]]:
    """Symbols stand in the order of the question, what is made of them after."""
    return lambda atom: (symbols.index(atom) if atom in symbols else len(symbols), repr(atom))


def _span(token: Token) -> Span:
    return Span(1, token.column or 0, (token.end_column or 0) - (token.column or 0))


_CORNERS = {"lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋"}
_SIGN = re.compile(r"\\([lr](?:ceil|floor)|binom)\b|[√⌈⌉⌊⌋]")
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
        char, sign = self.text[self.pos], self.ahead(_SIGN)
        if sign:
            kind = _CORNERS.get(sign[1], sign[1] or sign[0])
            self.pos = sign.end()
            self.emit(kind, kind, sign.start())
        elif not (char.isascii() and char.isalnum()) and not char.isspace() and char not in _SIGNS:
            raise self.error(f"`{char}` has no meaning in a formula", self.pos)
        else:
            super().one()

    def operator(self, symbol: str, start: int, length: int | None = None) -> None:
        super().operator(symbol, start, length)
        if symbol == "||":  # two bars side by side, |T||d|; but \| is one
            bars = 1 if self.text[start] == "\\" else 2
            self.out[-1:] = [as_("BAR", self.out[-1], "|")] * bars
        elif self.out[-1].type not in _KINDS:
            raise self.error(f"`{symbol}` has no meaning in a formula", start)

    def word(self, word: str, start: int, text_word: bool = False) -> None:
        begins = word == "sum" and self.follows("_")
        self.reducer(word, start, big=False) if begins else self.finish(Name(word), start)

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


class _Reader:
    def __init__(self, text: str, symbols: tuple[str, ...] | None, growth: bool):
        self.text = text.replace("\n", " ").replace("𝒪", "O")
        self.symbols = None if symbols is None else {spelling(s): s for s in symbols}
        self.tokens = list(map(self._spoken, Words(self.text).words()))
        self.growth, self.at = growth, 0
        self.depth = 0
        self.bars = 0  # open bars |…|: the next bar closes one

    def _spoken(self, token: Token) -> Token:
        """A word that stands for a sign, where no symbol is called so."""
        word = str(token)
        if token.type != "name" or self.symbols is None or word in self.symbols:
            return token
        return as_(_WORDS[word], token) if word in _WORDS else as_(word, token) if word in _POWERS else token

    def fail(self, message: str, token: Token | None = None) -> NotationError:
        return refuse(message, self.text, self.tokens[self.at] if token is None else token)

    def accept(self, *kinds: str) -> Token | None:
        token = self.tokens[self.at]
        if token.type not in kinds:
            return None
        self.at += 1
        return token

    def expect(self, kind: str, opened: Token) -> None:
        if not self.accept(kind):
            token = self.tokens[self.at]
            where = "the formula ends" if token.type == "end" else f"`{token}` stands"
            raise self.fail(f"`{kind}` is missing: `{opened}` was opened, and here {where}")

    # ── grammar ──

    def whole(self) -> Expr:
        if self.tokens[0].type == "end":
            raise self.fail("the formula is empty")
        node = self.sum()
        token = self.tokens[self.at]
        if token.type != "end":
            hint = ": write the formula alone" if token == "=" else ""
            raise self.fail(f"`{token}` was not expected here{hint}", token)
        return node

    def _bound(self, token: Token) -> bool:
        """Is this the `O` of `O( … )`, around the whole or where growths are added?"""
        known = str(token) not in _BOUNDS or str(token) in (self.symbols or ())
        if known or self.tokens[self.at].type != "(":
            return False
        depths = list(accumulate({"(": 1, ")": -1}.get(t.type, 0) for t in self.tokens[self.at :]))
        return self.growth or (self.at == 1 and 0 in depths and depths.index(0) == len(depths) - 2)

    def nested(self, rule: Callable[[], Expr]) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(f"the formula is nested deeper than {MAX_DEPTH} levels")
        node = rule()
        self.depth -= 1
        return node

    def sum(self) -> Expr:
        terms = [self.product()]
        while sign := self.accept("+", "-"):
            if dots := self.accept("..."):
                terms = [self._row(terms, dots)]
            else:
                terms.append(Neg(self.product()) if sign.type == "-" else self.product())
        return terms[0] if len(terms) == 1 else Add(tuple(terms))

    def _row(self, terms: list[Expr], dots: Token) -> Expr:
        """`1 + 2 + … + n`: numbers at the same distance, or each the same multiple of the one before."""
        given = [t.value for t in terms if isinstance(t, Num)]
        if not self.accept("+") or len(given) != len(terms) or len(given) < 2 or not all(given):
            raise self.fail("dots stand between numbers and the last term, as in `1 + 2 + ... + T`", dots)
        first, second, last = given[0], given[1], self.product()
        gaps = {b - a for a, b in pairwise(given)}
        ratios = {b / a for a, b in pairwise(given)}
        raised = any(isinstance(n, Pow) and not isinstance(n.exponent, Num) for n in walk(last))
        if len(ratios) == 1 and first != second and (raised or len(gaps) > 1):
            over = Add((Mul((Num(second / first), last)), Num(-first)))
            return Div(over, Num(second / first - 1))
        if len(gaps) > 1 or first == second:
            raise self.fail("the numbers before the dots follow no rule that is read here", dots)
        count = Add((Div(Add((last, Num(-first))), Num(second - first)), _ONE))
        return Div(Mul((count, Add((Num(first), last)))), Num(Fraction(2)))

    def product(self) -> Expr:
        if sign := self.accept("-", "+"):
            return self.nested(self.product) if sign.type == "+" else Neg(self.nested(self.product))
        factors = [self.power()]
        divided = False  # the last factor stands below a bar written `/`
        while True:
            token = self.tokens[self.at]
            if self.accept("*"):
                factors.append(self.power())
                divided = False
            elif slash := self.accept("/", "//"):
                quotient = Div(multiply(factors), self.power())
                factors = [Call("floor", (quotient,)) if slash.type == "//" else quotient]
                divided = True
            elif token.type in _BEGINS and not (token.type == "|" and self.bars):
                fraction = isinstance(f := factors[-1], Div) and {type(f.above), type(f.below)} == {Num}
                if divided and not (fraction and self._spaced()):
                    raise self.fail(
                        "a product after `/` can be read in two ways; write `a/(b*c)` or `(a/b)*c`", token
                    )
                if token.type == "number" and not self._spaced():
                    raise self.fail(f"put an operator before `{token}` (`*`, or `**` for a power)", token)
                factors.append(self.power())
                divided = False
            else:
                return multiply(factors)

    def _spaced(self) -> bool:
        """Does a blank stand before the next token?"""
        return self.tokens[self.at - 1].end_pos != self.tokens[self.at].start_pos

    def power(self) -> Expr:
        base = self.nested(self.atom)
        if word := self.accept(*_POWERS):
            return self._raised(base, Num(Fraction(_POWERS[str(word)])))
        if self.accept("**"):
            return self._raised(base, self.nested(self.exponent))
        return base

    @staticmethod
    def _raised(base: Expr, exponent: Expr) -> Expr:
        """In `hc^2`, split into `h*c^2`, the power belongs to the last letter."""
        if isinstance(base, Mul) and base.span.width == 0:
            return Mul((*base.factors[:-1], Pow(base.factors[-1], exponent)))
        return Pow(base, exponent)

    def exponent(self) -> Expr:
        return Neg(self.nested(self.exponent)) if self.accept("-") else self.power()

    def atom(self) -> Expr:
        token = self.tokens[self.at]
        self.at += 1
        match token.type:
            case "number":
                if len(token) > 30:
                    raise self.fail("a number has at most 30 digits", token)
                return Num(Fraction(token), span=_span(token))
            case "(" | "{" | "[":
                return self._inside(token)
            case "⌈" | "⌊":
                return Call("ceil" if token == "⌈" else "floor", (self._inside(token),))
            case "|":
                self.bars += 1
                node = self.sum()
                self.bars -= 1
                self.expect("|", token)
                return node if isinstance(node, (Size, Num)) else Call("abs", (node,))
            case "frac" | "binom":
                above, below = self.nested(self.atom), self.nested(self.atom)
                return Div(above, below) if token.type == "frac" else self._chosen(above, below, token)
            case "sum":
                return self._summed(token)
            case "√":
                return Call("sqrt", (self.nested(self.atom),))
            case "name":
                return self._name(token)
        stands = "the formula ends" if token.type == "end" else f"`{token}` stands"
        raise self.fail(f"{stands} where a number, a symbol or a bracket was expected", token)

    def _inside(self, opened: Token) -> Expr:
        bars, self.bars = self.bars, 0
        node = self.sum()
        self.bars = bars
        self.expect(_SHUTS[opened.type], opened)
        if isinstance(node, Mul) and node.span.width == 0:
            node = Mul(node.factors)
        return node

    def _chosen(self, of: Expr, count: Expr, token: Token) -> Expr:
        if not isinstance(count, Num) or count.value.denominator != 1 or not 0 < count.value <= 9:
            raise self.fail("how many are chosen must be a number from 1 to 9", token)
        factors = tuple(Add((of, Num(Fraction(-k)))) for k in range(int(count.value)))
        return Div(Mul(factors), Num(Fraction(factorial(len(factors)))))

    def _summed(self, token: Token) -> Expr:
        """`\\sum_{k=1}^{n} k`: its letter is a symbol inside."""
        name, known = str(self.tokens[self.at + 1]), self.symbols
        parts = [t.type for t in self.tokens[self.at : self.at + 3]]
        if parts != ["[", "name", "="] or (known is not None and name in known):
            raise self.fail(
                "a sum is written `\\sum_{k=1}^{n}`, with a letter that is no size of the question", token
            )
        self.at += 3
        low = self.sum()
        self.expect("to", token)
        high = self.sum()
        self.expect("]", token)
        self.symbols = None if known is None else {**known, name: name}
        body = self.product()
        self.symbols = known
        k = Size(name)
        return Sum((name,), body, And((Compare(low, "<=", k), Compare(k, "<=", high))))

    # ── names and functions ──

    def _name(self, token: Token) -> Expr:
        name = str(token)
        if self.symbols is not None and name in self.symbols:
            return Size(self.symbols[name], span=_span(token))
        if self._bound(token):
            self.at += 1
            return self._inside(self.tokens[self.at - 1])
        if function := self._function(name):
            return self._call(function, token)
        return self._letters(name, token)

    def _function(self, name: str) -> str | None:
        name = name.replace("_", "")
        name = _SYNONYMS.get(name, name)
        if name in FUNCTIONS or name in MANY:
            return name
        return name if re.fullmatch(r"log\d+", name) else None

    def _call(self, function: str, token: Token) -> Expr:
        raised = self.nested(self.exponent) if self.accept("**") else None  # log^2 T
        degree: Expr | None = None
        if function == "sqrt" and (bracket := self.accept("[")):
            degree = self._inside(bracket)
        if opened := self.accept("(", "{"):
            args = [self.sum()]
            while self.accept(","):
                args.append(self.sum())
            self.expect(_SHUTS[opened.type], opened)
        else:
            args = [self._bare_argument(function, token)]
        if function not in MANY and len(args) != 1:
            raise self.fail(f"`{function}` takes one argument, and {len(args)} are given", token)
        node: Expr
        if function == "binom":
            if len(args) != 2:
                raise self.fail("`binom` takes two arguments, as in `binom(n, 2)`", token)
            node = self._chosen(args[0], args[1], token)
        elif degree is not None:
            node = Pow(args[0], Div(_ONE, degree))
        elif function.startswith("log") and int(function[3:] or 2) < 2:
            raise self.fail("the base of a logarithm is at least 2", token)
        else:
            node = Call(function, tuple(args))
        return node if raised is None else Pow(node, raised)

    def _bare_argument(self, function: str, token: Token) -> Expr:
        """`log T`: one factor with its power. `log T d` could be two things."""
        following = self.tokens[self.at]
        if following.type not in _BEGINS[:5]:
            raise self.fail(f"`{function}` needs an argument, as in `{function}(T)`", token)
        if function in MANY:
            raise self.fail(f"`{function}` needs brackets, as in `{function}(a, b)`", token)
        argument = self.power()
        after = self.tokens[self.at]
        two_ways = after.type == "number" or (
            after.type == "name" and (str(after) in (self.symbols or ()) or not self._function(str(after)))
        )
        if two_ways or (isinstance(argument, Mul) and not following.type == "|"):
            raise self.fail(
                f"say with brackets what `{function}` is taken of, as in `{function}(T)*d`", following
            )
        return argument

    def _letters(self, name: str, token: Token) -> Expr:
        if self.symbols is None:
            return Size(name, span=_span(token))
        parts = self._split(name, tuple(self.symbols))
        if not parts and isinstance(token.value, Name) and (own := alike(token.value, self.symbols)):
            return Size(self.symbols[own], span=_span(token))
        if name == "e":
            return Call("exp", (_ONE,))
        if parts is None:
            raise self._unknown(name, token)
        sizes = tuple(Size(self.symbols[p], span=_span(token)) for p in parts)
        return sizes[0] if len(sizes) == 1 else Mul(sizes, span=replace(_span(token), width=0))

    def _split(self, name: str, known: tuple[str, ...]) -> list[str] | None:
        """`name` as declared symbols side by side, longest first."""
        ends: dict[int, list[str]] = {0: []}
        for start in range(len(name)):
            if start not in ends:
                continue
            for symbol in sorted(known, key=len, reverse=True):
                if name.startswith(symbol, start):
                    ends.setdefault(start + len(symbol), [*ends[start], symbol])
        return ends.get(len(name)) if name else None

    def _unknown(self, name: str, token: Token) -> NotationError:
        assert self.symbols is not None
        digits = re.fullmatch(r"([^\d]+)(\d+)", name)
        if digits and self._split(digits[1], tuple(self.symbols)):
            return self.fail(
                f"`{name}` is not a symbol here; a power is written `{digits[1]}**{digits[2]}`", token
            )
        case = [s for s in self.symbols if s.lower() == name.lower()]
        close = case or difflib.get_close_matches(name, [*self.symbols, *FUNCTIONS, *MANY], 1, 0.8)
        known = ", ".join(f"`{s}`" for s in self.symbols.values())
        hint = f"; did you mean `{close[0]}`?" if close else f"; the symbols are {known}"
        return self.fail(f"`{name}` is not a symbol of this question{hint}", token)
