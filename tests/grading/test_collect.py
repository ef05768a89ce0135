"""Whatever an instructor has is collected; what is dangerous is refused, and the rest goes on."""

import io
import json
import os
import stat
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coursekit.grading.errors import GradingError
from coursekit.grading.gradebook.export import Final, fill_canvas
from coursekit.grading.submissions.collect import LARGEST_FILE, Collection, Part, collect
from coursekit.grading.text import printable

NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 5, 6, 7, 8, 10)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def students(found) -> dict[str, list[str]]:
    """Whose notebooks could be read."""
    loaded = {s.student: sorted(s.load()[0]) for s in found.submissions}
    return {student: names for student, names in loaded.items() if names}


def refused(found) -> str:
    return "\n".join(
        r.sentence for r in [*found.refusals, *(r for s in found.submissions for r in s.load()[1])]
    )


@pytest.mark.parametrize("one_by_one", [False, True])
def test_loose_files_are_as_many_students_as_there_are_names(tmp_path, one_by_one):
    names = ["bptt.ipynb", "bptt (2).ipynb", "Copy of bptt (1).ipynb"]
    for n, name in enumerate(names):
        (tmp_path / name).write_bytes(NOTEBOOK + b" " * n)
    found = collect([tmp_path / name for name in names] if one_by_one else [tmp_path])
    assert students(found) == {
        "bptt": names[:1],
        "bptt (2).ipynb": names[1:2],
        "Copy of bptt (1).ipynb": names[2:],
    }


def test_the_number_of_a_copy_is_no_student_s_number_in_an_export(tmp_path):
    (tmp_path / "bptt (2).ipynb").write_bytes(NOTEBOOK)
    (student,) = students(collect([tmp_path]))
    sheet = "Student,ID,bptt\nPoints Possible,,10\nStranger,2,\n"
    with pytest.raises(GradingError, match="none of the graded students"):
        fill_canvas(sheet, "bptt", {student: Final(7, 10)})


ODD = st.text(st.characters(codec=None, exclude_characters="/\\:"), min_size=1, max_size=8)


@settings(max_examples=200, deadline=None)
@given(
    st.sets(
        st.one_of(ODD, ODD.map(lambda s: f" {s} "), ODD.map(lambda s: f"{s}\x07")), min_size=2, max_size=6
    )
)
def test_names_that_differ_in_anything_are_different_students(names):
    found = Collection()
    for name in names:
        found.add(name, Part("bptt.ipynb", "here", lambda: NOTEBOOK))
    assert len(found.found) + len(found.refusals) == len(names)
    assert all(printable(student) == student for student in found.found)


