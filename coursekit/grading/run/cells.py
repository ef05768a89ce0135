"""Running one cell as a notebook would: magics, display, figures, the value of the last line, all captured."""

from __future__ import annotations

import ast
import builtins
import io
import os
import re
import signal
import stat
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from traitlets.config import Config

from ..confine.limits import Limits
from .names import names_of, parse
from .outcome import Output

FIGURES, PICTURE = 8, 2_000_000  # figures kept of one cell, bytes kept of one picture
MIMES = ("text/html", "text/plain", "image/png")
# Nothing is installed while grading: there is no network, and the attempt alone would take seconds.
_INSTALLS = re.compile(r"^\s*(python3?\s+-m\s+)?(pip3?|uv|conda|mamba|apt|apt-get|wget|curl|git)\b")
_NO_MAGIC = re.compile(r"pip|conda|mamba|uv|matplotlib|(re)?load_ext|autoreload|config|gui")
_SHELL_NAMES = re.compile(r"In|Out|exit|quit|get_ipython|open|_+|_+i*\d*|_(ih|oh|dh|exit_code)|__\w+__")


class CellTimeout(BaseException):
    """The cell's time is up."""


class Capped(io.StringIO):
    """A text stream that keeps the first `limit` characters and drops the rest."""

    def __init__(self, limit: int):
        super().__init__()
        self.room = limit

    def write(self, text: str) -> int:
        if self.room > 0:
            super().write(text[: self.room])
            if len(text) >= self.room:
                super().write("\n[the rest of the output was dropped]\n")
            self.room -= len(text)
        return len(text)


class _Hook(DisplayHook):
    shell: Any

    def write_format_data(self, format_dict: dict[str, Any], *_: Any) -> None:
        self.shell.keep(format_dict)

    def _nothing(self, *_: Any) -> None:
        pass

    start_displayhook = write_output_prompt = log_output = finish_displayhook = _nothing


class _Publisher(DisplayPublisher):
    shell: Any

    def publish(self, data: dict[str, Any], *_: Any, **__: Any) -> None:
        self.shell.keep(data)

    def clear_output(self, wait: bool = False) -> None:
        pass


