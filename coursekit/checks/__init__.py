"""What a student calls to hear whether an answer is right, and if not, what is wrong with it.

    checks.gradients(grads_t, loss=J, given=case, wrt=["U", "H", "b1"])
    checks.value(answer, digest)

Every check returns a `Result`: a panel in a notebook, text in a terminal. In a test cell,
`checks.value(...).require()` raises `CheckFailed` with the sentence that the panel shows.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .choosing import choice, ordering
    from .code import function
    from .digests import digest
    from .gradient import gradients
    from .mistakes import Mistake
    from .number import value
    from .result import CheckFailed, Result

# Loaded on first use, so that a check of a number or a choice never waits for torch.
_HOMES = {
    "CheckFailed": "result", "Mistake": "mistakes", "Result": "result", "choice": "choosing",
    "digest": "digests", "function": "code", "gradients": "gradient", "ordering": "choosing",
    "value": "number",
}  # fmt: skip

__all__ = [
    "CheckFailed",
    "Mistake",
    "Result",
    "choice",
    "digest",
    "function",
    "gradients",
    "ordering",
    "value",
]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"coursekit.checks has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