def test_what_is_no_submission_is_named_and_nothing_vanishes(tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "essay.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / ".emmy").mkdir()
    (tmp_path / "kurt").symlink_to(tmp_path / "ada")
    (tmp_path / "readme.docx").write_bytes(b"PK")
    (tmp_path / ".DS_Store").write_bytes(b"")
    found = collect([tmp_path])
    assert sorted(r.student for r in found.refusals) == [".emmy", "kurt", "readme.docx"]
    (ada,) = found.submissions
    assert (ada.load()[0], ada.others) == ({}, ["essay.pdf"])


def test_of_several_the_collection_knows_which_is_the_latest(tmp_path):
    path = tmp_path / "submissions.zip"
    path.write_bytes(
        zipped(
            {
                "lovelaceada_123_4567_bptt.ipynb": NOTEBOOK,
                "lovelaceada_123_4570_bptt-1.ipynb": NOTEBOOK + b" ",
                "lovelaceada_123_4570_bptt-2.ipynb": NOTEBOOK + b"  ",
            }
        )
    )
    (ada,) = collect([path]).submissions
    ada.load()
    assert max(ada.rank, key=ada.rank.get) == "bptt-2.ipynb"
    assert len(set(ada.rank.values())) == 3


def test_nbgraders_submitted_tree_is_read_with_its_trusted_time(tmp_path):
    folder = tmp_path / "submitted" / "ada" / "bptt"
    folder.mkdir(parents=True)
    (folder / "bptt.ipynb").write_bytes(NOTEBOOK)
    (folder / "timestamp.txt").write_text("2026-11-16 10:00:00.000000 UTC")
    for path in (tmp_path / "submitted", folder.parent, folder):
        (submission,) = collect([path]).submissions
        assert submission.student == "ada"
        assert submission.when.isoformat() == "2026-11-16T10:00:00+00:00"
    assert collect([folder / "bptt.ipynb"]).submissions[0].student == "ada"


def test_a_timestamp_in_any_other_folder_is_the_students_own(tmp_path):
    folder = tmp_path / "unpacked" / "ada" / "bptt"
    folder.mkdir(parents=True)
    (folder / "bptt.ipynb").write_bytes(NOTEBOOK)
    (folder / "timestamp.txt").write_text("1999-01-01 00:00:00 UTC")
    os.utime(folder / "bptt.ipynb", (0, 0))  # as unpacking an archive of the student's does
    (submission,) = collect([tmp_path / "unpacked"]).submissions
    assert (submission.student, submission.when) == ("ada", None)


def test_a_timestamp_that_the_student_packed_is_not_trusted(tmp_path):
    archive = tmp_path / "class.zip"
    inner = zipped({"bptt.ipynb": NOTEBOOK, "timestamp.txt": b"1999-01-01 00:00:00 UTC"})
    archive.write_bytes(zipped({"Ada Lovelace_12345_assignsubmission_file_/work.zip": inner}))
    found = collect([archive])
    assert found.submissions[0].when.year == 2024
    assert students(found) == {"Ada Lovelace (12345)": ["bptt.ipynb"]}


def test_moodles_archive_has_a_folder_a_student(tmp_path):
    path = tmp_path / "moodle.zip"
    path.write_bytes(
        zipped(
            {
                "Ada Lovelace_12345_assignsubmission_file_/bptt.ipynb": NOTEBOOK,
                "Emmy Noether_67890_assignsubmission_file_/Copy of bptt (1).ipynb": NOTEBOOK,
            }
        )
    )
    assert students(collect([path])) == {
        "Ada Lovelace (12345)": ["bptt.ipynb"],
        "Emmy Noether (67890)": ["Copy of bptt (1).ipynb"],
    }


def test_moodles_archive_without_folders_and_that_of_a_new_moodle_say_the_same(tmp_path):
    """Moodle, importziplib.php: a folder `fullname_userid_plugintype_pluginname`, or that, a `_` and the file."""
    path = tmp_path / "moodle.zip"
    names = ["Ada L_12_assignsubmission_file_sums_1.ipynb", "Emmy N_13_assignsubmission_file/sums_1.ipynb"]
    path.write_bytes(zipped(dict.fromkeys(names, NOTEBOOK)))
    with collect([path]) as found:
        assert students(found) == {"Ada L (12)": ["sums_1.ipynb"], "Emmy N (13)": ["sums_1.ipynb"]}
        assert all(submission.when for submission in found.submissions), "Moodle's own times"


def test_a_group_of_canvas_may_have_a_line_in_its_name(tmp_path):
    """lib/content_zipper.rb: the name as it is, `LATE`, the user's number, the file's."""
    path = tmp_path / "canvas.zip"
    path.write_bytes(zipped({"team_a_LATE_12_345_sums.ipynb": NOTEBOOK}))
    with collect([path]) as found:
        assert students(found) == {"team_a (12)": ["sums.ipynb"]}
        assert found.submissions[0].late


def test_canvas_archive_has_files_side_by_side_and_marks_late_ones(tmp_path):
    path = tmp_path / "submissions.zip"
    path.write_bytes(
        zipped(
            {"lovelaceada_123_4567_bptt.ipynb": NOTEBOOK, "noetheremmy_LATE_124_4568_bptt-1.ipynb": NOTEBOOK}
        )
    )
    found = collect([path])
    ada, emmy = "lovelaceada (123)", "noetheremmy (124)"  # the number is kept, whoever else is in the archive
    assert students(found) == {ada: ["bptt.ipynb"], emmy: ["bptt-1.ipynb"]}
    assert {s.student: s.late for s in found.submissions} == {ada: False, emmy: True}


def test_canvas_archive_without_names_is_told_apart_and_never_exported_as_somebodys(tmp_path):
    """lib/content_zipper.rb: `anon_` and five letters or digits, which may all be digits as a user's number is."""
    path = tmp_path / "submissions.zip"
    names = ("anon_1a2b3_7_bptt.ipynb", "LATE_anon_12345_8_bptt.ipynb", "anon_1a2b3_9_bptt-1.ipynb")
    path.write_bytes(zipped({name: NOTEBOOK + b"\n" * n for n, name in enumerate(names)}))
    with collect([path]) as found:
        first, second = "anon (1a2b3)", "anon (12345)"
        assert students(found) == {first: ["bptt-1.ipynb", "bptt.ipynb"], second: ["bptt.ipynb"]}
        assert [one.late for one in found.submissions] == [False, True]
    sheet = 'Student,ID,bptt\n"Kim, Min",12345,\n'
    with pytest.raises(GradingError, match="Canvas kept back whose it is: turn anonymous grading off"):
        fill_canvas(sheet, "bptt", {first: Final(1, 10), second: Final(2, 10)})
    filled = fill_canvas(sheet, "bptt", {second: Final(2, 10), "kimmin (12345)": Final(5, 10)})
    assert filled.text.splitlines()[1:] == ['"Kim, Min",12345,5']
    assert filled.left[0].startswith("anon (12345): Canvas kept back whose it is")


@pytest.mark.parametrize("unpacked", [False, True])
def test_two_canvas_students_of_one_name_stay_two(tmp_path, unpacked):
    files = {
        "kimmin_1_10_bptt.ipynb": NOTEBOOK,
        "kimmin_2_20_bptt.ipynb": NOTEBOOK,
        "kimmin_2_21_notes.ipynb": NOTEBOOK + b"\n",
        "lovelaceada_3_30_bptt.ipynb": NOTEBOOK,
    }
    path = tmp_path / ("folder" if unpacked else "submissions.zip")
    if unpacked:
        path.mkdir()
        for name, data in files.items():
            (path / name).write_bytes(data)
    else:
        path.write_bytes(zipped(files))
    found = collect([path])
    assert students(found) == {
        "kimmin (1)": ["bptt.ipynb"],
        "kimmin (2)": ["bptt.ipynb", "notes.ipynb"],
        "lovelaceada (3)": ["bptt.ipynb"],
    }
    sheet = 'Student,ID,bptt\n"Kim, Min",1,\n"Kim, Min",2,\n'
    finals = {"kimmin (1)": Final(5, 10), "kimmin (2)": Final(7, 10)}
    assert fill_canvas(sheet, "bptt", finals).text.splitlines()[1:] == [
        '"Kim, Min",1,5',
        '"Kim, Min",2,7',
    ]


def test_gradescopes_export_names_students_in_its_metadata(tmp_path):
    (tmp_path / "submission_1").mkdir()
    (tmp_path / "submission_1" / "bptt.ipynb").write_bytes(NOTEBOOK)
    (tmp_path / "submission_metadata.yml").write_text(
        "submission_1:\n  :submitters:\n  - :name: Ada\n    :email: ada@example.org\n"
        "  :created_at: 2026-11-16 10:00:00 Z\n"
    )
    (submission,) = collect([tmp_path]).submissions
    assert submission.student == "ada@example.org"
    assert submission.when.year == 2026


GROUP = """submission_1:
  :submitters:
  - :name: Ada
    :email: ada@x.org
  - :name: Bob
    :email: bob@x.org
  :created_at: 2026-11-16 10:00:00 Z
submission_2:
  :submitters:
  - :name: Emmy
"""


@pytest.mark.parametrize("top", ["", "assignment_1_export/"])
def test_gradescopes_zip_is_read_like_its_folder_and_groups_are_kept(tmp_path, top):
    path = tmp_path / "export.zip"
    files = {"submission_metadata.yml": GROUP.encode()}
    files |= {f"submission_{n}/bptt.ipynb": NOTEBOOK + b" " * n for n in (1, 2, 3)}
    path.write_bytes(zipped({top + name: data for name, data in files.items()}))
    found = collect([path])
    assert sorted(found.found) == ["Emmy", "ada@x.org", "submission_3"]
    assert found.together == {"ada@x.org": ["bob@x.org"], "Emmy": [], "submission_3": []}
    assert found.found["ada@x.org"].when.year == 2026
    assert found.refusals == []


@pytest.mark.parametrize("metadata", [b"- 1", b"submission_1: 7", b"submission_1:\n  :submitters: [7, {}]"])
def test_a_list_of_gradescopes_that_says_nothing_leaves_the_folders_names(tmp_path, metadata):
    (tmp_path / "submission_1").mkdir()
    (tmp_path / "submission_1" / "bptt.ipynb").write_bytes(NOTEBOOK)
    (tmp_path / "submission_metadata.yml").write_bytes(metadata)
    assert students(collect([tmp_path])) == {"submission_1": ["bptt.ipynb"]}


@pytest.mark.parametrize(
    ("named", "members", "expected"),
    [
        ("class", ["class/ada/b.ipynb", "class/emmy/b.ipynb"], ["ada", "emmy"]),
        ("download", [f"class/{who}/b.ipynb" for who in ("ada", "emmy", "kurt")], ["ada", "emmy", "kurt"]),
        ("x", ["sent/ada_12_34_b.ipynb", "sent/emmy_13_35_b.ipynb"], ["ada (12)", "emmy (13)"]),
        ("x", ["sent/Ada L_7_assignsubmission_file_/b.ipynb"], ["Ada L (7)"]),
        ("x", ["ada/week1/b.ipynb", "ada/week2/c.ipynb"], ["ada"]),
    ],
)  # fmt: skip
def test_a_class_that_was_packed_as_one_folder_is_a_class(tmp_path, named, members, expected):
    path = tmp_path / f"{named}.zip"
    path.write_bytes(zipped({name: NOTEBOOK + b" " * n for n, name in enumerate(members)}))
    assert sorted(students(collect([path]))) == expected


def test_a_students_own_file_cannot_be_named_into_another_students_work(tmp_path):
    path = tmp_path / "class.zip"
    path.write_bytes(zipped({"ada/b.ipynb": NOTEBOOK, "eve/lovelaceada_12_999_b.ipynb": NOTEBOOK + b" "}))
    assert sorted(students(collect([path]))) == ["ada", "eve"]


def test_one_file_of_canvas_has_the_name_that_it_has_in_the_download(tmp_path):
    (tmp_path / "lovelaceada_12_34_b.ipynb").write_bytes(NOTEBOOK)
    (one,) = collect([tmp_path / "lovelaceada_12_34_b.ipynb"]).submissions
    assert one.student == "lovelaceada (12)"


def test_a_folder_with_nothing_in_it_or_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "lise" / "empty").mkdir(parents=True)
    (tmp_path / "kurt").mkdir()
    (tmp_path / "kurt" / "b.ipynb").write_bytes(NOTEBOOK)
    scan = os.scandir

    def locked(path):
        if str(path).endswith("kurt"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr("os.scandir", locked)
    found = collect([tmp_path])
    assert {r.student for r in found.refusals} == {"lise", "kurt"}
    assert "there is no file in this folder" in refused(found)
    assert f"the folder {tmp_path}/kurt cannot be read: Permission denied" in refused(found)


@pytest.mark.parametrize(
    "name", ["../../evil.ipynb", "/etc/evil.ipynb", "a/../../evil.ipynb", "..\\evil.ipynb", "C:\\evil.ipynb"]
)
def test_a_path_that_leaves_its_folder_is_refused_and_the_rest_goes_on(tmp_path, name):
    path = tmp_path / "class.zip"
    path.write_bytes(zipped({name: NOTEBOOK, "ada/bptt.ipynb": NOTEBOOK}))
    found = collect([path])
    assert students(found) == {"ada": ["bptt.ipynb"]}
    assert "would leave its folder" in refused(found)


def test_a_link_is_refused(tmp_path):
    info = zipfile.ZipInfo("mary/bptt.ipynb")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    found = collect([path])
    assert students(found) == {}
    assert "is a link" in refused(found)
    (tmp_path / "folder" / "ada").mkdir(parents=True)
    (tmp_path / "folder" / "ada" / "bptt.ipynb").symlink_to("/etc/passwd")
    found = collect([tmp_path / "folder"])
    assert students(found) == {}
    assert "is a link" in refused(found)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "class.zip"
    path.write_bytes(zipped({"mary/bptt.ipynb": b"0" * (3 * LARGEST_FILE), "ada/bptt.ipynb": NOTEBOOK}))
    found = collect([path])
    assert students(found) == {"ada": ["bptt.ipynb"]}
    assert "MB and may have" in refused(found)


def test_an_archive_in_an_archive_in_an_archive_is_not_opened(tmp_path):
    innermost = zipped({"bptt.ipynb": NOTEBOOK})
    inner = zipped({"deeper.zip": innermost, "bptt.ipynb": NOTEBOOK})
    path = tmp_path / "class.zip"
    path.write_bytes(zipped({"mary/work.zip": inner}))
    found = collect([path])
    assert students(found) == {"mary": ["bptt.ipynb"]}
    assert "archive inside an archive" in refused(found)


def test_a_huge_notebook_is_refused_unread(tmp_path):
    path = tmp_path / "mary.ipynb"
    with path.open("wb") as file:
        file.truncate(300 << 20)
    found = collect([path])
    assert students(found) == {}
    assert "300 MB" in refused(found)


def test_an_archive_that_broke_off_or_has_a_password_is_refused_and_the_rest_goes_on(tmp_path):
    whole = zipped({"bptt.ipynb": NOTEBOOK * 50})
    flagged = bytearray(zipped({"bptt.ipynb": NOTEBOOK}))
    for at in (flagged.find(b"PK\x03\x04") + 6, flagged.find(b"PK\x01\x02") + 8):
        flagged[at] |= 1  # says that it is encrypted
    for name, data in (("mary.zip", whole[:-30]), ("kurt.zip", bytes(flagged)), ("ada.ipynb", NOTEBOOK)):
        (tmp_path / name).write_bytes(data)
    found = collect([tmp_path])
    assert students(found) == {"ada": ["ada.ipynb"]}
    assert "mary.zip is not a zip file that can be read" in refused(found)
    assert "password" in refused(found)


def test_a_header_that_lies_about_its_size_is_refused(tmp_path):
    data = bytearray(zipped({"mary/bptt.ipynb": b"0" * (LARGEST_FILE + 9)}))
    at = data.find(b"PK\x01\x02")
    data[at + 24 : at + 28] = (1000).to_bytes(4, "little")
    path = tmp_path / "class.zip"
    path.write_bytes(bytes(data))
    found = collect([path])
    assert students(found) == {}
    assert refused(found)


def test_a_notebook_that_a_browser_renamed_is_found_by_its_content(tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "bptt.ipynb.txt").write_bytes(NOTEBOOK)
    (tmp_path / "ada" / "notes.txt").write_text("no notebook")
    assert students(collect([tmp_path])) == {"ada": ["bptt.ipynb.txt"]}


def test_a_name_that_no_gradebook_could_hold_is_refused(tmp_path):
    path = tmp_path / "class.zip"
    path.write_bytes(zipped({f"{'x' * 300}/bptt.ipynb": NOTEBOOK, "a\x1bda/bptt.ipynb": NOTEBOOK}))
    found = collect([path])
    (student,) = students(found)
    assert student.isprintable()
    assert student != "ada"
    assert "may have 1 to 100" in refused(found)


def test_the_same_file_twice_is_one(tmp_path):
    path = tmp_path / "class.zip"
    path.write_bytes(zipped({"ada/one/bptt.ipynb": NOTEBOOK, "ada/two/Copy of bptt.ipynb": NOTEBOOK}))
    assert students(collect([path])) == {"ada": ["bptt.ipynb"]}


def test_nothing_is_read_before_its_turn(tmp_path):
    path = tmp_path / "ada.ipynb"
    path.write_bytes(NOTEBOOK)
    found = collect([tmp_path])
    path.unlink()
    assert students(found) == {}
    assert "ada.ipynb" in refused(found)


def test_two_files_of_one_name_are_both_kept(tmp_path):
    path = tmp_path / "class.zip"
    path.write_bytes(zipped({"ada/one/bptt.ipynb": NOTEBOOK, "ada/two/bptt.ipynb": NOTEBOOK + b" "}))
    assert students(collect([path])) == {"ada": ["bptt (again).ipynb", "bptt.ipynb"]}


def test_a_path_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(GradingError, match="does not exist"):
        collect([tmp_path / "nothing"])
