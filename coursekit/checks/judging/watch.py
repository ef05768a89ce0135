"""Looking on while torch computes, operator by operator."""

import contextlib
from collections.abc import Iterator
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

_counting: list[bool] = []


@contextlib.contextmanager
def while_counting() -> Iterator[None]:
    """Calls in here are counted: whoever runs them elsewhere must have their operators executed here."""
    _counting.append(True)
    try:
        yield
    finally:
        _counting.pop()


def is_counting() -> bool:
    return bool(_counting)


class Watch(TorchDispatchMode):
    """A dispatch mode that torch's compiler need not know of.

    Without this, entering the first mode of a session imports the compiler, which takes two seconds.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class Record(Watch):
    """The operators of a computation in order, each with its arguments."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[tuple[object, tuple[Any, ...]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((func, args))
        return func(*args, **(kwargs or {}))
