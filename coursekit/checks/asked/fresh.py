"""Runs the cells of a notebook from the top in a new process: `python -m coursekit.checks.asked.fresh < cells.json`.

The answer is one line of JSON a cell, on the standard output that the cells themselves cannot reach. Lines that
speak to the notebook (`%pip …`, `!ls`) are left out: what they set up is there already.
"""

import ast
import json
import os
import re
import sys
import types

from ..judging.student import describe
from ..shown.result import CheckFailed, Result

_MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)


def main() -> None:
    cells = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    module.__dict__["display"] = lambda *_, **__: None
    for number, source in enumerate(cells):
        answers.write(json.dumps(_cell(number, source, module.__dict__)) + "\n")
        answers.flush()


def _cell(number: int, source: str, scope: dict[str, object]) -> dict[str, object]:
    try:
        value = _run(number, source, scope)
    except CheckFailed as failed:
        return {"share": 0.0, "sentence": failed.sentence}
    except BaseException as error:
        return {"share": 0.0, "sentence": describe(error), "stopped": True}
    if isinstance(value, Result):
        value = value.looked()
        parts = list(value.parts.values()) or [value]
        if value.kind == "form":
            return {"later": True, "sentence": ""}
        return {
            "share": sum(part.ok for part in parts) / len(parts),
            "sentence": "" if value.ok else value.sentence,
        }
    if isinstance(value, float):
        return {"points": float(value), "sentence": getattr(value, "sentence", "")}
    return {"share": 1.0, "sentence": ""}


def _run(number: int, source: str, scope: dict[str, object]) -> object:
    """Run a cell as a notebook does: the value of its last line, if that is an expression, is its value."""
    if source.lstrip().startswith("%%"):
        return None
    tree = ast.parse(_MAGIC.sub(r"\1pass", source), f"cell {number + 1}")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number + 1}", "exec"), scope)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), f"cell {number + 1}", "eval"), scope)


if __name__ == "__main__":
    main()
