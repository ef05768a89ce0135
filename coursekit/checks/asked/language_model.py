"""What a lab asks of a language model: its perplexity between the marks, no look ahead, all that it keeps counted."""

import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..judging.student import check, run
from ..shown.locked import Outcome
from ..shown.result import Finding, Result, right, wrong

LIBRARIES = ("torch.", "numpy.", "coursekit.", "builtins.")


@check
def perplexity(
    answer: object, measure: Callable[[Callable[..., object]], float], marks: Mapping[str, tuple[float, str]]
) -> Result:
    """Where a model stands among the marks: name -> (perplexity, the sentence where it is missed). One part a mark.

    measure  the perplexity of what `answer`, the student's function, makes
    """
    yours = float(measure(lambda *args: run(answer, *args)))
    parts = {
        name: right(f"{name} is reached.") if yours <= mark else wrong("mark", own=sentence)
        for name, (mark, sentence) in marks.items()
    }
    known = {**{name: mark for name, (mark, _) in marks.items()}, "yours": yours}
    table = sorted(known, key=lambda name: -known[name])
    place, rows = table.index("yours"), tuple((name, f"{known[name]:.4g}") for name in table)
    words = [f"above {name} ({known[name]:.4g})" for name in table[place + 1 : place + 2]]
    words += [f"below {name} ({known[name]:.4g})" for name in table[max(0, place - 1) : place]]
    said = f"The perplexity of your model is {yours:.4g}{', ' * bool(words)}{' and '.join(words)}."
    numbers: dict[str, Any] = {"columns": ("mark", "perplexity"), "rows": rows, "parts": parts}
    if all(part.ok for part in parts.values()):
        return right(f"{said} Every mark is reached.", **numbers)
    missed = {name: part for name, part in parts.items() if not part.ok}
    told = Finding("mark", f"{said} {next(iter(missed.values())).own}")
    return Result(False, (told,), **numbers, outcomes=(Outcome(text=" ".join(missed)),))


def looks_ahead(model: Callable[[Tensor], Tensor], words: Tensor, V: int, within: float = 1e-3) -> int | None:
    """The first position whose scores change with a later word, or None; every position is tried.

    `words` (T,) is one row of text. A copy of it for each position has other words after that position.
    """
    T = len(words)
    rows = words.repeat(T + 1, 1)
    later = torch.arange(T) > torch.arange(T)[:, None]
    rows[:T][later] = (rows[:T][later] + 1 + torch.arange(int(later.sum())) % (V - 1)) % V
    with torch.no_grad():
        scores = torch.as_tensor(model(rows)).double().cpu()
    moved = (scores[:T] - scores[T]).abs().amax(-1) > within
    seen = (moved & ~later).nonzero()
    return int(seen[:, 1].min()) if len(seen) else None


def kept_numbers(model: object) -> int:
    """How many numbers a model keeps: its parameters and buffers, and every tensor, array, list or table that its
    attributes, its functions' closures and the globals that they name lead to."""
    seen: set[int] = set()
    storages: dict[int, int] = {}
    total, waiting = 0, [model]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, Tensor):
            storage = thing.untyped_storage()
            storages[storage._cdata] = storage.nbytes() // max(1, thing.element_size())
        elif isinstance(thing, (bool, int, float, complex)):
            total += 1
        elif type(thing).__module__ == "numpy":
            total += int(getattr(thing, "size", 1))
        elif isinstance(thing, (str, bytes)):
            total += len(thing) // 8 if len(thing) > 64 else 0  # a name is no table
        else:
            waiting += _inside(thing)
    return total + sum(storages.values())


def _inside(thing: object) -> Iterable[object]:
    if isinstance(thing, Mapping):
        return [*thing.keys(), *thing.values()]
    if isinstance(thing, (list, tuple, set, frozenset)):
        return thing
    if isinstance(thing, types.MethodType):
        return [thing.__self__, thing.__func__]
    code = (types.FunctionType, types.ModuleType, type)
    if isinstance(thing, code) and f"{getattr(thing, '__module__', '')}.".startswith(LIBRARIES):
        return []
    if isinstance(thing, types.FunctionType):
        named = [thing.__globals__.get(name) for name in thing.__code__.co_names]
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        named = [n for n in named if not isinstance(n, types.ModuleType)]
        return [*named, *cells, *(thing.__defaults__ or ())]
    if isinstance(thing, type):
        return [value for name, value in vars(thing).items() if not name.startswith("__")]
    # torch's own switches of a module (training, hooks) are no knowledge.
    inside = getattr(thing, "__dict__", {}).items()
    plain = [value for name, value in inside if name != "training" and not name.endswith("_hooks")]
    few = len(plain) <= 64  # a handful of numbers are sizes and switches; more are a table
    return [type(thing), *(v for v in plain if not (few and isinstance(v, (bool, int, float))))]
