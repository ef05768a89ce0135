"""What a wrong answer lacks: the one change that makes the student's own equations agree with the oracle.

No answer is needed for this. A change that makes them right is undone again by the language's own comparison, and what
it calls that is what the student did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from ..notation.compare.mutate import mutations
from ..notation.equations import Equations
from .student import quiet

MOST = 60  # changes that are tried, the likely ones first
# What the comparison says where it recognises no mistake; and a factor, which may be the size of an axis.
UNTOLD = (
    None, "different", "shape", "size", "unknown tensor", "missing tensor", "not finite", "constant factor",
)  # fmt: skip


def nearby(answer: Equations, right: Callable[[Equations], bool], outputs: Sequence[str]) -> str:
    """The sentence for what keeps `answer` from being right; empty where one change does not mend it."""
    with quiet():
        for change in islice(mutations(answer.system), MOST):
            try:
                mended = Equations(change.program)
                if not right(mended):
                    continue
                compared = mended.compare(answer, outputs=outputs)
            except Exception:
                continue  # it cannot be run on these sizes; the plain sentence must come all the same
            return "" if compared.kind in UNTOLD else compared.message.split(" On random numbers ")[0]
    return ""
