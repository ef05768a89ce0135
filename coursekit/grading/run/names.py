"""What a cell binds, mentions and uses, read from its syntax: which trusted cells does a test need?"""

import ast
import contextlib
import importlib
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

_SHOWS = {"print", "display", "plt", "pprint"}  # showing something changes nothing that a test could see
# Calls that change a module as a whole: torch.manual_seed, sys.path.append, warnings.filterwarnings, …
_SETS = re.compile(r"seed|set_|use_|append|insert|filter|update|environ|chdir|register|enable|disable")
_GETS_MODULES = re.compile(r"importlib|import_module|modules|__import__|find_spec|spec_from_file_location")
# What Python calls scopes that run with the cell.
_AT_ONCE = ("listcomp", "setcomp", "dictcomp", "genexpr", "lambda")


@dataclass
class Names:
    """`binds` at the top level; `imports`, those of them bound by import; `mentions` anywhere; `runs`, what is
    used when the cell runs (not only inside a function); `touches`, what a statement may change in place, with
    the attributes that it goes through: ("torch", "manual_seed")."""

    binds: set[str] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)
    mentions: set[str] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)
    touches: set[tuple[str, str]] = field(default_factory=set)

    def survey(self, scope: symtable.SymbolTable, runs: bool = True) -> None:
        """Take in what Python's own compiler says of this scope, and of those inside it."""
        for symbol in scope.get_symbols():
            name, top = symbol.get_name(), scope.get_type() == "module"
            self.mentions.add(name)
            if symbol.is_declared_global() or (top and (symbol.is_assigned() or symbol.is_imported())):
                self.binds.add(name)
            if top and symbol.is_imported():
                self.imports.add(name)
            if runs and symbol.is_referenced():
                self.runs.add(name)
        for inner in scope.get_children():
            self.survey(inner, runs and (inner.get_type() == "class" or inner.get_name() in _AT_ONCE))

    def walk(self, tree: ast.Module) -> None:
        """What the compiler leaves to whoever runs the cell."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                self.binds.add("*")  # for names that only running the cell can tell
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "planted":
                # `checks.planted("NAME", …)` runs the answers that it is given as text: what they name, it needs.
                for text in _texts(node):
                    with contextlib.suppress(SyntaxError, ValueError):  # a sentence is no answer
                        used = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
                        self.mentions |= used
                        self.runs |= used
        self.touches = {pair for statement in tree.body for pair in _touched(statement)}


LONGEST_LINE, LONGEST_SOURCE = 20_000, 200_000  # characters; of the latter, without the texts in it
_STRINGS = re.compile(r"'[^'\\\n]*'|\"[^\"\\\n]*\"")


def has_long_line(source: str) -> bool:
    """Since Python 3.12 `tokenize`, and with it IPython, takes the square of a line's length."""
    return max(map(len, source.split("\n"))) > LONGEST_LINE


def plain_source(source: str) -> str:
    """The cell with its magics turned into calls, as IPython runs it. Costs milliseconds.

    Where a line is too long for that, lines that are magics as a whole are left out instead.
    """
    if has_long_line(source):
        return re.sub(r"(?m)^\s*[%!].*", "", source)
    transformer = importlib.import_module("IPython.core.inputtransformer2")
    return str(transformer.TransformerManager().transform_cell(source))


@lru_cache(maxsize=64)
def readable(source: str, magics: bool = True) -> tuple[str, ast.Module]:
    """The cell as Python, and its syntax tree; empty if it has none, or if it is so long that its tree would fill the
    memory. Not to be changed: it is kept."""
    too_long = len(source) > LONGEST_SOURCE and len(_STRINGS.sub("", source)) > LONGEST_SOURCE
    for form in () if too_long else (str, plain_source) if magics else (str,):
        try:
            return (text := form(source)), ast.parse(text)
        except (SyntaxError, ValueError, RuntimeError, MemoryError):  # RecursionError is a RuntimeError
            continue
    return "", ast.Module([], [])


def parse(source: str) -> ast.Module:
    return readable(source)[1]


@lru_cache(maxsize=4096)
def names_of(source: str) -> Names:
    """Not to be changed: it is kept."""
    names, (text, tree) = Names(), readable(source)
    with contextlib.suppress(SyntaxError, RecursionError, MemoryError):  # or nested deeper than Python reads
        names.survey(symtable.symtable(text, "a cell", "exec"))
    names.walk(tree)
    return names


def _texts(tree: ast.AST) -> list[str]:
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [value for value in constants if isinstance(value, str)]


