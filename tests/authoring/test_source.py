"""A source is refused with its file, its line and the repair; a good one is read whole."""

from pathlib import Path

import pytest

from coursekit.authoring.fences import inside_markers, outside_markers, without_markers
from coursekit.authoring.source import SourceError, read

GOOD = """\
---
points: 3
---

# A small assignment

```{answer} double rnn
def double(x):
    \"\"\"twice x\"\"\"
    return 2 * x
```
```{test} 3
assert double(2) == 4
### HIDDEN TESTS
assert double(5) == 10
```
```{forms}
mistakes:
- squared: You squared the number.
  change: 2 * x -> x ** 2
right:
- sum: 2 * x -> x + x
```
"""


@pytest.fixture
def write(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "small" / "small.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_a_source_is_read_with_its_questions(write):
    source = read(write(GOOD))
    (question,) = source.questions
    assert (source.name, source.title, source.points) == ("small", "A small assignment", 3)
    assert (question.id, list(question.tests), question.points) == ("double", ["test_double"], 3)
    assert question.chapter == "rnn"
    assert "return x ** 2" in question.mistakes[0].answer
    assert question.mistakes[0].sentence == "You squared the number."
    assert "return x + x" in question.right[0].answer
    assert not any(cell.cell_type == "raw" for cell in source.notebook.cells)


def test_what_is_not_written_gets_nbgraders_defaults(write):
    cells = {
        c.metadata.nbgrader.grade_id: c for c in read(write(GOOD)).notebook.cells if "nbgrader" in c.metadata
    }
    assert cells["double"].metadata.nbgrader == {
        "grade": False, "grade_id": "double", "locked": False, "schema_version": 3, "solution": True, "task": False,
    }  # fmt: skip
    assert cells["test_double"].metadata.nbgrader["locked"] is True


def test_cell_ids_are_the_same_at_every_reading(write):
    path = write(GOOD)
    assert [c.id for c in read(path).notebook.cells] == [c.id for c in read(path).notebook.cells]


BAD = {
    "duplicate grade_id": ("{test} 3", "{test} 3 double", "`double` stands on line 7", 12),
    "a cell that release adds": ("{answer} double", "{answer} setup", "choose another name", 7),
    "missing name": ("{answer} double rnn", "{answer}", "takes 1 to 2 words and has 0", 7),
    "no test at all": ("```{test} 3", "```{given} more", "has no test", 7),
    "points missing": ("{test} 3", "{test}", "takes 1 to 2 words and has 0", 12),
    "points in words": ("{test} 3", "{test} three", "the points are 'three'; write a number", 12),
    "points do not add up": ("points: 3\n---", "points: 4\n---", "promises 4 points and the cells add up to 3", 1),
    "fence not closed": ("- sum: 2 * x -> x + x\n```", "- sum: 2 * x -> x + x", "never closed", 17),
    "unknown fence": ("{answer} double rnn", "{code-cell} ipython3", "there is no fence `{code-cell}`", 7),
    "test before answers": ("```{answer} double rnn", "```{test} 1\n```\n```{answer} double", "before any answer", 7),
    "mistake that changes nothing": ("2 * x -> x ** 2", "3 * x -> x", "stands 0 times", 17),
    "mistake without sentence": ("squared: You squared the number.", "squared:", "lacks its name or its sentence", 17),
    "mistakes not a list": ("right:\n- sum: 2 * x -> x + x", "right: none", "must be a list", 17),
    "mistakes not YAML": ("- squared: You", "- squared: [", "is not YAML", 17),
    "forms of an unknown kind": ("mistakes:", "errors:", "has no 'errors'; it has `mistakes`", 17),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_source_is_refused_with_the_place_and_the_repair(write, case):
    old, new, message, line = BAD[case]
    assert old in GOOD
    with pytest.raises(SourceError, match=None) as raised:
        read(write(GOOD.replace(old, new, 1)))
    assert message in str(raised.value)
    assert "small.md" in str(raised.value)
    assert raised.value.line == line


def test_markers_divide_a_cell():
    text = "a\n### BEGIN SOLUTION\nb\n### END SOLUTION\nc\n"
    assert inside_markers(text) == "b\n"
    assert outside_markers(text) == "a\nc\n"
    assert without_markers(text) == "a\nb\nc\n"
