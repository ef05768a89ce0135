"""A progress bar, in a notebook and in a terminal; where neither is there to see it, nothing is written."""

import sys
import time
from html import escape

from .palette import BLUE

EVERY = 0.1  # seconds between two drawings


class Bar:
    """`with Bar(total) as bar: bar.update(done, note)`. What stays when it is done has no time in it."""

    def __init__(self, total: int, done: int = 0, show: bool = True):
        self.total, self.done, self.note = total, done, ""
        self._drawn = 0.0
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython is not None else None
        self._notebook = show and getattr(shell, "kernel", None) is not None
        self._terminal = show and not self._notebook and sys.stdout.isatty()
        self._handle = None

    def __enter__(self) -> "Bar":
        self._draw()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.note = "failed: " + self.note if kind else self.note
        self._draw()
        if self._terminal:
            sys.stdout.write("\n")

    def update(self, done: int, note: str = "") -> None:
        self.done, self.note = done, note
        if time.monotonic() - self._drawn >= EVERY:
            self._draw()

    def _repr_html_(self) -> str:
        share = 100 * self.done / self.total
        return (
            f'<div role="progressbar" aria-valuemin="0" aria-valuemax="{self.total}" aria-valuenow="{self.done}" '
            'aria-label="training" style="display:flex;gap:.8em;align-items:center;max-width:46em;margin:.3em 0">'
            '<span style="flex:0 0 12em;max-width:40%;height:.5em;border-radius:.25em;'
            'background:rgba(128,128,128,.25)">'
            f'<span style="display:block;width:{share:.1f}%;height:100%;border-radius:.25em;background:{BLUE}"></span>'
            f"</span><span>{self.done} of {self.total} steps</span>"
            f'<span style="opacity:.75">{escape(self.note)}</span></div>'
        )

    def __repr__(self) -> str:
        full = 30 * self.done // self.total
        return f"{'█' * full}{'░' * (30 - full)} {self.done}/{self.total}  {self.note}"

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        if self._terminal:
            sys.stdout.write(f"\r\x1b[K{self!r}")
            sys.stdout.flush()
        elif self._notebook:
            from IPython.display import display

            if self._handle is None:
                self._handle = display(self, display_id=True)
            else:
                self._handle.update(self)
