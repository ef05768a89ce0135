"""The book: how long it takes to build from nothing and after a change; how soon a page is there, and its weight."""

from __future__ import annotations

import functools
import http.server
import shutil
import tempfile
import threading
import time
from pathlib import Path

import yaml

from coursekit.book.build import build
from coursekit.cli.bootstrap import find_browser

from .measure import Row

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("_config.yml", "_toc.yml", "pyproject.toml", "README.md", "LICENSE")


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = copy_course(Path(folder))
        toc = yaml.safe_load((root / "_toc.yml").read_text())
        pages = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
        whole = seconds(lambda: build(root))
        with (root / f"{pages[1]}.md").open("a") as page:
            page.write("\nOne more sentence.\n")
        words = seconds(lambda: build(root))
        nothing = seconds(lambda: build(root))
        found = [
            Row("the whole book, executed from nothing", "", f"{len(pages)} pages", whole, 600, unit="s"),
            Row("the book again, one page's words changed", "", "", words, 15, unit="s"),
            Row("the book again, nothing changed", "", "", nothing, unit="s"),
        ]
        return [*found, *visit(root / "_build" / "html", pages)]


def copy_course(root: Path) -> Path:
    for name in NEEDED:
        shutil.copy(ROOT / name, root / name)
    for name in ("book", "coursekit", "notebooks", "solutions", "benchmarks"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def visit(html: Path, pages: list[str]) -> list[Row]:
    """The slowest and the heaviest page, in a browser that has seen nothing yet, without compression."""
    browser = find_browser()
    if browser is None:
        print("  no Chromium was found: the pages are not visited")
        return []
    from playwright.sync_api import sync_playwright

    ready, weight = {}, {}
    serve = functools.partial(_Quiet, directory=html)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for name in pages:
            context = chromium.new_context(viewport={"width": 1200, "height": 900})
            page, answers = context.new_page(), []
            page.on("response", lambda answer, answers=answers: answers.append(answer))
            page.goto(f"http://127.0.0.1:{server.server_port}/{name}.html", wait_until="load")
            ready[name] = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1e3
            weight[name] = sum(len(answer.body()) for answer in answers) / 1e6
            context.close()
        chromium.close()
        server.shutdown()
    slowest, heaviest = max(ready, key=ready.__getitem__), max(weight, key=weight.__getitem__)
    return [
        Row("the slowest page is ready", slowest, "", ready[slowest], 2, unit="s"),
        Row("the heaviest page, uncompressed", heaviest, "", weight[heaviest], 1.5, unit="MB"),
    ]
