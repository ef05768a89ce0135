"""The chores of a term, each one command: the class list, due dates, extensions, points by hand, who is missing."""

import datetime
import errno
import json
import os
import shutil
import time
import zipfile

import pytest
import small_course as small
from sqlalchemy import insert
from traitlets.config import Config
from typer.testing import CliRunner

from coursekit.cli.commands import app, main
from coursekit.grading.assignment import master
from coursekit.grading.command import Options, export, run, status, undo
from coursekit.grading.errors import GradingError
from coursekit.grading.facts import Assignment, Entry, Verdict
from coursekit.grading.gradebook.record import Record
from coursekit.grading.gradebook.tables import GRADED
from coursekit.grading.gradebook.term import Person, read_roster
from coursekit.grading.pipeline import works
from coursekit.grading.submissions.collect import collect


@pytest.fixture(scope="module")
def course(tmp_path_factory, empty_gradebook):
    """A graded class: ada handed in, kurt handed in a PDF, emmy is in ada's group, lise did nothing."""
    root = small.write_course(tmp_path_factory.mktemp("term"), {"sums": {"sums": small.sums()}})
    shutil.copy(empty_gradebook, root / "gradebook.db")
    submitted = root / "submitted" / "ada" / "sums"
    submitted.mkdir(parents=True)
    (submitted / "sums.ipynb").write_bytes(small.saved(small.solved(small.sums())))
    (submitted / "timestamp.txt").write_text("2026-11-16 12:00:00 UTC")
    (root / "submitted" / "kurt").mkdir()
    (root / "submitted" / "kurt" / "sums.pdf").write_bytes(b"%PDF-1.4")
    (root / "class.csv").write_text("id,name,group\nada,Ada,one\nemmy,Emmy,one\nkurt,Kurt,\nlise,Lise,\n")
    run([root / "submitted"], Options(course=root, jobs=1))
    return root


