"""What the commands do, apart from their words on the command line: grading a class, and the chores of a term that
touch more than the gradebook."""

import io
import json
import os
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ..files import write
from .assignment import load, private_folders
from .confine.limits import Limits
from .errors import GradingError
from .facts import Entry, Problem, counted, points
from .gradebook import export as exports
from .gradebook.export import NUMBERED, Final, fill_canvas, fill_moodle
from .gradebook.record import Change, Record
from .gradebook.term import in_utc
from .pages.feedback import feedback
from .pages.frame import file_name
from .pages.report import term_page
from .pages.shelf import Shelf
from .pipeline import Grading, works
from .submissions.collect import CANVAS, MOODLE, Collection, Submission, collect

if TYPE_CHECKING:
    from .run.cluster import Cluster
    from .run.warm import Warm


@dataclass(frozen=True)
class Options:
    course: Path = Path(".")
    assignment: str | None = None
    gradebook: str = ""
    out: Path | None = None
    jobs: int = 0
    dask: str = ""
    again: bool = False
    students: frozenset[str] = frozenset()
    due: str = ""  # with `late`: facts that the gradebook keeps from then on
    late: str = ""
    limits: Limits = field(default_factory=Limits)
    unsafe: bool = False
    device: str = ""

    @property
    def gradebook_url(self) -> str:
        return self.gradebook or f"sqlite:///{(self.course / 'gradebook.db').resolve()}"

    @contextmanager
    def record(self, known: str = "", new: bool = False) -> Iterator[Record]:
        """The gradebook, in which an assignment is `known` from then on; one is made only where it may be `new`."""
        assignments = load(self.course, known) if known else []
        with Record(self.gradebook_url, must_exist=not new) as record:
            for assignment in assignments:
                record.enter(assignment)
            yield record

    @property
    def folder(self) -> Path:
        return self.out or self.course / "_build" / "grades"

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.folder, self.course, self.out)


@dataclass
class Graded:
    problems: list[Problem]
    entries: list[Entry] = field(default_factory=list)
    reports: list[Path] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)  # grades that were there before, and are others now

    @property
    def exit_code(self) -> int:
        """0 all graded, 1 something for a person to look at."""
        return int(bool(self.problems) or any(e.flags for e in self.entries))


def run(
    paths: list[Path], options: Options, total: Callable[[int], None] = lambda n: None,
    step: Callable[[], None] = lambda: None,
) -> Graded:  # fmt: skip
    """Grade everything below the paths. `total` hears how many there are, `step` each one that is done."""
    broken: list[Problem] = []
    assignments = load(options.course, options.assignment, broken)
    how: dict[str, Any] = {"limits": options.limits, "unsafe": options.unsafe, "device": options.device}
    _sensible(options)
    with collect(paths) as found, ExitStack() as opened:
        submissions = _chosen(found, paths, options.students)
        record = opened.enter_context(Record(options.gradebook_url))

        @cache
        def runner() -> "Warm | Cluster":
            """Started when there is work for it."""
            if options.dask:
                from .run.cluster import Cluster

                return opened.enter_context(Cluster(options.dask, **how))
            from .run.warm import Warm, preload_for

            jobs, hidden = options.jobs or len(os.sched_getaffinity(0)), private_folders(options.course)
            preload = preload_for(source for assignment in assignments for source in assignment.sources)
            return opened.enter_context(Warm(preload, jobs, hidden=hidden, **how))

        def one_by_one() -> Iterator[Submission]:
            total(len(submissions))
            for submission in submissions:
                yield submission
                step()

        for assignment in assignments:
            record.enter(assignment)
        if options.assignment and (options.due or options.late):
            record.decide(options.assignment, options.due, options.late)
        grading = Grading(lambda tasks: runner().grade(tasks), record, options.again, options.shelf)
        grading.problems += broken + found.refusals
        best = {a.name for a in assignments if record.keeps_best(a.name)}
        grading.grade(works(one_by_one(), assignments, bool(options.assignment), best))
        done = {student for student, _ in grading.done}
        # Whose work was refused whole, and why: their rows in an export say so.
        of, refused = options.assignment or "", [p for p in grading.problems if p.student not in done]
        record.term.say_all("refused", [(of, p.student, p.sentence) for p in refused])
        record.term.share(found.together, grading.done)
        graded = Graded(grading.problems)
        graded.changes += [change for change in record.changes(record.began) if change.before is not None]
        for assignment in assignments:
            everyone = record.entries(assignment.name)
            mine = [replace(e, answers={}) for e in everyone if (e.student, e.assignment) in grading.done]
            if not mine:
                continue
            graded.entries += mine
            try:
                graded.reports.append(options.shelf.put_report(assignment, everyone, graded.problems))
            except OSError as error:  # a full disk: the grades are kept, and their table is still shown
                words = f"there is no report: {error}"
                graded.problems.append(Problem("(the class)", assignment.name, words))
    return graded


