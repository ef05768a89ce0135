"""`coursekit book --pdf`: the whole book as one PDF, printed by Chromium from one long page."""

import re
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import unquote

from .build import run
from .vendor import BuildError

NAME = "language-models-by-hand.pdf"
_TWICE = re.compile(r'(<span class="label">(?:(?!<div).)*?</p>|(?<=">)<p>(?:(?!</p>).)*</p>)\s*\1', re.DOTALL)
_UNTOLD = re.compile(r'<div class="ck-frame" .*?</svg>(?:</div>)+(?=<div class="ck-frame|<label)', re.DOTALL)
PRINT = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]


def print_book(root: Path, browser: str | None) -> Path:
    """The path of the PDF. The results of the pages are those of the built book: nothing is run again."""
    if browser is None:
        raise BuildError(
            "a PDF is printed by Chromium, and none was found: install one (Debian: `apt-get install chromium`) "
            "or set COURSEKIT_BROWSER to its path"
        )
    run(root, ["--builder", "singlehtml"])
    home = root / "_build" / "singlehtml"
    (built,) = (home / "book").glob("*.html")
    html = one_page(built.read_text(encoding="utf-8"), f"book/{built.name}")
    target = root / "_build" / NAME
    target.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as desk:
        page, draft = home / "paper.html", Path(desk) / NAME
        page.write_text(html, encoding="utf-8")
        _print(browser, page, draft, "--disable-pdf-tagging")  # which takes a third of the time
        # Only the printed pages say on which of them a chapter begins.
        page.write_text(number_contents(html, draft.read_bytes()), encoding="utf-8")
        _print(browser, page, target, "--generate-pdf-document-outline")
    return target


def one_page(html: str, name: str) -> str:
    """What Sphinx writes for the whole book at `name`, made right: its links and identities, its levels of headings.

    It takes every path from the folder above, so there the page must lie. It has each work of a bibliography twice.
    The frames of a slider that paper does not show are left out: they would take half the time.
    """
    html = html.replace(f'href="{name}#', 'href="#')
    html = _UNTOLD.sub("", _TWICE.sub(r"\1", html))
    front, *chapters = re.split(r'(?=<span id="document-)', html)
    return "".join((front, *(_chapter(n, text) for n, text in enumerate(chapters, 1))))


def _chapter(n: int, html: str) -> str:
    """Sphinx hangs it below the last section of the first page, and numbers the citations of each from 1."""
    depth = int(re.findall(r"<h([1-6])\b", html)[0]) - 1
    html = re.sub(r"(</?h)([1-6])\b", lambda tag: f"{tag[1]}{int(tag[2]) - depth}", html)
    return re.sub(r'(\bid="|href="#)(id\d+")', rf"\g<1>chapter{n}-\2", html)


def number_contents(html: str, pdf: bytes) -> str:
    """`html` with the page at which each chapter begins in `pdf`, as Chromium writes it, beside its links."""
    pages = re.findall(rb"(?m)^(\d+) 0 obj\n<</Type /Page$", pdf)
    numbers = {page: n for n, page in enumerate(pages, 1)}
    for name, page in re.findall(rb"/(document-\S+) \[(\d+) 0 R ", pdf):
        link = f'href="#{unquote(name.decode().replace("#", "%"))}"'
        html = html.replace(link, f'{link} data-page="{numbers.get(page, "")}"')
    return html


def _print(browser: str, page: Path, target: Path, option: str) -> None:
    with tempfile.TemporaryDirectory() as profile:
        place = [f"--user-data-dir={profile}", f"--print-to-pdf={target}", page.as_uri()]
        done = subprocess.run([browser, *PRINT, option, *place], capture_output=True, text=True)
    if not target.is_file():
        raise BuildError(f"{browser} did not print the book:\n{done.stderr.strip()[-600:]}")
