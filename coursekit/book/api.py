"""`{api} coursekit.checks`: what a module offers, from its docstrings; each name with its signature."""

import importlib
import inspect
import re
import types
from collections.abc import Iterator

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def public(module: types.ModuleType) -> Iterator[tuple[str, object]]:
    """The functions and classes that a reader may use: those of `__all__`, or those defined in the module itself."""
    for name in getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]:
        thing = getattr(module, name)
        if not (inspect.isfunction(thing) or inspect.isclass(thing)):
            continue
        if hasattr(module, "__all__") or thing.__module__ == module.__name__:
            yield name, thing


def signature(name: str, thing: object) -> str:
    """`name(x, y=…)` without annotations, which the text explains better."""
    try:
        found = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return name
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    return name + str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _item(line: str) -> str:
    """A row `name   what it is` of a docstring's table of arguments, as an item of a list."""
    found = re.match(r"([a-z]\w*(?:, [a-z]\w*)*) {2,}(\S.*)", line)
    return f"- `{found[1]}` {found[2]}" if found else re.sub(r"^ {8,}", "  ", line)


class Api(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module = importlib.import_module(self.arguments[0])
        self.env.note_dependency(str(inspect.getsourcefile(module)))
        box = nodes.definition_list(classes=["api"])
        for name, thing in public(module):
            self.env.note_dependency(str(inspect.getsourcefile(thing)))  # type: ignore[arg-type]
            spelt = nodes.literal("", signature(name, thing))
            term = nodes.term("", "", spelt, ids=[f"{module.__name__}.{name}"])
            box += nodes.definition_list_item("", term, self._text(nodes.definition(), thing))
        about = self._text(nodes.container(), module)
        return [about, box] if box.children else [about]

    def _text(self, box: nodes.Element, thing: object) -> nodes.Element:
        """The docstring as it was written: an indented block in it is code."""
        lines = [_item(line) for line in (inspect.getdoc(thing) or "").splitlines()]
        self.state.nested_parse(StringList(lines, source=str(thing)), self.content_offset, box)
        return box


def setup(app: Sphinx) -> None:
    app.add_directive("api", Api)
