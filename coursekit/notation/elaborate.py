"""From the grammar's tree to the syntax tree: what each name *is*.

A name in brackets is an index or a lookup, a bare capital is a size, round brackets after a tensor are
indices too; which of these holds is known only from the whole program (`Facts`).
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from lark import Token, Tree

from .errors import NotationError
from .names import GREEK, Group, Name, capital_of, small_of
from .sums import close, is_capital, opens
from .symbols import FUNCTIONS, REDUCERS
from .tree import (
    Add, Affine, And, Apply, Call, Cases, Compare, Concat, Condition, Div, Equation, Expr, Flatten, Iverson,
    Lookup, Mul, Neg, Num, Position, Pow, Reduce, Ref, Size, SizeOf, Softmax, Span, Sum, substitute, transform,
)  # fmt: skip

MAX_DEPTH = 60
MAX_INDICES = 12


@dataclass
class Facts:
    """What the whole program tells about its names."""

    tensors: set[str] = field(default_factory=set)  # names with square brackets, or defined
    indices: set[str] = field(default_factory=set)  # names that stand in square brackets
    sizes: set[str] = field(default_factory=set)  # names of sizes: limits of sums, shapes
    time: set[str] = field(default_factory=set)  # letters that are indices in sub- and superscripts

    def is_size(self, index: str) -> bool:
        return index in self.sizes or (
            is_capital(index) and (index in self.indices or small_of(index) in self.indices)
        )


def names_in(tree: Tree | Token) -> list[Token]:
    if isinstance(tree, Token):
        return [tree] if tree.type == "NAME" else []
    return [t for t in tree.scan_values(lambda v: isinstance(v, Token) and v.type == "NAME")]


def gather(trees: list[Tree]) -> Facts:
    """Read the facts off the grammar's trees."""
    facts = Facts()
    for tree in trees:
        left = tree.children[0]
        if isinstance(left, Tree) and left.data == "reference" and len(tree.children) > 1:
            facts.tensors.add(left.children[0].value.text)
        for ref in tree.find_data("reference"):
            name, _, square = ref.children
            if square is not None:
                facts.tensors.add(name.value.text)
                facts.indices |= {n.value.index for n in names_in(square)}
            for group in (*name.value.sups, *name.value.subs):
                facts.time |= _time_letters(group)
        for node in tree.find_data("indices"):
            upto = node.children[-1]
            items = node.children[:-1]
            facts.indices |= {n.value.index for item in items for n in names_in(item)}
            if upto is not None:
                facts.sizes |= {n.value.index for n in names_in(upto)}
    # Once `t` is known to be written as a subscript index, `W_tx`'s kind of name is split off too.
    for tree in trees:
        for token in names_in(tree):
            for group in (*token.value.sups, *token.value.subs):
                if _index_items(group, facts.time) is not None:
                    facts.tensors.add(token.value.without(group).text)
    facts.indices |= facts.time
    return facts


def _time_letters(group: Group) -> set[str]:
    """The letters that a group shows to be indices: `h_{t-1}`, `h^{(t)}`; a layer's `ℓ` stays a name."""
    letters = {m.group(1) for item in group.items if (m := re.fullmatch(r"([a-z]\d?)([+-]\d+)?", item))}
    if (group.arithmetic or group.round) and len(letters) == len(group.items):
        return letters - {"l"}
    return set()


def _index_items(group: Group, letters: set[str]) -> list[tuple[str, int]] | None:
    """A group as shifted indices, if it is made of known index letters (or `(0)`), else None."""
    found: list[tuple[str, int]] = []
    for item in group.items:
        match = re.fullmatch(r"([a-z]\d?'?)([+-]\d+)?", item)
        if match and match.group(1) in letters:
            found.append((match.group(1), int(match.group(2) or 0)))
        elif item.isdigit() and group.round:
            found.append(("", int(item)))
        elif item.isalpha() and len(item) > 1 and set(item) <= letters:
            found += [(letter, 0) for letter in item]
        else:
            return None
    return found or None


