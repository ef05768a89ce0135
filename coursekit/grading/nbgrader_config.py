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
            names = ast.unparse(node.targets[0]).split(".")
            if len(names) == 3 and names[0] == "c" and all(map(str.isidentifier, names)):
                try:
                    config[names[1]][names[2]] = ast.literal_eval(node.value)
                except ValueError:
                    continue  # computed: the default stands
    return config
