"""Names in an expression: a tensor's entry, a function, a product, a size, an index as a number, a matrix."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace

from lark import Token, Tree

from ..errors import NotationError
from ..names import GREEK, Name, capital_of
from ..tree import (
    Affine,
    Apply,
    Call,
    Expr,
    Position,
    Ref,
    Size,
    Span,
)  # fmt: skip
from .build import multiply
from .facts import arguments_of, index_items, parts_of
from .index_reader import IndexReader
from .matrix import MARK
from .sums import is_capital
from .symbols import FUNCTIONS, REDUCERS

MAX_INDICES = 12


class ReferenceReader(IndexReader):
    """What a name is, by its brackets and by what the program tells about it."""

    def expr(self, tree: Tree | Token) -> Expr:
        raise NotImplementedError

    def reference(self, tree: Tree, left_side: bool = False) -> Expr:
        token, round_, square = parts_of(tree)
        name: Name = token.value
        span = self.span(tree)
        leading: list[Affine] = []
        for group in (*name.sups, *name.subs):
            items = index_items(group, self.facts.time)
            if items is not None:
                name = name.without(group)
                leading += [
                    Affine(((1, letter),), shift) if letter else Affine((), shift) for letter, shift in items
                ]
        if round_ is None and square is None:
            if left_side or (leading and not self.facts.shapes):
                return Ref(name.text, tuple(leading), span=span)
            if leading:
                value = Call(MARK, (Ref(name.text, tuple(leading), span=span),), span=span)
                return Call("transpose", (value,), span=span) if name.transposed else value
            return self.bare(name, token, span)
        arguments = arguments_of(round_) if round_ is not None else []
        if round_ is not None and not left_side:
            kind = self.kind(name, token, arguments, square)
            if kind == "product":
                factor = self.bare(name, token, self.span(token))
                inner = self.expr(arguments[0])
                return multiply([factor, inner], span)
            if kind == "function":
                return Apply(
                    name.text, tuple(self.expr(a) for a in arguments), ((),) * len(arguments), (), span=span
                )
        if left_side and round_ is not None:
            arguments = self.left_arguments(arguments)
        arguments = arguments + (arguments_of(square) if square is not None else [])
        indices = (*leading, *(self.affine(a) for a in arguments))
        if len(indices) > MAX_INDICES:
            raise self.error(
                f"`{name.text}` has {len(indices)} indices; at most {MAX_INDICES} are allowed", token
            )
        return Ref(name.text, indices, span=span)

    def left_arguments(self, arguments: list[Tree]) -> list[Tree]:
        """Of `P(w_t)`, `J(θ)`, `PP(y, ŷ)`, `p(x = v | …)`, `P(w_0, …, w_T)` only indices are kept."""
        if any(a.data == "dots" for a in arguments):
            return []
        return [a for a in arguments if a.data != "comparison" and not self.names_tensor(a)]

    def names_tensor(self, tree: Tree) -> bool:
        """Is this argument a tensor (or θ), not an index?"""
        if tree.data != "reference":
            return False
        name: Name = parts_of(tree)[0].value
        scripted = any(index_items(g, self.facts.time) for g in name.sups)
        return name.base in ("theta", "Theta", "Phi") or scripted or name.text in self.facts.tensors

    def kind(self, name: Name, token: Token, arguments: list[Tree], square: Tree | None) -> str:
        """What round brackets after a name mean: a tensor's indices, a function's arguments, a product."""
        if square is not None or (
            name.text in self.facts.tensors and all(self.index_like(a) for a in arguments)
        ):
            return "tensor"
        if name.opaque:
            return "function"
        single = len(arguments) == 1
        if single and (self.facts.is_size(name.index) or (name.index in self.letters and not name.capital)):
            return "product"
        if (
            single
            and len(name.base) > 1
            and name.plain
            and not name.text_word
            and self.split(name) is not None
        ):
            return "product"
        if arguments and all(self.index_like(a) for a in arguments):
            return "tensor"
        if name.text in self.facts.tensors:
            return "product" if single else "tensor"
        if name.capital:
            return "function"
        if single and (len(name.base) == 1 or name.base in GREEK or not name.plain):
            return "product"
        raise self.unknown_function(name, token)

    def unknown_function(self, name: Name, token: Token) -> NotationError:
        close_names = difflib.get_close_matches(name.text, [*FUNCTIONS, *REDUCERS], 1, 0.6)
        hint = f"write `{name.text} * (…)` for a product, or a capital first for a function of your own"
        if close_names:
            hint = f"did you mean `{close_names[0]}`?"
        return self.error(f"the function `{name.text}` is not defined; {hint}", token)

    def bare(self, name: Name, token: Token, span: Span) -> Expr:
        """A name without brackets: a defined scalar, an index as a number, a size, a product of sizes."""
        if name.transposed:
            return Call("transpose", (self.bare(replace(name, transposed=False), token, span),), span=span)
        if self.facts.shapes and (name.text in self.facts.shapes or name.text in self.facts.tensors):
            return Call(MARK, (Ref(name.text, span=span),), span=span)
        if name.text in self.facts.tensors:
            return Ref(name.text, span=span)
        if name.index in self.facts.limits:
            return Size(capital_of(self.facts.limits[name.index]), span=span)
        if name.index in self.letters and not is_capital(name.index) and name.index not in self.facts.sizes:
            return Position(Affine(((1, name.index),)), span=span)
        if self.facts.is_size(name.index):
            return Size(name.index, span=span)
        sizes = self.split(name)
        if sizes is not None:
            return multiply([Size(s, span=span) for s in sizes], span)
        if self.facts.shapes and (parts := self.letters_of(name)):
            return multiply([Call(MARK, (Ref(p.text, span=span),), span=span) for p in parts], span)
        if re.fullmatch(r"[A-Z]\d*'*", name.text) or (self.facts.matrix and name.capital):
            return Size(name.text, span=span)  # no index ranges over it: `check` asks for its shape
        ref = Ref(name.text, span=span)
        return Call(MARK, (ref,), span=span) if self.facts.shapes else ref

    def letters_of(self, name: Name) -> list[Name]:
        """`hW_2` as h and W_2, where the last is a declared matrix."""
        first, last = name.base[:-1], name.base[-1]
        parts = [*(Name(letter) for letter in first), replace(name, base=last)]
        known = parts[-1].text in self.facts.shapes
        return parts if first and known and not name.accents and not name.text_word else []

    def split(self, name: Name) -> list[str] | None:
        """`KTL` as K·T·L, where each letter is a size of the program."""
        if not name.plain or name.text_word or len(name.base) < 2 or not name.base.isalpha():
            return None
        return list(name.base) if all(self.facts.is_size(letter) for letter in name.base) else None
