"""The front of the language, cost, gradient, growth and the small evaluator need neither torch nor numpy."""

import subprocess
import sys

import pytest

LIGHT = [
    "parse.parser", "check.checker", "show", "latex", "names", "equations", "evaluate", "cost.costs", "grad.gradient",
    "formulas.growth", "formulas.closed_form", "run.sizes", "compare.mutate", "draw.drawing",
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
"""


@pytest.mark.parametrize("module", LIGHT)
def test_module_runs_without_torch_and_numpy(module):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_the_guard_would_see_an_import():
    """The test above can fail: a program that imports numpy under the same guard does."""
    program = PROGRAM.format(module="parse.parser") + "\nimport numpy\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "numpy" in done.stderr


def test_no_module_of_the_front_end_evaluates_text():
    """No eval, exec, compile or sympy anywhere in the reader."""
    import ast
    from pathlib import Path

    import coursekit.notation

    folder = Path(coursekit.notation.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), path
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [a.name for a in node.names] + [getattr(node, "module", "") or ""]
                assert not any(n.split(".")[0] == "sympy" for n in names), path
