"""The living book, in Chromium, from a small book on loopback: how soon it answers, and how quickly it trains."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
import threading
from pathlib import Path
from statistics import median

from coursekit.book.build import address, build, server
from coursekit.cli.bootstrap import find_browser
from coursekit.data import english
from coursekit.models import GRU

from .bench_book import ROOT
from .measure import Row

TEXT = "\n".join(line.strip() for line in GRU.equations.strip().splitlines())
CARD = f"# Live\n\n```{{equation-card}} gru\n{TEXT}\n```\n"
TABS = ["Shapes", "Cost", "Gradient", "Code", "Graph"]
# What a page does at a key: ask, typeset, put into the page. Ten times, the text never the same.
KEYS = """async ([text, tabs]) => {
    const times = [], place = document.body.appendChild(document.createElement('div'));
    for (let n = 0; n < 12; n++) {
        const start = performance.now();
        const answer = await live.ask({kind: 'show', text: text + ' '.repeat(n), tabs});
        place.replaceChildren(await live.formula(answer.latex, true));
        for (const blocks of Object.values(answer.tabs)) place.append(...await live.blocks(blocks));
        times.push(performance.now() - start);
    }
    return times.slice(2);
}"""
COMPARED = """async pairs => {
    const times = [];
    for (const [reference, text] of pairs) {
        const start = performance.now();
        await live.ask({kind: 'compare', reference, text});
        times.push(performance.now() - start);
    }
    return times;
}"""
MISTAKES = (
    ("tanh(", "sigmoid("),
    ("- B_R[j]", "+ B_R[j]"),
    ("(1 - G2[b,t,j])", "G2[b,t,j]"),
    ("W_hR[j,I]", "W_hR[I,j]"),
)


def rows() -> list[Row]:
    browser = find_browser()
    if browser is None:
        print("  no Chromium was found: nothing is measured")
        return []
    with tempfile.TemporaryDirectory() as folder:
        html = build(small_book(Path(folder)))
        files = json.loads((html / "live" / "kit.json").read_text())["files"]
        asked = [path for name, (path, _) in files.items() if name not in ("app.zip", "std.zip")]
        weight = sum(len(gzip.compress((html / "live" / path).read_bytes())) for path in asked) / 1e6
        served = server(html)
        threading.Thread(target=served.serve_forever, daemon=True).start()
        try:
            return [
                Row("what a reader fetches, compressed", "", "", weight, 10, unit="MB"),
                *visit(browser, address(served)),
            ]
        finally:
            served.shutdown()


def small_book(root: Path) -> Path:
    """Two pages: a card, and the course's first page with its figure that trains."""
    shutil.copytree(ROOT / "book" / "_static", root / "book" / "_static")
    shutil.copy(ROOT / "_config.yml", root)
    shutil.copy(ROOT / "book" / "references.bib", root / "book")
    (root / "solutions").mkdir()
    figure = (
        (ROOT / "book" / "index.md").read_text().split("```{live-figure} training")[1].split("\n```\n")[0]
    )
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/index\nchapters:\n  - file: book/train\n")
    (root / "book" / "index.md").write_text(CARD)
    (root / "book" / "train.md").write_text(f"# Train\n\n```{{live-figure}} training{figure}\n```\n")
    return root


def visit(browser: str, site: str) -> list[Row]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        context = chromium.new_context()
        page = context.new_page()
        cold = press(page, site)
        warm = median(press(page, site) for _ in range(3))
        formula = median(page.evaluate(KEYS, [TEXT, ["Shapes"]]))
        every = median(page.evaluate(KEYS, [TEXT, TABS]))
        wrong = [[TEXT, TEXT.replace(*mistake)] for mistake in MISTAKES]
        compared = page.evaluate(COMPARED, wrong * 2)[len(wrong) :]
        page.goto(f"{site}/book/train.html")
        figure = page.locator("figure.live-figure")
        figure.get_by_role("button", name="Train").click()
        page.wait_for_timeout(30_000)
        steps, mean = (float(figure.get_attribute(f"data-{name}")) for name in ("step", "mean"))
        above = mean - english().entropy_per_word
        chromium.close()
    return [
        Row("from the press to the first answer, nothing in the cache", "", "", cold, 2.5, unit="s"),
        Row("the same from a warm cache", "", "", warm, 1.5, unit="s"),
        Row("a GRU, from a key to its formula and shapes", "", "", formula / 1e3, 0.15, unit="s"),
        Row("the same to all five tabs", "", "", every / 1e3, 0.3, unit="s"),
        Row("a GRU with a mistake compared and named", "", "median of four", median(compared) / 1e3, 0.3, unit="s"),
        Row("the slowest of them", "", "", max(compared) / 1e3, 1.5, unit="s"),
        Row("the first page's GRU after 30 s, above the entropy", "", "nats per word", above, 0.05, unit="nats"),
        Row("its steps a second", "", "", steps / 30, 60, unit="steps", at_most=False),
    ]  # fmt: skip


def press(page, site: str) -> float:
    page.goto(f"{site}/book/index.html")
    page.evaluate("() => localStorage.clear()")
    page.evaluate(
        """() => { window.told = new Promise(done => document.querySelector('.equation-card')
            .addEventListener('live-shown', () => done(performance.now() - window.began))) }"""
    )
    page.evaluate(
        "() => { window.began = performance.now(); document.querySelector('.live-button').click() }"
    )
    return page.evaluate("() => window.told") / 1e3
