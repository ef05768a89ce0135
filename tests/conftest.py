"""One real browser for every test that needs one."""

import os

import pytest

from coursekit.bootstrap import find_browser


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
