"""What a student is told never holds what a hidden test expected; what was written for them reaches them whole."""

import json
from pathlib import Path

import nbformat
import small_course as small
from traitlets.config import Config

from coursekit import checks
from coursekit.authoring.course import Course
from coursekit.authoring.source import read
from coursekit.grading.assignment import Assignment, master
from coursekit.grading.autograded import write_autograded
from coursekit.grading.describe import describe, outputs
from coursekit.grading.feedback import feedback
from coursekit.grading.pipeline import Work
from coursekit.grading.recognise import read_notebook
from coursekit.grading.telling import told

ROOT = Path(__file__).resolve().parents[2]
GRAPH = [("x1", "h1", "W"), ("h0", "h1", "H"), ("h1", "h2", "H"), ("x2", "h2", "W"), ("h2", "y2", "U")]


def test_a_number_that_a_check_expected_is_left_out():
    assert told("2*N is not right: with N=3 it gives 6, and counting gives 9.") == (
        "2*N is not right: with N=3 it gives 6."
    )
    assert told("Entry 2 is 0.5 and should be 0.12.") == "Entry 2 is 0.5."
    assert told("You dropped the factor h(1-h).") == "You dropped the factor h(1-h)."


def test_missing_edges_are_counted_and_not_named():
    for drawn in range(1, len(GRAPH)):
        result = checks.edges(GRAPH[:drawn], GRAPH)
        assert f"`{GRAPH[-1][0]} → {GRAPH[-1][1]}`" in result.sentence or len(GRAPH) - drawn > 3
        lacking = len(GRAPH) - drawn
        assert told(result.sentence) == f"{lacking} {'edge is' if lacking == 1 else 'edges are'} missing."


def test_the_students_own_wrong_edges_are_still_named():
    result = checks.edges([*GRAPH[1:], ("h1", "x1", "W"), ("y2", "h0", "V")], [*GRAPH, ("y2", "z", "Z")])
    assert told(result.sentence) == (
        "`h1 → x1` (W) points the wrong way. `y2 → h0` (V) does not belong to the graph. 1 edge is missing."
    )


def test_the_right_options_are_not_told():
    result = checks.choice({"a", "b"}, {"b", "c", "e"}, options=list("abcdef"))
    assert "`c` should be chosen" in result.sentence
    assert told(result.sentence) == "Not exactly the right options are chosen."


def test_the_right_order_is_not_told():
    result = checks.ordering(["b", "a", "c"], ["a", "b", "c"])
    assert "`a` must come before `b`" in result.sentence
    assert told(result.sentence) == "Not in order yet."


def test_no_sentence_of_a_named_mistake_is_changed():
    course = Course(ROOT)
    sentences = [
        mistake.sentence
        for name in course.assignments()
        for question in read(course.solutions / name / f"{name}.md").questions
        for mistake in question.mistakes
    ]
    assert len(sentences) > 100
    assert [s for s in sentences if told(s) != s.strip()] == []


def test_neither_the_page_nor_the_notebook_for_the_formgrader_tells_the_answer(warm, tmp_path):
    book = small.notebook(
        small.text("# Which are right, and which edges are there?"),
        small.code("from coursekit import checks", "given", locked=True),
        small.code("picked = {'kiwi'}  ### BEGIN SOLUTION\n### END SOLUTION", "pick", solution=True),
        small.check(
            "test_pick", 2, "", "checks.choice(picked, {'apple', 'kiwi'}, options=['apple', 'kiwi', 'plum']).require()"
        ),
        small.code("drawn = []  ### BEGIN SOLUTION\n### END SOLUTION", "draw", solution=True),
        small.check("test_draw", 2, "", "checks.edges(drawn, [('pear', 'fig'), ('a', 'b')]).require()"),
    )  # fmt: skip
    assignment = Assignment("fruit", (master("fruit", book, Config()),))
    made = small.solved(book, pick="picked = {'kiwi'}", draw="drawn = ['a -> b']")
    cells, _ = read_notebook(json.dumps(made).encode())
    work = Work("ada", assignment, None, "here", [("fruit.ipynb", assignment.masters[0], cells)])
    (task,) = work.tasks({})
    (work.outcomes["fruit"],) = warm.grade([task])
    entry = describe(work, frozenset())
    page = feedback(entry, assignment, outputs(work.outcomes))
    write_autograded(tmp_path, work, tmp_path)
    kept = nbformat.read(tmp_path / "autograded" / "ada" / "fruit" / "fruit.ipynb", as_version=4)
    shown = "".join(o.get("text", "") for c in kept.cells if c.cell_type == "code" for o in c.outputs)
    for text in (page, shown):
        assert "Not exactly the right options are chosen." in text
        assert "1 edge is missing." in text
        assert "apple" not in text
        assert "pear" not in text
    assert "apple" in entry["questions"][0]["detail"], "the instructor may know"
