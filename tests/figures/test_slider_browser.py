"""Sliders in a real browser: moved by keyboard, two on a page, light and dark, on paper, without script."""

import pytest

from coursekit import figures

WORDS = ["the", "a", "boat"]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    one = figures.temperature_slider([2.0, 1.0, 0.0], WORDS, (0, 0.5, 1, 2, 8))
    two = figures.pattern_slider("window", 8, (1, 2, 4))
    path = tmp_path_factory.mktemp("slider") / "page.html"
    style = (
        "body{font:16px sans-serif;background:#fff;color:#222;margin:1em}"
        "@media(prefers-color-scheme:dark){body{background:#14181e;color:#ddd}}"
    )
    path.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Sliders</title><style>{style}</style>"
        f"{one._repr_html_()}{two._repr_html_()}{one.frames[0]._repr_html_()}",
        encoding="utf-8",
    )
    return path.as_uri()


@pytest.fixture
def open_page(browser, page_file):
    contexts = []

    def opened(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: request.url == page_file or page.complaints.append(request.url))
        page.goto(page_file)
        return page

    yield opened
    for context in contexts:
        context.close()


def visible(page, slider=0):
    frames = page.locator("figure").nth(slider).locator("[data-frame]")
    return [
        frames.nth(n).get_attribute("data-frame") for n in range(frames.count()) if frames.nth(n).is_visible()
    ]


def test_the_keyboard_moves_the_picture_its_value_and_what_is_read_aloud(open_page):
    page = open_page()
    control = page.locator("input").first
    assert visible(page) == ["1"]
    control.focus()
    control.press("ArrowRight")
    assert visible(page) == ["2"]
    assert page.locator("output").first.inner_text() == "2"
    assert control.get_attribute("aria-valuetext") == "2"
    control.press("Home")
    assert visible(page) == ["0"]
    control.press("End")
    assert visible(page) == ["8"]
    assert page.complaints == []


def test_two_sliders_move_apart(open_page):
    page = open_page()
    second = page.locator("input").nth(1)
    second.focus()
    second.press("End")
    assert visible(page, 0) == ["1"]
    assert visible(page, 1) == ["4"]


def test_html_that_is_put_in_later_works_too(open_page):
    page = open_page()
    page.evaluate("() => { const f = document.querySelector('figure'); const html = f.outerHTML; f.remove();"
                  "const d = document.createElement('div'); d.innerHTML = html; document.body.append(d) }")  # fmt: skip
    control = page.locator("input").last
    control.focus()
    control.press("End")
    assert visible(page, 1) == ["8"]


def test_without_script_the_first_frame_is_there(open_page):
    page = open_page(java_script_enabled=False)
    assert visible(page) == ["1"]


def test_on_paper_it_is_the_frame_that_tells_most_with_its_label_and_no_slider(open_page):
    page = open_page()
    page.locator("input").first.focus()
    page.locator("input").first.press("End")
    page.emulate_media(media="print")
    assert visible(page) == ["1"]
    assert visible(page, 1) == ["2"]  # where it starts
    below = page.locator(".ck-told").nth(1).evaluate("e => getComputedStyle(e, '::after').content")
    assert below == '"width w: 2"'
    assert not page.locator("input").first.is_visible()


def test_every_frame_is_drawn_also_those_that_were_hidden(open_page):
    """Pixels: bars and squares in the course's blue, whichever frame is shown."""
    import io

    import numpy as np
    from PIL import Image

    page = open_page()
    for slider, count in ((0, 5), (1, 3)):
        control, figure = page.locator("input").nth(slider), page.locator("figure").nth(slider)
        control.focus()
        control.press("Home")
        blues = []
        for _ in range(count):
            shot = figure.locator("[data-frame]:visible").screenshot()
            pixels = np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)
            blues.append(int(((pixels[..., 2] - pixels[..., 0]) > 90).sum()))
            control.press("ArrowRight")
        assert min(blues) > 300
        if slider == 1:
            assert blues == sorted(set(blues))  # the window grows


@pytest.mark.parametrize(("scheme", "ink"), [("light", "rgb(34, 34, 34)"), ("dark", "rgb(221, 221, 221)")])
def test_text_has_the_pages_ink_and_font(open_page, scheme, ink):
    page = open_page(color_scheme=scheme)
    text = page.locator("figure svg text:visible").first
    found = text.evaluate("e => { const s = getComputedStyle(e); return [s.fill, s.fontFamily] }")
    assert found == [ink, "sans-serif"]


def test_a_phone_does_not_scroll_sideways_and_a_finger_finds_the_slider(open_page):
    page = open_page(viewport={"width": 390, "height": 800})
    assert page.locator("input").first.bounding_box()["height"] >= 44
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
