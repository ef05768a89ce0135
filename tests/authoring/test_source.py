"""A source is refused with its file, its line and the repair; a good one is read whole."""

from pathlib import Path

import pytest

from coursekit.authoring.source import SourceError, inside_markers, outside_markers, read, without_markers

GOOD = """\
---
kernelspec: {display_name: Python 3, language: python, name: python3}
points: 3
---

# A small assignment

```{code-cell} ipython3
---
nbgrader: {grade_id: double, solution: true}
---
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
```

```{code-cell} ipython3
---
nbgrader: {grade_id: test_double, grade: true, points: 3}
---
assert double(2) == 4
### BEGIN HIDDEN TESTS
assert double(5) == 10
### END HIDDEN TESTS
```

```{raw-cell}
---
mistakes: double
---
- name: squared
  sentence: You squared the number.
  old: "2 * x"
  new: "x ** 2"
```

```{raw-cell}
---
right: double
---
- name: sum
  old: "2 * x"
  new: "x + x"
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
    assert (question.id, question.tests, question.points) == ("double", ["test_double"], 3)
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
    "duplicate grade_id": ("grade_id: test_double", "grade_id: double", "`double` stands on line", 18),
    "missing grade_id": ("grade_id: double, ", "", "no grade_id", 8),
    "solution without test": ("grade: true, points: 3", "locked: true", "is no grade cell", 18),
    "no test at all": ("grade: true, points: 3}\n---\nassert double(2) == 4\n### BEGIN HIDDEN TESTS\nassert double(5) == 10\n### END HIDDEN TESTS", "locked: true}\n---\n1", "has no test", 8),  # noqa: E501
    "points missing": (", points: 3}", "}", "has no points", 18),
    "points in words": ("points: 3}", "points: three}", "has the points 'three'; write a number", 18),
    "points do not add up": ("points: 3\n---", "points: 4\n---", "promises 4 points and the cells add up to 3", 1),
    "hidden test not closed": ("### END HIDDEN TESTS", "", "never closed", 18),
    "hidden test not opened": ("### BEGIN HIDDEN TESTS\n", "", "has no partner", 24),
    "solution not closed": ("    ### END SOLUTION\n", "", "never closed", 8),
    "solution unmarked": ("    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION\n", "    return 2 * x\n", "would be released", 8),  # noqa: E501
    "solution in a plain cell": ("nbgrader: {grade_id: double, solution: true}", "tags: []", "is no solution cell", 8),
    "mistake of nothing": ("mistakes: double", "mistakes: triple", "names no solution cell", 29),
    "mistake that changes nothing": ('old: "2 * x"\n  new: "x ** 2"', 'old: "3 * x"\n  new: "x"', "stands 0 times", 29),
    "mistake without sentence": ("  sentence: You squared the number.\n", "", "lacks its name or its sentence", 29),
    "mistakes not YAML": ("- name: squared", "- name: [", "is not YAML", 29),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_source_is_refused_with_the_place_and_the_repair(write, case):
    old, new, message, line = BAD[case]
    assert old in GOOD
    with pytest.raises(SourceError, match=None) as raised:
        read(write(GOOD.replace(old, new, 1)))
    assert message in str(raised.value)
    assert "small.md" in str(raised.value)
    assert abs(raised.value.line - line) <= 3, raised.value.line


def test_markers_divide_a_cell():
    text = "a\n### BEGIN SOLUTION\nb\n### END SOLUTION\nc\n"
    assert inside_markers(text) == "b\n"
    assert outside_markers(text) == "a\nc\n"
    assert without_markers(text) == "a\nb\nc\n"
