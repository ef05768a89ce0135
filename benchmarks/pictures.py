"""`python -m benchmarks.pictures`: the README's pictures, made anew: a page that is typed into, a student's panel, a
class report; each in the light and in the dark, as small files in `book/_static/readme`.

The book must be built (`coursekit book`). The class is the sample one; nothing but this machine is asked for anything.
"""

from __future__ import annotations

import io
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from coursekit import checks
from coursekit.authoring.course import Course
from coursekit.authoring.sample_class import make
from coursekit.book.build import address, server
from coursekit.cli.bootstrap import find_browser
from coursekit.grading.command import Options
from coursekit.grading.command import run as grade
from coursekit.models import UGRNN

from .bench_book import ROOT

HOME = ROOT / "book" / "_static" / "readme"
WIDE, HIGH, SHARP = 720, 520, 2  # pixels of a page, and of a picture for each of them
MOST = 100_000  # bytes
ASSIGNMENT = "perplexity"
# The gate stands on the wrong side of the last line, as in the answer of many a student.
TYPED = UGRNN.equations.replace(
    "G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R", "(1 - G[b,t,j]) h[b,t-1,j] + G[b,t,j] R"
)
FRAME = """<!DOCTYPE html><meta charset="utf-8"><style>
:root { color-scheme: light dark } body { margin: 0; padding: 24px; font: 16px/1.5 system-ui, sans-serif }
pre { font: 14px/1.5 ui-monospace, monospace; padding: 12px 16px; border-radius: 6px; background: #8882 }
pre { white-space: pre-wrap }
</style>"""


def typed_into(page: Any, site: str) -> None:
    """A chapter's card, opened, with a function exchanged: the formula and its gradient follow the keys."""
    page.goto(f"{site}/book/chapters/gates.html")
    card = page.locator(".equation-card").first
    card.get_by_role("button", name="Try it").click()
    area = card.locator("textarea")
    area.wait_for()
    area.fill(area.input_value().replace("tanh(", "relu("))
    page.wait_for_function(
        "box => box.textContent.includes('Read:')", arg=card.element_handle(), timeout=60_000
    )
    card.locator("label", has_text="Gradient").first.click()
    page.add_style_tag(content="#pst-back-to-top, .bd-header-article, header { display: none !important }")
    page.wait_for_timeout(1500)
    card.evaluate("box => window.scrollTo(0, box.getBoundingClientRect().top + window.scrollY - 12)")


def panel(page: Any, _: str) -> None:
    """What a check says of an answer that has its gate the wrong way round."""
    lines = "\n".join(line.strip() for line in TYPED.strip().splitlines())
    told = checks.equations(TYPED, UGRNN.equations)._repr_html_()
    page.set_content(f'{FRAME}<pre>answer = """\n{lines}\n"""\ncheck(answer)</pre>{told}')


def reported(report: Path) -> Callable[[Any, str], None]:
    return lambda page, _: page.goto(report.as_uri())


def graded(folder: Path) -> Path:
    """The report of a sample class."""
    course = Course(ROOT)
    submissions = make(course, ASSIGNMENT, folder / "handed in")
    options = Options(course=ROOT, gradebook=f"sqlite:///{folder / 'gradebook.db'}", out=folder / "grades")
    return grade(submissions, options).reports[0]


def small(shot: bytes) -> bytes:
    """The screenshot as WebP, as good as there is room for."""
    image = Image.open(io.BytesIO(shot)).convert("RGB")
    for quality in range(90, 20, -10):
        made = io.BytesIO()
        image.save(made, "WEBP", quality=quality, method=6)
        if made.tell() < MOST:
            break
    return made.getvalue()


def main() -> None:
    from playwright.sync_api import sync_playwright

    browser = find_browser()
    if browser is None:
        raise SystemExit("no Chromium was found: set COURSEKIT_BROWSER to its path")
    HOME.mkdir(parents=True, exist_ok=True)
    served = server(ROOT / "_build" / "html")
    threading.Thread(target=served.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        shown = {"page": typed_into, "panel": panel, "report": reported(graded(Path(folder)))}
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for name, show in shown.items():
            for scheme in ("light", "dark"):
                context = chromium.new_context(
                    viewport={"width": WIDE, "height": HIGH}, device_scale_factor=SHARP, color_scheme=scheme
                )
                context.route(
                    "**/*", lambda route: route.continue_() if _ours(route.request.url) else route.abort()
                )
                page = context.new_page()
                show(page, address(served))
                path = HOME / f"{name}-{scheme}.webp"
                path.write_bytes(small(page.screenshot()))
                print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} kB")
                context.close()
        chromium.close()
    served.shutdown()


def _ours(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:"))


if __name__ == "__main__":
    main()
