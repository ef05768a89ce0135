"""Every page on a phone and beside the sidebars: letters, labels, controls, code; and no fault that axe can find."""

import pytest
from built import PAGES, ROOT

from coursekit.book.vendor import npm

LOOK = (ROOT / "tests" / "book" / "figures.js").read_text()
AXE_DIGEST = (  # SHA-512 of the package as npm has it
    "8a561a9c453cbf1c417b1a4977c716338125490ab841cb422ca8a1d1349f8c87"
    "c24137b21ffeb356b98825f2cfaca4ca2516e21be71f9d96d02230252661758d"
)
# Colours need most of axe's time, and of two texts whose colours, letters and grounds are the same it says the same.
COLOURS = ["color-contrast", "link-in-text-block"]
# What is no matter of colour is looked for in the light; in the dark once more, if more than pictures comes or goes.
FAULTS = """async colours => {
    const told = async (where, options) => (await axe.run(where, {resultTypes: ["violations"], ...options})).violations
        .map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160)]);
    const grounds = new Map([[null, '']]), kinds = new Map();
    const ground = e => {
        if (!grounds.has(e)) {
            const s = getComputedStyle(e);
            const clear = s.backgroundColor === 'rgba(0, 0, 0, 0)' && s.backgroundImage === 'none';
            const own = clear && s.opacity === '1' && s.position === 'static' ? '' :
                [s.backgroundColor, s.backgroundImage, s.opacity, s.position, s.zIndex].join();
            grounds.set(e, own ? `${ground(e.parentElement)}/${own}` : ground(e.parentElement));
        }
        return grounds.get(e);
    };
    for (const e of document.body.querySelectorAll('*')) {
        if (!e.checkVisibility()) continue;  // axe would pass it over, late
        const texts = [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
        if (!texts && !e.matches('input, select, textarea, button')) continue;
        const s = getComputedStyle(e);
        const kind = [e.tagName, s.color, s.fontSize, s.fontWeight, s.textShadow, s.textDecoration, s.display,
            getComputedStyle(e.parentElement).color, e.matches(':disabled'), ground(e)].join();
        if (!kinds.has(kind)) kinds.set(kind, []);
        kinds.get(kind).push(e);
    }
    // Two of each: one may lie under something else, where axe cannot see its ground.
    const few = [...kinds.values()].flatMap(all => all.length < 2 ? all : [all[0], all.at(-1)]);
    const rules = Object.fromEntries(colours.map(rule => [rule, {enabled: false}]));
    const said = few.length ? await told(few, {runOnly: colours}) : [];
    const seen = new Set([...document.querySelectorAll('*')].filter(e => e.checkVisibility()));
    const [width, before] = window.lookedAt ?? [];
    const other = [...seen.symmetricDifference(before ?? new Set())];
    window.lookedAt = [innerWidth, seen];
    const again = width === innerWidth && other.every(e => e.matches('img, svg, svg *'));
    return again && !other.length ? said : [...said, ...await told(again ? other : document, {rules})];
}"""
# Most of a page's elements are the shapes of formulas, which say nothing, and tokens of code, each of a kind that was
# there before: axe needs most of its time for them, four times a page. Of each kind of token in each kind of place one
# is left, the others become plain text of their line.
LIGHTER = """() => {
    const shapes = document.querySelectorAll('.math svg :is(g, path, use, rect, line)');
    for (const e of shapes) if (!e.textContent.trim() && !e.matches('[role], [tabindex]')) e.remove();
    const seen = new Set();
    const kind = e => e === document.body ? '' : `${kind(e.parentElement)} ${e.tagName}.${e.className}`;
    for (const e of document.querySelectorAll('pre span')) {
        if (seen.has(kind(e))) e.dataset.again = '';
        seen.add(kind(e));
    }
    for (const e of document.querySelectorAll('pre [data-again]')) e.replaceWith(...e.childNodes);
}"""
STILL = "* { animation: none !important; transition: none !important }"


