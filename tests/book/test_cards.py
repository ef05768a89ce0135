"""The equation card, built by a small Sphinx: what it shows, and what it refuses with the page's line."""

import io
import re
from functools import cache
from html import unescape

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from coursekit.book.card_tabs import Options, polynomial, shapes
from coursekit.notation import Equations
from coursekit.notation.polynomial import Polynomial

RNN = """\
```{equation-card} rnn
:title: The recurrent network
parameters L, H, b1
e[b,t,i] = L[x[b,t],i]
h[b,t,j] = sigmoid(h[b,t-1,K] H[K,j] + e[b,t,I] E[I,j] + b1[j])
y_hat[b,t,v] = softmax[v](h[b,t,J] U[J,v])
J = -sum[b,t](log(y_hat[b,t,y[b,t]]))
```
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Builds one page with plain MyST and sphinx-design; its HTML and what the build complained of."""

    @cache
    def build(body):
        folder = tmp_path_factory.mktemp("page")
        (folder / "index.md").write_text(f"# Page\n\n{body}")
        complaints = io.StringIO()
        extensions = ["myst_parser", "sphinx_design", "sphinx.ext.mathjax", "coursekit.book.cards"]
        with docutils_namespace():
            app = Sphinx(
                folder, None, folder / "out", folder / "trees", "html", status=None, warning=complaints,
                confoverrides={"extensions": extensions, "html_theme": "basic"},
            )  # fmt: skip
            app.build()
        plain = re.sub(r"\x1b\[[0-9;]*m", "", complaints.getvalue())
        return (folder / "out" / "index.html").read_text(), plain

    return build


def tabs(html):
    """The contents of a card's tabs, by their words."""
    labels = re.findall(r'<label [^>]*class="sd-tab-label"[^>]*>\s*(\w+)\s*</label>', html)
    parts = re.split(r'<div class="sd-tab-content docutils"[^>]*>', html)[1:]
    return dict(zip(labels, parts, strict=True))


def card(page, text):
    html, complaints = page(f"```{{equation-card}} a\n{text}\n```\n")
    assert complaints == ""
    return tabs(html)


def rows(html):
    """The cells of a table, its head left out."""
    found = re.findall(r"<tr[^>]*>(.*?)</tr>", html, re.S)
    return [[words(c) for c in re.findall(r"<td>(.*?)</td>", row, re.S)] for row in found[1:]]


