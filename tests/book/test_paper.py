"""The one long page that is printed: its links, its headings, the page numbers of its contents."""

from coursekit.book.paper import number_contents, one_page

BUILT = """<a href="#document-book/a">A</a> <a href="#document-book/b">B</a>
<h1>Book</h1><h2>Begin</h2><a id="id1" href="book/index.html#far">far</a>
<span id="document-book/a"></span><h3>A</h3><h4>Idea</h4><a href="#id1">[1]</a><p id="id1">one</p>
<div class="ck-frame" data-frame="0"><div><svg></svg><svg>
</svg></div></div><div class="ck-frame ck-told" data-frame="1"><svg></svg></div><label>
<span id="document-book/b"></span><h3>B</h3><a href="#id1">[1]</a><p id="id1" data-id="id1">one</p>
"""
PDF = b"""
2 0 obj
<</Type /Page
9 0 obj
<</Type /Pages
31 0 obj
<</Type /Page
40 0 obj
<</Type /Page
50 0 obj
<</document-book#2Fa [31 0 R /XYZ 9 792 0]
/document-book#2Fb [40 0 R /XYZ 9 792 0]
"""


def test_a_link_to_another_chapter_stays_within_the_page():
    page = one_page(BUILT, "book/index.html")
    assert 'href="#far"' in page
    assert "index.html" not in page


def test_the_title_of_a_chapter_is_a_heading_of_the_first_level():
    page = one_page(BUILT, "book/index.html")
    assert "<h1>Book</h1><h2>Begin</h2>" in page
    assert "<h1>A</h1><h2>Idea</h2>" in page
    assert "<h1>B</h1>" in page


def test_a_citation_leads_to_the_list_of_its_own_chapter():
    _, first, second = one_page(BUILT, "book/index.html").split("<span id=")
    for n, chapter in enumerate((first, second), 1):
        assert f'href="#chapter{n}-id1"' in chapter
        assert f'<p id="chapter{n}-id1"' in chapter


def test_a_work_that_sphinx_writes_twice_stands_once():
    work = '<span class="label">[<a href="#id1">A</a>]</span>\n<p>One.</p>'
    page = one_page(f'{BUILT}<div class="citation">{work}\n{work}</div>', "book/index.html")
    assert page.count("<p>One.</p>") == 1
    page = one_page(f'{BUILT}<ul><li id="id7"><p>Two.</p>\n<p>Two.</p>\n</li></ul>', "book/index.html")
    assert page.count("<p>Two.</p>") == 1


def test_of_a_slider_the_frame_that_tells_most_is_left():
    page = one_page(BUILT, "book/index.html")
    assert 'data-frame="0"' not in page
    assert '</p>\n<div class="ck-frame ck-told" data-frame="1"><svg></svg></div><label>' in page


def test_the_contents_say_on_which_page_a_chapter_begins():
    page = number_contents(BUILT, PDF)
    assert 'href="#document-book/a" data-page="2"' in page
    assert 'href="#document-book/b" data-page="3"' in page
