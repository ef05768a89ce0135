"""The frame of every page the grader writes: one style, light and dark, no script, nothing from elsewhere."""

import re
from collections.abc import Iterable, Sequence, Set
from html import escape
from pathlib import Path

from ..facts import Assignment
from ..text import printable, short_digest

# No script may run in a page that shows what a student wrote, whatever slipped through the escaping.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def page(title: str, body: str) -> str:
    return printable(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def heading(assignment: Assignment) -> str:
    """The title that the assignment's notebook has, or its name; as HTML."""
    texts = [c.released for m in assignment.masters[:1] for c in m.cells if c.kind == "markdown"]
    titles = [line[2:].strip() for text in texts for line in text.splitlines() if line.startswith("# ")]
    return escape(titles[0] if titles and len(assignment.masters) == 1 else assignment.name)


def prose(sentence: object) -> str:
    """A sentence with `code` in it, as HTML."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(str(sentence)))


def file_name(text: str) -> str:
    """A student's name as part of a path: letters, digits, dots and dashes; no two names become one."""
    plain = re.sub(r"[^\w.@-]+", "_", text).strip("._")[:80]
    return plain if plain == text else f"{plain}-{short_digest(text)}"


def listed(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{prose(line)}</li>' for line in lines)}</ul>"


def folded(summary: str, inside: str, opened: bool = False) -> str:
    """HTML that a reader opens, under a line of text."""
    return f"<details{' open' * opened}><summary>{escape(summary)}</summary>{inside}</details>"


class Html(str):
    """Text that is HTML already."""


def table(
    head: Sequence[str], rows: Sequence[Sequence[object]], numbers: Set[int] = frozenset(), kind: str = ""
) -> str:
    """`numbers` are columns of numbers. A table of the kind `said` holds sentences, and folds on a narrow screen; one
    that is `narrow` is short enough for it."""

    def line(tag: str, row: Sequence[object]) -> str:
        shown = [value if isinstance(value, Html) else prose(value) for value in row]
        marks = [" class=number" if n in numbers else "" for n in range(len(row))]
        return f"<tr>{''.join(f'<{tag}{m}>{v}</{tag}>' for m, v in zip(marks, shown, strict=True))}</tr>"

    lines = [line("th", head), *(line("td", row) for row in rows)]
    return (
        f"<div class='wide'><table{f' class={kind}' if kind else ''}>" + "\n".join(lines) + "</table></div>"
    )