class Elaborator:
    """One statement. `known`: indices of the left side and of every sum; `letters`: all that stand in
    brackets; `whole`: capitals that stand bare in brackets (so that `T-1` is an index, not a size)."""

    def __init__(self, facts: Facts, source: str) -> None:
        self.facts = facts
        self.source = source
        self.depth = 0
        self.known: set[str] = set()
        self.letters: set[str] = set()
        self.whole: set[str] = set()

    # ── errors ───────────────────────────────────────────────────────────────────────────────

    def span(self, node: Tree | Token) -> Span:
        tokens = [node] if isinstance(node, Token) else list(node.scan_values(lambda v: isinstance(v, Token)))
        if not tokens:
            return Span()
        first = min(tokens, key=lambda t: t.start_pos or 0)
        last = max(tokens, key=lambda t: t.end_pos or 0)
        width = (last.end_pos or 0) - (first.start_pos or 0) if first.line == last.line else 1
        return Span(first.line or 0, first.column or 0, max(1, width))

    def error(self, message: str, node: Tree | Token | Span) -> NotationError:
        span = node if isinstance(node, Span) else self.span(node)
        return NotationError(message, self.source, span.line, span.column, span.width)

    # ── statements ───────────────────────────────────────────────────────────────────────────

    def equation(self, tree: Tree) -> Equation:
        """`left = … = right`: the last member defines the left side."""
        left, right = tree.children[0], tree.children[-1]
        self.survey(tree)
        if not isinstance(left, Tree) or left.data != "reference":
            raise self.error("the left side must be one tensor, such as `h[b,t,j]`", left)
        name, round_, square = left.children
        conditional = round_ is not None and square is None and name.value.text not in self.facts.indices
        lhs = self.reference(left, left_side=True)
        if not isinstance(lhs, Ref):
            raise self.error("the left side must be one tensor, such as `h[b,t,j]`", left)
        body = self.expr(right)
        for middle in tree.children[1:-1]:
            self.expr(middle)
        return self.define(lhs, body, conditional, self.span(tree))

    def survey(self, tree: Tree) -> None:
        """Collect the statement's index names before any name is decided."""
        left = tree.children[0]
        if isinstance(left, Tree) and left.data == "reference":
            for part in left.children[1:]:
                if part is not None:
                    self.known |= {n.value.index for n in names_in(part)}
        for node in tree.find_data("indices"):
            for item in node.children[:-1]:
                self.known |= {n.value.index for n in names_in(item)}
        for ref in tree.find_data("reference"):
            name, round_, square = ref.children
            for part in (round_, square):
                if part is None or (part is round_ and name.value.text not in self.facts.tensors):
                    continue
                for argument in part.children[0].children:
                    for token in names_in(argument):
                        self.letters.add(token.value.index)
                    if isinstance(argument, Tree) and argument.data == "reference" and argument.children[1:] == [None] * 2:
                        self.whole.add(argument.children[0].value.index)
            for group in (*name.value.sups, *name.value.subs):
                found = _index_items(group, self.facts.time)
                self.letters |= {letter for letter, _ in found or () if letter}
        self.letters |= self.known

    def define(self, left: Ref, body: Expr, conditional: bool, span: Span) -> Equation:
        """Free the left side's capitals, sum the others, finish concatenations and opaque functions."""
        if conditional:
            left = self.complete(left, body)
        names: dict[str, str] = {}
        used = {a for n in _affines(left, body) for _, a in n.terms if isinstance(a, str)}
        for affine in left.indices:
            index = affine.plain
            if index is not None and is_capital(index) and index not in names:
                small = small_of(index)
                while small in used or small in names.values():
                    small += "'"
                names[index] = small
        free = frozenset(names)
        out = tuple(names.values())
        left = substitute(left, names)
        body = self.vectors(_rename_outside(body, names), left, out, free)
        return Equation(left, close(body), span=span)

    def complete(self, left: Ref, body: Expr) -> Ref:
        """`P(w_t | …)` names only the word: the other indices that are free on the right come before it."""
        from .tree import free_indices

        named = {i for a in left.indices for _, i in a.terms if isinstance(i, str)}
        free = free_indices(body)
        order = dict.fromkeys(a for n in _affines(body) for _, a in n.terms if isinstance(a, str))
        extra = tuple(Affine(((1, i),)) for i in order if i in free and i not in named and not is_capital(i))
        return replace(left, indices=extra + left.indices)

    def vectors(self, body: Expr, left: Ref, out: tuple[str, ...], free: frozenset[str]) -> Expr:
        """Give each opaque function its slices and each concatenation its axis."""
        left_names = [a.plain for a in left.indices if a.plain]

        def finish(node):
            if isinstance(node, Apply):
                return replace(node, slices=tuple(tuple(opens(a)) for a in node.args), out=out)
            if isinstance(node, Concat):
                return self.concatenation(node, left_names, out)
            return node

        return transform(body, finish)

    def concatenation(self, node: Concat, left: list[str], out: tuple[str, ...]) -> Expr:
        """Find the axis (a left index that the parts do not have) and the index along each part."""
        from .tree import free_indices

        inside = [free_indices(part) for _, part in node.parts]
        alongs = []
        for (_, part), names in zip(node.parts, inside, strict=True):
            own = opens(part) or sorted(names - set(left))
            alongs.append(own)
        axes = [i for i in left if not any(i in names for names in inside)]
        if not axes and all(not a for a in alongs):
            axes = [i for i in out if all(i in names for names in inside)]
            if len(axes) == 1:  # z[t,I] = a[t,I]; b[t,I]: the same letter along each part
                old, new = axes[0], capital_of(axes[0])
                parts = tuple((new, substitute(p, {old: new})) for _, p in node.parts)
                return Concat(old, parts, span=node.span)
        if len(axes) != 1 or any(len(a) != 1 for a in alongs):
            message = "a concatenation needs one index along each part: `c[t,C] = a[t,I]; b[t,K]`"
            raise self.error(message, node.span)
        return Concat(axes[0], tuple((a[0], p) for a, (_, p) in zip(alongs, node.parts, strict=True)), span=node.span)

    # ── expressions ──────────────────────────────────────────────────────────────────────────

    def expr(self, tree: Tree | Token) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"this expression is nested more than {MAX_DEPTH} deep", tree)
        try:
            assert isinstance(tree, Tree)
            return getattr(self, "x_" + tree.data)(tree)
        finally:
            self.depth -= 1

    def x_number(self, tree: Tree) -> Expr:
        return Num(Fraction(str(tree.children[0])), span=self.span(tree))

    def x_group(self, tree: Tree) -> Expr:
        return self.expr(tree.children[0])

    def x_add(self, tree: Tree) -> Expr:
        terms: list[tuple[bool, Tree]] = []
        node: Tree | Token = tree
        while isinstance(node, Tree) and node.data in ("add", "subtract"):
            terms.append((node.data == "subtract", node.children[1]))
            node = node.children[0]
        parts = [self.expr(node)]
        for minus, term in reversed(terms):
            value = self.expr(term)
            parts.append(negate(value) if minus else value)
        return add(parts, self.span(tree))

    x_subtract = x_add

    def x_negative(self, tree: Tree) -> Expr:
        return negate(self.expr(tree.children[0]), self.span(tree))

    def x_times(self, tree: Tree) -> Expr:
        steps: list[tuple[str, Tree]] = []
        node: Tree | Token = tree
        while isinstance(node, Tree) and node.data in ("times", "divide") and (node.data == "times" or node is not tree):
            steps.append((node.data, node.children[1]))
            node = node.children[0]
            if isinstance(node, Tree) and node.data == "divide":
                break
        factors = [self.expr(node)]
        factors += [self.expr(child) for _, child in reversed(steps)]
        return multiply(factors, self.span(tree))

    def x_divide(self, tree: Tree) -> Expr:
        above, below = self.expr(tree.children[0]), self.expr(tree.children[1])
        if isinstance(above, Num) and isinstance(below, Num) and below.value != 0:
            return Num(above.value / below.value, span=self.span(tree))
        return Div(above, below, span=self.span(tree))

    def x_power(self, tree: Tree) -> Expr:
        base, exponent = tree.children
        if isinstance(base, Tree) and base.data == "reference" and base.children[1:] == [None, None]:
            if base.children[0].value.text == "e" and "e" not in self.facts.tensors:
                return Call("exp", (self.expr(exponent),), span=self.span(tree))
        return Pow(self.expr(base), self.expr(exponent), span=self.span(tree))

    def x_call(self, tree: Tree) -> Expr:
        head = tree.children[0]
        rest = tree.children[1]
        nodes = rest.children if rest.data == "arguments" else [rest]
        function = str(head)
        if len(nodes) != 1 and function not in ("min", "max"):
            raise self.error(f"`{function}` takes one argument, you wrote {len(nodes)}", tree)
        if len(nodes) == 1 and function in ("min", "max"):
            hint = f"`{function}` needs two arguments, `{function}(a, b)`, or an index, `{function}[t](…)`"
            raise self.error(hint, head)
        return Call(function, tuple(self.expr(a) for a in nodes), span=self.span(tree))

    def x_norm(self, tree: Tree) -> Expr:
        body = self.expr(tree.children[0])
        return Call("sqrt", (Pow(body, Num(Fraction(2)), span=self.span(tree)),), span=self.span(tree))

    def x_bars(self, tree: Tree) -> Expr:
        inner = tree.children[0]
        if isinstance(inner, Tree) and inner.data == "reference" and inner.children[1:] == [None, None]:
            name = inner.children[0].value
            if name.capital and name.text not in self.facts.tensors:
                self.facts.sizes.add(name.index)
                return Size(name.index, span=self.span(inner))
        return Call("abs", (self.expr(inner),), span=self.span(tree))

    def x_iverson(self, tree: Tree) -> Expr:
        return Iverson(self.condition(tree.children[0]), span=self.span(tree))

    def x_cases(self, tree: Tree) -> Expr:
        branches: list[tuple[Expr, Condition]] = []
        for branch in tree.children[:-1]:
            if branch.data == "otherwise":
                raise self.error("`otherwise` must be the last case", branch)
            branches.append((self.expr(branch.children[0]), self.condition(branch.children[1])))
        last = tree.children[-1]
        if last.data != "otherwise" or not branches:
            raise self.error("cases end with `otherwise`: `cases(a if t == 0, b otherwise)`", last)
        return Cases(tuple(branches), self.expr(last.children[0]), span=self.span(tree))

    def x_concat(self, tree: Tree) -> Expr:
        parts = tree.children
        span = self.span(tree)
        if any(p.data == "dots" for p in parts):
            return self.heads(tree)
        return Concat("", tuple(("", self.expr(p)) for p in parts), span=span)

    def heads(self, tree: Tree) -> Expr:
        """`a[0,t,I]; …; a[K-1,t,I]`: one part for each value of the index that changes."""
        shape = [p.data for p in tree.children]
        message = "dots stand between the first and the last part: `a[0,t,I]; ...; a[K-1,t,I]`"
        if len(shape) not in (3, 4) or shape.count("dots") != 1 or shape[-2] != "dots":
            raise self.error(message, tree)
        first, last = self.expr(tree.children[0]), self.expr(tree.children[-1])
        if not (isinstance(first, Ref) and isinstance(last, Ref) and first.name == last.name):
            raise self.error(message, tree)
        differ = [k for k, (a, b) in enumerate(zip(first.indices, last.indices, strict=False)) if a != b]
        ok = len(differ) == 1 and len(first.indices) == len(last.indices)
        k = differ[0] if ok else 0
        if not ok or first.indices[k] != Affine(()) or len(last.indices[k].terms) != 1 or last.indices[k].const != -1:
            raise self.error(message, tree)
        size = last.indices[k].terms[0][1]
        head = size.name if isinstance(size, SizeOf) else str(size)
        indices = (*first.indices[:k], Affine(((1, head),)), *first.indices[k + 1 :])
        body = replace(first, indices=indices)
        inner = [c for c in opens(body) if c != head]
        return Concat("...", ((",".join([head, *inner]), body),), span=self.span(tree))

    def x_dots(self, tree: Tree) -> Expr:
        raise self.error("dots cannot stand here", tree)

    def x_comparison(self, tree: Tree) -> Expr:
        raise self.error("a condition cannot stand here; `[i == j]` is 1 where it holds", tree)

    x_both = x_comparison

    def x_reduce(self, tree: Tree) -> Expr:
        head, indices, body = tree.children
        word = str(head)
        span = self.span(head)
        bound, where = self.bound(indices) if indices is not None else ((), None)
        value = self.expr(body)
        if not bound:
            if word == "softmax":
                return Softmax((), value, None, span=span)
            raise self.error(f"`{word}` needs its index: `{word}[i](…)`", head)
        if word == "softmax":
            return Softmax(bound, value, where, span=span)
        if word == "sum":
            return Sum(bound, value, where, span=span)
        return Reduce(word, bound, value, where, span=span)

    def bound(self, indices: Tree) -> tuple[tuple[str, ...], Condition | None]:
        """The names that a sum binds, and the condition they must meet."""
        *items, upto = indices.children
        names: list[str] = []
        conditions: list[Compare] = []
        for item in items:
            if isinstance(item, Tree) and item.data == "comparison" and len(item.children) == 3 and item.children[1].type == "EQ":
                names.append(self.name_of(item.children[0]))
                conditions += self.limits(names[-1], item, upto)
            elif isinstance(item, Tree) and item.data in ("comparison", "both"):
                parts = item.children if item.data == "both" else [item]
                names += [n for n in (self.subject(p) for p in parts[:1]) if n not in names]
                for part in parts:
                    conditions += self.comparisons(part)
            else:
                names.append(self.name_of(item))
        if len(set(names)) < len(names):
            raise self.error("an index is bound twice here", indices)
        where: Condition | None = None
        if conditions:
            where = conditions[0] if len(conditions) == 1 else And(tuple(conditions))
        return tuple(names), where

    def limits(self, name: str, item: Tree, upto: Tree | None) -> list[Compare]:
        """`t=1 … T` and `t=0 … T-1` are the whole range; other limits become conditions."""
        start = self.affine(item.children[2])
        if upto is None:
            raise self.error(f"the sum over `{name}` has no upper limit", item)
        whole = start.terms == () and start.const in (0, 1)
        if whole and names_in(upto):
            return []
        variable = Affine(((1, name),))
        return [Compare(start, "<=", variable), Compare(variable, "<=", self.affine(upto))]

    def name_of(self, item: Tree | Token) -> str:
        if isinstance(item, Tree) and item.data == "reference" and item.children[1:] == [None, None]:
            return item.children[0].value.index
        raise self.error("an index name must stand here", item)

    def subject(self, comparison: Tree) -> str:
        """The index that a condition binds: the middle of `0 <= l <= L-2`, the first of `t2 <= t1`."""
        sides = comparison.children[0::2]
        if len(sides) == 3:
            return self.name_of(sides[1])
        for side in sides:
            if isinstance(side, Tree) and side.data == "reference" and side.children[1:] == [None, None]:
                return side.children[0].value.index
        raise self.error("a condition under a sum begins with the index it binds: `sum[t2 <= t1](…)`", comparison)

    # ── conditions ───────────────────────────────────────────────────────────────────────────

    def condition(self, tree: Tree) -> Condition:
        parts = tree.children if tree.data == "both" else [tree]
        found = [c for part in parts for c in self.comparisons(part)]
        return found[0] if len(found) == 1 else And(tuple(found))

    def comparisons(self, tree: Tree) -> list[Compare]:
        sides, operators = tree.children[0::2], tree.children[1::2]
        values = [self.side(s) for s in sides]
        if not all(isinstance(v, Affine) for v in values):
            values = [self.expr(s) for s in sides]
        signs = ["==" if o.type == "EQ" else str(o.value) for o in operators]
        span = self.span(tree)
        return [Compare(a, s, b, span=span) for a, s, b in zip(values, signs, values[1:], strict=False)]

    def side(self, tree: Tree | Token) -> Affine | None:
        """A side of a condition as an index expression, if all its names are indices or sizes."""
        for token in names_in(tree):
            index = token.value.index
            if index not in self.letters and not self.facts.is_size(index):
                return None
        try:
            return self.affine(tree)
        except NotationError:
            return None

    # ── names ────────────────────────────────────────────────────────────────────────────────

    def x_reference(self, tree: Tree) -> Expr:
        return self.reference(tree)

    def reference(self, tree: Tree, left_side: bool = False) -> Expr:
        token, round_, square = tree.children
        name: Name = token.value
        span = self.span(tree)
        leading: list[Affine] = []
        for group in (*name.sups, *name.subs):
            items = _index_items(group, self.facts.time)
            if items is not None:
                name = name.without(group)
                leading += [Affine(((1, letter),), shift) if letter else Affine((), shift) for letter, shift in items]
        if round_ is None and square is None:
            if leading or left_side:
                return Ref(name.text, tuple(leading), span=span)
            return self.bare(name, token, span)
        arguments = round_.children[0].children if round_ is not None else []
        if round_ is not None and not left_side:
            kind = self.kind(name, arguments, square)
            if kind == "product":
                factor = self.bare(name, token, self.span(token))
                inner = self.expr(arguments[0])
                return multiply([factor, inner], span)
            if kind == "function":
                return Apply(name.text, tuple(self.expr(a) for a in arguments), ((),) * len(arguments), (), span=span)
        arguments = arguments + (square.children[0].children if square is not None else [])
        indices = (*leading, *(self.affine(a) for a in arguments))
        if len(indices) > MAX_INDICES:
            raise self.error(f"`{name.text}` has {len(indices)} indices; at most {MAX_INDICES} are allowed", token)
        return Ref(name.text, indices, span=span)

    def kind(self, name: Name, arguments: list[Tree], square: Tree | None) -> str:
        """What round brackets after a name mean: a tensor's indices, a function's arguments, a product."""
        if square is not None or name.text in self.facts.tensors and all(self.index_like(a) for a in arguments):
            return "tensor"
        if name.opaque:
            return "function"
        single = len(arguments) == 1
        if single and (self.facts.is_size(name.index) or (name.index in self.letters and not name.capital)):
            return "product"
        if single and len(name.base) > 1 and name.plain and not name.text_word and self.split(name) is not None:
            return "product"
        if arguments and all(self.index_like(a) for a in arguments):
            return "tensor"
        if name.text in self.facts.tensors:
            return "product" if single else "tensor"
        if name.capital:
            return "function"
        if single and (len(name.base) == 1 or name.base in GREEK or not name.plain):
            return "product"
        return self.unknown_function(name, arguments)

    def unknown_function(self, name: Name, arguments: list[Tree]) -> str:
        close_names = difflib.get_close_matches(name.text, [*FUNCTIONS, *REDUCERS], 1, 0.6)
        hint = f"did you mean `{close_names[0]}`?" if close_names else (
            f"write `{name.text} * (…)` for a product, or a capital first for a function of your own"
        )
        raise self.error(f"the function `{name.text}` is not defined; {hint}", arguments[0] if False else self.at)

    def index_like(self, tree: Tree | Token) -> bool:
        tokens = names_in(tree)
        if not tokens:
            return isinstance(tree, Tree) and tree.data == "number"
        if isinstance(tree, Tree) and any(r.children[1] is not None or r.children[2] is not None for r in tree.find_data("reference")):
            refs = [r for r in tree.find_data("reference") if r.children[2] is not None or r.children[1] is not None]
            return all(r.children[0].value.text in self.facts.tensors for r in refs) and tree.data == "reference" and False
        return all(self.is_index(t.value) for t in tokens) and self.affine_shape(tree)

    def is_index(self, name: Name) -> bool:
        if name.index in self.letters or name.index in self.facts.indices or is_capital(name.index):
            return True
        return len(name.subs) == 1 and not name.sups and self.lookup_items(name) is not None

    def affine_shape(self, tree: Tree | Token) -> bool:
        return isinstance(tree, Tree) and tree.data in ("reference", "add", "subtract", "times", "number")

    def bare(self, name: Name, token: Token, span: Span) -> Expr:
        """A name without brackets: a defined scalar, an index as a number, a size, a product of sizes."""
        if name.text in self.facts.tensors:
            return Ref(name.text, span=span)
        if name.index in self.letters and not is_capital(name.index) and name.index not in self.facts.sizes:
            return Position(Affine(((1, name.index),)), span=span)
        if self.facts.is_size(name.index):
            return Size(name.index, span=span)
        sizes = self.split(name)
        if sizes is not None:
            return multiply([Size(s, span=span) for s in sizes], span)
        if re.fullmatch(r"[A-Z]\d*'*", name.text):
            return Size(name.index, span=span)
        return Ref(name.text, span=span)

    def split(self, name: Name) -> list[str] | None:
        """`KTL` as K·T·L, where each letter is a size of the program."""
        if not name.plain or name.text_word or len(name.base) < 2 or not name.base.isalpha():
            return None
        return list(name.base) if all(self.facts.is_size(letter) for letter in name.base) else None

    # ── index expressions ────────────────────────────────────────────────────────────────────

    def affine(self, tree: Tree | Token) -> Affine:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error("this index is nested too deeply", tree)
        terms, const = self.linear(tree)
        self.depth -= 1
        kept = tuple((c, a) for a, c in terms.items() if c)
        return Affine(kept, const, span=self.span(tree))

    def linear(self, tree: Tree | Token) -> tuple[dict, int]:
        assert isinstance(tree, Tree)
        if tree.data == "number":
            value = Fraction(str(tree.children[0]))
            if value.denominator != 1:
                raise self.error("an index must be a whole number", tree)
            return {}, int(value)
        if tree.data == "group":
            return self.linear(tree.children[0])
        if tree.data in ("add", "subtract"):
            sign = 1 if tree.data == "add" else -1
            return _combine(self.linear(tree.children[0]), self.linear(tree.children[1]), sign)
        if tree.data == "negative":
            return _combine(({}, 0), self.linear(tree.children[0]), -1)
        if tree.data == "times":
            a, b = self.linear(tree.children[0]), self.linear(tree.children[1])
            if b[0] and a[0]:
                raise self.error("an index may be multiplied by a number only: `2*t+dt`", tree)
            terms, const = (b if b[0] else a)
            factor = a[1] if b[0] else b[1]
            return {k: c * factor for k, c in terms.items()}, const * factor
        if tree.data == "reference":
            return {self.atom(tree): 1}, 0
        if tree.data == "bars":
            return self.linear(tree.children[0])
        raise self.error("an index is a name, a sum such as `t-1` or `2*t+dt`, or a lookup `w[b,t]`", tree)

    def atom(self, tree: Tree) -> str | Lookup | SizeOf:
        token, round_, square = tree.children
        name: Name = token.value
        if round_ is not None or square is not None:
            ref = self.reference(tree)
            if not isinstance(ref, Ref):
                raise self.error("an index is a name, a sum such as `t-1`, or a lookup `w[b,t]`", tree)
            return Lookup(ref)
        index = name.index
        if index in self.known:
            pass
        elif (items := self.lookup_items(name)) is not None:
            plain = replace(name, subs=())
            return Lookup(Ref(plain.text, tuple(Affine(((1, n),), s) for n, s in items), span=self.span(tree)))
        if (is_capital(index) or index in self.facts.sizes) and index not in self.whole and index not in self.known:
            return SizeOf(index)
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
