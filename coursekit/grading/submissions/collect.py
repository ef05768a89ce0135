"""Find the submissions in whatever an instructor has: files, folders, downloads of Canvas, Moodle, Gradescope.

Nothing of a submission is trusted here: names, sizes, links and archives are checked before a byte is
kept, and what is refused is refused with a sentence while the rest goes on.
"""

from __future__ import annotations

import datetime
import io
import os
import re
import stat
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from ..errors import GradingError
from ..facts import Problem
from ..text import plain_name

MB = 1 << 20
LARGEST_FILE = 50 * MB  # a notebook with many pictures has a few MB; an endless print has more
LARGEST_TOTAL = 100 * MB  # of one submission
MOST_FILES = 200
LONGEST_NAME = 100

# "First Last_12345_assignsubmission_file_" is a folder of Moodle's download, one a student.
MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?$")
# "lastfirst_LATE_123_4567_Copy of bptt.ipynb" is a file of Canvas's download.
CANVAS = re.compile(r"^(?P<student>[^_]+)(_(?P<late>LATE))?_(?P<user>\d+)_(?P<submission>\d+)_(?P<file>.+)$")
METADATA = "submission_metadata.yml"  # of Gradescope's export: whose each folder is
VERSION = re.compile(r"-(\d{1,2})\.\w+$")
NOISE = {".DS_Store", ".ipynb_checkpoints", "__MACOSX", "Thumbs.db", ".git"}  # nobody hands these in


@dataclass(frozen=True)
class Part:
    """One file of a submission, not read yet."""

    name: str
    origin: str
    read: Callable[[], bytes]
    when: datetime.datetime | None = None  # as a submission's
    attempt: int = 0  # the number that a system gave to this handing-in; a later one has a larger one


class _Refused(Exception):
    pass


@dataclass
class Submission:
    """One student's work, as handed in. `when` is a time that the student could not set, or None.

    Nothing is read before `load`, so that a large class takes no more memory than a small one.
    """

    student: str
    origin: str
    parts: list[Part] = field(default_factory=list)
    when: datetime.datetime | None = None
    late: bool = False  # so marked by the system that it was handed in to
    rank: dict[str, tuple[float, int]] = field(default_factory=dict)  # a file's time and attempt, once loaded
    others: list[str] = field(default_factory=list)  # what was handed in and is no notebook, once loaded

    def load(self) -> tuple[dict[str, bytes], list[Problem]]:
        """The notebooks by name, and what was refused. An archive's files are the student's own."""
        files: dict[str, bytes] = {}
        refusals: list[Problem] = []
        for part in self.parts:
            for name, origin, read in _opened(part):
                try:
                    data = read()
                    if not _is_notebook(name, data):
                        self.others.append(name)
                        continue
                    if len(files) >= MOST_FILES or sum(map(len, files.values())) + len(data) > LARGEST_TOTAL:
                        raise _Refused(f"{name}: more files than a submission may have; it was left out")
                except BAD as error:
                    refusals.append(Problem(self.student, origin, str(error) or f"{name} cannot be read"))
                    continue
                while name in files:
                    name = f"{PurePosixPath(name).stem} (again){PurePosixPath(name).suffix}"
                rank = (part.when.timestamp() if part.when else 0.0, part.attempt)
                same = next((known for known, other in files.items() if other == data), name)
                files[same] = data
                self.rank[same] = max(rank, self.rank.get(same, rank))
        return files, refusals


BAD = (_Refused, OSError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, NotImplementedError)


def _opened(part: Part) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """The file itself or, of an archive, its files. An archive inside that one is refused."""
    if _suffix(part.name) != ".zip":
        yield part.name, part.origin, part.read
        return
    try:
        archive = zipfile.ZipFile(io.BytesIO(part.read()))
    except BAD as error:
        unread = f"{part.name} is not a zip file that can be read: {error}"
        yield part.name, part.origin, _refuses(str(error) if isinstance(error, _Refused) else unread)
        return
    with archive:
        for number, (member, read) in enumerate(_members(archive)):
            origin = f"{part.origin}:{member}"
            if number >= MOST_FILES:
                sentence = f"{part.name} has more than {MOST_FILES} files; the rest was left out"
                yield part.name, origin, _refuses(sentence)
                return
            inside = _suffix(member) == ".zip"
            sentence = f"{member} is an archive inside an archive; it was not opened"
            yield _place(member).name, origin, _refuses(sentence) if inside else read


