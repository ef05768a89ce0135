"""The front of the language, cost, gradient, growth and the small evaluator need neither torch nor numpy."""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import coursekit.notation

LIGHT = [
    "parse.parser", "check.checker", "show", "latex", "names", "equations", "meaning.evaluate", "meaning.sizes",
    "cost.costs", "grad.gradient", "formulas.growth", "formulas.closed_form", "compare.mutate", "draw.drawing",
    "javascript.function", "compare.comparison",
]  # fmt: skip

PROGRAM = """
import sys
for heavy in ("torch", "numpy"):
    sys.modules[heavy] = None  # any import of it now fails
import importlib
importlib.import_module("coursekit.notation.{module}")
from coursekit.notation import Equations
from coursekit.notation.show import show
equations = Equations("h[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])")
assert equations.outputs == ("h",)
assert "tanh" in equations.latex()
assert show(equations.program) == str(equations)
found = equations.compare("h[t,j] = tanh(W[I,j] h[t-1,I] + x[t,j])")
assert (found.equal, found.kind) == (False, "transpose"), found
"""


@pytest.mark.parametrize("module", LIGHT)
def test_module_runs_without_torch_and_numpy(module):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_comparing_and_deriving_work_from_a_zip_without_torch_and_numpy(tmp_path):
    """As a page has it: nothing of the course lies on the disk."""
    folder = Path(coursekit.notation.__file__).parent
    with zipfile.ZipFile(tmp_path / "course.zip", "w") as archive:
        archive.writestr("coursekit/__init__.py", "")
        for path in (p for p in folder.rglob("*") if p.suffix in (".py", ".lark")):
            archive.write(path, f"coursekit/notation/{path.relative_to(folder).as_posix()}")
    program = f"import sys; sys.path.insert(0, {str(tmp_path / 'course.zip')!r})\n"
    program += PROGRAM.format(module="compare.comparison")
    program += "import coursekit.notation as read\nassert 'course.zip' in read.__file__, read.__file__\n"
    program += "steps = read.Derivation('J = x[I]^2').check('dJ/dx[i] = 2 x[i] = x[i]')\n"
    program += "assert [s.verdict for s in steps] == ['right', 'wrong'], steps\n"
    program += "assert 'const f = ' in read.Equations('y[i] = x[i]').javascript('f')\n"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_guard_would_see_an_import():
    """The test above can fail: a program that imports numpy under the same guard does."""
    program = PROGRAM.format(module="parse.parser") + "\nimport numpy\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "numpy" in done.stderr


def executed(text: str) -> list[str]:
    """What a module names or imports by which text could be run."""
    ways, found = {"eval", "exec", "compile", "__import__", "__builtins__"}, []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and node.id in ways:
            found.append(node.id)
        if isinstance(node, ast.Attribute) and node.attr in ways - {"compile"}:
            found.append(node.attr)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in node.names]
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            found += [n for n in names if n in ways or n.split(".")[0] == "sympy"]
    return found


def test_one_place_of_the_language_alone_executes_text():
    """No eval, compile or sympy anywhere, and one exec: of what `run` wrote (see `test_run_text`)."""
    files = list(Path(coursekit.notation.__file__).parent.rglob("*.py"))
    assert len(files) > 80
    found = {path.name: ways for path in files if (ways := executed(path.read_text(encoding="utf-8")))}
    assert found == {"runner.py": ["exec"]}


@pytest.mark.parametrize(
    "planted",
    ["eval('1')", "x = [exec]", "import sympy", "from builtins import eval as e", "builtins.eval(x)"],
)
def test_the_guard_sees_a_planted_way_to_run_text(planted):
    assert executed(planted)
    assert not executed("import re\nre.compile('x')\nfrom .code import function")
