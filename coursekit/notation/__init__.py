"""The language of the course: equations in index notation that can be checked, run, counted, differentiated.

from coursekit.notation import Equations, NotationError, Derivation, Growth
"""

from .equations import Equations
from .errors import NotationError

__all__ = ["Derivation", "Equations", "Growth", "NotationError"]


def __getattr__(name: str) -> type:
    if name == "Derivation":
        from .derive.derivation import Derivation

        return Derivation
    if name == "Growth":
        from .formulas.growth import Growth

        return Growth
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