def _sensible(options: Options) -> None:
    """What would spoil every grade is refused before the first."""
    if options.jobs < 0 or options.limits.cell_cpu <= 0 or options.limits.memory <= 0:
        raise GradingError("--jobs cannot be negative; --seconds and --memory must be more than 0")
    if (options.due or options.late) and options.assignment is None:
        raise GradingError("--due and --late are of one assignment: say which, with --assignment NAME")
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=options.folder).close()
    except OSError as error:
        sentence = f"{options.folder} cannot be written: {error.strerror}; name another folder with --out"
        raise GradingError(sentence) from error


def _chosen(found: Collection, paths: list[Path], students: frozenset[str]) -> list[Submission]:
    """The submissions of these students, or all; none at all is a mistake in the command."""
    if not found.submissions and not found.refusals:
        where = ", ".join(map(str, paths))
        raise GradingError(f"there is no notebook in {where}: name a notebook, a folder or a downloaded zip")
    if absent := ", ".join(map(repr, sorted(students - set(found.found)))):
        names = ", ".join(sorted(found.found)[:20]) + (" …" if len(found.found) > 20 else "")
        raise GradingError(f"nothing was handed in by {absent}; there is work of {names}")
    return [s for s in found.submissions if not students or s.student in students]


def json_records(graded: Graded) -> str:
    """One record a submission, as `--json` promises them: no answers, no outputs."""
    done = [{k: v for k, v in e.plain().items() if k != "answers"} for e in graded.entries]
    empty: dict[str, object] = {"assignment": None, "score": 0.0, "max_score": 0.0, "status": "refused"}
    empty |= {"repairs": [], "questions": []}
    for one in graded.problems:
        done.append({"student": one.student, **empty, "flags": [f"{one.origin}: {one.sentence}"]})
    return json.dumps(done, indent=1, ensure_ascii=False) + "\n"


# ── the chores of a term ─────────────────────────────────────────────────────────────────────


def _shared(record: Record, entries: list[Entry]) -> list[Entry]:
    """The entries of an assignment, and for every other member of a group a copy of what one of them handed in."""
    found = {entry.student: entry for entry in entries}
    # Who is in several groups shares with whoever is in all of them, or by a folder that has the name of one: Moodle's
    # download has a folder a group, with its number.
    groups: dict[str, list[Entry]] = defaultdict(list)
    folders: dict[str, list[Entry]] = defaultdict(list)
    for person in (people := record.term.people()):
        if person.group and person.student in found:
            groups[person.group].append(found[person.student])
    together = record.term.told("together", entries[0].assignment) if entries else {}
    for entry in entries:
        if match := NUMBERED.fullmatch(entry.student):
            folders[match["name"]].append(entry)
        for member in json.loads(together.get(entry.student, "[]")):
            found.setdefault(member, replace(entry, student=member))
    for person in people:
        theirs = groups[person.group] + [entry for name in person.groups for entry in folders[name]]
        if best := max(theirs, key=lambda entry: entry.score, default=None):
            found.setdefault(person.student, replace(best, student=person.student))
    return record.penalised(list(found.values()))


def report_again(name: str, options: Options, named: bool = False) -> Path:
    """The report and the feedback pages from the gradebook as it is now, with what was given by hand since."""
    (assignment,) = load(options.course, name)
    with options.record() as record:
        entries = record.graded(name)
        for entry in entries:
            options.shelf.put_page(entry, assignment, record.printed(entry.student, name))
        graded = {entry.student for entry in entries}
        refused = record.term.told("refused").items()
        problems = [Problem(who, "", why) for who, why in refused if who not in graded]
    return options.shelf.put_report(assignment, entries, problems, named)


