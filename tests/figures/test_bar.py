"""The progress bar: a line in a terminal, a line of HTML in a notebook, nothing where nobody looks."""

import io
import sys

import pytest

from coursekit.figures import Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_it_fill_up_and_end_on_a_line_of_its_own(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr("coursekit.figures.bar.EVERY", 0)
    with Bar(4) as bar:
        for n in range(4):
            bar.update(n + 1, f"loss {n}")
    lines = screen.getvalue().split("\r\x1b[K")
    assert lines[1].count("█") == 0
    assert lines[-1] == "█" * 30 + " 4/4  loss 3\n"


def test_a_run_that_fails_says_so(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)

    def run():
        with Bar(4) as bar:
            bar.update(1, "loss 1")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        run()
    assert screen.getvalue().endswith("1/4  failed: loss 1\n")


def test_a_notebook_sees_one_output_that_is_updated(monkeypatch):
    import IPython
    from IPython.core.interactiveshell import InteractiveShell

    shown = []

    class Handle:
        def update(self, thing):
            shown.append(("update", thing._repr_html_()))

    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    monkeypatch.setattr(
        IPython.display, "display", lambda thing, display_id: shown.append(("new", "")) or Handle()
    )
    with Bar(4) as bar:
        bar.update(4, "loss <1>")
    assert [kind for kind, _ in shown] == ["new", "update"]
    assert 'aria-valuenow="4"' in shown[-1][1]
    assert "loss &lt;1&gt;" in shown[-1][1]
    InteractiveShell.clear_instance()


def test_a_file_sees_nothing(capsys):
    with Bar(2) as bar:
        bar.update(2)
    assert capsys.readouterr().out == ""
