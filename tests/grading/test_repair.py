"""A corpus of damaged notebooks: each gets the grade that its answers deserve, and a log that says why."""

import copy
import json
from pathlib import Path

import pytest
import small_course as small
from nbformat.v4 import new_code_cell, new_markdown_cell
from traitlets.config import Config

from coursekit.grading.assignment import load, master
from coursekit.grading.facts import Assignment
from coursekit.grading.run.names import imports_from
from coursekit.grading.run.outcome import Task
from coursekit.grading.submissions.recognise import Unreadable, read_notebook, recognise
from coursekit.grading.submissions.repair import Repaired, repair

ROOT = Path(__file__).resolve().parents[2]
SUMS = master("sums", small.sums(), Config())
COURSE = [Assignment("sums", (SUMS,))]
ALL = {"test_total": 1, "test_mean": 2, "test_norm": 3}
CORPUS: dict[str, tuple] = {}


def damaged(deserves: dict, *, repairs: str = "", flags: str = ""):
    """Enter a notebook into the corpus: the points it deserves, and words that its log must have."""

    def enter(make):
        CORPUS[make.__name__] = (make, deserves, repairs, flags)  # and no name for pytest to collect

    return enter


def solution(**answers):
    return small.solved(small.sums(), **answers)


def place(made, grade_id: str) -> int:
    return made.cells.index(small.cell_of(made, grade_id))


def without(made, *grade_ids: str):
    lost = [small.cell_of(made, g) for g in grade_ids]
    made.cells = [c for c in made.cells if not any(c is cell for cell in lost)]
    return made


def stripped(made):
    for cell in made.cells:
        cell.metadata = {}
        cell.pop("id", None)
    return made


@damaged(ALL)
def untouched_by_accident():
    return solution()


@damaged({"test_total": 0, "test_mean": 0, "test_norm": 0})
def handed_in_blank():
    return small.released(small.sums())


@damaged(ALL, repairs="`total` had lost its mark and was found by its cell's id")
def metadata_stripped_but_for_colabs_ids():
    made = solution()
    for cell in made.cells:
        cell.metadata = {"id": cell.pop("id")}
    return made


@damaged(ALL, repairs="`norm` had lost its mark and was found by the names that it defines")
def metadata_stripped():
    return stripped(solution())


@damaged({"test_total": 1, "test_mean": 0, "test_norm": 3})
def metadata_stripped_and_one_answer_blank():
    made = solution()
    small.cell_of(made, "mean").source = small.cell_of(small.released(small.sums()), "mean").source
    return stripped(made)


@damaged(ALL, repairs="the test `test_mean` was missing; it was put back")
def tests_deleted():
    return without(solution(), "test_mean", "test_norm")


@damaged({"test_total": 1, "test_mean": 2, "test_norm": 0}, flags="the answer cell `norm` is missing")
def answer_deleted():
    return without(solution(), "norm")


@damaged(ALL, repairs="the given cell `given` was missing; it was put back")
def setup_deleted():
    return without(solution(), "given")


@damaged(ALL, repairs="`total` stood 2 times; the copy with work in it was graded")
def answer_duplicated_and_one_copy_blank():
    made = solution()
    blank = copy.deepcopy(small.cell_of(small.released(small.sums()), "total"))
    made.cells.insert(place(made, "total") + 1, blank)
    return made


@damaged(ALL, flags="`total` stood 2 times with different answers; the last was graded")
def answer_duplicated_and_both_worked_on():
    made = solution()
    wrong = copy.deepcopy(small.cell_of(made, "total"))
    wrong.source = "def total(xs):\n    return 0"
    made.cells.insert(place(made, "total"), wrong)
    return made


@damaged(ALL, repairs="`total` stood 2 times; its pieces were run in their order")
def answer_split_and_both_pieces_marked():
    made = solution(total="def add(a, b):\n    return a + b")
    rest = copy.deepcopy(small.cell_of(made, "total"))
    rest.source = "def total(xs):\n    s = 0\n    for x in xs:\n        s = add(s, x)\n    return s"
    made.cells.insert(place(made, "total") + 1, rest)
    return made


@damaged(ALL)
def answer_split_and_the_first_piece_unmarked():
    made = solution(total="def total(xs):\n    return helper(xs)")
    made.cells.insert(place(made, "total"), new_code_cell("def helper(xs):\n    return sum(xs)"))
    return made


@damaged(ALL)
def answer_split_and_the_second_piece_unmarked():
    made = solution(total="def helper(xs):\n    return sum(xs)")
    made.cells.insert(place(made, "total") + 1, new_code_cell("def total(xs):\n    return helper(xs)"))
    return made


