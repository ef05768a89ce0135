"""One way to write a file: whole, or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .expected import Expected


class Unwritable(Expected, OSError):
    """A file that cannot be written: a sentence to its user, an OSError to code that can go on without it."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write into, which takes the place of `path` at the end, and only if nothing went wrong."""
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            yield file
        os.replace(partial, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError):
            raise Unwritable(f"{path} cannot be written: {error.strerror or error}") from error
        raise


def write(path: Path, content: str | bytes) -> Path:
    with replacing(path) as file:
        file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    return path


def write_new(path: Path, content: str | bytes) -> Path:
    """What is the same already is left alone: its time is not new."""
    data = content.encode() if isinstance(content, str) else content
    return path if path.exists() and path.read_bytes() == data else write(path, data)
