"""Names in an expression: a tensor's entry, a function, a product, a size, an index as a number, a matrix."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import cast

from lark import Token, Tree

from .. import tree as T
from ..functions import PI
from ..names import GREEK, Name, capital_of
from ..show import show
from ..sums import is_capital
from ..tree import single
from .build import MARK, multiply
from .facts import arguments_of, parts_of
from .index_reader import IndexReader

MAX_INDICES = 12
_SUM = re.compile(r"[\s)}*]*(?:\\[,;!:]|\\cdot|\\times|\s)*(?:\\?sum(?![A-Za-z])|[Σ∑])")
_ONE = re.compile(r"1\s*/\s*$|frac\s*\{?\s*1\s*\}?\s*\{?\s*$")


class ReferenceReader(IndexReader):
    """What a name is, by its brackets and by what the program tells about it."""

    def reference(self, tree: Tree[Token], left_side: bool = False) -> T.Expr:
        token, script, round_, square = parts_of(tree)
        name: Name = token.value
        span = self.span(tree)
        leading = [self.affine(a) for a in arguments_of(script)] if script is not None else []
        if round_ is None and square is None:
            if left_side:
                return T.Ref(name.text, tuple(leading), span=span)
            if len(leading) == 2 and name.text == "delta" and self.unknown(name):  # Kronecker's
                return T.Iverson(T.Compare(leading[0], "==", leading[1]), span=span)
            if not leading:
                return self.bare(name, token, span)
            ref = T.Ref(name.text, tuple(leading), span=span)
            full = self.facts.signature.ranks.get(name.text) == len(leading)
            marked = self.facts.matrices and not full and not self.floors
            value: T.Expr = T.Call(MARK, (ref,), span=span) if marked else self.floored(ref)
            return self.transposed(value, span) if name.transposed else value
        arguments = arguments_of(round_) if round_ is not None else []
        if left_side and round_ is not None:
            arguments = self.left_arguments(arguments)
            if square is None and len(arguments) > self.facts.signature.ranks.get(name.text, MAX_INDICES):
                arguments = []  # MultiHead(Q, K, V): not its indices, which are fewer
        arguments = arguments + (arguments_of(square) if square is not None else [])
        indices = (*leading, *(self.affine(a) for a in arguments))
        if len(indices) > MAX_INDICES:
            raise self.error(
                f"`{name.text}` has {len(indices)} indices; at most {MAX_INDICES} are allowed", token
            )
        ref = T.Ref(name.text, indices, span=span)
        if self.floors and left_side:
            raise self.error("an index on the left must be a plain name", token)
        if self.facts.signature and not self.floors and self.is_row(ref, tree):
            return ref if left_side else T.Call(MARK, (ref,), span=span)
        return self.floored(ref)

    def transposed(self, value: T.Expr, span: T.Span) -> T.Expr:
        """The row `e[w,I]^T` is a vector as it is; `W_{ij}^T` can be an entry of W or of the transposed matrix."""
        if isinstance(value, T.Ref) and sum(is_capital(a.plain or "") for a in value.indices) == 1:
            return value
        if not isinstance(value, T.Ref) or len(value.indices) < 2 or not self.facts.matrices:
            return T.Call("transpose", (value,), span=span)
        *rest, row, column = value.indices
        either = [show(replace(value, indices=(*rest, *pair))) for pair in ((row, column), (column, row))]
        message = (
            f"can be the entry itself, written `{either[0]}`, or one of the transposed, written `{either[1]}`"
        )
        raise self.error(f"`{either[0]}^T` {message}", span)

    def is_row(self, ref: T.Ref, tree: Tree[Token]) -> bool:
        """May axes be left: is `x[t]` a row of an x that has more of them, or of one that the text defines?"""
        shape = self.facts.signature.shapes.get(ref.name)
        if shape is None:
            return ref.name in self.facts.signature.defined
        pairs = zip(map(single, ref.indices), shape, strict=False)
        elsewhere = any(own in shape and own != axis for own, axis in pairs)
        if len(ref.indices) > len(shape) or (elsewhere and len(ref.indices) < len(shape)):
            axes = "axis" if len(shape) == 1 else "axes"
            raise self.error(f"`{ref.name}` has {len(shape)} {axes}, you wrote {len(ref.indices)}", tree)
        return len(ref.indices) < len(shape)

    def floored(self, ref: T.Ref) -> T.Expr:
        """The entry at `t//2` or at an argmax, summed over the index that stands for it."""
        if not self.floors:
            return ref
        made, self.floors = self.floors, []
        tests = [c for _, both in made for c in both.parts]
        places = tuple(c for c in tests if isinstance(c.left, T.Affine))
        body = multiply([ref, *(T.Iverson(c) for c in tests if c not in places)], ref.span)
        return T.Sum(tuple(n for n, _ in made), body, T.And(places) if places else None, span=ref.span)

    def x_apply(self, tree: Tree[Token]) -> T.Expr:
        token, _, arguments = cast("tuple[Token, None, Tree[Token]]", tree.children)
        args = tuple(self.expr(a) for a in arguments.children)
        return T.Apply(token.value.text, args, ((),) * len(args), (), span=self.span(tree))

    def left_arguments(self, arguments: list[Tree[Token]]) -> list[Tree[Token]]:
        """Of `P(w_t)`, `J(θ)`, `PP(y, ŷ)`, `p(x = v | …)`, `P(w_0, …, w_T)` only indices are kept."""
        if any(a.data == "dots" for a in arguments):
            return []
        return [a for a in arguments if a.data != "comparison" and not self.names_tensor(a)]

    def names_tensor(self, tree: Tree[Token]) -> bool:
        """Is this argument a tensor (or θ), not an index?"""
        if tree.data != "reference":
            return False
        token, script, *_ = parts_of(tree)
        name: Name = token.value
        given = name.text in self.facts.tensors or name.text in self.facts.signature.ranks
        return given or script is not None or name.base in ("theta", "Theta", "Phi")

    def bare(self, name: Name, token: Token, span: T.Span) -> T.Expr:
        """A name without brackets: a defined scalar, an index as a number, a size, a product of sizes."""
        if name.transposed:
            return T.Call("transpose", (self.bare(replace(name, transposed=False), token, span),), span=span)
        beside = name.text in self.facts.ranked and self.facts.is_size(name.index)
        if beside and name.index not in self.facts.shapes:  # 1/sqrt(K) beside a tensor K[s,K]
            return T.Size(name.index, span=span)
        if name.text == self.own and name.index in self.facts.sizes:
            return T.Size(name.index, span=span)  # \\mathcal{L} = 1/L \\sum_{l=1}^L …
        given = name.text in self.facts.shapes or name.text in self.facts.signature.ranks
        if given or (self.facts.matrices and name.text in self.facts.tensors):
            return T.Call(MARK, (T.Ref(name.text, span=span),), span=span)
        if name.text in self.facts.tensors:
            return T.Ref(name.text, span=span)
        if name.index in self.facts.limits:
            return T.Size(capital_of(self.facts.limits[name.index]), span=span)
        if name.index not in self.letters and (axis := self.facts.signature.axis(name)):
            self.facts.named.add(axis)
            return T.Size(axis, span=span)
        if name.index in self.letters and not is_capital(name.index) and name.index not in self.facts.sizes:
            return T.Position(T.Affine(((1, name.index),)), span=span)
        if self.facts.is_size(name.index):
            return T.Size(name.index, span=span)
        sizes = self.split(name)
        if sizes is not None:
            return multiply([T.Size(s, span=span) for s in sizes], span)
        if self.facts.shapes and (parts := self.letters_of(name)):
            return multiply([T.Call(MARK, (T.Ref(p.text, span=span),), span=span) for p in parts], span)
        letter = bool(self.facts.signature) and len(name.base) == 1
        letter = letter and (name.plain or self.unknown(name)) and (name.capital or self.counts(name, token))
        if letter and self.sole(name, token):
            return T.Size(capital_of(self.facts.counts[name.text]), span=span)
        axes = {a for shape in self.facts.signature.shapes.values() for a in shape}
        if len(axes) == 1 and name.plain and len(name.base) == 1 and name.capital:  # there is no other size
            self.facts.named |= axes
            return T.Size(*axes, span=span)
        if re.fullmatch(r"[A-Z]\d*'*", name.text) or (self.facts.matrix and name.capital):
            return T.Size(name.text, span=span)  # no index ranges over it: `check` asks for its shape
        if name.text == "pi" and name.plain:
            return replace(PI, span=span)
        ref = T.Ref(name.text, span=span)
        return T.Call(MARK, (ref,), span=span) if self.facts.matrices else ref

    def unknown(self, name: Name) -> bool:
        """Is there a signature, and is this neither in it nor defined?"""
        known = self.facts.signature
        return bool(known) and known.find(name) is None and name.text not in known.defined

    def counts(self, name: Name, token: Token) -> bool:
        """Is it the n of `1/n sum_i x_i`, which is neither given nor defined?"""
        start, stop = token.start_pos or 0, token.end_pos or 0
        above = _ONE.search(self.source, 0, start) is not None
        return above and self.unknown(name) and _SUM.match(self.source, stop) is not None

    def sole(self, name: Name, token: Token) -> bool:
        """`1/N sum_i …`: N is how many there are of the index of the sum that follows, or of the only one."""
        after = _SUM.match(self.source, token.end_pos or 0)
        first = min((sum_ for sum_ in self.sums if after and sum_[0] >= after.end()), default=None)
        if len(self.summed) == 1 or first:
            index = first[1] if first else next(iter(self.summed))
            if self.facts.counts.setdefault(name.text, index) != index:
                message = f"is `{name.text}` the size of `{index}` or of `{self.facts.counts[name.text]}`?"
                raise self.error(message, token)
        return name.text in self.facts.counts

    def letters_of(self, name: Name) -> list[Name]:
        """`hW_2` as h and W_2, where the last is a declared matrix."""
        first, last = name.base[:-1], name.base[-1]
        parts = [*(Name(letter) for letter in first), replace(name, base=last)]
        known = bool(self.facts.shapes.get(parts[-1].text)) and name.base not in GREEK
        return parts if first and known and not name.accents and not name.text_word else []

    def split(self, name: Name) -> list[str] | None:
        """`KTL` as K·T·L, where each letter is a size of the program."""
        if not name.plain or name.text_word or len(name.base) < 2 or not name.base.isalpha():
            return None
        known = all(self.facts.is_size(letter) for letter in name.base)
        limits = self.facts.limits
        return [capital_of(limits[c]) if c in limits else c for c in name.base] if known else None
