"""Syntax tree to LaTeX that MathJax renders, and that `parse` reads back to the same program."""

from __future__ import annotations

import re
from collections.abc import Callable

from . import tree as T
from .functions import FUNCTIONS, PI, REDUCERS
from .names import ACCENTS, GREEK, halves
from .show import ADD, ATOM, CONCAT, MUL, POWER, bound_apart, capital_left, implicit, spell_affine

_SIGNS = {"==": "=", "!=": r"\ne", "<": "<", "<=": r"\le", ">": ">", ">=": r"\ge"}
_HATS = set(ACCENTS.values())
_COMMANDS = {value: key for key, value in reversed(ACCENTS.items())}


def latex(node: object, page: bool = False) -> str:
    """A program as an `aligned` display; a statement or an expression as a formula.

    With `page` it is for the eye alone: `b1` is b₁ and `dz_y_hat` is dz with ŷ below. Reading that back could give
    another name (`b_1`), so it is not the default.
    """
    write = Writer(page_name, r" \, ") if page else Writer(name, " ")
    if isinstance(node, T.Program):
        statements = [write.statement(s) for s in node.statements]
        lines = " \\\\\n".join(map(_folded, statements) if page else statements)
        return f"\\begin{{aligned}}\n{lines}\n\\end{{aligned}}"
    if isinstance(node, (T.Equation, T.Directive)):
        return write.statement(node).replace("&", "")
    if isinstance(node, T.Affine):
        return write.affine(node)
    if isinstance(node, (T.Compare, T.And)):
        return write.condition(node)
    return write.formula(implicit(node))


# ── names ────────────────────────────────────────────────────────────────────────────────────


def name(text: str) -> str:
    """`W_hG` -> `W_{hG}`, `h_tilde` -> `\\tilde{h}`, `W_LR_{l+1}` -> `W^{LR}_{\\ell+1}`."""
    primes = len(text) - len(text.rstrip("'"))
    base, *groups = re.findall(r"\{[^}]*\}|[^_{}]+", text.rstrip("'"))
    out = _letters(base)
    while groups and groups[0] in _HATS:
        out = _accented(out, groups.pop(0))
    if len(groups) > 1:
        out += f"^{{{_script(groups.pop(0))}}}"
    for group in groups[:1]:
        out += f"_{{{_script(group)}}}"
    for group in groups[1:]:
        out += f"{{}}_{{{_script(group)}}}"
    return out + "'" * primes


def _letters(word: str) -> str:
    if word == "l":
        return r"\ell"
    if word in GREEK:
        return "\\" + word
    if len(word) == 1:
        return word
    return f"\\text{{{word}}}" if len(word) > 3 else f"\\mathit{{{word}}}"


def _script(group: str) -> str:
    group = group.strip("{}")
    if re.fullmatch(r"[a-z]{2,}", group) and group not in GREEK:
        return f"\\text{{{group}}}"
    return re.sub(r"(?<![A-Za-z])l(?![A-Za-z])", r"\\ell", group)


def page_name(text: str) -> str:
    """A name for the eye: `b1` -> `b_{1}`, `yhat` -> `\\hat{y}`, `dz_y_hat` -> `dz_{\\hat{y}}`."""
    primes = len(text) - len(text.rstrip("'"))
    base, *groups = re.findall(r"\{[^}]*\}|[^_{}]+", text.rstrip("'"))
    lead = "d" if _ADJOINT.fullmatch(base) and base not in GREEK else ""
    letter, tail = _apart(base.removeprefix(lead))
    out, scripts = letter, [tail] if tail and tail not in _HATS else []
    if tail in _HATS:
        out = _accented(out, tail)
    for group in groups:
        if group not in _HATS:
            scripts.append(_page_script(group))
        elif scripts:
            scripts[-1] = _accented(scripts[-1], group)
        else:
            out = _accented(out, group)
    above = f"^{{{scripts.pop(0)}}}" if len(scripts) > 1 and not tail else ""
    below = f"_{{{', '.join(scripts)}}}" if scripts else ""
    return lead + out + above + below + "'" * primes


