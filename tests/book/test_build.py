"""A book that cannot be right is not built, and the complaint names the file and the line; nothing is run twice."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coursekit.book.build import build, complaints
from coursekit.book.paper import print_book
from coursekit.book.vendor import BuildError, wheel
from coursekit.version import __version__

ROOT = Path(__file__).resolve().parents[2]
HEAD = """---
jupytext: {text_representation: {format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# Page

"""  # so that a page's own text begins in line 8

# page -> its text, and the two things that the complaint must say
BAD = {
    "figure": (
        "Text.\n\n```{code-cell} python3\nfrom coursekit import figures\n\nfigures.slider([])\n```\n",
        ("figure.md:11: ", "its line 3, `figures.slider([])`: ValueError: there are no frames"),
    ),
    "stderr": (
        "```{code-cell} python3\nimport sys\nprint('careful', file=sys.stderr)\n```\n",
        ("stderr.md:9: ", "the cell wrote to stderr: careful"),
    ),
    "card": (
        "```{equation-card} bad\nh[b,t,j] = W[j,\n```\n",
        ("card.md:9: ", "h[b,t,j] = W[j,"),
    ),
    "formula": ("Some $x$ and $\\frac{a$.\n", ("formula.md:8: ", "Missing close brace")),
    "display": ("$$\n\\nothing\n$$\n", ("display.md:8: ", "Undefined control sequence \\nothing")),
    "equation": ("See {eq}`no-such-equation`.\n", ("equation.md:8: ", "no-such-equation")),
    "label": ("See {ref}`no-such-label`.\n", ("label.md:8: ", "no-such-label")),
    "link": ("See [this](nowhere.md).\n", ("link.md:8: ", "nowhere.md")),
    "picture": ("![a picture](missing.png)\n", ("picture.md:8: ", "missing.png")),
    "button": (
        "```{colab-button} nothing\n```\n",
        ("button.md:8: ", "there is no notebooks/nothing/nothing.ipynb; run `coursekit release`"),
    ),
}


def make_book(root: Path, pages: dict[str, str]) -> Path:
    """A course whose book has these pages and nothing else."""
    shutil.copytree(ROOT / "book" / "_static", root / "book" / "_static")
    shutil.copy(ROOT / "book" / "references.bib", root / "book")
    shutil.copy(ROOT / "_config.yml", root)
    (root / "solutions").mkdir()
    first, *rest = pages
    toc = [
        "format: jb-book",
        f"root: book/{first}",
        "chapters:",
        *(f"  - file: book/{name}" for name in rest),
    ]
    (root / "_toc.yml").write_text("\n".join(toc))
    for name, text in pages.items():
        (root / "book" / f"{name}.md").write_text(HEAD + text)
    return root


@pytest.fixture(scope="module")
def complaint(tmp_path_factory):
    """What one build says about a book in which every page is wrong."""
    pages = {name: text for name, (text, _) in BAD.items()}
    with pytest.raises(BuildError) as raised:
        build(make_book(tmp_path_factory.mktemp("bad"), pages))
    return str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize("page", BAD)
def test_a_page_that_is_wrong_fails_the_build_with_its_place(complaint, page):
    place, reason = BAD[page][1]
    at = complaint.index(f"/book/{place}")
    assert reason in complaint[at : at + 600]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A book of two pages, built; `again` builds it once more and tells what was run and what was read."""
    code = "from coursekit import {}\nimport time\nprint('It is', end=' ', flush=True)\ntime.sleep(0.5)\n"
    cell = f"```{{{{code-cell}}}} python3\n{code}print(open('data.txt').read())\n```\n"
    root = tmp_path_factory.mktemp("small")
    (root / "book").mkdir()
    (root / "book" / "data.txt").write_text("first")
    root = make_book(root, {"index": f"{cell.format('version')}\n[Next](text.md)\n", "text": "Some $x^2$.\n"})
    shares: list[float] = []

    def again():
        shares.clear()
        build(root, shares.append)
        log = (root / "_build" / "book.log").read_text().splitlines()
        done = {"running": set(), "reading": set()}
        for line in log:
            for kind in done:
                if f"{kind} " in line and "%] book/" in line:
                    done[kind].add(line.split("%] book/")[1].split()[0])
        return done["running"], done["reading"]

    return root, again, shares


@pytest.mark.slow
def test_a_page_is_run_again_when_what_it_used_has_changed_and_only_then(small):
    root, again, shares = small
    assert again() == ({"index", "text"}, {"index", "text"})
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert again() == (set(), set())
    with (root / "book" / "text.md").open("a") as page:
        page.write("\nMore words.\n")
    assert again() == (set(), {"text"})
    (root / "book" / "data.txt").write_text("second")
    assert again() == ({"index"}, {"index"})
    page = (root / "_build" / "html" / "book" / "index.html").read_text()
    assert "It is second" in page, "a line that the kernel sent in two pieces"
    ours = (ROOT / "coursekit" / "book" / "theme" / "static" / "course.css").read_text()
    (root / "book" / "_static" / "course.css").write_text(ours + "/* one more rule */")
    assert again() == (set(), set())
    assert "one more rule" in (root / "_build" / "html" / "_static" / "course.css").read_text()


@pytest.mark.slow
def test_the_whole_book_is_printed_and_nothing_is_run_for_it(small, browser):
    from coursekit.cli.bootstrap import find_browser

    root, again, _ = small
    if not (root / "_build" / "html").exists():
        again()
    pdf = print_book(root, find_browser()).read_bytes()
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") == 2, (
        "the style that puts a chapter on a page of its own was not found"
    )
    paper = (root / "_build" / "singlehtml" / "paper.html").read_text()
    assert 'href="#document-book/text" data-page="2"' in paper
    assert "running pages" not in (root / "_build" / "book.log").read_text()


def test_without_a_browser_there_is_no_pdf_and_a_sentence_says_so(tmp_path):
    with pytest.raises(BuildError, match="printed by Chromium, and none was found: install one"):
        print_book(tmp_path, None)


def test_a_complaint_keeps_all_its_lines():
    log = [
        "reading sources... [50%] a",
        "/b/a.md:3: ERROR: it does not parse:",
        "  h = W[",
        "       ^",
        "writing output... [9%] a",
    ]
    assert complaints(log) == log[1:4]


@pytest.mark.slow
def test_the_wheel_that_a_book_offers_is_one_that_pip_installs_and_is_made_once(tmp_path, monkeypatch):
    egg = tmp_path / "source" / "coursekit.egg-info"  # as a build in a source tree leaves one
    egg.mkdir(parents=True)
    (egg / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: coursekit\nVersion: 0\n")
    monkeypatch.syspath_prepend(egg.parent)
    wheel(tmp_path)
    (made,) = (tmp_path / "wheels").glob("*.whl")
    before = made.stat().st_mtime_ns
    wheel(tmp_path)
    assert made.stat().st_mtime_ns == before
    install = [
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(tmp_path / "home"),
        str(made),
    ]
    subprocess.run([sys.executable, "-m", *install], check=True)
    there = {str(p.relative_to(tmp_path / "home")) for p in (tmp_path / "home").rglob("*") if p.is_file()}
    here = {str(p.relative_to(ROOT)) for p in (ROOT / "coursekit").rglob("*") if p.is_file()}
    assert {name for name in here if "__pycache__" not in name} <= there
    program = "import coursekit, importlib.metadata as m; print(coursekit.__file__, m.version('coursekit'))"
    options = {"cwd": tmp_path, "env": {"PYTHONPATH": str(tmp_path / "home")}, "text": True}
    said = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, check=True, **options)
    assert said.stdout.split() == [str(tmp_path / "home" / "coursekit" / "__init__.py"), __version__]
