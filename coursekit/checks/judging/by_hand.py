"""By hand means by hand: what a student's function calls on its way is looked at while it runs.

What counts is the call itself, so it does not matter whether a function came by `import`, by `importlib` or out of
`sys.modules`. Finite differences call nothing that could be seen; they show in the digits that they lose.
"""

import contextlib
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

import torch
from torch import Tensor

from .student import name_of, stop, upper

# The end of a file's name, the functions in it (none: all of them), and what they are in a sentence.
AUTOGRAD, COURSE = "torch's autograd", "the course's own code"
_REFUSED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("torch/autograd/__init__.py", ("grad", "backward"), AUTOGRAD),
    ("torch/_tensor.py", ("backward",), AUTOGRAD),
    ("torch/autograd/functional.py", (), AUTOGRAD),
    ("torch/autograd/forward_ad.py", ("make_dual", "enter_dual_level"), AUTOGRAD),
    ("torch/_functorch/eager_transforms.py", (), AUTOGRAD),
    ("coursekit/models/", (), COURSE),
    ("coursekit/notation/", (), COURSE),
    ("coursekit/checks/diagnosis/", (), COURSE),
)
# Of the largest entry: formulas err by less than the first, central differences by more.
EXACT, MEASURED = 1e-12, 1e-8
_lookers: list[set[str]] = []


def looked_into() -> set[str] | None:
    """What has been seen of the call under way; None if nobody looks. For a function that runs elsewhere."""
    return _lookers[-1] if _lookers else None


@functools.cache  # of all that is called, torch's own inner functions too
def _refused(path: str, function: str) -> frozenset[str]:
    """What a function of this file is in a sentence, if it is refused."""
    name = path.replace("\\", "/")
    return frozenset(
        words
        for place, functions, words in _REFUSED
        if place in name and (not functions or function in functions)
    )


@contextlib.contextmanager
def looking(seen: set[str]) -> Iterator[None]:
    """Adds to `seen` what of the refused code is called meanwhile."""

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.update(_refused(frame.f_code.co_filename, frame.f_code.co_name))

    alone = sys.getprofile() is None  # a profiler may be at work, and there is room for one
    if alone:
        sys.setprofile(look)
    _lookers.append(seen)
    try:
        yield
    finally:
        _lookers.pop()
        if alone:
            sys.setprofile(None)


@contextlib.contextmanager
def by_hand_alone(answer: object) -> Iterator[None]:
    """Stopped, if what runs in here did not do it by hand."""
    seen: set[str] = set()
    with looking(seen):
        yield
    if seen:
        called = f"{upper(name_of(answer))} calls {' and '.join(sorted(seen))}"
        stop("by hand", f"{called}; this question is done by hand: write the formula itself.")


def measured(answers: Sequence[Mapping[str, object]], rights: Sequence[Mapping[str, Tensor]]) -> bool:
    """Do these right gradients have the error of finite differences: more than rounding, less than float32's?"""
    for answer, right in ((a[part], r[part]) for a, r in zip(answers, rights, strict=True) for part in r):
        tensor = torch.as_tensor(answer).detach().to(right)
        if right.numel() < 3 or not right.any() or bool((tensor.float().double() == tensor).all()):
            return False
        error = (tensor - right).abs() / right.abs().max()
        if not bool(error.median() > EXACT) or not bool(error.max() < MEASURED):
            return False
    return True
