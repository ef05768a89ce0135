"""Running one cell as a notebook would: magics, display, figures, the value of the last line, all captured."""

import ast
import builtins
import io
import os
import re
import signal
import stat
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any, cast

from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from traitlets.config import Config

from ..confine.limits import Limits
from .names import names_of, readable
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
            sys.stdout.write(self.getoutput(cmd, split=False, depth=1))  # type: ignore[no-untyped-call]


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
        self.ipython = QuietShell.instance(config=config, display_pub_class=_Publisher, user_ns={})
        self.ipython.outputs = []
        self.formatter = cast(Any, self.ipython.display_formatter)
        self.formatter.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", _picture)
        self.readers = self._readers()
        vars(builtins).update(get_ipython=self.ipython.get_ipython, display=display)

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
        out, err = Capped(limits.output), Capped(limits.output)
        outputs: list[Output] = []
        self.ipython.outputs = outputs
        start, done = time.perf_counter(), CellRun()
        heed_timers()  # again for each cell: the last one may have changed them
        try:
            with redirect_stdout(out), redirect_stderr(err), stopped_after(limits):
                self._execute(source, done)
                self._figures()
        except BaseException as error:  # noqa: BLE001 - whatever a cell raises is its result
            done.error = error
        done.seconds = time.perf_counter() - start
        done.stderr = err.getvalue()
        past = _printed_past_python(limits.output)
        printed = ("stdout", out.getvalue()), ("stdout", past), ("stderr", done.stderr)
        done.outputs = [Output(kind, text) for kind, text in printed if text] + outputs[: 4 * FIGURES]
        if done.value is not None:
            done.shown = next((o.data for o in reversed(outputs) if o.kind == "text/plain"), "")  # type: ignore
        done.names = self._bound(source, before)
        return done

    def _readers(self) -> list[Any]:
        return [*self.ipython.input_transformers_cleanup, *self.ipython.input_transformers_post]

    def _execute(self, source: str, done: CellRun) -> None:
        """IPython reads the magics and compiles. The rest of its machinery costs a fresh process more than most cells
        do."""
        shell, (_, tree) = self.ipython, readable(source, magics=False)
        if not tree.body or self._readers() != self.readers:  # magics, or a student's own way to read
            source = shell.transform_cell(source)  # type: ignore[no-untyped-call]
            tree = ast.parse(source)
        body, compiled = tree.body, cast(Any, shell.compile)  # which takes trees as well
        name = shell.compile.cache(source, shell.execution_count)  # for tracebacks and getsource
        last = body[-1] if body and isinstance(body[-1], ast.Expr) else None
        exec(compiled(ast.Module(body[:-1] if last else body, []), name, "exec"), self.namespace)
        if last:
            done.value = eval(compiled(ast.Expression(last.value), name, "eval"), self.namespace)
            if done.value is not None and not source.rstrip().endswith(";"):
                plain = type(done.value) in (int, float, bool, str)
                shell.keep(
                    {"text/plain": repr(done.value)} if plain else self.formatter.format(done.value)[0]
                )
                self.namespace["_"] = done.value

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


def words_of_any(value: object, most: int) -> str:
    """`str(value)`, in at most so many characters, whatever `value` is."""
    try:
        return str(value)[:most]
    except Exception:  # noqa: BLE001 - an integer of more digits than Python writes; a `__str__` that raises
        return "(it could not be written)"


def told_of(error: BaseException | None) -> dict[str, Any]:
    """All that is told of an error: `error`, as `ValueError: bad size (line 3)`, in at most 500 characters; `line`, of
    the last cell that it went through; `missing`, the name that was not defined."""
    told: dict[str, Any] = {"line": 0}
    told |= dict.fromkeys(("error", "message", "type", "missing", "sentence", "kind"), "")
    if error is None:
        return told
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if f.filename.startswith("<ipython-input")]
    if not lines and isinstance(error, SyntaxError):
        lines = [error.lineno]
    line = lines[-1] or 0 if lines else 0
    # Python 3.13 has a private class for input that ends too early.
    kind = type(error).__name__.replace("_IncompleteInputError", "SyntaxError")
    text = words_of_any(error.msg if isinstance(error, SyntaxError) else error, 500)
    words = f"{kind}: {text}" if text else kind
    told |= {"line": line, "type": kind, "message": words_of_any(error, 2000)}
    told["error"] = words[:480] + (f" (line {line})" if line else "")
    places = {
        "sentence": "sentence",
        "kind": "kind",
        "missing": "name" if isinstance(error, NameError) else "",
    }
    for word, place in places.items():
        found = getattr(error, place, "")
        told[word] = found if type(found) is str else ""
    return told


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
