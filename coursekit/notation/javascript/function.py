"""A system as one JavaScript function: `const model = (() => { … })()`, with no library and nothing outside it.

    model(inputs, sizes, { boundary, functions, made })  ->  made

`inputs` are flat arrays by name, the last axis running fastest (a number for a tensor without axes), `sizes` the size
of every dimension that no other size tells, `boundary` a number or a flat array a side, as for `run`; `functions`
are the opaque ones, from flat arrays to flat arrays. `made` holds every tensor that was computed; handed back, its
arrays are written again. Each block is a small function: an engine compiles such soon, and one long one late.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .. import tree as T
from ..errors import NotationError
from ..indices import difference, plus
from ..meaning.pairing import Pairing, cheapest, leaves
from ..meaning.reach import axes_read, extent, has_conditions, needed, sure
from ..system import Block, System, Tensor
from .reads import Words
from .values import Values

_HELPERS = """
  const fail = (message) => { throw new Error(message); };
  const size = (name, n) => Number.isInteger(n) && n > 0 ? n
    : fail(`the size ${name} must be a whole number above 0, not ${n}: give sizes.${name}`);
  const array = (name, given, length) => {
    const value = typeof given === "number" ? [given] : given;
    return value?.length === length ? value
      : fail(`${name} must be a flat array of ${length} numbers, not ${value ? `of ${value.length}` : value}`);
  };
  const side = (name, given, k, sides, length, corner) => {
    const value = sides > 1 && Array.isArray(given) ? given[k] : given;
    if (typeof value !== "number") {
      return corner ? fail(`the boundary of ${name} must be one number: it is read outside two axes at once`)
        : array(`the boundary of ${name}`, value, length);
    }
    const edge = new Float64Array(length).fill(value);
    if (corner) edge.corner = value;
    return edge;
  };
  const room = (given, length) => given?.length === length ? given : new Float64Array(length);
  const erf = (z) => {
    if (!(Math.abs(z) < 6)) return Number.isNaN(z) ? z : Math.sign(z);
    let term = 2 * z * Math.exp(-z * z) / Math.sqrt(Math.PI), sum = term;  // all terms have one sign
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) sum += term *= 2 * z * z / (2 * n + 1);
    return sum;
  };
  const inside = (p, first, stop) => p >= first && p < stop && p % 1 === 0 ? p : NaN;
  const at = (name, p, first, stop) => p >= first && p < stop && p % 1 === 0 ? p
    : fail(`${name} is read at ${p}, but that axis runs from ${first} to ${stop - 1}`);
  const within = (name, low, high, first, stop) => low >= first && high < stop
    || fail(`${name} is read from ${low} to ${high}, but that axis runs from ${first} to ${stop - 1}`);
""".strip("\n")


def javascript(system: System, name: str = "model", outputs: Sequence[str] | None = None) -> str:
    """The text of `const name = …`; it computes `outputs` and what they need, by default everything."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in Words.words:
        raise NotationError(f"{name!r} cannot be the name of a JavaScript function")
    split = factored(system)
    scope = Words(split)
    blocks = [block for block, _ in needed(split, split.outputs if outputs is None else outputs)]
    written = [_block(scope, block, scope.fresh(f"{name}{number}")) for number, block in enumerate(blocks, 1)]
    made = {e.left.name for block in blocks for e in block.equations}
    used = {word for _, _, words in written for word in words}
    arrays = []
    for tensor in split.tensors.values():
        variable, key, length = scope.tensor[tensor.name], json.dumps(tensor.name), scope.length(tensor.dims)
        if tensor.name in made:
            kept = f"made[{key}] = " if tensor.name in system.tensors else ""
            given = f"made[{key}]" if kept else "null"
            arrays.append(f"const {variable} = {kept}room({given}, {length});")
        elif variable in used:
            arrays.append(f"const {variable} = array({key}, inputs[{key}], {length});")
    edges = [_edge(scope, key, word) for key, word in scope.edge.items() if word in used]
    checks = [c for e in system.ranges if e.left.name in made for c in _checks(scope, e)]
    calls = [f"{own}({', '.join(words)});" for own, _, words in written]
    body = [*scope.lines, *arrays, *edges, *dict.fromkeys(checks), *calls, "return made;"]
    lines = [f"const {name} = (() => {{", _HELPERS, *(text for _, text, _ in written)]
    options = "{ boundary = {}, functions = {}, made = {} } = {}"
    lines += [f"  return function {name}(inputs, sizes = {{}}, {options}) {{"]
    lines += [f"    {line}" for line in body]
    return "\n".join([*lines, "  };", "})();"]) + "\n"


def _block(scope: Words, block: Block, name: str) -> tuple[str, str, list[str]]:
    write = Values(scope, block)
    write.ranges = scope.system.ranges[block.equations[0]]
    for index, step in block.loops:
        write.loop(index, step=step)
    write.inner = write.depth
    for equation in block.equations:
        write.ranges = scope.system.ranges[equation]
        write.define(equation)
        for level in write.stack:  # what a node means depends on the equation; a text does not
            level.known = {k: v for k, v in level.known.items() if isinstance(k, str)}
    write.close(1)
    body = "\n".join(f"    {line}" for line in write.stack[0].lines)
    handed = {*scope.tensor.values(), *scope.sizes.values(), *scope.edge.values(), "functions"}
    said = dict.fromkeys(re.findall(r"\w+", re.sub(r'"[^"]*"', "", body)))
    words = [word for word in said if word in handed]
    return name, f"  function {name}({', '.join(words)}) {{\n{body}\n  }}", words


def _edge(scope: Words, key: tuple[str, int, int], word: str) -> str:
    name, axis, sign = key
    sides, own = scope.system.boundary[name], json.dumps(name)
    number = next(n for n, (a, s) in enumerate(sides) if a == axis and s * sign > 0)
    rest = scope.length(d for n, d in enumerate(scope.system.tensors[name].dims) if n != axis)
    length, corner = f"{scope.depth(*key)} * {rest}", json.dumps(scope.corner(name))
    given = f"{own}, boundary[{own}], {number}, {len(sides)}, {length}, {corner}"
    return f"const {word} = side({given});"


def _checks(scope: Words, equation: T.Equation) -> Iterator[str]:
    """A line for each read that sizes alone may take outside its tensor."""
    for ref, axis, guards, before, after in axes_read(scope.system, equation):
        affine, (first, last) = ref.indices[axis], scope.span(scope.system.tensors[ref.name].dims[axis])
        if guards or any(T.references(affine)):
            continue
        low, high = extent(affine, scope.span, scope.system.ranges.get(equation, {}))
        first, last = plus(first, T.Affine((), before)), plus(last, T.Affine((), after))
        if not (sure(difference(low, first)) and sure(difference(last, high))):
            ends = map(scope.spelled, (low, high, first, plus(last, T.Affine((), 1))))
            yield f"within({json.dumps(ref.name)}, {', '.join(ends)});"


# ── long products taken apart ────────────────────────────────────────────────────────────────

# What two factors give by themselves is an equation of its own:
#
#     y[s,t] = L[s,I] W[I,K] L[t,K]      becomes      part[s,k] = L[s,I] W[I,k]      y[s,t] = part[s,K] L[t,K]
#
# which loops over three indices twice instead of over four. The order is that of `pairing`, with all sizes taken as
# equal; in a recurrence, what no step changes is made before it.
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
