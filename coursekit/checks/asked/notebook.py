"""`whole_notebook`: run from the top in a fresh process, does the notebook still do what it did here?

Cells that were run out of order, or that lean on one deleted since, are the commonest cause of a lost point.
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
from typing import Any

from ..judging.student import Stopped, check, describe, stop
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
    return _report(cells, _fresh([_text(cell) for cell in cells], seconds), place)


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
    try:
        done = subprocess.run(
            command, input=json.dumps(sources).encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, timeout=seconds, check=False,
        )  # fmt: skip
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
        raise Stopped(
            wrong("missing", own=f"There is no file `{file}`: save the notebook, then name it here.")
        ) from None
    except (ValueError, OSError) as error:
        raise Stopped(wrong("type", own=f"`{file}` cannot be read as a notebook: {error}.")) from None


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


def _text(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


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