def _refuses(sentence: str) -> Callable[[], bytes]:
    def read() -> bytes:
        raise _Refused(sentence)

    return read


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _place(member: str) -> PurePosixPath:
    """Where in its archive a file lies; some systems write it with backslashes."""
    return PurePosixPath(member.replace("\\", "/"))


KINDS = {
    ".pdf": "a PDF", ".py": "a Python file", ".docx": "a Word document", ".doc": "a Word document",
    ".html": "a web page", ".md": "a text", ".txt": "a text", ".png": "a picture", ".jpg": "a picture",
    ".rar": "an archive of another kind than zip", ".7z": "an archive of another kind than zip",
}  # fmt: skip


def kind_of(name: str) -> str:
    """What a file that is no notebook seems to be."""
    return KINDS.get(_suffix(name), "a file")


def _is_notebook(name: str, data: bytes) -> bool:
    """By its name, or, where a browser has added `.txt` or `.json` to it, by its content."""
    named = name.lower().endswith(".ipynb")
    return named or (data[:100].lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and b'"nbformat"' in data)


@dataclass
class Collection:
    found: dict[str, Submission] = field(default_factory=dict)
    refusals: list[Problem] = field(default_factory=list)
    together: dict[str, str] = field(default_factory=dict)  # member of a group -> whose submission it is
    archives: list[zipfile.ZipFile] = field(default_factory=list)  # open until all is read

    @property
    def submissions(self) -> list[Submission]:
        return list(self.found.values())

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *exc: object) -> None:
        for archive in self.archives:
            archive.close()

    def add(
        self, student: str, origin: str, name: str, read: Callable[[], bytes],
        when: datetime.datetime | None = None, late: bool = False, attempt: int = 0,
    ) -> None:  # fmt: skip
        """Note one file of a student's; `read()` will give its bytes. Who it is, the source says: names that differ
        in anything are two students."""
        student = plain_name(student)
        if not 0 < len(student) <= LONGEST_NAME:
            sentence = f"the student's name has {len(student)} letters and may have 1 to {LONGEST_NAME}"
            return self.refuse(student[:LONGEST_NAME], origin, sentence)
        entry = self.found.setdefault(student, Submission(student, origin))
        entry.parts.append(Part(name, origin, read, when, attempt))
        entry.when = max(filter(None, (entry.when, when)), default=None)
        entry.late = entry.late or late

    def refuse(self, student: str, origin: str, sentence: str) -> None:
        self.refusals.append(Problem(student, origin, sentence))


@dataclass(frozen=True)
class File:
    """A file where it lies, below the folder or in the archive that was named."""

    parts: tuple[str, ...]
    origin: str
    read: Callable[[], bytes]
    when: datetime.datetime | None  # by a clock that the student could not set


def collect(paths: list[Path]) -> Collection:
    """Everything below the paths that looks like a submission."""
    found = Collection()
    for path in paths:
        if not path.exists():
            raise GradingError(f"{path} does not exist: name a notebook, a folder or a downloaded zip")
        student = _below_submitted(path)
        if path.is_dir():
            trusted = student is not None or path.resolve().name == "submitted"
            files = list(_on_disk(path, trusted, found))
        elif zipfile.is_zipfile(path):
            files, trusted = list(_in_archive(path, found)), False
        else:
            files, trusted = [File((path.name,), str(path), partial(_file, path), None)], True
        if student:
            for file in files:
                found.add(student, file.origin, file.parts[-1], file.read, file.when)
        else:
            _share_out(files if trusted else _unwrapped(files, path.stem), found)
    return found


def _below_submitted(path: Path) -> str | None:
    """The student of `submitted/<student>/…`, where nbgrader's collect puts what comes in."""
    folders = (path if path.is_dir() else path.parent).resolve().parts[-4:]
    return folders[folders.index("submitted") + 1] if "submitted" in folders[:-1] else None