@damaged(ALL, repairs="`mean` was empty or missing; its answer stood in another cell")
def answers_merged_into_the_first():
    made = solution()
    small.cell_of(made, "total").source += "\n\n" + small.cell_of(made, "mean").source
    return without(made, "mean")


@damaged(ALL, repairs="`total` was empty or missing; its answer stood in another cell")
def answers_merged_into_the_second():
    made = solution()
    small.cell_of(made, "mean").source += "\n\n" + small.cell_of(made, "total").source
    return without(made, "total")


@damaged(ALL, repairs="the test `test_total` was missing")
def answer_and_test_merged():
    made = solution()
    small.cell_of(made, "total").source += "\n\n" + small.cell_of(made, "test_total").source
    return without(made, "test_total")


@damaged(ALL, repairs="the cells stood in another order; they were run in the instructor's")
def cells_reversed():
    made = solution()
    made.cells.reverse()
    return made


@damaged(ALL, repairs="another order", flags="cells of the student's own among them")
def cells_reordered_with_a_helper():
    made = solution(norm="def norm(xs):\n    return root(sum(x * x for x in xs))")
    answer = made.cells.pop(place(made, "norm"))
    made.cells[2:2] = [answer, new_code_cell("def root(x):\n    return x ** 0.5")]
    return made


@damaged(ALL, repairs="`norm` was no longer a code cell; it was run as code")
def answer_became_text():
    made = solution()
    number = place(made, "norm")
    cell = made.cells[number]
    made.cells[number] = new_markdown_cell(cell.source, metadata=cell.metadata)
    return made


@damaged(ALL, repairs="the test `test_norm` was changed; the instructor's was used")
def test_became_text():
    made = solution()
    number = place(made, "test_norm")
    made.cells[number] = new_markdown_cell(made.cells[number].source, metadata=made.cells[number].metadata)
    return made


@damaged(ALL, repairs="`norm` was empty or missing; its answer stood in another cell")
def answer_in_a_new_cell_at_the_end():
    made = solution()
    answer = small.cell_of(made, "norm").source
    small.cell_of(made, "norm").source = small.cell_of(small.released(small.sums()), "norm").source
    made.cells.append(new_code_cell(answer))
    return made


@damaged(ALL, repairs="`total` was empty or missing; its answer stood in another cell")
def answer_in_the_setup_cell():
    made = solution()
    answer = small.cell_of(made, "total").source
    small.cell_of(made, "total").source = small.cell_of(small.released(small.sums()), "total").source
    small.cell_of(made, "given").source += "\n\n" + answer
    return made


@damaged(ALL, repairs="its answer stood in another cell")
def answer_in_the_test_cell():
    made = solution()
    answer = small.cell_of(made, "norm").source
    small.cell_of(made, "test_norm").source = answer + "\n" + small.cell_of(made, "test_norm").source
    return without(made, "norm")


@damaged({"test_total": 0, "test_mean": 0, "test_norm": 3}, repairs="the test `test_total` was changed")
def tests_edited_to_pass():
    made = solution(total="def total(xs):\n    return 0")
    small.cell_of(made, "test_total").source = "pass"
    small.cell_of(made, "test_mean").source = "assert True"
    return made


@damaged(ALL)
def points_edited():
    made = solution()
    small.cell_of(made, "test_total").metadata["nbgrader"]["points"] = 1000
    return made


@damaged(ALL, repairs="the given cell `given` was changed")
def setup_edited():
    made = solution()
    small.cell_of(made, "given").source = "import math\n\n\ndef scaled(x):\n    return 100"
    return made


@damaged(ALL, repairs="`test_sum`, `total_of` are not in this release; the notebook may be an earlier one")
def notebook_of_an_earlier_release():
    made = solution()
    small.cell_of(made, "total").metadata["nbgrader"]["grade_id"] = "total_of"
    made.cells[place(made, "total_of")].id = "old-id"
    small.cell_of(made, "test_total").metadata["nbgrader"]["grade_id"] = "test_sum"
    return made


@damaged(ALL)
def cells_of_the_students_own_everywhere():
    made = solution(mean="def mean(xs):\n    return total(xs) / max(1, count(xs))")
    made.cells.insert(place(made, "mean"), new_code_cell("def count(xs):\n    return len(xs)"))
    made.cells.insert(1, new_code_cell("%%time\nprint('hello')"))
    made.cells.append(new_markdown_cell("Notes to myself."))
    return made


@damaged(ALL)
def five_hundred_magics():
    made = solution()
    made.cells.append(new_code_cell("\n".join(["%time 1"] * 600)))
    return stripped(made)


def as_colab(made):
    raw = json.loads(small.saved(made))
    raw["nbformat_minor"] = 0
    for cell in raw["cells"]:
        cell["metadata"]["id"] = cell.pop("id")
    return raw


