"""Syntax tree to LaTeX that MathJax renders, and that `parse` reads back to the same program."""

import re

from . import tree as T
from .functions import FUNCTIONS, REDUCERS
from .names import ACCENTS, GREEK
from .show import ADD, ATOM, MUL, POWER, Bound, Text, Writer, word_of

_SIGNS = {"==": "=", "!=": r"\ne", "<": "<", "<=": r"\le", ">": ">", ">=": r"\ge"}
_HATS = set(ACCENTS.values())
_COMMANDS = {value: key for key, value in reversed(ACCENTS.items())}


def latex(node: object, page: bool = False) -> str:
    """A program as an `aligned` display; a statement or an expression as a formula.

    With `page` it is for the eye alone: `b1` is b₁ and `dz_y_hat` is dz with ŷ below. Reading that back could give
    another name (`b_1`), so it is not the default.
    """
    write = Latex(page)
    if isinstance(node, T.Program):
        statements = [write.line(s) for s in node.statements]
        lines = " \\\\\n".join(map(_folded, statements) if page else statements)
        return f"\\begin{{aligned}}\n{lines}\n\\end{{aligned}}"
    line = write.line(node)
    return line.replace("&", "") if isinstance(node, (T.Equation, T.Directive)) else line


# ── names ────────────────────────────────────────────────────────────────────────────────────


def name(text: str) -> str:
    """`W_hG` -> `W_{hG}`, `h_tilde` -> `\\tilde{h}`, `W_LR_{l+1}` -> `W^{LR}_{\\ell+1}`."""
    base, groups, primes = _parts(text)
    out = _letters(base)
    while groups and groups[0] in _HATS:
        out = _accented(out, groups.pop(0))
    if len(groups) > 1:
        out += f"^{{{_script(groups.pop(0))}}}"
    for group in groups[:1]:
        out += f"_{{{_script(group)}}}"
    for group in groups[1:]:
        out += f"{{}}_{{{_script(group)}}}"
    return out + primes


def _parts(text: str) -> tuple[str, list[str], str]:
    """A name's letters, its scripts and accents, and its primes."""
    base, *groups = re.findall(r"\{[^}]*\}|[^_{}]+", text.rstrip("'"))
    return base, groups, text[len(text.rstrip("'")) :]


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
    base, groups, primes = _parts(text)
    lead = "d" if _ADJOINT.fullmatch(base) and base not in GREEK else ""
    out, tail = _apart(base.removeprefix(lead))
    scripts: list[str] = []
    for group in [tail, *groups] if tail else groups:
        if group not in _HATS:
            scripts.append(_page_script(group))
        elif scripts:
            scripts[-1] = _accented(scripts[-1], group)
        else:
            out = _accented(out, group)
    above = f"^{{{scripts.pop(0)}}}" if len(scripts) > 1 and not tail else ""
    below = f"_{{{', '.join(scripts)}}}" if scripts else ""
    return lead + out + above + below + primes


# The adjoint `dX`: of a letter, of a Greek one, of a word with a capital.
_ADJOINT = re.compile(rf"d([A-Za-z](\d*|{'|'.join(sorted(_HATS))})|[A-Z]\w+|{'|'.join(sorted(GREEK))})")
_TAIL = re.compile(rf"([A-Za-z])(\d+|in|out|next|prev|{'|'.join(sorted(_HATS))})|([A-Z])([a-z]\d*)")


def _apart(word: str) -> tuple[str, str]:
    """A name's letter and what is written small beside it: `G1` -> G and 1, `Lnext` -> L and next."""
    if word not in GREEK and (match := _TAIL.fullmatch(word)):
        letter, tail = filter(None, match.groups())
        return _letters(letter), tail
    short = len(word) < 3 or word in GREEK or word.isupper()
    return _letters(word) if short else f"\\text{{{word}}}", ""


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
    word = text.rstrip("'")
    if match := re.fullmatch(r"([A-Za-z])(\d+|in|out)", word):
        out = f"{_letters(match[1])}_{{{_script(match[2])}}}"
    elif re.fullmatch(r"d[a-z]", word):
        out = f"\\Delta {word[1]}"
    else:
        out = _letters(word)
    return out + text[len(word) :]


# ── statements and expressions ───────────────────────────────────────────────────────────────


