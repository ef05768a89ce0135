"""Every live figure of the book, in a real browser: its dials, its numbers against torch, and that it can be still."""

import re

import pytest
import torch
import yaml
from built import PAGES, ROOT

from coursekit.notation import Equations


def figures():
    """Every figure that computes: its page, its name, its picture and the equations that it runs."""
    for page in PAGES:
        text = (ROOT / f"{page}.md").read_text()
        for name, block in re.findall(
            r"^```\{live-figure\} (\S+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE
        ):
            facts = yaml.safe_load(block.partition("\n---\n")[2])
            yield page, name, re.search(r":picture: (\w+)", block)[1], facts


FIGURES = [f for f in figures() if not f[0].startswith("book/guides/")]
# What a reader does, and words of what must then stand below the picture.
TURNED = {
    "exploding-back": ({"eigenvalue": "1.2", "clip at": "2"}, r"size 1\.2 .* is 1,200 times .* clipped, it is 2\."),
    "gates-held": ({"gate while it waits": "1", "gate when it reads": "0"}, r"is 1\.00, and at the last step 1\.00"),
    "sampling-nucleus": ({"temperature": "0.1", "top p": "0.5"}, r"1 of 10 words are kept"),
    "transformer-looks": ({"sentence": "a cat and a cat", "sharpness": "0"}, r"Each of 5 words"),
    "local-window": ({"sentence": "one two three", "window": "1"}, r"“three”, looks most at “three”"),
    "rewriting-rank": ({"size of a head": "5"}, r"has rank 5\."),
}  # fmt: skip
# The same picture once more, every call of a compiled function kept with what it was given and made.
RECORD = """async ([name, picture, steps]) => {
    const source = new URL('../figures/' + name + '.js', document.querySelector('script[src*="pictures.js"]').src);
    const script = Object.assign(document.createElement('script'), {src: source});
    await new Promise(done => { script.onload = done; document.head.append(script); });
    const calls = [], figure = liveFigures[name];
    const list = v => typeof v === 'number' ? v : [...v];
    const plain = o => Object.fromEntries(Object.entries(o ?? {}).map(([k, v]) => [k, list(v)]));
    for (const [model, functions] of Object.entries(figure.models)) for (const way of ['forward', 'backward']) {
        const f = functions[way];
        if (f) functions[way] = (inputs, sizes, options) => {
            const given = plain(inputs), made = f(inputs, sizes, options);
            calls.push({model, way, given, sizes, boundary: plain(options?.boundary), made: plain(made)});
            return made;
        };
    }
    const p = pictures[picture], box = document.querySelector(`figure[data-name="${name}"]`);
    const read = d => box.querySelector(`[id="figure-${name}-${d.name.replace(/ /g, '-')}"]`).value;
    const dials = Object.fromEntries(p.dials.map(d => [d.name, d.text || d.options ? read(d) : +read(d)]));
    const state = p.start(figure, dials, chance(1));
    for (let n = 0; n < steps; n++) p.step(state, dials);
    return {calls, words: p.words(state, dials)};
}"""


def shaped(values, dims, sizes):
    value = torch.tensor(values, dtype=torch.float64)
    return value.reshape([sizes[d] for d in dims]) if isinstance(values, list) else value


def by_torch(facts, call):
    """What torch makes of the same numbers."""
    text = facts[call["model"]]
    equations = Equations(text if isinstance(text, str) else text["equations"])
    if call["way"] == "backward":
        equations = equations.grad(text["loss"], text["wrt"])
    system, sizes = equations.system, call["sizes"]
    given = {
        n: shaped(v, system.tensors[n].dims, sizes) for n, v in call["given"].items() if n in system.tensors
    }
    given = {
        n: v.long() if system.tensors[n].indexes else v for n, v in given.items() if n in equations.inputs
    }
    edges = {}
    for name, value in call["boundary"].items():
        if name in system.boundary:
            (axis, _), *_ = system.boundary[name]
            dims = [d for k, d in enumerate(system.tensors[name].dims) if k != axis]
            edges[name] = shaped(value, dims, sizes)
    free = {d: n for d, n in sizes.items() if d in {d for t in system.tensors.values() for d in t.dims}}
    return equations.run(given, edges, free)


@pytest.fixture
def page(browser):
    """A page, and what goes wrong in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda e: page.errors.append(str(e)))
    yield page
    context.close()


def test_every_figure_that_moves_not_by_itself_is_turned_here():
    assert len(FIGURES) >= 8
    assert {name for _, name, picture, _ in FIGURES if picture not in ("training", "cloud")} == set(TURNED)


@pytest.mark.parametrize(("where", "name", "picture", "facts"), FIGURES, ids=[f[1] for f in FIGURES])
def test_what_a_figure_shows_is_what_torch_computes(page, site, where, name, picture, facts):
    page.goto(f"{site}/{where}.html")
    figure = page.locator(f"figure[data-name={name}]")
    said, before = figure.get_by_role("status"), figure.locator(".live-still").inner_html()
    turned, words = TURNED.get(name, ({}, "After"))
    for dial, value in turned.items():
        figure.get_by_label(dial, exact=True).fill(value)
    if turned:
        figure.get_by_role("status").filter(has_text=re.compile(words)).wait_for()
        assert figure.locator(".live-still").inner_html() != before
    told = page.evaluate(RECORD, [name, picture, 0 if turned else 2])
    if turned:
        assert said.inner_text() == told["words"] == figure.locator(".live-still").get_attribute("aria-label")
    assert {c["way"] for c in told["calls"]} >= ({"forward", "backward"} if not turned else set())
    assert told["calls"]
    for call in told["calls"]:
        right = by_torch(facts, call)
        for made, value in call["made"].items():
            wanted = right[made].flatten()
            assert torch.allclose(torch.tensor(value, dtype=torch.float64), wanted, rtol=1e-12, atol=1e-12), (
                made
            )
    assert page.errors == []


@pytest.mark.parametrize("where", sorted({f[0] for f in FIGURES}))
def test_without_scripts_and_on_paper_a_figure_is_still_and_whole(browser, site, where):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/{where}.html")
    page.emulate_media(media="print")
    for box in page.locator("figure.live-figure").all():
        still = box.locator(".live-still")
        assert still.locator("svg").bounding_box()["height"] > 80
        assert len(still.get_attribute("aria-label")) > 40
        assert box.locator("button, input, select").count() == 0
    context.close()


def test_whoever_wants_less_motion_sees_a_new_picture_every_few_seconds_only(browser, site):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{site}/book/chapters/embeddings.html")
    figure = page.locator("figure[data-name=embeddings-cloud]")
    page.evaluate("""() => { window.drawn = 0; new MutationObserver(() => drawn++)
        .observe(document.querySelector('figure[data-name=embeddings-cloud] .live-still'), {childList: true}) }""")
    figure.get_by_role("button", name="Train").click()
    figure.locator("xpath=self::*[@data-step]").wait_for()
    page.wait_for_timeout(2000)
    assert page.evaluate("drawn") <= 2
    figure.get_by_role("button", name="Pause").click()
    figure.get_by_role("status").filter(has_text=re.compile(r"After [1-9]\d* steps")).wait_for()
    context.close()