def words(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


# ── what it shows ────────────────────────────────────────────────────────────────────────────


def test_a_card_has_one_number_and_its_four_tabs_the_first_of_them_open(page):
    html, complaints = page(RNN + "\nSee {eq}`eq-rnn`.\n")
    assert complaints == ""
    assert html.count('class="eqno"') == 1
    assert 'href="#equation-eq-rnn"' in html
    assert "The recurrent network" in html
    assert list(tabs(html)) == ["Shapes", "Cost", "Gradient", "Code"]
    inputs = re.findall(r'<input[^>]*type="radio"[^>]*>', html)  # radio buttons: arrow keys move between them
    assert [("checked" in button) for button in inputs] == [True, False, False, False]


def test_statements_about_tensors_stand_below_in_words_and_not_in_the_display(page):
    html, _ = page(RNN)
    display = html[html.index("\\begin{aligned}") : html.index("\\end{aligned}")]
    assert "Phi" not in display
    assert display.count("&amp;=") == 4
    below = re.search(r'<div class="card-words docutils">(.*?)</div>', html, re.S).group(1)
    assert words(below) == r"parameters: \(L,\) \(H,\) \(b_{1}\)."


def test_shapes_tell_what_is_given_learnt_and_computed(page):
    table = rows(tabs(page(RNN)[0])["Shapes"])
    assert [r"\(h_{0}\)", r"\(B \times J\)", r"given: \(h\) before the first step of \(T\)"] in table
    assert [r"\(x\)", r"\(B \times T\)", r"given: whole numbers, from 0 to \(X-1\)"] in table
    assert [r"\(b_{1}\)", r"\(J\)", "parameter"] in table
    assert [r"\(\hat{y}\)", r"\(B \times T \times V\)", "computed"] in table
    assert [r"\(J\)", r"\(\text{one number}\)", "computed"] in table


def test_costs_are_exact_and_have_their_order(page):
    table = {r[0]: r[1:] for r in rows(tabs(page(RNN)[0])["Cost"])}
    assert table["multiply-adds"] == [r"\(B \, J \, T \, (I+J+V)\)", r"\(O(B \, J \, T \, (I+J+V))\)"]
    assert table["parallel time"] == [r"\(T+1\)", r"\(O(T)\)"]
    assert table["parameters"][0] == r"\(I \, X+J^{2}+J\)"


def test_a_card_without_parameters_says_so_and_shows_no_zero(page):
    table = {r[0]: r[1:] for r in rows(card(page, "y[i] = x[i]^2")["Cost"])}
    assert table["parameters"] == ["none are named here", ""]
    assert table["multiply-adds"] == ["none: no product of matrices", ""]
    assert table["parallel time"] == ["none: all entries at once", ""]


def test_the_gradient_of_a_number_needs_nothing_and_of_a_tensor_says_what_is_given(page):
    assert "The gradient of" in tabs(page(RNN)[0])["Gradient"]
    html, _ = page(RNN.replace(":title:", ":gradient: h\n:wrt: H\n:title:"))
    back = words(tabs(html)["Gradient"])
    assert back.startswith(r"\(dh_{\text{seed}}\) is given: the gradient of the loss by \(h\)")
    assert "dH[k, j]" in back
    assert "dL[" not in back


def test_what_has_no_gradient_says_why(page):
    back = words(card(page, "h[b,t,J] = CELL(h[b,t-1,J], x[b,t,K])")["Gradient"])
    assert back.startswith("There is no gradient to show. CELL is not known to the language")


@pytest.mark.slow
def test_code_shows_the_function_and_the_source_that_is_named(page):
    html, complaints = page(RNN.replace(":title:", ":source: coursekit.models.GRU\n:title:"))
    assert complaints == ""
    code = words(tabs(html)["Code"])
    assert "def model(L, x, H, E, b1, U, y, h0):" in code
    assert "class GRU" in code


def test_what_cannot_be_written_or_counted_says_so(page):
    diagonal = card(page, "h[i,j] = h[i-2,j-2] + x[i,j]")
    assert 'Equations("""' in words(diagonal["Code"])
    assert ["parallel time", "no polynomial in the sizes", ""] in rows(diagonal["Cost"])


# ── what it refuses ──────────────────────────────────────────────────────────────────────────

GOOD = "y[i] = 2 x[i]"
BAD = {
    "does not parse": ("", f"{GOOD}\nz[i] = (y[i]\n", 1, "is never closed"),
    "makes no sense": ("", f"{GOOD}\n\nz[i] = y[i,0]\n", 2, "`y` has 1 index"),
    "unknown parameter": (":parameters: W\n", GOOD, None, "parameters: there is no input `W`"),
    "parameter that is computed": (":parameters: y\n", GOOD, None, "parameters: there is no input `y`"),
    "unknown gradient": (":gradient: W\n", GOOD, None, "gradient: there is no computed tensor `W`"),
    "unknown wrt": (":wrt: W\n", GOOD, None, "wrt: there is no tensor `W`"),
    "unknown source": (":source: coursekit.models.NoSuch\n", GOOD, None, "no class, function or module"),
    "unknown module": (":source: nowhere.Thing\n", GOOD, None, "no class, function or module"),
}


@pytest.fixture(scope="module")
def refused(page):
    """All the bad cards on one page, with titles and without: the page's lines and the complaints."""
    cards = [
        f"```{{equation-card}} {number}{title}\n{f':title: {number}' + chr(10) if title else ''}{options}{text}\n```\n"
        for number, (options, text, _, _) in enumerate(BAD.values())
        for title in ("", "t")
    ]
    body = "\n".join(cards)
    return f"# Page\n\n{body}".splitlines(), page(body)[1]


@pytest.mark.parametrize("title", ["", "t"])
@pytest.mark.parametrize("number", range(len(BAD)), ids=list(BAD))
def test_a_card_that_is_wrong_is_refused_with_the_pages_line(refused, number, title):
    lines, complaints = refused
    options, _, line, sentence = list(BAD.values())[number]
    start = lines.index(f"```{{equation-card}} {number}{title}") + 1
    wanted = start if line is None else start + bool(title) + options.count("\n") + 1 + line
    assert f"index.md:{wanted}: WARNING: equation-card {number}{title}: " in complaints
    assert re.search(rf"equation-card {number}{title}: [^\n]*{re.escape(sentence)}", complaints)


def test_a_label_that_stands_twice_is_refused(page):
    _, complaints = page(f"```{{equation-card}} a\n{GOOD}\n```\n\n```{{equation-card}} a\n{GOOD}\n```\n")
    assert re.search(r"index\.md:\d+: WARNING: duplicate label of equation eq-a", complaints)


@pytest.mark.parametrize(
    ("terms", "typeset"),
    [("3*J*K + 3*J", r"3 \, J \, (K+1)"), ("J", "J"), ("J - 1", "J-1"), ("2*J*J", r"2 \, J^{2}"), ("7", "7")],
)
def test_a_polynomial_is_typeset_with_its_common_factors_first(terms, typeset):
    J, K = Polynomial.size("J"), Polynomial.size("K")
    value = eval(terms, {"J": J, "K": K})
    assert polynomial(value if isinstance(value, Polynomial) else Polynomial.number(value)) == typeset


def test_two_boundaries_of_one_tensor_have_two_names():
    grid = Equations("h[l,t,j] = tanh(W[j,I] h[l,t-1,I] + U[j,I] h[l-1,t,I])")
    names = [row[0].strip() for row in shapes(grid, Options.read(grid, {})).rows]
    assert [name for name in names if "cdot" in name] == [
        r"{math}`h_{0,\cdot,\cdot}`",
        r"{math}`h_{\cdot,0,\cdot}`",
    ]
