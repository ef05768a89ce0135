"""A Sphinx extension: formulas are typeset when the book is built, so that a page needs no script for them.

MathJax runs here, once for the whole build, and gives each formula as an SVG in the page's ink. The letters'
outlines stand once a page. A formula that does not parse fails the build, with its file and line.
"""

import json
import re
import subprocess
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from . import vendor

log = logging.getLogger(__name__)
_DEPTH = re.compile(r' style="(vertical-align: [^"]*)"')
_LETTER = re.compile(r'href="#(TEX-[\w-]+)"')
_SIGNED = re.compile(r'(\(?<span [^>]*class="math [^>]*>(?><svg.*?</svg>)</span>[.,;:!?)]+)', re.DOTALL)


class Typesetter:
    """MathJax in a process of its own, which begins with the first formula."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.glyphs: dict[str, str] = {}

    def set(self, tex: str, display: bool) -> tuple[str, str]:
        """The formula as an SVG element, and in words. ValueError: it does not parse."""
        if self.process is None:
            command = [vendor.node(), str(Path(__file__).with_name("typeset.js")), str(vendor.mathjax())]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"tex": tex, "display": display}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        self.glyphs |= answer["glyphs"]
        return answer["svg"].replace("<svg ", '<svg aria-hidden="true" ', 1), answer["words"]

    def outlines(self, html: str) -> str:
        """The outlines of the letters that a page's formulas refer to."""
        used = sorted(set(_LETTER.findall(html)))
        paths = "".join(f'<path id="{letter}" d="{self.glyphs[letter]}"/>' for letter in used)
        return f'<svg style="display:none" aria-hidden="true"><defs>{paths}</defs></svg>' if used else ""

    def close(self) -> None:
        if self.process is not None:
            self.process.communicate()
            self.process = None


def _typeset(visitor: HTML5Translator, node: nodes.Element, tex: str, display: bool) -> tuple[str, str]:
    try:
        return visitor.builder.app.typesetter.set(tex, display)  # type: ignore[attr-defined,no-any-return]
    except ValueError as error:
        lined = node
        while lined.line is None and lined.parent is not None:
            lined = lined.parent
        log.warning("a formula does not parse: %s: %s", error, " ".join(tex.split())[:120], location=lined)
        return f"<code>{escape(tex)}</code>", tex


def inline(visitor: HTML5Translator, node: nodes.Element) -> None:
    tex = node.astext()
    svg, words = _typeset(visitor, node, tex, False)
    # The depth below the line goes to the box, which scrolls where the formula is wider than a phone.
    depth = _DEPTH.search(svg)
    style = {"style": depth[1]} if depth else {}
    style |= {"role": "math", "aria-label": words}
    start = visitor.starttag(node, "span", "", CLASS="math notranslate nohighlight", **style)
    visitor.body.append(f"{start}{_DEPTH.sub('', svg, count=1)}</span>")
    raise nodes.SkipNode


def block(visitor: HTML5Translator, node: nodes.Element) -> None:
    visitor.body.append(visitor.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        visitor.body.append(f'<span class="eqno">({get_node_equation_number(visitor, node)})')
        visitor.add_permalink_ref(node, "Link to this equation")
        visitor.body.append("</span>")
    tex = node.astext() if node["nowrap"] else _aligned(node.astext())
    svg, words = _typeset(visitor, node, tex, True)
    read = {"role": "math", "aria-label": words}
    start = visitor.starttag(node, "div", "", CLASS="formula", ids=[], **read)
    visitor.body.append(f"{start}{svg}</div></div>")
    raise nodes.SkipNode


def _aligned(tex: str) -> str:
    """Lines within a paragraph are aligned at &, paragraphs stand one below the other, as Sphinx has it."""
    parts = [
        p if r"\\" not in p else rf"\begin{{split}}{p}\end{{split}}" for p in tex.split("\n\n") if p.strip()
    ]
    return parts[0] if len(parts) == 1 else r"\begin{gathered}" + r"\\".join(parts) + r"\end{gathered}"


def _finish(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: object) -> None:
    """No line begins with the sign that follows a formula; and the outlines are there."""
    body = _SIGNED.sub(r'<span class="kept">\1</span>', context.get("body", ""))
    context["body"] = body + app.typesetter.outlines(body)  # type: ignore[attr-defined]


def setup(app: Sphinx) -> None:
    app.typesetter = Typesetter()  # type: ignore[attr-defined]
    app.add_html_math_renderer("typeset", (inline, None), (block, None))
    app.connect("html-page-context", _finish)
    app.connect("build-finished", lambda app, error: app.typesetter.close())
