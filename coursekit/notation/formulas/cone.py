"""Which products of powers dominate which, decided exactly.

Write every size as `x = exp(u)`: a monomial `x**a * y**b` is then `exp(a·u + b·v)`, and a sum of monomials
grows as its largest term. So a monomial `a` is bounded by the sum of monomials `b` exactly if no direction
`u` of the admissible cone (`u >= 0`, and `u_V >= u_d` for a declared `V >= d`) makes `(b - a)·u` negative
for every `b` at once. That is a linear programme in a few unknowns; it is solved here in exact fractions.

A logarithm is a growth of second order: `log x = exp(λ)` with `0 <= λ <= ε·u` for an infinitesimal ε.
Two sizes of the same order have logarithms of the same order; the orders in which several sizes can
stand are tried one by one. An exponential is the other way round: `u <= ε·U` for `2**x = exp(U)`.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product as pairs

Variable = object  # a symbol's name, ("log", variable) or ("exp", monomial)
Vector = dict[Variable, Fraction]

# Exponents are small fractions, so no vertex of these cones has coordinates of ratio near this one:
# every smaller value would give the same answers.
EPSILON = Fraction(1, 10**15)
MAX_LOGS = 4


def minus(a: Vector, b: Vector) -> Vector:
    difference = dict(a)
    for variable, exponent in b.items():
        difference[variable] = difference.get(variable, Fraction(0)) - exponent
    return {v: e for v, e in difference.items() if e}


def escape(a: Vector, bounds: Sequence[Vector], given: Sequence[Vector]) -> Vector | None:
    """A direction in which `a` outgrows every one of `bounds`, or None if they bound it.

    `given` are the side conditions, each a vector `c` for `c·u >= 0`."""
    rows = [minus(b, a) for b in bounds]
    variables = _closure([*rows, *given])
    logs = (v for v in variables if isinstance(v, tuple) and v[0] == "log")
    logarithms = ({v[1]: EPSILON, v: Fraction(-1)} for v in logs)
    fixed = [*given, *_exponentials(variables, given), *logarithms]
    for order in _orders(variables):
        found = _negative(rows, [*fixed, *order], variables)
        if found is not None:
            return found
    return None


def _closure(vectors: Sequence[Vector]) -> list[Variable]:
    """Every variable of the vectors, and those inside their logarithms and exponentials."""
    seen: dict[Variable, None] = {}
    queue = [v for vector in vectors for v in vector]
    while queue:
        variable = queue.pop()
        if variable in seen:
            continue
        seen[variable] = None
        if isinstance(variable, tuple):
            queue += [variable[1]] if variable[0] == "log" else [v for v, _ in variable[1]]
    return list(seen)


def _exponentials(variables: Sequence[Variable], given: Sequence[Vector]) -> Iterator[Vector]:
    powers = [v for v in variables if isinstance(v, tuple) and v[0] == "exp"]
    for v in powers:
        for factor, _ in v[1]:
            if isinstance(factor, tuple) and factor[0] == "log":  # V**T is at least V
                yield {v: Fraction(1), factor[1]: Fraction(-1)}
            else:
                yield {v: EPSILON, factor: Fraction(-1)}
        for other in powers:  # a larger exponent gives a larger power
            if other is not v and escape(dict(other[1]), [dict(v[1])], given) is None:
                yield {v: Fraction(1), other: Fraction(-1)}


def _orders(variables: Sequence[Variable]) -> Iterator[list[Vector]]:
    """The ways in which the sizes under a logarithm can stand to each other: in each, some are of one
    order (equal logarithms), others of a strictly smaller one."""
    inside = sorted((v[1] for v in variables if isinstance(v, tuple) and v[0] == "log"), key=repr)
    if len(inside) < 2 or len(inside) > MAX_LOGS:
        yield []
        return
    for ranks in pairs(range(len(inside)), repeat=len(inside)):
        if set(ranks) != set(range(max(ranks) + 1)):
            continue
        conditions: list[Vector] = []
        for (x, rank_x), (y, rank_y) in pairs(zip(inside, ranks, strict=True), repeat=2):
            if x == y or rank_x > rank_y:
                continue
            conditions.append({("log", y): Fraction(1), ("log", x): Fraction(-1)})
            if rank_x < rank_y:
                conditions.append({y: EPSILON, x: Fraction(-1)})
        yield conditions


def _negative(
    rows: Sequence[Vector], given: Sequence[Vector], variables: Sequence[Variable]
) -> Vector | None:
    """A `u >= 0` with `c·u >= 0` for each given `c` and `r·u < 0` for each row `r`, or None.

    Maximises the slack `s <= 1` with `r·u + s <= 0`, by the simplex method from the feasible u = 0, s = 0,
    with Bland's rule, which never cycles."""
    width = len(variables) + 1  # the last unknown is s
    zero, one = Fraction(0), Fraction(1)
    table = [[*(row.get(v, zero) for v in variables), one] for row in rows]
    table += [[*(-row.get(v, zero) for v in variables), zero] for row in given]
    table.append([zero] * (width - 1) + [one])
    count = len(table)
    for at, line in enumerate(table):
        line += [one if k == at else zero for k in range(count)]
        line.append(one if at == count - 1 else zero)
    objective = [zero] * (width - 1) + [-one] + [zero] * (count + 1)
    basis = list(range(width, width + count))
    while True:
        enter = next((k for k in range(width + count) if objective[k] < 0), None)
        if enter is None:
            break
        ratios = [(table[r][-1] / table[r][enter], basis[r], r) for r in range(count) if table[r][enter] > 0]
        _, _, leave = min(ratios)  # s <= 1 keeps the programme bounded wherever s can grow
        pivot = table[leave][enter]
        table[leave] = [value / pivot for value in table[leave]]
        for line in [*table, objective]:
            if line is not table[leave] and line[enter]:
                factor = line[enter]
                line[:] = [value - factor * p for value, p in zip(line, table[leave], strict=True)]
        basis[leave] = enter
    if objective[-1] <= 0:
        return None
    values = {basis[r]: table[r][-1] for r in range(count)}
    return {v: values.get(k, zero) for k, v in enumerate(variables)}
