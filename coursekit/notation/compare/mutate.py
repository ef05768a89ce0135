"""Systems that are wrong in one way: every rule here is a mistake that students make, and its sentence.

`mutations(system)` changes one equation at one place. `compare` runs the changed systems until one agrees
with an answer; that rule's sentence is then the diagnosis. The tests run them all to prove that a comparison
rejects each. A sentence speaks to the student whose answer the mutant is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..show import show
from ..system import System
from ..tree import Directive, Equation, Expr, Program
from .sites import Site, sites


@dataclass(frozen=True)
class Mutation:
    """A program with one mistake. `tensor` is the one whose equation was changed."""

    kind: str
    sentence: str
    program: Program
    tensor: str
    old: Equation
    new: Equation


# What a rule proposes: what the student did, a new node for its place, and the kind where it is not the rule's own.
Change = tuple[str, Expr] | tuple[str, Expr, str]
Rule = Callable[[Site], Iterator[Any]]  # of changes, or of nodes alone
RULES: list[tuple[str, tuple[type, ...], Rule]] = []


def rule(kind: str, *nodes: type, says: str = "") -> Callable[[Rule], Rule]:
    """Registers a rule for such nodes; without any, for the whole of a right side. One that `says` always the same
    proposes nodes alone."""

    def register(function: Rule) -> Rule:
        def propose(site: Site) -> Iterator[Change]:
            for new in function(site):
                yield says.format(tensor=site.tensor, new=code(new), right=code(site.node)), new

        RULES.append((kind, nodes, propose if says else function))
        return function

    return register


def program_of(system: System) -> Program:
    """The system's program with its equations in the order and the index names in which they run."""
    directives = tuple(s for s in system.program.statements if isinstance(s, Directive))
    return Program(directives + tuple(e for b in system.blocks for e in b.equations))


def mutations(system: System, only: Collection[str] | None = None) -> Iterator[Mutation]:
    """Every single mistake in the equations of the tensors `only` (default: of all), likely kinds first."""
    from . import mutate_indices, mutate_scope, mutate_values, mutate_windows  # noqa: F401  (they register the rules)

    base = program_of(system)
    places = [s for e in base.equations if only is None or e.left.name in only for s in sites(system, e)]
    seen: set[tuple[Equation, Equation]] = set()
    for kind, nodes, propose in sorted(RULES, key=lambda r: _ORDER.index(r[0])):
        for site in places:
            fits = isinstance(site.node, nodes) if nodes else not site.parents
            for sentence, node, *other in propose(site) if fits else ():
                new = site.with_node(node)
                if new == site.equation or (site.equation, new) in seen:
                    continue
                seen.add((site.equation, new))
                statements = tuple(new if s is site.equation else s for s in base.statements)
                program = replace(base, statements=statements)
                own = other[0] if other else kind
                yield Mutation(own, sentence, program, site.tensor, site.equation, new)


# Likely mistakes first. Of two rules that make the same system, the one named first gives the sentence.
_ORDER = [
    "gate swapped", "softmax index", "sign", "activation", "complement", "scale", "missing term",
    "missing factor", "gate misplaced", "shifted index", "transpose", "index swapped", "wrong tensor",
    "reset after product",
    "stride", "flipped window", "mask", "sum scope", "missing sum", "mean for sum", "softmax of each term",
    "missing softmax", "hard choice", "interleaved", "residual", "constant factor", "extra factor",
    "averaged", "extra activation", "misplaced", "quotient index", "diagonal", "function scope", "operation",
    "brackets",
]  # fmt: skip


def code(node: object) -> str:
    """A piece of an equation, quoted in a sentence."""
    return f"`{show(node)}`"
