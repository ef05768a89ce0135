"""Indices and conditions; where an entry stands in its flat array, and what is read outside of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..indices import as_index, each, spelled
from ..meaning.reach import shifted
from ..tree import Affine, And, Compare, Condition, Expr, IndexAtom, Lookup, Ref, SizeOf, references
from ..tree import free_indices as free
from .levels import Level, Levels

_EQUAL = {"==": "===", "!=": "!=="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True)
class Elsewhere:
    """What is read in place of a tensor where `test` holds: `array`, in which `axis` is `deep` long and starts
    `shift` earlier; the axes in `dropped` it does not have."""

    test: str
    level: int
    array: str
    dropped: tuple[int, ...] = ()
    axis: int = -1
    deep: int = 0
    shift: str = ""


class Reads(Levels):
    def value(self, node: Expr) -> str:
        raise NotImplementedError

    # ── indices and conditions ───────────────────────────────────────────────────────────────

    def atom(self, part: IndexAtom) -> str:
        if isinstance(part, SizeOf):
            return self.scope.size(part.name)
        return self.value(part.ref) if isinstance(part, Lookup) else self.var(part)

    def affine(self, affine: Affine) -> str:
        return spelled(affine, self.atom)

    def holds(self, condition: Condition) -> str:
        if isinstance(condition, And):
            return " && ".join(self.holds(p) for p in condition.parts)
        both = [side(condition.left), side(condition.right)]
        left, right = (self.affine(s) if isinstance(s, Affine) else self.value(s) for s in both)
        return f"{left} {_EQUAL.get(condition.operator, condition.operator)} {right}"

    def place(self, indices: Sequence[str]) -> str:
        """Where an entry stands in a table over these indices."""
        text = ""
        for i in indices:
            first = self.first(self.ranges[i])
            own = self.var(i) if first == "0" else f"({self.var(i)} - {first})"
            text = f"({text}) * {self.scope.size(self.ranges[i])} + {own}" if text else own
        return text or "0"

    def nest(self, indices: Sequence[str], conditions: Sequence[Condition | None] = ()) -> int:
        """Open a loop for each index, as narrow as the conditions allow. The answer is what `close` takes."""
        depth, left, rest = len(self.stack), list(indices), parts(conditions)
        while True:
            for c in [c for c in rest if not free(c) & set(left)]:
                rest.remove(c)
                self.stack.append(Level(f"if ({self.holds(c)})"))
            if not left:
                return depth
            found = next(((c, i, b) for c in rest for i, op, b in self.solved(c, left) if op == "=="), None)
            if found:  # an index whose value a condition tells needs no loop
                c, index, other = found
                rest.remove(c)
                left.remove(index)
                dim, v = self.ranges[index], self.variable(index)
                self.say(f"const {v} = {self.affine(other)};")
                whole = "" if not any(references(other)) else f" && {v} % 1 === 0"
                test = f"{v} >= {self.first(dim)} && {v} < {self.stop(dim)}{whole}"
                self.stack.append(Level(f"if ({test})", {index: v}))
                continue
            # An index that an equation will tell once the others have values comes after them.
            told = {i for c in rest if c.operator == "==" for i in alone(c) if free(c) & {*left} - {i}}
            index = next((i for i in left if i not in told), left[0])
            left.remove(index)
            low = high = ""
            for c in [c for c in rest if not any(references(c))]:
                for _, op, other in self.solved(c, [index]):
                    if op in ("<", "<=") and not high:
                        high = self.affine(other) + (" + 1" if op == "<=" else "")
                    elif op in (">", ">=") and not low:
                        low = self.affine(other) + (" + 1" if op == ">" else "")
                    else:
                        continue
                    rest.remove(c)
                    break
            self.loop(index, low, high)

    def solved(self, c: Compare, names: Sequence[str]) -> Iterator[tuple[str, str, Affine]]:
        """`index operator affine`, where a condition says it of an index that has no value yet, and all else has."""
        left, right = side(c.left), side(c.right)
        for a, b, op in ((left, right, c.operator), (right, left, _FLIPPED[c.operator])):
            if isinstance(a, Affine) and isinstance(b, Affine) and a.plain in names and self.bound(free(b)):
                yield a.plain or "", op, b

    # ── offsets ──────────────────────────────────────────────────────────────────────────────

    def pieces(self, ref: Ref, other: Elsewhere | None = None) -> list[tuple[int, str]]:
        """The terms of an entry's flat place, each with the level that it needs; its sign comes first."""
        dims, found = self.system.tensors[ref.name].dims, []
        dropped, axis_, deep = (other.dropped, other.axis, other.deep) if other else ((), -1, 0)
        for axis, affine in enumerate(ref.indices):
            if axis in dropped or (axis == axis_ and deep == 1):
                continue
            rest = [n for n in range(axis + 1, len(dims)) if n not in dropped]
            sizes = [str(deep) if n == axis_ else self.scope.size(dims[n]) for n in rest]
            stride = self.put(0, " * ".join(s for s in sizes if s != "1") or "1")
            scaled: Callable[..., str] = lambda *words, by=stride: (
                " * ".join(w for w in (*words, by) if w != "1") or "1"
            )
            found += [(level, sign + scaled(*words)) for sign, level, *words in self.terms(affine, axis, ref)]
            first = self.first(dims[axis])
            start = other.shift if other and axis == axis_ else "" if first == "0" else f"-{first}"
            found += [(0, start[0] + scaled(start[1:]))] if start else []
        return sorted(found, key=lambda piece: piece[0])

    def terms(self, affine: Affine, axis: int, ref: Ref) -> list[tuple[str, int, *tuple[str, ...]]]:
        """An index expression as (sign, level, factors); one that is looked up is checked first."""
        if any(isinstance(a, Lookup) for _, a in affine.terms) and ref.name not in self.system.padded:
            dim, level = self.system.tensors[ref.name].dims[axis], self.level_of(affine)
            checked = f"{self.affine(affine)}, {self.first(dim)}, {self.stop(dim)}"
            call = f"inside({checked})" if self.guarded else f"at({json.dumps(ref.name)}, {checked})"
            return [("+", level, self.put(level, call))]
        sign: Callable[[int], str] = lambda n: "-" if n < 0 else "+"
        own = [
            (sign(f), self.level_of(Affine(((1, a),))), str(abs(f)), self.atom(a)) for f, a in affine.terms
        ]
        const = [(sign(affine.const), self.level_of(affine), str(abs(affine.const)))] if affine.const else []
        return [*own, *const]

    def gathered(self, pieces: list[tuple[int, str]], start: str = "") -> str:
        """Their sum, what needs fewer loops made further out."""
        text = start
        for number, (level, piece) in enumerate(pieces):
            text = f"{text} {piece[0]} {piece[1:]}" if text else piece.removeprefix("+")
            last = number + 1 == len(pieces) or pieces[number + 1][0] > level
            text = self.put(level, text) if last and level < self.depth else text
        return text or "0"

    def offset(self, ref: Ref) -> str:
        return self.gathered(self.pieces(ref))

    # ── reads ────────────────────────────────────────────────────────────────────────────────

    def read(self, ref: Ref) -> str:
        array, others = self.scope.tensor[ref.name], self.elsewhere(ref)
        if len(others) == 1:
            return self.chosen(ref, array, others[0])
        text = f"{array}[{self.offset(ref)}]"
        for number, one in enumerate(others):  # the last axis decides, as in `evaluate`
            both = " || ".join(f"({o.test})" for o in others[:number] if o.axis != one.axis)
            own = f"{one.array}[{self.gathered(self.pieces(ref, one))}]"
            text = f"({one.test} ? {f'({both} ? {one.array}.corner : {own})' if both else own} : {text})"
        return text

    def chosen(self, ref: Ref, array: str, other: Elsewhere) -> str:
        """The array and the place are chosen where the outer loop begins: the inner one has no question."""
        here, there = self.pieces(ref), self.pieces(ref, other)
        level = max([other.level, *(n for n, _ in {*here} ^ {*there})])
        if level == self.depth:
            one = "0" if other.dropped else f"{other.array}[{self.gathered(there)}]"
            return f"({other.test} ? {one} : {array}[{self.gathered(here)}])"
        inner = [p for p in here if p[0] > level]

        def choice() -> str:
            test = self.put(level, other.test)
            one, two = (self.gathered([p for p in pieces if p[0] <= level]) for pieces in (there, here))
            source = self.put(level, f"{test} ? {other.array} : {array}")
            return f"{source} {self.put(level, f'{test} ? {one} : {two}')}"

        source, base = self.once(level, ("read", ref, self.guarded), choice).split()
        return f"{source}[{self.gathered(inner, base)}]"

    def elsewhere(self, ref: Ref) -> list[Elsewhere]:
        dims, found = self.system.tensors[ref.name].dims, []
        open_ = [
            n for n, a in enumerate(ref.indices) if not (a.plain and self.ranges.get(a.plain) == dims[n])
        ]
        if ref.name in self.system.padded:
            tests = [t for n in open_ for _, t in self.leaves(ref, n)]
            level = self.level_of(*(ref.indices[n] for n in open_))
            length = self.scope.length(d for n, d in enumerate(dims) if n not in open_)
            zeros = self.put(0, f"new Float64Array({length})") if tests else ""
            return [Elsewhere(" || ".join(tests), level, zeros, tuple(open_))] if tests else []
        for axis, steps in self.system.boundary.get(ref.name, ()):
            for way, test in self.leaves(ref, axis) if axis in open_ else ():
                if way * steps > 0:
                    first, level = self.first(dims[axis]), self.level_of(ref.indices[axis])
                    start = f"+{-steps}" if first == "0" else f"+({-steps} - {first})"
                    shift = start if way < 0 else f"-{self.stop(dims[axis])}"
                    edge = self.scope.edge[ref.name, axis, way]
                    found.append(Elsewhere(test, level, edge, (), axis, abs(steps), shift))
        return sorted(found, key=lambda e: e.axis)

    def leaves(self, ref: Ref, axis: int) -> list[tuple[int, str]]:
        """The tests, before and after, by which a read leaves its axis."""
        affine, dim = ref.indices[axis], self.system.tensors[ref.name].dims[axis]
        text = self.affine(affine)
        both = [(-1, f"{text} < {self.first(dim)}"), (1, f"{text} >= {self.stop(dim)}")]
        return [b for b in both if b[0] * affine.const > 0] if shifted(affine, self.ranges, dim) else both


def parts(conditions: Sequence[Condition | None]) -> list[Compare]:
    return [p for c in conditions for p in each(c)]


def side(node: Affine | Expr) -> Affine | Expr:
    """A side of a condition as an index expression, where it is one."""
    return as_index(node) or node


def alone(c: Compare) -> Iterator[str]:
    """The bare indices of a condition whose other side does not need them."""
    left, right = side(c.left), side(c.right)
    for a, b in ((left, right), (right, left)):
        if isinstance(a, Affine) and isinstance(b, Affine) and a.plain and a.plain not in free(b):
            yield a.plain
