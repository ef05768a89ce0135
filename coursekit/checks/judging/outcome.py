"""What an answer comes to, whatever it is made of, and the named mistakes that come to the same."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..shown.locked import Named, Outcome, alike
from ..shown.result import Result

LARGE = 256  # entries of an array from which on it is thinned
MOST = 20_000  # numbers and words of one outcome


def outcome_of(value: object, part: str = "") -> Outcome:
    """The numbers of a value in order, and its words: a tensor, an array and a list of the same numbers are one."""
    numbers: list[float] = []
    words: list[str] = []
    for leaf in islice(_leaves(value), MOST):
        if isinstance(leaf, float):
            numbers.append(leaf)
        else:
            words.append(f"{len(numbers)}:{leaf}")
    return Outcome(part, "\n".join(words), tuple(numbers))


def _leaves(value: object) -> Iterator[float | str]:
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if hasattr(value, "tolist"):
        value = _thinned(value)
    if isinstance(value, Mapping):
        value = [half for key, item in value.items() for half in (str(key), item)]
    elif isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, (bool, int, float)):
        yield float(value)
    elif isinstance(value, str):
        yield " ".join(value.split())
    elif value is not None:
        yield "object"  # what a student calls it does not matter


def _thinned(array: Any) -> object:
    """An array as a list; of a large one some of its entries, and the sums over all of them in pieces."""
    if getattr(array, "size", 0) <= LARGE or array.dtype.kind not in "bfiu":
        return array.tolist()
    flat = array.reshape(-1)
    pieces = flat[: len(flat) // LARGE * LARGE].reshape(LARGE, -1)
    return [*flat[:: len(flat) // LARGE].tolist(), *pieces.sum(1, dtype="float64").tolist()]


def as_torch(value: object, lists: bool = False) -> object:
    """NumPy's arrays as tensors, wherever they stand in a value; with `lists`, lists of numbers too."""
    if type(value).__module__ == "numpy":
        import torch

        return torch.as_tensor(value)
    if isinstance(value, dict):
        return {key: as_torch(item, lists) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if lists and value and all(isinstance(leaf, float) for leaf in _leaves(value)):
            import torch

            try:
                rows = [torch.as_tensor(as_torch(item, lists), dtype=torch.float64) for item in value]
                return torch.stack(rows)
            except (TypeError, ValueError, RuntimeError):  # rows of several lengths
                pass
        made = [as_torch(item, lists) for item in value]
        return tuple(made) if isinstance(value, tuple) else made
    return value


def coarse(values: object) -> str:
    """What to add where a value was computed in float32: an exact test may fail for that alone."""
    if isinstance(values, (list, tuple)):
        return next((said for value in values if (said := coarse(value))), "")
    low = str(getattr(values, "dtype", "")).removeprefix("torch.") in ("float32", "float16", "bfloat16")
    said = " (Your answer is in float32, whose rounding alone may be the reason: compute in float64.)"
    return said if low else ""


@dataclass(frozen=True)
class Mistake:
    """`wrong` is what a student with this mistake would have handed in: a function with the signature of
    the question's (it may return only the parts that the mistake touches), a number, a label, an equation; or, as a
    frozenset, the names of the parts that are wrong with it, where it would take too long to run.

    A mistake contains a formula close to the answer: it belongs to hidden tests, never to visible ones.
    """

    name: str
    sentence: str
    wrong: object


def recognised(result: Result, mistakes: Sequence[Mistake], again: Callable[[object], Result]) -> Result:
    """The result with the sentence of the mistake that comes to the same; `again` is the check of another answer."""
    if result.ok or result.mistake:
        return result
    wrongs = [(m, m.wrong) for m in mistakes]
    failed = {name for name, part in result.parts.items() if not part.ok}
    for m, names in wrongs if failed else ():
        if isinstance(names, frozenset):
            for name in sorted(names - result.parts.keys()):
                message = f"the mistake {m.name!r} names {name!r}, which is no part here; they are "
                raise ValueError(message + ", ".join(map(repr, result.parts)))
            if names == failed:
                return result.telling([Named(m.name, m.sentence, ("",))])
    _matching.append(result)
    try:
        tried = [(m.name, m.sentence, again(wrong).outcomes) for m, wrong in wrongs if result.outcomes]
    finally:
        _matching.pop()
    return result.telling(alike(result.outcomes, tried))


_matching: list[Result] = []  # the wrong results whose mistakes are tried


def matching() -> bool:
    """Whether a named mistake is asked what its answer comes to: nobody reads why it is wrong."""
    return bool(_matching)


class Planted(Mistake):
    """A mistake kept as the text of the whole answer cell; it is run only when an answer is wrong."""

    def __init__(self, name: str, sentence: str, source: str, answer: str, namespace: dict[str, object]):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "sentence", sentence)
        object.__setattr__(self, "_made", (source, answer, namespace))

    @property
    def wrong(self) -> object:
        source, answer, namespace = self._made  # type: ignore[attr-defined]
        scope = dict(namespace)  # what the answer's cell defines must not reach the other tests
        exec(compile(source, f"<mistake {self.name}>", "exec"), scope)
        return scope[answer]


def planted(
    answer: str, sources: Sequence[tuple[str, str, str]], namespace: dict[str, object]
) -> list[Mistake]:
    """Mistakes from (name, sentence, text of the answer cell); `answer` is the name that the cell defines."""
    return [Planted(name, sentence, text, answer, namespace) for name, sentence, text in sources]
