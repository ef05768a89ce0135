"""What a wrong answer lacks: the one change that makes the student's own equations agree with the oracle.

No answer is needed for this. A change that makes them right is undone again by the language's own comparison, and what
it calls that is what the student did.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, islice
from time import process_time

from ...notation.compare.comparison import Comparison
from ...notation.compare.mutate import Mutation, mutations
from ...notation.equations import Equations
from ...notation.tree import Call, Program, rename_tensors, transform
from ..judging.student import listed, quiet
from ..shown.result import Finding

MOST = 600  # changes that are tried, the likely ones first
SECONDS = 0.1  # of work, and no more: a student is waiting
# What the comparison says where it recognises no mistake; and a factor, which may be the size of an axis.
UNTOLD = (
    None, "different", "shape", "size", "unknown tensor", "missing tensor", "not finite", "constant factor",
)  # fmt: skip


def nearby(
    answer: Equations,
    right: Callable[[Equations], bool],
    outputs: Sequence[str],
    failed: Sequence[str],
    needed: Callable[[], Iterable[str]],
    likely: Callable[[Mutation], bool] = lambda change: True,
) -> Finding | None:
    """What keeps `answer` from being right in the outputs that `failed`; where one change does not mend it, what it
    does not use of all that is `needed`. Only a change that is `likely` to be right is tried in full."""
    with quiet():
        begun = process_time()
        for change in islice(mutations(answer.system), MOST):
            if process_time() - begun > SECONDS:
                break
            with suppress(
                Exception
            ):  # one may not run on these sizes; the plain sentence must come all the same
                if likely(change) and right(mended := Equations(change.program)):
                    compared = mended.compare(answer, outputs=outputs)
                    if compared.kind not in UNTOLD:
                        return compared_finding(compared)
        for sentence, program in _exchanged(answer):
            with suppress(Exception):
                if right(Equations(program)):
                    return Finding("exchanged", sentence, sentence)
    idle = [name for name in needed() if name not in answer.inputs]
    if not idle:
        return None
    said = [
        f"{listed([f'`{name}`' for name in group])} {'is' if len(group) == 1 else 'are'}"
        for group in (failed, idle)
    ]
    own = f"{said[0]} not right, and something that is needed is never read."
    return Finding("unused", own, f"{said[0]} not right, and {said[1]} never read.")


def _exchanged(answer: Equations) -> Iterator[tuple[str, Program]]:
    """The equations with two things exchanged wherever they stand."""
    made = dict.fromkeys(equation.left.name for equation in answer.program.equations)
    for one, two in combinations(made, 2):
        pairs = [(n, n.removesuffix(one) + two) for n in answer.inputs if n.endswith(one)]
        names = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
        if names and all(name in answer.inputs for name in names):
            sentence = f"The parameters of `{one}` and `{two}` are exchanged."
            yield sentence, rename_tensors(answer.program, names)
    other = {"tanh": "sigmoid", "sigmoid": "tanh"}
    turn = lambda n: replace(n, function=other.get(n.function, n.function)) if isinstance(n, Call) else n
    yield "The functions tanh and sigmoid are exchanged.", transform(answer.program, turn)


def compared_finding(compared: Comparison) -> Finding:
    """What the language's comparison found. Its message may show pieces of the right equations: of the student's own
    it is known what kind of mistake it is, and in which tensor."""
    own = OWN.get(compared.kind or "", "")
    spot = f" in `{compared.tensor}`" if compared.tensor else ""
    whole = compared.sentence or compared.message
    return Finding(compared.kind or "different", own and f"{own}{spot}.", whole)


# What a kind of mistake says of the student's own equations; without a word here a page says that they are not right.
OWN = {
    "gate swapped": "The two sides of a gate are exchanged",
    "softmax index": "A softmax runs over the wrong index",
    "sign": "A sign is wrong",
    "activation": "An activation is wrong or missing",
    "complement": "A gate stands where one minus it belongs, or the other way round",
    "scale": "A scale is wrong",
    "epsilon": "A small number stands outside a root, or under it",
    "gate misplaced": "A gate multiplies something else than it must",
    "missing term": "A term is missing",
    "missing factor": "A factor is missing",
    "shifted index": "An index is shifted",
    "transpose": "A matrix is transposed",
    "index swapped": "Two indices are exchanged",
    "wrong tensor": "A tensor stands where another belongs",
    "tensors swapped": "Two tensors are exchanged",
    "reset after product": "A gate is applied after the product, and not before it, or the other way round",
    "stride": "A stride is wrong",
    "flipped window": "A window is flipped",
    "mask": "A mask is wrong or missing",
    "sum scope": "A sum reaches too far, or not far enough",
    "missing sum": "A sum is missing",
    "mean for sum": "A mean stands for a sum",
    "softmax of each term": "A softmax is taken of each term",
    "missing softmax": "A softmax is missing",
    "hard choice": "A hard choice stands for a soft one",
    "interleaved": "Two axes are interleaved",
    "constant factor": "A constant factor is wrong",
    "extra factor": "There is a factor too many",
    "averaged": "Something is averaged that must not be",
    "extra activation": "There is an activation too many",
    "misplaced": "A term or a factor stands in the wrong place",
    "quotient index": "A share is taken over the wrong index",
    "diagonal": "One index stands where two are needed, or the other way round",
    "function scope": "A function is taken of too much, or of too little",
    "operation": "One operation stands for another",
    "brackets": "Brackets are missing, or too many",
}
