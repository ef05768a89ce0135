"""Rules that no page can need are left out, and no others."""

import pytest

from coursekit.book.served import classes, slim

KNOWN = {"a", "b", "dark"}


@pytest.mark.parametrize(
    ("css", "left"),
    [
        (".a{color:red}.c{color:blue}", ".a{color:red}"),
        ("p, .c .a, .a.b{x:y}", "p, .a.b{x:y}"),
        (".a:not(.c){x:y}", ".a:not(.c){x:y}"),
        (":is(.c,.d) .a{x:y}", ":is(.c,.d) .a{x:y}"),
        ('@charset "utf-8";@media print{.c{x:y}.a{x:y}}', '@charset "utf-8";@media print{.a{x:y}}'),
        ("@media print{.c{x:y}}", ""),
        ("@keyframes turn{from{x:y}to{x:z}}", "@keyframes turn{from{x:y}to{x:z}}"),
        ('.a::before{content:"}{.c"}.c{x:y}', '.a::before{content:"}{.c"}'),
        ("/* .c{x:y} */.a{x:y}", ".a{x:y}"),
        ('@font-face{font-family:"Font Awesome 6"}.fas{x:y}', ""),
    ],
)
def test_a_rule_stays_where_its_classes_are_used(css, left):
    assert slim(css, KNOWN) == left
    assert slim(left, KNOWN) == left


def test_classes_are_those_of_the_pages_and_the_words_of_the_scripts(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "page.html").write_text('<p class="one two">three</p>')
    (tmp_path / "_static" / "a.js").write_text('e.classList.add("four")')
    assert {"one", "two", "four"} <= classes(tmp_path)
    assert "three" not in classes(tmp_path)
