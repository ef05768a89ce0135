"""What a lab asks of a language model: its perplexity between the marks, no look ahead, all that it keeps counted."""

import dis
import types
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..judging.student import check, run, stop
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


def word_losses(
    model: Callable[[Tensor], Tensor],
    rows: Tensor,
    V: int,
    pad: int = 0,
    tries: int = 4,
    within: float = 1e-3,
) -> tuple[Tensor, bool]:
    """The losses at the words of `rows` (B,T) but the first of each and the padding; and whether the model looks ahead.

    Before it sees a batch it is asked `tries` times with other words after a place of each row, drawn at random: up to
    there its scores must be those of the whole. And these places must not cost more than all do, but for chance: so it
    helps nothing to remember what was asked.
    """
    drawn = torch.Generator()
    drawn.seed()
    seen, blind, ahead = [], [], False
    for row in rows.split(64):
        words, target = row[:, :-1], row[:, 1:]
        size, T = words.shape
        real, at = target != pad, torch.arange(T, device=row.device)
        others, first = 1 + words % (V - 1), torch.randint(T, (size, 1), generator=drawn).to(row.device)
        places = [(first + n) % T for n in range(tries)]
        asked = [_scores(model, torch.where(at <= place, words, others), V) for place in places]
        scores = _scores(model, words, V)
        seen.append(_losses(scores, target)[real])
        for place, early in zip(places, asked, strict=True):
            ahead |= bool((((early - scores).abs() > within).any(-1) & (at <= place)).any())
            there = torch.arange(size, device=row.device), place[:, 0]
            blind.append(_losses(early[there], target[there])[real[there]])
    losses, without = torch.cat(seen), torch.cat(blind)
    chance = 4 * float(without.std()) / max(1, len(without)) ** 0.5
    return losses, ahead or float(losses.mean()) < float(without.mean()) - chance


def _losses(scores: Tensor, target: Tensor) -> Tensor:
    return torch.nn.functional.cross_entropy(scores.double().movedim(-1, 1), target, reduction="none")


def _scores(model: Callable[[Tensor], Tensor], words: Tensor, V: int) -> Tensor:
    with torch.no_grad():
        scores = model(words)
    found, needed = tuple(getattr(scores, "shape", ())), (*words.shape, V)
    if found != needed:
        stop(
            "shape",
            f"Called with words of shape {tuple(words.shape)}, your model must give {needed}, and gives {found}.",
        )
    return scores


def kept_numbers(model: object) -> int:
    """How many numbers a model keeps: its parameters and buffers, and every tensor, array, list or table that its
    attributes, its classes, its functions' closures, constants and the globals that they name lead to."""
    elsewhere = getattr(model, "__kept__", None)  # a model in another process is looked through there
    return int(elsewhere()) if elsewhere else looked_through(model)


def looked_through(model: object) -> int:
    seen: set[int] = set()
    storages: dict[int, int] = {}
    total, waiting = 0, [model]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, (int, float, complex)):
            total += max(1, thing.bit_length() // 64) if isinstance(thing, int) else 1
        if isinstance(thing, (int, float, complex)) or id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, Tensor):
            storage = thing.untyped_storage()
            storages[storage._cdata] = storage.nbytes() // max(1, thing.element_size())
        elif type(thing).__module__ == "numpy":
            total += int(getattr(thing, "size", 1))
        elif isinstance(thing, (str, bytes, bytearray, array)):
            total += len(thing) // 8 if len(thing) > 64 else 0  # a name is no table
        else:
            waiting += _inside(thing)
    return total + sum(storages.values())


def _inside(thing: object) -> Iterable[object]:
    if isinstance(thing, Mapping):
        return [*thing.keys(), *thing.values()]
    if isinstance(thing, (list, tuple, set, frozenset, deque)):
        return thing
    if isinstance(thing, types.MethodType):
        return [thing.__self__, thing.__func__]
    if isinstance(thing, types.CodeType):
        return [c for c in thing.co_consts if isinstance(c, (tuple, frozenset, bytes, types.CodeType))]
    code = (types.FunctionType, types.ModuleType, type)
    if isinstance(thing, code) and f"{getattr(thing, '__module__', '')}.".startswith(LIBRARIES):
        return []
    if isinstance(thing, types.FunctionType):
        named = [thing.__globals__.get(name) for name in _globals(thing.__code__)]
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        named = [n for n in named if not isinstance(n, types.ModuleType)]
        return [*named, *cells, thing.__code__, thing.__defaults__ or (), thing.__kwdefaults__ or ()]
    if isinstance(thing, type):
        own = [
            value for name, value in vars(thing).items() if not name.startswith("__") or name == "__call__"
        ]
        return [*own, *thing.__bases__]
    wrapped = [getattr(thing, name, None) for name in ("__func__", "fget", "func", "args", "keywords")]
    # torch's own switches of a module (training, hooks) are no knowledge.
    inside = getattr(thing, "__dict__", {}).items()
    plain = [value for name, value in inside if name != "training" and not name.endswith("_hooks")]
    few = len(plain) <= 64  # a handful of numbers are sizes and switches; more are a table
    return [type(thing), *wrapped, *(v for v in plain if not (few and isinstance(v, (bool, int, float))))]


def _globals(code: types.CodeType) -> set[str]:
    """The global names that a function's code reads, and the code inside it."""
    found = {
        str(step.argval) for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    return found.union(*(_globals(c) for c in code.co_consts if isinstance(c, types.CodeType)))
