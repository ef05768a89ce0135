"""The tables of the reader: what each command and each letter beyond ASCII stands for, and what one that makes no sense
was meant to be: slips of the keyboard and of Python's quotes."""

import re
import unicodedata
from difflib import get_close_matches

from .. import functions, names
from ..names import ACCENTS, GREEK

# A command or a letter -> the token that it is.
OPERATORS = {
    "cdot": "·", "times": "*", "odot": "⊙", "circ": "⊙", "ast": "*", "cdotp": "·", "bullet": "·",
    "le": "<=", "leq": "<=", "leqslant": "<=", "ge": ">=", "geq": ">=", "geqslant": ">=",
    "lt": "<", "gt": ">", "ne": "!=", "neq": "!=", "equiv": "==", "mid": "|", "vert": "|", "lvert": "|",
    "rvert": "|", "Vert": "||", "lVert": "||", "rVert": "||", "|": "||", "cdots": "...", "dots": "...",
    "ldots": "...", "dotsc": "...", "{": "(", "}": ")", "lbrack": "[", "rbrack": "]", "lbrace": "(",
    "rbrace": ")", "coloneqq": "=", "simeq": "=", "leftarrow": "=", "gets": "=", "triangleq": "=", "div": "/",
}  # fmt: skip

# Fonts and boxes: the name is what stands inside.
WRAPPERS = frozenset(
    (
        "text textrm textbf textit texttt textsf operatorname operatorname* mathbf mathrm mathcal mathit "
        "mathsf mathbb mathtt boldsymbol bm mathop mbox mathfrak mathscr bf rm it sf tt cal"
    ).split()
)

SPACES = frozenset(
    (
        ", ; ! : > left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr displaystyle textstyle limits "
        "nolimits nonumber notag enspace thinspace medspace thickspace space middle !"
    ).split()
    + [" ", "\n"]
)
DROPPED_WITH_ARGUMENT = frozenset(["tag", "label", "hspace", "vspace", "phantom", "color", "tag*"])
ENVIRONMENTS = frozenset(
    (
        "aligned align align* split equation equation* gather gather* gathered array displaymath math "
        "eqnarray"
    ).split()
)

_SLOPE = (
    "a gradient is asked for by `grad`, and in a derivation as `dJ/dh[t,j]`; here give it a name: `g[t,i]`"
)
REFUSED = {
    "sim": "`~` draws at random; this language defines tensors by equations",
    "approx": "`≈` is not an equation; write `=`",
    "propto": "`∝` is not an equation; write `=` and the factor",
    "Rightarrow": "an arrow is not an equation; write `left = right`",
    "rightarrow": "an arrow is not an equation; write `left = right`",
    "to": "an arrow is not an equation; write `left = right`",
    "argmin": "`argmin` is an optimisation, not an equation that defines a tensor entry by entry",
    "otimes": "`⊗` can be entry by entry, written `a \\odot b`, or an outer product, written `a b^\\top`",
    "oplus": "`⊕` can be a sum, written `a + b`, or vectors laid end to end, written `[a; b]`",
    "langle": "an inner product is written `u^\\top v`, or with indices `u[I] v[I]`",
    "nabla": _SLOPE,
    "expectation": "an expectation is a sum with its weights: `sum[i](p[i] x[i])`",
    "int": "integrals are not part of this language",
    "subset": "sets are not part of this language",
    "where": "`where` is no part of the language; write the equation that follows it on a line of its own",
    "vdots": "a matrix of partial derivatives is written entry by entry: `dJ_dW[i,j] = …`",
    "matrix": "a matrix is written entry by entry: `M[i,j] = …`",
}

_WHOLE = "of an index, `t//2` is rounded down; a tensor's value cannot be"
# Words of mathematics that would be taken for a number of that name, and what to write instead.
ABSENT = {
    **dict.fromkeys(("floor", "ceil", "round"), _WHOLE),
    **dict.fromkeys(
        ("mod", "rem"), "give each remainder its own equation: `y[t,0] = x[2*t]`, `y[t,1] = x[2*t+1]`"
    ),
    **dict.fromkeys(("det", "rank", "vec", "lim", "sup", "inv"), "write what it is by entries"),
    **dict.fromkeys(
        ("arctan", "arcsin", "arccos", "atan", "asin", "acos", "arctanh", "atanh", "sec", "csc", "cot"),
        "of the circular functions it has sin, cos and tan",
    ),
    **dict.fromkeys(("partial", "nabla"), _SLOPE),
}

LETTERS = names.LETTERS | {
    "ℓ": "ell", "·": "cdot", "⋅": "cdot", "×": "times", "⊙": "odot", "∘": "circ",
    "∗": "ast", "≤": "le", "≥": "ge", "≠": "ne", "∑": "sum", "Σ": "sum", "∏": "prod", "√": "sqrt",
    "∈": "in", "∀": "forall", "…": "dots", "⋯": "cdots", "∣": "mid", "∧": "land", "≃": "simeq", "‖": "Vert", "∼": "sim",
    "≈": "approx", "←": "gets", "∞": "infty", "⊗": "otimes", "⊕": "oplus", "⊤": "top", "′": "prime", "−": "-",
}  # fmt: skip

