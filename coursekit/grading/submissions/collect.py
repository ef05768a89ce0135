"""Find the submissions in whatever an instructor has: files, folders, downloads of Canvas, Moodle, Gradescope.

Nothing of a submission is trusted here: names, sizes, links and archives are checked before a byte is
kept, and what is refused is refused with a sentence while the rest goes on.
"""

import datetime
import io
import os
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Self

import yaml
from nbgrader.utils import parse_utc

from ..errors import GradingError
from ..facts import Problem
from ..text import plain_name

MB = 1 << 20
LARGEST_FILE = 50 * MB  # a notebook with many pictures has a few MB; an endless print has more
LARGEST_TOTAL = 100 * MB  # of one submission
MOST_FILES = 200
LONGEST_NAME = 100

# "First Last_12345_assignsubmission_file" is a folder of Moodle's download, one a student; with a "_" at the end before
# Moodle 4.1, and with the file's name behind that where the download is not in folders.
MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)(_(?P<file>.*))?$")
# "lastfirst_LATE_123_4567_Copy of bptt.ipynb" is a file of Canvas's download; a group's own name stands first, too, or,
# where names are kept back, "LATE_anon_1a2b3".
CANVAS = re.compile(
    r"^(?P<first>LATE_(?=anon_))?(?P<student>.+?)(_(?P<late>LATE))?"
    r"_(?P<user>\d+|(?:(?<=^anon_)|(?<=^LATE_anon_))[0-9A-Za-z]{5})_(?P<submission>\d+)_(?P<file>.+)$"
)
METADATA = "submission_metadata.yml"  # of Gradescope's export: whose each folder is
VERSION = re.compile(r"-(\d{1,2})\.\w+$")
NOISE = {".DS_Store", ".ipynb_checkpoints", "__MACOSX", "Thumbs.db", ".git"}  # nobody hands these in
KINDS = {".pdf": "a PDF", ".py": "a Python file", ".docx": "a Word document", ".html": "a web page"}


class _Refused(Exception):
    pass


BAD = (_Refused, OSError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, NotImplementedError)


@dataclass(frozen=True)
class Part:
    """One file of a submission, not read yet."""

    name: str
    origin: str
    read: Callable[[], bytes]
    when: datetime.datetime | None = None  # by a clock that the student could not set
    attempt: int = 0  # the number that a system gave to this handing-in; a later one has a larger one
    folders: tuple[str, ...] = ()  # where it lies, below what was named
    refused: str = ""  # why it is not to be read


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
        for part in chain.from_iterable(map(_opened, self.parts)):
            name = part.name
            try:
                if part.refused:
                    raise _Refused(part.refused)
                data = part.read()
                if not _is_notebook(name, data):
                    self.others.append(name)
                    continue
                if len(files) >= MOST_FILES or sum(map(len, files.values())) + len(data) > LARGEST_TOTAL:
                    raise _Refused(f"{name}: more files than a submission may have; it was left out")
            except BAD as error:
                refusals.append(Problem(self.student, part.origin, str(error) or f"{name} cannot be read"))
                continue
            while name in files:
                name = f"{PurePosixPath(name).stem} (again){PurePosixPath(name).suffix}"
            rank = (part.when.timestamp() if part.when else 0.0, part.attempt)
            same = next((known for known, other in files.items() if other == data), name)
            files[same] = data
            self.rank[same] = max(rank, self.rank.get(same, rank))
        return files, refusals


def _opened(part: Part) -> Iterator[Part]:
    """The file itself or, of an archive, its files. An archive inside that one is refused."""
    if _suffix(part.name) != ".zip":
        yield part
        return
    try:
        archive = zipfile.ZipFile(io.BytesIO(part.read()))
    except BAD as error:
        unread = f"{part.name} is not a zip file that can be read: {error}"
        yield replace(part, refused=str(error) if isinstance(error, _Refused) else unread)
        return
    with archive:
        for number, member in enumerate(_members(archive, part.origin)):
            if number >= MOST_FILES:
                many = f"{part.name} has more than {MOST_FILES} files; the rest was left out"
                yield replace(part, refused=many)
                return
            inside = f"{member.name} is an archive inside an archive; it was not opened"
            why = inside if _suffix(member.name) == ".zip" else ""
            yield replace(member, when=part.when, attempt=part.attempt, refused=why)


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def kind_of(name: str) -> str:
    """What a file that is no notebook seems to be."""
    return KINDS.get(_suffix(name), "a file")


