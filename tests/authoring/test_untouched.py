"""A released notebook that nobody has touched runs from top to bottom: each question says that it is not answered."""

import contextlib
import io

import nbformat
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from .test_release import COURSE, NAMES

UNANSWERED = ("not written yet", "no answer", "returns nothing", "not chosen", "There is no", "here yet")


@pytest.fixture
def shell():
    before = torch.get_default_dtype()
    yield InteractiveShell()
    torch.set_default_dtype(before)


def run_all(shell, notebook):
    """What each cell did: its grade_id, its value, its error, and what it printed."""
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type == "code" and grade_id != "finish":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                done = shell.run_cell(cell.source)
            yield (
                cell.metadata.get("nbgrader", {}),
                done.result,
                done.error_before_exec or done.error_in_exec,
                printed.getvalue(),
            )


@pytest.mark.parametrize("name", NAMES)
def test_run_all_goes_through_and_each_question_says_that_it_is_unanswered(name, shell):
    notebook = nbformat.read(COURSE.notebooks / name / f"{name}.ipynb", as_version=4)
    asked = 0
    for info, result, error, _ in run_all(shell, notebook):
        assert error is None, f"{info.get('grade_id')}: {type(error).__name__}: {error}"
        if info.get("grade"):
            asked += 1
            assert not result.ok
            assert any(words in result.sentence for words in UNANSWERED), (
                f"{info['grade_id']}: {result.sentence}"
            )
            assert "\n" not in result.sentence
    assert asked > 5


def test_where_the_package_cannot_be_fetched_one_sentence_says_what_to_do(shell, monkeypatch):
    import importlib.util

    notebook = nbformat.read(COURSE.notebooks / "bptt" / "bptt.ipynb", as_version=4)
    setup = next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "setup")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    lines = setup.source.splitlines()
    pip = next(n for n, line in enumerate(lines) if "%pip" in line)
    lines[pip] = "    pass  # the network is not there"
    setup.source = "\n".join(lines)
    notebook.cells = [setup]
    ((_, _, error, printed),) = run_all(shell, notebook)
    assert error is None
    assert printed.count(".\n") == 1
    assert COURSE.wheel_url in printed
    assert "run this cell again" in printed