def say(course, *words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--course", str(course)], env={"COLUMNS": "200"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.output


def total(course) -> float:
    with Record(Options(course=course).gradebook_url) as record:
        return small.totals(record, "sums")["ada"]


@pytest.mark.slow
def test_the_chores_of_a_term(course):
    whole = total(course)
    assert "4 in the class, in 1 groups" in say(course, "roster", str(course / "class.csv"))
    assert "late work loses 10% a day" in say(
        course, "due", "sums", "2026-11-14T18:00", "--late", "10% a day"
    )
    assert total(course) == pytest.approx(0.8 * whole)
    say(course, "give", "sums", "ada", "test_mean", "0", "Show your work.")
    given = total(course)
    assert given < 0.8 * whole
    assert "has until 2026-11-17" in say(course, "extend", "sums", "ada", "+3d", "--why", "ill")
    assert total(course) > given, "the penalty is gone, the points by hand are not"
    shown = say(course, "status", "sums")
    assert "missing: lise" in shown
    assert "missing: emmy" not in shown, "her group handed in"
    assert "refused: kurt: no notebook was handed in but sums.pdf" in shown
    before = total(course)
    run([course / "submitted"], Options(course=course, jobs=1, again=True))
    assert total(course) == pytest.approx(before), "nothing of it is forgotten when all is graded anew"
    with Record(Options(course=course).gradebook_url) as record:
        assert record.entry("ada", "sums").comments["sums"]["mean"] == "Show your work."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("status nosuch", "no assignment named 'nosuch'; it has sums"),
        ("roster nofile.csv", "nofile.csv cannot be read: No such file or directory"),
        ("roster .", ". cannot be read: Is a directory"),
        ("due sums yesterday", "'yesterday' is not a time; write 2026-"),
        ("due sums --late much", "'much' is not a late policy; write for example"),
        ("due nosuch 2026-12-01", "no assignment named 'nosuch'; it has sums"),
        ("extend nosuch ada 2026-12-01", "no assignment named 'nosuch'; it has sums"),
        ("extend sums [/ada] 2026-12-01", r"'[/ada]' is neither in the class list nor graded for sums"),
        ("give sums nobody test_mean 1", "'nobody' has no grade for sums; the gradebook has ada"),
        ("give sums ada test_men 1", "0 questions named 'test_men'; it has test_total, test_mean"),
        ("give sums ada test_mean 7", "test_mean is worth 2, so 7 cannot be given: give 0 to 2"),
        ("give sums ada test_mean nan", "so nan cannot be given: give 0 to 2"),
        ("give sums ada test_mean two", "'two' is no number of points: write it as 2.5"),
        ("return sums back.zip", "name the download that the pages answer, with --canvas FILE"),
        ("return sums back.zip --canvas nofile.zip", "nofile.zip does not exist: name"),
        ("export nosuch all.csv", "nothing was graded for 'nosuch' in this gradebook (graded: sums)"),
        ("export sums all.csv --format xls", "--format 'xls' is unknown: csv, canvas"),
        ("export sums all.csv --format canvas", "name it with --into FILE"),
        ("export sums all.csv --format canvas --into nofile.csv", "nofile.csv cannot be read"),
        ("export sums class.csv/all.csv", "class.csv/all.csv cannot be written"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_that_says_how_to_repair_it(course, words, told, monkeypatch, capsys):
    monkeypatch.chdir(course)
    say(course, "roster", "class.csv")
    before = sorted(course.rglob("*")), (course / "gradebook.db").read_bytes()
    monkeypatch.setattr("sys.argv", ["coursekit", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert told in said, said
    assert said.count("\n") == 1
    assert (sorted(course.rglob("*")), (course / "gradebook.db").read_bytes()) == before


def test_a_chore_in_a_folder_without_a_gradebook_makes_none(tmp_path):
    for chore in (lambda o: status(None, o), lambda o: export("sums", tmp_path / "a.csv", "csv", None, o)):
        with pytest.raises(
            GradingError, match=r"there is no gradebook .*gradebook\.db: grade something first"
        ):
            chore(Options(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_every_member_of_a_group_gets_the_grade_and_their_own_work_goes_before(tmp_path, empty_gradebook):
    """Of a group in the class list, and of one that handed in together, in that assignment alone."""
    shutil.copy(empty_gradebook, tmp_path / "gradebook.db")
    options = Options(tmp_path)
    graded = {("ada", "a1"): 9.0, ("bob", "a2"): 3.0, ("emmy", "a1"): 5.0}
    with Record(options.gradebook_url) as record, record.engine.begin() as connection:
        for (student, assignment), score in graded.items():
            verdicts = (Verdict("t", "n", score, 10.0, "failed"),)
            plain = Entry(student, assignment, verdicts, when=datetime.datetime(2026, 11, 16)).plain()
            row = {"student": student, "assignment": assignment, "record": json.dumps(plain)}
            connection.execute(insert(GRADED).values(**row, digest="d", outputs="{}"))
    with Record(options.gradebook_url) as record:
        record.term.share({"ada": ["bob", "carl"], "bob": []}, graded)
        record.term.enrol([Person("kurt", group="g"), Person("emmy", group="g"), Person("lise")])

    def scores(name: str) -> dict[str, str]:
        export(name, tmp_path / "all.csv", "csv", None, options)
        return dict(line.split(",")[:2] for line in (tmp_path / "all.csv").read_text().splitlines()[1:])

    assert scores("a1") == {"ada": "9", "bob": "9", "carl": "9", "emmy": "5", "kurt": "5"}
    assert scores("a2") == {"bob": "3"}
    with Record(options.gradebook_url) as record:
        record.term.share({"ada": ["bob"]}, [("ada", "a1")])
    assert "carl" not in scores("a1"), "who left the group has no part in what it hands in anew"
    with Record(options.gradebook_url) as record:
        record.decide("a1", "2026-11-15", "10% a day")
        record.term.say("extension", "a1", "bob", "2026-11-20T00:00")
    assert scores("a1") == {"ada": "8.1", "bob": "9", "emmy": "4.5", "kurt": "4.5"}, (
        "each by their own due time"
    )
    first, second = status(None, options)
    assert (first.missing, second.missing) == (["lise"], ["emmy", "kurt", "lise"])


@pytest.mark.slow
def test_an_export_has_a_row_for_the_refused_and_lists_what_it_did_not_write(course, tmp_path):
    say(course, "export", "sums", str(tmp_path / "all.csv"))
    assert (
        'kurt,,,"refused: no notebook was handed in but sums.pdf, a PDF' in (tmp_path / "all.csv").read_text()
    )
    sheet = tmp_path / "canvas.csv"
    sheet.write_text('Student,ID,SIS Login ID,Problem set 1 (7)\n"L, Ada",1,ada,\n"M, Lise",2,lise,\n')
    words = ("export", "sums", str(tmp_path / "out.csv"), "--format", "canvas", "--into", str(sheet))
    said = say(course, *words, "--column", "Problem set 1", "--unfinished")
    assert '"L, Ada",1,ada,' in (tmp_path / "out.csv").read_text()
    assert "not written: kurt: refused" in said


@pytest.mark.parametrize(
    ("text", "students"),
    [
        ('Student,ID,SIS Login ID\n    Points Possible,,\n"Lovelace, Ada",11,a@x.org\n', ["lovelaceada (11)"]),
        ("First name,Last name,ID number,Email address\nAda,L,,a@x.org\nEmmy,N,42,e@x.org\n", ["a@x.org", "42"]),
        ("LastName,FirstName,ID,SIS Login ID\n    Points Possible,,,\nLovelace,Ada,11,a@x.org\n", ["lovelaceada (11)"]),
        ('Student,ID\n"\u0928\u093f, Ada",11\n', ["\u0928\u093fada (11)"]),
        ("id,name\nada,Ada\n", ["ada"]),
        ("id;name;group\nada;Ada;g1\n", ["ada"]),
        ("Vorname;Name;ID-Nummer;E-Mail-Adresse;Gruppen\nAda;L;;a@x.org;g1\nEmmy;N;42;e@x.org;\n", ["a@x.org", "42"]),
        ("Prénom,Nom,Adresse de courriel,Groupes\nAda,L,a@x.org,g1\n", ["a@x.org"]),
    ],
)  # fmt: skip
def test_a_class_list_is_read_from_canvas_moodle_or_a_plain_table(text, students):
    assert [person.student for person in read_roster(text)] == students


def test_canvass_own_test_student_is_nobody_and_work_of_theirs_is_told(tmp_path, empty_gradebook):
    """app/models/course.rb of Canvas: its login is a hash, its name in the language of whoever made it."""
    sheet = "Student,ID,SIS Login ID\n    Points Possible,,\n"
    rows = ['"Lovelace, Ada",1,ada@x.org', '"Student, Test",2,' + "0a" * 20, '"Schüler, Test",3,' + "b1" * 20]
    people = read_roster(sheet + "\n".join([*rows, '"Student, Test",4,', '"Student, Test",5,test@x.org\n']))
    assert [person.student for person in people] == ["lovelaceada (1)", "studenttest (5)"]
    shutil.copy(empty_gradebook, tmp_path / "gradebook.db")
    options = Options(tmp_path)
    with options.record() as record, record.engine.begin() as connection:
        row = {"student": "studenttest (2)", "assignment": "sums", "digest": "d", "outputs": "{}"}
        connection.execute(insert(GRADED).values(**row, record=graded_entry("studenttest (2)", "sums")))
    assert status(None, options)[0].strangers == [], "without a class list everybody is welcome"
    with options.record() as record:
        record.term.enrol(people)
    (sums,) = status(None, options)
    assert (sums.missing, sums.strangers) == (["lovelaceada (1)", "studenttest (5)"], ["studenttest (2)"])
    assert "not in the class list: studenttest (2)" in say(tmp_path, "status", "sums")


def test_of_several_groups_in_one_cell_a_folder_has_the_name_of_one(tmp_path, empty_gradebook):
    shutil.copy(empty_gradebook, tmp_path / "gradebook.db")
    options = Options(tmp_path)
    with options.record() as record, record.engine.begin() as connection:
        for student in ("Team A (9)", "c@x"):
            row = {"student": student, "assignment": "sums", "record": graded_entry(student, "sums")}
            connection.execute(insert(GRADED).values(**row, digest="d", outputs="{}"))
    text = (
        'First name,Last name,Email address,Groups\nAda,L,a@x,"Lab 1, Team A"\nKurt,G,b@x,"Team A, Lab 2"\n'
    )
    text += 'Emmy,N,c@x,"Lab 2, Team B"\nLise,M,d@x,Lab 2\nMax,B,e@x,"Lab 2, Team B"\n'
    (tmp_path / "class.csv").write_text(text)
    assert "5 in the class, in 4 groups" in say(tmp_path, "roster", str(tmp_path / "class.csv"))
    (sums,) = status(None, options)
    assert sums.missing == ["d@x"], "who shares one group of two with emmy may work with somebody else"
    assert sums.strangers == []
    assert read_roster('Student,ID,Group\n"L, Ada",1,"One; Two"\n')[0].groups == ["One", "Two"]


def test_groups_are_read_in_other_languages():
    (ada,) = read_roster("Nombre,Apellido(s),Dirección de correo,Grupos\nAda,Lovelace,a@x.org,g 1\n")
    assert (ada.name, ada.email, ada.group) == ("Ada Lovelace", "a@x.org", "g 1")


@pytest.mark.parametrize("text", ["", "id\n", "name\nAda\n", "id\nada\nada\n"])
def test_a_class_list_that_says_too_little_or_one_id_twice_is_refused(text):
    with pytest.raises(GradingError, match="class list"):
        read_roster(text)


# ── a regrade, the term's page, what goes back to the students ───────────────────────────────


def edit(root, old: str, new: str) -> None:
    path = root / "source" / "sums" / "sums.ipynb"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def regraded(tmp_path_factory, empty_gradebook):
    """A class whose test was made wrong, and then undone; what the commands said on the way."""
    root = small.write_course(tmp_path_factory.mktemp("again"), {"sums": {"sums": small.sums()}})
    shutil.copy(empty_gradebook, root / "gradebook.db")
    handed = root / "canvas"
    handed.mkdir()
    (handed / "lovelaceada_12_345_sums.ipynb").write_bytes(small.saved(small.solved(small.sums())))
    (handed / "noetheremmy_LATE_13_346_Copy of sums.ipynb").write_bytes(
        small.saved(small.released(small.sums()))
    )
    words = ("grade", str(handed), "--jobs", "1", "--out", str(root / "out"))
    said = [say(root, *words), say(root, *words)]
    edit(root, "total([41, 1]) == 42", "total([41, 1]) == 43")
    said.append(say(root, *words))
    with Record(Options(course=root).gradebook_url) as record:
        wrong = small.totals(record, "sums")
    said.append(say(root, "undo", "sums", "--out", str(root / "out")))
    return root, said, wrong


@pytest.mark.slow
def test_a_regrade_says_what_changed_and_why_and_can_be_undone(regraded):
    root, (first, again, changed, undone), wrong = regraded
    assert "changed:" not in first + again, "the first grade changes nothing, nor does the same run once more"
    assert "changed: lovelaceada (12), sums: 6 → 5 (the tests changed: test_total 1 → 0)" in changed
    assert "noetheremmy" not in changed.split("changed:")[1], "who has the same points is not named"
    assert wrong == {"lovelaceada (12)": 5.0, "noetheremmy (13)": 0.0}
    assert "lovelaceada (12), sums: 5 → 6" in undone
    with Record(Options(course=root).gradebook_url) as record:
        assert small.totals(record, "sums") == {"lovelaceada (12)": 6.0, "noetheremmy (13)": 0.0}, (
            "nbgrader's own sums"
        )
        assert record.entry("lovelaceada (12)", "sums").score == 6
    with pytest.raises(GradingError, match="nothing to undo"):
        undo("sums", Options(root, out=root / "out"))


@pytest.mark.slow
def test_the_terms_page_has_everyone_and_the_history_of_each_grade(regraded):
    root, _, _ = regraded
    (root / "class.csv").write_text("id\nlovelaceada (12)\nnoetheremmy (13)\nlise\n")
    say(root, "roster", str(root / "class.csv"))
    say(root, "give", "sums", "noetheremmy (13)", "test_mean", "1", "Half of it is right.")
    say(root, "term", "--out", str(root / "out"))
    page = (root / "out" / "term.html").read_text()
    assert "3 students · 1 assignment<" in page
    assert "missing" in page
    for reason in ("the tests changed", "undone", "test_mean by hand: Half of it is right."):
        assert reason in page


@pytest.mark.slow
def test_pages_go_back_under_the_names_that_canvas_and_moodle_gave(regraded, tmp_path):
    root, _, _ = regraded
    say(root, "return", "sums", str(tmp_path / "back.zip"), "--canvas", str(root / "canvas"))
    with zipfile.ZipFile(tmp_path / "back.zip") as archive:
        names = sorted(archive.namelist())
        assert "lovelaceada (12)" in archive.read(names[0]).decode()
    assert names == ["lovelaceada_12_345_sums.html", "noetheremmy_LATE_13_346_Copy of sums.html"]
    moodle = tmp_path / "moodle.zip"
    for ada in ("lovelaceada_12_assignsubmission_file_/sums", "lovelaceada_12_assignsubmission_file_sums"):
        with zipfile.ZipFile(moodle, "w") as archive:
            archive.writestr(f"{ada}.ipynb", "{}")
            archive.writestr("Lise_7_assignsubmission_file_/sums.ipynb", "{}")
        said = say(root, "return", "sums", str(tmp_path / "back.zip"), "--moodle", str(moodle))
        with zipfile.ZipFile(tmp_path / "back.zip") as archive:
            assert archive.namelist() == [f"{ada}.html"]
    assert "not written: Lise (7): nothing was graded for sums" in said
    assert "not written: noetheremmy (13): is not in" in said


@pytest.mark.slow
def test_moodles_column_of_feedback_is_filled_where_it_is_empty(regraded, tmp_path):
    root, _, _ = regraded
    sheet = tmp_path / "worksheet.csv"
    sheet.write_text(
        "Identifier,Full name,Grade,Maximum grade,Feedback comments\n"
        "Participant 12,Ada,,10,\nParticipant 13,Emmy,,10,Come and see me.\n"
    )
    words = ("export", "sums", str(tmp_path / "out.csv"), "--format", "moodle", "--into", str(sheet))
    say(root, *words, "--unfinished")
    first, second = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert first.startswith("Participant 12,Ada,6,10,6 of 10.")
    assert second.endswith("Come and see me."), "what a person wrote stays"


@pytest.mark.slow
def test_nothing_is_written_into_the_course_but_grades_where_out_is_elsewhere(regraded):
    root, _, _ = regraded
    written = {p.name for p in root.iterdir()}
    assert written <= {"source", "nbgrader_config.py", "gradebook.db", "canvas", "out", "class.csv"}
    assert (root / "out" / "autograded").is_dir()


@pytest.mark.slow
def test_a_full_disk_leaves_grades_a_table_and_no_partial_file(tmp_path, empty_gradebook, monkeypatch):
    root = small.write_course(tmp_path / "course", {"sums": {"sums": small.sums()}})
    shutil.copy(empty_gradebook, root / "gradebook.db")
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.ipynb").write_bytes(small.saved(small.solved(small.sums())))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("coursekit.files.os.replace", full)
    graded = run([tmp_path / "class"], Options(root, jobs=1))
    assert [(e.student, e.score) for e in graded.entries] == [("ada", 6)]
    assert [p.sentence.split(":")[0] for p in graded.problems] == [
        "graded, but its page was not written", "there is no report",
    ]  # fmt: skip
    assert all("No space left on device" in p.sentence for p in graded.problems)
    assert list(root.rglob("*.partial")) == []


def test_an_error_of_the_gradebook_is_a_sentence(tmp_path, empty_gradebook):
    url = f"sqlite:///{shutil.copy(empty_gradebook, tmp_path)}"

    def fail() -> None:
        with Record(url) as record:
            with record.engine.begin() as connection:
                connection.exec_driver_sql("drop table coursekit_graded")
            record.entries("sums")

    with pytest.raises(GradingError, match=r"the gradebook .*gradebook.db failed: no such table"):
        fail()


@pytest.mark.parametrize("broken", [b"garbage", b"SQLite format 3\x00" + b"\x01" * 5000])
def test_a_gradebook_that_is_none_is_refused_and_left_alone(tmp_path, broken):
    (tmp_path / "gradebook.db").write_bytes(broken)
    with pytest.raises(GradingError, match=r"gradebook.db cannot be opened: .*; see that it is there, whole"):
        status(None, Options(tmp_path))
    assert (tmp_path / "gradebook.db").read_bytes() == broken


def test_who_handed_in_by_moodle_is_not_missing_though_moodle_numbers_them_anew(tmp_path, empty_gradebook):
    shutil.copy(empty_gradebook, tmp_path / "gradebook.db")
    options = Options(tmp_path)
    with Record(options.gradebook_url) as record, record.engine.begin() as connection:
        for student in ("Ada L (301)", "John S (303)", "Jo P (304)", "Jo P (305)", "Team A (9)"):
            row = {"student": student, "assignment": "sums", "record": graded_entry(student, "sums")}
            connection.execute(insert(GRADED).values(**row, digest="d", outputs="{}"))
    class_list = "Vorname,Nachname,E-Mail,Gruppen\nAda,L,a@x\nJohn,S,b@x\nJohn,S,c@x\nJo,P,d@x\nJo,P,e@x\n"
    class_list += "Lise,M,f@x\nMax,B,g@x,Team A\n"
    with options.record() as record:
        record.term.enrol(read_roster(class_list))
    (sums,) = status(None, options)
    assert sums.missing == ["b@x", "c@x", "f@x"], "of two of one name it cannot be told which"
    export("sums", tmp_path / "all.csv", "csv", None, options)
    assert "\ng@x,10," in (tmp_path / "all.csv").read_text(), "whose group has a folder gets its grade"


def test_a_grade_that_was_cut_off_in_the_gradebook_is_a_sentence(tmp_path, empty_gradebook):
    shutil.copy(empty_gradebook, tmp_path / "gradebook.db")
    options = Options(tmp_path)
    with Record(options.gradebook_url) as record, record.engine.begin() as connection:
        row = {
            "student": "ada",
            "assignment": "sums",
            "record": '{"student": "a',
            "digest": "d",
            "outputs": "{}",
        }
        connection.execute(insert(GRADED).values(row))
    with pytest.raises(GradingError, match="failed: Unterminated string"):
        status(None, options)


@pytest.mark.parametrize(
    ("file", "kind"), [("a.pdf", "a PDF"), ("a.py", "a Python file"), ("a.docx", "a Word document")]
)
def test_what_is_no_notebook_is_named(file, kind, tmp_path):
    (tmp_path / "kurt").mkdir()
    (tmp_path / "kurt" / file).write_bytes(b"x")
    (assignment,) = [Assignment("sums", (master("sums", small.sums(), Config()),))]
    with collect([tmp_path]) as found:
        (problem,) = works(found.submissions, [assignment])
    assert problem.sentence == f"no notebook was handed in but {file}, {kind}: ask for the .ipynb"


def test_another_assignments_notebook_is_not_graded_without_a_word(tmp_path):
    """Refused where it says what it is; flagged where it only looks like something else."""
    other = small.notebook(small.text("Something else."), small.code("x = 1", "x", solution=True))
    (tmp_path / "ada.ipynb").write_bytes(small.saved(other))
    other.metadata["coursekit"] = {"assignment": "gates"}
    (tmp_path / "emmy.ipynb").write_bytes(small.saved(other))
    assignment = Assignment("sums", (master("sums", small.sums(), Config()),))
    with collect([tmp_path]) as found:
        ada, emmy = works(found.submissions, [assignment], certain=True)
    assert ada.flags == ["ada.ipynb does not look like sums; it was graded as that because you named it"]
    assert emmy.sentence == "emmy.ipynb is the notebook of 'gates', not of 'sums'; it was not graded as that"


def test_a_class_of_300_with_11_assignments_is_told_and_exported_in_2_seconds(tmp_path, empty_gradebook):
    shutil.copy(empty_gradebook, tmp_path / "gradebook.db")
    options = Options(tmp_path)
    with Record(options.gradebook_url) as record, record.engine.begin() as connection:
        rows = [
            (f"s{s} ({s})", f"a{a}", graded_entry(f"s{s} ({s})", f"a{a}"))
            for s in range(300)
            for a in range(11)
        ]
        names = ("student", "assignment", "record")
        made = [dict(zip(names, row, strict=True)) | {"digest": "d", "outputs": "{}"} for row in rows]
        connection.execute(insert(GRADED), made)
    taken = []
    for chore in (
        lambda: status(None, options),
        lambda: export("a3", tmp_path / "a3.csv", "csv", None, options),
    ):
        begun = time.process_time()  # of this process alone: other tests run beside it
        result = chore()
        taken.append(time.process_time() - begun)
    assert max(taken) < 2, taken
    assert len((tmp_path / "a3.csv").read_text().splitlines()) == 301
    assert result[1] == []


def graded_entry(student: str, assignment: str) -> str:
    verdicts = tuple(Verdict(f"t{n}", assignment, 1.0, 2.0, "failed", "Some sentence.") for n in range(10))
    answers = {assignment: {f"q{n}": "x = 1\n" * 20 for n in range(10)}}
    return json.dumps(Entry(student, assignment, verdicts, answers=answers).plain())


def handed_in(path, *attempts: bytes):
    """A download of Canvas, with one student's attempts in it."""
    with zipfile.ZipFile(path, "w") as archive:
        for number, data in enumerate(attempts, start=1):
            archive.writestr(f"lovelaceada_12_{number}_sums-{number}.ipynb", data)
    return path


@pytest.mark.slow
def test_of_several_submissions_the_best_counts_where_the_policy_says_so(tmp_path, empty_gradebook):
    root = small.write_course(tmp_path / "course", {"sums": {"sums": small.sums()}})
    shutil.copy(empty_gradebook, root / "gradebook.db")
    right, wrong = (
        small.saved(small.solved(small.sums(), **more))
        for more in ({}, {"norm": "def norm(xs):\n    return 0"})
    )
    options = Options(course=root, jobs=1)

    def score(*attempts: bytes) -> float:
        (entry,) = run([handed_in(tmp_path / "class.zip", *attempts)], options).entries
        return entry.score

    assert score(right, wrong) == 3, "without a policy the latest"
    assert "of several submissions the best counts" in say(root, "due", "sums", "--keep", "best")
    assert score(wrong, right, wrong) == 6
    with Record(options.gradebook_url) as record:
        (flag,) = record.entry("lovelaceada (12)", "sums").flags
    assert flag == "handed in more than once (sums-1.ipynb, sums-2.ipynb); the best counts", (
        "equal files are one"
    )
    assert score(wrong) == 6, "a later and worse one changes nothing"
    assert "best" not in say(root, "due", "sums", "--keep", "latest")
    assert score(wrong) == 3
    assert "is unknown" in str(
        CliRunner().invoke(app, ["due", "sums", "--keep", "x", "--course", str(root)]).exception
    )
