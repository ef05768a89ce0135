"""Equations: what a reader writes, checked; the door to all that the language can do with it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .check.checker import check, suggestion
from .errors import NotationError
from .latex import latex
from .names import small_of
from .parse.lexer import canonical
from .parse.parser import parse
from .show import show
from .system import System
from .tree import Program

if TYPE_CHECKING:
    from torch import Tensor

    from .compare.comparison import Comparison
    from .cost.costs import Cost
    from .draw.svg import Picture


class Equations:
    """A system of tensor equations.

        gru = Equations("h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K])")
        gru.inputs                                # ('W', 'U', 'x')
        gru.run({"W": W, "U": U, "x": x}, boundary={"h": h0})["h"]

    >>> layer = Equations("y[j] = W[j,K] x[K]")
    >>> layer.cost().multiply_adds(J=3, K=4)
    12
    >>> layer.evaluate({"W": [[1, 2], [3, 4]], "x": [1, 1]})["y"]
    [3, 7]

    What is known beforehand of the tensors, given and asked for, goes into `signature`: for each name (in any
    spelling) its number of axes, its shape, or best its axes' names. Then sub- and superscripts are read as a page
    prints them, matrices and vectors need no indices, and a name may be spelt as the page does (`\\lambda` for `lam`):

        Equations(r"h_{t,j} = \\sigma(\\sum_i W^{hh}_{ji} h_{t-1,i})", signature={"W_hh": 2, "h": ("t", "j")})
        Equations(r"h_t = \\tanh(W h_{t-1} + U x_t)", signature={"W": 2, "U": 2, "x": ("t", "k"), "h": ("t", "j")})

    `reference.signature` is the signature of equations that stand already.

    Raises NotationError, with the place and the repair, for what cannot be read or makes no sense.
    """

    def __init__(
        self, source: str | Program | System, signature: Mapping[str, int | Sequence[int | str]] | None = None
    ) -> None:
        if isinstance(source, System):
            self.system = source
        else:
            self.system = check(source if isinstance(source, Program) else parse(source, signature))
        self.program: Program = self.system.program

    @property
    def signature(self) -> dict[str, tuple[str, ...]]:
        """Every tensor with the names of its axes, for reading another text about the same tensors."""
        return {t.name: tuple(map(small_of, t.dims)) for t in self.system.tensors.values()}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the tensors that are read but not defined."""
        return self.system.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the tensors that are defined, in the order they were written."""
        return tuple(e.left.name for e in self.program.equations)

    def run(
        self,
        inputs: Mapping[str, object],
        boundary: Mapping[str, object] = {},
        sizes: Mapping[str, int] = {},
        functions: Mapping[str, Callable[..., "Tensor"]] = {},
        outputs: str | Sequence[str] | None = None,
    ) -> dict[str, "Tensor"]:
        """All outputs, as torch tensors; or those named in `outputs` alone, which is quicker.

        `boundary[name]` is the value before a recurrence's first step; `sizes` fixes a dimension that no input
        does; `functions` are the opaque ones (`CELL`).

        An input or a boundary that these equations do not read is left out, so that a gradient runs on all
        that its forward pass had; a name that may be a missing one misspelt is refused."""
        from .run.runner import run

        wanted = self._outputs(outputs)
        return run(self.system, *self._keys(inputs, boundary, sizes), dict(functions), wanted)

    def evaluate(
        self,
        inputs: Mapping[str, object],
        boundary: Mapping[str, object] = {},
        sizes: Mapping[str, int] = {},
        functions: Mapping[str, Callable[..., Any]] = {},
    ) -> dict[str, Any]:
        """The same in pure Python on nested lists, for tiny sizes and for a place without torch."""
        from .meaning.evaluate import evaluate

        return evaluate(self.system, *self._keys(inputs, boundary, sizes), functions=dict(functions))

    def compare(self, other: "Equations | str | Program", **options: Any) -> "Comparison":
        """Does `other` (an answer) say the same as these equations (the reference)?

        >>> Equations("y[j] = W[j,K] x[K]").compare("y[i] = x[J] W[J,i]").kind
        'transpose'
        """
        from .compare.comparison import compare

        answer = other if isinstance(other, Equations) else Equations(other)
        return compare(self.system, answer.system, **options)

    def cost(self, parameters: Sequence[str] | None = None, of: str | None = None) -> "Cost":
        """Parameters, multiply-adds and parallel depth as polynomials in the dimensions."""
        from .cost.costs import cost

        names = self.system.parameters if parameters is None else [self._name(p) for p in parameters]
        return cost(self.system, list(names), None if of is None else self._name(of))

    def grad(
        self,
        of: str,
        wrt: str | Sequence[str] | None = None,
        at: str | None = None,
        distributions: Sequence[str] = (),
    ) -> "Equations":
        """The backward pass, as equations of the same language (see `grad.gradient`).

        Run it with the inputs and the outputs of these equations, and the same boundary.

        >>> print(Equations("J = a[K] x[K]^2").grad("J", "x"))
        dx[k] = 2 a[k] x[k]
        """
        from .grad.gradient import gradient

        targets = [wrt] if isinstance(wrt, str) else wrt
        names = None if targets is None else [canonical(name) for name in targets]
        shares = [canonical(name) for name in distributions]
        return Equations(gradient(self.system, self._name(of), names, at, shares))

    def latex(self) -> str:
        """The equations typeset, for MathJax.

        >>> print(Equations("y[j] = W[j,K] x[K]").latex())
        \\begin{aligned}
        y[j] &= W[j, K] x[K]
        \\end{aligned}
        """
        return latex(self.program)

    def code(self, outputs: str | Sequence[str] | None = None) -> str:
        """A PyTorch function that computes the same, as one would write it by hand.

        It returns `outputs`, by default the tensors that no other equation reads. It is text, to read and to copy.
        """
        from .code.function import function

        return function(self.system, self._outputs(outputs))

    def javascript(self, name: str = "model", outputs: str | Sequence[str] | None = None) -> str:
        """The same as plain JavaScript over flat arrays (see `javascript.function`), to run in a page."""
        from .javascript.function import javascript

        return javascript(self.system, name, self._outputs(outputs))

    def draw(self, steps: int | None = None) -> "Picture":
        """The graph of one step, or the network unrolled for `steps`."""
        from .draw.drawing import draw

        return draw(self.system, steps)

    def __str__(self) -> str:
        return show(self.program)

    def __repr__(self) -> str:
        return f"Equations({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equations) and self.program == other.program

    def __hash__(self) -> int:
        return hash(self.program)

    def _repr_latex_(self) -> str:
        return f"$$\n{latex(self.program, page=True)}\n$$"

    # ── keys in any spelling ─────────────────────────────────────────────────────────────────

    def _name(self, key: str, likely: Collection[str] = ()) -> str:
        name = canonical(key)
        if name not in self.system.tensors:
            hint = suggestion(name, set(likely or self.system.tensors))
            raise NotationError(f"there is no tensor `{name}` here{hint}")
        return name

    def _outputs(self, keys: str | Sequence[str] | None) -> list[str] | None:
        names = [self._name(key) for key in ([keys] if isinstance(keys, str) else keys or ())]
        for name in names:
            if not self.system.tensors[name].defined:
                raise NotationError(f"`{name}` is an input, so it is no output")
        return None if keys is None else names

    def _keys(
        self, inputs: Mapping[str, Any], boundary: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
        given = {canonical(k): v for k, v in inputs.items()}
        missing = [n for n in self.inputs if n not in given]
        for name in given:
            if missing:
                self._name(name)  # a name that is not known is likely the missing one, misspelt
            if name in self.system.tensors and self.system.tensors[name].defined:
                raise NotationError(f"`{name}` is defined by an equation, so it cannot be an input")
        if missing:
            word, verb = ("input", "is") if len(missing) == 1 else ("inputs", "are")
            raise NotationError(f"the {word} {', '.join(f'`{n}`' for n in missing)} {verb} missing")
        given = {name: value for name, value in given.items() if name in self.system.tensors}
        edge = {canonical(k): v for k, v in boundary.items()}
        if any(name not in edge for name in self.system.boundary):
            for name in edge:
                self._name(name, self.system.boundary)  # likewise
        edge = {n: v for n, v in edge.items() if n in self.system.boundary or n in self.system.padded}
        return given, edge, {self._dimension(k): v for k, v in sizes.items()}

    def _dimension(self, key: str) -> str:
        if dimension := self.system.dimension(key):
            return dimension
        raise NotationError(f"there is no dimension `{key}` here{suggestion(key, set(self.system.aliases))}")
