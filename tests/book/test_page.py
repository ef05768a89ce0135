"""What a page says about its assignments: which they are, and how many problems they have."""

import re

import pytest
import yaml
from built import PAGES, ROOT

from coursekit.authoring.course import Course
from coursekit.authoring.source import read
from coursekit.book.notebooks import assignments

COUNTS = {
    word: n
    for n, word in enumerate(
        [
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
        ],
        9,
    )
}


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


def test_what_a_page_says_about_its_problems_is_so():
    course, told = Course(ROOT), 0
    for page in PAGES:
        text = (ROOT / f"{page}.md").read_text()
        head = yaml.safe_load(text.split("---")[1]) if text.startswith("---\n") else {}
        named = head.get("assignment", [])
        asked = [
            read(course.solutions / name / f"{name}.md").questions
            for name in ([named] if isinstance(named, str) else named)
        ]
        said = text.partition("\n## Exercises\n")[2]
        for word in re.findall(r"has (\w+) problems", said):
            count = COUNTS.get(word) or int(word)
            assert count in map(len, asked), f"{page}: {word} problems"
            told += 1
        for first, last in re.findall(r"roblems (\d+) to (\d+)", said):
            own = [
                {n for n, q in enumerate(several, 1) if q.chapter == page.rpartition("/")[2]}
                for several in asked
            ]
            wanted = set(range(int(first), int(last) + 1))
            assert any(some and some <= wanted for some in own), f"{page}: problems {first} to {last}"
            told += 1
    assert told >= 12