def import_statements(source: str) -> str:
    """The import statements at the top level of a cell, as source."""
    found = [node for node in parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join(ast.unparse(node) for node in found)


def imports_from(source: str, package: str) -> bool:
    """Does the cell, at any depth, import this package, something in it, or reach for it by its name?

    A text that holds the name, whole or in pieces, counts where modules are got by name: `importlib`, `sys.modules`.
    """
    tree, found, by_name = parse(source), [], False
    # The inner ones of a chain, whose outermost was taken: it begins with all of them.
    passed: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            found += [] if node in passed else [".".join(_path(node, passed))]
            by_name |= bool(_GETS_MODULES.fullmatch(node.attr))
        elif isinstance(node, ast.Name):
            by_name |= bool(_GETS_MODULES.fullmatch(node.id))
    if by_name:
        texts = _texts(tree)
        words = re.findall(r"\w+", " ".join([*texts, "".join(texts)]))
        by_name = set(package.split(".")) <= set(words)
    return by_name or any(f"{name}.".startswith(f"{package}.") for name in found)


def literal_messages(source: str) -> frozenset[str]:
    """The messages of a test's asserts that are plain string literals: sentences that its author wrote."""
    messages = [node.msg for node in ast.walk(parse(source)) if isinstance(node, ast.Assert)]
    return frozenset(text for node in messages if isinstance(node, ast.Constant) for text in _texts(node))


def strings_of(source: str) -> frozenset[str]:
    """Every string literal of a test."""
    return frozenset(_texts(parse(source)))


def _path(node: ast.AST, passed: set[ast.AST] | None = None) -> tuple[str, str]:
    """`a.b[0].c()` as ("a", "b.c"); ("", "") if it does not start with a name. Adds what it meets to `passed`."""
    parts: list[str] = []
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        if passed is not None:
            passed.add(node)
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    return (node.id, ".".join(reversed(parts))) if isinstance(node, ast.Name) else ("", "")


def _touched(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """What a statement may change without binding it: `x.append(1)`, `x[0] = 1`, `fill(x)`."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        root, path = _path(statement.value)
        if root not in _SHOWS:
            yield root, path
            for argument in statement.value.args:
                yield _path(argument)
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    for target in targets:
        if isinstance(target, (ast.Subscript, ast.Attribute)) or isinstance(statement, ast.AugAssign):
            yield _path(target)
    for block in ("body", "orelse", "finalbody", "handlers"):
        for inner in getattr(statement, block, ()):
            yield from _touched(inner)


@dataclass
class Ledger:
    """Which cell, by position, bound which name; and from that, which trusted cells a test needs."""

    trusted: dict[str, int] = field(default_factory=dict)  # name -> last trusted position
    student: dict[str, int] = field(default_factory=dict)  # name -> last position of a student's cell
    allowed: set[str] = field(default_factory=set)  # names that a solution cell is there to define
    given: dict[int, Names] = field(default_factory=dict)  # the given cells, by position
    strict: bool = False  # the reference is known: a name that it does not define is not the student's to set

    def reach(self, names: set[str]) -> set[str]:
        """`names`, and all that the given cells which bind them mention in turn."""
        found, size = set(names), -1
        while size < (size := len(found)):
            found = found.union(*(cell.mentions for cell in self.given.values() if cell.binds & found))
        return found

    def needed(self, test: Names) -> list[int]:
        """The positions of the given cells that must run before `test`, in order: those that bind what it uses, and
        those that change it, unless they run the student's code (directly, or through a given function)."""
        wanted = self.reach(test.mentions)
        own = {name for name in self.student if self.trusted.get(name, -1) < self.student[name]}
        modules = set().union(*(cell.imports for cell in self.given.values()))

        def changes(cell: Names) -> bool:
            touched = [path for root, path in cell.touches if root in wanted and root not in modules]
            sets = [path for root, path in cell.touches if root in wanted and _SETS.search(path)]
            return bool(touched or sets) and not self.reach(cell.runs) & own

        found = sorted(self.given.items())
        return [position for position, cell in found if cell.binds & (wanted | {"*"}) or changes(cell)]

    def from_student(self, wanted: set[str], builtin: set[str]) -> list[str]:
        """Which of the wanted names the student's process is to be asked for."""

        def may(name: str) -> bool:
            if name in self.allowed:
                return self.student[name] > self.trusted.get(name, -1)
            return not self.strict and name not in self.trusted and name not in builtin

        return sorted(filter(may, wanted & self.student.keys()))
