"""Matrix notation to index notation, where shapes are declared or a signature tells them.

    H in R^{D x D}   I in R^{d x D}   b in R^{D}
    h^{(t)} = sigmoid(h^{(t-1)} H + e^{(t)} I + b)

becomes `h[t,i] = sigmoid(h[t-1,I] H[I,i] + e[t,D] I[D,i] + b[i])`. A product of a vector and a matrix on either
side, of two matrices, an inner product `u^T v` and an outer product `u v^T` are told apart by their shapes; two
vectors of one shape side by side are multiplied entry by entry. The shapes of other tensors follow. A signature may
leave its axes without names (`?W.0`): such a name stands for whichever size it meets first.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import cast

from .. import tree as T
from ..errors import NotationError
from ..functions import ORDERS
from ..show import show
from ..tree import free_indices, named, walk
from .build import MARK, multiply, reduction
from .facts import Facts

Shape = tuple[str, ...]  # the sizes' names; "1" is no axis
HADAMARD, ENTRY = "hadamard", "entry"  # Call(HADAMARD, (a, b)): entry by entry; Call(ENTRY, (body, indices))
WHOLE = "whole "  # Call("whole norm", (body,)): over all axes of a vector or a matrix
# Signs between vectors and matrices: `\\cdot` may be an inner product, `@` is one, `*` is entry by entry.
SIGNS = STAR, DOT, AT = "star", "dot", "matmul"
ROW = "row"  # no sign: that vectors are rows, so that `q k^T` is a number
EACH = "each"  # no sign: that `*` between a matrix and a vector is entry by entry, row by row
COLUMN = "column"  # no sign: that vectors are rows, so that `k^T v` is a matrix
BARS = "bars"  # Call(BARS, (a,)): of a number, its absolute value
DIAG = "diag"  # of a vector a matrix, of a matrix a vector


class Doubt(NotationError):
    """Two readings of one equation fit by themselves: `ways`, the signs that make a number of two vectors in each."""

    equation: str
    ways: list[frozenset[str]]


class Shapes:
    """The shapes of a program's tensors: those declared, those of the signature, and those that follow."""

    def __init__(self, facts: Facts, source: str, decided: dict[str, frozenset[str]]) -> None:
        self.decided = decided  # for an equation in doubt, by the name that it defines: the way to try
        self.known: dict[str, Shape] = dict(facts.shapes)
        self.full = {name: s for name, s in facts.signature.shapes.items() if name not in facts.shapes}
        self.same: dict[str, str] = {}
        self.guesses = False  # may a tensor have the shape that is wanted where it stands?
        self.source = source
        self.lefts: dict[str, int] = {}  # what is defined, with how many indices of its own
        self.letters: dict[str, str] = {}
        self.lines: dict[str, T.Concat | T.Flatten] = {}
        self.inner: frozenset[str] = frozenset()  # the signs that make a number of two vectors, here
        self.pairs: set[str] = set()  # the signs that stand between two vectors in it
        self.joined: list[tuple[T.Ref, T.Expr]] = []  # concatenations inside a product: lines of their own
        # of the equation that is written: its indices, is it more than one number, how often each capital is used
        self.taken: set[str] = set()
        self.entries = False
        self.capitals: dict[str, int] = {}

    def learn(self, equations: Sequence[tuple[T.Ref, T.Expr, bool]]) -> None:
        """Find the shape of each marked tensor; (left side, right side, is the left side marked?)."""
        signed = bool(self.full)
        self.lefts = {left.name: len(left.indices) for left, _, _ in equations}
        guessed = False
        for _ in range(3 * len(equations) + 2):
            before = dict(self.known)
            for left, body, marked in equations:
                self.settle(left, body, marked)
                own = self.of(left) if marked else None
                found = self.shape(body, own)
                if marked and found is not None and left.name not in self.full:
                    self.known.setdefault(left.name, found)
                    if signed:  # its own indices are axes too, should it be read without them
                        own = tuple(f"?{left.name}.{k}" for k in range(len(left.indices)))
                        self.full[left.name] = own + found
            settled, self.guesses = self.known == before, False
            if settled and not guessed:
                guessed = self.guesses = True  # no line tells more: what stands beside a tensor does
            elif settled:
                rows = (left for left, _, marked in equations if marked and left.indices)
                loose = next((left.name for left in rows if self.of(left) is None), None)
                if loose is None or not signed:
                    break
                self.known[loose] = ()  # told by nothing but itself: all its axes are written
            else:
                guessed = False
        for ref in (ref for _, body, _ in equations if self.full for ref in _marked(body)):
            if self.of(ref) is None and ref.name[:1].isupper():
                declare = f"declare it, `{ref.name} in R^{{n x m}}`, or write indices: `{ref.name}[i,J]`"
                raise self.error(f"the shape of `{ref.name}` is not known; {declare}", ref)

    def of(self, ref: T.Ref) -> Shape | None:
        """The axes of a tensor that its own indices leave."""
        if ref.name in self.full:
            return tuple(map(self.find, self.full[ref.name][len(ref.indices) :]))
        loose = self.full and ref.name not in self.lefts and not ref.name[:1].isupper()
        return self.known.get(ref.name, () if loose else None)  # neither given nor defined: a number

    def find(self, size: str) -> str:
        while size in self.same:
            size = self.same[size]
        return size

    def fit(self, a: Shape, b: Shape) -> bool:
        """Can these be one shape? Sizes without a name take the other's."""
        if not self.could(a, b):
            return False
        for x, y in zip(a, b, strict=True):
            x, y = self.find(x), self.find(y)
            if x != y:
                self.same[x if x.startswith("?") else y] = y if x.startswith("?") else x
        return True

    def error(self, message: str, node: T.Node) -> NotationError:
        return NotationError(message, self.source, *_place(node.span))

    # ── shapes ───────────────────────────────────────────────────────────────────────────────

    def shape(self, node: T.Expr, wanted: Shape | None = None) -> Shape | None:
        """A node's shape, or None while it is not known; `wanted` tells an unknown tensor its shape."""
        match node:
            case T.Call(function, (T.Ref() as ref,)) if function == MARK:
                return self.marked(ref, wanted if self.guesses else None)
            case T.Call("transpose", (body,)):
                return _transposed(self.shape(body, _transposed(wanted)))
            case T.Call(function, (body, *_)) if function == "trace" or function.startswith(WHOLE):
                self.shape(body)
                return ()
            case T.Call(function, (body,)) if function == BARS and _axes(self.shape(body)):
                message = "`|x|` of a vector can be its length, `||x||`, or of each entry, `abs(x)`"
                raise self.error(message, node)
            case T.Call(function, args) if function in SIGNS:
                return self.chain(args, function)
            case T.Call(function, (body, T.Ref(_, indices))) if function == ENTRY:
                inner = self.shape(body)
                return None if inner is None else _axes(inner)[len(indices) :]
            case T.Call(function, (body,)) if function == DIAG:
                inner = self.shape(body)
                return None if inner is None else inner[:1] * 2 if len(_axes(inner)) == 1 else inner[:1]
            case T.Pow(base) if len(_axes(self.shape(base))) > 1:
                message = "the power of a matrix can be of its entries or a product; write `A[i,j]^2` or "
                raise self.error(f"{message}`A[i,K] A[K,j]`", node)
            case T.Concat(_, both):
                parts = [self.shape(part) for _, part in both]
                whole = (f"?{node.span.line}.{node.span.column}",)
                return None if None in parts else whole if any(parts) else ()  # entries: h[t-1,J]; x[t,K]
            case T.Flatten(_, _, body):
                inner = self.shape(body)
                return (*inner[:-1], f"?{node.span.line}.{node.span.column}") if inner else inner
            case T.Add() | T.Call() | T.Neg() | T.Pow() | T.Div() | T.Cases() | T.Iverson():
                return self.common(node, wanted)
            case T.Mul(factors):
                return self.chain(factors)
            case T.Sum(_, body) | T.Reduce(_, _, body) | T.Softmax(_, body):
                return self.shape(body, wanted)
            case T.Apply(_, args):
                for argument in args:
                    self.shape(argument)
        return ()

    def marked(self, ref: T.Ref, wanted: Shape | None) -> Shape | None:
        own = self.lefts.get(ref.name, None if self.full else len(ref.indices))
        if wanted is not None and ref.name not in self.full and own == len(ref.indices):
            self.known.setdefault(ref.name, wanted)
        elif wanted is not None and self.full and own == len(wanted) and not ref.indices:
            self.full.setdefault(ref.name, wanted)  # M, whose line is M_{ij} = …
        return self.of(ref)

    def common(self, node: T.Expr, wanted: Shape | None) -> Shape | None:
        """Entry by entry: the parts have one shape, or are single numbers."""
        parts = _parts(node)
        shapes = [self.shape(p) for p in parts]
        found = max((s for s in shapes if s), key=len, default=wanted)
        if not found:
            return None if None in shapes else ()
        shapes = [self.shape(p, found) if s is None else s for p, s in zip(parts, shapes, strict=True)]
        for part, own in zip(parts, shapes, strict=True):
            last = _axes(found)[len(_axes(found)) - len(_axes(own)) :]
            # `A + h h^T` is a sum of matrices, whose shapes may not fit, and never a number on each entry
            row = own == () and len(_axes(found)) > 1 and ROW in self.inner and "transpose" in _calls(part)
            if row or (own and not self.fit(_axes(own), last)):
                message = f"shapes {_text(found)} and {_text(own or ())} cannot be added or combined"
                raise self.error(f"{message}; write indices: `W[j,I] x[I]`", part)
        return found

    def chain(self, factors: tuple[T.Expr, ...], sign: str = "") -> Shape | None:
        """From the left; a tensor beside a matrix is a vector that fits it."""
        total = self.shape(factors[0])
        for k, factor in enumerate(factors[1:]):
            own = self.shape(factor)
            if total is None and own is not None and len(own) == 2 and k == 0 and self.guesses:
                total = self.shape(factors[0], own[:1])
            if own is None and total is not None and len(total) == 2 and self.guesses:
                own = self.shape(factor, total[1:])
            if total is None or own is None:
                return None
            if len(total) == len(_axes(total)) == 1 and len(_axes(own)) == len(own) == 2:
                following = self.shape(factors[k + 2]) if k + 2 < len(factors) else None
                if following and len(following) == 1 and self.could(own[1:], following):
                    message = "vector, matrix, vector: write `v^\\top M x` for a number, `v \\odot (M x)` for a vector"
                    raise self.error(message, factor)
            total = self.times(total, own, factor, sign)
        return total

    def times(self, a: Shape, b: Shape, node: T.Expr, sign: str) -> Shape:
        way = self.way(a, b, node, sign)
        if way == "number":
            return a if _axes(a) else b
        if way == "entries":
            return max(a, b, key=len)
        if way in ("outer", "row"):
            return (a[-1], b[-1]) if way == "outer" else ()
        if way == "column":
            return ("1", a[0])
        return tuple(a[:-1]) + tuple(b[1:])

    def way(self, a: Shape, b: Shape, node: T.Expr, sign: str) -> str:
        """How two factors are multiplied, by their shapes and the sign between them."""
        if not _axes(a) or not _axes(b):
            return "number"
        if len(a) == len(b) == 1 and self.fit(a, b):
            self.pairs.add(sign)
            return "inner" if sign == AT or sign in self.inner else "entries"
        if len(a) == 1 and b[0] == "1":
            self.pairs |= {ROW} if self.could(a, b[1:]) else set()
            return "row" if ROW in self.inner and self.fit(a, b[1:]) else "outer"
        if sign == STAR and len(_axes(a)) == len(_axes(b)) == 2 and self.could(a, b):
            if self.could(a[-1:], b[:1]):
                message = "`*` between matrices: write `A B` for their product"
                raise self.error(f"{message}, `A \\odot B` for entry by entry", node)
            self.fit(a, b)
            return "entries"
        if sign == STAR and len(a) + len(b) == 3 and len(_axes(a + b)) == 3:  # of each row: X * g
            vector, matrix = (a, b) if len(a) == 1 else (b, a)
            if self.could(vector, matrix[1:]) and not self.could(vector, matrix[:1]):
                self.pairs.add(EACH)
            if EACH in self.inner and EACH in self.pairs and self.fit(vector, matrix[1:]):
                return "entries"
        if a[0] == "1" and len(a) == 2 and len(b) == 1:
            if not self.could(a[1:], b):
                return "outer"  # the rows k_t^T v_t
            self.pairs.add(COLUMN)
            if COLUMN in self.inner:
                return "outer"
        if b[0] == "1" and len(b) == 2 and len(_axes(a)) == len(a) == 2 and self.fit(a[-1:], b[1:]):
            return "column"  # M k^T, where k is a row
        if not (len(a) == len(b) == 1) and self.fit(a[-1:], b[:1]):
            return "inner"
        message = f"a product of shapes {_text(a)} and {_text(b)} does not fit"
        raise self.error(f"{message}; write their indices: `W[j,I] x[I]`", node)

    def settle(self, left: T.Ref, body: T.Expr, marked: bool) -> None:
        """Which products of two vectors are numbers: `w \\cdot x` and, where nothing else fits the left side, `w x`."""
        own = self.of(left) if marked else ()
        self.inner, self.pairs, refusal = frozenset(), set(), None
        try:
            if self.shape(body, own) is None or not self.pairs - {AT}:
                return
        except NotationError as problem:
            refusal = problem
        fitting: list[frozenset[str]] = []
        for signs in ((), (DOT,), ("",), (DOT, ""), (ROW,), (EACH,), (COLUMN,)):
            inner = self.inner = frozenset(signs)
            # a state S_t, which nothing but the text tells, is by its capital more likely a matrix than a number
            state = left.indices and left.name[:1].isupper() and self.of(left) is None and self.turned(body)
            once = {"", ROW, EACH} if state else {"", ROW, EACH, COLUMN}
            if not inner <= self.pairs or (inner & once and fitting):
                continue
            try:
                found = self.shape(body)
            except NotationError:
                continue
            if own is None or (found is not None and len(_axes(found)) == len(_axes(own))):
                fitting.append(inner)
        if refusal is not None and not fitting:
            raise refusal
        dots = [n for n in walk(body) if isinstance(n, T.Call) and n.function == DOT]
        if len(fitting) > 1 and dots and all(map(_apart, dots)):
            fitting = [f for f in fitting if DOT in f]
        if len(fitting) > 1 and self.pairs & {DOT, COLUMN} and left.name not in self.decided:
            doubt = self.doubt(body, dots)
            doubt.equation, doubt.ways = left.name, fitting
            raise doubt
        self.inner = self.decided.get(left.name, fitting[0] if fitting else frozenset())

    def turned(self, body: T.Expr) -> list[tuple[T.Ref, T.Ref]]:
        """The vectors of each `k_t^\\top v_t`."""
        pairs = [pair for n in walk(body) if isinstance(n, T.Mul) for pair in pairwise(n.factors)]
        turned = (p for p in pairs if isinstance(p[0], T.Call) and p[0].function == "transpose")
        refs = (_marked(T.Mul(pair)) for pair in turned)
        return [(r[0], r[1]) for r in refs if len(r) == 2 and all(len(self.of(n) or ()) == 1 for n in r)]

    def doubt(self, body: T.Expr, dots: list[T.Call]) -> Doubt:
        if dots:
            message = "is this `\\cdot` between two vectors an inner product, written `a^\\top b`, or "
            message += "entry by entry, written `a \\odot b`?"
            return Doubt(message, self.source, *_place(dots[0].span))
        one, other = self.turned(body)[0]
        number = " ".join(show(replace(ref, indices=(*ref.indices, T.index("D'")))) for ref in (one, other))
        ways = (f"{show(one)} {show(other)}^T", number)
        message = f"are these vectors rows, so that this is a matrix, written `{ways[0]}`, or columns, so that it is a "
        lines, end = self.source.split("\n"), other.span.column - 1 + other.span.width
        line, repairs = lines[one.span.line - 1], []
        for way in ways if one.span.line == other.span.line else ():
            lines[one.span.line - 1] = line[: one.span.column - 1] + way + line[end:]
            repairs.append("\n".join(lines))
        return Doubt(f"{message}number, written `{number}`?", self.source, *_place(one.span), tuple(repairs))

    def could(self, a: Shape, b: Shape) -> bool:
        """Can these be one shape, as far as is known?"""
        a, b = tuple(map(self.find, a)), tuple(map(self.find, b))
        return len(a) == len(b) and all(x == y or "?" in x[:1] + y[:1] for x, y in zip(a, b, strict=True))

    # ── indices ──────────────────────────────────────────────────────────────────────────────

    def letter(self, size: str) -> str:
        """One small letter for each size, the same in every equation."""
        size = self.find(size)
        if size not in self.letters:
            pool = [*(c.lower() for c in size[:1] if c.isalpha()), *"ijkmnpqrsuvwxyz"]
            used = self.taken | set(self.letters.values())
            self.letters[size] = next((c for c in pool if c not in used), f"a{len(self.letters)}")
        return self.letters[size]

    def equation(self, left: T.Ref, body: T.Expr, marked: bool) -> tuple[T.Ref, T.Expr]:
        self.settle(left, body, marked)
        self.taken = {a for side in (left, body) for n in walk(side) for a in named(n)}
        self.taken |= {n.name for n in walk(body) if isinstance(n, T.SizeOf)}  # `j` may be a size's own name
        shape = (self.of(left) or ()) if marked else ()
        if not shape:
            self.used_up(body)
        axes = tuple(None if s == "1" else self.letter(s) for s in shape)
        for k, axis in enumerate(axes):  # a square matrix needs two names
            if axis is not None and axis in axes[:k]:
                axes = (*axes[:k], axis + "'", *axes[k + 1 :])
        self.entries, self.capitals = bool(left.indices) or any(axes), {}
        if isinstance(body, (T.Concat, T.Flatten)) and any(axes):
            return self.laid(left, [a for a in axes if a], body)
        if isinstance(body, T.Concat):
            return left, replace(body, parts=tuple((a, self.write(part, ())) for a, part in body.parts))
        return _with(left, axes), self.write(body, axes)

    def used_up(self, body: T.Expr) -> None:
        """All axes of the right side must be gone where the left side is a number."""
        loose = _axes(self.shape(body) or ())
        for ref in _marked(body) if loose else ():
            if own := self.of(ref):
                rank, written = len(ref.indices) + len(own), len(ref.indices)
                message = f"`{ref.name}` has {rank} {'axis' if rank == 1 else 'axes'}, you wrote {written}: the right "
                message += f"side is a {'vector' if len(loose) == 1 else 'matrix'}, the left side a number; sum over "
                raise self.error(f"{message}what is left, `sum[i](…)`, or put its index on the left", ref)

    def laid(self, left: T.Ref, axes: list[str], body: T.Concat | T.Flatten) -> tuple[T.Ref, T.Expr]:
        """A concatenation of vectors, each with an index of its own."""
        full = _with(left, axes)
        if isinstance(body, T.Flatten):  # of matrices: side by side
            last = self.summed((self.shape(body.body) or ("1",))[-1])
            indices = (*body.indices, *([last] if last else []))
            return full, replace(body, indices=indices, body=self.write(body.body, (*axes[:-1], last)))
        parts = []
        for _, part in body.parts:
            shape = self.shape(part) or ()
            if len(_axes(shape)) != 1:
                raise self.error("vectors are laid end to end, `[a; b]`; this is none", part)
            parts.append(("", self.write(part, tuple(self.summed(s) for s in shape))))
        return full, replace(body, parts=tuple(parts))

    def summed(self, size: str) -> str | None:
        """A capital for a contraction over a size, a new one each time."""
        if size == "1":
            return None
        capital = self.letter(size).upper()
        self.capitals[capital] = self.capitals.get(capital, -1) + 1
        return capital + "'" * self.capitals[capital]

    def write(self, node: T.Expr, axes: tuple[str | None, ...]) -> T.Expr:
        """The node with the indices `axes`, one for each size of its shape (None for a size of 1)."""
        axes = _fit(axes, self.shape(node) or ())
        if isinstance(node, T.Call) and node.function == MARK:
            return _with(cast(T.Ref, node.args[0]), axes)
        if isinstance(node, T.Call) and node.function == "transpose":
            return self.write(node.args[0], axes[::-1])
        if isinstance(node, T.Call) and node.function.startswith(WHOLE):
            own = tuple(self.summed(size) for size in self.shape(node.args[0]) or ())
            left = (a.plain or "" for a in cast(T.Ref, node.args[1]).indices)
            over = tuple(name for name in own if name) or tuple(left)
            word = node.function.removeprefix(WHOLE)
            if not over:
                raise self.error(f"`{word}` needs its index: `{word}[i](…)`", node)
            # of each row, or of all entries?
            if len(over) > 1 and (word in ORDERS or (self.entries and word != "norm")):
                message = f"over which axes is this {word}? Write its indices, `{word}[i](x[t,i])`, or give it a line "
                raise self.error(f"{message}of its own where it is one number: `m = {word}(x)`", node)
            return reduction(word, over, self.write(node.args[0], own), None, node.span)
        if isinstance(node, T.Call) and node.function == ENTRY:
            chosen = tuple(a.plain for a in cast(T.Ref, node.args[1]).indices)
            return self.write(node.args[0], (*chosen, *axes))
        if isinstance(node, T.Call) and node.function == BARS:
            return replace(node, function="abs", args=(self.write(node.args[0], axes),))
        if isinstance(node, T.Call) and node.function == HADAMARD:
            return multiply([self.write(a, axes) for a in node.args], node.span)
        if isinstance(node, T.Concat) or (isinstance(node, T.Flatten) and axes):
            return self.line_of_its_own(node, axes)
        if isinstance(node, T.Mul):
            return self.product(node.factors, axes, node.span)
        if isinstance(node, T.Call) and node.function in SIGNS:
            return self.product(node.args, axes, node.span, node.function)
        if isinstance(node, T.Softmax) and not node.indices:
            over = tuple(a for a in axes[-1:] if a) or tuple(a for a in axes if a)
            free = [] if over else [i for i in free_indices(self.write(node.body, axes)) if i[:1].islower()]
            over = over or tuple(free if len(free) == 1 else ())  # of numbers p_i, over their only index
            node = replace(node, indices=over)
        if isinstance(node, T.Call) and node.function in ("trace", DIAG):
            return self.diagonal(node, axes)
        if isinstance(node, T.Add) and len(axes) == 2 and None not in axes:
            node = replace(node, terms=tuple(self.identity(t, axes) for t in node.terms))
        if isinstance(node, T.Apply):
            wholes = [tuple(map(self.summed, self.shape(a) or ())) for a in node.args]
            return replace(node, args=tuple(map(self.write, node.args, wholes)))
        return self.below(node, axes)

    def diagonal(self, node: T.Call, axes: tuple[str | None, ...]) -> T.Expr:
        """`tr(A)`, the diagonal of a matrix, and the matrix with a vector on its diagonal."""
        (body,) = node.args
        shape = self.shape(body) or ()
        if len(shape) == 2 and not self.fit(shape[:1], shape[1:]):
            raise self.error(f"this is no square matrix, it is {_text(shape)}", node)
        if node.function == "trace" and len(shape) == 2:
            over = self.summed(shape[0])
            return reduction("sum", (over or "",), self.write(body, (over, over)), None, node.span)
        if len(shape) not in (1, 2) or node.function == "trace":
            raise self.error("a diagonal is that of a matrix; write indices: `A[i,i]`", node)
        if len(axes) != 3 - len(shape):  # beside what has other axes
            raise self.error("write the entries of this diagonal: `v[i] * [i == j]` or `A[i,i]`", node)
        if len(shape) == 2:
            return self.write(body, axes * 2)
        return multiply([_same(axes, node.span), self.write(body, axes[:1])], node.span)

    def identity(self, node: T.Expr, axes: tuple[str | None, ...]) -> T.Expr:
        """The I of `I - K H` and of `X^T X + lam I`: a number would not be added to a matrix."""
        if isinstance(node, T.Size) and node.name in ("I", "i"):
            return _same(axes, node.span)
        if self.shape(node):
            return node
        if isinstance(node, T.Div):  # I/gamma, but not 1/I
            return replace(node, above=self.identity(node.above, axes))
        signs = isinstance(node, T.Call) and node.function in SIGNS  # gamma*I
        if signs or isinstance(node, (T.Neg, T.Mul)):
            return T.mapped(node, lambda below: self.identity(below, axes))
        return node

    def below(self, node: T.Expr, axes: tuple[str | None, ...]) -> T.Expr:
        """Entry by entry; the values that a condition compares too."""

        def one(part: T.Expr | T.Condition | T.Affine) -> object:
            if isinstance(part, (T.Compare, T.And)):
                return T.mapped(part, one)
            return part if isinstance(part, T.Affine) else self.write(part, axes)

        return T.mapped(node, one)

    def line_of_its_own(self, node: T.Concat | T.Flatten, axes: tuple[str | None, ...]) -> T.Expr:
        """`W [h_{t-1}; x_t]`: the vector that W is multiplied with becomes a tensor `hx`."""
        free = [i for i in dict.fromkeys(T.letters(node)) if not i[:1].isupper()]
        refs = [n.name for n in walk(node) if isinstance(n, T.Ref)]
        name = "".join(refs) if 1 < len(refs) < 4 else (*refs, "v")[0] + "_all"
        left = T.Ref(name, tuple(map(T.index, free)), span=node.span)
        own = [self.letter(size) for size in self.shape(node) or ("?",)]
        lines, tensors = self.lines, {**self.lefts, **self.full, **self.known}
        while (name in tensors and name not in lines) or lines.setdefault(name, node) != node:
            name += "'"
        left = replace(left, name=name)
        if name not in self.lefts:
            self.lefts[name] = len(free)
            self.joined.append(self.laid(left, own, node))
        return _with(left, axes)

    def product(
        self, factors: tuple[T.Expr, ...], axes: tuple[str | None, ...], span: T.Span, sign: str = ""
    ) -> T.Expr:
        """Split off the last factor, give the contraction an index, write both sides."""
        *first, last = factors
        if not first:
            return self.write(last, axes)
        a, b = self.chain(tuple(first), sign) or (), self.shape(last) or ()
        way = self.way(a, b, last, sign)
        if way == "number":
            left, right = (axes if _axes(a) else ()), (axes if _axes(b) else ())
        elif way == "entries":
            left = right = axes
        elif way == "row":
            over = self.summed(b[-1])
            left, right = (over,), (None, over)
        elif way == "column":
            over = self.summed(b[1])
            left, right = (axes[-1], over), (None, over)
        elif way == "outer":
            left, right = (None,) * (len(a) - 1) + axes[:1], (None,) * (len(b) - 1) + axes[1:]
        else:
            over = self.summed(b[0])
            left = (*axes[: len(a) - 1], over)
            right = (over, *axes[len(a) - 1 :])
        return multiply([self.product(tuple(first), left, span, sign), self.write(last, right)], span)


