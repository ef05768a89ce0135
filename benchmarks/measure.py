"""What every benchmark shares: rivals that take turns, and a row for each thing measured."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """`value` against `target`; `at_most` says which way is good. `ours` and `theirs` are words for the reader."""

    what: str
    ours: str
    theirs: str
    value: float
    target: float | None = None
    at_most: bool = True
    unit: str = "×"

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target

    def told(self) -> dict:
        """As it is kept: the number itself, and the words that tables are made of."""
        sign = "at most" if self.at_most else "at least"
        return {
            "what": self.what,
            "ours": self.ours,
            "theirs": self.theirs,
            "value": self.value,
            "measured": f"{figures(self.value)} {self.unit}",
            "wanted": "" if self.target is None else f"{sign} {self.target:g} {self.unit}",
            "met": {True: "met", False: "missed", None: ""}[self.met],
        }


def take_turns(rivals: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every rival in every round. They take turns, so that a busy machine slows all of them alike;
    the first round warms up and is not counted."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for n in range(rounds + 1):
        for name, run in rivals.items():
            start = time.perf_counter()
            run()
            if n:
                times[name].append(time.perf_counter() - start)
    return times


def ratio(ours: list[float], theirs: list[float]) -> float:
    """The middle one of the ratios of the rounds."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def ms(times: list[float]) -> str:
    """The middle one, in milliseconds; from ten seconds on in seconds."""
    middle = median(times)
    return f"{middle:.1f} s" if middle >= 10 else f"{figures(1e3 * middle)} ms"


def figures(number: float) -> str:
    """Three figures, and never a power of ten: 0.835, 16.1, 4,720."""
    if number == 0 or abs(number) >= 1000:
        return f"{float(f'{number:.3g}'):,.0f}"
    return f"{number:.3g}"


def measure_into(name: str, pipe) -> None:
    """Run one benchmark and send its rows; here, because a new process cannot import a `__main__`."""
    rows = importlib.import_module(f"benchmarks.{name}").rows()
    pipe.send([asdict(row) for row in rows])
