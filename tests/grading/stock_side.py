"""nbgrader's own test notebooks, graded by stock nbgrader; what it gave is kept in `stock_side.json`.

The notebooks are those of the installed nbgrader, which is pinned; none is copied here. What is kept goes by their
content and nbgrader's version, so that another one is graded anew: `python tests/grading/stock_side.py`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import nbgrader

HOME = Path(nbgrader.__file__).parent / "tests"
KEPT = Path(__file__).with_suffix(".json")
AUTOTESTS = HOME / "apps" / "files" / "autotests.yml"
SECONDS = 5  # a cell of theirs never ends


def marks(path: Path) -> list[dict]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = (cell["metadata"].get("nbgrader", {}) for cell in cells)
    return [one for one in found if one.get("grade") or one.get("task")]


def notebooks() -> dict[str, Path]:
    """Each of nbgrader's test notebooks that has a graded cell, by a name that can be an assignment's."""
    found = (path for path in sorted(HOME.rglob("*.ipynb")) if marks(path))
    return {f"{path.parent.parent.name}_{path.stem}": path for path in found}


def handed_in(path: Path) -> dict[str, Path]:
    """Who hands in what for it: the notebook itself and, where nbgrader's tests have some, students' copies of it."""
    stem = path.stem.removesuffix("-unchanged")
    base = path.stem == "submitted-unchanged" or (
        path.stem.startswith("autotest") and path.stem.count("-") == 1
    )
    ids = {one.get("grade_id") for one in marks(path)}
    others = (other for other in sorted(path.parent.glob(f"{stem}-*.ipynb")) if base and other != path)
    return {"own": path} | {o.stem: o for o in others if {m.get("grade_id") for m in marks(o)} == ids}


def key(path: Path) -> str:
    total = hashlib.sha256(nbgrader.__version__.encode() + AUTOTESTS.read_bytes())
    for name, handed in handed_in(path).items():
        total.update(name.encode() + b"\0" + handed.read_bytes())
    return total.hexdigest()


def kept() -> dict[str, dict]:
    """Notebook -> student -> cell -> score (None: for a person), or why it was refused; what is missing is made."""
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    missing = {name: path for name, path in notebooks().items() if key(path) not in known}
    made = graded(missing)
    found = {key(path): known.get(key(path)) or made[name] for name, path in notebooks().items()}
    if made:
        KEPT.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
    return {name: found[key(path)] for name, path in notebooks().items()}


def graded(wanted: dict[str, Path]) -> dict[str, dict]:
    """By stock nbgrader, in one process and one course."""
    if not wanted:
        return {}
    from nbgrader.api import Gradebook
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    from coursekit.runtime import find_own_scripts

    find_own_scripts()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        root, config = Path(folder), Config()
        config.CourseDirectory.root = folder
        config.CourseDirectory.db_url = url = f"sqlite:///{root / 'gradebook.db'}"
        config.Execute.timeout = SECONDS
        api = NbGraderAPI(CourseDirectory(config=config), config=config)
        for name, path in wanted.items():
            put(path, root / "source" / name)
            done = api.generate_assignment(name, force=True, create=True)
            if not done["success"]:
                results[name] = {"refused": why(done["log"])}
                continue
            results[name] = {}
            for student, handed in {
                "blank": root / "release" / name / "one.ipynb",
                **handed_in(path),
            }.items():
                put(handed, root / "submitted" / student / name)
                done = api.autograde(name, student)
                with Gradebook(url) as gradebook:
                    grades = [g for n in gradebook.find_submission(name, student).notebooks for g in n.grades]
                    scores = {g.name: None if g.needs_manual_grade else g.auto_score for g in grades}
                results[name][student] = scores if done["success"] else {"refused": why(done["log"])}
    return results


def put(notebook: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    shutil.copy(notebook, folder / "one.ipynb")
    shutil.copy(AUTOTESTS, folder)


def why(log: str | None) -> str:
    """The last line of nbgrader's log that names an error."""
    lines = [line for line in (log or "").splitlines() if "Error" in line]
    return lines[-1].split("] ")[-1][:200] if lines else "refused"


def main(names: Iterable[str]) -> None:
    chosen = {name: path for name, path in notebooks().items() if name in set(names)}
    print(json.dumps(graded(chosen) if chosen else kept(), indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
