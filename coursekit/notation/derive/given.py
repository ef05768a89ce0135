"""What a derivation stands on: the system that is given, and the derivatives of its tensors as equations of it.

A derivative means what `grad` gives: `dJ/dh[t,j]` is the whole derivative, by every way from `h[t,j]` to `J`, the
later steps of a recurrence among them. A Jacobian `dz[t,j]/dh[s,k]` is the gradient of each entry of `z`: the
backward pass with one more axis for each of its own. Outside a tensor's range a derivative is zero.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from .. import tree as T
from ..check.checker import check
from ..compare.sites import unfolded
from ..errors import NotationError
from ..functions import ONE, ZERO, times
from ..grad.gradient import gradient
from ..names import halves, joined
from ..system import System
from ..tree import Affine, Equation, Expr, Program, Ref, free_indices, index, references, transform, walk

DIRECT = "|directly"
_SEED = ": seed"
_Of = tuple[str, bool]  # a tensor, and whether it is differentiated by its own equation alone


class Given:
    """`base` are the statements of the system, `defined` what the derivation itself says, `asked` what is to be
    differentiated by what. `distributions` are inputs that sum to one over their last index."""

    def __init__(self, system: System | None, distributions: Sequence[str]) -> None:
        self.system, self.distributions = system, tuple(distributions)
        self.base: list[T.Statement] = []
        self.defined: list[Equation] = []
        self.asked: dict[_Of, list[str]] = {}
        self.made: dict[tuple[_Of, tuple[str, ...]], list[T.Statement]] = {}
        self.ranks: dict[str, int] = {}
        if system is not None:
            self.ranks = {name: len(t.dims) for name, t in system.tensors.items()}
            self.ranks |= {f"{n}_0": self.ranks[n] - 1 for n in system.boundary if f"{n}_0" not in self.ranks}
            self.base = [*system.program.statements, *map(self._drawn, self.distributions)]

    def _drawn(self, name: str) -> Equation:
        """A distribution is drawn as the softmax of what is drawn."""
        if self.system is None or name not in self.system.inputs or not self.ranks[name]:
            raise NotationError(f"`{name}` is no distribution: it must be an input with an index")
        place = tuple(index(f"i{k}") for k in range(self.ranks[name]))
        return Equation(Ref(name, place), T.Softmax((f"i{len(place) - 1}",), Ref(f"{name} drawn", place)))

    # ── derivatives ──────────────────────────────────────────────────────────────────────────

    def derivative(self, above: Ref, below: Ref) -> Ref:
        """The entry of `d above / d below`."""
        for ref in (above, below):
            if self.system is None or ref.name not in self.ranks:
                message = f"there is no tensor `{ref.name}` in what is given, so it has no derivative"
                raise NotationError(message)
            if (count := self.ranks[ref.name]) != len(ref.indices):
                words = "1 index" if count == 1 else f"{count} indices" if count else "no index"
                message = f"`{ref.name}` has {words} in what is given: a derivative is of entries by entries"
                raise NotationError(message)
        name = joined(above.name, len(above.indices), below.name)
        self._ask(name)
        return Ref(name, (*above.indices, *below.indices), span=above.span)

    def rank(self, name: str) -> int:
        """How many indices a derivative has."""
        _, rank, below = halves(name) or ("", 0, "")
        return rank + self.ranks[below]

    def directly(self, body: Expr) -> Expr:
        """The line with each Jacobian taken through the equation of its tensor alone, all that it reads held fixed."""
        names = {r.name: r.name + DIRECT for r in references(body) if (p := halves(r.name)) and p[1]}
        for name in names.values():
            self._ask(name)
        return T.rename_tensors(body, names)

    def inlined(self, body: Expr) -> Expr:
        """The line with what the backward pass says of each derivative in its place, where that can be read."""
        made = {e.left.name: e for group in self.made.values() for e in group if isinstance(e, Equation)}

        def open_(node: Any, only: str = "") -> Any:
            if not isinstance(node, Ref) or node.name not in made or only not in node.name:
                return node
            if _SEED in node.name:  # one for the entry itself
                half = len(node.indices) // 2
                pairs = zip(node.indices[:half], node.indices[half:], strict=True)
                return times(*(T.Iverson(T.Compare(a, "==", b)) for a, b in pairs))
            right = transform(made[node.name].right, lambda n: open_(n, ":"))  # what has no name for a reader
            return unfolded(node, made[node.name], right) or node

        def tidy(node: Any) -> Any:
            match node:
                case T.Iverson(T.Compare(one, "==", other)) if one == other:
                    return ONE
                case T.Mul(factors):
                    inner = (f.factors if isinstance(f, T.Mul) else (f,) for f in factors)
                    return times(*(f for fs in inner for f in fs if f != ONE))
            return node

        found = transform(transform(body, open_), tidy)
        for name in {r.name for r in references(found) if halves(r.name)}:
            self._ask(name)
        return found

    def inside(self, expressions: Iterable[Expr], free: set[str]) -> list[T.Iverson]:
        """Where the entries exist that the lines differentiate by: not before the first step of a recurrence, whose
        state there is given."""
        found: dict[T.Iverson, None] = {}
        for ref in (r for e in expressions for r in references(e) if halves(r.name)):
            _, rank, below = halves(ref.name) or ("", 0, "")
            assert self.system is not None
            for axis, steps in self.system.boundary.get(below, ()):
                affine = ref.indices[rank + axis]
                if affine.const * steps > 0 and affine.terms and free_indices(affine) <= free:
                    last = Affine(((1, T.SizeOf(self.system.tensors[below].dims[axis])),), -1)
                    within = (
                        T.Compare(Affine(()), "<=", affine) if steps < 0 else T.Compare(affine, "<=", last)
                    )
                    found[T.Iverson(within)] = None
        return list(found)

    def _ask(self, name: str) -> None:
        above, _, below = halves(name) or ("", 0, "")
        wanted = self.asked.setdefault((above, name.endswith(DIRECT)), [])
        if below not in wanted:
            wanted.append(below)

    def _name(self, of: _Of, below: str) -> str:
        return joined(of[0], self.ranks[of[0]], below) + (DIRECT if of[1] else "")

    # ── systems ──────────────────────────────────────────────────────────────────────────────

    def checked(self, lines: Iterable[Equation], beside: Iterable[Expr] = ()) -> System:
        """The system in which these lines are tensors, with all that the expressions `beside` them need."""
        lines = list(lines)
        needed = {r.name for node in (*(line.right for line in lines), *beside) for r in references(node)}
        found = list(self.base)
        for equation in reversed(self.defined):
            if equation.left.name in needed:
                needed |= {r.name for r in references(equation.right)}
                found.append(equation)
        for of, wrt in self.asked.items():
            used = tuple(x for x in wrt if self._name(of, x) in needed)
            if used and (of, used) not in self.made:
                self.made[of, used] = self._gradient(of, used)
            found += self.made[of, used] if used else []
        return check(Program((*found, *lines)), broadcast=True)

    def _gradient(self, of: _Of, wrt: Sequence[str]) -> list[T.Statement]:
        """The backward pass, its tensors under names of their own."""
        assert self.system is not None
        name, direct = of
        system, rank = self._alone(name, wrt) if direct else self.system, self.ranks[name]
        back = gradient(system, name, wrt, None, self.distributions)
        seed = next((n for n in (f"d{name}_seed", f"d{name}") if n in back.inputs and rank), "")
        targets = {f"d{x}": self._name(of, x) for x in wrt}
        tensors = {f"d{x}": self._name(of, x) for x in self.system.tensors}
        names = {n: tensors.get(n, f"{name}: {n}{direct}") for n in back.outputs} | targets
        names[seed] = f"{name}{_SEED}{direct}"
        unit, place = _fresh(rank, "u", back.program), _fresh(rank, "v", back.program)
        wide = _dependents(back.program, {seed, *targets}) if rank else set()
        tie = T.Mul((ZERO, Ref(name, unit)))
        widened = lambda n: (
            replace(n, indices=(*unit, *n.indices)) if isinstance(n, Ref) and n.name in wide else n
        )
        out: list[T.Statement] = []
        for statement in back.program.statements:
            if isinstance(statement, T.Directive):
                out.append(replace(statement, names=tuple(names.get(n, n) for n in statement.names)))
                continue
            new = transform(statement, widened)
            if statement.left.name in wide and not {a.plain for a in unit} <= free_indices(new.right):
                new = replace(new, right=T.Add((new.right, tie)))
            out.append(T.rename_tensors(new, names))
        if seed:
            same = tuple(T.Iverson(T.Compare(a, "==", b)) for a, b in zip(unit, place, strict=True))
            right = T.Add((T.Mul(same) if rank > 1 else same[0], tie, T.Mul((ZERO, Ref(name, place)))))
            out.append(Equation(Ref(names[seed], (*unit, *place)), right))
        return [*out, T.Directive("pad", tuple(targets.values()))]

    def _alone(self, of: str, wrt: Sequence[str]) -> System:
        """The equation of one tensor, all others given; what it does not read, it reads times nothing."""
        assert self.system is not None
        equation = next((e for e in self.system.program.equations if e.left.name == of), None)
        if equation is None:
            raise NotationError(f"`{of}` is given, so it has no derivative")
        read = {r.name for r in references(equation)}
        said = (s for s in self.system.program.statements if isinstance(s, T.Directive))
        said = (s for s in said if s.word in ("pad", "size", "centered"))
        kept = [replace(s, names=tuple(n for n in s.names if s.word != "pad" or n in read)) for s in said]
        rest = [Ref(x, _fresh(self.ranks[x], f"w{k}_")) for k, x in enumerate(wrt) if x not in read]
        sums = [T.Sum(tuple(a.plain or "" for a in r.indices), r) if r.indices else r for r in rest]
        right = T.Add((equation.right, *(T.Mul((ZERO, s)) for s in sums))) if sums else equation.right
        return check(Program((*kept, replace(equation, right=right))), broadcast=True)


def _fresh(count: int, word: str, beside: Program | None = None) -> tuple[Affine, ...]:
    """Indices that no equation has."""
    used = {i for n in walk(beside) for i in free_indices(n)} if beside else set()
    names = (n for k in range(99) if (n := f"{word}{k}") not in used)
    return tuple(index(next(names)) for _ in range(count))


def _dependents(program: Program, names: set[str]) -> set[str]:
    """The tensors that have an axis for each of the seed's entries."""
    found, before = set(names), 0
    while before != len(found):
        before = len(found)
        found |= {e.left.name for e in program.equations if any(r.name in found for r in references(e.right))}
    return found
