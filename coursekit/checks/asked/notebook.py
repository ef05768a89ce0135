"""`whole_notebook`: run from the top in a fresh process, does the notebook still do what it did here?

Cells that were run out of order, or that lean on one deleted since, are the commonest cause of a lost point. The fresh
process is this module, `python -m coursekit.checks.asked.notebook < cells.json`: its answer is one line of JSON a cell,
on the standard output that the cells themselves cannot reach.
"""

import ast
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from ..judging.student import check, describe, stop
from ..shown.result import CheckFailed, Result, right, wrong

INSIDE = "COURSEKIT_FRESH_RUN"  # set in the fresh process, where this cell must not start another


@check
def whole_notebook(path: str | os.PathLike[str] | None = None, *, seconds: float = 600) -> Result:
    """Run the notebook afresh and tell the points that its visible checks give; one part a graded cell.

    path  the saved notebook (default: the one that is open, where it can be found)

    In Colab the file is then offered for download; elsewhere the result says where it is.
    """
    if INSIDE in os.environ or "NBGRADER_EXECUTION" in os.environ:  # a grader runs the notebook itself
        return right("This cell is for the notebook's reader.")
    content, place = _find(path)
    cells = [cell for cell in content.get("cells", []) if cell.get("cell_type") == "code"]
    if not cells:
        return wrong("empty", own=f"There are no code cells in {place}.")
    return _report(cells, _fresh(["".join(cell.get("source", "")) for cell in cells], seconds), place)


def _report(cells: list[Mapping[str, Any]], seen: list[dict[str, Any]], place: str) -> Result:
    parts: dict[str, Result] = {}
    rows, total, expected, later = [], 0.0, 0.0, 0.0
    for number, (cell, answer) in enumerate(zip(cells, seen, strict=False)):
        mark = cell.get("metadata", {}).get("nbgrader", {})
        name = str(mark.get("grade_id") or f"cell {number + 1}")
        if mark.get("grade") and not mark.get("solution"):
            points = float(mark.get("points", 0))
            name = name.removeprefix("test_")
            if answer.get("later"):
                later += points
                rows.append((name, f"{points:g} after hand-in", ""))
                continue
            earned = min(points, answer["points"] if "points" in answer else points * answer["share"])
            total, expected = total + points, expected + earned
            rows.append((name, f"{_points(earned)} of {points:g}", answer["sentence"]))
            parts[name] = right("Right.") if earned == points else wrong("points", own=answer["sentence"])
        elif answer.get("stopped"):
            parts[name] = wrong("error", own=f"`{name}`: {answer['sentence']}")
            rows.append((name, "", answer["sentence"]))
    if len(seen) < len(cells):
        parts["time"] = wrong("timeout", own=f"The run did not get past code cell {len(seen) + 1}.")
    failed = [name for name, part in parts.items() if not part.ok]
    numbers: dict[str, Any] = {"columns": ("question", "points", ""), "rows": tuple(rows), "parts": parts}
    told = f"{_points(expected)} of {total:g} points from the visible checks; hidden tests may see more"
    if later:
        told += f", and {later:g} points are judged after you have handed in"
    if not failed:
        return right(f"Run from the top, {place} gives {told}. Hand in this file.", **numbers)
    stopped = [part.sentence for part in parts.values() if part.kind in ("error", "timeout")]
    reason = " " + " ".join(stopped) if stopped else ""
    return wrong("fresh-run", own=f"Run from the top, {place} gives {told}.{reason}", **numbers)


def _points(number: float) -> str:
    """Points as a person writes them: a third of 4 is 1.33."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _fresh(sources: list[str], seconds: float) -> list[dict[str, Any]]:
    """What each cell gave, as far as the run came."""
    environment = {**os.environ, INSIDE: "1", "MPLBACKEND": "Agg"}
    command = [sys.executable, "-m", __name__]
    given = json.dumps(sources).encode()
    try:
        done = subprocess.run(command, input=given, capture_output=True, env=environment, timeout=seconds)
        output = done.stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
    return [json.loads(line) for line in output.decode().splitlines() if line.endswith("}")]


def _find(path: str | os.PathLike[str] | None) -> tuple[Mapping[str, Any], str]:
    """The notebook and how to call it."""
    if path is None and "google.colab" in sys.modules:
        return _from_colab()
    file = Path(path) if path is not None else _open_file()
    try:
        return json.loads(file.read_text(encoding="utf-8")), f"`{file.name}`"
    except FileNotFoundError:
        stop("missing", f"There is no file `{file}`: save the notebook, then name it here.")
    except (ValueError, OSError) as error:
        stop("type", f"`{file}` cannot be read as a notebook: {error}.")


def _open_file() -> Path:
    """The notebook whose kernel this is, as the server names it; else the only one in this folder."""
    named = os.environ.get("JPY_SESSION_NAME", "")
    if named.endswith(".ipynb") and Path(named).exists():
        return Path(named)
    here = sorted(Path.cwd().glob("*.ipynb"))
    if len(here) == 1:
        return here[0]
    stop("missing", 'Name the saved notebook: `checks.whole_notebook("NAME.ipynb")`.')


def _from_colab() -> tuple[Mapping[str, Any], str]:
    """Colab keeps the notebook in the browser: ask for it, and offer it back as a file."""
    from google.colab import _message, files

    answer = _message.blocking_request("get_ipynb", request="", timeout_sec=60)
    content = answer["ipynb"]
    name = content.get("metadata", {}).get("colab", {}).get("name", "notebook.ipynb")
    Path(name).write_text(json.dumps(content), encoding="utf-8")
    files.download(name)
    return content, f"`{name}`"


def main() -> None:
    cells = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    module.__dict__["display"] = lambda *_, **__: None
    for number, source in enumerate(cells, start=1):
        print(json.dumps(_cell(source, f"cell {number}", module.__dict__)), file=answers, flush=True)


def _cell(source: str, name: str, scope: dict[str, Any]) -> dict[str, object]:
    try:
        value = run_cell(source, scope, name)
    except CheckFailed as failed:
        return {"share": 0.0, "sentence": failed.sentence}
    except BaseException as error:
        return {"share": 0.0, "sentence": describe(error), "stopped": True}
    if isinstance(value, Result):
        value = value.looked()
        if value.kind == "form":
            return {"later": True, "sentence": ""}
        share = mean(part.ok for part in (value.parts.values() or [value]))
        return {"share": share, "sentence": "" if value.ok else value.sentence}
    if isinstance(value, float):
        return {"points": float(value), "sentence": getattr(value, "sentence", "")}
    return {"share": 1.0, "sentence": ""}


def run_cell(source: str, scope: dict[str, Any], name: str = "cell") -> Any:
    """Run a cell as a notebook does: the value of its last line, if that is an expression, is its value.

    Lines that speak to the notebook (`%pip …`, `!ls`) are left out: what they set up is there already.
    """
    if source.lstrip().startswith("%%"):
        return None
    tree = ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE), name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), scope)
    value = ast.Expression(last.value if isinstance(last, ast.Expr) else ast.Constant(None))
    return eval(compile(ast.fix_missing_locations(value), name, "eval"), scope)


if __name__ == "__main__":
    main()
