"""A book that cannot be right is not built: the complaint names the file and the line."""

import shutil
from pathlib import Path

import pytest

from coursekit.book.build import build
from coursekit.book.vendor import BuildError, digest

ROOT = Path(__file__).resolve().parents[2]
HEAD = """---
jupytext: {text_representation: {format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# Page

"""

BAD = {
    "a failing cell": ("```{code-cell} python3\n1 / 0\n```\n", "ZeroDivisionError"),
    "a missing label": ("See {eq}`no-such-equation`.\n", "page.md:8"),
    "a dead link": ("See [this](nowhere.md).\n", "page.md:8"),
    "a missing assignment": (
        "```{colab-button} nothing\n```\n",
        "there is no notebooks/nothing/nothing.ipynb",
    ),
}


@pytest.fixture
def book(tmp_path):
    for name in ("_config.yml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "book" / "_static", tmp_path / "book" / "_static")
    shutil.copy(ROOT / "book" / "references.bib", tmp_path / "book")
    (tmp_path / "coursekit").mkdir()
    for name in ("__init__.py", "version.py"):
        shutil.copy(ROOT / "coursekit" / name, tmp_path / "coursekit" / name)
    (tmp_path / "solutions").mkdir()
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/page\n")
    # MathJax is the same for every book: no need to copy it again.
    (tmp_path / "_build" / "vendor" / "mathjax").mkdir(parents=True)
    (tmp_path / "_build" / "vendor" / "mathjax" / "tex-chtml.js").touch()

    def write(body: str) -> Path:
        (tmp_path / "book" / "page.md").write_text(HEAD + body)
        return tmp_path

    return write


@pytest.mark.slow
@pytest.mark.parametrize("case", BAD)
def test_a_page_that_is_wrong_fails_the_build_with_its_place(book, case):
    body, complaint = BAD[case]
    with pytest.raises(BuildError) as raised:
        build(book(body))
    assert complaint in str(raised.value)


def test_the_digest_of_the_code_changes_with_the_code(tmp_path):
    (tmp_path / "coursekit" / "models").mkdir(parents=True)
    file = tmp_path / "coursekit" / "models" / "a.py"
    file.write_text("1")
    before = digest(tmp_path, "models")
    assert digest(tmp_path, "models") == before
    file.write_text("2")
    assert digest(tmp_path, "models") != before
