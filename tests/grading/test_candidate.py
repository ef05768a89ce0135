"""What a student's notebook may do: everything that works in Colab works here, and is captured."""

from __future__ import annotations

import pytest


@pytest.fixture
def run_cell(grade_cells):
    def run(source: str, **options):
        return grade_cells(("extra", source), **options).cells[0]

    return run


def kinds(cell) -> list[str]:
    return [output.kind for output in cell.outputs]


def test_print_and_the_last_expression_are_captured(run_cell):
    cell = run_cell("print('hello')\n6 * 7")
    assert [(o.kind, o.data) for o in cell.outputs] == [("stdout", "hello\n"), ("text/plain", "42")]


def test_stderr_and_child_processes_are_captured(run_cell):
    cell = run_cell(
        "import os, sys\nprint('oops', file=sys.stderr)\nos.system('echo from a shell')\n!echo from a magic"
    )
    text = {o.kind: "" for o in cell.outputs}
    for output in cell.outputs:
        text[output.kind] += output.data
    assert text["stderr"] == "oops\n"
    assert "from a shell" in text["stdout"]
    assert "from a magic" in text["stdout"]


def test_display_and_rich_values_are_captured(run_cell):
    cell = run_cell("from IPython.display import HTML, display\ndisplay(HTML('<b>1</b>'))\nHTML('<i>2</i>')")
    assert [o.data for o in cell.outputs if o.kind == "text/html"] == ["<b>1</b>", "<i>2</i>"]


def test_a_figure_becomes_a_picture(run_cell):
    cell = run_cell("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
    pictures = [o.data for o in cell.outputs if o.kind == "image/png"]
    assert cell.status == "ok", cell
    assert len(pictures) == 1
    assert pictures[0].startswith(b"\x89PNG")


def test_magics_work_and_installs_are_not_tried(run_cell):
    cell = run_cell("!pip install coursekit\n%pip install torch\n%load_ext autoreload\n%time x = 1\nx")
    assert cell.status == "ok", cell
    assert "not run while grading" in cell.outputs[0].data


def test_cell_magics_work(run_cell):
    cell = run_cell("%%time\ny = 3\nprint(y)")
    assert cell.status == "ok", cell
    assert "3" in cell.outputs[0].data


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\n1 / 0", "ZeroDivisionError: division by zero (line 2)"),
        ("def f(:\n  pass", "SyntaxError"),
        ("  x = (", "SyntaxError"),
        ("raise ValueError('a' * 10_000)", "ValueError: aaa"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("undefined", "NameError: name 'undefined' is not defined (line 1)"),
    ],
)
def test_an_error_is_told_in_the_students_terms(run_cell, source, words):
    cell = run_cell(source)
    assert cell.status == "error"
    assert cell.error.startswith(words)
    assert len(cell.error) < 520


def test_later_cells_run_after_an_error(grade_cells):
    outcome = grade_cells(
        ("solution", "1 / 0"), ("solution", "def f(): return 1"), ("test", "assert f() == 1")
    )
    assert outcome.score == 1


def test_output_is_cut_not_lost(run_cell):
    cell = run_cell("print('x' * 10**7)\nprint('y')")
    assert cell.status == "ok"
    assert cell.outputs[0].data.endswith("[the rest of the output was dropped]\n")
    assert len(cell.outputs[0].data) < 210_000


def test_data_files_are_in_the_working_directory(grade_cells):
    files = {"data/words.txt": b"a b c"}
    outcome = grade_cells(
        ("solution", "def words(): return open('data/words.txt').read().split()"),
        ("test", "assert words() == open('data/words.txt').read().split() == ['a', 'b', 'c']"),
        files=files,
    )
    assert outcome.score == 1, outcome


def test_files_that_the_student_writes_stay_for_later_cells(grade_cells):
    outcome = grade_cells(
        ("solution", "open('mine.txt', 'w').write('kept')"),
        ("solution", "def read(): return open('mine.txt').read()"),
        ("test", "assert read() == 'kept'"),
    )
    assert outcome.score == 1, outcome


def test_a_device_that_is_not_there_becomes_the_one_that_is(grade_cells):
    source = """
import torch
device = torch.device('cuda')
model = torch.nn.Linear(2, 1).to('cuda')
x = torch.ones(3, 2, device=device).cuda()
def predict(): return model(x.to(device=device)).detach()
"""
    outcome = grade_cells(("solution", source), ("test", "assert predict().shape == (3, 1)"))
    assert outcome.score == 1, outcome


def test_the_seed_is_the_same_for_every_submission(grade_cells):
    source = (
        "import numpy as np, random, torch\nprint(random.random(), np.random.rand(), torch.rand(1).item())"
    )
    drawn = [grade_cells(("extra", source)).cells[0].outputs[0].data for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_optimizers_and_backward_work_after_the_fork(grade_cells):
    source = """
import torch
w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.Adam([w], lr=0.1)
for _ in range(50):
    optimizer.zero_grad(); loss = ((w - 1) ** 2).sum(); loss.backward(); optimizer.step()
def final(): return loss.item()
"""
    outcome = grade_cells(("solution", source), ("test", "assert final() < 0.1"))
    assert outcome.score == 1, outcome


def test_a_shells_words_are_filled_in_from_the_notebook(run_cell):
    cell = run_cell("word = 'hello'\nlines = !echo {word}\n!echo $word again\nlines[0]")
    assert [o.data for o in cell.outputs] == ["hello again\n", "'hello'"], cell
