"""The backward pass of a system, as a system of equations again.

    grad(system, "J", ["W"])        # dW[j,i] = dz[B,T,j] h[B,T-1,i], and what dz needs

The adjoint of a tensor `X` is `dX` and has the shape of `X`. The adjoint of the inside of a function, where it
is read more than once, is `dz_h` for the equation of `h`, or `dz` where there is only one. A value inside a forward
equation that has no name there and is wanted again is computed as `u_h`. Tensors of the forward system are
inputs of the gradient system: run the one, then the other with all that the first had and gave. A recurrence
keeps its boundary there, so `boundary={"h": h0}` is given to both.

- `of` is a scalar. If it is not, `d<of>` is one more input: the adjoint to start from.
- `wrt` names inputs or intermediate tensors; by default all parameters (or, where none are declared, all inputs
  that are not indices). For a recurrence `h` with a boundary, `h_0` asks for the gradient of that boundary: `dh_0`.
- `at="t"` leaves the time of a parameter's reads free: `dW[t,j,i]` is what the reads of `W` at step t
  contribute, and its sum over t is the whole gradient.
- `distributions` names tensors that sum to one over each index that a softmax is picked by (a one-hot target `y`);
  then `y_hat[v] y[V] - y[v]` is `y_hat[v] - y[v]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .adjoint import hand_down
from .errors import NotationError
from .gather import Gather
from .letters import lettered
from .names import small_of
from .simplify import ONE, Scope, Term, base, combine, expression, put, terms
from .system import System
from .tree import (
    Affine, Apply, Call, Concat, Directive, Div, Equation, Expr, Flatten, Lookup, Mul, Num, Position, Pow,
    Program, Reduce, Ref, Size, SizeOf, Softmax, Statement, Sum, free_indices, index, references, substitute, walk,
)  # fmt: skip

__all__ = ["grad"]

Read = tuple[Ref, Expr, tuple[str, ...]]  # where a tensor is read, the read's adjoint, the indices around it


def grad(
    system: System,
    of: str,
    wrt: Sequence[str] | str | None = None,
    at: str | None = None,
    distributions: Sequence[str] = (),
) -> Program:
    """The equations of `d<x>` for each `x` of `wrt`, and all that they need."""
    names = [wrt] if isinstance(wrt, str) else list(wrt) if wrt is not None else _default(system)
    if of not in system.outputs:
        raise NotationError(f"{of} is not defined by the system; its tensors are {', '.join(system.outputs)}.")
    return _Backward(system, of, names, at, frozenset(distributions)).program()


def _default(system: System) -> list[str]:
    if system.parameters:
        return list(system.parameters)
    return [n for n in system.inputs if system.tensors[n].indexes is None]


@dataclass(frozen=True)
class _Forward:
    """An equation of the system with index names of its own."""

    left: Ref
    right: Expr
    around: tuple[str, ...]


class _Backward:
    def __init__(
        self, system: System, of: str, wrt: list[str], at: str | None, distributions: frozenset[str]
    ):
        self.system, self.of, self.wrt, self.at = system, of, wrt, at
        self.distributions = distributions
        centered = {d for r in system.ranges.values() for n, d in r.items() if n in system.centered}
        self.scope = Scope({}, dict(system.tensors), frozenset(centered))
        self.letters: dict[str, list[str]] = {}  # dimension -> letters that the system writes for it
        self.forward = [self._own_names(e) for b in system.blocks for e in b.equations]
        self.edges = {name: tensor for name, tensor in self._boundaries().items() if name in wrt}
        self._check_names()
        self.active = self._active()
        self.named = set(wrt) | self._recurrent()
        self.dims = {t.name: t.dims for t in system.tensors.values()}
        self.reads: dict[str, list[Read]] = {}
        self.slots: list[str] = []
        self.made: dict[str, tuple[tuple[str, ...], list[Term]]] = {}  # name -> left indices, terms
        self.targets: dict[str, tuple[str, ...]] = {}
        self.gather = Gather(self.scope, lambda n: self.dims[n], self._may_pad, self._edge, self._name_term)
        self.current = of

    # ── what takes part ──────────────────────────────────────────────────────────────────────

    def _own_names(self, equation: Equation) -> _Forward:
        ranges = self.system.ranges[equation]
        own = {}
        for name, dim in ranges.items():
            own[name] = self.scope.fresh(small_of(name), dim)
            letters = self.letters.setdefault(dim, [])
            if small_of(name) not in letters:
                letters.append(small_of(name))
        left, right = substitute(equation.left, own), substitute(equation.right, own)
        around = tuple(dict.fromkeys(a for i in left.indices for _, a in i.terms if isinstance(a, str)))
        return _Forward(left, self.scope.apart(right), around)

    def _boundaries(self) -> dict[str, str]:
        return {f"{x}_0": x for x in self.system.boundary if f"{x}_0" not in self.system.tensors}

    def _check_names(self) -> None:
        for name in self.wrt:
            if name in self.edges:
                if len(self._edge(self.edges[name])) != 1 or abs(self._edge(self.edges[name])[0][1]) != 1:
                    raise NotationError(f"{name}: only a boundary of one step on one side has a gradient here.")
                continue
            if name not in self.system.tensors:
                known = ", ".join([*self.system.tensors, *self._boundaries()])
                raise NotationError(f"There is no tensor {name} to differentiate by; there are {known}.")
            if self.system.tensors[name].indexes is not None:
                raise NotationError(f"{name} holds indices: there is no gradient with respect to it.")

    def _active(self) -> set[str]:
        """The tensors between `wrt` and `of`: those that depend on the one and that the other depends on."""
        depends = {self.edges.get(name, name) for name in self.wrt}
        for _ in self.forward:
            depends |= {e.left.name for e in self.forward if depends & self._names(e.right)}
        reached = {self.of}
        for _ in self.forward:
            reached |= set().union(*(self._names(e.right) for e in self.forward if e.left.name in reached))
        return depends & reached

    def _names(self, node: object) -> set[str]:
        """The tensors whose values (not only whose entries as indices) stand in an expression."""
        inner = {r.name for n in walk(node) if isinstance(n, Lookup) for r in references(n.ref)}
        return {r.name for r in references(node)} - {n for n in inner if self.system.tensors[n].indexes}

    def _recurrent(self) -> set[str]:
        """Tensors that an equation of their block reads before they are computed there."""
        found: set[str] = set()
        for block in self.system.blocks:
            later: set[str] = set()
            for equation in reversed(block.equations):
                later.add(equation.left.name)
                found |= later & {r.name for r in references(equation.right)}
        return found

    def _may_pad(self, name: str) -> bool:
        tensor = self.system.tensors.get(name)
        return name in self.system.padded or (
            name not in self.system.boundary and (tensor is None or tensor.indexes is None)
        )

    def _edge(self, name: str) -> tuple[tuple[int, int], ...]:
        return () if name in self.system.padded else self.system.boundary.get(name, ())

    # ── the sweep ────────────────────────────────────────────────────────────────────────────

    def program(self) -> Program:
        for equation in reversed(self.forward):
            if equation.left.name in self.active:
                self._sweep(equation)
        for name in self.slots:
            if name in self.named:
                self.made["d" + name] = (self._target(name), self._total(name))
        last = []
        for name in self.wrt:
            if name in self.edges:
                last.append(self._edge_gradient(name))
            elif not self.system.tensors[name].defined or name not in self.active:
                last.append(self._input_gradient(name))
            else:
                last.append(self._adjoint(name))
        return self._written(last)

    def _adjoint(self, name: str) -> str:
        word = "d" + name
        while word in self.system.tensors:
            word += "_"
        return word
