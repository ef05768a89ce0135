"""`coursekit check FILE`, as a student runs it: the visible tests, and what is wrong in words."""

from pathlib import Path

import pytest
import small_course as small
from typer.testing import CliRunner

from coursekit.cli.commands import app
from coursekit.grading.errors import GradingError
from coursekit.grading.self_check import self_check

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_student_is_told_what_passes_and_what_does_not(tmp_path):
    made = small.solved(small.sums(), mean="def mean(xs):\n    return 7", norm="1 / 0")
    path = tmp_path / "Copy of sums.ipynb"
    path.write_bytes(small.saved(made))
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 1
    lines = {line.split()[1]: line for line in result.output.splitlines() if line[:1] in "✓✗"}
    assert lines["test_total"].startswith("✓")
    assert lines["test_mean"].startswith("✗")
    assert "ZeroDivisionError" in lines["norm"]
    assert lines["test_norm"].startswith("✗")


@pytest.mark.slow
def test_the_courses_own_notebook_is_checked_with_its_sentences():
    """The release, blank: every check says that there is no answer yet."""
    verdicts = list(self_check(ROOT / "notebooks" / "bptt" / "bptt.ipynb"))
    found = {c.id: c for c in verdicts}
    assert not found["test_forward"].ok
    assert "forward" in found["test_forward"].sentence
    assert "edges" not in found, "a stub runs through"
    order = [c.id for c in verdicts]
    assert order.index("test_forward") < order.index("test_edges")


def test_what_cannot_be_checked_is_one_sentence(tmp_path):
    with pytest.raises(GradingError, match="cannot be read"):
        list(self_check(tmp_path / "none.ipynb"))
    path = tmp_path / "list.ipynb"
    path.write_bytes(b"[]")
    with pytest.raises(GradingError, match="this is not a notebook"):
        list(self_check(path))
    path.write_bytes(small.saved(small.notebook(small.code("x = 1"))))
    with pytest.raises(GradingError, match="has no tests"):
        list(self_check(path))
