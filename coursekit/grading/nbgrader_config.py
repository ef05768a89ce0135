"""An instructor's `nbgrader_config.py`, read as data: it is code, and the grader does not run it."""

from __future__ import annotations

import ast
from pathlib import Path

from traitlets.config import Config


def settings(path: Path) -> Config:
    """The plain settings of the file (`c.ClearSolutions.code_stub = {...}`); what is computed is left out."""
    config = Config()
    if not path.is_file():
        return config
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return config
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            names = _dotted(node.targets[0])
            if len(names) == 3 and names[0] == "c":
                try:
                    config[names[1]][names[2]] = ast.literal_eval(node.value)
                except ValueError:
                    continue  # computed: the default stands
    return config


def _dotted(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Attribute):
        return [*_dotted(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]
