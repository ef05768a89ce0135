"""The similarity list: what was copied is on it, what was given or thought of twice is not."""

import re

import small_course as small
from traitlets.config import Config

from coursekit.grading.assignment import master
from coursekit.grading.facts import Assignment, Entry
from coursekit.grading.pages.report import report
from coursekit.grading.submissions.similar import similar

STARTER = """def scan(xs, start):
    # Walk through the list once, from the left; keep the running total in a list and give it back at the end.
    totals, current = [start], start
    for position, value in enumerate(xs):
        assert isinstance(value, (int, float)), f"entry {position} is no number"
        if position > 10_000_000:
            raise ValueError("too long a list for this exercise; split it and scan the parts one by one")
"""
BOOK = small.notebook(
    small.text("# Scan"),
    small.code(
        f"{STARTER}    ### BEGIN SOLUTION\n    return totals\n    ### END SOLUTION", "scan", solution=True
    ),
    small.check("test_scan", 1, "assert scan([], 0) == [0]"),
    small.text("Why is it linear?", "why", grade=True, solution=True, points=1),
)
ASSIGNMENT = Assignment("scan", (master("scan", BOOK, Config()),))

LOOP = """
        if value < 0:
            current = current - abs(value)
        else:
            current += value
        totals.append(current)
    while len(totals) > len(xs) + 1:
        totals.pop()
    return [float(total) for total in totals]
"""
SLICES = """
    sums = {0: start}
    for end in range(1, len(xs) + 1):
        sums[end] = start + math.fsum(xs[:end])
    ordered = sorted(sums.items(), key=lambda pair: pair[0])
    return list(map(operator.itemgetter(1), ordered))
"""
RECURSIVE = """
    def deeper(rest, so_far):
        if not rest:
            return [so_far]
        head, *tail = rest
        return [so_far, *deeper(tail, so_far + head)]
    result = deeper(list(xs), start)
    print('scanned', len(result), 'totals, the last', result[-1])
    return result
"""
PROSE = (
    "Every number of the list is visited exactly once, and each visit costs one addition and one append, so the "
    "time grows in proportion to the length of the list and the memory does too, since we keep each total, which "
    "is why doubling the list doubles the work that the loop has to do before it may return."
)


def entry(student: str, code: str, why: str) -> Entry:
    return Entry(student, "scan", (), answers={"scan": {"scan": code, "why": why}})


def records(**answers: str) -> list[Entry]:
    """Each student's continuation of the starter code; `{student}_why` is their text."""
    students = [name for name in answers if not name.endswith("_why")]
    return [entry(name, STARTER + answers[name], answers.get(f"{name}_why", "")) for name in students]


def renamed(code: str) -> str:
    for old, new in {"value": "v", "current": "acc", "totals": "out", "total": "t"}.items():
        code = re.sub(rf"\b{old}\b", new, code)
    return code


def test_a_copy_with_renamed_variables_and_new_comments_is_found():
    copied = "    # entirely my own work\n" + renamed(LOOP).replace("    while", "\n    # tidy up\n    while")
    assert copied.split() != LOOP.split()
    found = similar(ASSIGNMENT, records(ada=LOOP, bob=copied, emmy=SLICES, kurt=RECURSIVE))
    assert [(a, b) for _, a, b in found] == [("ada", "bob")]
    assert found[0][0] > 0.9


def test_answers_thought_of_independently_are_not_flagged():
    assert similar(ASSIGNMENT, records(ada=LOOP, emmy=SLICES, kurt=RECURSIVE)) == []


def test_the_starter_code_alone_is_nobodys_wording():
    assert (
        similar(ASSIGNMENT, records(ada="    return totals", bob="    return totals\n", kurt="    pass"))
        == []
    )


def test_what_most_of_the_class_writes_is_nobodys_wording():
    everyone = {f"s{n}": LOOP for n in range(8)}
    assert similar(ASSIGNMENT, records(**everyone)) == []


def test_copied_prose_is_found_whatever_its_case_and_layout():
    copied = PROSE.upper().replace(", ", ",\n")
    other = "Because there is one loop. " + " ".join(
        f"Reason {n} is that step {n} is cheap." for n in range(9)
    )
    mine = records(ada=SLICES, ada_why=PROSE, bob=RECURSIVE, bob_why=copied, kurt=LOOP, kurt_why=other)
    prose_alone = [entry(one.student, STARTER, one.answers["scan"]["why"]) for one in mine]
    assert [(a, b) for _, a, b in similar(ASSIGNMENT, prose_alone)] == [("ada", "bob")]


def test_code_that_does_not_even_parse_is_compared_by_its_words():
    broken = "    return [(\n" + " ".join(f"word{n}" for n in range(60))
    found = similar(ASSIGNMENT, records(ada=broken, bob=broken, kurt=LOOP))
    assert [(a, b) for _, a, b in found] == [("ada", "bob")]


def test_the_report_lists_the_pair_as_a_reason_to_ask():
    text = report(ASSIGNMENT, records(ada=LOOP, bob=renamed(LOOP), kurt=SLICES))
    part = text[text.index("Similar submissions") :]
    assert "<td>ada</td><td>bob</td>" in part
    assert "no proof" in part
