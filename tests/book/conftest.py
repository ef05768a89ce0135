"""The built book, served on loopback, and a real browser to read it with."""

import functools
import http.server
import os
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from coursekit.bootstrap import find_browser

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def html():
    """`_build/html`, built or brought up to date once, however many workers ask for it."""
    from coursekit.authoring.course import Course
    from coursekit.book.build import build

    (ROOT / "_build").mkdir(exist_ok=True)
    with FileLock(ROOT / "_build" / "book.lock"):
        return build(Course(ROOT).root)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def site(html):
    """The address of the book on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=html))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    path = find_browser()
    if path is None:
        sentence = (
            "no Chromium was found: install one (Debian: `apt-get install chromium`) or set COURSEKIT_BROWSER"
        )
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    from playwright.sync_api import sync_playwright

    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=[*quiet, "--disable-sync", "--no-first-run"]
        )
        yield browser
        browser.close()
