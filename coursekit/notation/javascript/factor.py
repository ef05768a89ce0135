"""Long products taken apart: what two factors give by themselves is an equation of its own.

    y[s,t] = L[s,I] W[I,K] L[t,K]      becomes      part[s,k] = L[s,I] W[I,k]      y[s,t] = part[s,K] L[t,K]

which loops over three indices twice instead of over four. The order is that of `pairing`, with all sizes taken as
equal; in a recurrence, what no step changes is made before it.
"""

from dataclasses import replace

from .. import tree as T
from ..meaning.pairing import Pairing, cheapest, leaves
from ..meaning.reach import has_conditions
from ..system import Block, System, Tensor

_SIZE = 16


def factored(system: System) -> System:
    """The same tensors, and `part`s of their products among them."""
    split = _Split(system)
    blocks = [made for block in system.blocks for made in split.block(block)]
    return replace(system, blocks=tuple(blocks), tensors=split.tensors, ranges=split.all_ranges)


class _Split:
    def __init__(self, system: System) -> None:
        self.tensors, self.all_ranges = dict(system.tensors), dict(system.ranges)

    def block(self, block: Block) -> list[Block]:
        self.own, self.looped = {e.left.name for e in block.equations}, frozenset(i for i, _ in block.loops)
        self.before: list[T.Equation] = []
        self.within: list[T.Equation] = []
        for equation in block.equations:
            self.ranges = self.all_ranges[equation]
            # Under a condition a read may be outside, where it must not be looked at.
            self.asked = has_conditions(equation.right)
            self.within.append(replace(equation, right=T.transform(equation.right, self.node)))
            self.all_ranges[self.within[-1]] = self.ranges
        return [*(Block((e,)) for e in self.before), Block(tuple(self.within), block.loops)]

    def node(self, node: object) -> object:
        if not isinstance(node, T.Sum) or node.where is not None or not isinstance(node.body, T.Mul):
            return node
        wide = tuple(f for f in node.body.factors if T.free_indices(f))
        if len(wide) < 3 or any(isinstance(f, T.Iverson) for f in wide):
            return node
        if self.asked and any(a.plain is None for f in wide for r in T.references(f) for a in r.indices):
            return node
        self.factors, self.left = wide, node.indices  # indices that are still to be summed
        axes, keep = [frozenset(T.free_indices(f)) for f in wide], frozenset(T.free_indices(node))
        sizes = dict.fromkeys(frozenset().union(*axes) | self.looped, _SIZE)
        order = cheapest(axes, keep, sizes, [self.inside(f) for f in wide], self.looped)
        scalars = tuple(f for f in node.body.factors if not T.free_indices(f))
        body = T.Mul((*scalars, *self.product(order, keep)))
        return T.Sum(self.left, body) if self.left else body

    def inside(self, node: T.Expr) -> bool:
        """Does a step of the recurrence change it?"""
        return any(r.name in self.own for r in T.references(node))

    def product(self, pairing: Pairing, needed: frozenset[str]) -> tuple[T.Expr, ...]:
        """The factors of a pairing, each of its sides made by itself where something is summed in it."""
        if isinstance(pairing, int):
            return (self.factors[pairing],)
        a, b = pairing.left, pairing.right
        left, right = (T.free_indices(T.Mul(tuple(self.factors[n] for n in leaves(p)))) for p in (a, b))
        return (*self.part(a, needed | right), *self.part(b, needed | left))

    def part(self, pairing: Pairing, needed: frozenset[str]) -> tuple[T.Expr, ...]:
        factors = self.product(pairing, needed)
        names = T.free_indices(T.Mul(factors))
        summed = tuple(i for i in self.left if i in names - needed)
        if len(factors) == 1 or not summed:
            return factors
        self.left = tuple(i for i in self.left if i not in summed)
        inside = any(map(self.inside, factors))
        kept = names - set(summed) - (self.looped if inside else set())
        order = sorted(kept, key=lambda i: (i in self.left, i))  # what is summed next runs along memory
        name = f"part {len(self.tensors)}"
        equation = T.Equation(T.Ref(name, tuple(map(T.index, order))), T.Sum(summed, T.Mul(factors)))
        self.tensors[name] = Tensor(name, tuple(self.ranges[i] for i in order), True)
        self.all_ranges[equation] = self.ranges
        self.own |= {name} if inside else set()
        (self.within if inside else self.before).append(equation)
        return (equation.left,)
