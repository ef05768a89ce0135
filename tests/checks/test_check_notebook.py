"""A notebook run afresh: what depends on the state of a long session shows."""

import json
import sys
import types

import pytest

from coursekit import checks


def code(source, **nbgrader):
    return {"cell_type": "code", "source": source, "metadata": {"nbgrader": nbgrader} if nbgrader else {}}


def graded(source, points, grade_id):
    return code(source, grade=True, solution=False, points=points, grade_id=grade_id)


SETUP = code("import importlib.util\nif False:\n    %pip install nothing\n!ls\nfrom coursekit import checks")
LAST = code("checks.whole_notebook()")


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)

    def run(*cells, name="bptt.ipynb", **options):
        (tmp_path / name).write_text(
            json.dumps({"cells": [SETUP, *cells, LAST], "metadata": {}, "nbformat": 4})
        )
        return checks.whole_notebook(**options)

    return run


def test_notebook_in_order_gets_all_its_points(notebook):
    result = notebook(
        {"cell_type": "markdown", "source": "text", "metadata": {}},
        code(["answer = 3\n", "print('noise')"]),
        graded("checks.value(answer, 3).require()", 4, "test_a"),
        graded("checks.value(answer, 3).score(6)", 6, "test_b"),
        code("%%bash\necho hello"),
    )
    assert result.ok, result
    assert "10 of 10 points" in result.sentence
    assert "`bptt.ipynb`" in result.sentence


def test_wrong_answer_loses_its_points_and_keeps_its_sentence(notebook):
    result = notebook(
        code("a, b = 3, 5"),
        graded("checks.value(a, 3).require()", 4, "test_a"),
        graded("checks.value(b, 4).require()", 6, "test_b"),
        graded("checks.value(b, 4)", 2, "shown_only"),
        graded("checks.value([3, 5], [3, 4]).score(8)", 8, "test_parts"),
    )
    assert not result.ok
    assert "8 of 20 points" in result.sentence
    assert {name: part.ok for name, part in result.parts.items()} == {
        "a": True, "b": False, "shown_only": False, "parts": False,
    }  # fmt: skip
    assert result.part("b").sentence == "5 is not right."


def test_cell_that_leans_on_a_later_one_is_found(notebook):
    """In the student's session `width` was defined, because the cells ran in another order."""
    result = notebook(
        code("size = 2 * width"), code("width = 3"), graded("checks.value(width, 3).require()", 1, "t")
    )
    assert not result.ok
    assert "`cell 2`: NameError: name 'width' is not defined." in result.sentence
    assert result.part("t").ok


@pytest.mark.slow
def test_cell_that_ends_the_process_or_never_ends_is_told(notebook):
    ended = notebook(code("import os\nos._exit(0)"), graded("1", 3, "t"))
    assert "did not get past code cell 2" in ended.sentence
    endless = notebook(code("while True: pass"), graded("1", 3, "t"), seconds=6)
    assert "did not get past code cell" in endless.sentence


def test_student_cannot_write_into_the_report(notebook):
    forged = 'import sys, os\nprint(\'{"share": 1.0, "sentence": ""}\')\nos.write(1, b\'{"points": 9}\\n\')'
    result = notebook(code(forged), graded("checks.value(1, 2).require()", 3, "t"))
    assert "0 of 3 points" in result.sentence


@pytest.mark.parametrize("name", ["missing.ipynb", None])
def test_notebook_that_cannot_be_found_gets_a_sentence(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    result = checks.whole_notebook(name)
    assert result.kind == "missing"
    (tmp_path / "bad.ipynb").write_text("{")
    assert checks.whole_notebook("bad.ipynb").kind == "type"
    (tmp_path / "empty.ipynb").write_text("{}")
    assert checks.whole_notebook("empty.ipynb").kind == "empty"


def test_server_names_the_open_notebook(notebook, tmp_path, monkeypatch):
    (tmp_path / "other.ipynb").write_text("{}")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "mine.ipynb"))
    assert "`mine.ipynb`" in notebook(graded("1", 3, "t"), name="mine.ipynb").sentence


def test_colab_gives_the_notebook_and_gets_a_file_back(tmp_path, monkeypatch):
    """Colab's modules are imitated: it answers `get_ipynb` with the notebook as it stands in the browser."""
    monkeypatch.chdir(tmp_path)
    content = {"cells": [SETUP, graded("checks.value(3, 3).require()", 2, "t"), LAST],
               "metadata": {"colab": {"name": "Copy of bptt.ipynb"}}}  # fmt: skip
    offered = []
    colab = types.ModuleType("google.colab")
    colab._message = types.SimpleNamespace(blocking_request=lambda *a, **k: {"ipynb": content})
    colab.files = types.SimpleNamespace(download=offered.append)
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    result = checks.whole_notebook()
    assert result.ok, result
    assert offered == ["Copy of bptt.ipynb"]
    assert json.loads((tmp_path / "Copy of bptt.ipynb").read_text()) == content