def as_version_3(made):
    cells = []
    for cell in json.loads(small.saved(made))["cells"]:
        key = "input" if cell["cell_type"] == "code" else "source"
        cells.append({"cell_type": cell["cell_type"], key: cell["source"], "metadata": cell["metadata"]})
    cells.insert(0, {"cell_type": "heading", "level": 1, "source": "My work"})
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}


def with_lines(made):
    raw = json.loads(small.saved(made))
    for cell in raw["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    return raw


@pytest.fixture(scope="module")
def graded(warm):
    """Grade the bytes of a notebook against `sums`."""

    def run(data: bytes) -> tuple[dict, Repaired]:
        cells, _ = read_notebook(data)
        found = recognise(cells, "", "whatever.ipynb", COURSE)
        assert found is not None
        made = repair(found[1], cells)
        (outcome,) = warm.grade([Task("one", tuple(made.cells))])
        return {test.id: test.score for test in outcome.tests}, made

    return run


@pytest.mark.parametrize("name", CORPUS)
def test_a_damaged_notebook_gets_what_it_deserves(name, graded):
    make, deserves, repairs, flags = CORPUS[name]
    scores, made = graded(small.saved(make()))
    assert scores == deserves, made.repairs + made.flags
    assert repairs in "\n".join(made.repairs)
    assert flags in "\n".join(made.flags)
    assert bool(flags) == bool(made.flags), made.flags


@pytest.mark.parametrize("form", [as_colab, as_version_3, with_lines])
def test_a_notebook_of_any_age_is_read(form, graded):
    scores, _ = graded(json.dumps(form(solution())).encode())
    assert scores == ALL


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_byte_order_mark_and_another_coding_are_nothing(coding, graded):
    assert graded(small.saved(solution()).decode().encode(coding))[0] == ALL


def test_a_written_answer_is_found_by_its_place():
    made = stripped(solution(why="A median only looks at the middle."))
    found = repair(SUMS, read_notebook(small.saved(made))[0])
    assert found.answers["why"] == "A median only looks at the middle."
    assert "`why` had lost its mark and was found by its place" in found.repairs


def test_answers_with_the_same_stub_are_told_apart_by_their_place():
    def question(name: str, solution: str) -> list:
        stub = f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION"
        test = small.check(f"test_{name}", 1, f"assert {solution.replace('=', '==')}")
        return [small.text(f"Question {name}."), small.code(stub, name, solution=True), test]

    book = small.notebook(*question("q1", "a = 1"), *question("q2", "b = 2"))
    blank = small.released(book)
    assert blank.cells[1].source == blank.cells[4].source
    blank.cells[1].source = "print('I gave up here')"
    found = repair(master("two", book, Config()), read_notebook(small.saved(stripped(blank)))[0])
    assert found.answers["q1"] == "print('I gave up here')"
    assert found.blank == {"q2"}


WRONG = [None, 0, -1.5, True, "text", [], [1, [2]], {}, {"a": {"b": 1}}, "\ud800\x00", 10**400]


@pytest.mark.parametrize(
    "field", ["cell_type", "source", "metadata", "id", "outputs", "nbgrader", "grade_id", "tags"]
)
def test_no_field_needs_to_have_the_type_that_the_format_promises(field):
    for value in WRONG:
        raw = json.loads(small.saved(solution()))
        for cell in raw["cells"]:
            if field in ("nbgrader", "tags"):
                cell["metadata"][field] = value
            elif field == "grade_id":
                cell["metadata"].setdefault("nbgrader", {})[field] = value
            else:
                cell[field] = value
        cells, _ = read_notebook(json.dumps(raw).encode())
        made = repair(SUMS, cells)
        assert [c.id for c in made.cells if c.role == "test"] == list(ALL)
        json.dumps([made.answers, made.repairs, made.flags]).encode()


@pytest.mark.parametrize("field", ["cells", "metadata", "nbformat", "worksheets"])
def test_a_notebook_of_the_wrong_shape_is_refused_or_read(field):
    for value in WRONG:
        raw = {**json.loads(small.saved(solution())), field: value}
        try:
            cells, said = read_notebook(json.dumps(raw).encode())
        except Unreadable:
            assert field == "cells"
            continue
        assert isinstance(said, str)
        repair(SUMS, cells)


@pytest.mark.parametrize(
    "data",
    [b"", b"  \n", b"not json", b"[]", b"3", b"{", b"{}", b"\x89PNG\r\n", b"[" * 100_000, b'{"cells": 1}'],
)
def test_what_is_no_notebook_is_refused_with_a_sentence(data):
    with pytest.raises(Unreadable, match="this is not a notebook"):
        read_notebook(data)


def test_a_cell_of_a_type_that_no_notebook_has_is_not_run(graded):
    made = json.loads(small.saved(solution()))
    made["cells"].append({"cell_type": "evil", "source": "def total(xs):\n    return -1", "metadata": {}})
    scores, _ = graded(json.dumps(made).encode())
    assert scores == ALL


@pytest.mark.parametrize(
    "line",
    [
        "from coursekit.models import GRU",
        "import coursekit.models.grid as g",
        "import importlib\ng = importlib.import_module('coursekit.models.grid')",
        "import importlib\ng = importlib.import_module('coursekit.' + 'models')",
        "import sys\ng = sys.modules['coursekit.models']",
        "import coursekit\ng = coursekit.models.GRU",
        "g = __import__('.'.join(['coursekit', 'models']))",
        "from coursekit import checks, models",
        "def total(xs):\n    from coursekit.models.grid import grid_states\n    return sum(xs)",
    ],
)
def test_an_answer_that_imports_the_courses_own_models_is_for_a_person_to_judge(line):
    cells, _ = read_notebook(small.saved(solution(total=f"{line}\n\ndef total(xs):\n    return sum(xs)")))
    assert repair(SUMS, cells).flags == [
        "the answer `total` imports `coursekit.models`, the course's own models"
    ]


def test_models_that_the_notebook_itself_offers_may_be_used():
    book = small.sums()
    small.cell_of(book, "given").source += "\nfrom coursekit.models import GRU"
    answer = "from coursekit.models import LSTM\n\ndef total(xs):\n    return sum(xs)"
    cells, _ = read_notebook(small.saved(small.solved(book, total=answer)))
    assert repair(master("sums", book, Config()), cells).flags == []
    innocent = (
        "# coursekit.models has one\nfrom coursekit import checks\n\ndef total(xs):\n    return sum(xs)"
    )
    cells, _ = read_notebook(small.saved(solution(total=innocent)))
    assert repair(SUMS, cells).flags == []


def test_the_assignment_is_recognised_by_content_not_by_name():
    other = small.notebook(*[small.code(f"x{n} = {n}", f"given{n}", locked=True) for n in range(5)])
    course = [Assignment("other", (master("sums", other, Config()),)), *COURSE]
    found = recognise(read_notebook(small.saved(solution()))[0], "", "Copy of other (2).ipynb", course)
    assert found is not None
    assert found[0].name == "sums"
    strange = small.notebook(small.text("A shopping list"), small.code("milk = 2"))
    cells = read_notebook(small.saved(strange))[0]
    assert recognise(cells, "", "sums.ipynb", course) is None
    assert recognise(cells, "", "sums.ipynb", COURSE, certain=True) is not None


def test_assignments_with_the_same_ids_are_told_apart_by_their_text():
    def quiz(word):
        return small.notebook(
            small.text(f"Say {word}."), small.answer("q1", "def q1():", f"return {word!r}"),
            small.check("test_q1", 1, f"assert q1() == {word!r}"),
        )  # fmt: skip

    course = [Assignment(w, (master(w, quiz(w), Config()),)) for w in ("one", "two", "three")]
    for word in ("one", "two", "three"):
        cells, _ = read_notebook(small.saved(small.solved(quiz(word))))
        assert recognise(cells, "", "x.ipynb", course)[0].name == word


def test_huge_cells_are_repaired_in_bounded_time(graded):
    made = stripped(solution())
    made.cells.append(new_code_cell("a b " * 500_000))
    made.cells.append(new_code_cell("(" * 100_000))
    assert graded(small.saved(made))[0] == ALL


def test_an_import_is_seen_beside_a_magic_and_a_very_long_line():
    source = "%time 1\nimport torch; x = '" + "a b " * 500_000 + "'"
    assert imports_from(source, "torch")
    assert not imports_from(source, "sympy")


@pytest.mark.slow
def test_bptt_as_colab_saves_it_and_without_its_marks_earns_every_point(warm):
    from coursekit.authoring.sample_class import answered, as_colab_saves, solutions
    from coursekit.authoring.source import read

    (assignment,) = load(ROOT, "bptt")
    (own,) = assignment.masters
    right = solutions(read(ROOT / "solutions" / "bptt" / "bptt.md"))
    whole = answered(ROOT / "notebooks" / "bptt" / "bptt.ipynb", right)
    most = sum(c.points for c in own.cells if c.role == "test")
    for text in (as_colab_saves(whole), json.dumps(stripped(copy.deepcopy(whole)))):
        made = repair(own, read_notebook(text.encode())[0])
        (outcome,) = warm.grade([Task("bptt", tuple(made.cells), files=assignment.files)])
        assert outcome.score == most, (made.repairs, [t for t in outcome.tests if t.score < t.max])