# What each word for a function stands for; the table is in `functions`.
FUNCTIONS = {word: name for name, f in functions.FUNCTIONS.items() for word in (name, *f.spelled)}
FUNCTIONS |= {word: word for word in ("transpose", "diag", "trace", *functions.SAID)}
FUNCTIONS |= {"sgn": "sign", "lrelu": "leakyrelu", "clamp": "clip", "power": "pow", "Diag": "diag"}
FUNCTIONS |= {"tr": "trace", "Tr": "trace"}
REDUCERS = {word: name for name, r in functions.REDUCERS.items() for word in (name, *r.spelled)}
REDUCERS |= {word: word for word in ("sum", "concat", *functions.SOFT, *functions.DEFINED)}
REDUCERS |= {"Softmax": "softmax", "LogSoftmax": "logsoftmax", "Var": "var", "Mean": "mean", "avg": "mean"}
REDUCERS |= {"average": "mean", "Std": "std"}
# What stands before the square brackets of an expectation: `\\mathrm{E}[x]`.
MOMENTS = {"E": "mean", **{word: REDUCERS[word] for word in ("Var", "mean", "var", "std", "Mean", "Std")}}
# A package that a function is taken from: `torch.sigmoid(…)` is `sigmoid(…)`.
PACKAGES = re.compile(
    r"(?:torch|np|numpy|jnp|math|F|nn)\.(?:functional\.|nn\.functional\.)?(?=[A-Za-z]\w*\s*\()"
)
DIRECTIVES = frozenset({"positions", "pad", "centered", "centred", "parameters", "inputs", "size", "shape"})

# Blanks that Python does not count among them: a pasted text may hold some, and nobody sees them.
UNSEEN = "\u200b\u200c\u200d\u2060\ufeff"

# `"\frac"` without an r before the quotes: Python has made one character of the backslash and its letter. A tab
# and a carriage return may be meant, so they need the rest of a command; `\to` and `\top` may be a tab and a name.
_ESCAPED = re.compile(
    "(?:[\a\b\f\v](?=[A-Za-z])|\t(?=anh|au|ext|heta|ilde|imes)|\r(?=brac|ho|ight|vert))[A-Za-z]+"
)
_LETTER = {"\a": "a", "\b": "b", "\f": "f", "\r": "r", "\t": "t", "\v": "v"}

_INSTEAD = {
    ":": "; a slice is a capital: `h[b,t,J]`",
    "@": "; write the factors side by side: `W[j,I] x[I]`, or `W x` where their shapes are declared",
    "?": "; write `a[i] if x[i] > 0 else b[i]`",
}
_BESIDE = "write the factors side by side, a capital for what is summed: `W[j,I] x[I]`"
PYTHON = {
    **dict.fromkeys(("matmul", "mm", "dot", "bmm", "einsum", "matvec", "mv"), _BESIDE),
    **dict.fromkeys(("cat", "hstack", "concatenate", "stack"), "write `c[t,C] = a[t,I]; b[t,K]`"),
    "where": "write `a[i] if x[i] > 0 else b[i]`",
    "len": "the size of an axis is a capital: `T` for the index t",
    "range": "an index takes all its values by itself; under a sum a condition may tell which: `sum[s <= t](x[s])`",
    "zeros": "write the number: `h[-1,j] = 0`",
}
# A line of a program: what stands at its beginning, and what a tutor would say.
_PROGRAM = re.compile(r"\s*(def|for|while|return|import|from|class|print|assert|with)\b(?!\s*(\[|=|_|'))")


def program(line: str) -> str | None:
    """A sentence for a line of Python, where an equation is expected."""
    found = _PROGRAM.match(line)
    if found is None:
        return None
    return (
        f"`{found.group(1)}` begins a line of Python; an equation says what each entry is, "
        f"for all values of its indices: `h[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])`"
    )


_COMMANDS = sorted(
    {"frac", "sqrt", "underset", "left", "right", "quad", "ell", "in"}.union(
        GREEK, ACCENTS, WRAPPERS, FUNCTIONS, REDUCERS, filter(str.isalpha, OPERATORS)
    )
)


def escaped(text: str, at: int, end: int) -> tuple[str, int] | None:
    """A sentence and a width where Python has eaten the backslash of a command that begins here."""
    found = _ESCAPED.match(text, at, end)
    if found is None:
        return None
    letter = _LETTER[text[at]]
    command = letter + found.group()[1:]
    says = f"Python has read the `\\{letter}` of `\\{command}` as one character; put an r before the quotes: "
    return f'{says}r"\\{command}…"', len(command)


def stranger(char: str) -> str:
    """A sentence for a character that is no part of the language; one that only looks familiar gets its name."""
    shown = char if char.isprintable() else f"U+{ord(char):04X}"
    name = "" if char.isascii() else unicodedata.name(char, "").lower()
    plain = unicodedata.normalize("NFKC", char)
    instead = f"; write `{plain}`" if plain != char and plain.isascii() else _INSTEAD.get(char, "")
    return f"`{shown}`{f' ({name})' if name else ''} is no part of the language{instead}"


def unknown_command(name: str) -> str:
    close = [c for c in _COMMANDS if c == name.lower()] or get_close_matches(name, _COMMANDS, 1, 0.7)
    return f"the command `\\{name}` is not known" + (f"; did you mean `\\{close[0]}`?" if close else "")