class Latex(Writer):
    """Writes nodes for MathJax: as they are read back, or, with `page`, for the eye alone."""

    comma, times, equals, coefficient, pi = ", ", r" \cdot ", " &= ", " ", r"\pi"
    conjunction, signs = r" \text{ and } ", _SIGNS

    def __init__(self, page: bool) -> None:
        self.name, self.index = page_name if page else name, index
        self.between = r" \, " if page else " "

    def brackets(self, text: str) -> str:
        tall = "\\frac" in text or "\\sum" in text or "\\underset" in text
        return f"\\left({text}\\right)" if tall else f"({text})"

    def directive(self, node: T.Directive) -> str:
        if node.word == "parameters":
            return f"\\Phi &= ({', '.join(map(self.name, node.names))})"
        if node.word == "size":
            return f"\\text{{size}}\\; {index(node.names[0])} &= {node.values[0]}"
        if node.word == "shape":
            sizes = (r" \times ".join(map(index, v.split(","))) if v else "" for v in node.values)
            pairs = zip(map(self.name, node.names), sizes, strict=True)
            shapes = (rf"{n} \in \mathbb{{R}}" + (f"^{{{size}}}" if size else "") for n, size in pairs)
            return "& " + r" \quad ".join(shapes)
        spell = index if node.word == "centered" else self.name
        return f"&\\text{{{node.word}}}\\; {', '.join(map(spell, node.names))}".rstrip()

    def fraction(self, above: str, below: str) -> str:
        return f"\\frac{{{above}}}{{{below}}}"

    def size(self, node: T.Size) -> Text:
        return index(node.name) if "_" not in node.name else self.name(node.name), ATOM

    def derivative(self, above: str, below: str) -> str:
        return self.fraction(f"\\partial {above}", f"\\partial {below}")

    def beside(self, factor: T.Expr, first: bool) -> int:
        return MUL if isinstance(factor, (T.Div, T.Num)) else POWER

    def div(self, node: T.Div) -> Text:
        return self.fraction(self.formula(node.above, ADD), self.formula(node.below, ADD)), MUL

    def pow(self, node: T.Pow) -> Text:
        indexed = isinstance(node.base, T.Ref) and node.base.indices
        base = self.formula(node.base, ATOM) if indexed else self.brackets(self.formula(node.base))
        return f"{base}^{{{self.formula(node.exponent)}}}", POWER

    def call(self, node: T.Call) -> Text:
        if node.function == "sqrt":
            return f"\\sqrt{{{self.formula(node.args[0])}}}", ATOM
        word = FUNCTIONS[node.function].latex if node.function in FUNCTIONS else r"\text{transpose}"
        return word + self.brackets(self.formulas(node.args)), ATOM

    def apply(self, node: T.Apply) -> Text:
        return f"{self.name(node.function)}_{{\\Phi}}{self.brackets(self.formulas(node.args))}", ATOM

    def bound(self, node: Bound) -> Text:
        word, below = word_of(node), self.over(node)
        if word in ("sum", "prod"):
            return f"\\{word}_{{{below}}} {self.formula(node.body, MUL)}", MUL
        if word in ("max", "min"):
            return f"\\{word}_{{{below}}}{self.brackets(self.formula(node.body))}", ATOM
        return self.under(below, REDUCERS[word].latex if word in REDUCERS else r"\text{softmax}", node.body)

    def flatten(self, node: T.Flatten) -> Text:
        return self.under(", ".join(map(index, node.indices)), r"\text{concat}", node.body)

    def under(self, below: str, word: str, body: T.Expr) -> Text:
        head = f"\\underset{{{below}}}{{{word}}}" if below else word
        return head + self.brackets(self.formula(body)), ATOM

    def cases(self, node: T.Cases) -> Text:
        rows = [f"{self.formula(v, ADD)} & \\text{{if }} {self.condition(c)}" for v, c in node.branches]
        rows.append(f"{self.formula(node.otherwise, ADD)} & \\text{{otherwise}}")
        return "\\begin{cases} " + r" \\ ".join(rows) + " \\end{cases}", ATOM

    def iverson(self, node: T.Iverson) -> Text:
        return f"\\left[{self.condition(node.condition)}\\right]", ATOM


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
