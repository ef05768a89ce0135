"""The examples in docstrings say what the code does."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [path for path in sorted((ROOT / "coursekit").rglob("*.py")) if ">>> " in path.read_text("utf-8")]
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in SOURCES]


def test_each_room_that_is_called_from_outside_has_some():
    assert all(
        sum(f".{room}." in name for name in MODULES) >= 3 for room in ("checks", "data", "models", "notation")
    )


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name):
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed
