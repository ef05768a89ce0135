"""Equations that answer, in a real browser: what is fetched when, what is shown, and what an address cannot do."""

import json
import shutil
import time
from urllib.parse import quote

import firefox
import pytest
from conftest import served
from test_build import make_book

from coursekit.book.build import build
from coursekit.book.live import answers, kit
from coursekit.book.served import policy
from coursekit.book.vendor import PYODIDE, PYODIDE_DIGEST, BuildError, check

GRU = """\
parameters W_hr, W_xr, B_r, W_hz, W_xz, B_z, W_hn, W_xn, B_n
r[b,t,j] = sigmoid(W_hr[j,I] h[b,t-1,I] + W_xr[j,K] x[b,t,K] - B_r[j])
z[b,t,j] = sigmoid(W_hz[j,I] h[b,t-1,I] + W_xz[j,K] x[b,t,K] - B_z[j])
n[b,t,j] = tanh(r[b,t,j] W_hn[j,I] h[b,t-1,I] + W_xn[j,K] x[b,t,K] - B_n[j])
h[b,t,j] = z[b,t,j] h[b,t-1,j] + (1 - z[b,t,j]) n[b,t,j]"""
CARDS = f"""
```{{equation-card}} gru
:title: The gated recurrent unit
{GRU}
```

```{{equation-card}} plain
y[b,j] = W[j,I] x[b,I]
```
"""
PLAIN = "y[b,j] = W[j,I] x[b,I]"
QUESTIONS = """
```{question} layer
Write a layer.
---
kind: write
answer: y[b,j] = tanh(W[j,I] x[b,I] - B[j])
hints: [One line., The bias is subtracted.]
```

```{question} slope
Go on.
---
kind: derive
given: |
  z[j] = W[j,I] x[I]
  J = g[J] tanh(z[J])
start: "dJ/dz[j] = g[j]"
answer: "dJ/dz[j] = g[j] (1 - tanh(z[j])^2)"
```

```{question} larger
Which is larger?
---
kind: choose
options:
  - ["$2^{10}$", true, "It is $1024$."]
  - ["ten squared", false, "That is only a hundred."]
```

```{question} steps
What comes first?
---
kind: order
lines: [a word is read, a state is made, a word is foretold]
```

```{live-figure} held
:picture: gate
A gate that is open holds a value.
---
gate: h[t] = G[t] h[t-1] + (1 - G[t]) x[t]
```

```{live-figure} cloud
:picture: cloud
:data: coursekit.figures.live.cloud
:steps: 3
Words that move.
---
skipgram:
  equations: |
    P[c,o] = softmax[o](v[c,I] U[o,I] - b[o])
    J = -sum[c,o](N[c,o] log(P[c,o]))
  loss: J
  wrt: [v, U, b]
```
"""
PAGES = {
    "index": CARDS,
    "questions": QUESTIONS,
    "language": "```{live-language}\n```\n",
    "practice": "```{live-practice}\n```\n",
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The folder of a small book, below a path of its own, as on a shared host."""
    root = make_book(tmp_path_factory.mktemp("live"), PAGES)
    return build(root)


@pytest.fixture(scope="module")
def host(book, tmp_path_factory):
    """The address of the book, two folders below its host's root."""
    top = tmp_path_factory.mktemp("host")
    shutil.copytree(book, top / "a" / "path")
    with served(top) as where:
        yield f"{where}/a/path/book/index.html"


@pytest.fixture
def page(browser, host):
    """A page with all it asked for, said and was told. No other host can be reached (see `browser`), and one that is
    asked is noticed: a route that held each request up would do away with the browser's cache."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.grant_permissions([])
    page = context.new_page()
    page.asked, page.errors = [], []
    page.on("request", lambda r: page.asked.append(r.url))
    page.on("console", lambda m: page.errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: page.errors.append(str(e)))
    origin = host.split("/a/")[0]
    page.goto(host)
    yield page
    context.close()
    assert [url for url in page.asked if not url.startswith((origin, "data:", "blob:"))] == []


def card(page, name):
    return page.locator(f".equation-card:has(> template[data-name={name}])")


def try_it(page, name="plain"):
    box = card(page, name)
    box.get_by_role("button", name="Try it").click()
    box.locator(".live-said", has_text="Read").wait_for()
    return box, box.get_by_label("Your equations")


def fetched(page):
    return [url.rsplit("/", 1)[-1] for url in page.asked if "/live/" in url]


# ── how it is served ─────────────────────────────────────────────────────────────────────────


def test_nothing_is_fetched_until_the_reader_asks_and_then_below_the_books_own_path(page, host):
    assert fetched(page) == []
    try_it(page)
    assert {"kit.json", "worker.mjs", "memory.bin", "wasm.bin", "tex-svg.js"} <= set(fetched(page))
    assert "app.zip" not in fetched(page)
    assert page.evaluate("live.way") == "memory"
    assert all(url.startswith(host.split("book/")[0]) for url in page.asked if "/live/" in url)
    assert page.errors == []


def test_the_download_is_at_most_ten_megabytes_compressed(book):
    import gzip

    listed = json.loads((book / "live" / "kit.json").read_text())["files"]
    asked = [name for name in listed if name not in ("app.zip", "std.zip")]
    assert sum(len(gzip.compress((book / "live" / listed[n][0]).read_bytes())) for n in asked) <= 10e6


def test_the_start_says_how_many_bytes_have_come(page):
    page.evaluate("""() => { window.said = []; live.ask({kind: 'show', text: 'y = x'}, text => said.push(text))
        .then(() => said.push('done')) }""")
    for _ in range(200):
        if page.evaluate("said.at(-1)") == "done":
            break
        page.wait_for_timeout(50)
    said = page.evaluate("said")
    shares = [
        float(s.split(": ")[1].split(" of ")[0]) for s in said if s.startswith("Fetching the language: ")
    ]
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert said[-2:] == ["Starting …", "done"]


def test_the_compiled_files_alone_answer_where_the_memory_does_not_fit(page):
    page.route("**/kit.json", lambda route: route.fulfill(json=spoilt(route)))
    box, _ = try_it(page, "gru")
    assert page.evaluate("live.way") == "files"
    assert {"app.zip", "std.zip"} <= set(fetched(page))
    assert box.locator(".formula svg").first.is_visible()


def spoilt(route):
    listed = route.fetch().json()
    listed["memory"]["check"] += 1
    return listed


def test_a_question_that_takes_too_long_is_ended_and_the_next_one_answered(page):
    try_it(page)
    long = "\n".join(f"y_{n + 1}[i] = tanh(W_{n}[i,J] y_{n}[J])" for n in range(200))
    sentence = page.evaluate(
        """text => live.ask({kind: 'show', text, tabs: ['Gradient', 'Code', 'Cost', 'Graph']})
            .then(() => 'answered', e => e.message)""",
        long,
    )
    assert sentence == "This took longer than three seconds and was ended. Try something smaller."
    again = page.evaluate("live.ask({kind: 'show', text: 'y = x', tab: 'Shapes'}).then(a => a.said)")
    assert again == "Read: {math}`y` from {math}`x`."


def test_there_is_one_worker_a_page(page):
    try_it(page)
    try_it(page, "gru")
    assert fetched(page).count("worker.mjs") == 1
    assert len(page.workers) == 1


def test_a_page_opened_as_a_file_says_how_to_serve_it(browser, book):
    page = browser.new_page()
    page.goto((book / "book" / "index.html").as_uri())
    card(page, "plain").get_by_role("button", name="Try it").click()
    page.get_by_text("Run “coursekit book --serve” and open the address that it prints.").wait_for()
    page.close()


def test_the_kit_is_refused_when_it_answers_otherwise_or_is_too_large():
    right = answers.answer(kit.PROOF)
    good = {"heap": kit.MOST_HEAP, "byMemory": right, "byFiles": right}
    kit.check(good, right)
    for wrong in ({"byMemory": "{}"}, {"byFiles": right.replace("sigma", "tanh")}):
        with pytest.raises(BuildError, match="answer otherwise than Python does"):
            kit.check(good | wrong, right)
    with pytest.raises(BuildError, match="MiB and may have 30"):
        kit.check(good | {"heap": kit.MOST_HEAP + 1}, right)


def test_another_pyodide_than_the_tested_one_is_refused(tmp_path):
    archive = tmp_path / "pyodide.tgz"
    archive.write_bytes(b"another")
    with pytest.raises(BuildError, match=f"pyodide {PYODIDE} is not the one that was tested"):
        check(archive, f"pyodide {PYODIDE}", PYODIDE_DIGEST)


# ── a card that can be edited ────────────────────────────────────────────────────────────────


def test_a_card_reads_what_is_typed_and_goes_back_to_the_books_text(page):
    before = card(page, "plain").inner_html()
    box, area = try_it(page)
    assert area.input_value() == PLAIN
    area.fill("z[b,j] = tanh(V[j,I] x[b,I])")
    box.locator(".formula[aria-label*='tanh']").wait_for()
    assert "z" in box.locator(".live-said [role=math]").first.get_attribute("aria-label")
    assert box.locator(".sd-tab-content:visible td").count() == 9
    box.get_by_role("button", name="Back to the book’s text").click()
    assert card(page, "plain").inner_html() == before
    assert page.errors == []


@pytest.mark.parametrize("tab", ["Cost", "Gradient", "Code", "Graph"])
def test_each_tab_is_computed_from_what_is_typed(page, tab):
    box, area = try_it(page)
    box.locator("label", has_text=tab).click()
    area.fill("parameters V\nz[b,t,j] = tanh(V[j,I] z[b,t-1,I] + x[b,t,j])")
    opened = box.locator(".sd-tab-content:visible")
    wanted = {
        "Cost": "[aria-label^='B '][aria-label*='J^{2}']",
        "Gradient": ".formula[aria-label*='dV']",
        "Code": "pre:has-text('def model(V, x, z0)')",
        "Graph": "[role=img][aria-label*='x'] svg text:has-text('tanh')",
    }[tab]
    opened.locator(wanted).first.wait_for()


def test_an_error_has_its_place_marked_and_its_repair_said(page):
    box, area = try_it(page)
    area.fill("y[b,j] = W[j,I] x[b,I]\nz[b] = y[b,k]")
    box.locator(".live-wrong", has_text="Line 2: k is free on the right but not on the left").wait_for()
    assert box.locator("mark").inner_text() == "k"
    assert area.get_attribute("aria-invalid") == "true"
    assert box.get_by_role("status").inner_text().startswith("Line 2:")
    area.fill("y[b,j] = W[j,I] x[b,I]\nz[b] = sum[k](y[b,k])")
    box.locator(".live-said", has_text="Read").wait_for()
    assert box.locator("mark").count() == 0
    assert area.get_attribute("aria-invalid") is None


def test_what_was_typed_survives_a_reload_and_fetches_nothing_by_itself(page):
    box, area = try_it(page)
    area.fill("z[b] = x[b,I]^2")
    box.locator(".formula[aria-label^='\\\\begin{aligned} z']").wait_for()
    page.asked.clear()
    page.reload()
    area = card(page, "plain").get_by_label("Your equations")
    assert area.input_value() == "z[b] = x[b,I]^2"
    assert fetched(page) == []
    area.focus()
    card(page, "plain").locator(".live-said", has_text="Read:").wait_for()


def test_an_address_carries_a_text(page, browser, host):
    box, area = try_it(page)
    area.fill("z[b] = x[b,I]^2 # %&=+")
    box.locator(".formula[aria-label*='z[b]']").wait_for()
    box.get_by_role("button", name="Link to this text").click()
    box.get_by_text("now holds your text").wait_for()
    address = page.url
    other = browser.new_context().new_page()
    other.goto(address)
    assert card(other, "plain").get_by_label("Your equations").input_value() == "z[b] = x[b,I]^2 # %&=+"
    assert card(other, "gru").get_by_label("Your equations").count() == 0
    other.context.close()


HOSTILE = [
    "<script>window.hurt=1</script>",
    "<img src=x onerror='window.hurt=1'>",
    "y = x</template><script>window.hurt=1</script>",
    "y = \\href{javascript:window.hurt=1}{x}",
    "`<b onmouseover=window.hurt=1>`[b] = x[b]",
    "y = __import__('js').eval('self.hurt=1')",
    "{math}`\\unicode{<img src=x onerror=window.hurt=1>}`",
    "javascript:window.hurt=1",
    "y[b] = \\text{<svg onload=window.hurt=1>}(x[b])",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_address_runs_nothing(page, host, text):
    page.goto("about:blank")
    page.goto(f"{host}#try=plain&text={quote(text)}")
    box = card(page, "plain")
    assert box.get_by_label("Your equations").input_value() == text
    box.get_by_role("button", name="Read it").click()
    box.locator(".live-wrong, .live-said:has-text('Read:')").wait_for()
    page.wait_for_timeout(100)
    assert page.evaluate("window.hurt") is None
    assert (
        page.locator(
            ".equation-card :is(script, iframe, [onerror], [onmouseover], a[href^=javascript])"
        ).count()
        == 0
    )


INTRUDERS = """() => {
    const script = more => document.body.append(Object.assign(document.createElement('script'), more));
    document.querySelector('article').insertAdjacentHTML('beforeend', '<img src=x onerror="window.hurt=1">');
    script({textContent: 'window.hurt=2'});
    script({src: 'data:text/javascript,window.hurt=3'});
}"""


def test_the_policy_stops_a_script_that_gets_into_a_page(page):
    page.evaluate(INTRUDERS)
    page.wait_for_timeout(200)
    assert page.evaluate("window.hurt") is None
    assert sum("Content Security Policy" in e for e in page.errors) >= 3


def test_a_policy_lists_the_pages_own_scripts_and_handlers_by_digest():
    html = '<head></head><script>let a</script><script src="x.js"></script><p onclick="f(&quot;a&quot;)"></p>'
    said = policy(html)
    script = next(rule for rule in said.split("; ") if rule.startswith("script-src"))
    assert script.count("sha256-") == 2
    assert "'unsafe-hashes'" in script
    assert "'unsafe-inline'" not in script
    assert "'unsafe-eval'" not in script


# ── questions ────────────────────────────────────────────────────────────────────────────────


def ask(page, host, name):
    page.goto(host.replace("index", "questions"))
    return page.locator(f".question:has(> template[data-name={name}])")


def test_a_question_shows_the_reading_and_names_the_mistake(page, host):
    box = ask(page, host, "layer")
    assert fetched(page) == []
    area = box.get_by_label("Your answer")
    area.fill("y[b,j] = tanh(W[j,I] x[b,I] + B[j])")
    box.locator(".question-read .formula svg").wait_for()
    box.get_by_role("button", name="Check").click()
    box.locator(".live-wrong", has_text="it must be subtracted").wait_for()
    area.fill("y[b,j] = tanh(W[j,I] x[b,I] - B[j])")
    area.press("Control+Enter")
    box.locator(".live-right", has_text="Right").wait_for()
    assert box.get_by_role("status").inner_text().startswith("Right")
    assert page.errors == []


def test_hints_come_one_after_the_other_and_the_answer_on_demand(page, host):
    box = ask(page, host, "layer")
    first, second = box.locator(".question-hint").all()
    assert first.is_visible()
    assert not second.is_visible()
    assert not box.get_by_text("y[b,j] = tanh").is_visible()
    first.locator("summary").click()
    second.locator("summary").click()
    assert box.get_by_text("The bias is subtracted.").is_visible()
    box.locator(".question-answer summary").click()
    assert box.get_by_text("y[b,j] = tanh").is_visible()


def test_a_derivation_is_judged_while_it_is_written(page, host):
    box = ask(page, host, "slope")
    box.get_by_label("Your answer").fill("dJ/dz[j] = g[j] (1 - tanh(z[j]))\n= g[j] - g[j] tanh(z[j])")
    box.locator("li.live-wrong").first.wait_for()
    assert [li.get_attribute("class") for li in box.locator(".question-steps li").all()] == [
        "live-wrong",
        "live-right",
    ]
    box.get_by_text("Line 1 is the first that does not hold.").wait_for()
    box.get_by_label("Your answer").fill("dJ/dz[j] = g[j] (1 - tanh(z[j])^2)")
    box.locator(".live-said.live-right").wait_for()


def test_choosing_and_ordering_need_nothing_from_the_host(page, host):
    box = ask(page, host, "larger")
    box.get_by_label("ten squared").check()
    assert box.get_by_role("status").inner_text() == "That is only a hundred."
    box.get_by_role("radio").first.check()
    assert box.locator(".live-right svg").count() == 1
    box = ask(page, host, "steps")
    for _ in range(3):
        for n, words in enumerate(("a word is read", "a state is made", "a word is foretold")):
            while [li.inner_text().split("\n")[-1] for li in box.locator("li").all()].index(words) > n:
                box.get_by_role("button", name=f"Up: {words}").click()
    box.get_by_role("button", name="Check").click()
    assert box.get_by_role("status").inner_text() == "Right, in this order."
    assert fetched(page) == []


# ── the page of the language, and practice ───────────────────────────────────────────────────


def test_the_language_live_reads_compares_and_runs(page, host):
    page.goto(host.replace("index", "language"))
    assert fetched(page) == []
    assert page.get_by_label("Your equations").input_value().startswith("e[b,t,i] = L[x[b,t],i]")
    formula = page.locator(".equation-card > div.math .formula")
    assert formula.is_visible()
    page.get_by_label("Begin with").select_option("an empty field")
    assert not formula.is_visible(), "a reading of an empty field"
    page.get_by_label("Begin with").select_option("layer norm")
    page.locator(".equation-card .formula[aria-label*='mean']").wait_for()
    page.get_by_label("Your equations").fill(PLAIN)
    page.locator(".equation-card .formula[aria-label*='x[b, I]']").wait_for()
    page.get_by_label("Compare with").fill("y[b,j] = W[I,j] x[b,I]")
    page.locator(".live-wrong", has_text="transposed").wait_for()
    page.get_by_label("Compare with").fill("y[c,k] = x[c,I] W[k,I]")
    page.locator(".live-right", has_text="The two agree").wait_for()
    page.get_by_role("button", name="Run").click()
    page.locator(".live-part td", has_text="[[").first.wait_for()
    page.get_by_label("J =").fill("4")
    page.get_by_label("J =").press("Tab")
    page.locator(".live-part tr:last-child td:nth-child(2)").wait_for()
    assert page.errors == []


def test_practice_asks_judges_and_counts_the_mistakes(page, host):
    page.goto(host.replace("index", "practice") + "#seed=7&level=1")
    page.get_by_role("button", name="Begin").click()
    area = page.get_by_label("Your answer")
    area.wait_for()
    # the question of this seed: y[b,j] = W[K,j] x[b,K] x2[b,j], by x
    area.fill("dx[b,k] = -g[b,J] W[k,J] x2[b,J]")
    page.get_by_role("button", name="Check").click()
    page.locator(".live-said.live-wrong").wait_for()
    assert page.get_by_text("0 of 1 right at the first try.").is_visible()
    assert page.locator("ol li", has_text="sign: 1").is_visible()
    area.fill("dx[b,k] = g[b,J] W[k,J] x2[b,J]")
    page.get_by_role("button", name="Check").click()
    page.locator(".live-said.live-right").wait_for()
    page.get_by_role("button", name="Next question").click()
    page.get_by_text("Question 2").wait_for()
    assert page.url.endswith("#seed=7&level=1")
    assert page.errors == []


# ── figures ──────────────────────────────────────────────────────────────────────────────────


def test_a_figure_has_a_still_picture_and_computes_when_a_dial_turns(page, host):
    page.goto(host.replace("index", "questions"))
    figure = page.locator("figure.live-figure[data-name=held]")
    assert [url for url in page.asked if "/figures/" in url] == []
    before = figure.locator("svg path").first.get_attribute("d")
    figure.get_by_label("gate while it waits").fill("1")
    figure.get_by_text("at the last step 0.90").wait_for()
    assert figure.locator("svg path").first.get_attribute("d") != before
    figure.get_by_text("The equations that run here").click()
    assert figure.locator(".formula svg").is_visible()
    assert page.errors == []


def test_a_figure_that_moves_moves_only_when_asked_and_in_sight(page, host):
    page.goto(host.replace("index", "questions"))
    figure = page.locator("figure.live-figure[data-name=cloud]")
    figure.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    assert figure.get_attribute("data-step") is None
    figure.get_by_role("button", name="Train").click()
    figure.locator("xpath=self::*[@data-step > 50]").wait_for()
    page.evaluate("document.querySelector('article').style.paddingTop = '3000px'; scrollTo(0, 0)")
    page.wait_for_timeout(700)
    stopped = figure.get_attribute("data-step")
    page.wait_for_timeout(500)
    assert figure.get_attribute("data-step") == stopped
    figure.scroll_into_view_if_needed()
    figure.locator(f"xpath=self::*[@data-step > {stopped}]").wait_for()
    assert float(figure.get_attribute("data-mean")) < 3.4


# ── for everyone ─────────────────────────────────────────────────────────────────────────────


def test_a_card_is_edited_with_the_keyboard_alone(page):
    button = card(page, "plain").get_by_role("button", name="Try it")
    button.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.keyboard.press("Control+a")
    page.keyboard.type("z = x")
    card(page, "plain").locator(".formula[aria-label*='z &= x']").wait_for()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Try it"


def test_a_question_an_order_and_a_figure_with_the_keyboard_alone(page, host):
    box = ask(page, host, "layer")
    box.get_by_label("Your answer").focus()
    page.keyboard.type("y[b,j] = tanh(W[j,I] x[b,I] + B[j])")
    page.keyboard.press("Control+Enter")
    box.get_by_role("status").filter(has_text="it must be subtracted").wait_for()
    page.keyboard.press("Tab")  # out of the field, which keeps no one in
    assert page.evaluate("document.activeElement.textContent") == "Check"
    steps = page.locator(".question:has(> template[data-name=steps])")
    last = steps.locator(".question-rows > li").last.get_by_role("button", name="Up")
    moved = last.get_attribute("aria-label").removeprefix("Up: ")
    last.focus()
    page.keyboard.press("Enter")
    assert steps.get_by_role("status").inner_text() == "Now in place 2 of 3."
    page.keyboard.press("Enter")  # the focus goes with the line
    assert moved in steps.locator(".question-rows > li").first.inner_text()
    figure = page.locator("figure[data-name=held]")
    figure.get_by_label("gate while it waits").focus()
    page.keyboard.press("End")
    figure.get_by_role("status").filter(has_text="at the last step 0.90").wait_for()


# Controls without a name that a screen reader could say, and sentences that it would not say when they change.
UNHEARD = """() => [...document.querySelectorAll('article :is(button, input, select, textarea, .live-said)')]
    .filter(e => e.checkVisibility())
    .filter(e => e.matches('.live-said') ? !e.closest('[role=status]')
        : !(e.labels?.length || e.ariaLabel || (e.matches('button') && e.textContent.trim())))
    .map(e => e.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_live_is_heard_and_seen_on_a_phone(browser, host, scheme):
    from test_browser import CONTRAST

    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    for name in PAGES:
        page.goto(host.replace("index", name))
        if name == "index":
            try_it(page, "gru")
        if name == "practice":
            page.get_by_role("button", name="Begin").click()
            page.get_by_label("Your answer").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        assert page.evaluate(UNHEARD) == [], name
        page.add_style_tag(content="* { animation: none !important; transition: none !important }")
        assert page.evaluate(CONTRAST) == [], name
    context.close()


def type_into(fox, box, text):
    fox.ask(f"""(area => {{ area.value = {json.dumps(text)}; area.dispatchEvent(new Event('input')) }})
        (document.querySelector('{box} textarea'))""")


def said(fox, box, words):
    """Wait until the words stand in the status of a box."""
    deadline = time.monotonic() + 60
    while words not in str(told := fox.ask(f"document.querySelector('{box} .live-said').textContent")):
        assert time.monotonic() < deadline, told
        time.sleep(0.2)


def test_a_card_a_question_a_derivation_and_a_figure_in_firefox(host):
    path = firefox.find()
    if path is None:
        pytest.skip("no Firefox was found: install one (Debian: `apt-get install firefox-esr`)")
    fox = firefox.Firefox(path)
    try:
        fox.open(host)
        fox.ask("document.querySelector('.equation-card .live-button').click()")
        said(fox, ".equation-card", "Read")
        assert fox.ask("live.way") == "memory"
        assert fox.ask("document.querySelector('.equation-card .formula svg').getBBox().width > 100")
        type_into(fox, ".equation-card", "y[b] = x[b,i]")
        said(fox, ".equation-card", "i is free on the right but not on the left")

        fox.open(host.replace("index", "questions"))
        type_into(fox, ".question-write", "y[b,j] = tanh(W[j,I] x[b,I] + B[j])")
        fox.ask("document.querySelector('.question-write .live-button').click()")
        said(fox, ".question-write", "it must be subtracted")
        type_into(fox, ".question-derive", "dJ/dz[j] = g[j] (1 - tanh(z[j]))")
        said(fox, ".question-derive", "Line 1 is the first that does not hold.")
        fox.ask("document.querySelectorAll('.question-choose input')[1].click()")
        said(fox, ".question-choose", "That is only a hundred.")

        figure = "figure[data-name=held]"
        fox.ask(f"""(dial => {{ dial.value = 1; dial.dispatchEvent(new Event('input')) }})
            (document.querySelector('{figure} input'))""")
        said(fox, figure, "at the last step 0.90")
        moving = "document.querySelector('figure[data-name=cloud]')"
        fox.ask(f"{moving}.scrollIntoView(), {moving}.querySelector('button').click()")
        deadline = time.monotonic() + 60
        while int(fox.ask(f"{moving}.dataset.step") or 0) < 50:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        fox.close()
