"""Formulas that a student types for a size or a cost: `2*h**2 + h*c`, `n^2(h^2+hc)`, `\\frac{J}{2}`.

`read(text, symbols)` gives a tree of the language's own nodes in which a `Size` is a symbol. Only declared
symbols are known, so `hc` is `h*c` exactly when `h` and `c` are declared and `hc` is not. What could
be read in two ways (`J/2I`, `log T d`) is refused with the repair. Nothing is ever evaluated as code.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from fractions import Fraction

from ..errors import NotationError
from ..tree import Add, Call, Div, Expr, Mul, Neg, Num, Pow, Size, Span, walk
from .formula_tokens import SUPERSCRIPTS, Token, spelling, tokens, without_spacing

MAX_LENGTH = 1000
MAX_DEPTH = 40
FUNCTIONS = {"sqrt": 1, "log": 1, "log2": 1, "log10": 1, "exp": 1, "abs": 1, "ceil": 1, "floor": 1}
MANY = ("max", "min")
_SYNONYMS = {"ln": "log", "lg": "log2", "logtwo": "log2", "root": "sqrt"}
_BOUND = re.compile(r"\s*(?:\\math(?:cal|rm)\s*(?:\{\s*O\s*\}|O)|\\?(?:Theta|Omega)|[OΘΩ𝒪])\s*(?=\()")


def read(text: str, symbols: Iterable[str] | None = None) -> Expr:
    """The formula's tree. With `symbols=None` every name is a symbol and is never split."""
    if not isinstance(text, str):
        raise NotationError(f"a formula is a text such as '2*h**2', not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise NotationError(f"the formula has {len(text)} characters; at most {MAX_LENGTH} are read")
    return _Reader(text, None if symbols is None else tuple(symbols)).whole()


def symbols_of(node: Expr) -> tuple[str, ...]:
    """The symbols of a formula, in order of first writing."""
    return tuple(dict.fromkeys(n.name for n in walk(node) if isinstance(n, Size)))


class _Reader:
    def __init__(self, text: str, symbols: tuple[str, ...] | None):
        self.text = text.replace("\n", " ")
        self.symbols = None if symbols is None else {spelling(s): s for s in symbols}
        if self.symbols and "lam" in self.symbols:  # Python keeps the whole word for itself
            self.symbols["lambda"] = "lam"
        self.body = without_spacing(self.text)
        self.tokens = list(tokens(self.body))
        self.at = 0
        self.depth = 0
        self.bars = 0  # open bars |…|: the next bar closes one

    def fail(self, message: str, token: Token | None = None, width: int = 0) -> NotationError:
        token = token or self.tokens[self.at]
        return NotationError(message, self.text, 1, token.column + 1, width or len(token.text) or 1)

    def accept(self, *kinds: str) -> Token | None:
        token = self.tokens[self.at]
        if token.kind not in kinds:
            return None
        self.at += 1
        return token

    def expect(self, kind: str, opened: Token) -> None:
        if not self.accept(kind):
            token = self.tokens[self.at]
            where = "the formula ends" if token.kind == "end" else f"`{token.text}` stands"
            raise self.fail(f"`{kind}` is missing: `{opened.text}` was opened, and here {where}")

    # ── grammar ──

    def whole(self) -> Expr:
        if self.tokens[0].kind == "end":
            raise self.fail("the formula is empty")
        self._strip_bound()
        node = self.sum()
        token = self.tokens[self.at]
        if token.kind != "end":
            raise self.fail(f"`{token.text}` was not expected here", token)
        return node

    def _strip_bound(self) -> None:
        """`O( … )` and `Θ( … )` say nothing that the question has not said."""
        match = _BOUND.match(self.body)
        if match is None or (self.symbols is not None and match.group().strip() in self.symbols):
            return
        depth = 0
        for at, token in enumerate(self.tokens):
            if token.column < match.end():
                continue
            depth += {"(": 1, ")": -1}.get(token.kind, 0)
            if depth == 0:
                if self.tokens[at + 1].kind == "end":
                    inner = next(i for i, t in enumerate(self.tokens) if t.column >= match.end())
                    self.tokens = self.tokens[inner + 1 : at] + self.tokens[at + 1 :]
                return

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(f"the formula is nested deeper than {MAX_DEPTH} levels")

    def sum(self) -> Expr:
        terms = [self.product()]
        while sign := self.accept("+", "-"):
            term = self.product()
            terms.append(Neg(term) if sign.kind == "-" else term)
        return terms[0] if len(terms) == 1 else Add(tuple(terms))

    def product(self) -> Expr:
        negative = False
        while sign := self.accept("-", "+"):
            negative ^= sign.kind == "-"
        if negative:
            return Neg(self.product())
        factors: list[Expr] = [self.power()]
        divided = False  # the last factor stands below a bar written `/`
        while True:
            token = self.tokens[self.at]
            if self.accept("*"):
                factors.append(self.power())
                divided = False
            elif self.accept("/"):
                below = self.power()
                factors[-1:] = [Div(self._joined(factors), below)]
                factors = factors[-1:]
                divided = True
            elif token.kind in (
                "number",
                "name",
                "(",
                "{",
                "[",
                "frac",
                "√",
                "|",
                "⌈",
                "⌊",
            ) and not self._closing(token):
                if divided and not (self._fraction(factors[-1]) and token.spaced):
                    raise self.fail(
                        "a product after `/` can be read in two ways; write `a/(b*c)` or `(a/b)*c`", token
                    )
                if token.kind == "number" and not token.spaced:
                    raise self.fail(
                        f"put an operator before `{token.text}` (`*`, or `**` for a power)", token
                    )
                factors.append(self.power())
                divided = False
            else:
                return self._joined(factors)

    def _closing(self, token: Token) -> bool:
        return token.kind == "|" and self.bars > 0

    @staticmethod
    def _fraction(node: Expr) -> bool:
        return isinstance(node, Div) and isinstance(node.above, Num) and isinstance(node.below, Num)

    @staticmethod
    def _joined(factors: list[Expr]) -> Expr:
        flat: list[Expr] = []
        for factor in factors:
            flat.extend(factor.factors if isinstance(factor, Mul) else (factor,))
        return flat[0] if len(flat) == 1 else Mul(tuple(flat))

    def power(self) -> Expr:
        base = self.atom()
        token = self.tokens[self.at]
        if token.kind in SUPERSCRIPTS:
            self.at += 1
            return self._raised(base, Num(Fraction(SUPERSCRIPTS[token.kind])))
        if self.accept("**"):
            return self._raised(base, self.exponent())
        return base

    @staticmethod
    def _raised(base: Expr, exponent: Expr) -> Expr:
        """In `hc^2`, split into `h*c^2`, the power belongs to the last letter."""
        if isinstance(base, Mul) and base.span.width == 0:
            return Mul((*base.factors[:-1], Pow(base.factors[-1], exponent)))
        return Pow(base, exponent)

    def exponent(self) -> Expr:
        self._deeper()
        node = Neg(self.exponent()) if self.accept("-") else self.power()
        self.depth -= 1
        return node

    def atom(self) -> Expr:
        self._deeper()
        node = self._atom()
        self.depth -= 1
        return node

    def _atom(self) -> Expr:
        token = self.tokens[self.at]
        self.at += 1
        match token.kind:
            case "number":
                if len(token.text) > 30:
                    raise self.fail("a number has at most 30 digits", token)
                return Num(Fraction(token.text), span=Span(1, token.column + 1, len(token.text)))
            case "(" | "{" | "[":
                node = self._inside({"(": ")", "{": "}", "[": "]"}[token.kind], token)
                return node
            case "⌈":
                return Call("ceil", (self._inside("⌉", token),))
            case "⌊":
                return Call("floor", (self._inside("⌋", token),))
            case "|":
                self.bars = self.bars + 1
                node = self.sum()
                self.bars -= 1
                self.expect("|", token)
                return node if isinstance(node, (Size, Num)) else Call("abs", (node,))
            case "frac":
                return Div(self._braced(token), self._braced(token))
            case "√":
                return Call("sqrt", (self.atom(),))
            case "name":
                return self._name(token)
            case "end":
                raise self.fail("the formula ends where a number, a symbol or a bracket was expected", token)
        raise self.fail(f"`{token.text}` stands where a number, a symbol or a bracket was expected", token)

    def _inside(self, closing: str, opened: Token) -> Expr:
        bars, self.bars = self.bars, 0
        node = self.sum()
        self.bars = bars
        self.expect(closing, opened)
        if isinstance(node, Mul) and node.span.width == 0:
            node = Mul(node.factors)
        return node

    def _braced(self, opened: Token) -> Expr:
        if brace := self.accept("{"):
            return self._inside("}", brace)
        token = self.tokens[self.at]
        if token.kind == "number" and len(token.text) == 2:  # \frac12
            first, _second = (Num(Fraction(c)) for c in token.text)
            self.tokens[self.at] = Token("number", token.text[1], token.column + 1, False)
            return first
        return self.atom()

    # ── names and functions ──

    def _name(self, token: Token) -> Expr:
        name = spelling(token.text)
        if self.symbols is not None and name in self.symbols:
            return self._symbol(self.symbols[name], token)
        if function := self._function(name):
            return self._call(function, token)
        return self._letters(name, token)

    def _symbol(self, name: str, token: Token) -> Size:
        return Size(name, span=Span(1, token.column + 1, len(token.text)))

    def _function(self, name: str) -> str | None:
        name = name.replace("_", "")
        name = _SYNONYMS.get(name, name)
        if name in FUNCTIONS or name in MANY:
            return name
        return name if re.fullmatch(r"log\d+", name) else None

    def _call(self, function: str, token: Token) -> Expr:
        raised = self.exponent() if self.accept("**") else None  # log^2 T
        degree: Expr | None = None
        if function == "sqrt" and (bracket := self.accept("[")):
            degree = self._inside("]", bracket)
        if opened := self.accept("(", "{"):
            closing = ")" if opened.kind == "(" else "}"
            if opened.kind == "{" and function in MANY:  # \max\{a, b\}
                closing = "}"
            args = [self.sum()]
            while self.accept(","):
                args.append(self.sum())
            self.expect(closing, opened)
        else:
            args = [self._bare_argument(function, token)]
        if function not in MANY and len(args) != 1:
            raise self.fail(f"`{function}` takes one argument, and {len(args)} are given", token)
        node: Expr
        if degree is not None:
            node = Pow(args[0], Div(Num(Fraction(1)), degree))
        elif match := re.fullmatch(r"log(\d+)", function):
            base = Num(Fraction(match[1]))
            if base.value < 2:
                raise self.fail("the base of a logarithm is at least 2", token)
            known = function in FUNCTIONS
            node = (
                Call(function, tuple(args)) if known else Div(Call("log", tuple(args)), Call("log", (base,)))
            )
        else:
            node = Call(function, tuple(args))
        return node if raised is None else Pow(node, raised)

    def _bare_argument(self, function: str, token: Token) -> Expr:
        """`log T`: one factor with its power. `log T d` could be two things."""
        following = self.tokens[self.at]
        if following.kind not in ("number", "name", "frac", "|", "√"):
            raise self.fail(f"`{function}` needs an argument, as in `{function}(T)`", token)
        if function in MANY:
            raise self.fail(f"`{function}` needs brackets, as in `{function}(a, b)`", token)
        argument = self.power()
        after = self.tokens[self.at]
        two_ways = after.kind == "number" or (
            after.kind == "name"
            and (spelling(after.text) in (self.symbols or ()) or not self._function(spelling(after.text)))
        )
        if two_ways or (isinstance(argument, Mul) and not following.kind == "|"):
            raise self.fail(
                f"say with brackets what `{function}` is taken of, as in `{function}(T)*d`", following
            )
        return argument

    def _letters(self, name: str, token: Token) -> Expr:
        if self.symbols is None:
            return self._symbol(name, token)
        parts = self._split(name, tuple(self.symbols))
        if name == "e":
            return Call("exp", (Num(Fraction(1)),))
        if parts is None:
            raise self._unknown(name, token)
        sizes = tuple(Size(self.symbols[p], span=Span(1, token.column + 1, len(token.text))) for p in parts)
        return sizes[0] if len(sizes) == 1 else Mul(sizes, span=Span(1, token.column + 1, 0))

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
