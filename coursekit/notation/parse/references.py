"""Names and indices in an expression: `t-1`, `2*t+dt`, the lookup `w_t`; a tensor's entry, a size, a matrix."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import cast

from lark import Token, Tree

from .. import tree as T
from ..errors import NotationError
from ..functions import PI
from ..indices import plus, scaled
from ..names import GREEK, Name, capital_of, fresh, small_of
from ..show import show
from ..sums import is_capital
from ..tree import single
from .build import MARK, multiply
from .facts import Facts, arguments_of, bare_name, bound_names, names_in, parts_of, rules

Where = Tree[Token] | Token | T.Span
MAX_DEPTH = 60
MAX_INDICES = 12
_SUM = re.compile(r"[\s)}*]*(?:\\[,;!:]|\\cdot|\\times|\s)*(?:\\?sum(?![A-Za-z])|[Σ∑])")
_ONE = re.compile(r"1\s*/\s*$|frac\s*\{?\s*1\s*\}?\s*\{?\s*$")


class ReferenceReader:
    """One statement's indices, and what a name is, by its brackets and by what the program tells about it.

    `known`: those of the left side and of every sum; `letters`: all that stand in
    brackets; `whole`: capitals that stand bare in brackets (so that `T-1` is an index, not a size)."""

    def __init__(self, facts: Facts, source: str) -> None:
        self.facts = facts
        self.source = source
        self.depth = 0
        self.known: set[str] = set()
        self.letters: set[str] = set()
        self.whole: set[str] = set()
        self.left: set[str] = set()
        self.own = ""  # the left side, where it is a name alone
        self.summed: set[str] = set()  # what the statement's sums bind
        self.sums: list[tuple[int, str]] = []  # where each begins, and what it binds
        self.around: list[str] = []  # what is bound around the expression that is read
        self.ones: list[tuple[str, Tree[Token], Tree[Token] | Token]] = []  # sums from 1 over a whole axis
        self.floors: list[tuple[str, T.And]] = []  # what stands for `t//2` or an argmax, to be summed over

    def span(self, node: Tree[Token] | Token) -> T.Span:
        first, last = edge(node, 0), edge(node, -1)
        if first is None or last is None:
            return T.Span()
        width = (last.end_pos or 0) - (first.start_pos or 0) if first.line == last.line else 1
        return T.Span(first.line or 0, first.column or 0, max(1, width))

    def error(self, message: str, node: Where, repairs: tuple[str, ...] = ()) -> NotationError:
        span = node if isinstance(node, T.Span) else self.span(node)
        return NotationError(message, self.source, span.line, span.column, span.width, repairs)

    def survey(self, tree: Tree[Token]) -> None:
        """The statement's index names, and what it tells about the program's, before any name is decided."""
        facts, made, left = self.facts, rules(tree), tree.children[0]
        ends: set[str] = set()
        if isinstance(left, Tree) and left.data == "reference":
            token, *brackets = parts_of(left)
            self.own = "" if any(brackets) else token.value.text
            ends = facts.ends.get(token.value.text, ends)
            self.left = {n.value.index for part in brackets for n in names_in(part)} - ends
            facts.tensors.add(token.value.text)
        for node in made["indices"]:
            *items, upto = node.children
            found = [index for item in items for index in bound_names(item)]
            self.summed |= set(found)
            self.sums += [(cast(Token, edge(node, 0)).start_pos or 0, index) for index in found]
            facts.tops |= {n.value.index: found[0] for n in names_in(upto) if found}
            last = upto.children if isinstance(upto, Tree) and upto.data == "subtract" else []
            ends_at = [edge(side, -1) for side in (*items, *last[1:])]
            if ends_at == ["0", "1"] and (size := bare_name(last[0])):
                facts.begun.append((found[0], size.index))
        for ref in made["reference"]:
            token, script, round_, square = parts_of(ref)
            for part in (p for p in (script, round_, square) if p is not None):
                inside = {n.value.index for n in names_in(part)}
                self.letters |= inside
                bare = {name.index for argument in arguments_of(part) if (name := bare_name(argument))}
                self.whole |= bare - ends if ref is left else bare
                if part is not round_:
                    facts.ranked.add(token.value.text)
                    facts.indices |= inside
        self.known = self.left | self.summed
        self.letters |= self.known
        facts.tensors |= facts.ranked
        facts.indices |= self.summed

    def affine(self, tree: Tree[Token] | Token) -> T.Affine:
        return replace(self.linear(tree), span=self.span(tree))

    def linear(self, tree: Tree[Token] | Token) -> T.Affine:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"this index is nested more than {MAX_DEPTH} deep", tree)
        try:
            return self.combination(tree)
        finally:
            self.depth -= 1

    def combination(self, tree: Tree[Token] | Token) -> T.Affine:
        assert isinstance(tree, Tree)
        if tree.data == "number":
            if tree.children[0] == "inf":
                raise self.error("an axis has an end: write its size, `K` for the index k", tree)
            if Fraction(str(tree.children[0])).denominator != 1:
                raise self.error("an index must be a whole number", tree)
            return T.Affine((), int(Fraction(str(tree.children[0]))))
        if tree.data in ("group", "bars"):
            return self.linear(tree.children[0])
        if tree.data in ("add", "subtract"):
            first, *rest = terms_of(tree)
            total = self.linear(first[1])
            for sign, term in rest:
                total = plus(total, scaled(self.linear(term), sign))
            return total
        if tree.data == "negative":
            return scaled(self.linear(tree.children[0]), -1)
        if tree.data in ("times", "star", "dot"):
            a, b = self.linear(tree.children[0]), self.linear(tree.children[1])
            if a.terms and b.terms:
                message = "an index may be multiplied by a number only, `2*t+dt`; "
                raise self.error(message + "for each i and j give the tensor two axes: `x[i,j]`", tree)
            return plus(T.Affine(()), scaled(b, a.const) if b.terms else scaled(a, b.const))
        if tree.data == "floor":
            return T.index(self.floor(tree))
        if tree.data == "reference":
            return T.Affine(((1, self.atom(tree)),))
        if tree.data == "reduce" and tree.children[0] == "argmax":  # Q[argmax[a](P[a])]
            name = self.fresh()
            self.floors.append((name, T.And((T.Compare(T.Position(T.index(name)), "==", self.expr(tree)),))))
            return T.index(name)
        raise self.error("an index is a name, a sum such as `t-1` or `2*t+dt`, or a lookup `w[b,t]`", tree)

    def floor(self, tree: Tree[Token]) -> str:
        """`t//2`: a new index q with `2*q <= t <= 2*q+1`, which the tensor's entry is summed over."""
        above, below = self.affine(tree.children[0]), self.affine(tree.children[1])
        if below.terms or below.const < 1:
            raise self.error("an index is divided by a number only: `t//2`", tree)
        if any(isinstance(atom, T.Lookup) for _, atom in above.terms):
            message = "`//` divides a position, not what is looked up: give a tensor that holds the quotient"
            raise self.error(message, tree)
        name = self.fresh()
        times = T.Affine(((below.const, name),))
        most = replace(times, const=below.const - 1)
        self.floors.append((name, T.And((T.Compare(times, "<=", above), T.Compare(above, "<=", most)))))
        return name

    def fresh(self) -> str:
        name = fresh(f"q{len(self.floors) + 1}", self.letters)
        self.letters.add(name)
        return name

    def atom(self, tree: Tree[Token]) -> str | T.Lookup | T.SizeOf:
        token, *brackets = parts_of(tree)
        name: Name = token.value
        if any(brackets):
            ref = unmarked(self.x_reference(tree, left_side=brackets[1:] == [None, None]))
            if not isinstance(ref, T.Ref):
                raise self.error("an index is a name, a sum such as `t-1`, or a lookup `w[b,t]`", tree)
            return T.Lookup(ref)
        index = name.index
        facts = self.facts
        number = facts.signature.ranks.get(name.text) == 0 or facts.shapes.get(name.text) == ()
        number |= name.text in facts.tensors - facts.ranked
        if index in self.known:
            return index
        if number and not name.capital:  # k = argmax[e](p[e]), then p[k]
            self.facts.looked |= {name.text} - self.facts.tensors
            return T.Lookup(T.Ref(name.text, span=self.span(tree)))
        if (items := self.lookup_items(name)) is not None:
            places = tuple(T.Affine(((1, n),), s) for n, s in items)
            return T.Lookup(T.Ref(replace(name, subs=()).text, places, span=self.span(tree)))
        if (is_capital(index) or index in self.facts.sizes) and index not in self.whole:
            ranged = small_of(index) in self.facts.stems or index in self.facts.sizes
            axis = None if ranged else self.facts.signature.axis(name)
            self.facts.named |= {axis} if axis else set()
            return T.SizeOf(axis or index)  # x[T-1], where x is given with an axis t
        return index

    def lookup_items(self, name: Name) -> list[tuple[str, int]] | None:
        """`w_t`, `w_{t+1}`, `w_{b,t}` where `t` is an index of this statement: the entry w[t]."""
        if len(name.subs) != 1 or name.sups or name.primes or name.index in self.known:
            return None
        found = []
        for item in name.subs[0].items:
            match = re.fullmatch(r"([a-z][a-z0-9]*'?)([+-]\d+)?", item)
            if not match or match.group(1) not in self.letters | self.facts.indices:
                return None
            found.append((match.group(1), int(match.group(2) or 0)))
        return found

    # ── names ────────────────────────────────────────────────────────────────────────────────

    def expr(self, tree: Tree[Token] | Token) -> T.Expr:
        raise NotImplementedError

    def x_reference(self, tree: Tree[Token], left_side: bool = False) -> T.Expr:
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
            message = f"`{name.text}` has {len(indices)} indices; at most {MAX_INDICES} are allowed"
            raise self.error(message, token)
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
        message = f"`{either[0]}^T` can be the entry itself, written `{either[0]}`, or one of the transposed"
        raise self.error(f"{message}, written `{either[1]}`", span)

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


def unmarked(node: T.Expr) -> T.Expr:
    """The entry itself, where it was marked as one that may be a row."""
    return node.args[0] if isinstance(node, T.Call) and node.function == MARK else node


def edge(node: Tree[Token] | Token | None, end: int) -> Token | None:
    """The first (0) or last (-1) token of a tree."""
    while isinstance(node, Tree):
        found = node.children[end] if node.children else None
        node = found or next((c for c in node.children[:: end or 1] if c is not None), None)
    return node


def terms_of(tree: Tree[Token]) -> list[tuple[int, Tree[Token]]]:
    """The terms of a sum, each with its sign."""
    terms = []
    while tree.data in ("add", "subtract"):
        rest, last = cast("tuple[Tree[Token], Tree[Token]]", tree.children)
        terms.append((1 if tree.data == "add" else -1, last))
        tree = rest
    return [(1, tree), *reversed(terms)]
