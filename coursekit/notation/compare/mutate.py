"""Systems that are wrong in one way: every rule here is a mistake that students make, and its sentence.

`mutations(system)` changes one equation at one place. `compare` runs the changed systems until one agrees
with an answer; that rule's sentence is then the diagnosis. The tests run them all to prove that a comparison
rejects each. A sentence speaks to the student whose answer the mutant is.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..show import show
from ..system import System
from ..tree import Directive, Equation, Expr, Program
from .sites import Site, sites

Part = Any  # of a sentence: an expression, indices, or a word


@dataclass(frozen=True)
class Mutation:
    """A program with one mistake: `node` at a site of an equation."""

    kind: str
    said: str
    parts: tuple[Part, ...]
    site: Site
    node: Expr
    new: Equation
    base: Program

    @property
    def old(self) -> Equation:
        return self.site.equation

    @property
    def tensor(self) -> str:
        """The one whose equation was changed."""
        return self.site.tensor

    @property
    def program(self) -> Program:
        new = replace(self.new, right=self.site.spoken(self.new.right))
        statements = (new if s is self.old else s for s in self.base.statements)
        return replace(self.base, statements=tuple(statements))

    @property
    def sentence(self) -> str:
        words = {"t": f"`{self.tensor}`", "new": code(self.node), "right": code(self.site.node)}
        return self.said.format(*map(_word, self.parts), **words)


def code(node: object) -> str:
    """A piece of an equation, quoted in a sentence."""
    return f"`{show(node)}`"


def _word(part: Part) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, tuple):
        return code(part)
    quoted = [f"`{each}`" if isinstance(each, str) else code(each) for each in part]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


# What a rule proposes: its sentence, a new node for the place, and what stands in the sentence as {0}, {1} … beside
# {t}, the tensor, {new} and {right}, the new node and the old. Where the sentence is always the same the rule says it.
Change = tuple[Any, ...]
Rule = Callable[[Site], Iterator[Any]]
RULES: list[tuple[str, tuple[type, ...], str, str, Rule]] = []


def rule(order: str, *nodes: type, says: str = "", kind: str = "") -> Callable[[Rule], Rule]:
    """Registers a rule for such nodes; without any, for the whole of a right side. Its place in the order is its kind
    too, where no `kind` is given, nor begins its sentence: `"sum index| You …"`."""

    def register(function: Rule) -> Rule:
        RULES.append((order, nodes, says, kind or order, function))
        return function

    return register


def program_of(system: System) -> Program:
    """The system's program with its equations in the order and the index names in which they run."""
    directives = tuple(s for s in system.program.statements if isinstance(s, Directive))
    return Program((*directives, *system.definitions.values()))


def mutations(
    system: System, only: Collection[str] | None = None, reshaping: bool = False
) -> Iterator[Mutation]:
    """Every single mistake in the equations of the tensors `only` (default: of all), likely kinds first; or those
    that may change a tensor's shape."""
    from . import mutate_indices, mutate_scope, mutate_values, mutate_windows  # noqa: F401  (they register the rules)

    base = program_of(system)
    places = [s for e in base.equations if only is None or e.left.name in only for s in sites(system, e)]
    seen: set[tuple[Equation, Equation]] = set()
    order = _RESHAPING if reshaping else _ORDER
    for _, nodes, says, kind, propose in sorted(
        (r for r in RULES if r[0] in order), key=lambda r: order.index(r[0])
    ):
        for site in places:
            for change in (
                propose(site) if (isinstance(site.node, nodes) if nodes else not site.parents) else ()
            ):
                own = change if isinstance(change, tuple) else (change,)
                said, node, *parts = (says, *own) if says else own
                new = site.with_node(node)
                if new != site.equation and (site.equation, new) not in seen:
                    seen.add((site.equation, new))
                    other, _, sentence = said.rpartition("| ")
                    yield Mutation(other or kind, sentence, tuple(parts), site, node, new, base)


# Likely mistakes first. Of two rules that make the same system, the one named first gives the sentence.
_ORDER = [
    "gate swapped", "softmax index", "sign", "activation", "complement", "scale", "missing term",
    "missing factor", "gate misplaced", "shifted index", "transpose", "index swapped", "wrong tensor",
    "reset after product",
    "stride", "flipped window", "mask", "sum scope", "missing sum", "mean for sum", "softmax of each term",
    "missing softmax", "hard choice", "interleaved", "constant factor", "extra factor",
    "averaged", "extra activation", "misplaced", "quotient index", "diagonal", "function scope", "operation",
    "brackets", "other tensor", "extra scale",
]  # fmt: skip
_RESHAPING = ["shifted index", "stride", "flipped window", "missing sum", "other shape"]
