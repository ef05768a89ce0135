"""The house rules: who may import whom, and what the base install may need."""

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "coursekit"

# part -> the parts of coursekit that it may import (its own is always allowed, and so is the ground floor)
GROUND = {"version", "expected", "files", "lazy", "runtime"}
MAY_IMPORT = {
    "notation": set(),
    "models": {"notation"},
    "checks": {"notation"},
    "data": {"notation"},
    "figures": {"notation", "data", "models"},
    "authoring": {"notation", "checks"},
    "book": {"notation", "models", "checks", "data", "figures", "authoring"},
}
# part -> room (a folder or a file of it) -> the rooms of the same part that it may import
ROOMS: dict[str, dict[str, str]] = {
    "grading": {
        "errors": "",
        "text": "",
        "nbgrader_config": "",
        "wire": "errors",
        "confine": "errors",
        "run": "errors text wire confine",  # knows tasks and outcomes, and nothing of a class
        "facts": "run",
        "assignment": "errors nbgrader_config facts run",
        "submissions": "errors text facts run",
        "gradebook": "errors facts",
        "pages": "text nbgrader_config facts run submissions gradebook",
        "pipeline": "errors facts run assignment submissions gradebook pages",
        "command": "errors facts run confine assignment submissions gradebook pages pipeline gradescope",
        "gradescope": "errors facts run assignment submissions gradebook pages pipeline",
        "prove": "errors facts run assignment confine",
        "self_check": "errors run submissions pages",
        "__init__": "errors confine run",
    },
    "checks": {
        "said": "",
        "shown": "said",
        "judging": "said shown",
        "diagnosis": "said shown judging",
        "asked": "said shown judging diagnosis",
        "__init__": "said shown judging diagnosis asked",
    },
    "notation": {
        "errors": "",
        "tree": "",
        "names": "",
        "polynomial": "errors",  # the one that costs and formulas of sizes are written in
        "system": "names tree",
        "indices": "tree",
        "functions": "names tree",
        "sums": "names tree",
        # Printers know nothing of the parser.
        "show": "functions names sums tree",
        "latex": "functions names show tree",
        "parse": "errors functions indices names show sums tree",
        # One scanner reads equations and formulas of sizes.
        "formulas": "errors indices latex names parse polynomial show tree",
        "meaning": "errors functions indices show system tree",
        "check": "errors indices meaning names show system tree",
        "code": "errors functions indices meaning system tree",
        "run": "code errors functions indices meaning system tree",
        "javascript": "code errors functions indices meaning system tree",
        "grad": "check errors functions indices meaning names system tree",
        "cost": "errors grad meaning polynomial system tree",
        "compare": "check errors functions indices meaning names run show system tree",
        "draw": "compare errors names show system tree",
        "equations": (
            "check code compare cost draw errors grad javascript latex meaning names parse run show system tree"
        ),
        "derive": "check compare equations errors functions grad indices latex names parse show system tree",
        "__init__": "derive equations errors formulas",
    },
}
# The book executes its pages itself; the rest of Jupyter is the instructor's.
INSTRUCTORS_ONLY = {"nbgrader", "nbformat", "jupytext", "dask", "distributed", "sqlalchemy", "nbclient"}
MAY_USE_THEM = {"grading", "authoring", "book"}


def imports(path: Path):
    """Every (module, line) that a file imports, relative ones made absolute."""
    package = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if node.module is None or module == "coursekit":
                yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield module, node.lineno


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_keep_to_the_plan(path):
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for module, line in imports(path):
        where = f"{path.relative_to(ROOT)}:{line}"
        names = module.split(".")
        if names[0] == "coursekit" and len(names) > 1:
            other = names[1]
            assert other != "grading" or part in {"grading", "cli"}, f"{where}: nothing imports grading"
            if part in MAY_IMPORT and other != part:
                ground = set() if part == "notation" else GROUND
                assert other in MAY_IMPORT[part] | ground, f"{where}: {part} may not import {other}"
            if part in ROOMS and other == part:
                room = path.relative_to(PACKAGE / part).parts[0].removesuffix(".py")
                wanted = names[2] if len(names) > 2 else "__init__"
                assert wanted in {room, *ROOMS[part][room].split()}, (
                    f"{where}: {room} may not import {wanted}"
                )
        elif names[0] in INSTRUCTORS_ONLY:
            assert part in MAY_USE_THEM, f"{where}: only grading, authoring and book import {names[0]}"


@pytest.mark.parametrize("part", ROOMS)
def test_no_room_stands_on_one_that_stands_on_it(part):
    rooms = {name: set(below.split()) for name, below in ROOMS[part].items()}
    assert rooms.keys() == {path.stem for path in (PACKAGE / part).iterdir() if path.name != "__pycache__"}
    TopologicalSorter(rooms).prepare()  # refuses a circle


def test_importing_coursekit_does_not_import_torch():
    code = "import coursekit, coursekit.checks, coursekit.notation, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_base_install_needs_what_colab_has_and_no_more():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {d.split(">")[0].split("=")[0] for d in project["dependencies"]}
    assert names == {"numpy", "matplotlib", "ipywidgets", "lark"}


def test_requirements_pin_every_version_exactly():
    rows = [r for r in (ROOT / "requirements.txt").read_text().splitlines() if r and not r.startswith("#")]
    assert all("==" in r and "@" not in r for r in rows)
    pins = dict(r.split("==") for r in rows)
    assert pins["torch"] == "2.13.0"
    assert pins["jupyter-book"] == "1.0.4.post1"
    assert {"nbgrader", "jupyterlab", "matplotlib", "ipywidgets"} <= set(pins)


def test_the_tree_is_the_documented_one():
    for name in ("book", "notebooks", "solutions", "coursekit", "tests", "_config.yml", "requirements.txt"):
        assert (ROOT / name).exists()


def test_ci_runs_the_readmes_command_and_nothing_else():
    rows = [r.strip() for r in (ROOT / ".ci" / "run").read_text().splitlines()]
    commands = [r for r in rows if r and not r.startswith(("#", "set ", "cd "))]
    assert commands == ["make test"]
    assert "make test" in (ROOT / "README.md").read_text()


def test_the_workflow_runs_the_same_command_on_every_python_that_is_promised():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    job = workflow["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert [step["run"] for step in job["steps"] if "run" in step][-1] == "make test PYTHON=python"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"


def test_the_map_shows_every_room_and_no_path_that_is_not_there():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    shown = {word.rstrip("/") for word in re.findall(r"`([\w.-]+(?:/[\w.-]*)+|\w+\.(?:md|yml|toml))`", text)}
    assert len(shown) > 60
    assert [path for path in sorted(shown) if not (ROOT / path).exists()] == []
    rooms = {str(path.parent.relative_to(ROOT)) for path in PACKAGE.glob("**/__init__.py")} - {"coursekit"}
    assert sorted(room for room in rooms if not any((p + "/").startswith(room + "/") for p in shown)) == []


def test_a_citation_names_the_version_that_is_installed():
    from coursekit.version import __version__

    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__
