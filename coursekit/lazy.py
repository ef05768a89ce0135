"""Packages whose names are imported when they are first used, so that importing the package costs nothing."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str], modules: bool = True
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package. `homes`: module -> the names that it gives.

    Where `modules` is true the modules are public names too.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    public = sorted([*home, *(homes if modules else ())])

    def find(name: str) -> Any:
        if name in home:
            return getattr(import_module(f"{package}.{home[name]}"), name)
        if modules and name in homes:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"{package} has no {name!r}; it has {', '.join(public)}")

    return find, lambda: public, public
