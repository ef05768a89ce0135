"""Expressions: each rule of the grammar becomes its node."""

import operator
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, zip_longest
from typing import cast

from lark import Token, Tree

from .. import tree as T
from ..errors import NotationError
from ..functions import FUNCTIONS, ORDERS, SAID, SOFT
from ..indices import each
from ..names import capital_of
from ..show import show
from ..sums import is_capital, opens
from .build import add, both, divide, multiply, negate, reduction
from .facts import bare_name, bound_names, bracketed, names_in, parts_of, rules
from .matrix import BARS, DIAG, ENTRY, HADAMARD, WHOLE
from .positions import matters, moved
from .references import MAX_DEPTH, ReferenceReader, edge, terms_of, unmarked

_CONDITION = "a condition cannot stand here; `[i == j]` is 1 where it holds"
# Rules of the grammar that are no number where one must stand.
_MISPLACED = {
    "comparison": _CONDITION,
    "both": _CONDITION,
    "dots": "dots cannot stand here; heads are laid end to end by `c[t,C] = concat[h,i](head[h,t,i])`",
    "floor": "`//` stands in an index, with a number after it: `x[t//2]`",
}


class ExpressionReader(ReferenceReader):
    """The `x_…` methods are named after the grammar's rules."""

    def expr(self, tree: Tree[Token] | Token) -> T.Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"this expression is nested more than {MAX_DEPTH} deep", tree)
        try:
            assert isinstance(tree, Tree)
            if sentence := _MISPLACED.get(tree.data):
                raise self.error(sentence, tree)
            return cast("T.Expr", getattr(self, "x_" + tree.data)(tree))
        finally:
            self.depth -= 1

    def x_number(self, tree: Tree[Token]) -> T.Expr:
        if tree.children[0] == "inf":  # as the tensors have it: -log(0)
            return negate(T.Call("log", (T.Num(Fraction(0)),), span=self.span(tree)))
        return T.Num(Fraction(str(tree.children[0])), span=self.span(tree))

    def x_group(self, tree: Tree[Token]) -> T.Expr:
        return self.expr(tree.children[0])

    def x_add(self, tree: Tree[Token]) -> T.Expr:
        terms = [(sign, self.expr(term)) for sign, term in terms_of(tree)]
        return add([value if sign > 0 else negate(value) for sign, value in terms], self.span(tree))

    x_subtract = x_add

    def x_negative(self, tree: Tree[Token]) -> T.Expr:
        return negate(self.expr(tree.children[0]), self.span(tree))

    def x_times(self, tree: Tree[Token]) -> T.Expr:
        """A product or a fraction, read from the left: `1/sqrt(I) a b` is `((1/sqrt(I)) a) b`."""
        steps: list[Tree[Token]] = []
        node: Tree[Token] | Token = tree
        while isinstance(node, Tree) and node.data in ("times", "star", "dot", "matmul", "divide"):
            steps.append(node)
            node = node.children[0]
        matrices, span = self.facts.matrices, self.span(tree)
        join = (lambda f: f[0] if len(f) == 1 else T.Mul(tuple(f), span=span)) if matrices else multiply
        factors, fractions = [self.expr(node)], 0
        groups: list[tuple[str, list[T.Expr]]] = [("", factors)]  # matrices: a sign binds less than none
        for step in reversed(steps):
            if step.data == "times":
                left, beside = cast("list[Tree[Token]]", step.children)
                if beside.data == "holds" and left.data != "number":  # a[i,j] (j <= i)
                    message = "this condition can be a factor, 1 where it holds, written `[j <= i]`, or tell where the "
                    raise self.error(f"{message}line holds, written `… if j <= i else 0`", beside)
            right = self.expr(step.children[1])
            if step.data == "divide":
                fractions += 1
                if fractions > MAX_DEPTH:
                    raise self.error(f"this expression is nested more than {MAX_DEPTH} deep", step)
                self.nonzero(right, cast("Tree[Token]", step.children[1]))
                factors[:] = [divide(join(factors), right, self.span(step))]
            elif matrices and step.data != "times" and not all(isinstance(f, T.Num) for f in factors):
                factors = [right]
                groups.append((step.data, factors))
            else:
                factors.append(right)
        value = join(groups[0][1])
        for sign, others in groups[1:]:
            value = T.Call(sign, (value, join(others)), span=span)
        return value

    def nonzero(self, below: T.Expr, tree: Tree[Token]) -> None:
        """`sum_d q[d] k[d]/sqrt(d)`: the position d, which is 0 at first, or how many there are?"""
        inner = below.args[0] if isinstance(below, T.Call) and below.function == "sqrt" else below
        name = (inner.affine.plain if isinstance(inner, T.Position) else None) or ""
        if name in self.around and self.facts.base != 1:
            token = next(t for t in names_in(tree) if t.value.index == name)
            message = f"`{name}` is 0 at its first position: write `{capital_of(name)}` for its size, or `({name}+1)`"
            place = rf"(/\s*(?:\\?sqrt\s*[({{]?\s*)?){name}\b"
            both = (re.sub(place, rf"\g<1>{one}", self.source) for one in (capital_of(name), f"({name}+1)"))
            raise self.error(message, token, tuple(both))

    x_divide = x_star = x_dot = x_matmul = x_times

    def x_hadamard(self, tree: Tree[Token]) -> T.Expr:
        """Entry by entry; in index notation a product like any other."""
        left, right = map(self.expr, tree.children)
        if self.facts.matrices:
            return T.Call(HADAMARD, (left, right), span=self.span(tree))
        return multiply([left, right], self.span(tree))

    def x_minus_hadamard(self, tree: Tree[Token]) -> T.Expr:
        return negate(self.x_hadamard(tree), self.span(tree))

    def x_entry(self, tree: Tree[Token]) -> T.Expr:
        """`(W x)_i`, `softmax(z)_i`: an entry of a vector that has no name."""
        body, arguments = cast("tuple[Tree[Token], Tree[Token]]", tree.children)
        if not self.facts.matrices:
            message = "a subscript after brackets needs known shapes; write the index inside: `(W[i,J] x[J])`"
            raise self.error(message, tree)
        indices = tuple(self.affine(a) for a in arguments.children)
        if any(a.plain is None for a in indices):
            raise self.error("the subscript after brackets is an index, such as `i`", tree)
        at = T.Ref("", indices, span=self.span(tree))
        return T.Call(ENTRY, (self.expr(body), at), span=self.span(tree))

    def x_ternary(self, tree: Tree[Token]) -> T.Expr:
        """`a if t > 0 else b`."""
        value, condition, other = cast("list[Tree[Token]]", tree.children)
        branch = (self.expr(value), self.condition(condition))
        return T.Cases((branch,), self.expr(other), span=self.span(tree))

    def x_power(self, tree: Tree[Token]) -> T.Expr:
        base, exponent = tree.children
        name = bare_name(base)
        if name and name.text == "e" and "e" not in self.facts.tensors:
            return T.Call("exp", (self.expr(exponent),), span=self.span(tree))
        return T.Pow(self.expr(base), self.expr(exponent), span=self.span(tree))

    def x_call(self, tree: Tree[Token]) -> T.Expr:
        """`exp(x)`, `clip(x, 0, 1)`, `tanh^2(x)`, `log_2(x)`, and the slope `tanh'(x)`."""
        head, rest = cast("tuple[Token, Tree[Token]]", tree.children)
        nodes = cast("list[Tree[Token]]", rest.children) if rest.data == "arguments" else [rest]
        marks = re.fullmatch(r"(\w+?)((?:\^|_)\d+)?(')?", str(head))
        function, power, prime = cast("re.Match[str]", marks).groups()
        span, many = self.span(tree), str(head) in ("min", "max")
        wanted, meaning = SAID.get(function, ((1,), None))
        if function == "turned":  # (a - b)^T
            return self.transposed(self.expr(nodes[0]), span)
        if function in ("trace", DIAG) and not self.facts.matrices:
            entries = "sum[i](A[i,i])" if function == "trace" else "a[i] * [i == j]"
            raise self.error(f"`{head}` needs known shapes; write `{entries}` for its entries", tree)
        if len(nodes) == 1 and function == "leakyrelu":
            raise self.error("which slope has it? Write `LeakyReLU(x, 0.01)`, or with another number", tree)
        if len(nodes) not in wanted and not many:
            count = "one argument" if wanted[-1] == 1 else f"{wanted[-1]} arguments"
            raise self.error(f"`{function}` takes {count}, you wrote {len(nodes)}", tree)
        args = tuple(map(self.expr, nodes))
        if len(nodes) == 1 and many:
            hint = f"`{function}` needs two arguments, `{function}(a, b)`, or an index, `{function}[t](…)`"
            return self.over_all(function, args[0], tree, hint)
        value = replace(meaning(*args), span=span) if meaning else T.Call(function, args, span=span)
        if prime and meaning:
            raise self.error(f"the slope of `{function}` has no sign of its own; write it out", tree)
        if prime:
            return FUNCTIONS[function].slope(args[0], value)
        number = T.Num(Fraction(power[1:] if power else 1), span=span)
        if power and power[0] == "_":
            return divide(value, T.Call("log", (number,), span=span), span)
        return T.Pow(value, number, span=span) if power else value

    def x_norm(self, tree: Tree[Token]) -> T.Expr:
        body, sign = self.expr(tree.children[0]), str(tree.children[1])
        word = sign.replace("||", "norm")  # norm, norm1, norminf
        if (over := opens(body)) and not self.facts.matrices:  # ||x[b,I]||
            return reduction(word, tuple(over), body, None, self.span(tree))
        message = f"`||…{sign}` is the length of a vector: write the index that it is taken over, "
        message += f"`{word}[i](x[i] - y[i])`"
        return self.over_all(word, body, tree, message)

    def over_all(self, word: str, value: T.Expr, tree: Tree[Token], message: str = "") -> T.Expr:
        """Over all axes of a matrix; of a number, over the index that is left."""
        over = self.left_over(value, tree)
        if self.facts.matrices:
            return T.Call(WHOLE + word, (value, T.Ref("", tuple(map(T.index, over)))), span=self.span(tree))
        if self.left.issuperset(over) or (word in ORDERS and len(over) > 1):
            raise self.error(message, tree)
        return reduction(word, over, value, None, self.span(tree))

    def x_bars(self, tree: Tree[Token]) -> T.Expr:
        inner = tree.children[0]
        name = bare_name(inner)
        if name and name.capital and name.text not in self.facts.tensors:
            self.facts.sizes.add(name.index)
            return T.Size(name.index, span=self.span(inner))
        return T.Call(BARS if self.facts.matrices else "abs", (self.expr(inner),), span=self.span(tree))

    def x_iverson(self, tree: Tree[Token]) -> T.Expr:
        return T.Iverson(self.condition(*tree.children), span=self.span(tree))

    x_holds = x_iverson

    def x_cases(self, tree: Tree[Token]) -> T.Expr:
        branches: list[tuple[T.Expr, T.Condition]] = []
        *others, last = cast("list[Tree[Token]]", tree.children)
        for branch in others:
            if branch.data == "otherwise":
                raise self.error("`otherwise` must be the last case", branch)
            value, test = branch.children
            branches.append((self.expr(value), self.condition(test)))
        tests = [test for _, test in branches]
        if last.data != "otherwise" and tests:
            tests.append(self.condition(last.children[1]))
        if not branches or (last.data != "otherwise" and not _exhaust(tests)):
            raise self.error("cases end with `otherwise`: `cases(a if t == 0, b otherwise)`", last)
        return T.Cases(tuple(branches), self.expr(last.children[0]), span=self.span(tree))

    def x_concat(self, tree: Tree[Token]) -> T.Expr:
        if rules(tree)["dots"]:
            return self.heads(tree)
        return T.Concat("", tuple(("", self.expr(p)) for p in tree.children), span=self.span(tree))

    def heads(self, tree: Tree[Token]) -> T.Expr:
        """`a[0,t,I]; …; a[K-1,t,I]`: one part for each value of the index that changes."""
        shape = [p.data for p in cast("list[Tree[Token]]", tree.children)]
        body = self.expr(tree.children[0])
        if edge(tree, -1) == "family":  # head[H]; …: as `scripts.families` writes it
            return T.Flatten("", tuple(opens(body)), body, span=self.span(tree))
        well = len(shape) in (3, 4) and shape.count("dots") == 1 and shape[-2] == "dots"
        first, last = unmarked(body), unmarked(self.expr(tree.children[-1])) if well else None
        if isinstance(first, T.Ref) and isinstance(last, T.Ref) and first.name == last.name:
            pairs = enumerate(zip_longest(first.indices, last.indices))
            match [(k, a, b) for k, (a, b) in pairs if a != b]:
                case [(k, T.Affine((), 0), T.Affine(((_, size),), -1))]:
                    head = size.name if isinstance(size, T.SizeOf) else str(size)
                    body = moved(first, k, T.index(head))
                    inner = [c for c in opens(body) if c != head]
                    return T.Flatten("", (head, *inner), body, span=self.span(tree))
        message = "dots stand between the first and the last part: `a[0,t,I]; ...; a[K-1,t,I]`"
        raise self.error(message, tree)

    def x_reduce(self, tree: Tree[Token]) -> T.Expr:
        head, indices, body = cast("tuple[Token, Tree[Token] | None, Tree[Token]]", tree.children)
        word = str(head)
        span = self.span(head)
        bound, where = self.bound(indices, body) if indices is not None else ((), None)
        self.around += bound
        value = self.expr(body)
        del self.around[len(self.around) - len(bound) :]
        for name, item, upto in self.ones:
            if name in bound and matters(value, name):
                raise self.counted(name, self.affine(item.children[2]), self.scaled(upto)[1], item)
        self.ones = [one for one in self.ones if one[0] not in bound]
        if not bound and self.facts.matrices and word not in SOFT and word != "concat":
            return self.over_all(word, value, tree)
        if not (self.facts.matrices and word in SOFT):  # of a vector `matrix` knows
            bound = bound or self.left_over(value, body, word in SOFT)
        if not bound and word not in SOFT:
            raise self.error(f"`{word}` needs its index: `{word}[i](…)`", head)
        return reduction(word, bound, value, where, span)

    def left_over(self, value: T.Expr, body: Tree[Token], kept: bool = False) -> tuple[str, ...]:
        """The indices that `mean(x[n,k])` can only run over: those that nothing else uses, or the only one."""
        found = [parts_of(reference) for reference in rules(body)["reference"]]
        if not self.facts.matrices and any(script or round_ for _, script, round_, _ in found):
            return ()  # `softmax(z_t)`: z_t may be a vector
        around = [] if kept else self.around  # a softmax keeps its index, which a sum around it may use up
        order = dict.fromkeys(T.letters(value))
        own = [i for i in order if i in T.free_indices(value) and not is_capital(i)]
        rest = tuple(i for i in own if i not in self.left and i not in around)
        return rest or tuple(own if len(own) == 1 and own[0] not in around else ())

    def bound(self, indices: Tree[Token], body: Tree[Token]) -> tuple[tuple[str, ...], T.Condition | None]:
        """The names that a sum binds, and the condition they must meet."""
        *items, upto = indices.children
        names: list[str] = []
        conditions: list[T.Compare] = []
        explicit = {name.index for item in items if (name := bare_name(item))}
        if upto is not None:
            limits = [item for item in items if isinstance(item, Tree) and _is_limit(item)]
            explicit |= {i for item in limits for i in bound_names(item)}
        for item in items:
            if isinstance(item, Tree) and upto is not None and _is_limit(item):
                names.append(self.name_of(item.children[0]))
                conditions += self.limits(names[-1], item, upto)
            elif isinstance(item, Tree) and item.data in ("comparison", "both"):
                if not explicit & {t.value.index for t in names_in(item)}:
                    if not (found := bound_names(item)):
                        message = "a condition under a sum begins with the index it binds: `sum[t2 <= t1](…)`"
                        raise self.error(message, item)
                    names += found
                    names += self.pairs(item, found, body)
                for part in _each(item):
                    conditions += self.comparisons(part)
            else:
                names.append(self.name_of(item))
        if len(set(names)) < len(names):
            raise self.error("an index is bound twice here", indices)
        return tuple(names), both(conditions) if conditions else None

    def pairs(self, item: Tree[Token], found: list[str], body: Tree[Token]) -> list[str]:
        """The j of `sum_{i < j} w_ij`, which nothing else tells: the sum runs over pairs."""
        letters = {own.index for side in item.children[0::2] if (own := bare_name(side)) and not own.capital}
        letters -= {*found, *self.left, *self.around} | self.facts.sizes | self.facts.tensors
        parts = [part for r in rules(body)["reference"] for part in parts_of(r)[1:] if part is not None]
        inside = {t.value.index for part in parts for t in names_in(part)}
        return sorted(letters & inside)

    def limits(self, name: str, item: Tree[Token], upto: Tree[Token] | Token) -> list[T.Compare]:
        """The limits of a sum as conditions; none where it runs over the whole axis.

        Positions begin at 0 here and at 1 on many pages. From 0 or 1 to the axis's size is the whole axis either way,
        and so is a sum between two indices; where the beginning matters, a line must tell it."""
        first = self.affine(item.children[2])
        if self.beyond(upto) and first in (T.Affine(()), T.Affine((), 1)):
            return []
        start, (scale, stop) = first, self.scaled(upto)
        low = None if start.terms else start.const
        top = self.size_above(upto)
        past = top is not None and stop.const == 0
        base = self.facts.base
        if base is None and not past and self.facts.from_zero(name, top):
            base = 0
        if base is None:
            between = low is None and any(isinstance(a, str) for _, a in stop.terms)
            if not (low == 0 or between or (past and low in (None, 1))):
                raise self.counted(name, start, stop, item)
        variable = T.Affine(((scale, name),))
        begin = 1 if base is None and past else base or 0
        if base is None and low == 1:
            self.ones.append((name, item, upto))
        found = [] if low is not None and low <= begin else [T.Compare(start, "<=", variable)]
        if top is None or (base == 1 and not past):
            return [*found, T.Compare(variable, "<=", stop)]
        if capital_of(name) != top and top not in self.facts.limits:  # the size of another axis
            found.append(T.Compare(variable, "<=", T.Affine(((1, T.SizeOf(top)),), 0 if base == 1 else -1)))
        return found

    def beyond(self, tree: Tree[Token] | Token) -> bool:
        """`2N`, where N is told by nothing else: as many as the axis has."""
        if not self.facts.signature or not isinstance(tree, Tree) or tree.data != "times":
            return False
        name, known = bare_name(tree.children[1]), self.facts.signature
        unknown = name is not None and not (name.index in self.letters or known.axis(name))
        return unknown and cast("Tree[Token]", tree.children[0]).data == "number"

    def counted(self, name: str, start: T.Affine, stop: T.Affine, item: Tree[Token]) -> NotationError:
        """From 1: the first position, or the second?"""
        message = f"`{name}` runs from {show(start)} to {show(stop)}: are positions counted from 0, as here, or from "
        message += "1, as on many pages? Write a line `positions from 0` or `positions from 1` before it"
        repairs = tuple(f"positions from {base}\n{self.source}" for base in (0, 1))
        return self.error(message, item, repairs)

    def size_above(self, tree: Tree[Token] | Token) -> str | None:
        """The size that an upper limit names: `N`, `|V|`, `T-1`; None if it is an index or anything else."""
        if isinstance(tree, Tree) and tree.data in ("bars", "group"):
            return self.size_above(tree.children[0])
        if isinstance(tree, Tree) and tree.data == "subtract":
            number = tree.children[1]
            one = isinstance(number, Tree) and number.data == "number" and number.children[0] == "1"
            return self.size_above(tree.children[0]) if one else None
        name = bare_name(tree)
        return name.index if name and name.index in self.facts.sizes else None

    def scaled(self, tree: Tree[Token] | Token) -> tuple[int, T.Affine]:
        """`T/2` as (2, T): twice the index is at most T."""
        if isinstance(tree, Tree) and tree.data in ("divide", "floor"):
            above, below = self.affine(tree.children[0]), self.affine(tree.children[1])
            if not below.terms and below.const > 0:
                return below.const, above
        return 1, self.affine(tree)

    def name_of(self, item: Tree[Token] | Token) -> str:
        if name := bare_name(item):
            return name.index
        raise self.error("an index name must stand here: `sum[i](…)`", item)

    def condition(self, *trees: Tree[Token] | Token) -> T.Condition:
        return both([c for tree in trees for part in _each(tree) for c in self.comparisons(part)])

    def comparisons(self, tree: Tree[Token]) -> list[T.Compare]:
        sides, operators = tree.children[0::2], cast("list[Token]", tree.children[1::2])
        places = [self.side(s) for s in sides]
        values = cast("list[T.Affine | T.Expr]", [self.expr(s) for s in sides] if None in places else places)
        signs = ["==" if o.type == "EQ" else str(o.value) for o in operators]
        span = self.span(tree)
        return [T.Compare(a, s, b, span=span) for a, s, b in zip(values, signs, values[1:], strict=False)]

    def side(self, tree: Tree[Token] | Token) -> T.Affine | None:
        """A side of a condition as an index expression, if all its names are indices or sizes."""
        if isinstance(tree, Tree) and bracketed(tree):
            return None
        for token in names_in(tree):
            index = token.value.index
            if index not in self.letters and not self.facts.is_size(index):
                return None
        try:
            return self.affine(tree)
        except NotationError:
            return None


