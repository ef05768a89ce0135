"""Running a system on tensors: `run(system, inputs)` gives every tensor that the system defines.

The values are those of `evaluate`. How to get them (which products first, what is taken out of a loop,
which sum is a convolution) is worked out once for a system and its sizes, and kept.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from math import inf, nan, prod
from numbers import Real
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..meaning.evaluate import Engine, Opaque
from ..meaning.reach import Doubt, check_reads, fail, needed, outside
from ..meaning.sizes import infer_sizes, sides, span_of
from ..meaning.table import Table
from ..system import Block, System
from ..tree import Affine, Compare, references
from .recur import Frame
from .writer import Names, Writer

Given = Mapping[str, Any]  # by the name of a tensor, a dimension, a function
Items = frozenset[tuple[str, Any]]


def run(
    system: System,
    inputs: Mapping[str, Tensor],
    boundary: Mapping[str, Tensor | float | tuple[Tensor | float, ...]] | None = None,
    sizes: Mapping[str, int] | None = None,
    functions: Mapping[str, Callable[..., Tensor]] | None = None,
    outputs: Iterable[str] | None = None,
) -> dict[str, Tensor]:
    """Every tensor that the system defines, by name; or those of `outputs` alone, and nothing that they do
    without is computed.

    `boundary` holds, for a tensor that is read outside its range, the value there: a number, or a tensor of
    its shape without the axis it is left along (with that axis, n long, where it is read n steps outside);
    a tuple of such values if it is left on several sides. `sizes` gives dimensions that no tensor fixes.
    `functions` gives those that the language does not know: each takes tensors whose last axes are the
    vectors it is applied to, and whose leading axes are everything else.
    """
    edges = {name: sides(system, name, value) for name, value in (boundary or {}).items()}
    dtype, device = _checked(system, inputs, edges)
    shapes = frozenset((name, tuple(x.shape)) for name, x in inputs.items())
    shape = lambda v: tuple(v.shape) if isinstance(v, Tensor) else None
    edge_shapes = frozenset((name, tuple(map(shape, e))) for name, e in edges.items())
    whole_numbers = frozenset(name for name, x in inputs.items() if not x.is_floating_point())
    wanted = tuple(system.outputs if outputs is None else dict.fromkeys(outputs))
    prepared = plan(system, shapes, edge_shapes, frozenset((sizes or {}).items()), whole_numbers, wanted)
    given: dict[str, Any] = {}
    for number, name in enumerate(system.tensors):
        if name in inputs:
            x, real = inputs[name], inputs[name].is_floating_point()
            given |= {f"x{number}": x if real else x.to(dtype), f"w{number}": x if real else x.long()}
        parts = zip(system.boundary.get(name, ()), edges.get(name, ()), strict=False)
        for n, ((axis, _), v) in enumerate(parts):
            edge = v if isinstance(v, Tensor) else float(v)
            lacking = isinstance(v, Tensor) and v.ndim < len(system.tensors[name].dims)
            given[f"e{n}_{number}"] = v.unsqueeze(axis) if lacking else edge
    like = torch.empty((), dtype=dtype, device=device)
    try:
        prepared.run(given, like, functions or {})
    except RuntimeError as error:
        # torch.OutOfMemoryError is one; on a CPU there is no other sign than the words.
        if "allocate" not in str(error):
            raise
        message = "the memory does not hold what these equations need at these sizes: give smaller tensors"
        raise fail(system, message) from error
    numbers = {name: number for number, name in enumerate(system.tensors)}
    return {name: given[f"x{numbers[name]}"] for name in wanted}


_MOST = 2**31  # entries of one tensor: beyond, it is a slip of the pen and not a model


class Plan:
    """How to get the tensors `wanted` of one system at given sizes: a function a block, of a text in which there are
    numbered variables, numbers and words of torch, and nothing that a person typed. It is not changed by a run:
    `constants` only keeps what depends on the sizes, for each device and type of number."""

    def __init__(self, system: System, sizes: dict[str, int], whole: frozenset[str], wanted: Iterable[str]):
        self.constants: dict[object, Any] = {}
        for tensor in system.tensors.values():
            if (count := prod(sizes[d] for d in tensor.dims)) > _MOST:
                told = ", ".join(f"`{d}` is {sizes[d]:,}" for d in tensor.dims)
                message = f"`{tensor.name}` would have {count:,} entries ({told}): give smaller sizes"
                raise fail(system, message, span_of(system, tensor.name))
        numbers = itertools.count()
        scope: Callable[[], Names] = lambda: Names(system, sizes, whole, numbers)
        for doubt in check_reads(system, sizes):
            self._settle(scope(), doubt)
        self.blocks = [_function(scope(), block, used) for block, used in needed(system, wanted)]

    def run(self, given: dict[str, Any], like: Tensor, functions: Given) -> None:
        def keep(key: object, make: Callable[[], Any]) -> Any:
            """What depends on sizes alone: made once for each device and dtype."""
            key = (key, like.device, like.dtype)
            if key not in self.constants:
                with torch.inference_mode(False):  # so that a later run, which wants gradients, can use it
                    self.constants[key] = make()
            return self.constants[key]

        for call, parameters, made in self.blocks:
            found = call(like, keep, functions, *[given[word] for word in parameters])
            given.update(zip(made, found, strict=True))

    def _settle(self, scope: Names, doubt: Doubt) -> None:
        """Refuse a read that the conditions do not keep inside its tensor. What they say depends on sizes alone; those
        on values are taken to hold."""
        write, affine = Writer(scope, doubt.equation), doubt.ref.indices[doubt.axis]
        sides = [Compare(affine, "<", Affine((), doubt.low)), Compare(affine, ">", Affine((), doubt.high))]
        conditions = [(g, s) for g, s in doubt.guards if not any(True for _ in references(g))]
        values = [write.condition(c) for c in (*sides, *(c for c, _ in conditions))]
        (low, high, *others), _ = write.together(values)
        holds = [f" & {'' if s else '~'}{o.text}" for o, (_, s) in zip(others, conditions, strict=True)]
        text = scope.text([f"    return (({low.text} | {high.text}){''.join(holds)}).any()"])
        like = torch.empty((), dtype=torch.float64, device="cpu")
        if bool(_executed(text, scope)(like, lambda _, make: make(), {})):
            raise outside(scope.system, scope.extents.sizes, doubt)


def _function(scope: Names, block: Block, used: set[str]) -> tuple[Callable[..., Any], list[str], list[str]]:
    """One block as a function, its parameters, and what it makes."""
    frame = Frame(scope, block, used) if block.loops else None
    for equation in block.equations:
        write = Writer(scope, equation, frame)
        write.lines.lines.append(f"{scope.own(equation.left.name)} = {write.whole()}")
    made = [scope.own(e.left.name) for e in block.equations if e.left.name in used]
    loop = frame.told() if frame is not None else []
    call = _executed(scope.text([*loop, f"    return ({', '.join(made)},)"]), scope)
    return call, list(scope.parameters), made


_WORDS = {"torch": torch, "einsum": torch.einsum, "pad": pad, "partial": partial, "inf": inf, "nan": nan}


def _executed(text: str, scope: Names) -> Any:
    space = {**_WORDS, **scope.objects}
    exec(text, space)
    return space["function"]


@lru_cache(256)
def plan(
    system: System, shapes: Items, edges: Items, sizes: Items, whole: frozenset[str], wanted: tuple[str, ...]
) -> Plan:
    """The plan for these shapes, made once."""
    return Plan(system, infer_sizes(system, dict(shapes), dict(edges), dict(sizes)), whole, wanted)


def _checked(
    system: System, inputs: Mapping[str, Any], edges: Mapping[str, list[Any]]
) -> tuple[torch.dtype, torch.device]:
    """The one float type and device of all tensors."""
    sides = ((n, v) for n, e in edges.items() for v in e if not isinstance(v, Real))
    named = [(n, f"`{n}`", x) for n, x in inputs.items()]
    named += [(n, f"the boundary of `{n}`", v) for n, v in sides]
    for name, words, x in named:
        if not isinstance(x, Tensor):
            kind, other = type(x).__name__, "" if words.startswith("`") else " or a number"
            message = f"{words} is {'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}, not a tensor: "
            raise fail(system, f"{message}give torch.tensor(…){other}", span_of(system, name))
    for name, x in inputs.items():
        indexes = system.tensors[name].indexes if name in system.tensors else None
        # Whole numbers that an equation computed (`argmax`) are real by their type.
        real_index = indexes is not None and x.is_floating_point() and not x.is_meta
        if real_index and bool((x != x.round()).any()):
            message = f"`{name}` is used as an index, so it must hold whole numbers: "
            raise fail(system, f"{message}give {name}.long(), not {x.dtype}", span_of(system, name))
    real = [each for each in named if each[2].is_floating_point()]
    for some, what, on, tail in ((real, "dtype", "", ": give them one type"), (named, "device", "on ", "")):
        for name, words, x in some[1:]:
            _, other, first = some[0]
            one, two = getattr(first, what), getattr(x, what)
            if one != two:
                message = f"{other} is {on}{one} but {words} is {on}{two}{tail}"
                raise fail(system, message, span_of(system, name))
    dtype = real[0][2].dtype if real else torch.get_default_dtype()
    return dtype, named[0][2].device if named else torch.get_default_device()


class Torch(Engine):
    def give(self, table: Table) -> Tensor:
        whole = bool(table.flat) and isinstance(table.flat[0], int)
        return torch.tensor(table.flat, dtype=torch.long if whole else torch.float64).reshape(table.shape)

    def run(
        self, system: System, inputs: Given, edges: Given, sizes: Given, opaque: Given, functions: Given
    ) -> dict[str, Table]:
        known = {name: partial(_on_tensors, function) for name, function in opaque.items()}
        boundary = {name: tuple(parts) for name, parts in edges.items()}
        with torch.no_grad():
            found = run(system, inputs, boundary, sizes, {**known, **functions})
        return {n: Table(x.shape, x.flatten().tolist()) for n, x in found.items()}

    def on_lists(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: function(*(torch.tensor(a, dtype=torch.float64) for a in args)).tolist()


def _on_tensors(function: Opaque, *args: Tensor) -> Tensor:
    """A function of lists, at every value of the axes that stand before those of its arguments."""
    ranks = [*function.ranks, *[1] * len(args)]
    lead = args[0].shape[: args[0].ndim - ranks[0]]
    rows = [a.reshape(-1, *a.shape[a.ndim - rank :]) for a, rank in zip(args, ranks, strict=False)]
    found = [function(*(row[k].tolist() for row in rows)) for k in range(lead.numel())]
    return torch.tensor(found, dtype=torch.float64).reshape(*lead, *function.shape)
