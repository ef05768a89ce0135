"""A system as one JavaScript function: `const model = (() => { … })()`, with no library and nothing outside it.

    model(inputs, sizes, { boundary, functions, made })  ->  made

`inputs` are flat arrays by name, the last axis running fastest (a number for a tensor without axes), `sizes` the size
of every dimension that no other size tells, `boundary` a number or a flat array a side, as for `run`; `functions`
are the opaque ones, from flat arrays to flat arrays. `made` holds every tensor that was computed; handed back, its
arrays are written again. Each block is a small function: an engine compiles such soon, and one long one late.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from .. import tree as T
from ..code.scope import Scope, identifier
from ..errors import NotationError
from ..indices import difference, plus
from ..meaning.reach import axes_read, extent, needed, sure
from ..system import Block, System
from .writer import Writer

_RESERVED = """
abstract arguments await boolean break byte case catch char class const continue debugger default delete do double
else enum eval export extends final finally float for function goto if implements import in instanceof int interface
let long native new null package private protected public return short static super switch synchronized this throw
throws transient true false try typeof undefined var void volatile while with yield NaN Infinity Math Number Array
Float64Array Object Error inputs sizes boundary functions made fail erf size array side room at inside within
"""
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


class Words(Scope):
    """The names of a JavaScript function. Flat arrays have no shape: a size that no other tells is given."""

    words = frozenset(_RESERVED.split())
    least, half = "Math.min", "({} >> 1)"

    def floor(self, above: str, below: int) -> str:
        return f"Math.floor(({above}) / {below})" if below > 1 else above

    def size(self, dim: str) -> str:
        dim = self.system.aliases.get(dim, dim)
        if dim not in self.sizes:
            vectors = [n for n in self.system.inputs if self.system.tensors[n].dims == (dim,)]
            text = self._size(dim) or "".join(f"inputs[{json.dumps(n)}]?.length" for n in vectors[:1])
            key = json.dumps(dim)
            told = text if text.isdigit() else f"sizes[{key}]" + (f" ?? {text}" if text else "")
            self.sizes[dim] = self.fresh(identifier(dim) or "n")
            self.lines.append(f"const {self.sizes[dim]} = size({key}, {told});")
        return self.sizes[dim]

    def length(self, dims: Iterable[str]) -> str:
        return " * ".join(self.size(d) for d in dims) or "1"


def javascript(system: System, name: str = "model", outputs: Sequence[str] | None = None) -> str:
    """The text of `const name = …`; it computes `outputs` and what they need, by default everything."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in Words.words:
        raise NotationError(f"{name!r} cannot be the name of a JavaScript function")
    scope = Words(system)
    blocks = [block for block, _ in needed(system, system.outputs if outputs is None else outputs)]
    written = [_block(scope, block, scope.fresh(f"{name}{number}")) for number, block in enumerate(blocks, 1)]
    made = {e.left.name for block in blocks for e in block.equations}
    used = {word for _, _, words in written for word in words}
    arrays = []
    for tensor in system.tensors.values():
        variable, key, length = scope.tensor[tensor.name], json.dumps(tensor.name), scope.length(tensor.dims)
        if tensor.name in made:
            arrays.append(f"const {variable} = made[{key}] = room(made[{key}], {length});")
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
    write = Writer(scope, block)
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
