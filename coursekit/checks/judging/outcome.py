"""What an answer comes to, whatever it is made of; and the same value as a torch tensor."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ..shown.locked import Outcome

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
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item)
    elif isinstance(value, (set, frozenset)):
        for item in sorted(value, key=str):
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
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
    return (
        " (Your answer is in float32, whose rounding alone may be the reason: compute in float64.)"
        if low
        else ""
    )