@pytest.fixture(scope="session")  # so that the pages may be read by several workers
def page(browser):
    """One page for all: a policy against foreign scripts would keep axe out."""
    context = browser.new_context(bypass_csp=True)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def axe():
    return (npm("axe-core", "4.11.0", AXE_DIGEST) / "axe.min.js").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_letters_labels_controls_and_axe_at_two_widths_light_and_dark(page, axe, site, name):
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="light")
    page.goto(f"{site}/{name}.html", wait_until="load")
    page.add_style_tag(content=STILL)
    page.evaluate(axe)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        found = page.evaluate(LOOK)
        page.evaluate(LIGHTER)
        assert found["overlap"] == [], f"labels overlap at {width}"
        assert width > 390 or found["small"] == [], "letters below 9 pixels"
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function("s => document.documentElement.dataset.theme === s", arg=scheme)
            assert page.evaluate(FAULTS, COLOURS) == [], f"axe at {width}, {scheme}"
        low = "e => e.checkVisibility() && e.getBoundingClientRect().height < 44"
        assert (
            page.evaluate(
                f"() => [...document.querySelectorAll('article input[type=range]')].filter({low}).length"
            )
            == 0
        )
        code = "e => e.checkVisibility() && parseFloat(getComputedStyle(e).fontSize) < 14"
        assert (
            page.evaluate(f"() => [...document.querySelectorAll('article pre')].filter({code}).length") == 0
        )


def test_a_fault_that_is_planted_in_code_or_a_formula_is_found(page, axe):
    page.set_content(
        """<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1>
        <pre tabindex=0 style="background: #fff; color: #000"><span class=k>def</span> <span class=faint>layer</span>
        <span class=k>def</span> <span class=faint>gate</span></pre>
        <style>.faint { color: #ddd }</style>
        <div class=math><svg role=img width=9 height=9><g><path d="M0 0h9v9z"/></g></svg></div></main>"""
    )
    page.evaluate(axe)
    page.evaluate(LIGHTER)
    assert page.locator("pre span").count() == 2
    assert page.locator(".math svg *").count() == 0
    assert faults(page) == {"color-contrast", "svg-img-alt"}


def faults(page):
    return {fault for fault, _, _ in page.evaluate(FAULTS, COLOURS)}


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("<td>one</td><td>two</td><td>three</td>", set()),
        ("<td>one</td><td style='color: #ddd'>two</td><td>three</td>", {"color-contrast"}),
        ("<td>one</td><td style='background: #333'>two</td><td>three</td>", {"color-contrast"}),
        ("<td>one</td><td style='opacity: 0.3'>two</td><td>three</td>", {"color-contrast"}),
        ("<td>one</td><td><input value=two></td><td>three</td>", {"label"}),
    ],
)  # fmt: skip
def test_among_many_of_one_kind_the_one_that_differs_is_found(page, axe, planted, found):
    page.set_content(
        f"""<!doctype html><html lang=en><title>A page</title><main style="background: #fff; color: #000">
        <h1>A page</h1><table><tr><td>first</td>{planted}<td>last</td></tr></table></main>"""
    )
    page.evaluate(axe)
    assert faults(page) == found


@pytest.mark.parametrize(
    ("late", "found"),
    [
        ("<p class=late>Good night.</p>", set()),
        ("<p class=late><input value=two></p>", {"label"}),
        ("<img class=late src=data:,>", {"image-alt"}),
        ("<img class=late src=data:, alt=stars>", set()),
    ],
)
def test_a_fault_that_is_there_in_the_dark_alone_is_found(page, axe, late, found):
    page.emulate_media(color_scheme="light")
    page.set_content(
        f"""<!doctype html><html lang=en><title>A page</title>
        <style>.late {{ display: none }} @media (prefers-color-scheme: dark) {{ .late {{ display: block }} }}</style>
        <main><h1>A page</h1>{late}</main>"""
    )
    page.evaluate(axe)
    assert faults(page) == set()
    page.emulate_media(color_scheme="dark")
    assert faults(page) == found