# ── whose a file is ──────────────────────────────────────────────────────────────────────────


def _unwrapped(files: list[File], name: str) -> list[File]:
    """A class that lies whole in one folder, as Gradescope packs it and whoever packs a folder of submissions: known by
    what those systems call things or by equal notebooks, three, or two where the archive has the folder's `name`."""
    if len({file.parts[0] for file in files}) != 1 or any(len(file.parts) < 2 for file in files):
        return files
    inner = [replace(file, parts=file.parts[1:]) for file in files]
    firsts = {file.parts[0] for file in inner}
    homes: dict[str, set[str]] = defaultdict(set)
    for first, *_, last in (file.parts for file in inner if len(file.parts) > 1):
        if last.lower().endswith(".ipynb"):
            homes[last].add(first)
    equal = max(map(len, homes.values()), default=0)
    marked = METADATA in firsts or any(CANVAS.match(first) or MOODLE.match(first) for first in firsts)
    return inner if marked or equal >= (2 if files[0].parts[0] == name else 3) else files


def _share_out(files: list[File], found: Collection) -> None:
    """Give each file to its student, whom a folder, a file's name or Gradescope's list tells."""
    listed = {file.parts: file for file in files}.get((METADATA,))
    people = _gradescope(listed) if listed else {}
    for file in files:
        *folders, name = file.parts
        canvas, moodle = CANVAS.match(name), next(filter(None, map(MOODLE.match, folders)), None)
        if listed and folders:
            (student, *others), when = people.get(folders[0], ([folders[0]], None))
            found.add(student, file.origin, name, file.read, when)
            found.together |= {plain_name(other): plain_name(student) for other in others}
        elif moodle:
            found.add(f"{moodle['name']} ({moodle['id']})", file.origin, name, file.read, file.when)
        elif folders:
            found.add(folders[0], file.origin, name, file.read, file.when)
        elif canvas:
            # The number that Canvas gave to its user is always kept, for names are not unique. It numbers what is
            # handed in again: bptt-1.ipynb.
            again = VERSION.search(canvas["file"])
            order = int(canvas["submission"]) * 1000 + (int(again[1]) if again else 0)
            student, late = f"{canvas['student']} ({canvas['user']})", bool(canvas["late"])
            found.add(student, file.origin, canvas["file"], file.read, None, late, order)
        elif ".ipynb" in name.lower() or _suffix(name) in (".zip", ".json", ".txt"):
            found.add(PurePosixPath(name).stem, file.origin, name, file.read)
        elif file is not listed:
            found.refuse(name, file.origin, f"{name} is {kind_of(name)}, no notebook")


def _gradescope(listed: File) -> dict[str, tuple[list[str], datetime.datetime | None]]:
    """The file in Gradescope's export that says, folder by folder, whose it is and when it came. The first of a group
    stands for all."""
    try:
        told = yaml.safe_load(listed.read())
    except (yaml.YAMLError, UnicodeDecodeError, *BAD) as error:
        raise GradingError(f"{listed.origin} cannot be read: {str(error).splitlines()[0]}") from error

    def known(one: Any) -> dict[str, Any]:
        return {str(key).lstrip(":"): value for key, value in one.items()} if isinstance(one, dict) else {}

    people = {}
    for folder, entry in known(told).items():
        members, when = known(entry).get("submitters"), known(entry).get("created_at")
        people_of = map(known, members if isinstance(members, list) else ())
        names = [str(name) for one in people_of if (name := one.get("email") or one.get("name"))]
        people[folder] = (names or [folder], when if isinstance(when, datetime.datetime) else None)
    return people


# ── folders ──────────────────────────────────────────────────────────────────────────────────