def _each(tree: Tree[Token] | Token) -> list[Tree[Token]]:
    assert isinstance(tree, Tree)
    return cast("list[Tree[Token]]", tree.children) if tree.data == "both" else [tree]


def _is_limit(item: Tree[Token]) -> bool:
    """Is this the `i=1` of a sum with limits?"""
    comparison = item.data == "comparison" and len(item.children) == 3
    return comparison and cast(Token, item.children[1]).type == "EQ"


_HOLDS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "<=": operator.le,
}  # fmt: skip


def _exhaust(tests: list[T.Condition]) -> bool:
    """Does one of the conditions always hold: `t == 0` and `t > 0`, `x < -1`, `-1 <= x <= 1` and `x > 1`?

    All must compare one value with numbers, or with one other value, which then counts as 0."""
    groups = list(map(each, tests))
    sides = [(c.left, c.right) for group in groups for c in group]
    value, *others = dict.fromkeys(s for pair in sides for s in pair if _number(s) is None) or (None,)
    if not all({value, *others} <= {*pair} for pair in sides):
        return False
    bounds = sorted({_number(s) or Fraction(0) for pair in sides for s in pair if s != value})
    tried = [bounds[0] - 1, *bounds, *((a + b) / 2 for a, b in pairwise(bounds)), bounds[-1] + 1]
    index = value.plain if isinstance(value, T.Affine) else None
    if index and not others:  # a position is whole and begins at 0
        tried = [x for x in tried if x >= 0 and x.denominator == 1]
    elif index and others == [T.Affine(((1, T.SizeOf(capital_of(index))),), -1)]:  # the last one
        tried = [x for x in tried if x <= 0]

    def at(side: object, x: Fraction) -> Fraction:
        return x if side == value else _number(side) or Fraction(0)

    def holds(group: tuple[T.Compare, ...], x: Fraction) -> bool:
        return all(_HOLDS[c.operator](at(c.left, x), at(c.right, x)) for c in group)

    return all(any(holds(group, x) for group in groups) for x in tried)


def _number(side: object) -> Fraction | None:
    if isinstance(side, T.Affine):
        return None if side.terms else Fraction(side.const)
    return side.value if isinstance(side, T.Num) else None
