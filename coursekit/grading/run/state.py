"""What the candidate takes over from the examiner before it works: random numbers, the gradient mode, the default type.

A course without torch is graded too.
"""

from __future__ import annotations

import random
from typing import Any

import numpy

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

HAS_TORCH = torch is not None
TENSORS: tuple[type, ...] = (torch.Tensor, torch.nn.Parameter) if HAS_TORCH else ()


def seed_everything(seed: int) -> None:
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    if HAS_TORCH:
        torch.default_generator.manual_seed(seed)  # torch.manual_seed first writes three tracebacks: 9 ms


def random_states() -> dict[str, Any]:
    """Plain data that compares at once: what has not changed is not sent again."""
    name, key, *rest = numpy.random.get_state(legacy=True)
    found: dict[str, Any] = {"python": random.getstate()}
    found["numpy"] = name, numpy.asarray(key).tobytes(), *rest
    if HAS_TORCH:
        found["torch"] = torch.get_rng_state().numpy().tobytes()
    return found


def modes() -> dict[str, Any]:
    if not HAS_TORCH:
        return {}
    return {"grad": torch.is_grad_enabled(), "dtype": torch.get_default_dtype()}


def take_over(context: dict[str, Any]) -> None:
    """Set what the context names."""
    if "python" in context:
        random.setstate(context["python"])
    if "numpy" in context:
        name, key, *rest = context["numpy"]
        numpy.random.set_state((name, numpy.frombuffer(key, numpy.uint32), *rest))
    if "torch" in context:
        torch.set_rng_state(torch.frombuffer(bytearray(context["torch"]), dtype=torch.uint8))
    if "grad" in context:
        torch.set_grad_enabled(context["grad"])
    if context.get("dtype") not in (None, HAS_TORCH and torch.get_default_dtype()):
        torch.set_default_dtype(context["dtype"])
