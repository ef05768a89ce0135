"""What a page's front matter says about its assignments."""

import pytest

from coursekit.book.page import assignments


@pytest.mark.parametrize(
    ("metadata", "names"),
    [
        ({}, []),
        ({"assignment": "bptt"}, ["bptt"]),
        ({"assignment": '["dependencies", "lab"]'}, ["dependencies", "lab"]),
    ],
)
def test_a_page_names_none_one_or_several_assignments(metadata, names):
    assert assignments(metadata) == names
