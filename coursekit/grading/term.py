"""The chores of a term, apart from their words on the command line: what is decided, given, exported and returned."""

from __future__ import annotations

import io
import zipfile
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ..files import write
from .assignment import load_one
from .command import Options
from .errors import GradingError
from .facts import Entry, Problem, counted, points
from .gradebook import export as exports
from .gradebook.export import Final, fill_canvas, fill_moodle
from .gradebook.history import Change
from .gradebook.record import Record
from .gradebook.term import Person, in_utc, later, read_roster
from .gradescope import autograder_zip
from .pages.feedback import feedback
from .pages.frame import file_name
from .pages.term import term_page
from .submissions.collect import CANVAS, MOODLE, collect


def _known(options: Options) -> Record:
    """The gradebook of a chore that needs one: none is made."""
    return Record(options.gradebook_url, must_exist=True)


def _graded(record: Record, name: str) -> list[Entry]:
    found = record.entries(name)
    if not found:
        known = ", ".join(record.assignments()) or "none"
        raise GradingError(f"nothing was graded for {name!r} in this gradebook (graded: {known})")
    return found


def _shared(record: Record, entries: list[Entry]) -> list[Entry]:
    """The entries of an assignment, and for every other member of a group a copy of what one of them handed in."""
    found = {entry.student: entry for entry in entries}
    groups: dict[str, list[Entry]] = defaultdict(list)
    for person in (people := record.term.people()):
        if person.group and person.student in found:
            groups[person.group].append(found[person.student])
    together = record.term.shared(entries[0].assignment) if entries else {}
    for entry in entries:
        for member in together.get(entry.student, ()):
            found.setdefault(member, replace(entry, student=member))
    for person in people:
        if best := max(groups[person.group], key=lambda entry: entry.score, default=None):
            found.setdefault(person.student, replace(best, student=person.student))
    return record.penalised(list(found.values()))


def report_again(name: str, options: Options, named: bool = False) -> Path:
    """The report and the feedback pages from the gradebook as it is now, with what was given by hand since."""
    assignment = load_one(options.course, name)
    with _known(options) as record:
        entries = _graded(record, name)
        for entry in entries:
            options.shelf.put_page(entry, assignment, record.printed(entry.student, name))
        graded = {entry.student for entry in entries}
        refused = [Problem(who, "", why) for who, why in record.term.refused().items() if who not in graded]
    return options.shelf.put_report(assignment, entries, refused, named)


def export(
    name: str, to: Path, form: str, into: Path | None, options: Options, column: str = "", unfinished: bool = False
) -> tuple[Path, list[str]]:  # fmt: skip
    """Write an assignment's grades as another system wants them, or the autograder that gives them there.

    Gives the file, and a sentence for each grade that was not written into it.
    """
    if form == "gradescope-zip":
        return write(to, autograder_zip(options.course, name, options.unsafe)), []
    with _known(options) as record:
        entries, refused = _shared(record, _graded(record, name)), record.term.refused()
    if form == "gradescope":
        for entry in entries:
            write(to / file_name(entry.student) / "results.json", exports.gradescope(entry))
        return to, []
    if form == "csv":
        return write(to, exports.as_csv(entries, refused)), []
    if form not in ("canvas", "moodle"):
        raise GradingError(f"--format {form!r} is unknown: csv, canvas, moodle, gradescope or gradescope-zip")
    if into is None:
        raise GradingError(f"--format {form} fills in a file that you downloaded: name it with --into FILE")
    text, finals = exports.read_sheet(into), {entry.student: _final(entry, unfinished) for entry in entries}
    canvas = form == "canvas"
    filled = fill_canvas(text, column or name, finals) if canvas else fill_moodle(text, finals, column)
    gone = {student: words for student, words in refused.items() if student not in finals}
    left = [f"{student}: refused, so there is no grade ({words})" for student, words in gone.items()]
    return write(to, filled.text), filled.left + left


def _final(entry: Entry, unfinished: bool) -> Final:
    """What may go out for a student; a grade and its reasons on one line, for a column of feedback."""
    lost = dict.fromkeys(q.sentence for q in entry.questions if q.short and q.sentence and not q.waiting)
    said = [text for notebook in entry.comments.values() for text in notebook.values()]
    words = " ".join([f"{points(entry.score)} of {points(entry.max_score)}.", *lost, *said])
    wait = f"{counted(entry.waiting, 'answer')} to grade by hand" if entry.waiting and not unfinished else ""
    return Final(entry.score, entry.max_score, wait, words)


