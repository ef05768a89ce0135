"""Every page in a real browser: once in a wide window, once on a phone in the dark."""

import itertools
from contextlib import closing
from pathlib import Path

import pytest
from built import PAGES, ROOT

SHOTS = ROOT / "_build" / "screenshots"
CONTRAST = Path(__file__).with_name("contrast.js").read_text()
PRESSES = 10  # of Tab, between two looks at what it has reached
HEAVIEST = 1_500_000  # bytes, as they come: the server of these tests compresses nothing


class Visit:
    """One page, opened, with all it said, asked for and was given."""

    def __init__(self, context, site, page):
        self.site = site
        self.page = context.new_page()
        self.errors, self.answers = [], []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("requestfailed", lambda r: self.errors.append(f"{r.url}: {r.failure}"))
        self.page.on("response", lambda answer: self.answers.append(answer))
        self.page.goto(f"{site}/{page}", wait_until="load")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.page.close()

    def check_quiet(self):
        """No error, and no request to any other host."""
        assert [a.url for a in self.answers if not a.url.startswith((self.site, "data:"))] == []
        assert [f"{a.url}: {a.status}" for a in self.answers if a.status >= 400] == []
        assert self.errors == []

    def check_contrast(self):
        # What opens fades in; it is judged as it is in the end.
        self.page.add_style_tag(content="* { animation: none !important; transition: none !important }")
        assert self.page.evaluate(CONTRAST) == []


@pytest.fixture
def wide(browser):
    """A new reader's browser, that has nothing of the book."""
    with closing(browser.new_context(viewport={"width": 1200, "height": 900})) as context:
        yield context


