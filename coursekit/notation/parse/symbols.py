"""The tables of the reader: what each command and each letter beyond ASCII stands for."""

from __future__ import annotations

import re

from .. import functions, names

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
        "mathsf mathbb mathtt boldsymbol bm mathop mbox mathfrak mathscr"
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
MOMENTS = {
    "E": "mean",
    "Var": "var",
    "mean": "mean",
    "var": "var",
    "std": "std",
    "Mean": "mean",
    "Std": "std",
}
# A package that a function is taken from: `torch.sigmoid(…)` is `sigmoid(…)`.
PACKAGES = re.compile(
    r"(?:torch|np|numpy|jnp|math|F|nn)\.(?:functional\.|nn\.functional\.)?(?=[A-Za-z]\w*\s*\()"
)
DIRECTIVES = frozenset({"positions", "pad", "centered", "centred", "parameters", "inputs", "size", "shape"})
