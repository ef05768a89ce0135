"""Work done on a GPU runtime, graded on what is there: a device that is missing becomes the one that is present."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from . import wire

# A notebook that first asks whether there is a GPU needs no help; the help costs a little at every operation.
_ASKS_FIRST = re.compile(r"is_available\s*\(\s*\)")
_active: list[Any] = []


@lru_cache(maxsize=4096)
def device_named(word: str) -> Any:
    """The torch device of this name, or None."""
    try:
        return wire.module("torch").device(word)
    except (RuntimeError, TypeError):
        return None


@lru_cache(maxsize=1)
def device_types() -> frozenset[str]:
    """Every device type that this torch knows, present or not; it names them when it is asked for another."""
    try:
        wire.module("torch").device("none")
    except RuntimeError as error:
        return frozenset(re.findall(r"[a-z]+", str(error).partition("one of")[2].partition("device type")[0]))
    return frozenset()


def use_what_is_there(source: str) -> None:
    """From the first cell that names a device without asking for it, put all tensors on the present one.

    It stays so for the life of the process: functions of this cell run later too.
    """
    if wire.module("torch") is None or _active or _ASKS_FIRST.search(source):
        return
    named = device_types().intersection(re.findall(r"[a-z]+", source))
    if named:
        from .device_mode import Present

        mode = Present()
        if any(mode.is_missing(device_named(name)) for name in named):
            mode.__enter__()
            _active.append(mode)
