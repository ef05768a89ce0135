"""The order to run: each equation after what it reads, and recurrences as blocks of their own."""

from collections.abc import Callable

from ..errors import NotationError
from ..names import fresh
from ..system import Block
from ..tree import Affine, Equation, Ref, Softmax, free_indices, references, substitute, walk
from .ranges import Union, error

Ranges = dict[int, dict[str, str]]


def blocks(
    equations: list[Equation], ranges: Ranges, source: str
) -> tuple[tuple[Block, ...], dict[Equation, dict[str, str]]]:
    """The blocks in order, and each of their equations' index ranges."""
    definer = {e.left.name: k for k, e in enumerate(equations)}
    read = ([definer[r.name] for r in references(e.right) if r.name in definer] for e in equations)
    reads = [list(dict.fromkeys(own)) for own in read]
    found: list[Block] = []
    per_equation: dict[Equation, dict[str, str]] = {}
    for group in components(reads):
        if len(group) == 1 and group[0] not in reads[group[0]]:
            block, own = Block((equations[group[0]],)), {equations[group[0]]: ranges[group[0]]}
        else:
            block, own = Recurrence([equations[k] for k in group], [ranges[k] for k in group], source).block()
        found.append(block)
        per_equation |= own
    return tuple(found), per_equation


def components(reads: list[list[int]]) -> list[list[int]]:
    """The equations that read each other, directly or not, together, each group after those that it reads."""
    reach = [set(own) for own in reads]
    for middle, through in enumerate(reach):
        for own in reach:
            if middle in own:
                own |= through
    out: list[list[int]] = []
    done: set[int] = set()

    def visit(k: int) -> None:
        group = [j for j in range(len(reads)) if j == k or (j in reach[k] and k in reach[j])]
        done.update(group)
        for read in (n for j in group for n in reads[j] if n not in done):
            if read not in done:
                visit(read)
        out.append(group)

    for k in range(len(reads)):
        if k not in done:
            visit(k)
    return out


