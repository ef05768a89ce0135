"""Every solution, and every test that grades it, keeps to the device of its inputs: proved without a GPU.

The instructor's notebook is run cell by cell. Each tensor that a check gives to an answer lies on a pretend device
(see `tests/shared/pretend_device.py`), where an operation that mixes devices fails as it would on a GPU.
"""

import functools
import inspect
from pathlib import Path

import pytest
import torch
from pretend_device import PRETEND, pretend_device

from coursekit import checks
from coursekit.authoring.course import Course
from coursekit.authoring.fences import outside_markers, without_markers
from coursekit.authoring.release import instructor_notebook
from coursekit.authoring.source import RESERVED, read

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)
# These train for minutes here: only their visible part is run, which trains a little too.
LONG = ("test_learn", "test_corpus")
# This one trains on a grid, cell by cell: two steps show where its tensors lie, and then it has learned nothing.
SHORTER = {"train": ("range(100)", "range(2)")}
UNTRAINED = ("test_train",)


class ElsewhereChecks:
    """`checks` as a notebook on another device would use them: what answers are given lies there."""

    def __init__(self, device):
        self._device, self.results = device, []

    def __getattr__(self, name):
        original = getattr(checks, name)
        if name == "properties":
            call = lambda answer, *args, **kwargs: original(self._elsewhere(answer), *args, **kwargs)
        elif callable(original) and "given" in inspect.signature(original).parameters and name != "big_o":
            call = functools.partial(self._placing, original)
        else:
            return original
        return lambda *args, **kwargs: self._keep(name, call(*args, **kwargs))

    def _placing(self, original, *args, **kwargs):
        common = {name: kwargs.pop(name) for name in ("mistakes", "hint") if name in kwargs}  # of all checks
        bound = inspect.signature(original).bind(*args, **kwargs)
        if "given" in bound.arguments:
            bound.arguments["given"] = self._device.place(bound.arguments["given"])
        return original(*bound.args, **bound.kwargs, **common)

    def _elsewhere(self, answer):
        if not callable(answer):
            return answer

        @functools.wraps(answer)
        def there(*args, **kwargs):
            return self._device.fetch(answer(*self._device.place(args), **self._device.place(kwargs)))

        return there

    def _keep(self, name, result):
        self.results.append((name, result))
        return result


@pytest.fixture
def default_dtype():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(before)


def run_elsewhere(notebook, device):
    """Run every cell; what the checks said, and on which cell."""
    elsewhere = ElsewhereChecks(device)
    scope = {"checks": elsewhere}
    said = {}
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type != "code" or grade_id in RESERVED:
            continue
        elsewhere.results.clear()
        try:
            text = outside_markers(cell.source) if grade_id in LONG else without_markers(cell.source)
            if grade_id in SHORTER:
                assert SHORTER[grade_id][0] in text
                text = text.replace(*SHORTER[grade_id])
            exec(compile(text, grade_id or "cell", "exec"), scope)
        except checks.CheckFailed as failed:
            said[grade_id] = failed.sentence
        for name, result in elsewhere.results:
            if not result.ok:
                said[grade_id] = f"{name}: {result}"
        if (
            grade_id in UNTRAINED
            and "learned" in (words := str(said.get(grade_id)))
            and "device" not in words
        ):
            del said[grade_id]
    return said


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("assignment", COURSE.assignments())
def test_a_solution_and_its_tests_keep_to_the_device_of_their_inputs(assignment, default_dtype, monkeypatch):
    source = read(COURSE.solutions / assignment / f"{assignment}.md")
    with pretend_device() as device:
        monkeypatch.setattr("coursekit.train.best_device", lambda: PRETEND)
        assert run_elsewhere(instructor_notebook(source, COURSE), device) == {}


def test_a_solution_that_forgets_its_device_is_found(default_dtype):
    """A planted fault, to show that the test above can fail."""
    source = read(COURSE.solutions / "bptt" / "bptt.md")
    notebook = instructor_notebook(source, COURSE)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "grad_h_prev":
            cell.source += (
                "\n_right = grad_h_prev\ndef grad_h_prev(*a):\n    return _right(*a) + torch.zeros(5)\n"
            )
    notebook.cells = notebook.cells[: 2 + [
        c.metadata.get("nbgrader", {}).get("grade_id") for c in notebook.cells
    ].index("grad_h_prev")]  # fmt: skip
    with pretend_device() as device:
        said = run_elsewhere(notebook, device)
    assert "two devices" in said["test_grad_h_prev"]