class QuietShell(InteractiveShell):
    """IPython without a terminal, a history, colours or slow tracebacks."""

    outputs: list[Output]

    def keep(self, data: dict[str, Any]) -> None:
        for mime in MIMES:
            content = data.get(mime)
            if isinstance(content, (str, bytes)):
                self.outputs.append(Output(mime, content[:PICTURE]))

    def _tee(self, *_: Any, **__: Any) -> Any:
        return nullcontext()  # IPython would keep a second copy of all output, without a limit

    def init_history(self) -> None:
        super().init_history()  # type: ignore[no-untyped-call]
        if self.history_manager is not None:
            self.history_manager.enabled = False

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        pass

    showsyntaxerror = showtraceback

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        if _NO_MAGIC.fullmatch(magic_name):
            return None
        return super().run_line_magic(magic_name, line, _stack_depth + 1)

    def system(self, cmd: str) -> None:
        if _INSTALLS.match(cmd):
            print(f"(not run while grading: {cmd.strip()})")
        else:
            sys.stdout.write(self.getoutput(cmd, split=False))

    def getoutput(self, cmd: str, split: bool = True, *_: Any, **__: Any) -> Any:
        done = subprocess.run(cmd, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.user_ns["_exit_code"] = done.returncode
        text = done.stdout.decode("utf-8", "replace")
        return text.splitlines() if split else text


@dataclass
class CellRun:
    """What running a cell gave. `error` is the exception itself; `value` that of the last expression."""

    error: BaseException | None = None
    value: Any = None
    shown: str = ""  # the value as a notebook would print it
    seconds: float = 0.0
    stderr: str = ""
    outputs: list[Output] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


class Shell:
    """Made once in the warm parent; each child runs its cells in its own copy."""

    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        config.InteractiveShell.autocall = 0
        self.ipython = QuietShell.instance(
            config=config, displayhook_class=_Hook, display_pub_class=_Publisher, user_ns={}
        )
        self.ipython.outputs = []
        formatters: Any = self.ipython.display_formatter
        png = formatters.formatters["image/png"]
        png.for_type_by_name("matplotlib.figure", "Figure", _picture)
        builtins.get_ipython = self.ipython.get_ipython  # type: ignore[attr-defined]
        builtins.display = display  # type: ignore[attr-defined]
        self.hooks = self._hooks()

    @property
    def namespace(self) -> dict[str, Any]:
        names: dict[str, Any] = self.ipython.user_ns
        return names

    def rehearse(self) -> None:
        """Run a few cells before the fork, so that no child pays for what IPython does once."""
        # IPython makes these when it first runs.
        before = {*self.namespace, "_ih", "_oh", "_dh", "_i", "_ii", "_iii"}
        for source in ("x = 1\nx", "[x]", "1 / 0", "%time x = 2"):
            self.run(source, Limits())
        for name in [name for name in self.namespace if name not in before]:
            del self.namespace[name]

    def run(self, source: str, limits: Limits) -> CellRun:
        """Run a cell; an error is a result, not an exception."""
        before = {name: id(value) for name, value in self.namespace.items()}
        shell, out, err = self.ipython, Capped(limits.output), Capped(limits.output)
        outputs: list[Output] = []
        shell.outputs = outputs
        start, done = time.perf_counter(), CellRun()
        heed_timers()  # again for each cell: the last one may have changed them
        try:
            with redirect_stdout(out), redirect_stderr(err), stopped_after(limits):
                if self._is_ordinary(source):
                    self._run_plain(source, done)
                else:
                    result = shell.run_cell(source, store_history=False)  # type: ignore[no-untyped-call]
                    done.error = result.error_before_exec or result.error_in_exec
                    done.value = result.result
                self._figures()
        except BaseException as error:  # noqa: BLE001 - whatever a cell raises is its result
            done.error = error
        done.seconds = time.perf_counter() - start
        done.stderr = err.getvalue()
        printed = (
            ("stdout", out.getvalue()),
            ("stdout", _printed_past_python(limits.output)),
            ("stderr", done.stderr),
        )
        done.outputs = [Output(kind, text) for kind, text in printed if text] + outputs[: 4 * FIGURES]
        if done.value is not None:
            done.shown = next((o.data for o in reversed(outputs) if o.kind == "text/plain"), "")  # type: ignore
        done.names = self._bound(source, before)
        return done

    def _hooks(self) -> tuple[Any, ...]:
        shell = self.ipython
        events = {name: list(callbacks) for name, callbacks in shell.events.callbacks.items()}
        lists = shell.input_transformers_cleanup, shell.input_transformers_post, shell.ast_transformers
        return events, *map(list, lists)

    def _is_ordinary(self, source: str) -> bool:
        """Python without magics, in a shell that nobody has changed: then IPython's part is the display alone."""
        plain = bool(parse(source, magics=False).body) and "__future__" not in source
        return plain and self._hooks() == self.hooks

    def _run_plain(self, source: str, done: CellRun) -> None:
        """The cell without IPython's machinery, which costs a fresh process more than most cells do."""
        body = parse(source, magics=False).body
        # For tracebacks and getsource.
        name = self.ipython.compile.cache(source, self.ipython.execution_count)
        last = body[-1] if isinstance(body[-1], ast.Expr) else None
        before = ast.Module(body[:-1] if last else body, [])
        exec(compile(before, name, "exec", dont_inherit=True), self.namespace)
        if last is not None:
            code = compile(ast.Expression(last.value), name, "eval", dont_inherit=True)
            done.value = eval(code, self.namespace)
            if done.value is not None and not source.rstrip().endswith(";"):
                self._show(done.value)

    def _show(self, value: Any) -> None:
        if type(value) in (int, float, bool, str):
            self.ipython.keep({"text/plain": repr(value)})
        else:
            formatter: Any = self.ipython.display_formatter
            self.ipython.keep(formatter.format(value)[0])
        self.namespace["_"] = value

    def _bound(self, source: str, before: dict[str, int]) -> list[str]:
        """The names that the cell bound: those that changed, and those that it binds anew to an equal value."""
        now = self.namespace
        changed = {name for name, value in now.items() if before.get(name) != id(value)}
        bound = changed | (names_of(source).binds & now.keys())
        return sorted(n for n in bound if type(n) is str and not _SHELL_NAMES.fullmatch(n))

    def _figures(self) -> None:
        """Keep the open figures as pictures and close them, as the inline backend does."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not pyplot.get_fignums():
            return
        for number in pyplot.get_fignums()[:FIGURES]:
            self.ipython.outputs.append(Output("image/png", _picture(pyplot.figure(number))[:PICTURE]))
        pyplot.close("all")


def _printed_past_python(limit: int) -> str:
    """What the cell's own processes and libraries wrote to descriptors 1 and 2, which are one file in a child."""
    if not stat.S_ISREG(os.fstat(1).st_mode):
        return ""
    written = os.lseek(1, 0, os.SEEK_END)
    if not written:
        return ""
    text = os.pread(1, min(limit, written), 0).decode("utf-8", "replace")
    os.ftruncate(1, 0)
    os.lseek(1, 0, os.SEEK_SET)
    return text


def _picture(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=72, bbox_inches="tight")
    return buffer.getvalue()


def _stop(*_: Any) -> None:
    raise CellTimeout


def heed_timers() -> None:
    """Let the timers of `stopped_after` raise CellTimeout in this process."""
    signal.signal(signal.SIGALRM, _stop)
    signal.signal(signal.SIGPROF, _stop)


@contextmanager
def stopped_after(limits: Limits) -> Iterator[None]:
    """Raise CellTimeout inside the block when its processor or wall time is up.

    Code can ignore this; whoever waits for this process kills it a little later.
    """
    timers = {signal.ITIMER_REAL: limits.cell_wall, signal.ITIMER_PROF: limits.cell_cpu}
    try:
        for timer, seconds in timers.items():
            signal.setitimer(timer, seconds)
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)


