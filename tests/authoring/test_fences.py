"""A question in short fences is the question that its long form is."""

import json

import pytest

from coursekit import checks
from coursekit.authoring.fences import inside_markers, outside_markers, without_markers
from coursekit.authoring.source import read
from coursekit.authoring.visible import boxes, complete, left_to_the_grader, made_from, speaking
from coursekit.checks.shown.locked import unlock

from .test_release import COURSE, NAMES

SHORT = '''Some text.

```{answer} slope
def slope(h):
    """d sigmoid(z) / dz"""
    return h * (1 - h)
```
```{test} 4
checks.function(slope, lambda h: h - h * h, [dict(h=0.3), dict(h=0.6)])
### HIDDEN TESTS
checks.function(slope, lambda h: h - h * h, [dict(h=0.2)], mistakes=MISTAKES).score(4)
```
```{forms}
mistakes:
- half a slope: "You wrote 1-h where h(1-h) belongs."
  change: h * (1 - h) -> 1 - h
- two changes: You did two things.
  change:
  - return h -> return 2 * h
  - (1 - h) -> (1 + h)
right:
- written out: h * (1 - h) -> h - h**2
- whole:
  answer: |
    def slope(h):
        return h - h**2
equal:
  "1 - h -> h": it is not
hints: [Look at the figure., Differentiate the quotient.]
```

```{answer} growth
growth = "V*D"
```
```{test} 2
checks.big_o(growth, SOLUTION, symbols=["V", "D"], mistakes=MISTAKES)
```

```{answer} cost
cost = {"parameters": "", "work": ""}
### SOLUTION
cost = {"parameters": "V*D", "work": "2*V*D"}
```
```{test} 3
one = lambda a, right, own: checks.closed_form(a, right, symbols=["V", "D"], mistakes=own)
checks.entries(one, cost, SOLUTION, mistakes=MISTAKES)
```
```{forms}
mistakes:
- one way: [{work: "V*D"}, You counted one way.]
also: [{work: "V*D + D*V"}]
```

```{answer} chosen
chosen = {"a", "c"}
```
```{test} 1
checks.choice(chosen, SOLUTION, options="abc", mistakes=MISTAKES)
```
```{forms}
mistakes:
- too many: [[a, b, c], You chose all.]
```

```{essay} why 2 rnn
Because.
```
'''


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "solutions" / "short" / "short.md"
    path.parent.mkdir(parents=True)
    path.write_text(SHORT)
    return read(path)


def test_a_short_question_has_its_cells_its_points_and_its_answers(source):
    slope, growth, cost, *_ = source.questions
    assert (slope.id, slope.points, list(slope.tests)) == ("slope", 4, ["test_slope"])
    assert inside_markers(slope.solution).strip() == "return h * (1 - h)"
    assert [(m.name, m.sentence) for m in slope.mistakes] == [
        ("half a slope", "You wrote 1-h where h(1-h) belongs."),
        ("two changes", "You did two things."),
    ]
    assert "return 1 - h" in slope.mistakes[0].answer
    assert "return 2 * h * (1 + h)" in slope.mistakes[1].answer
    assert "return h - h**2" in slope.right[0].answer
    assert slope.right[1].answer.startswith("def slope")
    assert slope.equal == {"1 - h -> h": "it is not"}
    assert slope.hints == ["Look at the figure.", "Differentiate the quotient."]
    assert outside_markers(growth.solution).strip() == "growth = ..."
    assert outside_markers(cost.solution).strip() == 'cost = {"parameters": "", "work": ""}'


def test_a_line_number_is_that_of_the_file(source):
    assert SHORT.splitlines()[source.questions[1].line - 1] == "```{answer} growth"


def value_of(question, answer):
    scope: dict = {}
    exec(without_markers(answer), scope)
    return scope[question.id]


def test_a_value_is_changed_as_a_value(source):
    *_, cost, chosen, why = source.questions
    wrong = {"parameters": "V*D", "work": "V*D"}
    assert value_of(cost, cost.mistakes[0].answer) == wrong
    assert value_of(cost, cost.right[0].answer) == {**wrong, "work": "V*D + D*V"}
    assert value_of(chosen, chosen.mistakes[0].answer) == ["a", "b", "c"]
    assert (why.manual, why.points, why.chapter) == (True, 2, "rnn")


