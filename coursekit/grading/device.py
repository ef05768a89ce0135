"""Work done on a GPU runtime, graded on what is there: a device that is missing becomes the one that is present."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# A notebook that first asks whether there is a GPU needs no help; the help costs a little at every operation.
_ASKS_FIRST = re.compile(r"is_available\s*\(\s*\)")
_NAMES_ONE = re.compile(r"\bcuda\b|\bmps\b|\bxpu\b")
_active: list[Any] = []


@contextmanager
def use_what_is_there(source: str) -> Iterator[None]:
    """From the first cell that names a device without asking for it, put all tensors on the present one."""
    torch = sys.modules.get("torch")
    if torch is not None and not _active and _NAMES_ONE.search(source) and not _ASKS_FIRST.search(source):
        from .device_mode import Present

        mode = Present()
        mode.__enter__()  # stays for the life of the process: functions of this cell run later too
        _active.append(mode)
    yield
