"""The frame of every page the grader writes: one style, light and dark, no script, nothing from elsewhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence, Set
from html import escape

from ..facts import Assignment
from ..text import printable

# No script may run in a page that shows what a student wrote, whatever slipped through the escaping.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6675; --line: #d9dee6; --page: #fff; --card: #f6f8fb;
  --good: #1a7f4b; --bad: #b3261e; --part: #8a5a00; --blue: #1f5fa8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ebf1; --soft: #a3adba; --line: #39424f; --page: #14181f;
  --card: #1c222c; --good: #58c28b; --bad: #ff8a80; --part: #e5b567; --blue: #7db3f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 58rem; padding: 2rem 1.2rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); } a { color: var(--blue); }
.total { font-size: 2rem; font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }
.part { color: var(--part); }
article { border: 1px solid var(--line); border-left: .3rem solid var(--line); border-radius: .5rem;
  padding: .8rem 1rem; margin: .9rem 0; background: var(--card); }
article.good { border-left-color: var(--good); } article.bad { border-left-color: var(--bad); }
article.part { border-left-color: var(--part); }
article, article * { color: var(--ink); } article .mark { font-weight: 600; }
article.good .mark { color: var(--good); } article.bad .mark { color: var(--bad); }
article.part .mark { color: var(--part); }
pre { overflow: auto; background: var(--page); border: 1px solid var(--line); border-radius: .35rem;
  padding: .6rem .8rem;
  font: 13px/1.45 ui-monospace, monospace; margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere;
  max-height: 40rem; }
@media print { pre { max-height: none; } }
.comment { border-left: .2rem solid var(--blue); padding-left: .7rem; white-space: pre-wrap; }
summary { cursor: pointer; color: var(--soft); } img { max-width: 100%; background: #fff; border-radius: .3rem; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; } .wide { overflow-x: auto; }
table.said td:first-child { white-space: nowrap; }
.wide table:not(.said) { min-width: 34rem; } td ul { margin: 0; padding-left: 1.1rem; }
code { font: .9em ui-monospace, monospace; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } svg .bar { fill: var(--blue); }
svg .axis { stroke: var(--line); } svg .soft { fill: var(--soft); }
.meter { display: inline-block; width: 4.5rem; height: .55rem; margin-right: .5rem; border-radius: .3rem;
  background: var(--line); } .meter i { display: block; height: 100%; border-radius: .3rem; background: var(--blue); }
@media (max-width: 40rem) {
  /* Rows of sentences stand one part below the other. */
  table.said tr:first-child { display: none; }
  table.said tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  table.said td { display: block; padding: .1rem 0; border: 0; overflow-wrap: anywhere; }
  table.said td:empty { display: none; } table.said td:first-child { font-weight: 600; white-space: normal; }
}
"""


def page(title: str, body: str) -> str:
    return printable(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def heading(assignment: Assignment) -> str:
    """The title that the assignment's notebook has, or its name; as HTML."""
    texts = [c.released for m in assignment.masters[:1] for c in m.cells if c.kind == "markdown"]
    titles = [line[2:].strip() for text in texts for line in text.splitlines() if line.startswith("# ")]
    return escape(titles[0] if titles and len(assignment.masters) == 1 else assignment.name)


def prose(sentence: object) -> str:
    """A sentence with `code` in it, as HTML."""
    parts = escape(str(sentence)).split("`")
    return "".join(
        f"<code>{part}</code>" if n % 2 and n < len(parts) - 1 else part for n, part in enumerate(parts)
    )


def file_name(text: str) -> str:
    """A student's name as part of a path: letters, digits, dots and dashes; no two names become one."""
    plain = re.sub(r"[^\w.@-]+", "_", text).strip("._")[:80]
    return plain if plain == text else f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


class Html(str):
    """Text that is HTML already."""


def table(
    head: Sequence[str], rows: Sequence[Sequence[object]], numbers: Set[int] = frozenset(), said: bool = False
) -> str:
    """`numbers` are columns of numbers; `said`: the rows hold sentences, and fold on a narrow screen."""

    def cell(tag: str, n: int, value: object) -> str:
        shown = value if isinstance(value, Html) else prose(value)
        return f"<{tag}{' class=number' if n in numbers else ''}>{shown}</{tag}>"

    lines = ["<tr>" + "".join(cell("th", n, h) for n, h in enumerate(head)) + "</tr>"]
    lines += ["<tr>" + "".join(cell("td", n, v) for n, v in enumerate(row)) + "</tr>" for row in rows]
    return f"<div class='wide'><table{' class=said' if said else ''}>" + "\n".join(lines) + "</table></div>"