@pytest.fixture(scope="session")
def phone(browser):
    """A reader's who goes from page to page: what they share is fetched once."""
    with closing(browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")) as context:
        yield context


@pytest.fixture
def keep(request):
    """Keep a picture of a page, if that was asked for: each costs about as much as all that is asserted of a page."""

    def picture(page, name):
        if request.config.getoption("--screenshots"):
            page.screenshot(path=SHOTS / f"{name.replace('/', '-')}.png", full_page=True)

    return picture


@pytest.mark.parametrize("name", PAGES)
def test_a_page_in_a_wide_window(wide, site, name, keep):
    with Visit(wide, site, f"{name}.html") as visit:
        page = visit.page
        keep(page, name)
        assert sum(len(answer.body()) for answer in visit.answers) < HEAVIEST
        check_neighbours(page, name)
        check_words_for_pictures(page)
        check_keyboard(page)
        check_tabs_and_formulas(page)
        check_sliders(page)
        visit.check_contrast()
        check_paper(page)
        visit.check_quiet()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_on_a_phone_in_the_dark(phone, site, name, keep):
    with Visit(phone, site, f"{name}.html") as visit:
        keep(visit.page, f"{name}-phone")
        assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
        visit.check_contrast()
        visit.check_quiet()


def check_neighbours(page, name):
    """Previous and next are the toc's."""
    at = PAGES.index(name)
    for kind, there in (
        ("left-prev", PAGES[at - 1] if at else None),
        ("right-next", (PAGES + [None])[at + 1]),
    ):
        links = page.locator(f"a.{kind}")
        assert links.count() == (1 if there else 0)
        assert not there or links.evaluate("a => a.href").endswith(f"/{there}.html")


def check_words_for_pictures(page):
    """Every picture has words, or stands in something that has them."""
    without = page.evaluate(
        """() => [...document.querySelectorAll('main img, main svg, main [role=img]')]
            .filter(e => !e.closest('[aria-hidden=true], button'))
            .filter(e => !(e.alt || e.closest('[role=img][aria-label]:not([aria-label=""])')
                || (e.getAttribute('aria-labelledby') || '').split(' ').some(id => document.getElementById(id))))
            .map(e => e.outerHTML.slice(0, 200))"""
    )
    assert without == []


def check_keyboard(page):
    """Tab reaches every slider and every set of tabs."""
    wanted = page.evaluate(
        """() => {
            const controls = [...document.querySelectorAll('figure input[type=range], .sd-tab-set input:checked')];
            window.left = new Set(controls);
            document.addEventListener('focusin', event => left.delete(event.target));
            const h = document.querySelector('article h1'); h.tabIndex = -1; h.focus();
            return controls.length }"""
    )
    for _ in range(600 // PRESSES if wanted else 0):
        for _ in range(PRESSES):
            page.keyboard.press("Tab")
        if not page.evaluate("left.size"):
            break
    assert page.evaluate("left.size") == 0


def check_tabs_and_formulas(page):
    """Every tab opens, and every formula is drawn, also in those that were closed."""
    formulas = set(range(page.locator("main .math").count()))
    drawn = """() => [...document.querySelectorAll('main .math')].flatMap((e, n) => {
        const box = e.querySelector('svg')?.getBBox();
        return box && box.width > 0 && box.height > 0 && e.checkVisibility() ? [n] : [] })"""
    # What is folded away is for those who ask for it.
    page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
    seen = set(page.evaluate(drawn))
    sets = page.locator("main .sd-tab-set")
    most = max((sets.nth(n).locator("> label").count() for n in range(sets.count())), default=0)
    for tab in range(most):
        opened = page.evaluate(
            """tab => [...document.querySelectorAll('main .sd-tab-set')].map(set => {
                const labels = set.querySelectorAll(':scope > label'), label = labels[Math.min(tab, labels.length - 1)];
                label.click();
                return label.nextElementSibling.checkVisibility() })""",
            tab,
        )
        assert all(opened), f"tab {tab} does not open"
        seen |= set(page.evaluate(drawn))
    assert seen == formulas, "a formula is not drawn"


def check_sliders(page):
    """Every place of every slider shows its own picture, and says which."""
    moves = page.evaluate(
        """() => [...document.querySelectorAll('figure.ck-slider')].map(figure => {
            const control = figure.querySelector('input'), frames = [...figure.querySelectorAll('[data-frame]')];
            return frames.map((frame, n) => {
                control.value = n;
                control.dispatchEvent(new Event('input', {bubbles: true}));
                const shown = frames.filter(f => f.checkVisibility());
                return [shown.length === 1 && shown[0] === frame,
                    figure.querySelector('output').textContent === frame.dataset.frame,
                    control.max == frames.length - 1,
                    frame.innerHTML.replace(/(id="|#)ck\\w+-\\d+-/g, '')];
            }) })"""
    )
    assert len(moves) == page.locator("figure:not(.live-figure) input[type=range]").count()
    for frames in moves:
        assert len(frames) > 1
        assert all(one and said and whole for one, said, whole, _ in frames)
        assert all(before[3] != after[3] for before, after in itertools.pairwise(frames)), "it does not move"


def check_paper(page):
    """On paper: the text alone, every tab of it, one picture a slider, and nothing cut off at the margin."""
    page.emulate_media(media="print")
    assert not page.locator("#pst-primary-sidebar").is_visible()
    assert page.locator("input[type=range]:visible").count() == 0
    shown = page.evaluate(
        """() => [...document.querySelectorAll('figure.ck-slider')]
            .map(f => [...f.querySelectorAll('[data-frame]')].filter(e => e.checkVisibility()).length)"""
    )
    assert set(shown) <= {1}
    tabs = page.evaluate(
        "() => [...document.querySelectorAll('.sd-tab-content')].map(e => e.checkVisibility())"
    )
    assert all(tabs)
    folded = page.evaluate(
        """() => [...document.querySelectorAll('details:not(.above-input) > :not(summary)')].filter(e => {
            const {width, height} = e.getBoundingClientRect();
            return !width || !height || getComputedStyle(e).visibility != 'visible' })
            .map(e => e.outerHTML.slice(0, 200))"""
    )
    assert folded == []
    page.set_viewport_size({"width": 665, "height": 900})  # a page of US letter between its margins
    cut = page.evaluate(
        """() => [...document.querySelectorAll('article *:not(svg *)')]
            .filter(e => e.checkVisibility() && getComputedStyle(e).overflowX != 'visible')
            .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML.slice(0, 200))"""
    )
    assert cut == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 665


def test_the_search_page_finds_a_word_and_leads_to_it(wide, site):
    with Visit(wide, site, "search.html?q=gradient") as visit:
        first = visit.page.locator("#search-results ul.search li a").first
        first.wait_for()
        visit.page.wait_for_load_state("networkidle")  # each result fetches its own page
        first.click()
        visit.page.wait_for_load_state()
        assert "gradient" in visit.page.locator("article").inner_text().lower()
        visit.check_quiet()
