"""A result is read by people in a panel or a terminal, and by nbgrader as an error or a number."""

import re
from html.parser import HTMLParser

import pytest
import torch

from coursekit import checks
from coursekit.checks import CheckFailed
from coursekit.checks.shown.locked import lock
from coursekit.checks.shown.result import combine, right, wrong

ATTACK = '<script>alert(1)</script><img src=x onerror="alert(2)">" onmouseover="alert(3)'


class Tags(HTMLParser):
    """Every tag and attribute that a browser would see."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def everything(text):
    return wrong(
        "other", own=text, columns=(text, "right"), rows=((text, 1.0),), block=text, hints=(text, text),
        parts={text: right("Right.")},
    )  # fmt: skip


def test_panel_escapes_what_a_student_wrote():
    seen = Tags(everything(ATTACK)._repr_html_())
    assert not {"script", "img", "style", "link", "iframe"} & set(seen.tags)
    assert {name for name, _ in seen.attributes} <= {"style", "role", "aria-label", "tabindex"}
    assert seen.open == []


def test_panel_has_no_script_no_sheet_and_fixes_no_text_colour():
    html = everything("plain")._repr_html_()
    assert "<script" not in html
    assert "<style" not in html
    colours = re.findall(r"(?<![-\w])color:([^;\"]+)", html)
    assert set(colours) == {"inherit"}


def test_panel_and_terminal_say_the_same():
    result = wrong(
        "sign", own="The sign of `H` is wrong.", columns=("entry", "yours"), rows=(("H[0,1]", 0.25),),
        block="h = x\n    ^", hints=("Look at the loss.",), parts={"H": wrong("sign", own="no"), "U": right("yes")},
    )  # fmt: skip
    text, html = str(result), result._repr_html_()
    for piece in ("✗", "H[0,1]", "0.25", "h = x\n", "Look at the loss.", "✓"):
        assert piece in html
        assert piece.strip() in text
    assert "<details" in html, "the hint opens on demand"
    assert "<code" in html


def test_hint_of_a_right_answer_is_not_shown():
    result = right("Right.").hinted("Look again.")
    assert "Look again" not in result._repr_html_() + str(result)


def test_stray_backquote_does_not_break_the_panel():
    assert Tags(wrong("other", own="a ` b")._repr_html_()).open == []


def test_require_returns_a_right_result_and_raises_the_sentence_of_a_wrong_one():
    good, bad = right("Right."), wrong("sign", own="The sign is wrong.")
    assert good.require() is good
    with pytest.raises(AssertionError) as caught:
        bad.require()
    assert str(caught.value) == "The sign is wrong."
    assert caught.value.result.kind == "sign"


def test_result_is_as_true_as_the_answer():
    assert right("Right.")
    assert not wrong("other", own="No.")


def test_ipython_shows_the_sentence_instead_of_our_traceback():
    error = CheckFailed(wrong("sign", own="The sign is wrong.", hints=("Look at the loss.",)))
    assert error._render_traceback_() == ["✗ The sign is wrong.", "    hint: Look at the loss."]


def test_failed_check_in_ipython_has_no_frame_of_ours():
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell.instance()
    with capture_output() as captured:
        run = shell.run_cell("from coursekit import checks\nchecks.value(3, 4).require()")
    assert isinstance(run.error_in_exec, CheckFailed)
    assert "✗ 3 is not right." in captured.stdout
    assert "result.py" not in captured.stdout
    assert captured.stderr == ""


@pytest.mark.slow
def test_notebook_kernel_shows_the_panel_and_one_line_of_traceback():
    from nbclient import NotebookClient
    from nbformat import v4

    cells = [
        v4.new_code_cell("from coursekit import checks\nchecks.value(3, 4, hint='Count again.').require()")
    ]
    notebook = v4.new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "", "language": "python"}}
    )
    NotebookClient(notebook, timeout=120, allow_errors=True).execute()
    shown, error = notebook.cells[0].outputs
    assert "Count again." in shown.data["text/html"]
    assert error.output_type == "error"
    assert (error.ename, error.evalue) == ("CheckFailed", "3 is not right.")
    assert error.traceback == ["CheckFailed: 3 is not right."]


def test_no_result_reads_as_a_number_to_nbgrader():
    """nbgrader takes a cell's value that reads as a number for points."""
    for result in (right("1"), wrong("other", own="nan"), checks.value(3, 3)):
        with pytest.raises(ValueError):
            float(repr(result))


