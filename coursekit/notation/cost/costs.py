"""What a system costs: exact polynomials in its dimensions.

    cost(system, ["W", "U"]).multiply_adds        # D^2 + D*V + D*d
    cost(system, ["W", "U"]).multiply_adds(V=11, D=5, d=4)        # 100

`count` says what is counted, `depth` what depth means.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..errors import NotationError
from ..grad.gradient import gradient
from ..polynomial import Polynomial
from ..system import System
from .count import Count, Counter
from .depth import Depth, depth


@dataclass(frozen=True, repr=False, kw_only=True)
class Cost(Count):
    """The costs of one run of `system`.

    `parameters` counts the numbers in the parameter tensors; `multiply_adds`, `elementwise` and `functions`
    the forward arithmetic; `backward` the multiply-adds of the gradient of `of` with respect to `wrt`, the forward
    pass not included; `depth` the longest chain of steps.
    """

    system: System
    wrt: tuple[str, ...]
    parameters: Polynomial
    of: str

    @property
    def big_o(self) -> Polynomial:
        return self.multiply_adds.big_o

    @cached_property
    def gradient(self) -> Count:
        """The arithmetic of the gradient system. Adjoints beyond the end of a recurrence are not computed."""
        found = gradient(self.system, self.of, self.wrt)
        return _total(Counter(found, zero=found.padded - self.system.padded))

    @property
    def backward(self) -> Polynomial:
        return self.gradient.multiply_adds

    @cached_property
    def depth(self) -> Depth:
        return depth(self.system)

    def __repr__(self) -> str:
        lines = {"parameters": self.parameters, "multiply-adds": self.multiply_adds, "depth": self.depth}
        return "\n".join(f"{word:<14}{value}" for word, value in lines.items())


def cost(system: System, parameters: Sequence[str] | None = None, of: str | None = None) -> Cost:
    """The costs of a system. `parameters` are those it declares, if not given; `of` is the loss that the
    backward pass starts from, by default the last scalar that the system defines, else its last tensor."""
    names = tuple(system.parameters if parameters is None else parameters)
    counter = Counter(system)
    total = Polynomial()
    for name in names:
        if name not in system.tensors:
            known = ", ".join(system.inputs)
            raise NotationError(f"There is no tensor {name} to count as a parameter; the inputs are {known}.")
        total = total + counter.size_of(system.tensors[name].dims)
    wrt = names or tuple(n for n in system.inputs if system.tensors[n].indexes is None)
    scalars = [n for n in system.outputs if not system.tensors[n].dims]
    end = of or (scalars or [system.blocks[-1].equations[-1].left.name])[-1]
    own = total.named(system.aliases)
    return Cost(*_total(counter).each, system=system, wrt=wrt, parameters=own, of=end)


def _total(counter: Counter) -> Count:
    equations = (e for block in counter.system.blocks for e in block.equations)
    total = sum(map(counter.equation, equations), Count())
    return Count(*(p.named(counter.system.aliases) for p in total.each))
