"""`whole_notebook`: run from the top in a fresh process, does the notebook still do what it did here?

Cells that were run out of order, or that lean on one deleted since, are the commonest cause of a lost point.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .result import Result, right, wrong
from .student import Stopped, check

INSIDE = "COURSEKIT_FRESH_RUN"  # set in the fresh process, where this cell must not start another


@check
def whole_notebook(path: str | os.PathLike | None = None, *, seconds: float = 600) -> Result:
    """Run the notebook afresh and tell the points that its visible checks give; one part a graded cell.

    path  the saved notebook (default: the one that is open, where it can be found)

    In Colab the file is then offered for download; elsewhere the result says where it is.
    """
    if INSIDE in os.environ or "NBGRADER_EXECUTION" in os.environ:  # a grader runs the notebook itself
        return right("This cell is for the notebook's reader.")
    content, place = _find(path)
    cells = [cell for cell in content.get("cells", []) if cell.get("cell_type") == "code"]
    if not cells:
        return wrong(f"There are no code cells in {place}.", "empty")
    return _report(cells, _fresh([_text(cell) for cell in cells], seconds), place)


def _report(cells: list[Mapping], seen: list[dict], place: str) -> Result:
    parts: dict[str, Result] = {}
    rows, total, expected = [], 0.0, 0.0
    for number, (cell, answer) in enumerate(zip(cells, seen, strict=False)):
        mark = cell.get("metadata", {}).get("nbgrader", {})
        name = str(mark.get("grade_id") or f"cell {number + 1}")
        if mark.get("grade") and not mark.get("solution"):
            points = float(mark.get("points", 0))
            earned = min(points, answer["points"] if "points" in answer else points * answer["share"])
            total, expected = total + points, expected + earned
            rows.append((name, f"{earned:g} of {points:g}", answer["sentence"]))
            parts[name] = right("Right.") if earned == points else wrong(answer["sentence"], "points")
        elif answer.get("stopped"):
            parts[name] = wrong(f"`{name}`: {answer['sentence']}", "error")
            rows.append((name, "", answer["sentence"]))
    if len(seen) < len(cells):
        parts["time"] = wrong(f"The run did not get past code cell {len(seen) + 1}.", "timeout")
    failed = [name for name, part in parts.items() if not part.ok]
    numbers = {"columns": ("cell", "points", ""), "rows": tuple(rows), "parts": parts}
    told = f"{expected:g} of {total:g} points from the visible checks; hidden tests may see more"
    if not failed:
        return right(f"Run from the top, {place} gives {told}. Hand in this file.", **numbers)
    stopped = [part.sentence for part in parts.values() if part.kind in ("error", "timeout")]
    reason = " " + " ".join(stopped) if stopped else ""
    return wrong(f"Run from the top, {place} gives {told}.{reason}", "fresh-run", **numbers)


def _fresh(sources: list[str], seconds: float) -> list[dict]:
    """What each cell gave, as far as the run came."""
    environment = {**os.environ, INSIDE: "1", "MPLBACKEND": "Agg"}
    command = [sys.executable, "-m", "coursekit.checks.fresh"]
    try:
        done = subprocess.run(
            command, input=json.dumps(sources).encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, timeout=seconds, check=False,
        )  # fmt: skip
        output = done.stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
    return [json.loads(line) for line in output.decode().splitlines() if line.endswith("}")]


def _find(path: str | os.PathLike | None) -> tuple[Mapping, str]:
    """The notebook and how to call it."""
    if path is None and "google.colab" in sys.modules:
        return _from_colab()
    file = Path(path) if path is not None else _open_file()
    try:
        return json.loads(file.read_text(encoding="utf-8")), f"`{file.name}`"
    except FileNotFoundError:
        raise Stopped(
            wrong(f"There is no file `{file}`: save the notebook, then name it here.", "missing")
        ) from None
    except (ValueError, OSError) as error:
        raise Stopped(wrong(f"`{file}` cannot be read as a notebook: {error}.", "type")) from None


def _open_file() -> Path:
    """The notebook whose kernel this is, as the server names it; else the only one in this folder."""
    named = os.environ.get("JPY_SESSION_NAME", "")
    if named.endswith(".ipynb") and Path(named).exists():
        return Path(named)
    here = sorted(Path.cwd().glob("*.ipynb"))
    if len(here) == 1:
        return here[0]
    raise Stopped(wrong('Name the saved notebook: `checks.whole_notebook("NAME.ipynb")`.', "missing"))


def _from_colab() -> tuple[Mapping, str]:
    """Colab keeps the notebook in the browser: ask for it, and offer it back as a file."""
    from google.colab import _message, files  # type: ignore[import-not-found]

    answer = _message.blocking_request("get_ipynb", request="", timeout_sec=60)
    content = answer["ipynb"]
    name = content.get("metadata", {}).get("colab", {}).get("name", "notebook.ipynb")
    Path(name).write_text(json.dumps(content), encoding="utf-8")
    files.download(name)
    return content, f"`{name}`"


def _text(cell: Mapping) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)
