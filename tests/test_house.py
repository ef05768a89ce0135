"""The house rules: who may import whom, and what the base install may need."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "coursekit"

# part -> the parts of coursekit that it may import (its own is always allowed)
MAY_IMPORT = {
    "notation": set(),
    "models": {"notation", "runtime"},
    "checks": {"notation", "runtime"},
    "data": {"notation", "runtime"},
    "figures": {"notation", "runtime", "data", "models"},
    "authoring": {"notation", "checks", "runtime", "version", "progress"},
    "book": {"notation", "models", "checks", "data", "figures", "authoring", "runtime", "version"},
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
            assert other != "grading" or part in {"grading", "cli", "doctor", "demo"}, (
                f"{where}: nothing imports grading"
            )
            if part in MAY_IMPORT and other != part:
                assert other in MAY_IMPORT[part] | {"version"}, f"{where}: {part} may not import {other}"
        elif names[0] in INSTRUCTORS_ONLY:
            assert part in MAY_USE_THEM, f"{where}: only grading, authoring and book import {names[0]}"


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