def test_a_choice_has_its_other_forms_made(source):
    chosen = source.questions[3]
    forms = [value_of(chosen, form.answer) for form in chosen.right]
    assert forms[:2] == [["c", "a"], "a, c"]
    assert sorted(forms[2]) == ["A", "C"]
    for form in forms:
        assert checks.choice(form, {"a", "c"}, options="abc").ok


def test_a_value_is_written_once_and_neither_half_of_its_test_shows_it(source):
    _, growth, cost, *_ = source.questions
    cells = {c.metadata["nbgrader"]["grade_id"]: c.source for c in source.notebook.cells if c.metadata}
    text = complete(cells["test_growth"], growth, "short", 2)
    assert outside_markers(text).strip() == "checks.big_o(growth, None, symbols=['V', 'D'])"
    assert left_to_the_grader(text)
    text = complete(cells["test_cost"], cost, "short", 3)
    assert outside_markers(text).count("formula$short/cost.") == 2
    assert "V*D" not in outside_markers(text)
    assert not left_to_the_grader(text)
    for wrong, points in (
        ({"parameters": "V*D", "work": "2*V*D"}, 3),
        ({"parameters": "V*D", "work": "V"}, 1.5),
    ):
        scope = {"checks": checks, "cost": wrong, "MISTAKES": []}
        *above, last = [cells["test_cost"].splitlines()[0], *inside_markers(text).strip().splitlines()]
        exec("\n".join(above), scope)
        assert eval(last, scope) == points


def test_a_check_that_names_the_mistakes_is_written_once(source):
    text = "ends = 2\nchecks.derivation(lines, model, steps=ends, mistakes=MISTAKES).score(8)"
    whole = complete(text, source.questions[1], "short", 8)
    assert outside_markers(whole).strip() == "ends = 2\nchecks.derivation(lines, model, steps=ends)"
    assert inside_markers(whole).strip().splitlines()[-1] == text.splitlines()[-1]


def test_hints_and_the_key_are_given_to_the_visible_check_alone():
    text = "checks.value(\n    x, 3,\n)\n### BEGIN HIDDEN TESTS\nchecks.value(x, 3).score(1)\n### END HIDDEN TESTS"
    assert speaking(text, "a/test_x", ["Count."]).splitlines()[2] == ").named('a/test_x').hinted(['Count.'])"
    assert speaking(text, "a/test_x", []).count("named") == 1


def test_a_mistake_opens_its_own_sentence_in_the_visible_check(source):
    kept = boxes(source)
    assert kept[""] == made_from(source)
    result = checks.function(lambda h: 1 - h, lambda h: h - h * h, [{"h": 0.3}, {"h": 0.6}])
    assert [m.name for m in unlock(kept["test_slope"], result.outcomes)] == ["half a slope"]
    assert "You wrote" not in json.dumps(kept)


def test_sentences_are_kept_until_a_mistake_comes_to_something_else(source):
    kept = boxes(source)
    known = kept | {"test_slope": "as it was"}
    assert boxes(source, known)["test_slope"] == "as it was"
    moved = known | {"#test_slope": "another outcome"}
    assert boxes(source, moved)["test_slope"] == kept["test_slope"]


def test_a_slip_that_no_author_wrote_down_is_told_too(source):
    answer = lambda h: h * (1 + h)
    boxes_of = boxes(source)["test_slope"]
    result = checks.function(answer, lambda h: h - h * h, [{"h": 0.3}, {"h": 0.6}])
    assert result.kind == "other"
    assert result.named(boxes_of).looked().sentence == "A sign is wrong."
    assert result.named(boxes_of).mistake == "", "it has no name in the class report"


@pytest.mark.parametrize("name", NAMES)
def test_the_kept_sentences_are_those_of_the_sources(name):
    known = json.loads((COURSE.root / "coursekit" / "checks" / "said" / f"{name}.json").read_text("utf-8"))
    source = read(COURSE.solutions / name / f"{name}.md")
    assert known[""] == made_from(source), f"run `coursekit release {name}` and commit coursekit/checks/said"
    assert {key for key in known if key and key[0] != "#"} == {
        test for q in source.questions for test in q.tests
    }


@pytest.mark.parametrize("name", NAMES)
def test_no_digest_is_written_by_hand(name):
    pasted = [c.source.count("number$") for c in read(COURSE.solutions / name / f"{name}.md").notebook.cells]
    assert sum(pasted) == 0