def _is_notebook(name: str, data: bytes) -> bool:
    """By its name, or, where a browser has added `.txt` or `.json` to it, by its content."""
    begins = data[:100].lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{")
    return _suffix(name) == ".ipynb" or (begins and b'"nbformat"' in data)


@dataclass
class Collection:
    found: dict[str, Submission] = field(default_factory=dict)
    refusals: list[Problem] = field(default_factory=list)
    together: dict[str, list[str]] = field(default_factory=dict)  # student -> who handed in with them
    archives: list[zipfile.ZipFile] = field(default_factory=list)  # open until all is read

    @property
    def submissions(self) -> list[Submission]:
        return list(self.found.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for archive in self.archives:
            archive.close()

    def add(self, student: str, part: Part, late: bool = False) -> None:
        """Note one file of a student's. Who it is, the source says: names that differ in anything are two students."""
        student = plain_name(student)
        if not 0 < len(student) <= LONGEST_NAME:
            sentence = f"the student's name has {len(student)} letters and may have 1 to {LONGEST_NAME}"
            return self.refuse(student[:LONGEST_NAME], part.origin, sentence)
        entry = self.found.setdefault(student, Submission(student, part.origin))
        entry.parts.append(part)
        entry.when = max(filter(None, (entry.when, part.when)), default=None)
        entry.late = entry.late or late

    def refuse(self, student: str, origin: str, sentence: str) -> None:
        self.refusals.append(Problem(student, origin, sentence))


def collect(paths: list[Path], whose: str | None = None) -> Collection:
    """Everything below the paths that looks like a submission; all of it one student's, where it is said `whose`."""
    found = Collection()
    for path in paths:
        if not path.exists():
            raise GradingError(f"{path} does not exist: name a notebook, a folder or a downloaded zip")
        folders = (path if path.is_dir() else path.parent).resolve().parts[-4:]
        # nbgrader's collect puts what comes in below `submitted/<student>/`.
        student = whose or (folders[folders.index("submitted") + 1] if "submitted" in folders[:-1] else None)
        trusted = path.resolve().name == "submitted"
        if path.is_dir():
            parts = list(_on_disk(path, trusted or student is not None, found))
        elif zipfile.is_zipfile(path):
            try:
                found.archives.append(zipfile.ZipFile(path))
            except zipfile.BadZipFile as error:
                raise GradingError(f"{path} is not a zip file that can be read: {error}") from error
            parts = list(_members(found.archives[-1], str(path)))
        else:
            parts = [Part(path.name, str(path), partial(_file, path))]
        if student:
            for part in parts:
                found.add(student, part)
        else:
            _share_out(parts if trusted else _unwrapped(parts, path.stem), found)
    return found


# ── whose a file is ──────────────────────────────────────────────────────────────────────────


def _unwrapped(parts: list[Part], name: str) -> list[Part]:
    """A class that lies whole in one folder, as Gradescope packs it and whoever packs a folder of submissions: known by
    what those systems call things or by equal notebooks, three, or two where the archive has the folder's `name`."""
    if len({part.folders[:1] for part in parts}) != 1 or not parts[0].folders:
        return parts
    firsts = {(*part.folders, part.name)[1] for part in parts}
    marked = METADATA in firsts or any(CANVAS.match(first) or MOODLE.match(first) for first in firsts)
    deeper = [part for part in parts if part.folders[1:] and _suffix(part.name) == ".ipynb"]
    notebooks = {(part.name, part.folders[1]) for part in deeper}
    equal = max(Counter(name for name, _ in notebooks).values(), default=0)
    inner = marked or equal >= (2 if parts[0].folders[0] == name else 3)
    return [replace(part, folders=part.folders[1:]) for part in parts] if inner else parts


def _share_out(parts: list[Part], found: Collection) -> None:
    """Give each file to its student, whom a folder, a file's name or Gradescope's list tells."""
    listed = next((part for part in parts if part.name == METADATA and not part.folders), None)
    people = _gradescope(listed) if listed else {}
    for part in parts:
        name, top = part.name, part.folders[0] if part.folders else ""
        canvas = CANVAS.match(name)
        moodle = next(filter(None, map(MOODLE.match, (*part.folders, name))), None)
        if listed and top:
            (student, *others), when = people.get(top, ([top], None))
            found.add(student, replace(part, when=when))
            found.together[plain_name(student)] = list(map(plain_name, others))
        elif moodle:
            found.add(f"{moodle['name']} ({moodle['id']})", replace(part, name=moodle["file"] or name))
        elif top:
            found.add(top, part)
        elif canvas:
            # The number that Canvas gave to its user is always kept, for names are not unique. It numbers what is
            # handed in again: bptt-1.ipynb.
            again = VERSION.search(canvas["file"])
            order = int(canvas["submission"]) * 1000 + (int(again[1]) if again else 0)
            own = replace(part, name=canvas["file"], attempt=order)
            found.add(f"{canvas['student']} ({canvas['user']})", own, bool(canvas["late"] or canvas["first"]))
        elif ".ipynb" in name.lower() or _suffix(name) in (".zip", ".json", ".txt"):
            stem = PurePosixPath(name).stem
            # A browser counts its copies in brackets, where a system's number of a student would stand.
            found.add(name if stem.endswith(")") else stem, part)
        elif part is not listed:
            found.refuse(name, part.origin, f"{name} is {kind_of(name)}, no notebook")


def _gradescope(listed: Part) -> dict[str, tuple[list[str], datetime.datetime | None]]:
    """The file in Gradescope's export that says, folder by folder, whose it is and when it came. The first of a group
    stands for all."""
    try:
        told = yaml.safe_load(listed.read())
    except (yaml.YAMLError, UnicodeDecodeError, *BAD) as error:
        raise GradingError(f"{listed.origin} cannot be read: {str(error).splitlines()[0]}") from error

    def known(one: Any) -> dict[str, Any]:
        return {str(key).lstrip(":"): value for key, value in one.items()} if isinstance(one, dict) else {}

    people = {}
    for folder, entry in ((folder, known(entry)) for folder, entry in known(told).items()):
        members = entry["submitters"] if isinstance(entry.get("submitters"), list) else ()
        names = [str(name) for one in map(known, members) if (name := one.get("email") or one.get("name"))]
        when = entry.get("created_at")
        people[folder] = (names or [folder], when if isinstance(when, datetime.datetime) else None)
    return people


# ── folders ──────────────────────────────────────────────────────────────────────────────────


def _on_disk(root: Path, trusted: bool, found: Collection) -> Iterator[Part]:
    """Every file below a folder. Of times only those in nbgrader's own `submitted/` are trusted: any other
    `timestamp.txt`, and the times that an unpacked archive has set, may be the student's."""

    def unread(error: OSError) -> None:
        path = error.filename
        found.refuse(Path(path).name, path, f"the folder {path} cannot be read: {error.strerror}")

    for here, folders, names in os.walk(root, onerror=unread):
        below = Path(here).relative_to(root).parts
        when = _timestamp(Path(here, "timestamp.txt")) if trusted and "timestamp.txt" in names else None
        for name in sorted({*folders, *names} - NOISE - {"timestamp.txt"}):
            path = Path(here, name)
            if not below and (why := _passed_over(path)):
                found.refuse(name, str(path), why)
            elif not name.startswith(".") and (name in names or path.is_symlink()):
                yield Part(name, str(path), partial(_file, path), when, folders=below)
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
    return path.read_bytes() if status.st_size <= LARGEST_FILE else _too_large(path.name, status.st_size)


def _too_large(name: str, size: int) -> bytes:
    may = f"may have {LARGEST_FILE // MB} MB: clear its outputs and hand it in again"
    raise _Refused(f"{name} has {size / MB:.0f} MB and {may}")


def _timestamp(path: Path) -> datetime.datetime | None:
    try:
        when: datetime.datetime = parse_utc(path.read_text(encoding="utf-8", errors="replace").strip()[:100])
    except (ValueError, OverflowError, OSError):
        return None
    return when.replace(tzinfo=datetime.UTC)


# ── archives ─────────────────────────────────────────────────────────────────────────────────


def _members(archive: zipfile.ZipFile, origin: str) -> Iterator[Part]:
    """The files of an archive, which are read within bounds; some systems write their places with backslashes."""
    infos = [i for i in archive.infolist() if not i.is_dir() and "__MACOSX" not in i.filename]
    if len(infos) > 100_000:
        raise GradingError(f"{origin} has {len(infos)} files; split the class into several archives")
    for info in infos:
        *folders, name = PurePosixPath(info.filename.replace("\\", "/")).parts
        if not name.startswith("."):  # Moodle's times are its own clock's; other systems write the download's
            when = None
            if any(map(MOODLE.match, (*folders, name))):
                with suppress(ValueError, OverflowError):
                    when = datetime.datetime(*info.date_time).astimezone()  # archives have no zone
            read = partial(_member, archive, info)
            yield Part(name, f"{origin}:{info.filename}", read, when, folders=tuple(folders))


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    name, size = info.filename, info.file_size
    plain = name.replace("\\", "/")
    if ".." in plain.split("/") or re.match(r"/|[A-Za-z]:", plain):
        raise _Refused(f"{name} would leave its folder; it was refused")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise _Refused(f"{name} is a link; only files are collected")
    if size <= min(LARGEST_FILE, 200 * max(info.compress_size, 1) + MB):
        with archive.open(info) as stream:
            data = stream.read(LARGEST_FILE + 1)  # the size in the header may lie
        if (size := len(data)) <= LARGEST_FILE:
            return data
    return _too_large(name, size)
