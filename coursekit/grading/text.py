"""A student's words on their way to someone's eyes: no control character, no markup that a page would act on."""

import hashlib
import re
from html import escape

import mistune
import nh3

_COLOUR = re.compile(r"\x1b\[[0-9;:?]*[A-Za-z]")
# Everything that moves a cursor, hides text or turns its direction; a tab and a new line are text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_TAGS = "p br hr em strong del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 table thead tbody tr th td span"
_FORMULA = "tex2jax_process mathjax_process"  # the class by which MathJax 2 and 3 know what to typeset
_WORDS = re.compile(r"\\([A-Za-z]+)")
_NAMED = re.compile(r"\\(?:begin|end)\s*\{([^}]*)\}")
# What a formula may say. MathJax's own language has words that link, load and style; these do none of it.
_HARMLESS = """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho sigma tau
    upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar nabla partial
    frac dfrac tfrac sqrt sum prod int lim max min sup inf arg exp log ln sin cos tan tanh sinh cosh det dim Pr cdot
    cdots ldots dots vdots ddots times div pm mp le leq ge geq ne neq approx equiv sim propto ll gg in notin subset
    subseteq cup cap emptyset infty to mapsto rightarrow leftarrow Rightarrow Leftarrow leftrightarrow Leftrightarrow
    implies iff forall exists neg land lor circ odot otimes oplus top bot prime mid parallel colon left right big Big
    bigl bigr Bigl Bigr langle rangle lfloor rfloor lceil rceil lVert rVert vert Vert quad qquad hat tilde bar vec dot
    widehat widetilde overline underline overbrace underbrace underset overset stackrel text mathrm mathbf mathit
    mathcal mathbb mathsf boldsymbol operatorname displaystyle textstyle limits nolimits star ast begin end"""
_ENVIRONMENTS = (
    "aligned align align* gather gathered cases matrix pmatrix bmatrix vmatrix array equation equation* split"
)
_PLUGINS = ["table", "strikethrough", "math"]
_LONGEST_FORMULA = 4000


def printable(text: str) -> str:
    """The text without terminal colours; each other character that a page cannot show becomes one that it can."""
    return _CONTROL.sub("\ufffd", _COLOUR.sub("", text.replace("\r\n", "\n")))


def plain_name(name: str) -> str:
    """A student's name without what a page would read as markup; no two names become one."""
    plain = re.sub(r"[<>\"&`\\]", "_", printable(name)).replace("\n", " ").strip()
    return plain if plain == name else f"{plain} {short_digest(name)}"


def short_digest(name: str) -> str:
    """What tells two names apart that would look the same."""
    return hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]


def cleaned(markdown: str) -> str:
    """A student's markdown as one line of HTML that nothing can come of: tags, pictures and links are text.

    A formula is typeset if it says nothing but mathematics. One line, because a notebook's page reads markdown again
    after a blank one.
    """
    read = mistune.create_markdown(renderer=_Inert(), plugins=_PLUGINS)
    html = nh3.clean(
        str(read(printable(markdown))), tags=set(_TAGS.split()), attributes={"span": {"class"}}, link_rel=None,
        attribute_filter=lambda tag, name, value: value if value == _FORMULA else None,
    )  # fmt: skip
    parts = re.split(rf'(<span class="{_FORMULA}">.*?</span>)', html, flags=re.DOTALL)
    inert = [part if n % 2 else part.replace("$", "&#36;") for n, part in enumerate(parts)]
    inside = "".join(inert).strip().replace("\n", "&#10;")
    return f'<div class="tex2jax_ignore mathjax_ignore">{inside}</div>'


class _Inert(mistune.HTMLRenderer):
    """A link and a picture are their words, and where they would have led."""

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return text if escape(url) == text else f"{text} ({escape(url)})"

    image = link

    def inline_math(self, text: str) -> str:
        return _formula(text, "$")

    def block_math(self, text: str) -> str:
        return f"<p>{_formula(text, '$$')}</p>"


def _formula(tex: str, sign: str) -> str:
    words, named = set(_WORDS.findall(tex)), set(_NAMED.findall(tex))
    known = words <= set(_HARMLESS.split()) and named <= set(_ENVIRONMENTS.split())
    if known and len(tex) <= _LONGEST_FORMULA:
        return f'<span class="{_FORMULA}">{sign}{escape(tex)}{sign}</span>'
    return f"<code>{sign}{escape(tex)}{sign}</code>"