def line_of(error: BaseException) -> int:
    """The line of the last cell that the error went through; 0 if there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if f.filename.startswith("<ipython-input")]
    if not lines and isinstance(error, SyntaxError):
        lines = [error.lineno]
    return lines[-1] or 0 if lines else 0


def text_of(value: object, attribute: str) -> str:
    """This attribute if it is a plain text."""
    found = getattr(value, attribute, "")
    return found if type(found) is str else ""


def missing_name(error: BaseException) -> str:
    """The name that was not defined, if that is what the error says."""
    return text_of(error, "name") if isinstance(error, NameError) else ""


def words_of_any(value: object, most: int) -> str:
    """`str(value)`, in at most so many characters, whatever `value` is."""
    try:
        return str(value)[:most]
    except Exception:  # noqa: BLE001 - an integer of more digits than Python writes; a `__str__` that raises
        return "(it could not be written)"


def class_of(error: BaseException) -> str:
    """The name of its class as a student knows it: Python 3.13 has a private one for input that ends too early."""
    return "SyntaxError" if type(error).__name__ == "_IncompleteInputError" else type(error).__name__


def words_of(error: BaseException) -> str:
    """`ValueError: bad size (line 3)`, in at most 500 characters."""
    text, line = words_of_any(error.msg if isinstance(error, SyntaxError) else error, 500), line_of(error)
    words = f"{class_of(error)}: {text}" if text else class_of(error)
    return words[:480] + (f" (line {line})" if line else "")


def told_of(error: BaseException | None) -> dict[str, Any]:
    """All that a student's process tells of an error."""
    if error is None:
        return {"line": 0, **dict.fromkeys(("error", "message", "type", "missing", "sentence", "kind"), "")}
    return {
        "error": words_of(error),
        "message": words_of_any(error, 2000),
        "type": class_of(error),
        "line": line_of(error),
        "missing": missing_name(error),
        "sentence": text_of(error, "sentence"),
        "kind": text_of(error, "kind"),
    }


def put_files(files: dict[str, bytes]) -> None:
    """Write the assignment's files into the working directory, from where a notebook can import them."""
    sys.path.insert(0, os.getcwd())
    for name, content in files.items():
        path = os.path.normpath(name)
        if path.startswith(("/", "..")):
            raise ValueError(f"the file name {name!r} leaves the working directory")
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