class Recurrence:
    """Equations that read each other: find the index that makes it a recurrence, and its direction."""

    def __init__(self, equations: list[Equation], ranges: list[dict[str, str]], source: str) -> None:
        self.equations = equations
        self.ranges = ranges
        self.source = source
        self.number = {e.left.name: k for k, e in enumerate(equations)}
        self.same = Union()
        self.find: Callable[[tuple[int, str]], tuple[int, str]] = self.same.find
        found = ((k, r) for k, e in enumerate(equations) for r in references(e.right))
        self.reads = [(k, self.number[r.name], r) for k, r in found if r.name in self.number]

    def block(self) -> tuple[Block, dict[Equation, dict[str, str]]]:
        self.align()
        loops = self.loops()
        for read in self.reads:
            if any(self.shift(*read, loop) is None for loop in loops):
                raise self.itself(read[2])
        self.step_by_step(loops)
        order = self.sort(loops)
        return self.rename(loops, order)

    # ── which indices of the equations are the same one ──────────────────────────────────────

    def left(self, k: int) -> list[str]:
        return [a.plain or "" for a in self.equations[k].left.indices]

    def align(self) -> None:
        """`c[b,t,j]` reads `h[b,t-1,j]`: c's t and h's t are one."""
        for reader, read, ref in self.reads:
            for own, affine in zip(self.left(read), ref.indices, strict=True):
                name = Affine(affine.terms).plain  # of `t` and `t-1`
                if name is not None and name in self.left(reader):
                    self.same.join(*sorted((self.find((read, own)), self.find((reader, name)))))

    def shift(self, reader: int, read: int, ref: Ref, loop: tuple[int, str]) -> int | None:
        """How far ahead along a loop an entry is read (`t-1`: -1), or None if it is read elsewhere."""
        for own, affine in zip(self.left(read), ref.indices, strict=True):
            if self.find((read, own)) == loop:
                name = Affine(affine.terms).plain  # of `t` and `t-1`
                return affine.const if name is not None and self.find((reader, name)) == loop else None
        return None

    def loops(self) -> dict[tuple[int, str], int]:
        """Each index along which an earlier (1) or later (-1) entry is read."""
        candidates = (self.find((k, n)) for k in range(len(self.equations)) for n in self.left(k))
        loops: dict[tuple[int, str], int] = {}
        for loop in dict.fromkeys(candidates):
            shifts = {self.shift(*read, loop) for read in self.reads}
            steps = {s for s in shifts if s}
            if not steps:
                continue
            if min(steps) < 0 < max(steps):
                _, _, ref = next(r for r in self.reads if (self.shift(*r, loop) or 0) > 0)
                message = f"`{ref.name}` is read both before and after `{loop[1]}`: neither can be run first"
                raise self.error(message, ref)
            loops[loop] = 1 if max(steps) < 0 else -1
        if not loops:
            raise self.itself(self.reads[0][2])
        return loops

    def step_by_step(self, loops: dict[tuple[int, str], int]) -> None:
        """A softmax over time needs every step at once; those of a recurrence come one after another."""
        for k, equation in enumerate(self.equations):
            for node in (n for n in walk(equation.right) if isinstance(n, Softmax)):
                for name in (i for i in node.indices if self.find((k, i)) in loops):
                    for ref in references(node):
                        if ref.name in self.number:
                            message = f"this softmax runs over `{name}`, but `{ref.name}` is computed one "
                            message += f"`{name}` after another, so its values are never all known"
                            raise self.error(message, node)

    def itself(self, ref: Ref) -> NotationError:
        from ..show import show

        left = self.equations[self.number[ref.name]].left
        message = f"`{show(left)}` is defined by itself"
        if left.indices == ref.indices:
            message += f"; a new value needs a name of its own, such as `{left.name}'`"
        elif left.indices:
            message += f"; the step before is written `{left.name}_{{t-1}}` or `{left.name}[t-1,…]`"
        return self.error(message, ref)

    def error(self, message: str, node: Ref | Softmax) -> NotationError:
        return error(message, self.source, node.span)

    # ── order inside one step ────────────────────────────────────────────────────────────────

    def sort(self, loops: dict[tuple[int, str], int]) -> list[int]:
        now: dict[int, list[Ref]] = {}
        needs: dict[int, set[int]] = {k: set() for k in range(len(self.equations))}
        for reader, read, ref in self.reads:
            if all(self.shift(reader, read, ref, loop) == 0 for loop in loops):
                needs[reader].add(read)
                now.setdefault(reader, []).append(ref)
        order: list[int] = []
        while len(order) < len(needs):
            ready = next((k for k in needs if k not in order and needs[k] <= set(order)), None)
            if ready is None:
                stuck = next(k for k in needs if k not in order)
                raise self.itself(next(r for r in now[stuck] if self.number[r.name] not in order))
            order.append(ready)
        return order

    def rename(
        self, loops: dict[tuple[int, str], int], order: list[int]
    ) -> tuple[Block, dict[Equation, dict[str, str]]]:
        """Give each loop one index name, that of the first equation written."""
        final: list[Equation] = []
        own: dict[Equation, dict[str, str]] = {}
        for k in order:
            own_loops = {n: self.find((k, n)) for n in self.left(k)}
            names = {n: loop[1] for n, loop in own_loops.items() if loop in loops and n != loop[1]}
            used = {n for a in walk(self.equations[k]) if isinstance(a, Affine) for n in free_indices(a)}
            for new in list(names.values()):
                if new in used and new not in names:
                    names[new] = fresh(new + "'", used.union(names.values()))
            equation = substitute(self.equations[k], names) if names else self.equations[k]
            final.append(equation)
            own[equation] = {names.get(i, i): d for i, d in self.ranges[k].items()}
        return Block(tuple(final), tuple((loop[1], way) for loop, way in loops.items())), own
