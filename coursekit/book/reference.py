"""What the reference pages show.

`{api} coursekit.checks`: what a module offers, from its docstrings; each name with its signature.

`{results} NAME`: a table out of the last results in `benchmarks/NAME.json`, made when the page is built. The page is
read again when the file changes. A file that is missing or of another form fails the build.
"""

import importlib
import inspect
import json
import re
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from .card_tabs import Table
from .cards import Block


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


def _line(line: str) -> str:
    """A line of a docstring in MyST: a row `name   what it is` of a table is an item of a list, `<eos>` is no tag."""
    if found := re.match(r"([a-z][\w-]*(?:, [a-z]\w*)*) {2,}(\S.*)", line):
        line = f"- `{found[1]}` {found[2]}"
    if not line.startswith("    "):
        line = re.sub(r"(`[^`]*`)|<(?=\w+>)", lambda found: found[1] or r"\<", line)
    return re.sub(r"^ {8,}", "  ", line)


class Api(Block):
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
        """The docstring as it was written: an indented block in it is code, and so is an example."""
        lines: list[str] = []
        for n, part in enumerate(re.split(r"(?m)^(>>>.*\n?(?:.+\n?)*)", inspect.getdoc(thing) or "")):
            own = part.splitlines()
            lines += ["```python", *own, "```", ""] if n % 2 else map(_line, own)
        self.state.nested_parse(StringList(lines, source=str(thing)), self.content_offset, box)
        return box


def speed(results: dict[str, dict[str, Any]]) -> str:
    """One table per benchmark: ours, theirs, the ratio, what was wanted."""
    numbers = ("ours", "theirs", "measured", "wanted")
    parts = []
    for part in results.values():
        rows = []
        for row in part["rows"]:  # no line ends between a number and its unit
            told = [re.sub(r"(\d) ", "\\1\u00a0", row[key]) for key in numbers]
            rows.append([row["what"], *told, row["met"].replace("missed", "**missed**")])
        parts.append(
            f"**{part['title']}** (on {part['machine']})\n\n{_table(('what', *numbers, 'met'), rows)}\n"
        )
    return "\n".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Iterable[object]]) -> Table:
    plain: Callable[[object], str] = lambda cell: re.sub(r"([|_])", r"\\\1", str(cell)).replace("\n", " ")
    return Table(heads, [[plain(cell) for cell in row] for row in rows])


def attacks(rows: list[dict[str, Any]]) -> str:
    """What each hostile notebook tried, what it got from us, and what it did to stock nbgrader."""
    found = []
    for row in rows:
        score = "" if row["stock_score"] is None else f" ({row['stock_score']:g})"
        found.append([row["attack"], f"{row['deserved']:g}", f"{row['ours']:g}", row["stock"] + score])
    return str(_table(("attack", "deserved", "coursekit", "stock nbgrader"), found))


def proved(rows: list[dict[str, Any]]) -> str:
    """A line per assignment, and behind it a line per question."""
    heads = ("points", "mistakes", "lose points", "seen at once", "named rightly", "right forms", "accepted")
    keys = ("points", "mistakes", "caught", "seen", "named", "right", "accepted")
    total: Callable[[list[dict[str, Any]]], list[str]] = lambda questions: [
        f"{sum(q[key] for q in questions):g}" for key in keys
    ]
    by_name = {name: list(some) for name, some in groupby(rows, lambda row: row["assignment"])}
    whole = [[name, len(questions), *total(questions)] for name, questions in by_name.items()]
    parts = [str(_table(("assignment", "questions", *heads), whole))]
    for name, questions in by_name.items():
        each = _table(("question", *heads), [[q["question"], *total([q])] for q in questions])
        parts.append(f"\n:::{{dropdown}} {name}, question by question\n{each}\n:::")
    return "\n".join(parts)


TABLES: dict[str, Callable[..., str]] = {"results": speed, "attacks": attacks, "proved": proved}


class Results(Block):
    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        path = Path(self.env.srcdir) / "benchmarks" / f"{name}.json"
        if name not in TABLES:
            raise self.error(f"there is no table {name!r}; there are {', '.join(TABLES)}")
        self.env.note_dependency(str(path))
        self.env.note_dependency(__file__)
        try:
            text = TABLES[name](json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self.error(f"benchmarks/{name}.json cannot be shown ({error!r}); make it again") from error
        return [self.box(text, "results")]


def setup(app: Sphinx) -> None:
    app.add_directive("api", Api)
    app.add_directive("results", Results)
