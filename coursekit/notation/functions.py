"""The functions of the language, in one table: how each is spelled, what it means, and its slope.

All that reads, runs, differentiates or prints a function looks it up here. A word that the language's own
terms can say is no node of the tree: `DEFINED` (using up indices), `SOFT` (over indices that stay) and `SAID`
(entry by entry) say what the reader makes of it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from . import tree as T
from .names import capital_of, fresh

MINUS, ZERO, ONE, TWO = (T.Num(Fraction(n)) for n in (-1, 0, 1, 2))
PI = T.Num(Fraction("3.141592653589793"))
Slope = Callable[..., T.Expr]


@dataclass(frozen=True)
class Function:
    """A function entry by entry. `torch` is what torch calls it, with the `options` that it needs there.

    `slope(z, y)` is the derivative at `z`, where the value is `y`; `by_value` says that it is made with `y`.
    `finite`: finite arguments have a finite value.
    """

    evaluate: Callable[..., float]
    torch: str
    latex: str
    slope: Slope
    spelled: tuple[str, ...] = ()  # other words for it
    by_value: bool = False
    finite: bool = True
    options: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Reducer:
    """What uses up indices, besides a sum. `empty` is its value over nothing, and changes no other value."""

    evaluate: Callable[[Iterable[float]], float]
    empty: float
    latex: str
    spelled: tuple[str, ...] = ()


def exp(z: float) -> float:
    try:
        return math.exp(z)
    except OverflowError:
        return math.inf


def _log(z: float) -> float:
    return math.log(z) if z > 0 else -math.inf if z == 0 else math.nan


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def _wave(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda z: function(z) if math.isfinite(z) else math.nan


def _logsumexp(values: Iterable[float]) -> float:
    values = list(values)
    top = max(values, default=-math.inf)
    return top + math.log(sum(exp(v - top) for v in values)) if math.isfinite(top) else top


# ── slopes ───────────────────────────────────────────────────────────────────────────────────


def times(*factors: T.Expr) -> T.Expr:
    return T.Mul(factors) if len(factors) > 1 else factors[0] if factors else ONE


def minus(a: T.Expr, b: T.Expr) -> T.Expr:
    return T.Add((a, T.Neg(b)))


def _call(function: str, *args: T.Expr) -> T.Call:
    return T.Call(function, args)


def _where(a: T.Expr, operator: str, b: T.Expr) -> T.Iverson:
    return T.Iverson(T.Compare(a, operator, b))


def _gelu_slope(z: T.Expr, y: T.Expr) -> T.Expr:
    """Φ(z) + z φ(z), the normal distribution and its density."""
    half = T.Num(Fraction(1, 2))
    whole = times(half, T.Add((ONE, _call("erf", T.Div(z, _call("sqrt", TWO))))))
    density = T.Div(_call("exp", T.Neg(T.Div(T.Pow(z, TWO), TWO))), _call("sqrt", times(TWO, PI)))
    return T.Add((whole, times(z, density)))


FUNCTIONS: dict[str, Function] = {
    "sigmoid": Function(
        _sigmoid, "torch.sigmoid", r"\sigma", lambda z, y: times(y, minus(ONE, y)), ("sigma", "logistic"), True
    ),
    "tanh": Function(math.tanh, "torch.tanh", r"\tanh", lambda z, y: minus(ONE, T.Pow(y, TWO)), (), True),
    "relu": Function(
        lambda z: max(z, 0.0), "torch.relu", r"\text{ReLU}", lambda z, y: _where(y, ">", ZERO), ("ReLU",), True
    ),
    "exp": Function(exp, "torch.exp", r"\exp", lambda z, y: y, (), True, False),
    "log": Function(_log, "torch.log", r"\ln", lambda z, y: T.Div(ONE, z), ("ln",), False, False),
    "sqrt": Function(
        lambda z: math.sqrt(z) if z >= 0 else math.nan, "torch.sqrt", r"\sqrt",
        lambda z, y: T.Div(ONE, times(TWO, y)), (), True, False,
    ),
    "abs": Function(
        abs, "torch.abs", r"\text{abs}", lambda z, y: minus(_where(z, ">", ZERO), _where(z, "<", ZERO))
    ),
    "sin": Function(_wave(math.sin), "torch.sin", r"\sin", lambda z, y: _call("cos", z)),
    "cos": Function(_wave(math.cos), "torch.cos", r"\cos", lambda z, y: T.Neg(_call("sin", z))),
    "erf": Function(
        math.erf, "torch.erf", r"\text{erf}",
        lambda z, y: times(T.Div(TWO, _call("sqrt", PI)), _call("exp", T.Neg(T.Pow(z, TWO)))),
    ),
    "gelu": Function(
        lambda z: z * 0.5 * math.erfc(-z / math.sqrt(2)), "torch.nn.functional.gelu", r"\text{GELU}",
        _gelu_slope, ("GELU",),
    ),
    "silu": Function(
        lambda z: z * _sigmoid(z), "torch.nn.functional.silu", r"\text{SiLU}",
        lambda z, y: times(_call("sigmoid", z), T.Add((ONE, z, T.Neg(y)))), ("SiLU", "swish", "Swish"), True,
    ),
    "softplus": Function(
        lambda z: max(z, 0.0) + math.log1p(exp(-abs(z))), "torch.nn.functional.softplus", r"\text{softplus}",
        lambda z, y: _call("sigmoid", z), (),
        options=(("threshold", 40),),  # beyond it torch takes z itself; at 20, its own choice, that shows
    ),
    "min": Function(min, "torch.minimum", r"\min", lambda *_: ZERO),  # of several: `grad` knows their slopes
    "max": Function(max, "torch.maximum", r"\max", lambda *_: ZERO),
}  # fmt: skip

REDUCERS: dict[str, Reducer] = {
    "max": Reducer(lambda values: max(values, default=-math.inf), -math.inf, r"\max"),
    "min": Reducer(lambda values: min(values, default=math.inf), math.inf, r"\min"),
    "prod": Reducer(math.prod, 1.0, r"\prod"),
    "logsumexp": Reducer(_logsumexp, -math.inf, r"\text{logsumexp}", ("LogSumExp", "logSumExp", "LSE")),
    # Which of the values is the first largest one; what reads this knows at which place it stands.
    "argmax": Reducer(lambda values: (v := list(values)).index(max(v)), -math.inf, r"\text{argmax}"),
}


# ── words that the language itself can say ───────────────────────────────────────────────────


def mean(indices: tuple[str, ...], body: T.Expr, where: T.Condition | None = None) -> T.Expr:
    """The sum divided by how many there are."""
    tested = tuple(i for i in indices if where is not None and i in T.free_indices(where))
    count: tuple[T.Expr, ...] = tuple(T.Size(capital_of(i)) for i in indices if i not in tested)
    if where is not None and tested:
        parts = where.parts if isinstance(where, T.And) else (where,)
        count = (*count, T.Sum(tested, times(*map(T.Iverson, parts))))
    return T.Div(T.Sum(indices, body, where), times(*count))


def variance(indices: tuple[str, ...], body: T.Expr, where: T.Condition | None = None) -> T.Expr:
    """The mean of the squared distance from the mean (divided by n, not by n - 1)."""
    taken = T.free_indices(body) | set(indices)
    other: dict[str, str] = {}
    for name in indices:
        other[name] = fresh(name + "'", taken | set(other.values()))
    there = T.substitute(where, other) if where else None
    middle = mean(tuple(other.values()), T.substitute(body, other), there)
    return mean(indices, T.Pow(minus(body, middle), TWO), where)


def norm(indices: tuple[str, ...], body: T.Expr, where: T.Condition | None = None) -> T.Expr:
    return _call("sqrt", T.Sum(indices, T.Pow(body, TWO), where))


ORDERS = ("norm1", "norminf")  # of a vector alone: a matrix has others of these names
DEFINED: dict[str, Callable[..., T.Expr]] = {
    "mean": mean,
    "var": variance,
    "norm": norm,
    "norm1": lambda indices, body, where=None: T.Sum(indices, _call("abs", body), where),
    "norminf": lambda indices, body, where=None: T.Reduce("max", indices, _call("abs", body), where),
    "std": lambda indices, body, where=None: _call("sqrt", variance(indices, body, where)),
    "argmin": lambda indices, body, where=None: T.Reduce("argmax", indices, T.Neg(body), where),
}
SOFT: dict[str, Callable[[tuple[str, ...], T.Expr, T.Condition | None], T.Expr]] = {
    "softmax": T.Softmax,
    "logsoftmax": lambda indices, body, where: _call("log", T.Softmax(indices, body, where)),
    "softmin": lambda indices, body, where: T.Softmax(indices, T.Neg(body), where),
}


def _bent(z: T.Expr, below: T.Expr) -> T.Expr:
    return T.Cases(((z, T.Compare(z, ">", ZERO)),), below)


def _clip(z: T.Expr, low: T.Expr, high: T.Expr) -> T.Expr:
    return _call("min", _call("max", z, low), high)


def _less_one(z: T.Expr) -> T.Expr:
    return T.Add((_call("exp", z), MINUS))


def _hyperbolic(sign: Callable[[T.Expr], T.Expr]) -> Callable[[T.Expr], T.Expr]:
    return lambda z: T.Div(T.Add((_call("exp", z), sign(_call("exp", T.Neg(z))))), TWO)


# Functions of an entry that others can say; with how many arguments each is written.
SAID: dict[str, tuple[tuple[int, ...], Callable[..., T.Expr]]] = {
    "clip": ((3,), _clip),
    "pow": ((2,), T.Pow),
    "square": ((1,), lambda z: T.Pow(z, TWO)),
    "sign": ((1,), lambda z: minus(_where(z, ">", ZERO), _where(z, "<", ZERO))),
    "tan": ((1,), lambda z: T.Div(_call("sin", z), _call("cos", z))),
    "sinh": ((1,), _hyperbolic(T.Neg)),
    "cosh": ((1,), _hyperbolic(lambda z: z)),
    "log1p": ((1,), lambda z: _call("log", T.Add((ONE, z)))),
    "expm1": ((1,), _less_one),
    "rsqrt": ((1,), lambda z: T.Div(ONE, _call("sqrt", z))),
    "logit": ((1,), lambda z: _call("log", T.Div(z, minus(ONE, z)))),
    "logsigmoid": ((1,), lambda z: T.Neg(_call("softplus", T.Neg(z)))),
    "leakyrelu": ((2,), lambda z, slope: _bent(z, times(slope, z))),
    "elu": ((1, 2), lambda z, *a: _bent(z, times(*a, _less_one(z)))),
    "relu6": ((1,), lambda z: _clip(z, ZERO, T.Num(Fraction(6)))),
    "hardtanh": ((1,), lambda z: _clip(z, MINUS, ONE)),
    "softsign": ((1,), lambda z: T.Div(z, T.Add((ONE, _call("abs", z))))),
    "mish": ((1,), lambda z: times(z, _call("tanh", _call("softplus", z)))),
}
