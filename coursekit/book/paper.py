"""`coursekit book --pdf`: the whole book as one PDF, printed by Chromium from one long page."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from .build import run
from .vendor import BuildError

NAME = "language-models-by-hand.pdf"
PRINT = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-pdf-header-footer",
    "--generate-pdf-document-outline",
]


def print_book(root: Path, browser: str | None) -> Path:
    """The path of the PDF. The results of the pages are those of the built book: nothing is run again."""
    if browser is None:
        raise BuildError(
            "a PDF is printed by Chromium, and none was found: install one (Debian: `apt-get install chromium`) "
            "or set COURSEKIT_BROWSER to its path"
        )
    run(root, ["--builder", "singlehtml"])
    (page,) = (root / "_build" / "singlehtml" / "book").glob("*.html")
    target = root / "_build" / NAME
    target.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        place = [f"--user-data-dir={profile}", f"--print-to-pdf={target}", page.as_uri()]
        done = subprocess.run([browser, *PRINT, *place], capture_output=True, text=True)
    if not target.is_file():
        raise BuildError(f"{browser} did not print the book:\n{done.stderr.strip()[-600:]}")
    return target
