"""How a result looks: a small panel in a notebook, a few lines in a terminal.

The panel has no script and no style sheet: inline styles alone survive Lab's sanitiser, Colab's frame and
a static page. Its colours are tints over whatever the page has, so it needs no knowledge of light or dark.
"""

import sys
from collections.abc import Sequence
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING

from .mathml import mathml

if TYPE_CHECKING:
    from .result import Result

GREEN, RED, GREY = "46,158,91", "214,69,69", "128,128,128"
LONGEST = 400  # characters of a student's own text that are shown


def number(value: object) -> str:
    """A cell of the table: numbers to six significant digits, text as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return shorten(str(value))
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def shorten(text: str, longest: int = LONGEST) -> str:
    """Text of a student's, cut where it would drown the sentence."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def listed(words: Sequence[str]) -> str:
    """Words in a sentence: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def plain(sentence: str) -> str:
    """A sentence for where nothing can be set as code."""
    return sentence.replace("`", "")


def _look(result: "Result") -> tuple[str, str, str]:
    """The mark, its colour and its name for a reader who does not see it."""
    if result.kind == "form":
        return "◦", GREY, "read, and judged later"
    return ("✓", GREEN, "right") if result.ok else ("✗", RED, "not right yet")


def text(result: "Result") -> str:
    lines = [f"{_look(result)[0]} {plain(result.sentence)}"]
    if result.parts:
        lines.append("    " + "  ".join(f"{'✓' if p.ok else '✗'} {name}" for name, p in result.parts.items()))
    table = [list(result.columns)] * bool(result.columns) + [[number(c) for c in row] for row in result.rows]
    widths = [max(map(len, column)) for column in zip_longest(*table, fillvalue="")]
    rows = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=False)).rstrip() for row in table)
    lines += ["    " + line for line in (*result.block.splitlines(), *rows)]
    lines += [f"    hint: {plain(hint)}" for hint in result.hints if not result.ok]
    return "\n".join(lines)


def show(result: "Result") -> bool:
    """Display the panel where a notebook's kernel runs; False in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return False
    from IPython.display import display

    display(result)
    return True


def html(result: "Result") -> str:
    # The colour is in borders and tints: the words and marks have the page's own ink, which is readable on any page.
    mark, colour, name = _look(result)
    frame = (
        f"border-left:4px solid rgb({colour});background:rgba({colour},.09);padding:.6em .9em;margin:.3em 0;"
    )
    frame += "border-radius:0 6px 6px 0;max-width:52em;line-height:1.5"
    body = [f'<div role="status" style="{frame}">']
    if result.reading:
        body.append(f'<div style="overflow:auto hidden;padding-bottom:.4em">{result.reading}</div>')
    body.append(
        f'<div><span style="font-weight:700;margin-right:.5em" aria-label="{name}">{mark}</span>'
        f"{_prose(result.sentence)}</div>"
    )
    if result.parts:
        chips = " ".join(_chip(name, part) for name, part in result.parts.items())
        body.append(f'<div style="margin-top:.4em">{chips}</div>')
    if result.block:
        body.append(
            f'<pre style="margin:.5em 0 0;padding:.5em .7em;background:rgba(128,128,128,.12);color:inherit;'
            f'border-radius:4px;overflow-x:auto;line-height:1.35" tabindex="0">{escape(result.block)}</pre>'
        )
    if result.rows:
        body.append(_table(result))
    return "".join(body) + ("" if result.ok else _hints(result.hints)) + "</div>"


def equations(lines: Sequence[tuple[str, str, bool]], given: str) -> str:
    """Equations as they were read: LaTeX, the shape of what it defines, and whether that is wrong; then the inputs."""
    cell = "padding:.15em .6em;border:0;text-align:left;background:transparent;color:inherit"
    rows = "".join(
        f'<tr style="background:{f"rgba({RED},.16)" if marked else "transparent"}">'
        f'<td style="{cell}">{mathml(latex)}</td>'
        f'<td style="{cell};opacity:.7;white-space:nowrap">{escape(shape)}</td></tr>'
        for latex, shape, marked in lines
    )
    table = f'<table style="border:0;border-collapse:collapse;margin:0"><tbody>{rows}</tbody></table>'
    return table + (f'<div style="opacity:.7;font-size:.92em">{escape(given)}</div>' if given else "")


def shape_of(tensor: object) -> str:
    """The shape of a tensor in words: 3 × 5."""
    return " × ".join(map(str, getattr(tensor, "shape", ()))) or "a number"


def _hints(hints: Sequence[str]) -> str:
    """Each hint is inside the one before it, so that they open one after the other."""
    if not any(hints):
        return ""
    inside = f'<div style="margin-top:.2em">{_prose(hints[0])}</div>{_hints(hints[1:])}'
    summary = '<summary style="cursor:pointer;opacity:.8">Hint</summary>'
    return f'<details style="margin-top:.5em">{summary}{inside}</details>'


def _prose(sentence: str) -> str:
    """Escaped text; what stands between backquotes is code."""
    pieces = escape(sentence).split("`")
    if len(pieces) % 2 == 0:  # a stray backquote: leave the text as it is
        return "`".join(pieces)
    style = "background:rgba(128,128,128,.15);color:inherit;padding:0 .25em;border-radius:3px"
    return "".join(p if n % 2 == 0 else f'<code style="{style}">{p}</code>' for n, p in enumerate(pieces))


def _chip(name: str, part: "Result") -> str:
    colour = GREEN if part.ok else RED
    shape = f' <span style="opacity:.7">{part.reading}</span>' if part.reading else ""
    return (
        f'<span style="display:inline-block;border:1px solid rgba({colour},.6);border-radius:9px;'
        f'padding:0 .55em;margin:.1em .15em .1em 0;font-size:.9em">'
        f"{'✓' if part.ok else '✗'} {escape(name)}{shape}</span>"
    )


def _table(result: "Result") -> str:
    cell = "padding:.1em 1.2em .1em 0;text-align:left;border:0;background:transparent;color:inherit"
    head = "".join(
        f'<{(tag := "th" if c else "td")} style="{cell};font-weight:400;opacity:.7">{escape(c)}</{tag}>'
        for c in result.columns
    )
    td = f'<td style="{cell};font-family:monospace">'
    lines = ("".join(f"{td}{_prose(number(c))}</td>" for c in row) for row in result.rows)
    rows = "".join(f'<tr style="background:transparent">{line}</tr>' for line in lines)
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return (
        '<div style="overflow-x:auto" tabindex="0"><table style="border:0;border-collapse:collapse;margin:.5em 0 0;'
        f'font-size:.92em">{top}<tbody>{rows}</tbody></table></div>'
    )
