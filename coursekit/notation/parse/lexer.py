"""A text's tokens, one stream for ASCII and LaTeX; and what is known of its tensors before it is read.

    {"W_hh": ("j", "i"), "x": 2, "lam": 0, "B": (5,)}

The signature: each name, in any spelling, with its number of axes, its axes' names or its shape. With it a page's own
notation is read: which scripts are indices, what is a matrix, and that `\\lambda` is the `lam` that is given.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lark import Token

from ..errors import NotationError
from ..names import GREEK, Name
from .latex_reader import LatexReader

MAX_TEXT = 20_000
Axes = int | Sequence[int | str]


def lex(text: str, given: Iterable[str] = ()) -> list[Token]:
    """The tokens of a text; words that are `given` as tensors are no functions there. Raises NotationError for what is
    no part of the language."""
    if len(text) > MAX_TEXT:
        raise NotationError(f"the text has {len(text)} characters; at most {MAX_TEXT} are read")
    reader = LatexReader(text)
    reader.defined.update(given)
    return reader.tokens()


def canonical(text: str) -> str:
    """The ASCII name of a tensor written in any spelling: canonical("W^{h,G}") == "W_hG"."""
    if not isinstance(text, str):
        raise NotationError(f"the name of a tensor is text, not {text!r}")
    tokens = [t for t in lex(text) if t.type != "NEWLINE"]
    name = tokens[0].value if len(tokens) == 1 else None
    if not isinstance(name, Name) or not all(g.name_like for g in name.groups):
        raise NotationError(f"`{text.strip()}` is not the name of a tensor", text, 1, 1, len(text))
    return name.text


class Signature:
    """`ranks` and `shapes` by the ASCII name; an axis that has no name is called `?name.k`."""

    def __init__(self, given: Mapping[str, Axes] | None = None) -> None:
        self.ranks: dict[str, int] = {}
        self.shapes: dict[str, tuple[str, ...]] = {}
        self.keys: dict[str, str] = {}
        self.defined: set[str] = set()  # the names that the text itself defines
        self.dressed: set[str] = set()  # letters that the text writes with one accent only
        for written, axes in (given or {}).items():
            name = canonical(written)
            if isinstance(axes, int):
                axes = [f"?{name}.{k}" for k in range(axes)]
            listed = isinstance(axes, Iterable) and not isinstance(axes, str)
            if not listed or not all(isinstance(a, (int, str)) for a in axes):
                raise NotationError(f"the axes of `{name}` are a number, a shape or a list of names")
            self.shapes[name] = tuple(map(str, axes))
            self.ranks[name] = len(self.shapes[name])
            self.keys.setdefault(key(name), name)

    def __bool__(self) -> bool:
        return bool(self.ranks)

    def find(self, name: Name, row: bool = False) -> str | None:
        """The tensor that a name means, however it is spelt: `\\lambda` is `lam`, `\\hat y` is `yhat`."""
        if name.text in self.ranks:
            return name.text
        known = self.keys.get(own := key(name.text))
        if known is None and name.accents and name.base in self.dressed:
            return self.find(replace(name, accents=()), row)
        letter = len(name.base) == 1 or name.base in GREEK
        if known is None and row and letter and name.base not in self.defined:  # w_i, a row of W
            swapped = {own.swapcase(), own[:1].swapcase() + own[1:]}
            other = [n for k, n in self.keys.items() if k in swapped]
            return other[0] if len(set(other)) == 1 and self.ranks[other[0]] > 1 else None
        return known

    def axis(self, name: Name) -> str | None:
        """The axis whose size a name is: `d_k`, `n_k`, `K` or `d` where an axis is called k or d."""
        axes = {a for shape in self.shapes.values() for a in shape if not a.startswith("?")}
        tries = [name.text, name.index, name.index.lower()]
        if name.base in ("d", "n", "D", "N") and len(name.subs) == 1 and not name.sups:
            tries += ["".join(name.subs[0].items), "".join(name.subs[0].items).lower()]
        return next((t for t in tries if t in axes), None)

    def holder(self, axis: str) -> tuple[str, tuple[str, ...]]:
        """A tensor that has an axis, all of its axes named if there is such a one."""
        found = [(n, shape) for n, shape in self.shapes.items() if axis in shape]
        return next((f for f in found if not any(a.startswith("?") for a in f[1])), found[0])

    def split(self, name: Name) -> list[Name] | None:
        """`QK^T` as Q and K^T, where both are known and `QK` is not."""
        word = name.base
        whole = name.text_word or name.accents or name.text in self.defined or len(word) < 2
        if whole or not self or self.find(replace(name, transposed=False)):
            return None
        for cut in range(1, len(word)):
            first, last = Name(word[:cut]), replace(name, base=word[cut:])
            if not self.knows(first):
                continue
            defined = first.capital and last.base in self.defined  # Ws_{t-1}
            if defined or self.knows(replace(last, transposed=False)) or self.knows(Name(last.base)):
                return [first, last]
            if rest := self.split(last):
                return [first, *rest]
        return None

    def knows(self, name: Name) -> bool:
        """Is it given, or a capital that the text defines?"""
        return self.find(name) is not None or (name.capital and name.text in self.defined)


def key(name: str) -> str:
    """What spellings of one name have in common."""
    for written, short in (("varepsilon", "eps"), ("epsilon", "eps"), ("lambda", "lam")):
        name = name.replace(written, short)
    name = re.sub(r"^ell\b", "l", name)
    return re.sub("[_{}]", "", name)
