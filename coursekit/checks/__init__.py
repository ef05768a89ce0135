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
    from .counting import count
    from .design import Property, properties
    from .digests import digest
    from .equation import equations
    from .formula import big_o, closed_form
    from .gradient import gradients
    from .graph import edges
    from .mistakes import Mistake, planted
    from .notebook import whole_notebook
    from .number import value
    from .operation import operations
    from .result import CheckFailed, Result
    from .several import entries, parts

# Loaded on first use, so that a check of a number or a choice never waits for torch.
_HOMES = {
    "CheckFailed": "result",
    "Mistake": "mistakes",
    "Property": "design",
    "Result": "result",
    "big_o": "formula",
    "closed_form": "formula",
    "choice": "choosing",
    "count": "counting",
    "digest": "digests",
    "edges": "graph",
    "entries": "several",
    "equations": "equation",
    "function": "code",
    "gradients": "gradient",
    "operations": "operation",
    "ordering": "choosing",
    "parts": "several",
    "planted": "mistakes",
    "properties": "design",
    "value": "number",
    "whole_notebook": "notebook",
}

__all__ = [
    "CheckFailed",
    "Mistake",
    "Property",
    "Result",
    "big_o",
    "choice",
    "closed_form",
    "count",
    "digest",
    "edges",
    "entries",
    "equations",
    "function",
    "gradients",
    "operations",
    "ordering",
    "parts",
    "planted",
    "properties",
    "value",
    "whole_notebook",
]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"coursekit.checks has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