def give_back(name: str, download: Path, to: Path, form: str, options: Options) -> tuple[Path, list[str]]:
    """The feedback pages in the zip that Canvas or Moodle takes: named as in the download that they answer.

    Gives the file, and a sentence for each page that is not in it."""
    assignment = load_one(options.course, name)
    out, left = io.BytesIO(), []
    with (
        _known(options) as record,
        collect([download]) as found,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        entries = {entry.student: entry for entry in _graded(record, name)}
        for submission in found.submissions:
            entry = entries.pop(submission.student, None)
            origins = [part.origin.removeprefix(f"{download}:") for part in submission.parts]
            places = [place for origin in origins if (place := _place(origin, form, name))]
            if not places:
                left.append(
                    f"{submission.student}: {submission.origin} is not named as {form.title()} names it"
                )
            elif entry is None:
                left.append(f"{submission.student}: nothing was graded for {name}")
            else:
                page = feedback(entry, assignment, record.printed(entry.student, name))
                archive.writestr(places[-1], page)
        left += [f"{student}: is not in {download}" for student in entries]
        if not archive.namelist():
            raise GradingError(f"no page could be returned: {left[0] if left else 'nothing was handed in'}")
    return write(to, out.getvalue()), left


def _place(path: str, form: str, name: str) -> str:
    """Where in the zip a page belongs, by where the submission lay in the download."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if form == "canvas":
        return f"{PurePosixPath(parts[-1]).stem}.html" if CANVAS.match(parts[-1]) else ""
    folder = next((part for part in parts[:-1] if MOODLE.match(part)), "")
    return f"{folder}/{name}.html" if folder else ""


def undo(name: str, options: Options) -> list[Change]:
    """Take back what the last run changed in the grades of an assignment; the pages follow."""
    assignment = load_one(options.course, name)
    with _known(options) as record:
        record.enter(assignment)
        changes = record.undo(name)
    if not changes:
        raise GradingError(f"no run has changed a grade of {name!r}, so there is nothing to undo")
    report_again(name, options)
    return changes


def whole_term(options: Options) -> Path:
    """One page over all assignments and students, with the history of each grade."""
    with _known(options) as record:
        entries = {name: _shared(record, record.entries(name)) for name in record.assignments()}
        students = [person.student for person in record.term.people()]
        page = term_page(entries, students, record.history.changes())
    return write(options.folder / "term.html", page)


def set_due(name: str, due: str, late: str, options: Options, keep: str = "") -> str:
    """Set when an assignment is due, its late policy, which submission counts; a sentence that says how it stands."""
    assignment = load_one(options.course, name)
    with Record(options.gradebook_url) as record:
        record.enter(assignment)
        return record.decide(name, due, late, keep)


def extend(name: str, student: str, until: str, why: str, options: Options) -> str:
    """One student's own due time."""
    assignment = load_one(options.course, name)
    with Record(options.gradebook_url) as record:
        record.enter(assignment)
        listed = {person.student for person in record.term.people()}
        if listed and student not in listed | {entry.student for entry in record.entries(name)}:
            raise GradingError(
                f"{student!r} is neither in the class list nor graded for {name}: is it the id?"
            )
        when = later(until, record.term.lateness(name).due)
        record.term.say("extension", name, student, when.isoformat(), why)
        record.refresh(name)
        more = f"more time, until {in_utc(when)}{f': {why}' if why else ''}"
        record.history.note(name, student, more)
    return f"{student} has until {in_utc(when)} for {name}"


def give(name: str, student: str, cell: str, score: float | None, comment: str, options: Options) -> str:
    """Points or a comment by hand, kept whatever is graded again."""
    with _known(options) as record:
        known = {entry.student: entry for entry in _graded(record, name)}
        if student not in known:
            raise GradingError(f"{student!r} has no grade for {name}; the gradebook has {', '.join(known)}")
        most = max((q.max for q in known[student].questions if q.id == cell), default=0.0)
        if score is not None and most and not 0 <= score <= most:
            words = f"{cell} is worth {points(most)}, so {score:g} cannot be given: give 0 to {points(most)}"
            raise GradingError(f"{words}, and extra credit in nbgrader's formgrader")
        record.give(name, student, cell, score, comment)
        entry = record.entry(student, name)
    return f"{student} has {points(entry.score)} of {points(entry.max_score)} for {name}"


def enrol(file: Path, options: Options) -> list[Person]:
    """Read the class list into the gradebook."""
    people = read_roster(exports.read_sheet(file))
    with Record(options.gradebook_url) as record:
        return record.term.enrol(people)


@dataclass(frozen=True)
class Standing:
    """How an assignment stands."""

    assignment: str
    entries: list[Entry]
    missing: list[str]  # of the class list, without a work; [] where there is no list
    refused: dict[str, str]
    due: str


def status(name: str | None, options: Options) -> list[Standing]:
    """Who handed in, who did not, what waits for a person."""
    found = []
    with _known(options) as record:
        people, refused, known = (
            record.term.people(),
            record.term.refused(),
            record.assignments(ungraded=True),
        )
        if name is not None and name not in known:
            raise GradingError(
                f"the gradebook has no assignment named {name!r}; it has {', '.join(known) or 'none'}"
            )
        for assignment in [name] if name else known:
            entries = record.entries(assignment)
            done = {entry.student for entry in _shared(record, entries)}
            missing = [person.student for person in people if person.student not in done]
            due = record.term.lateness(assignment).due
            found.append(Standing(assignment, entries, missing, refused, in_utc(due) if due else ""))
    return found