# The adjoint `dX`: of a letter, of a Greek one, of a word with a capital.
_ADJOINT = re.compile(rf"d([A-Za-z](\d*|{'|'.join(sorted(_HATS))})|[A-Z]\w+|{'|'.join(sorted(GREEK))})")
_TAIL = re.compile(rf"([A-Za-z])(\d+|in|out|next|prev|{'|'.join(sorted(_HATS))})|([A-Z])([a-z]\d*)")


def _apart(word: str) -> tuple[str, str]:
    """A name's letter and what is written small beside it: `G1` -> G and 1, `Lnext` -> L and next."""
    match = _TAIL.fullmatch(word)
    if word in GREEK or match is None:
        short = len(word) < 3 or word in GREEK or word.isupper()
        return _letters(word) if short else f"\\text{{{word}}}", ""
    letter, tail = match.group(1) or match.group(3), match.group(2) or match.group(4)
    if tail not in _HATS:
        tail = _page_script(tail)
    return _letters(letter), tail


def _page_script(group: str) -> str:
    """`hG1` -> hG₁, `tm1` -> t−1; two small letters are two names (`hh`), more are a word (`auto`)."""
    if match := re.fullmatch(r"t([mp])(\d+)", group):
        return f"t{'-' if match.group(1) == 'm' else '+'}{match.group(2)}"
    if re.fullmatch(r"[a-z]{2}", group) and group not in GREEK and group != "in":
        return group
    return re.sub(r"(?<=[A-Za-z])(\d+)$", r"_{\1}", _script(group))


def _accented(text: str, accent: str) -> str:
    return f"\\{_COMMANDS[accent]}{{{text}}}"


def index(text: str) -> str:
    """`t1` -> `t_1`, `tin` -> `t_{\\text{in}}`, `dx` -> `\\Delta x`."""
    primes = len(text) - len(text.rstrip("'"))
    word = text.rstrip("'")
    if match := re.fullmatch(r"([A-Za-z])(\d+)", word):
        out = f"{_letters(match.group(1))}_{{{match.group(2)}}}"
    elif match := re.fullmatch(r"([A-Za-z])(in|out)", word):
        out = f"{match.group(1)}_{{\\text{{{match.group(2)}}}}}"
    elif re.fullmatch(r"d[a-z]", word):
        out = f"\\Delta {word[1]}"
    else:
        out = _letters(word)
    return out + "'" * primes


# ── statements and expressions ───────────────────────────────────────────────────────────────


