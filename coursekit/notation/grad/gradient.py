"""The backward pass of a system, as a system of equations again.

    gradient(system, "J", ["W"])    # dW[j,i] = dz[B,T,j] h[B,T-1,i], and what dz needs

The adjoint of a tensor `X` is `dX` and has the shape of `X`. The adjoint of the inside of a function, where
it is wanted more than once, is `dz_h` in the equation of `h`, or `dz` where there is only one. A value inside
a forward equation that has no name there is computed again as `u_h`. Tensors of the forward system are inputs
of the gradient system: run the one, then the other with all that the first had and gave. A recurrence keeps
its boundary there, so `boundary={"h": h0}` is given to both.

- `of` is a scalar. If it is not, `d<of>` is one more input: the adjoint to start from (`d<of>_seed` where the
  system itself reads `of` again, so that `d<of>` is the whole adjoint).
- `wrt` names inputs or intermediate tensors; by default all parameters (or, where none are declared, all
  inputs that are not indices). For a recurrence `h` with a boundary, `h_0` asks for the gradient of that
  boundary: `dh_0`.
- `at="t"` leaves the time of a parameter's reads free: `dW[t,j,i]` is what the reads of `W` at step t
  contribute, and its sum over t is the whole gradient.
- `distributions` names tensors that are known to sum to one over the index of a softmax (a one-hot target
  `y`); then `y_hat[v] y[V] - y[v]` becomes `y_hat[v] - y[v]`.
"""

from collections.abc import Sequence

from ..errors import NotationError
from ..system import System
from ..tree import Affine, Ref, SizeOf, index
from .backward import Backward
from .simplify import Term, combine
from .written import written


def gradient(
    system: System,
    of: str,
    wrt: Sequence[str] | str | None = None,
    at: str | None = None,
    distributions: Sequence[str] = (),
) -> System:
    """The equations of `d<x>` for each `x` of `wrt`, and all that they need: a checked system, with the dimensions
    of the forward system under their names there."""
    if wrt is None:
        wrt = system.parameters or [n for n in system.inputs if system.tensors[n].indexes is None]
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    # `h_0` -> `h` for each recurrence with a boundary
    edges = {
        f"{x}_0": x for x in system.boundary if x not in system.padded and f"{x}_0" not in system.tensors
    }
    _check(system, of, names, edges)
    sweep = Backward(system, of, [edges.get(n, n) for n in names], frozenset(distributions))
    for name in names:
        word = sweep.adjoint(name)
        if name in edges:
            left, found = _beyond(sweep, edges[name])
        elif at is not None:
            left, found = _by_step(sweep, name, at)
        elif word in sweep.made and system.tensors[name].defined:
            continue
        else:
            left = sweep.target(name)
            found = sweep.total(name, left)
        sweep.made.pop(word, None)  # it comes last
        sweep.define(word, left, combine(found))
    return written(sweep, [sweep.adjoint(name) for name in names])


def _check(system: System, of: str, names: Sequence[str], edges: dict[str, str]) -> None:
    if of not in system.outputs:
        raise NotationError(f"{of} is not defined by the system; it defines {', '.join(system.outputs)}.")
    for name in names:
        if name in edges:
            sides = system.boundary[edges[name]]
            if len(sides) != 1 or abs(sides[0][1]) != 1:
                raise NotationError(f"{name}: only a boundary of one step on one side has a gradient here.")
        elif name not in system.tensors:
            known = ", ".join([*system.tensors, *edges])
            raise NotationError(f"There is no tensor {name} to differentiate by; there are {known}.")
        elif system.tensors[name].indexes is not None:
            raise NotationError(f"{name} holds indices, so there is no gradient with respect to it.")


Adjoint = tuple[tuple[str, ...], list[Term]]  # the indices of its left side, and its terms


def _beyond(sweep: Backward, tensor: str) -> Adjoint:
    """The adjoint of the entry just outside a recurrence's range."""
    ((axis, steps),) = sweep.system.boundary[tensor]
    target = sweep.target(tensor)
    outside = Affine((), -1) if steps < 0 else Affine(((1, SizeOf(sweep.dims[tensor][axis])),))
    place = tuple(outside if n == axis else index(i) for n, i in enumerate(target))
    found = [t for r in sweep.reads.get(tensor, []) for t in sweep.gather(r.ref, r.g, r.around, place)]
    return (*target[:axis], *target[axis + 1 :]), found


def _by_step(sweep: Backward, name: str, at: str) -> Adjoint:
    """What the reads of a tensor at each value of the index `at` contribute."""
    dim = next((d for r in sweep.system.ranges.values() for n, d in r.items() if n == at), None)
    if dim is None:
        raise NotationError(f"No index is called {at}, so there are no steps to tell apart.")
    left = (sweep.scope.fresh(at, dim), *sweep.target(name))
    found = []
    for read in sweep.reads.get(name, []):
        own = [i for i in read.around if sweep.scope.dims[i] == dim]
        if len(own) != 1:
            message = f"{name} is not read once at each {at}, so its gradient has no steps to tell apart."
            raise NotationError(message)
        timed = Ref(name, (index(own[0]), *read.ref.indices))
        found += sweep.gather(timed, read.g, read.around, tuple(map(index, left)))
    return left, found
