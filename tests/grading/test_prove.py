"""Every question of every assignment is proved: what its author promised of each answer is what the grader does."""

from pathlib import Path

import pytest

from coursekit.authoring.course import Course
from coursekit.grading import Limits, Warm
from coursekit.grading.prove import prove

COURSE = Course(Path(__file__).resolve().parents[2])


@pytest.fixture(scope="module")
def slow_warm():
    with Warm(jobs=1, limits=Limits(cell_cpu=60, cell_wall=240)) as warm:
        yield warm


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", COURSE.assignments())
def test_every_question_is_proved(name, slow_warm):
    proofs = list(prove(COURSE, [name], slow_warm))
    assert [f"{p.question.id}: {c}" for p in proofs for c in p.complaints] == []
    for proof in proofs:
        assert proof.solved == pytest.approx(proof.question.points)
        assert len(proof.question.mistakes) >= 4, f"{proof.question.id} names too few mistakes"
        assert len(proof.question.right) >= 3, f"{proof.question.id} has too few other right forms"


def test_a_question_that_proves_nothing_is_found(tmp_path, slow_warm):
    """A planted fault: the hidden test accepts anything, so the mistake loses nothing and the stub earns a point."""
    folder = tmp_path / "solutions" / "loose"
    folder.mkdir(parents=True)
    (tmp_path / "_config.yml").write_text("html: {baseurl: https://book.example}\n")
    (folder / "loose.md").write_text(LOOSE)
    (proof,) = prove(Course(tmp_path), ["loose"], slow_warm)
    assert "the untouched stub earns 1" in proof.complaints
    assert "the mistake 'half' loses nothing" in proof.complaints
    assert any(c.startswith("the mistake 'third' was told") for c in proof.complaints)


LOOSE = """\
---
kernelspec: {display_name: Python 3, language: python, name: python3}
---

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
nbgrader: {grade_id: test_double, grade: true, points: 1}
---
assert callable(double)
### BEGIN HIDDEN TESTS
try:
    three = double(3) == 1
except NotImplementedError:
    three = False
assert not three, "that is a third"
### END HIDDEN TESTS
```

```{raw-cell}
---
mistakes: double
---
- {name: half, sentence: You halved it., old: "2 * x", new: "x / 2"}
- {name: third, sentence: You divided by three., old: "2 * x", new: "x / 3"}
```
"""