def test_parts_share_the_points_and_nothing_right_raises(capsys):
    mixed = combine({"H": right("yes"), "U": wrong("sign", own="`U` is wrong.")}, "All right.")
    assert mixed.score(10) == 5
    assert mixed.score({"H": 3, "U": 7}) == 3
    out = capsys.readouterr()
    assert "U is wrong." in out.out
    assert out.err == ""
    with pytest.raises(CheckFailed):
        wrong("other", own="no").score(10)
    assert right("yes").score(10) == 10


def test_parts_that_went_wrong_alike_are_told_once():
    parts = {
        name: wrong("sign", own="has the wrong sign.", of=f"the gradient of `{name}`")
        for name in ("U", "H", "I")
    }
    sentence = combine(parts, "").sentence
    assert sentence == "The gradient of `U` has the wrong sign. The same goes for `H` and `I`."


def test_a_page_hears_nothing_that_was_not_said_of_the_students_own_answer():
    assert wrong("other", whole="It should be 7.").own == "This is not right yet."
    assert wrong("other", whole="should be 7.", of="`U`").own == "`U` is not right."
    told = wrong("factor", own="is off by a factor.", whole="is 3 times the right one.", of="`U`")
    assert (told.own, told.sentence) == ("`U` is off by a factor.", "`U` is 3 times the right one.")


def test_hints_open_one_after_the_other():
    html = wrong("other", own="No.").hinted(["First.", "Second."])._repr_html_()
    assert html.index("First.") < html.index("<details", html.index("First.")) < html.index("Second.")


def test_a_locked_sentence_is_opened_by_the_mistake_alone():
    mistake = checks.value(8.0, 7.0)
    boxes = lock([("double", "You doubled it.", mistake.outcomes)], "course/double")
    assert mistake.named(boxes).sentence == "You doubled it."
    assert mistake.named(boxes).mistake == "double"
    assert checks.value(9.0, 7.0).named(boxes).sentence == "9 is not right."
    assert checks.value(7.0, 7.0).named(boxes).ok
    assert mistake.named("no assignment/no question").sentence == "8 is not right."


def test_part_that_does_not_exist_is_the_authors_error():
    result = combine({"H": right("yes")}, "All right.")
    with pytest.raises(KeyError, match="its parts are H"):
        result.part("Q")


def test_unknown_name_lists_what_there_is():
    with pytest.raises(AttributeError, match="gradients"):
        checks.gradient_check


def test_every_public_name_can_be_had():
    assert all(getattr(checks, name) is not None for name in checks.__all__)
    assert set(checks.__all__) <= set(dir(checks))


def test_the_same_line_of_code_is_shown_once():
    stopped = wrong("error", own="It stopped.", block="line 2 of f\n    return x")
    other = wrong("error", own="It stopped too.", block="line 3 of f\n    return y")
    result = combine({"a": stopped, "b": stopped, "c": other}, "Right.")
    assert result.block.count("line 2 of f") == 1
    assert result.block.count("line 3 of f") == 1


def stub(w, x):
    """What the student was given."""


@pytest.mark.parametrize(
    "check",
    [
        lambda: checks.value(..., 3),
        lambda: checks.value({"a": ..., "b": ...}, {"a": 3, "b": 4}),
        lambda: checks.choice(..., options="ab"),
        lambda: checks.ordering([...], items="ab"),
        lambda: checks.edges(...),
        lambda: checks.big_o(..., symbols=["n"]),
        lambda: checks.closed_form(..., "n", symbols=["n"]),
        lambda: checks.equations(..., "y[i] = x[i]"),
        lambda: checks.function(stub, lambda w, x: w, {"w": torch.ones(2), "x": torch.ones(2)}),
        lambda: checks.gradients(
            stub, lambda w, x: (w * x).sum(), {"w": torch.ones(2), "x": torch.ones(2)}, ["w"]
        ),
        lambda: checks.properties(stub, [checks.Property("a", "No.", lambda f: f(1, 2) > 0)] * 2),
        lambda: checks.operations(stub, {"w": torch.ones(2), "x": torch.ones(2)}, at_most=3),
        lambda: checks.entries(lambda a, e, m: checks.value(a, e), {"a": ...}, {"a": 3}),
    ],
)
def test_an_unanswered_question_says_so_in_one_line(check):
    result = check()
    assert (result.ok, result.kind) == (False, "empty")
    assert "yet" in result.sentence
    assert len(str(result).splitlines()[0]) < 80
    assert not result.block
