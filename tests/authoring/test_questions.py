"""What holds of every question of the course: help, time, order, and an answer that nothing public prints."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from coursekit.authoring.fences import inside_markers
from coursekit.authoring.minutes import MINUTES, in_words, kind, minutes, work
from coursekit.authoring.publish import leaks
from coursekit.authoring.source import Question, read

from .test_release import COURSE, NAMES, ROOT

LIMIT = 4 * 60  # minutes for an assignment
LARGE, HINTS = 6, 2  # from so many points on a question has so many hints
TELLING = 24  # characters of a line that gives something away


@pytest.fixture(scope="module")
def sources():
    return {name: read(COURSE.solutions / name / f"{name}.md") for name in NAMES}


def questions(sources):
    return [(name, q) for name, source in sources.items() for q in source.questions]


def test_each_large_question_has_hints(sources):
    without = [
        f"{n}/{q.id}"
        for n, q in questions(sources)
        if not q.manual and q.points >= LARGE > 0 and len(q.hints) < HINTS
    ]
    assert without == []
    assert all(len(set(q.hints)) == len(q.hints) for _, q in questions(sources))


def test_no_hint_says_the_answer(sources):
    for source in sources.values():
        assert list(leaks(source, "")) == []


@pytest.mark.parametrize(
    ("solution", "hint"),
    [
        ('growth = "V*D + D**2"', "Is it V * D + D ** 2?"),
        ("def f(h):\n    return h * (1 - h)", "Try h*(1-h) there."),
        ("z = '''\ndv[a] = U[a,K] (y[K] - p[K])\n'''", "The right side is U[a,K] (y[K] - p[K])."),
    ],
)
def test_a_hint_with_the_answer_in_it_is_found(sources, solution, hint):
    source = sources["lab"]
    spoilt = Question("q", 1, f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION", hints=[hint])
    found = list(leaks(type(source)("lab", source.path, source.notebook, [spoilt]), ""))
    assert found
    assert (
        list(
            leaks(type(source)("lab", source.path, source.notebook, [Question("q", 1, spoilt.solution)]), "")
        )
        == []
    )


# ── time ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", NAMES)
def test_no_assignment_takes_more_than_four_hours(name, sources):
    assert 60 < minutes(sources[name]) <= LIMIT
    released = (COURSE.notebooks / name / f"{name}.ipynb").read_text(encoding="utf-8")
    assert f"about {in_words(sources[name])}," in released


def test_the_estimate_knows_what_is_asked(sources):
    by_id = {(n, q.id): q for n, q in questions(sources)}
    kinds = {k: kind(by_id[q]) for k, q in {
        "choice": ("gates", "shared"), "equations": ("gates", "lstm"), "derivation": ("bptt", "step_lines"),
        "gradients": ("bptt", "grads_t"), "code": ("bptt", "clip"), "essay": ("gates", "why_gate"),
        "closed_form": ("gates", "half_gate"), "big_o": ("embeddings", "times"), "value": ("lab", "uniform"),
    }.items()}  # fmt: skip
    assert kinds == {k: k for k in kinds}
    assert work(by_id["gates", "lstm"]) == MINUTES["equations"][0] + 5 * MINUTES["equations"][1]
    assert work(by_id["lab", "learn"]) == 60  # as its author says


def test_the_guide_for_authors_prints_the_table_of_minutes():
    guide = (ROOT / "book" / "guides" / "authors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([\d.]+) \| ([\d.]+) \|$", guide, re.MULTILINE)
    assert {name: (float(first), float(each)) for name, first, each in rows} == MINUTES


# ── order ────────────────────────────────────────────────────────────────────────────────────


def reading_order():
    """The book's pages in their order, and the last page that leads to each assignment."""
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    files = [chapter["file"] for part in parts for chapter in part["chapters"]]
    last = {}
    for place, file in enumerate(files):
        head = re.match(r"---\n(.*?)\n---\n", (ROOT / f"{file}.md").read_text(encoding="utf-8"), re.DOTALL)
        leads = (yaml.safe_load(head[1]) if head else {}).get("assignment", [])
        last |= dict.fromkeys([leads] if isinstance(leads, str) else leads, place)
    return [Path(file).name for file in files], last


def test_each_question_can_be_answered_from_what_was_read(sources):
    pages, last = reading_order()
    assert set(last) == set(NAMES)
    late = [
        f"{name}/{q.id} asks what `{q.chapter}` teaches, which is no page before its assignment"
        for name, q in questions(sources)
        if q.chapter not in pages[: last[name] + 1]
    ]
    assert late == []


# ── nothing is asked that is printed, and nothing twice ──────────────────────────────────────


def normal(line):
    """A line without blanks, its indices by the order in which they come: other letters make no other equation."""
    seen: dict[str, str] = {}

    def numbered(match):
        letter = match[0]
        seen.setdefault(letter.lower(), str(len(seen)))
        return seen[letter.lower()] + ("+" if letter.isupper() else "")

    inside = re.sub(r"\[[^\[\]]*\]", lambda box: re.sub(r"\b[A-Za-z]\w{0,2}\b", numbered, box[0]), line)
    return re.sub(r'[\s\\"]', "", inside)


def printed(text):
    return {normal(row) for row in text.replace("\\n", "\n").splitlines()}


def test_another_letter_is_no_other_equation():
    assert normal("dv[a] = U[a,K] y[K]") == normal("dv[i] = U[i,W]  y[W]") != normal("dv[a] = U[K,a] y[K]")


def test_no_graded_answer_stands_in_what_is_public(sources):
    places = [
        *(ROOT / "book").rglob("*.md"),
        *(ROOT / "coursekit").rglob("*.py"),
        *(ROOT / "notebooks").rglob("*.ipynb"),
    ]
    public = {path: printed(path.read_text(encoding="utf-8")) for path in places}
    asked = {
        (name, q.id): {
            normal(row) for row in inside_markers(q.solution).splitlines() if len(normal(row)) >= TELLING
        }
        for name, q in questions(sources)
        if not q.manual
    }
    told = [
        (q, path.name)
        for q, rows in asked.items()
        for path, known in public.items()
        if rows and rows <= known
    ]
    assert told == []


def test_nothing_is_asked_twice(sources):
    answers = defaultdict(list)
    for name, q in questions(sources):
        text = normal(inside_markers(q.solution).partition("=")[2])
        if not q.manual and len(text) > 8:
            answers[text].append(f"{name}/{q.id}")
    assert [twice for twice in answers.values() if len(twice) > 1] == []
