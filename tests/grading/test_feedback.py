"""A student's page and the class's: nothing on them runs, nothing on them tells what a hidden test knows."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
import small_course as small
from nbconvert import HTMLExporter
from traitlets.config import Config

from coursekit.grading.assignment import load, master
from coursekit.grading.facts import Assignment, Entry, Handed, Problem, Work
from coursekit.grading.pages.describe import describe, printed
from coursekit.grading.pages.feedback import feedback
from coursekit.grading.pages.frame import file_name
from coursekit.grading.pages.report import report
from coursekit.grading.pages.shelf import Shelf
from coursekit.grading.pipeline import ready
from coursekit.grading.run.outcome import Outcome, Output
from coursekit.grading.submissions.recognise import read_notebook

ROOT = Path(__file__).resolve().parents[2]
RUN = "document.title='hacked';window.hacked=1"
EVIL = f"""<script>{RUN}</script><img src=x onerror="{RUN}"><a id=link href="javascript:{RUN}">click</a>
<svg onload="{RUN}"></svg><iframe srcdoc="<script>parent.hacked=1</script>"></iframe>' onmouseover='{RUN}'>
</pre></details><style>body{{display:none}}</style><meta http-equiv=refresh content="0;url=javascript:{RUN}">"""
ASSIGNMENT = Assignment("sums", (master("sums", small.sums(), Config()),))


def work_of(student: str, made, warm) -> Work:
    cells, _ = read_notebook(small.saved(made))
    work = Work(student, ASSIGNMENT, None, "here", [Handed("sums.ipynb", ASSIGNMENT.masters[0], cells)])
    for name, task in ready(work, {}).items():
        (work.outcomes[name],) = warm.grade([task])
    return work


@pytest.fixture(scope="module")
def hostile(warm):
    """A student whose name, answers, output, errors, pictures and ids are all an attack."""
    show = f"from IPython.display import HTML, display\nevil = {EVIL!r}\nprint(evil)\ndisplay(HTML(evil))\n"
    made = small.solved(
        small.sums(),
        total=show + "def total(xs):\n    return sum(xs)",
        mean=f"{show}raise ValueError(evil)",
        norm=f"# {EVIL!r}\ndef norm(xs):\n    raise ValueError({EVIL!r})",
        why=EVIL,
    )
    made.cells.append(nbformat.v4.new_code_cell("1", metadata={"nbgrader": {"grade_id": EVIL}}))
    work = work_of(EVIL, made, warm)
    work.outcomes["sums"].cells[0].outputs.append(Output("image/png", b"'><script>window.hacked=1</script>"))
    return work


def opened(browser, path: Path):
    """The page, loaded with scripts allowed, everything on it opened and touched; and the requests it made."""
    requests: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.goto(path.as_uri())
    for details in page.query_selector_all("details"):
        details.evaluate("d => d.open = true")
    for element in page.query_selector_all("a, img, svg, p"):
        element.dispatch_event("mouseover")
        element.dispatch_event("click")
    page.wait_for_timeout(200)
    return page, [url for url in requests if not url.startswith(("file:", "data:"))]


@pytest.mark.slow
def test_no_script_of_a_student_runs_on_any_page(hostile, browser, tmp_path):
    entry = describe(hostile)
    problems = [Problem(EVIL, EVIL, EVIL)]
    pages = {
        "feedback": feedback(entry, ASSIGNMENT, printed(hostile.outcomes)),
        "report": report(ASSIGNMENT, [entry, replace(entry, student="ada")], problems),
    }
    # A name that is no folder's: no notebook is written.
    Shelf(tmp_path / "pages", tmp_path, tmp_path / "kept").put(hostile, entry, {})
    assert not (tmp_path / "kept").exists()
    for name, text in pages.items():
        path = tmp_path / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        page, requests = opened(browser, path)
        assert page.evaluate("window.hacked") is None, name
        assert page.title() != "hacked", name
        assert page.query_selector_all("script, iframe, a[href^=javascript]") == [], name
        assert page.is_visible("h1"), name
        assert requests == [], name
        assert "onerror" in page.inner_text("body"), "what the student wrote is shown, as text"
        page.close()


@pytest.mark.slow
def test_no_script_runs_in_the_notebook_that_the_formgrader_opens(hostile, browser, tmp_path):
    """nbconvert, as the formgrader uses it, shows outputs; none of ours is HTML, and none is trusted."""
    hostile.student = "mallory"
    Shelf(tmp_path / "pages", tmp_path).put(hostile, describe(hostile), {})
    made = nbformat.read(tmp_path / "autograded" / "mallory" / "sums" / "sums.ipynb", as_version=4)
    nbformat.validate(made)
    kinds = {k for c in made.cells if c.cell_type == "code" for o in c.outputs for k in o.get("data", {})}
    assert kinds <= {"text/plain", "image/png"}
    made.cells = [c for c in made.cells if c.cell_type == "code"]  # text is the formgrader's to clean
    exporter = HTMLExporter(require_js_url="", mathjax_url="", jquery_url="", mermaid_js_url="")
    path = tmp_path / "formgrader.html"
    path.write_text(exporter.from_notebook_node(made)[0], encoding="utf-8")
    page, _ = opened(browser, path)
    assert page.evaluate("window.hacked") is None
    assert page.title() != "hacked"
    page.close()


def test_feedback_shows_no_hidden_test_no_expected_value_and_no_traceback(warm):
    made = small.solved(
        small.sums(),
        total="def total(xs):\n    return 0",
        mean="def mean(xs):\n    return 2",
        norm="1 / 0",
    )
    work = work_of("ada", made, warm)
    text = feedback(describe(work), ASSIGNMENT, printed(work.outcomes)).partition("<body>")[2]
    for secret in (
        "42",
        "41",
        "scaled(norm",
        "== 100",
        "Traceback",
        "coursekit/grading",
        "HIDDEN",
        "assert ",
    ):
        assert secret not in text
    assert "ZeroDivisionError: division by zero" in text, "the student's own error is shown"
    assert "The mean of nothing is 0." in text, "so is a sentence that the test's author wrote for them"


def test_points_comments_lateness_and_waiting_answers_are_on_the_page(warm):
    work = work_of("ada", small.solved(small.sums()), warm)
    entry = replace(describe(work), late_penalty=1.5, comments={"sums": {"why": "Think <again>."}})
    text = feedback(entry, ASSIGNMENT, printed(work.outcomes))
    assert "4.5 <span class='soft'>of 10" in text
    assert "Handed in late: 1.5 points fewer." in text
    assert "1 answer will be graded by a person." in text
    assert "Think &lt;again&gt;." in text


def test_an_answer_left_as_it_was_given_is_called_empty_whatever_its_stub_computes(warm):
    book = small.notebook(
        small.code("### BEGIN SOLUTION\nx = 2\n### END SOLUTION", "x", solution=True),
        small.check("test_x", 1, "assert x == 2, 'x is the wrong number.'"),
    )
    made = master("stub", book, Config())
    blank, wrong = small.released(book), small.solved(book, x="x = 3")
    told = {}
    for name, notebook in (("blank", blank), ("wrong", wrong)):
        cells, _ = read_notebook(small.saved(notebook))
        work = Work(name, Assignment("stub", (made,)), None, "here", [Handed("stub.ipynb", made, cells)])
        (work.outcomes["stub"],) = warm.grade(ready(work, {}).values())
        (question,) = describe(work).questions
        told[name] = (question.kind, question.sentence)
    assert told == {
        "blank": ("empty", "There is no answer here yet."),
        "wrong": ("", "x is the wrong number."),
    }


@pytest.mark.slow
def test_a_name_that_is_missing_is_put_down_to_the_cell_that_did_not_get_through(warm):
    made = small.solved(
        small.sums(), total="def total(xs:\n", mean="while True:\n    pass", norm="import os\nos._exit(1)"
    )
    work = work_of("ada", made, warm)
    entry = describe(work)
    told = {q.id: q.sentence for q in entry.questions}
    assert told["test_total"].startswith("Your cell stopped with `SyntaxError: ")
    assert told["test_total"].endswith(", so `total` is not defined.")
    assert re.fullmatch(
        r"Your cell took too long and was stopped \(line [12]\), so `mean` is not defined\.",
        told["test_mean"],
    )
    assert told["test_norm"] == "Your cell ended the process that ran it, so `norm` is not defined."
    text = feedback(entry, ASSIGNMENT, printed(work.outcomes))
    assert text.count("Your cell") == 3, "each is told once"
    assert text.count("Run the notebook from the top") == 1, "one hint serves all"
    for word in ("CellTimeout", "pipe"):
        assert word not in text, "the grader's own words"


def test_a_stub_that_raises_is_called_empty_and_nothing_else(warm):
    work = work_of("ada", small.released(small.sums()), warm)
    text = feedback(describe(work), ASSIGNMENT, printed(work.outcomes))
    assert "There is no answer here yet." in text
    assert "Your cell" not in text
    assert "Run the" not in text


def test_the_report_counts_what_waits_for_a_person_and_leads_to_the_pages(warm):
    entry = describe(work_of("a b", small.solved(small.sums()), warm))
    text = report(ASSIGNMENT, [entry, replace(entry, student="emmy")], pages={"a b": "feedback/a%20b.html"})
    assert "2 answers wait to be graded by hand" in text
    assert "2 to grade by hand" in text
    assert "<a href='feedback/a%20b.html'>a b</a>" in text
    assert "<td>emmy</td>" in text
    row = text[text.index("<td>why</td>") :].partition("</tr>")[0]
    assert "%" not in row, "nothing is known of its success yet"


def test_two_names_never_share_a_page():
    names = ["a b", "a_b", "a/b", "../a", "a", "A b", ".", "", "ü", "a" * 90, "a" * 91]
    pages = [file_name(name) for name in names]
    assert len(set(pages)) == len(names)
    assert all("/" not in page and not page.startswith(".") for page in pages)


@pytest.mark.slow
def test_the_sentence_of_a_named_mistake_reaches_the_student_and_is_counted_in_the_report(warm):
    from coursekit.authoring.sample_class import answered, solutions
    from coursekit.authoring.source import read

    (assignment,) = load(ROOT, "bptt")
    source = read(ROOT / "solutions" / "bptt" / "bptt.md")
    question = next(q for q in source.questions if q.id == "grads_t")
    mistake = next(m for m in question.mistakes if m.name == "sigma prime missing")
    made = answered(
        ROOT / "notebooks" / "bptt" / "bptt.ipynb", {**solutions(source), "grads_t": mistake.answer}
    )
    entries = []
    for student in ("ada", "emmy"):
        cells, _ = read_notebook(json.dumps(made).encode())
        work = Work(student, assignment, None, "here", [Handed("bptt.ipynb", assignment.masters[0], cells)])
        (work.outcomes["bptt"],) = warm.grade(ready(work, {}).values())
        entries.append(describe(work))
    (lost,) = [q for q in entries[0].questions if q.short]
    assert lost.id == "test_grads_t"
    assert lost.status == "partial", "U and b2 do not pass through the sigmoid"
    assert mistake.sentence in lost.sentence
    assert lost.kind == mistake.name
    page = feedback(entries[0], assignment, printed(work.outcomes))
    assert "You dropped the factor h(1-h)" in page
    assert "BEGIN HIDDEN" not in page
    assert "right_forward" not in page
    text = report(assignment, entries)
    row = text[text.index("Which mistakes were made") :]
    assert "2×" in row
    assert "sigma prime missing" in row
    assert "ada, emmy" in row


def test_a_picture_is_shown_and_the_rest_of_a_long_output_is_cut(warm):
    draw = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('x' * 10000)\ndef total(xs):\n    return sum(xs)"
    work = work_of("ada", small.solved(small.sums(), total=draw), warm)
    text = feedback(describe(work), ASSIGNMENT, printed(work.outcomes))
    start = text.index("data:image/png;base64,") + len("data:image/png;base64,")
    assert base64.b64decode(text[start : text.index("'", start)]).startswith(b"\x89PNG")
    assert "… (cut)" in text
    assert "x" * 5000 not in text


def test_outputs_have_a_bound_for_each_submission():
    from coursekit.grading.run.outcome import CellOutcome

    huge = CellOutcome("q", "solution", "ok", outputs=[Output("stdout", "y" * 1_500_000) for _ in range(4)])
    kept = printed({"n": Outcome("n", cells=[huge])})
    assert sum(len(o.data) for o in kept["n"][0].outputs) <= 2_000_000


def test_what_a_test_measured_makes_a_leaderboard_and_a_student_cannot_write_on_it(warm):
    """The lowest first, names only where the instructor asks for them; a student's own print counts for nothing."""
    book = small.sums()
    told = 'import json\nprint(json.dumps({"measured": {"loss": total([1, 1, 1]) / 4}}))\nassert total([41, 1]) < 99'
    small.cell_of(book, "test_total").source += f"\n### BEGIN HIDDEN TESTS\n{told}\n### END HIDDEN TESTS"
    assignment = Assignment("sums", (master("sums", book, Config()),))
    entries = []
    forged = 'print(\'{"measured": {"loss": 0}}\')\n'
    for student, extra in (("ada", 0), ("emmy", 1), ("kurt", 2)):
        answer = f"{forged}def total(xs):\n    {forged}    return sum(xs) + {extra} * (len(xs) == 3)"
        cells, _ = read_notebook(small.saved(small.solved(book, total=answer)))
        work = Work(student, assignment, None, "here", [Handed("sums.ipynb", assignment.masters[0], cells)])
        (work.outcomes["sums"],) = warm.grade(ready(work, {}).values())
        entries.append(describe(work))
    assert [e.questions[0].measured for e in entries] == [{"loss": 0.75}, {"loss": 1.0}, {"loss": 1.25}]
    assert Entry.from_plain(json.loads(json.dumps(entries[1].plain()))).questions[0].measured == {"loss": 1.0}
    board = report(assignment, entries).split("<h2>Leaderboard</h2>")[1].split("<h2>")[0]
    assert [board.index(number) for number in ("0.75", "1.25")] == sorted(
        board.index(n) for n in ("0.75", "1.25")
    )
    assert "emmy" not in board
    assert "emmy" in report(assignment, entries, named=True).split("<h2>Leaderboard</h2>")[1].split("<h2>")[0]
    assert "Leaderboard" not in report(ASSIGNMENT, [describe(work_of("a", small.solved(small.sums()), warm))])
