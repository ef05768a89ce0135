"""A result is read by people in a panel or a terminal, and by nbgrader as an error or a number."""

import re
from html.parser import HTMLParser

import pytest

from coursekit import checks
from coursekit.checks import CheckFailed, Result
from coursekit.checks.result import combine, right, wrong

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
    return Result(
        False, text, "other", columns=(text, "right"), rows=((text, 1.0),), block=text, hint=text,
        parts={text: right("Right.")},
    )  # fmt: skip


def test_panel_escapes_what_a_student_wrote():
    seen = Tags(everything(ATTACK)._repr_html_())
    assert not {"script", "img", "style", "link", "iframe"} & set(seen.tags)
    assert {name for name, _ in seen.attributes} <= {"style", "role", "aria-label"}
    assert seen.open == []


def test_panel_has_no_script_no_sheet_and_fixes_no_text_colour():
    html = everything("plain")._repr_html_()
    assert "<script" not in html
    assert "<style" not in html
    colours = re.findall(r"(?<![-\w])color:([^;\"]+)", html)
    assert set(colours) == {"inherit"}


def test_panel_and_terminal_say_the_same():
    result = Result(
        False, "The sign of `H` is wrong.", "sign", columns=("entry", "yours"), rows=(("H[0,1]", 0.25),),
        block="h = x\n    ^", hint="Look at the loss.", parts={"H": wrong("no", "sign"), "U": right("yes")},
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
    assert Tags(wrong("a ` b", "other")._repr_html_()).open == []


def test_require_returns_a_right_result_and_raises_the_sentence_of_a_wrong_one():
    good, bad = right("Right."), wrong("The sign is wrong.", "sign")
    assert good.require() is good
    with pytest.raises(AssertionError) as caught:
        bad.require()
    assert str(caught.value) == "The sign is wrong."
    assert caught.value.result.kind == "sign"


def test_result_is_as_true_as_the_answer():
    assert right("Right.")
    assert not wrong("No.", "other")


def test_ipython_shows_the_sentence_instead_of_our_traceback():
    error = CheckFailed(wrong("The sign is wrong.", "sign", hint="Look at the loss."))
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
    for result in (right("1"), wrong("nan", "other"), checks.value(3, 3)):
        with pytest.raises(ValueError):
            float(repr(result))


def test_parts_share_the_points_and_nothing_right_raises(capsys):
    mixed = combine({"H": right("yes"), "U": wrong("`U` is wrong.", "sign")}, "All right.")
    assert mixed.score(10) == 5
    assert mixed.score({"H": 3, "U": 7}) == 3
    out = capsys.readouterr()
    assert "`U` is wrong." in out.out
    assert out.err == ""
    with pytest.raises(CheckFailed):
        wrong("no", "other").score(10)
    assert right("yes").score(10) == 10


def test_parts_that_went_wrong_alike_are_told_once():
    parts = {name: wrong(f"The gradient of `{name}` has the wrong sign.", "sign") for name in ("U", "H", "I")}
    sentence = combine(parts, "").sentence
    assert sentence == "The gradient of `U` has the wrong sign. The same goes for `H` and `I`."


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
    stopped = wrong("It stopped.", "error", block="line 2 of f\n    return x")
    other = wrong("It stopped too.", "error", block="line 3 of f\n    return y")
    result = combine({"a": stopped, "b": stopped, "c": other}, "Right.")
    assert result.block.count("line 2 of f") == 1
    assert result.block.count("line 3 of f") == 1
