"""A student's install in Colab's versions: nothing is upgraded, and a check runs."""

import json
import shutil
import subprocess
import sys

import pytest
from environments import built_wheel

COLAB = ["ipywidgets==7.7.1", "ipython==7.34.0", "traitlets==5.7.1", "numpy==2.0.2"]

CHECK = """
import coursekit
from coursekit import checks
from coursekit.notation import Growth
print(checks.value(7.6009, checks.digest(7.6009, within=1e-5)).ok)
print(Growth("D*(V+d+D)").compare("V*D + D**2 + d*D").verdict)
import IPython
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance()
result = checks.choice("b", "a", options="abc")
print(type(result).__name__, result.ok, "<" in result._repr_html_())
try:
    coursekit.device()
except ImportError as error:
    print("needs PyTorch" in str(error))
"""


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=280, **more)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


def versions(python) -> dict[str, str]:
    listed = json.loads(run(python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"))
    return {p["name"].lower(): p["version"] for p in listed}


def interpreter() -> str:
    """Colab's Python where this machine has it, else ours: the versions below exist for both."""
    for name in ("python3.12", "python3.13"):
        found = shutil.which(name)
        if (
            found
            and subprocess.run([found, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0
        ):
            return found
    return sys.executable


@pytest.mark.slow
def test_the_base_wheel_upgrades_nothing_in_colab_and_a_check_runs(tmp_path, tmp_path_factory):
    wheel = built_wheel(tmp_path_factory)
    run(interpreter(), "-m", "venv", tmp_path / "colab")
    python = tmp_path / "colab" / "bin" / "python"
    pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    # Colab also has matplotlib already; a wheel needs no compiler, here as there.
    run(*pip, "--only-binary", ":all:", *COLAB, "matplotlib", "setuptools")
    before = versions(python)
    run(*pip, "--only-binary", ":all:", wheel)
    after = versions(python)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) <= {"coursekit", "lark"}
    out = run(python, "-c", CHECK, cwd=tmp_path).split()
    assert out == ["True", "equal", "Result", "False", "True", "True"]
