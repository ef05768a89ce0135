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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

import yaml

from ..errors import GradingError
from ..facts import Problem
from ..text import plain_name

MB = 1 << 20
LARGEST_FILE = 20 * MB  # a notebook with many pictures has a few MB
LARGEST_TOTAL = 100 * MB  # of one submission
MOST_FILES = 200
LONGEST_NAME = 100

# "First Last_12345_assignsubmission_file_" is a folder of Moodle's download, one a student.
MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?$")
# "lastfirst_LATE_123_4567_Copy of bptt.ipynb" is a file of Canvas's download.
CANVAS = re.compile(r"^(?P<student>[^_]+)(_(?P<late>LATE))?_(?P<user>\d+)_(?P<submission>\d+)_(?P<file>.+)$")
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

    def add_file(self, student: str, origin: str, name: str, read: Callable[[], bytes]) -> None:
        """A file that lies beside those of others: Canvas's say whose they are, and any other is the `student`'s. The
        number that Canvas gave to its user is always kept: names are not unique."""
        match = CANVAS.match(name)
        if match is None:
            return self.add(student, origin, name, read)
        again = VERSION.search(match["file"])  # Canvas numbers what is handed in again: bptt-1.ipynb
        order = int(match["submission"]) * 1000 + (int(again[1]) if again else 0)
        student = f"{match['student']} ({match['user']})"
        self.add(student, origin, match["file"], read, None, bool(match["late"]), order)

    def refuse(self, student: str, origin: str, sentence: str) -> None:
        self.refusals.append(Problem(student, origin, sentence))


def collect(paths: list[Path]) -> Collection:
    """Everything below the paths that looks like a submission."""
    found = Collection()
    for path in paths:
        if not path.exists():
            raise GradingError(f"{path} does not exist: name a notebook, a folder or a downloaded zip")
        if path.is_dir():
            _folder(path, found)
        elif zipfile.is_zipfile(path):
            _archive(path, found)
        else:
            found.add(_below_submitted(path) or path.stem, str(path), path.name, partial(_file, path))
    return found


def _below_submitted(path: Path) -> str | None:
    """The student of `submitted/<student>/…`, where nbgrader's collect puts what comes in."""
    parts = path.resolve().parts[-4:]
    return parts[parts.index("submitted") + 1] if "submitted" in parts[:-1] else None


# ── folders ──────────────────────────────────────────────────────────────────────────────────


def _folder(root: Path, found: Collection) -> None:
    if (root / "submission_metadata.yml").is_file():
        return _gradescope(root, found)
    if student := _below_submitted(root):
        return _files(root, student, found, trusted=True)
    for child in sorted(p for p in root.iterdir() if p.name not in NOISE):
        if child.name.startswith("."):
            sentence = f"{child.name} is hidden by its dot; rename it to have it graded"
            found.refuse(child.name, str(child), sentence)
        elif child.is_dir() and not child.is_symlink():
            moodle = MOODLE.match(child.name)
            name = f"{moodle['name']} ({moodle['id']})" if moodle else child.name
            _files(child, name, found, trusted=root.resolve().name == "submitted")
        elif CANVAS.match(child.name) or child.suffix.lower() in (".ipynb", ".zip"):
            found.add_file(child.stem, str(child), child.name, partial(_file, child))
        else:
            link, other = "a link; only files are collected", f"{kind_of(child.name)}, no notebook"
            found.refuse(child.name, str(child), f"{child.name} is {link if child.is_symlink() else other}")


def _files(folder: Path, student: str, found: Collection, trusted: bool = False) -> None:
    """Every file below a student's folder. Of times only those in nbgrader's own `submitted/` are trusted: any
    other `timestamp.txt`, and the times that an unpacked archive has set, may be the student's."""
    stamps = {p.parent: _timestamp(p) for p in folder.rglob("timestamp.txt")} if trusted else {}
    for here, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name != "timestamp.txt":
                path = Path(here) / name
                found.add(student, str(path), name, partial(_file, path), stamps.get(path.parent))


def _gradescope(root: Path, found: Collection) -> None:
    """Gradescope's export: a folder a submission, and a YAML file that says whose it is and when it came."""
    path = root / "submission_metadata.yml"
    try:
        metadata = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise GradingError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    metadata = metadata if isinstance(metadata, dict) else {}
    for folder in sorted(p for p in root.iterdir() if p.is_dir() and not p.is_symlink()):
        entry = metadata.get(folder.name) or {}
        person = (entry.get(":submitters") or entry.get("submitters") or [{}])[0]
        student = str(person.get(":email") or person.get("email") or person.get(":name") or folder.name)
        created = entry.get(":created_at") or entry.get("created_at")
        _files(folder, student, found)
        if student in found.found:
            found.found[student].when = created if isinstance(created, datetime.datetime) else None


# ── archives ─────────────────────────────────────────────────────────────────────────────────


def _archive(path: Path, found: Collection) -> None:
    """A class's download: Canvas puts all files side by side, Moodle a folder a student."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise GradingError(f"{path} is not a zip file that can be read: {error}") from error
    found.archives.append(archive)
    for member, read in _members(archive):
        place, origin = _place(member), f"{path}:{member}"
        if _leaves(member):
            found.refuse(place.name, origin, f"{member} would leave its folder; it was refused")
            continue
        moodle = next((m for m in map(MOODLE.match, place.parts[:-1]) if m), None)
        if moodle:
            when = _zip_time(archive.getinfo(member))  # Moodle's own clock; Canvas writes the download's
            found.add(f"{moodle['name']} ({moodle['id']})", origin, place.name, read, when)
        else:
            student = place.parts[0] if len(place.parts) > 1 else place.stem
            found.add_file(student, origin, place.name, read)


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


# ── files ────────────────────────────────────────────────────────────────────────────────────


def _file(path: Path) -> bytes:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise _Refused(f"{path.name} is a link; only files are collected")
    if not stat.S_ISREG(status.st_mode):
        raise _Refused(f"{path.name} is not a file")
    if status.st_size > LARGEST_FILE:
        raise _Refused(_too_large(path.name, status.st_size))
    return path.read_bytes()


def _too_large(name: str, size: int) -> str:
    return f"{name} has {size / MB:.0f} MB and may have {LARGEST_FILE // MB} MB: clear its outputs and hand it in again"


def _zip_time(info: zipfile.ZipInfo) -> datetime.datetime | None:
    try:
        return datetime.datetime(*info.date_time).astimezone()  # archives have local times, without a zone
    except (ValueError, OverflowError):
        return None


def _timestamp(path: Path) -> datetime.datetime | None:
    from dateutil import parser

    text = path.read_text(encoding="utf-8", errors="replace").strip()[:100]
    try:
        when: datetime.datetime = parser.parse(text)
    except (ValueError, OverflowError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=datetime.UTC)
