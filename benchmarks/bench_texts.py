"""100,000 random and mutated texts through the reader: a program or a NotationError, soon and in little memory.

Half of them are read with a signature. A fixed part of the same texts is read in the tests (`tests/notation`).
"""

from __future__ import annotations

import random
import resource
import sys
import time
from pathlib import Path

from coursekit.notation import Equations, NotationError

from .measure import Row

COUNT = 100_000


def texts(seed: int, count: int):
    """The texts of the tests, as many as are wanted."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "notation"))
    from test_fuzz import SIGNATURE, mutant, soup

    rng = random.Random(seed)
    for k in range(count):
        yield (soup if k % 3 == 0 else mutant)(rng), (SIGNATURE if k % 2 else None)


def rows() -> list[Row]:
    other = slow = 0.0
    list(texts(1, 10))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for text, signature in texts(7, COUNT):
        start = time.process_time()
        try:
            Equations(text, signature)
        except NotationError:
            pass
        except Exception as problem:
            other += 1
            print(f"{type(problem).__name__}: {text!r}", file=sys.stderr)
        took = time.process_time() - start
        if took > 0.5:
            print(f"{took:.2f} s: {text!r}", file=sys.stderr)
        slow = max(slow, took)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return [
        Row(f"{COUNT:,} texts: exceptions but NotationError", f"{other:.0f}", "", other, 0, unit="texts"),
        Row("the slowest of them", f"{1e3 * slow:.0f} ms", "", 1e3 * slow, 1000.0, unit="ms"),
        Row("memory grown by all of them", f"{grown:.0f} MB", "", grown, 200.0, unit="MB"),
    ]


if __name__ == "__main__":
    for row in rows():
        print(row.what, row.ours)