def _on_disk(root: Path, trusted: bool, found: Collection) -> Iterator[File]:
    """Every file below a folder. Of times only those in nbgrader's own `submitted/` are trusted: any other
    `timestamp.txt`, and the times that an unpacked archive has set, may be the student's."""

    def unread(error: OSError) -> None:
        path = error.filename
        found.refuse(Path(path).name, path, f"the folder {path} cannot be read: {error.strerror}")

    for here, folders, names in os.walk(root, onerror=unread):
        below = Path(here).relative_to(root).parts
        when = _timestamp(Path(here, "timestamp.txt")) if trusted and "timestamp.txt" in names else None
        linked = [name for name in folders if Path(here, name).is_symlink()]
        for name in sorted({*folders, *names} - NOISE - {"timestamp.txt"}):
            path = Path(here, name)
            if below and name.startswith("."):
                continue
            if not below and (why := _passed_over(path)):
                found.refuse(name, str(path), why)
            elif name in names or name in linked:
                yield File((*below, name), str(path), partial(_file, path), when)
        folders[:] = sorted(name for name in folders if not name.startswith("."))


def _passed_over(path: Path) -> str:
    """Why what lies in the class's folder is nobody's work."""
    if path.name.startswith("."):
        return f"{path.name} is hidden by its dot; rename it to have it graded"
    if path.is_symlink():
        return f"{path.name} is a link; only files are collected"
    empty = path.is_dir() and os.access(path, os.R_OK) and not any(names for _, _, names in os.walk(path))
    return "there is no file in this folder" if empty else ""


def _file(path: Path) -> bytes:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise _Refused(f"{path.name} is a link; only files are collected")
    if not stat.S_ISREG(status.st_mode):
        raise _Refused(f"{path.name} is not a file")
    if status.st_size > LARGEST_FILE:
        raise _Refused(_too_large(path.name, status.st_size))
    return path.read_bytes()


def _timestamp(path: Path) -> datetime.datetime | None:
    from dateutil import parser

    try:
        text = path.read_text(encoding="utf-8", errors="replace").strip()[:100]
        when: datetime.datetime = parser.parse(text)
    except (ValueError, OverflowError, OSError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=datetime.UTC)


# ── archives ─────────────────────────────────────────────────────────────────────────────────


def _in_archive(path: Path, found: Collection) -> Iterator[File]:
    """A class's download: Canvas puts all files side by side, Moodle and Gradescope a folder a submission."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise GradingError(f"{path} is not a zip file that can be read: {error}") from error
    found.archives.append(archive)
    for member, read in _members(archive):
        parts, origin = _place(member).parts, f"{path}:{member}"
        if _leaves(member):
            found.refuse(parts[-1], origin, f"{member} would leave its folder; it was refused")
        else:  # Moodle's times are its own clock's; other systems write the download's
            own = any(map(MOODLE.match, parts[:-1]))
            yield File(parts, origin, read, _zip_time(archive.getinfo(member)) if own else None)


def _leaves(name: str) -> bool:
    """Would this member of an archive be written outside of its folder?"""
    return (
        ".." in _place(name).parts
        or name.startswith(("/", "\\"))
        or re.match(r"^[A-Za-z]:", name) is not None
    )


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The files of an archive, each with a function that reads it within bounds."""
    infos = [i for i in archive.infolist() if not i.is_dir()]
    if len(infos) > 100_000:
        raise GradingError(
            f"{archive.filename} has {len(infos)} files; split the class into several archives"
        )
    for info in infos:
        if not _place(info.filename).name.startswith(".") and "__MACOSX" not in info.filename:
            yield info.filename, partial(_member, archive, info)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    name, size = info.filename, info.file_size
    if _leaves(name):
        raise _Refused(f"{name} would leave its folder; it was refused")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise _Refused(f"{name} is a link; only files are collected")
    if size <= min(LARGEST_FILE, 200 * max(info.compress_size, 1) + MB):
        with archive.open(info) as stream:
            data = stream.read(LARGEST_FILE + 1)  # the size in the header may lie
        if (size := len(data)) <= LARGEST_FILE:
            return data
    raise _Refused(_too_large(name, size))


def _too_large(name: str, size: int) -> str:
    return f"{name} has {size / MB:.0f} MB and may have {LARGEST_FILE // MB} MB: clear its outputs and hand it in again"


def _zip_time(info: zipfile.ZipInfo) -> datetime.datetime | None:
    try:
        return datetime.datetime(*info.date_time).astimezone()  # archives have local times, without a zone
    except (ValueError, OverflowError):
        return None