def _apart(dot: T.Call) -> bool:
    """`q_t \\cdot k_s`: of two places, hence an inner product; gates of one place are multiplied by entries."""
    letters = [{i for n in walk(side) for i in named(n) if i[:1].islower()} for side in dot.args]
    return bool(letters[0] - letters[1]) and bool(letters[1] - letters[0])


def _same(axes: tuple[str | None, ...], span: T.Span) -> T.Expr:
    """1 on the diagonal."""
    row, column = (T.Affine(((1, a or ""),)) for a in axes)
    return T.Iverson(T.Compare(row, "==", column), span=span)


def _parts(node: object) -> list[T.Expr]:
    """What is combined entry by entry, also by a condition."""
    found: list[T.Expr] = []
    for child in T.children(node):
        if isinstance(child, (T.Compare, T.And)):
            found += _parts(child)
        elif not isinstance(child, T.Affine):
            found.append(child)
    return found


def _fit(axes: tuple[str | None, ...], shape: Shape) -> tuple[str | None, ...]:
    """The same indices for a shape that differs by sizes of 1; none for a single number."""
    real = [a for a in axes if a]
    if len(real) < len(_axes(shape)):
        return ()
    real = real[len(real) - len(_axes(shape)) :]  # a bias is added to each row
    return tuple(None if size == "1" else real.pop(0) for size in shape)


def _transposed(shape: Shape | None) -> Shape | None:
    return ("1", *shape) if shape and len(shape) == 1 else shape and shape[::-1]


def _axes(shape: Shape | None) -> Shape:
    return tuple(s for s in shape or () if s != "1")


def _text(shape: Shape) -> str:
    return " x ".join("?" if s.startswith("?") else s for s in shape)


def _with(ref: T.Ref, axes: Sequence[str | None]) -> T.Ref:
    return replace(ref, indices=(*ref.indices, *(T.index(a) for a in axes if a)))


def _calls(node: T.Expr) -> set[str]:
    return {n.function for n in walk(node) if isinstance(n, T.Call)}


def _marked(node: T.Expr) -> list[T.Ref]:
    """What may have axes that are not written."""
    return [cast(T.Ref, n.args[0]) for n in walk(node) if isinstance(n, T.Call) and n.function == MARK]


def _place(span: T.Span) -> tuple[int, int, int]:
    return span.line, span.column, span.width