def export(
    name: str, to: Path, form: str, into: Path | None, options: Options, column: str = "", unfinished: bool = False
) -> tuple[Path, list[str]]:  # fmt: skip
    """Write an assignment's grades as another system wants them, or the autograder that gives them there.

    Gives the file, and a sentence for each grade that was not written into it.
    """
    if form == "gradescope-zip":
        from .gradescope import autograder_zip

        return write(to, autograder_zip(options.course, name, options.unsafe)), []
    with options.record() as record:
        entries, refused = _shared(record, record.graded(name)), record.term.told("refused")
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
    late = [f"Handed in late: {points(entry.late_penalty)} points fewer."] if entry.late_penalty else []
    words = " ".join([f"{points(entry.score)} of {points(entry.max_score)}.", *late, *lost, *said])
    wait = f"{counted(entry.waiting, 'answer')} to grade by hand" if entry.waiting and not unfinished else ""
    return Final(entry.score, entry.max_score, wait, words)


def give_back(name: str, download: Path, to: Path, form: str, options: Options) -> tuple[Path, list[str]]:
    """The feedback pages in the zip that Canvas or Moodle takes: named as in the download that they answer.

    Gives the file, and a sentence for each page that is not in it."""
    (assignment,), out, left = load(options.course, name), io.BytesIO(), []
    with options.record() as record, collect([download]) as found, zipfile.ZipFile(out, "w") as archive:
        entries = {entry.student: entry for entry in record.graded(name)}
        for submission in found.submissions:
            student, entry = submission.student, entries.pop(submission.student, None)
            origins = [part.origin.removeprefix(f"{download}:") for part in submission.parts]
            places = [place for origin in origins if (place := _place(origin, form, name))]
            if not places:
                left.append(f"{student}: {submission.origin} is not named as {form.title()} names it")
            elif entry is None:
                left.append(f"{student}: nothing was graded for {name}")
            else:
                page = feedback(entry, assignment, record.printed(student, name))
                archive.writestr(places[-1], page, zipfile.ZIP_DEFLATED)
        left += [f"{student}: is not in {download}" for student in entries]
        if not archive.namelist():
            raise GradingError(f"no page could be returned: {left[0] if left else 'nothing was handed in'}")
    return write(to, out.getvalue()), left


def _place(path: str, form: str, name: str) -> str:
    """Where in the zip a page belongs, by where the submission lay in the download."""
    *folders, file = PurePosixPath(path.replace("\\", "/")).parts
    if form == "canvas":
        return f"{PurePosixPath(file).stem}.html" if CANVAS.match(file) else ""
    loose = f"{PurePosixPath(file).stem}.html" if MOODLE.match(file) else ""
    return next((f"{folder}/{name}.html" for folder in folders if MOODLE.match(folder)), loose)


def undo(name: str, options: Options) -> list[Change]:
    """Take back what the last run changed in the grades of an assignment; the pages follow."""
    with options.record(name) as record:
        changes = record.undo(name)
    if not changes:
        raise GradingError(f"no run has changed a grade of {name!r}, so there is nothing to undo")
    report_again(name, options)
    return changes


def whole_term(options: Options) -> Path:
    """One page over all assignments and students, with the history of each grade."""
    with options.record() as record:
        entries = {name: _shared(record, record.entries(name)) for name in record.assignments()}
        page = term_page(entries, [person.student for person in record.term.people()], record.changes())
    return write(options.folder / "term.html", page)


@dataclass(frozen=True)
class Standing:
    assignment: str
    entries: list[Entry]
    missing: list[str] | None  # of the class list, without a work; None where there is no list
    strangers: list[str]  # who handed in and is not in the class list
    refused: dict[str, str]
    due: str


def status(name: str | None, options: Options) -> list[Standing]:
    """Who handed in, who did not, what waits for a person."""
    found = []
    with options.record() as record:
        people, refused = record.term.people(), record.term.told("refused")
        called = Counter(person.name for person in people)
        listed = {known for p in people for known in (p.student, p.name, *p.groups)}
        known = record.assignments(ungraded=True)
        if name is not None and name not in known:
            has = ", ".join(known) or "none"
            raise GradingError(f"the gradebook has no assignment named {name!r}; it has {has}")
        for assignment in [name] if name else known:
            entries = record.entries(assignment)
            done = {entry.student for entry in _shared(record, entries)}
            # Moodle numbers its students anew for each assignment: they are known by as many works under their name.
            handed = Counter(match["name"] for match in map(NUMBERED.fullmatch, done) if match)
            absent = [p for p in people if p.student not in done]
            missing = [p.student for p in absent if not (p.name and called[p.name] <= handed[p.name])]
            who = [entry.student for entry in entries] if people else []
            others = [one for one in who if not listed & {one, NUMBERED.sub(r"\g<name>", one)}]
            due = record.term.lateness(assignment).due
            when = in_utc(due) if due else ""
            found.append(Standing(assignment, entries, missing if people else None, others, refused, when))
    return found
