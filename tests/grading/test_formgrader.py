"""nbgrader's formgrader on what the grader wrote, in a real browser: nothing of a student's acts there."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
import small_course as small
from sqlalchemy import select

from coursekit.grading.command import Options, run
from coursekit.grading.confine.limits import Limits
from coursekit.grading.gradebook.record import Record
from coursekit.grading.gradebook.tables import SUBMITTED, SUBMITTED_NOTEBOOK
from coursekit.grading.text import cleaned, printable

ROOT = Path(__file__).resolve().parents[2]
ACT = "window.hacked=(window.hacked||0)+1"
MARKDOWN = f"""A mean moves with every number, **always**: $\\frac{{1}}{{n}} \\sum_i x_i < 5$, and it costs $3.

<script>{ACT}</script> <img src=x onerror="{ACT}"> <svg onload="{ACT}"></svg>

<iframe srcdoc="<script>parent.{ACT}</script>"></iframe><a href="javascript:{ACT}">raw</a>

[a link](javascript:{ACT}) ![](attachment:missing.png) ![a picture](http://elsewhere.invalid/beacon.png)

```mermaid
<img src=x onerror="{ACT}">

<script>{ACT}</script> [again](javascript:{ACT})
```

$$\\href{{javascript:{ACT}}}{{click}} \\style{{background:url(http://elsewhere.invalid/)}}{{x}}$$

<style>body {{ display: none }}</style><form action="/api"><input autofocus onfocus="{ACT}"></form>
"""
CODE = f"""
from IPython.display import HTML, Javascript, SVG, display
display(HTML("<script>{ACT}</script><img src=x onerror='{ACT}'>"), Javascript("{ACT}"))
display({{"image/svg+xml": "<svg onload='{ACT}'/>", "text/latex": "$\\\\href{{javascript:{ACT}}}{{x}}$",
         "application/vnd.jupyter.widget-view+json": {{"model_id": "<script>{ACT}</script>"}},
         "text/markdown": "<script>{ACT}</script>", "text/plain": "<script>{ACT}</script>"}}, raw=True)
print("</pre><script>{ACT}</script>\\x1b[31m\\x00")
def total(xs):
    "</pre></div><script>{ACT}</script>"
    return sum(xs)
"""
EVIL_NAME = f"<img src=x onerror={ACT}>"


@pytest.fixture(scope="module")
def server(tmp_path_factory, empty_gradebook):
    """A course with this repository's settings, one hostile submission graded, and a Jupyter server on it."""
    root = tmp_path_factory.mktemp("formgrader")
    badge = "[![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/x)"
    made = small.sums()
    made.cells[0].source += f"\n\n{badge}\n\nHere $a_i < b_i$ is a formula."
    small.write_course(root / "_build", {"sums": {"sums": made}})
    shutil.copy(ROOT / "nbgrader_config.py", root)
    shutil.copy(empty_gradebook, root / "gradebook.db")
    for student in ("ada", EVIL_NAME):
        folder = root / "handed" / student
        folder.mkdir(parents=True)
        answers = small.solved(made, why=MARKDOWN, total=CODE)
        answers.cells.append(small.text(f"<script>{ACT}</script>"))
        (folder / "sums.ipynb").write_bytes(small.saved(answers))
    run([root / "handed"], Options(root, jobs=2, limits=Limits(cell_cpu=5, cell_wall=10)))
    with formgrader(root) as address:
        yield root, address


@contextmanager
def formgrader(root: Path, gradebook: str = "") -> Iterator[str]:
    """A Jupyter server on the course; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
        "--IdentityProvider.token=", f"--ServerApp.root_dir={root}",
        "--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}",
    ]  # fmt: skip
    log = (root / f"server-{port}.log").open("w")
    apart = {**os.environ, "JUPYTER_CONFIG_DIR": str(root / "config"), "JUPYTER_PREFER_ENV_PATH": "0"}
    apart |= {"COURSEKIT_GRADEBOOK": gradebook} if gradebook else {}
    process = subprocess.Popen(words, cwd=root, stdout=log, stderr=log, env=apart)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urlopen(f"{address}/formgrader/", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, Path(log.name).read_text()[-3000:]
                time.sleep(0.1)
        yield address
    finally:
        process.kill()
        process.wait()


def visited(browser, address: str):
    """The page with everything on it touched, and the other hosts that it asked for."""
    page = browser.new_page()
    asked: list[str] = []

    def gate(route) -> None:
        if route.request.url.startswith(("http://127.0.0.1", "data:", "blob:")):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    page.route("**/*", gate)
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.goto(address, wait_until="networkidle")
    for element in page.query_selector_all(
        "#notebook a:not([href^=http]), #notebook img, #notebook input, mjx-container *"
    ):
        for event in ("mouseover", "focus", "click"):
            element.dispatch_event(event)
    page.wait_for_timeout(200)
    return page, asked


@pytest.mark.slow
def test_nothing_of_a_student_acts_in_the_formgrader(server, browser):
    root, address = server
    with sqlite3.connect(root / "gradebook.db") as book:
        found = book.execute("select id from submitted_notebook").fetchall()
    assert found
    pages = [f"{address}/formgrader/submissions/{name}/" for (name,) in found]
    pages += [f"{address}/formgrader/gradebook/sums/sums", f"{address}/formgrader/manage_students"]
    for number, place in enumerate(pages):
        page, asked = visited(browser, place)
        assert page.evaluate("window.hacked") is None, place
        assert asked == [], place
        if number == 0:
            body = page.inner_text("body")
            assert "onerror" in body, "what the student wrote is shown, as text"
            assert page.query_selector("#why-comment") is not None, "a person can grade it"
            assert page.query_selector("#notebook strong") is not None, "and read it as it was meant"
            page.wait_for_selector("#notebook mjx-container, #notebook .MathJax", timeout=10_000)
            assert (
                page.query_selector(
                    "#notebook iframe, #notebook form, #notebook svg[onload], #notebook .mermaid"
                )
                is None
            )
            hrefs = [a.get_attribute("href") or "" for a in page.query_selector_all("a, mjx-container *")]
            assert not [h for h in hrefs if h.startswith("javascript")]
        page.close()


RUBRIC = "Because it moves with every number.\n\nRubric: two points for *every number*, two for an example."
CLASS = ["ada", "emmy", "grace", "kurt", "sofia", "srinivasa"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory, postgres):
    """A class that two people grade at once, each on a server of their own: one gradebook, in PostgreSQL."""
    root = tmp_path_factory.mktemp("shared")
    made = small.sums()
    made.cells[-1].source = RUBRIC
    small.write_course(root / "_build", {"sums": {"sums": made}})
    shutil.copy(ROOT / "nbgrader_config.py", root)
    for student in CLASS:
        (root / "handed" / student).mkdir(parents=True)
        answers = small.saved(small.solved(made, why=f"{student} thinks that it does."))
        (root / "handed" / student / "sums.ipynb").write_bytes(answers)
    url = postgres("shared")
    run([root / "handed"], Options(root, gradebook=url, jobs=2, limits=Limits(cell_cpu=5, cell_wall=10)))
    with formgrader(root, url) as first, formgrader(root, url) as second:
        yield url, (first, second)


def put(answer, kind: str) -> bool:
    return answer.request.method == "PUT" and f"/formgrader/api/{kind}/" in answer.url


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_graders_at_once_lose_nothing_and_see_the_rubric(shared, browser):
    """Each gives points for one half of the class and comments on the other, both in the same submissions at a time."""
    url, servers = shared
    with Record(url) as record, record.engine.connect() as connection:
        query = select(SUBMITTED.c.student_id, SUBMITTED_NOTEBOOK.c.id).join(
            SUBMITTED, SUBMITTED_NOTEBOOK.c.assignment_id == SUBMITTED.c.id
        )
        keys = dict(connection.execute(query).all())
    assert sorted(keys) == CLASS
    for number, student in enumerate(CLASS):
        people = [visited(browser, f"{server}/formgrader/submissions/{keys[student]}/") for server in servers]
        assert [asked for _, asked in people] == [[], []], "another host was asked"
        pages = [page for page, _ in people]
        assert "Rubric: two points for" in pages[0].inner_text("#notebook")
        assert f"{student} thinks" in pages[1].inner_text("#notebook")
        scorer, commenter = pages if number % 2 else pages[::-1]
        # Both are typing before either is saved; then both leave their fields at once.
        scorer.fill("#why", str(number % 4 + 0.5))
        commenter.fill("#why-comment", f"Read by both, {student}.")
        with (
            scorer.expect_response(lambda answer: put(answer, "grade")) as points,
            commenter.expect_response(lambda answer: put(answer, "comment")) as comment,
        ):
            for page in pages:
                page.evaluate("document.activeElement.blur()")
        assert points.value.ok
        assert comment.value.ok
        for page in pages:
            page.close()
    with Record(url) as record:
        entries = {entry.student: entry for entry in record.entries("sums")}
    for number, student in enumerate(CLASS):
        entry = entries[student]
        assert entry.score == 6 + number % 4 + 0.5, student
        assert entry.comments == {"sums": {"why": f"Read by both, {student}."}}
        assert entry.waiting == 0


def test_a_formula_is_typeset_only_if_it_says_nothing_but_mathematics():
    made = cleaned(
        r"$\frac{a}{b}$ and $\href{javascript:1}{x}$ and $$\begin{aligned}a&=b\end{aligned}$$ and \require{html}"
    )
    assert made.count("mathjax_process") == 2
    assert r"<code>&#36;\href{javascript:1}{x}&#36;</code>" in made
    outside = made.split("mathjax_process")[0] + made.rsplit("</span>", 1)[1]
    assert "$" not in outside


def test_a_cleaned_answer_is_one_line_so_that_no_page_reads_markdown_in_it_again():
    made = cleaned("```\na\n\n[x](javascript:1)\n```\n\nb\n\n- c")
    assert "\n" not in made
    assert "[x](javascript:1)" in made, "code is shown as it is"


def test_no_control_byte_reaches_a_reader():
    assert printable("\x1b[1;31mred\x1b[0m a\x00b\x07\r\nc\td\u202e") == "red a\ufffdb\ufffd\nc\td\ufffd"