class Writer:
    """Writes nodes, with one way to write a tensor's name and one to set factors apart."""

    def __init__(self, name: Callable[[str], str], between: str) -> None:
        self.name, self.between = name, between

    def statement(self, node: T.Equation | T.Directive) -> str:
        if isinstance(node, T.Equation):
            left, right = capital_left(node)
            return f"{self.formula(left)} &= {self.formula(implicit(right))}"
        if node.word == "parameters":
            return f"\\Phi &= ({', '.join(self.name(n) for n in node.names)})"
        if node.word == "size":
            return f"\\text{{size}}\\; {index(node.names[0])} &= {node.values[0]}"
        if node.word == "shape":
            shapes = (
                f"{self.name(n)} \\in \\mathbb{{R}}" + (f"^{{{_shape(v)}}}" if v else "")
                for n, v in zip(node.names, node.values, strict=True)
            )
            return "& " + r" \quad ".join(shapes)
        spell = index if node.word == "centered" else self.name
        return f"&\\text{{{node.word}}}\\; {', '.join(spell(n) for n in node.names)}".rstrip()

    def formula(self, node, level: int = CONCAT) -> str:
        text, own = _FORMS[type(node)](self, node)
        return text if own >= level else _brackets(text)

    def num(self, node: T.Num) -> tuple[str, int]:
        value = node.value
        if value == PI.value:
            return r"\pi", ATOM
        if value.denominator == 1:
            return str(value.numerator), ATOM if value >= 0 else ADD
        text = f"\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
        return (text, MUL) if value >= 0 else ("-" + text, ADD)

    def ref(self, node: T.Ref) -> tuple[str, int]:
        if parts := halves(node.name):
            above, rank, below = parts
            over, under = T.Ref(above, node.indices[:rank]), T.Ref(below, node.indices[rank:])
            return f"\\frac{{\\partial {self.ref(over)[0]}}}{{\\partial {self.ref(under)[0]}}}", ATOM
        if not node.indices:
            return self.name(node.name), ATOM
        return f"{self.name(node.name)}[{', '.join(self.affine(i) for i in node.indices)}]", ATOM

    def add(self, node: T.Add) -> tuple[str, int]:
        text = ""
        for term in node.terms:
            negative = isinstance(term, T.Neg) or (isinstance(term, T.Num) and term.value < 0)
            body = term.body if isinstance(term, T.Neg) else T.Num(-term.value) if negative else term  # type: ignore[union-attr]
            sign = (" - " if text else "-") if negative else (" + " if text else "")
            text += sign + self.formula(body, MUL)
        return text, ADD

    def mul(self, node: T.Mul) -> tuple[str, int]:
        text = ""
        for factor in node.factors:
            part = self.formula(factor, MUL if isinstance(factor, (T.Div, T.Num)) else POWER)
            if not text:
                text = part
            elif (
                part[0].isdigit()
                or part.startswith(("[", "\\left["))
                or (part.startswith(("(", "\\left(")) and text[-1] != "]")
            ):
                text += r" \cdot " + part
            else:
                text += self.between + part
        return text, MUL

    def div(self, node: T.Div) -> tuple[str, int]:
        return f"\\frac{{{self.formula(node.above, ADD)}}}{{{self.formula(node.below, ADD)}}}", MUL

    def pow(self, node: T.Pow) -> tuple[str, int]:
        indexed = isinstance(node.base, T.Ref) and node.base.indices
        base = self.formula(node.base, ATOM) if indexed else _brackets(self.formula(node.base))
        return f"{base}^{{{self.formula(node.exponent)}}}", POWER

    def call(self, node: T.Call) -> tuple[str, int]:
        if node.function == "sqrt":
            return f"\\sqrt{{{self.formula(node.args[0])}}}", ATOM
        word = FUNCTIONS[node.function].latex if node.function in FUNCTIONS else r"\text{transpose}"
        return word + self.arguments(node), ATOM

    def apply(self, node: T.Apply) -> tuple[str, int]:
        return f"{self.name(node.function)}_{{\\Phi}}{self.arguments(node)}", ATOM

    def arguments(self, node: T.Call | T.Apply) -> str:
        return _brackets(", ".join(self.formula(a, ADD) for a in node.args))

    def sum(self, node: T.Sum | T.Reduce) -> tuple[str, int]:
        word = "sum" if isinstance(node, T.Sum) else node.function
        if word not in ("sum", "prod"):
            head = REDUCERS[word].latex
            bound = self.bound(node)
            head = f"\\underset{{{bound}}}{{{head}}}" if "text" in head else f"{head}_{{{bound}}}"
            return head + _brackets(self.formula(node.body)), ATOM
        return f"\\{word}_{{{self.bound(node)}}} {self.formula(node.body, MUL)}", MUL

    def softmax(self, node: T.Softmax) -> tuple[str, int]:
        head = f"\\underset{{{self.bound(node)}}}{{\\text{{softmax}}}}" if node.indices else r"\text{softmax}"
        return head + _brackets(self.formula(node.body)), ATOM

    def bound(self, node: T.Sum | T.Softmax | T.Reduce) -> str:
        names, conditions = bound_apart(node)
        return ", ".join([*map(index, names), *map(self.condition, conditions)])

    def flatten(self, node: T.Flatten) -> tuple[str, int]:
        indices = ", ".join(index(i) for i in node.indices)
        return f"\\underset{{{indices}}}{{\\text{{concat}}}}{_brackets(self.formula(node.body))}", ATOM

    def cases(self, node: T.Cases) -> tuple[str, int]:
        rows = [f"{self.formula(v, ADD)} & \\text{{if }} {self.condition(c)}" for v, c in node.branches]
        rows.append(f"{self.formula(node.otherwise, ADD)} & \\text{{otherwise}}")
        return "\\begin{cases} " + r" \\ ".join(rows) + " \\end{cases}", ATOM

    def affine(self, node: T.Affine) -> str:
        spell = lambda atom: index(atom if isinstance(atom, str) else atom.name)
        return spell_affine(node, spell, lambda ref: self.ref(ref)[0], " ")

    def condition(self, node: T.Compare | T.And) -> str:
        if isinstance(node, T.And):
            return r" \text{ and } ".join(self.condition(p) for p in node.parts)
        left, right = (
            self.affine(s) if isinstance(s, T.Affine) else self.formula(s, ADD)
            for s in (node.left, node.right)
        )
        return f"{left} {_SIGNS[node.operator]} {right}"


