"""LaTeX as this package writes it, to MathML: what every browser draws without a script.

A notebook's output frame may load nothing, so a panel cannot count on MathJax. Only what `latex` of an equation and
of a formula writes is known here; a command that is not known is shown as its own name.
"""

import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from html import escape

_TOKEN = re.compile(
    r"\\(?:text|mathrm|operatorname)\{[^{}]*\}|\\begin\{\w+\}|\\end\{\w+\}|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.",
    re.DOTALL,
)
_LETTERS = {"ell": "ℓ", "infty": "∞", "partial": "∂", "varepsilon": "ε", "phi": "ϕ", "epsilon": "ϵ"}
_SIGNS = {
    "cdot": "·", "times": "×", "in": "∈", "ne": "≠", "le": "≤", "ge": "≥", "odot": "⊙", "to": "→", "mid": "|",
    "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "sum": "∑", "prod": "∏", "ldots": "…", "circ": "∘",
}  # fmt: skip
_SPACES = {",": ".17em", ";": ".28em", "quad": "1em", "qquad": "2em", "!": "0", " ": ".3em", ":": ".22em"}
_ACCENTS = {"hat": "^", "tilde": "~", "bar": "¯", "vec": "→", "widehat": "^", "widetilde": "~"}
# What a command makes of its arguments.
_MADE = {
    **dict.fromkeys(("frac", "dfrac", "tfrac"), "<mfrac>{0}{1}</mfrac>"),
    "sqrt": "<msqrt>{0}</msqrt>", "underset": "<munder>{1}{0}</munder>",
    **{name: f'<mover accent="true">{{0}}<mo>{sign}</mo></mover>' for name, sign in _ACCENTS.items()},
    **{name: f'<mspace width="{width}"></mspace>' for name, width in _SPACES.items()},
    **{name: f"<mo>{sign}</mo>" for name, sign in _SIGNS.items()},
}  # fmt: skip


def mathml(latex: str) -> str:
    """A display that stands in a line of text."""
    return f'<math displaystyle="true">{_row(_Reader(latex).until(()))}</math>'


def _greek(word: str) -> str:
    kind = "SMALL" if word.islower() else "CAPITAL"
    name = "LAMDA" if word.lower() == "lambda" else word.upper()
    with suppress(KeyError):
        return unicodedata.lookup(f"GREEK {kind} LETTER {name}")
    return ""


def _row(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


class _Reader:
    def __init__(self, latex: str):
        self.tokens = [t for t in _TOKEN.findall(latex) if not t.isspace()]
        self.at = 0

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def until(self, ends: Sequence[str]) -> list[str]:
        """The elements up to one of these tokens, which is taken too."""
        found: list[str] = []
        while (token := self.peek()) and token not in ends:
            found.append(self.scripted())
        self.take()
        return found or ["<mrow></mrow>"]

    def scripted(self) -> str:
        base = self.element()
        below = above = ""
        while self.peek() in ("_", "^", "'"):
            sign = self.take()
            if sign == "_":
                below = self.argument()
            else:
                above += "<mo>′</mo>" if sign == "'" else self.argument()
        if not below and not above:
            return base
        wide = base in ("<mo>∑</mo>", "<mo>∏</mo>")
        tag = "m" + ("under" if wide else "sub") * bool(below) + ("over" if wide else "sup") * bool(above)
        return f"<{tag}>{base}{below}{f'<mrow>{above}</mrow>' if above else ''}</{tag}>"

    def argument(self) -> str:
        if self.peek() != "{":
            return self.element()
        self.take()
        return _row(self.until("}"))

    def element(self) -> str:
        token = self.take()
        if token == "{":
            return _row(self.until("}"))
        if token.endswith("}") and not token.startswith(("\\begin", "\\end")) and len(token) > 1:
            words = escape(token[token.index("{") + 1 : -1]).replace(" ", "\u00a0")
            return f"<mtext>{words}</mtext>"
        if token.startswith("\\begin"):
            return self.table(token[7:-1])
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[:1].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>"
        still = ' stretchy="false"' if token in tuple("()[]|") else ""
        return f"<mo{still}>{escape('−' if token == '-' else token)}</mo>"

    def command(self, word: str) -> str:
        if word in _MADE:
            return _MADE[word].format(*(self.argument() for n in (0, 1) if f"{{{n}}}" in _MADE[word]))
        if word in ("mathit", "mathbf", "mathbb", "mathcal"):  # the text of the argument, letter by letter
            letters = self.take()
            if letters == "{":
                letters = "".join(iter(lambda: self.take().replace("}", ""), ""))
            return f"<mi>{escape(letters)}</mi>"
        if word in ("left", "right", "big", "Big", "bigl", "bigr"):
            sign = self.take().lstrip("\\")
            return f"<mo>{escape('' if sign == '.' else sign)}</mo>"
        return f"<mi>{_LETTERS.get(word) or _greek(word) or escape(word)}</mi>"

    def table(self, name: str) -> str:
        rows: list[list[str]] = [[""]]
        while (token := self.peek()) and token != f"\\end{{{name}}}":
            if token == "&":
                rows[-1].append("")
            elif token == "\\\\":
                rows.append([""])
            else:
                rows[-1][-1] += self.scripted()
                continue
            self.take()
        self.take()
        cells = ("".join(f"<mtd>{cell}</mtd>" for cell in row) for row in rows)
        made = f"<mtable>{''.join(f'<mtr>{row}</mtr>' for row in cells)}</mtable>"
        return f"<mrow><mo>{{</mo>{made}</mrow>" if name == "cases" else made
