"""Random systems of equations, for property tests.

    from strategies import systems          # conftest.py puts this folder on the path

    @given(systems())                       # texts that parse and check; no recurrence, everything differentiable
    @given(systems(recurrent=True))         # the first equation is a recurrence over t
    @given(systems(smooth=False))           # also relu, max, min, abs, cases and conditions

Each text has one to four equations. A tensor's name tells its axes (`a_bj[b,j]`), so one name has one rank;
indices b, t, j, k have dimensions B, T, J, K, of which each input fixes its own. The outputs are y0, y1, …,
each with the indices of its left side. The boundary of a recurrent y0 is the value of y0 before t = 0.
"""

from hypothesis import strategies as st

DIMS = "btjk"


@st.composite
def systems(draw, recurrent: bool = False, smooth: bool = True) -> str:
    """The text of a random system."""
    made: list[tuple[str, str]] = []  # name, axes
    lines = []
    for number in range(draw(st.integers(1, 4))):
        loop = recurrent and number == 0
        axes = "".join(d for d in DIMS if draw(st.booleans()) or (loop and d == "t"))
        own = f"y{number}"
        writer = Writer(draw, axes, made, smooth, own if loop else None)
        body = writer.expression(draw(st.integers(1, 3)))
        if axes:
            body = f"{body} + {writer.leaf(axes)}"  # so that every left index is free on the right
        if loop:
            body = f"tanh({body} + {own}[{','.join('t-1' if d == 't' else d for d in axes)}])"
        lines.append(f"{own}[{','.join(axes)}] = {body}" if axes else f"{own} = {body}")
        made.append((own, axes))
    return "\n".join(lines)


class Writer:
    """Writes one right side whose free indices are among `axes`."""

    def __init__(self, draw, axes: str, made: list[tuple[str, str]], smooth: bool, own: str | None) -> None:
        self.draw = draw
        self.axes = axes
        self.made = made
        self.smooth = smooth

    def pick(self, items):
        return self.draw(st.sampled_from(list(items)))

    def leaf(self, axes: str) -> str:
        letter = self.pick("acxz")
        return f"{letter}_{axes}[{','.join(axes)}]" if axes else f"{letter}_s"

    def some_axes(self) -> str:
        return "".join(d for d in self.axes if self.draw(st.booleans()))

    def expression(self, depth: int) -> str:
        kinds = ["plain", "earlier", "contraction", "number", "size"]
        if depth > 0:
            kinds += [
                "sum",
                "difference",
                "product",
                "function",
                "power",
                "quotient",
                "explicit",
                "softmax",
                "negative",
            ]
            kinds += ["product", "contraction"]
            if not self.smooth:
                kinds += ["relu", "cases", "pair", "iverson", "masked"]
        return getattr(self, self.pick(kinds))(depth - 1)

    def earlier(self, depth: int) -> str:
        fits = [(n, a) for n, a in self.made if set(a) <= set(self.axes)]
        if not fits:
            return self.leaf(self.some_axes())
        name, axes = self.pick(fits)
        return f"{name}[{','.join(axes)}]" if axes else name

    def plain(self, depth: int) -> str:
        return self.leaf(self.some_axes())

    def number(self, depth: int) -> str:
        return self.pick(["1", "2", "1/2", "0.25", "3"])

    def size(self, depth: int) -> str:
        """1/sqrt of a size that an index of this very term has."""
        summed = self.pick(DIMS)
        return f"1/sqrt({summed.upper()}) a_{summed}[{summed.upper()}] c_{summed}[{summed.upper()}]"

    def contraction(self, depth: int) -> str:
        outer = [d for d in self.axes if self.draw(st.booleans())]
        summed = self.pick(DIMS)
        left = "".join(sorted({*outer[:2], summed}, key=DIMS.index))
        if summed in outer[:2]:
            return self.leaf(left)
        first = ",".join(d.upper() if d == summed else d for d in left)
        return f"a_{left}[{first}] x_{summed}[{summed.upper()}]"

    def sum(self, depth: int) -> str:
        return f"({self.expression(depth)} + {self.expression(depth)})"

    def difference(self, depth: int) -> str:
        return f"({self.expression(depth)} - {self.expression(depth)})"

    def product(self, depth: int) -> str:
        return f"({self.expression(depth)}) * ({self.expression(depth)})"

    def negative(self, depth: int) -> str:
        return f"(-{self.expression(depth)})"

    def function(self, depth: int) -> str:
        return f"{self.pick(['sigmoid', 'tanh'])}({self.expression(depth)})"

    def power(self, depth: int) -> str:
        return f"({self.expression(depth)})^2"

    def quotient(self, depth: int) -> str:
        return f"({self.expression(depth)})/(1 + exp({self.leaf(self.some_axes())}))"

    def explicit(self, depth: int) -> str:
        free = [d for d in DIMS if d not in self.axes]
        if not free:
            return self.expression(depth)
        summed = self.pick(free)
        return f"sum[{summed}]({self.leaf(summed)} * ({self.expression(depth)}))"

    def softmax(self, depth: int) -> str:
        if not self.axes:
            return self.expression(depth)
        over = self.pick(self.axes)
        return f"softmax[{over}]({self.leaf(over)} + {self.expression(depth)})"

    def relu(self, depth: int) -> str:
        return f"{self.pick(['relu', 'abs'])}({self.expression(depth)})"

    def pair(self, depth: int) -> str:
        return f"{self.pick(['max', 'min'])}({self.expression(depth)}, {self.expression(depth)})"

    def cases(self, depth: int) -> str:
        if not self.axes:
            return self.expression(depth)
        where = self.pick(self.axes)
        return f"cases({self.expression(depth)} if {where} == 1, {self.expression(depth)} otherwise)"

    def iverson(self, depth: int) -> str:
        if len(self.axes) < 2:
            return self.expression(depth)
        first, second = self.axes[:2]
        return f"[{first} <= {second}] * ({self.expression(depth)})"

    def masked(self, depth: int) -> str:
        free = [d for d in DIMS if d not in self.axes]
        if not free or not self.axes:
            return self.expression(depth)
        summed, other = self.pick(free), self.pick(self.axes)
        return f"sum[{summed} <= {other}]({self.leaf(summed)} * ({self.expression(depth)}))"