def _brackets(text: str) -> str:
    tall = "\\frac" in text or "\\sum" in text or "\\underset" in text
    return f"\\left({text}\\right)" if tall else f"({text})"


WIDE = 62  # signs that fit beside both sidebars of a page


def _folded(line: str) -> str:
    """A line that is too wide goes on in the next one, from a plus or a minus outside all tall brackets."""
    depth, places = 0, []
    for match in _TOKEN.finditer(line):
        token = match.group()
        depth += token in _OPEN
        depth -= token in _CLOSE
        if token in (" + ", " - ") and not depth and match.start():
            places.append(match.start())
    fitting = [place for place in places if _signs(line[:place]) <= WIDE]
    if _signs(line) <= WIDE or not fitting:
        return line
    return f"{line[: fitting[-1]]} \\\\\n&\\qquad{_folded(line[fitting[-1] :])}"


_TOKEN = re.compile(r"\\[A-Za-z]+| [+-] |.", re.DOTALL)
_OPEN, _CLOSE = ("{", "[", r"\left", r"\begin"), ("}", "]", r"\right", r"\end")


def _signs(line: str) -> int:
    """Roughly how many signs a reader sees."""
    seen = re.sub(r"\\(text|mathit|left|right|underset)|[{}\s_^&]|\\[,;]", "", line)
    return len(re.sub(r"\\[A-Za-z]+", "x", seen))


def _shape(dims: str) -> str:
    return r" \times ".join(index(d) for d in dims.split(","))


_FORMS: dict[type, Callable[..., tuple[str, int]]] = {
    T.Num: Writer.num,
    T.Size: lambda self, n: (index(n.name) if "_" not in n.name else self.name(n.name), ATOM),
    T.Ref: Writer.ref,
    T.Add: Writer.add,
    T.Mul: Writer.mul,
    T.Neg: lambda self, n: ("-" + self.formula(n.body, MUL), ADD),
    T.Div: Writer.div,
    T.Pow: Writer.pow,
    T.Call: Writer.call,
    T.Apply: Writer.apply,
    T.Softmax: Writer.softmax,
    T.Sum: Writer.sum,
    T.Reduce: Writer.sum,
    T.Concat: lambda self, n: ("; ".join(self.formula(p, ADD) for _, p in n.parts), CONCAT),
    T.Flatten: Writer.flatten,
    T.Position: lambda self, n: (self.affine(n.affine), ATOM if n.affine.plain else ADD),
    T.Cases: Writer.cases,
    T.Iverson: lambda self, n: (f"\\left[{self.condition(n.condition)}\\right]", ATOM),
}
