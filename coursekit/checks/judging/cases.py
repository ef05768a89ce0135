"""Running a student's function on the cases of a question, and taking apart what it returns.

Answers are computed on the device of their cases, the truth in the host's memory, both in float64. Cases leave a device
that has none. An oracle need not ask where its case lives: it gets a copy in ordinary memory, so a torch module that it
makes fits.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from ..shown.result import wrong
from .outcome import outcome_of
from .student import Stopped, a_thing, listed, name_of, run, stop, upper

Case = Mapping[str, object]
NOTE = " (gradient checks need float64, which this device does not have: they ran on one that has it)"


def any_seed() -> int:
    """A number that nobody can know before the test runs: cases made from it cannot be prepared for."""
    return secrets.randbits(40)


def cases_of(given: Case | Sequence[Case]) -> list[dict[str, object]]:
    """One case or several, each the variables of the question by name."""
    cases = [dict(given)] if isinstance(given, Mapping) else [dict(case) for case in given]
    if not cases:
        raise ValueError("a check needs at least one case")
    return cases


def split(value: object, parts: Sequence[str], name: str) -> dict[str, object]:
    """What stands for each part: a dict by key, a tuple by position, a single value as it is. What lacks is Stopped."""
    if isinstance(value, Mapping):
        extra = [f"`{key}`" for key in value if key not in parts]
        has = f"; it has {listed(extra)} instead" if extra else ""
        lacks = {p: wrong("missing", own=f"There is no `{p}` in what {name} returns{has}.") for p in parts}
        return {part: value[part] if part in value else Stopped(lacks[part]) for part in parts}
    if len(parts) == 1:
        return {parts[0]: value[0] if isinstance(value, tuple) and len(value) == 1 else value}
    if hasattr(value, "tolist"):  # several numbers in one array
        value = value.tolist()
    if isinstance(value, (tuple, list)) and len(value) == len(parts):
        return dict(zip(parts, value, strict=True))
    needs = f"{listed([f'`{p}`' for p in parts])}, in this order or as a dict with these keys"
    stop("type", f"{upper(name)} must return {needs}, and it returns {a_thing(value)}.")


def collect(
    answer: object, cases: Sequence[Case], takes: Sequence[str] | None, parts: Sequence[str]
) -> list[dict[str, object]]:
    """What the student's function gives in each case, part by part, or the value that it is already; Stopped where it
    gives nothing, with what it gave before: a named mistake that stops at the same case is known by that."""
    name, ready = name_of(answer), isinstance(answer, (Mapping, tuple))
    returned: list[dict[str, object]] = []
    for case in cases:
        try:
            value = answer if ready else run(answer, *(case[name] for name in (takes or case)))
            returned.append(split(value, parts, name))
        except Stopped as stopped:
            if not returned or stopped.result.outcomes or stopped.result.kind != "error":
                raise
            before = outcome_of([*returned, stopped.result.sentence])
            raise Stopped(replace(stopped.result, outcomes=(before,))) from None
    return returned


def float64(given: Case | Sequence[Case]) -> tuple[list[dict[str, object]], str]:
    """The cases in float64, and a note for the student where they had to leave their device."""
    cases = cases_of(given)
    tensors = (value for value in tree_leaves(cases) if isinstance(value, Tensor))
    moved = not has_float64(next(tensors, None))

    def convert(value: Any) -> object:
        if isinstance(value, Tensor):
            value = _host(value) if moved else value.detach()
            return value.double() if value.is_floating_point() else value
        real = type(value).__module__ == "numpy" and getattr(getattr(value, "dtype", None), "kind", "") == "f"
        return value.astype("float64") if real else value

    return tree_map(convert, cases), NOTE if moved else ""


def on_host(cases: Sequence[Case]) -> list[dict[str, object]]:
    """Copies of the cases in the host's memory, for whoever computes the truth."""
    return tree_map(lambda v: _host(v) if isinstance(v, Tensor) else v, list(map(dict, cases)))  # type: ignore[no-any-return]


def has_float64(tensor: Tensor | None) -> bool:
    try:
        torch.zeros(1, dtype=torch.float64, device=None if tensor is None else tensor.device)
    except (TypeError, RuntimeError):
        return False
    return True


def _host(tensor: Tensor) -> Tensor:
    """NumPy's arrays live in the host's memory, which has float64 whatever the device."""
    return torch.from_numpy(tensor.numpy(force=True).copy())
